#ifndef FG_CONFORMANCE_JUDGE_NAIVE_CHECK_H
#define FG_CONFORMANCE_JUDGE_NAIVE_CHECK_H

#include "reference/oracle.h"

/* Computes one row of an expert (y, dx, dp) and one inner coordinate of it (the weight and bias
 * gradients that it reaches) again, by plain loops in float64 without any rounding point, and holds
 * the oracle's last expert against them: equal on exact data, else within d(v) and the half ulp
 * that each declared rounding may move. FG_STATUS_INTERNAL names the place where they disagree. */
fg_status fg_naive_check(const fg_oracle_spec *spec, const fg_oracle *oracle, int64_t expert,
                         int64_t row, int64_t inner, int exact);

#endif
