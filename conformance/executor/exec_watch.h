#ifndef FG_CONFORMANCE_EXECUTOR_EXEC_WATCH_H
#define FG_CONFORMANCE_EXECUTOR_EXEC_WATCH_H

/* What is looked at after each call of a driver, as driver->watch says. */

#include "conformance/executor/exec_driver.h"

/* Notes a failure, printf style; the first one stays. */
void fg_watch_note(fg_driver *driver, fg_fault fault, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Notes a status that an executor's function returned, unless it is OK. */
void fg_watch_status(fg_driver *driver, const char *what, fg_status status);

/* Looks at everything after a forward that driver->call tells of, and keeps the numbers of the
 * lists of a new plan. FG_STATUS_NO_MEMORY. */
fg_status fg_watch_forward(fg_driver *driver);

/* Looks at the bits of the gradients of a context's outputs, and at everything around them. */
void fg_watch_gradients(fg_driver *driver, const fg_driver_context *done);

/* Looks at gradients and at what the recorder saw after the backward of a context. */
fg_status fg_watch_backward(fg_driver *driver, const fg_driver_context *done);

/* Serial number of the kernel that a plan of one entry just used; FG_NOT_GIVEN when it has several
 * or nobody says. */
fg_status fg_watch_kernel(fg_driver *driver, int64_t *out);

/* Compares every count with the model, and those taken outside with the executor's own; notes a
 * failure. `missing`: counts that the executor does not give. */
fg_status fg_watch_counts(fg_driver *driver, int32_t *missing);

/* The same without those taken outside, where another executor had calls meanwhile. */
void fg_watch_own_counts(fg_driver *driver, int32_t *missing);

#endif
