#ifndef FG_CONFORMANCE_EXECUTOR_PLAN_CHECKS_H
#define FG_CONFORMANCE_EXECUTOR_PLAN_CHECKS_H

/* Checks of a plan cache, written against the executor ABI. */

#include "conformance/executor/exec_set.h"

/* One check: number (the case key seq), name in reports, and what it needs. */
typedef struct fg_plan_check fg_plan_check;
struct fg_plan_check {
    int32_t number;
    const char *name;
    int32_t recipes; /* 1: needs recipes that only `recorder` takes */
    fg_status (*run)(const fg_exec_set *set, const fg_plan_check *check, fg_result *result);
};

/* Check number i of the whole table, rows of the scenario table first; NULL past the last. */
const fg_plan_check *fg_plan_check_at(int32_t i);

/* Runs the checks that a case asks for: seq names one, actions give a sequence that is held against
 * the model, neither asks for all. Checks that need more recipes than the environment takes are
 * left out; *ran receives how many were not. Returns statuses that mean this side's trouble. */
fg_status fg_plan_checks(const fg_exec_set *set, fg_result *result, int32_t *ran);

#endif
