#ifndef FG_CONFORMANCE_EXECUTOR_PLAN_CHECKS_ROWS_H
#define FG_CONFORMANCE_EXECUTOR_PLAN_CHECKS_ROWS_H

#include "conformance/executor/plan_checks.h"

/* The scenario table: check number i, NULL past the last. Each compares plans built, state resets
 * and pre-first calls with the numbers of its row, by the executor and from outside. */
const fg_plan_check *fg_plan_row_at(int32_t i);

#endif
