#ifndef FG_REFERENCE_ORACLE_H
#define FG_REFERENCE_ORACLE_H

/* The float64 grouped MLP, forward and backward, expert by expert, rounded exactly where a backend
 * declares it, with the error bound d(v) beside each value v. This header is all of reference/ that
 * the judge knows. */

#include "contract/backend.h"

enum { FG_OUT_Y = FG_INPUTS, FG_OUTPUTS = FG_INPUTS + 1 }; /* outputs 0..6: gradient of input i */

/* "dx" "dw1" "db1" "dp" "dw2" "db2" "dbp" "y". */
const char *fg_output_name(int output);

/* What the oracle computes from. Tensors are host memory with any strides; the run is 0..2.
 * grads_before[i] holds gradient i's content before an accumulating backward. dy may be NULL when
 * mask is 0. Everything is the caller's and outlives the oracle. */
typedef struct fg_oracle_spec {
    const fg_problem *problem;
    const fg_traits *traits;
    const fg_inputs *in;
    const fg_tensor *dy;       /* [T, H] I/O type */
    uint32_t mask, accumulate; /* as in fg_backward_args */
    const fg_tensor *grads_before[FG_INPUT_SLOTS];
    int32_t bounds; /* 0: values only, every bound reads 0 */
    int32_t stages; /* 1: keep the terms of each stage for fg_oracle_stages */
} fg_oracle_spec;

/* Expected values of one output for one expert: value and bound are [rows, cols], row-major, before
 * the last rounding to the output's type. y, dx: the expert's rows; dp, dbp: [rows, 1];
 * dw1: [O1, H]; dw2: [H, F]; db1: [1, O1]; db2: [1, H] (the weights in [O, I] order always).
 * first_row: the expert's first row in the output's tensor for y, dx, dp, dbp. */
typedef struct fg_expected {
    int64_t first_row, rows, cols;
    const double *value, *bound;
} fg_expected;

typedef struct fg_oracle fg_oracle;

/* Makes an oracle; reads splits and checks shapes. FG_STATUS_INVALID, _SHAPE, _NO_MEMORY. */
fg_status fg_oracle_create(const fg_oracle_spec *spec, fg_oracle **out);
void fg_oracle_destroy(fg_oracle *oracle);

/* Computes y and the gradients of the mask for one expert; results live until the next call.
 * An expert without rows has values 0 (or what was there before, when accumulating).
 * One thread at a time for each oracle. */
fg_status fg_oracle_expert(fg_oracle *oracle, int64_t expert);

/* The expected values of one output for the last expert; rows = 0 for outputs not wanted. */
fg_expected fg_oracle_expected(const fg_oracle *oracle, int output);

/* How the bound of one stage came about, at its element with the largest bound of the last expert:
 * the terms of acceptance section 4, in order. */
typedef struct fg_bound_stage {
    const char *name; /* "y1", "act", "h", "y", "dh", "dp", "dy1", "dx", "dw1" ... */
    int64_t n;        /* products summed, 0 for an elementwise stage */
    double gamma;     /* of the declared accumulator over n */
    int64_t row, col;
    double value;       /* v there */
    double sum;         /* gamma(n) * sum |a||b| */
    double operands;    /* 3 sqrt(...), or sum |df/da| d(a) for an elementwise stage */
    double narrow;      /* operands read with fewer than 24 digits */
    double elementwise; /* c 2^-24 A and the underflow floor */
    double kink;
    double rounding; /* ulp of the declared rounding, 0 without */
    double bound;    /* d(v), all of it */
} fg_bound_stage;

/* Stages of the last expert in order of computation; returns how many, at most `capacity`. */
int32_t fg_oracle_stages(const fg_oracle *oracle, fg_bound_stage *out, int32_t capacity);

/* gamma(n) of a declared accumulator. */
double fg_gamma(const fg_traits *traits, int64_t n);

#endif
