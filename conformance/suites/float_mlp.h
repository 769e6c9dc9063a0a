#ifndef FG_CONFORMANCE_SUITES_FLOAT_MLP_H
#define FG_CONFORMANCE_SUITES_FLOAT_MLP_H

/* A right backend in miniature: the grouped MLP in float32 loops that round to the I/O type
 * exactly where flags say so. What the oracle's bounds must allow. */

#include "conformance/suites/oracle_case.h"

/* Faults that a bound must not allow. */
typedef enum fg_float_fault {
    FG_FLOAT_RIGHT = 0,
    FG_FLOAT_LAST_TERM_LOST,  /* of every GEMM's depth */
    FG_FLOAT_NO_PROB,         /* p missing in the forward */
    FG_FLOAT_HALVES_SWAPPED,  /* gate taken for linear */
    FG_FLOAT_SUMS_IN_IO_TYPE, /* accumulators rounded to the I/O type at each step */
    FG_FLOAT_SLOPE_AS_VALUE,  /* s(g) for the derivative of g s(g) */
    FG_FLOAT_FAULTS,
} fg_float_fault;

/* Tight outputs, rounded to their types; rows that belong to no expert are 0. */
typedef struct fg_float_outputs {
    double *value[FG_OUTPUTS];
} fg_float_outputs;

void fg_float_mlp(const fg_oracle_case *value, fg_float_fault fault, fg_float_outputs *out);
void fg_float_free(fg_float_outputs *out);

/* Type of an output, and its elements without gaps. */
fg_dtype fg_float_output_dtype(const fg_problem *problem, int output);
int64_t fg_float_output_count(const fg_oracle_case *value, int output);

#endif
