#ifndef FG_CONFORMANCE_SUITES_NAIVE_MLP_H
#define FG_CONFORMANCE_SUITES_NAIVE_MLP_H

/* The grouped MLP once more, in plain float64 loops over tokens, written from the formulas of the
 * design alone: it shares no code with the oracle. No rounding, no bounds. */

#include "conformance/suites/oracle_case.h"

/* Tight float64 outputs, indexed as the oracle's; rows that belong to no expert are 0. */
typedef struct fg_naive_outputs {
    double *value[FG_OUTPUTS];
} fg_naive_outputs;

void fg_naive_mlp(const fg_oracle_case *value, fg_naive_outputs *out);
void fg_naive_free(fg_naive_outputs *out);

#endif
