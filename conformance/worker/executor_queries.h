#ifndef FG_CONFORMANCE_WORKER_EXECUTOR_QUERIES_H
#define FG_CONFORMANCE_WORKER_EXECUTOR_QUERIES_H

#include "conformance/worker/backend_calls.h"

/* Calls of the executor ABI that run no kernel: steps, passes, counters, plans, events, hooks. The
 * list ends with a NULL name. */
extern const fg_worker_call fg_executor_queries[];

#endif
