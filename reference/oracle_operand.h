#ifndef FG_REFERENCE_ORACLE_OPERAND_H
#define FG_REFERENCE_ORACLE_OPERAND_H

#include "reference/bound.h"

/* A GEMM operand: values, their bounds, and the float32 shadows that the sums of |a||b| and of
 * squares run on. Row-major and tight; an expert with fewer rows than were allocated uses the
 * first ones. */
typedef struct fg_operand {
    int64_t rows, cols;
    double *v;
    double *d;     /* NULL: exact */
    double narrow; /* 2^-t where a GEMM reads fewer digits than it holds, else 0 */
    int32_t scale; /* magnitude = |v| 2^-scale, below 2^25 */
    int32_t spread_scale;
    float *magnitude;
    float *square; /* magnitude^2 */
    float *spread; /* ((d + narrow |v|)/2 2^-spread_scale)^2; NULL where that is 0 */
} fg_operand;

/* Allocates [rows, cols] zeroed elements of `size` bytes into the pointer at `out`;
 * FG_STATUS_NO_MEMORY, _OVERFLOW. The caller frees them with fg_free. */
fg_status fg_array_create(size_t size, int64_t rows, int64_t cols, void *out);

/* How an operand is to be made. */
typedef struct fg_operand_form {
    int64_t rows, cols;
    int32_t digits;  /* significand bits of the type that a GEMM reads it in */
    int32_t inexact; /* 1: with d */
    int32_t bounds;  /* 0: values only */
    int32_t square;  /* 1: some product's other operand has a spread */
} fg_operand_form;

/* Allocates what the form asks; FG_STATUS_NO_MEMORY, and fg_operand_free is safe after it. */
fg_status fg_operand_create(fg_operand *operand, const fg_operand_form *form,
                            const fg_arithmetic *arithmetic);
void fg_operand_free(fg_operand *operand);

/* Whether an operand of this form has a spread. */
int fg_operand_spreads(const fg_operand_form *form, const fg_arithmetic *arithmetic);

/* Fills the shadows from v and d. */
void fg_operand_shadow(fg_operand *operand);

/* A product C = op(A) op(B), op being the transpose where asked. */
typedef struct fg_product {
    const fg_operand *a, *b;
    int32_t a_transposed, b_transposed;
    double gamma;   /* of its accumulator over the products of one element */
    double largest; /* of its accumulator */
} fg_product;

/* Rows and columns of a product, and how many terms each element sums. */
typedef struct fg_product_extents {
    int64_t m, n, k;
} fg_product_extents;

fg_product_extents fg_product_measure(const fg_product *product);

/* What a product leaves for its bounds: d = sum_factor sum + spread_factor sqrt(spread). */
typedef struct fg_product_sums {
    float *sum;                       /* [m, n], the caller's */
    float *spread;                    /* [m, n], the caller's */
    double sum_factor, spread_factor; /* 0 where there is nothing to add */
    double largest;                   /* of sum; past it there is no bound */
} fg_product_sums;

/* Computes C into v [m, n]; extents of 0 give zeros without a call of OpenBLAS. */
void fg_product_values(const fg_product *product, double *v);

/* Computes the sums that fg_product_bounds reads. */
void fg_product_shadows(const fg_product *product, fg_product_sums *sums);

/* One element of a product whose value is v, its index being row-major. */
static inline fg_step fg_product_step(const fg_product_sums *sums, int64_t index, double v) {
    double sum = 0;
    double operands = 0;
    if (sums->sum_factor > 0) {
        sum = (double)sums->sum[index] * sums->sum_factor;
        sum = (double)sums->sum[index] > sums->largest ? INFINITY : sum;
    }
    if (sums->spread_factor > 0) {
        operands = (double)sqrtf(sums->spread[index]) * sums->spread_factor;
    }
    return (fg_step){.v = v, .d = sum + operands, .sum = sum, .operands = operands};
}

#endif
