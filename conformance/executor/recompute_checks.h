#ifndef FG_CONFORMANCE_EXECUTOR_RECOMPUTE_CHECKS_H
#define FG_CONFORMANCE_EXECUTOR_RECOMPUTE_CHECKS_H

/* Sequences of forwards, recomputes and backwards that must hold on every executor, by the numbers
 * of the case key seq. */

#include "conformance/executor/exec_set.h"

/* Whether a sequence needs recipes that only `recorder` takes. */
int fg_recompute_needs_recipes(int32_t sequence);

/* Runs the sequence of a case: `want`, `first` and `actions` as in a boundary case; set->expected
 * likewise. Checks: bound (expected against the oracle), then one for each part of the sequence,
 * each of values (bit for bit), counts, lists, flags, and what the recorder saw:
 *   1 recompute: no-grad forward, forward, backward
 *   2 forward A, another forward, backward A
 *   3 forward A, recipe changed and state reset, backward A
 *   4 forward A, its plan evicted or dropped, backward A
 *   6 train, evaluate, train
 *   7 pointers, rows, splits, streams and device change on one plan; fresh data in place
 *   8 many threads share an executor; two executors share weights */
fg_status fg_recompute_checks(const fg_exec_set *set, fg_result *result);

#endif
