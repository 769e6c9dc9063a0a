#ifndef FG_CONFORMANCE_SUITES_BACKEND_THREADS_H
#define FG_CONFORMANCE_SUITES_BACKEND_THREADS_H

/* Without Criterion, so that a plain program under the thread sanitizer can run it too. */

#include "contract/backend.h"

/* Several threads call one kernel, each with tensors, saved and scratch of its own; returns how
 * many outputs differ from those of a single thread. */
int64_t fg_backend_threads(fg_backend_entry_fn entry);

#endif
