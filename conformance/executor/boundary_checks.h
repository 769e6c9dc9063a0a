#ifndef FG_CONFORMANCE_EXECUTOR_BOUNDARY_CHECKS_H
#define FG_CONFORMANCE_EXECUTOR_BOUNDARY_CHECKS_H

/* Checks of the backward boundary, written against the executor ABI. */

#include "conformance/executor/exec_set.h"

/* Runs one boundary case: `want` is the mask of inputs that require a gradient, `first` (if any)
 * that of the call before (0: a no-grad call), `mode` that of the call, `actions` what the executor
 * does first (passes choose the entries of its plans). set->expected holds the results of a fresh
 * executor that did the same actions and was asked for every gradient.
 * Checks: bound (expected against the oracle), boundary (context, flags, counts, lists), gradients
 * (those asked for are right, nothing else is written), repeat (the same call again, on the cached
 * plan), saved (nothing without gradients), refusals (buffers missing or too many),
 * backward_again (the same bits from another backward of one context), released (nothing is alive
 * after destroy), inputs. */
fg_status fg_boundary_checks(const fg_exec_set *set, fg_result *result);

#endif
