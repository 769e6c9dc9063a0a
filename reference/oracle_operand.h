#ifndef FG_REFERENCE_ORACLE_OPERAND_H
#define FG_REFERENCE_ORACLE_OPERAND_H

#include "reference/bound.h"
#include "reference/scratch_arena.h"

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

/* How an operand is to be made. */
typedef struct fg_operand_form {
    int64_t rows, cols;
    int32_t digits;  /* significand bits of the type that a GEMM reads it in */
    int32_t inexact; /* 1: v and d are arrays of the caller's; 0: v is cut, there is no d */
    int32_t bounds;  /* 0: values only */
    int32_t square;  /* 1: some product's other operand has a spread */
} fg_operand_form;

/* Cuts an operand's arrays from an arena; all of them are NULL while the arena only measures. */
fg_operand fg_operand_cut(const fg_operand_form *form, const fg_arithmetic *arithmetic,
                          fg_arena *arena);

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
static inline fg_bounded fg_product_element(const fg_product_sums *sums, int64_t index, double v,
                                            fg_terms *terms) {
    double sum = 0;
    double operands = 0;
    if (sums->sum_factor > 0) {
        double size = (double)sums->sum[index];
        sum = size > sums->largest ? INFINITY : size * sums->sum_factor;
    }
    if (sums->spread_factor > 0) {
        operands = (double)sqrtf(sums->spread[index]) * sums->spread_factor;
    }
    if (terms != NULL) {
        *terms = (fg_terms){.sum = sum, .operands = operands};
    }
    return (fg_bounded){v, sum + operands};
}

#endif
