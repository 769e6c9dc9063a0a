#ifndef FG_CONFORMANCE_EXECUTOR_PLAN_CHECKS_RANDOM_H
#define FG_CONFORMANCE_EXECUTOR_PLAN_CHECKS_RANDOM_H

#include "conformance/executor/plan_checks.h"

#define FG_RANDOM_ACTIONS 40

/* Writes random sequence number `index` of a seed, 1..FG_RANDOM_ACTIONS actions; `recipes`: with
 * recipes other than none; `devices`: with devices 0 and 1. */
void fg_random_actions(uint64_t seed, uint64_t index, int recipes, int devices,
                       fg_action actions[FG_RANDOM_ACTIONS], int32_t *count);

/* How a sequence ended. */
typedef struct fg_random_end {
    char failure[192]; /* "" when nothing went wrong */
    fg_fault fault;
    int32_t missing; /* counts that were not given */
    int64_t compared, owed;
} fg_random_end;

/* Does a sequence on a new executor, watching everything. */
fg_status fg_random_try(const fg_exec_set *set, const fg_action *actions, int32_t count,
                        fg_random_end *end);

/* Makes a failing sequence as short as it can get and still fail, dropping parts of it (ddmin). */
fg_status fg_random_shrink(const fg_exec_set *set, fg_action *actions, int32_t *count);

/* `count` random sequences; records one check. A failure gives the shortest sequence and what went
 * wrong; when that one does not fail again, the sequence that did, and "not every time". */
fg_status fg_plan_random(const fg_exec_set *set, const char *name, int64_t count,
                         fg_result *result);

#endif
