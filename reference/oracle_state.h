#ifndef FG_REFERENCE_ORACLE_STATE_H
#define FG_REFERENCE_ORACLE_STATE_H

/* What the parts of the oracle share; nobody else includes it. */

#include "reference/oracle_operand.h"

/* Stages in order of computation. */
enum {
    FG_STAGE_Y1 = 0,
    FG_STAGE_ACT = 1,
    FG_STAGE_GATED = 2,
    FG_STAGE_H = 3,
    FG_STAGE_Y = 4,
    FG_STAGE_DH = 5,
    FG_STAGE_DPROB = 6, /* D = dh p */
    FG_STAGE_DP = 7,
    FG_STAGE_DY1 = 8,
    FG_STAGE_DX = 9,
    FG_STAGE_DW1 = 10,
    FG_STAGE_DB1 = 11,
    FG_STAGE_DW2 = 12,
    FG_STAGE_DB2 = 13,
    FG_STAGE_DBP = 14,
    FG_STAGES = 15,
};

/* Values and their bounds, one array each. */
typedef struct fg_values {
    double *v, *d;
} fg_values;

/* A sum of products a b: of their values, of |a||b|, of (a d(b)/2)^2 + (b d(a)/2)^2. */
typedef struct fg_product_sum {
    double value, size, squares;
} fg_product_sum;

struct fg_oracle {
    fg_oracle_spec spec;
    fg_arithmetic arithmetic;
    fg_rounder io;
    uint32_t rounding;              /* the declared points; none in float64 */
    uint32_t needs;                 /* FG_NEED_* */
    int64_t hidden, inter, columns; /* H, F, O1 */
    int64_t rows_max;               /* of any expert */
    int64_t *splits, *begin, *gate_column, *linear_column;
    int64_t expert, first_row, rows; /* the last expert; rows as it has them */

    fg_operand x, w1, w2, dy; /* inputs */
    fg_operand h;             /* what FC2 reads, and after it what dW2 reads */
    fg_operand dy1;           /* what FC1's gradients read; its v and d are y1's, row after row */
    double *b1, *b2;          /* [O1], [H]; 0 without bias */
    double *p, *bias_p;       /* [rows], rounded where declared; 1 without */
    fg_values y1;             /* before the rounding of either reader */
    double *dh;               /* [rows, F], before its rounding */
    fg_values dh_row;         /* [F] */
    fg_values dy1_row;        /* [O1], as db1 sums it */
    fg_product_sum *sum_columns; /* [max(O1, H)] */
    double *before;              /* what an accumulated gradient held */
    fg_product_sums sums;
    fg_values out[FG_OUTPUTS];
    fg_bound_stage stages[FG_STAGES];
    void *geometry, *arrays; /* memory of splits to linear_column, and of everything after */
};

enum {
    FG_NEED_DH = 1 << 0,      /* dh, and with it the activation's backward */
    FG_NEED_H_AGAIN = 1 << 1, /* h from what the backward reads */
};

/* Whether a rounding point is declared. */
static inline int fg_oracle_rounds(const fg_oracle *oracle, uint32_t flag) {
    return (oracle->rounding & flag) != 0;
}

/* Whether a gradient is wanted. */
static inline int fg_oracle_wants(const fg_oracle *oracle, int input) {
    return (oracle->spec.mask & FG_BIT(input)) != 0;
}

#endif
