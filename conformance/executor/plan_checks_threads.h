#ifndef FG_CONFORMANCE_EXECUTOR_PLAN_CHECKS_THREADS_H
#define FG_CONFORMANCE_EXECUTOR_PLAN_CHECKS_THREADS_H

#include "conformance/executor/exec_set.h"

/* Many threads share one executor, so that all of them miss at once, and then take it through
 * several boundaries and both modes; `rounds` (at least 4) calls each.
 * Records one check: every key is built once, counts are exact, every thread's results equal the
 * expected ones bit for bit. Not-run where calls may not come from several threads. */
fg_status fg_plan_threads(const fg_exec_set *set, const char *name, int32_t rounds,
                          fg_result *result);

#endif
