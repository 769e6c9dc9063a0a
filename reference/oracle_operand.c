#include "reference/oracle_operand.h"

#include <cblas.h>

/* Shadows stay below 2^25: a sum of 2^20 products of their squares fits a float32, and 2^-88 of
 * the largest element is still seen. */
#define SHADOW_EXPONENT 25
/* Float32 sums are below the true ones by far less than this. */
#define SUM_MARGIN 1.01

fg_operand fg_operand_cut(const fg_operand_form *form, const fg_arithmetic *arithmetic,
                          fg_arena *arena) {
    int64_t rows = form->rows;
    int64_t cols = form->cols;
    fg_operand operand = {.rows = rows, .cols = cols};
    if (form->digits > arithmetic->operand_digits) {
        operand.narrow = arithmetic->narrow;
    }
    if (!form->inexact) {
        operand.v = fg_arena_take(arena, rows, cols, sizeof(double));
    }
    if (form->bounds) {
        operand.magnitude = fg_arena_floats(arena, rows, cols);
    }
    if (form->bounds && form->square) {
        operand.square = fg_arena_floats(arena, rows, cols);
    }
    if (form->bounds && (form->inexact || operand.narrow > 0)) {
        operand.spread = fg_arena_floats(arena, rows, cols);
    }
    return operand;
}

/* The larger of two magnitudes by their bits, which order as they do; an exponent of all ones is
 * no number. */
static inline uint64_t larger_bits(uint64_t top, double v) {
    uint64_t bits = 0;
    memcpy(&bits, &v, sizeof bits);
    bits &= UINT64_MAX >> 1;
    return bits > top && bits >> 52 != 0x7ff ? bits : top;
}

/* Exponent e with |v| < 2^e for every finite v. Four maxima at a time, for speed. */
static int32_t exponent_over(const double *v, int64_t n) {
    uint64_t top[4] = {0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (int k = 0; k < 4; k++) {
            top[k] = larger_bits(top[k], v[i + k]);
        }
    }
    for (; i < n; i++) {
        top[0] = larger_bits(top[0], v[i]);
    }
    uint64_t most = 0;
    for (int k = 0; k < 4; k++) {
        most = top[k] > most ? top[k] : most;
    }
    return (int32_t)(most >> 52) - 1022;
}

/* The power of two that brings numbers below 2^exponent to SHADOW_EXPONENT. */
static double shadow_factor(int32_t exponent, int32_t *scale) {
    *scale = exponent - SHADOW_EXPONENT < -1000 ? -1000 : exponent - SHADOW_EXPONENT;
    return ldexp(1, -*scale);
}

static void shadow_magnitude(fg_operand *operand, int64_t n) {
    double factor = shadow_factor(exponent_over(operand->v, n), &operand->scale);
    const double *v = operand->v;
    float *magnitude = operand->magnitude;
    float *square = operand->square;
    for (int64_t i = 0; square == NULL && i < n; i++) {
        magnitude[i] = (float)(fabs(v[i]) * factor);
    }
    for (int64_t i = 0; square != NULL && i < n; i++) {
        float m = (float)(fabs(v[i]) * factor);
        magnitude[i] = m;
        square[i] = m * m;
    }
}

static void shadow_bounds(fg_operand *operand, int64_t n) {
    double factor = shadow_factor(exponent_over(operand->d, n), &operand->spread_scale) / 2;
    const double *d = operand->d;
    float *spread = operand->spread;
    for (int64_t i = 0; i < n; i++) {
        float half = (float)(d[i] * factor);
        spread[i] = half * half;
    }
}

/* An operand that a GEMM reads with few digits; it may be exact otherwise. */
static void shadow_narrow(fg_operand *operand, int64_t n) {
    const double *d = operand->d;
    const double *v = operand->v;
    int32_t of_v = exponent_over(v, n);
    int32_t of_d = d != NULL ? exponent_over(d, n) : of_v;
    int32_t exponent = (of_v > of_d ? of_v : of_d) + 1;
    double factor = shadow_factor(exponent, &operand->spread_scale) / 2;
    for (int64_t i = 0; i < n; i++) {
        double bound = (d != NULL ? d[i] : 0) + operand->narrow * fabs(v[i]);
        float half = (float)(bound * factor);
        operand->spread[i] = half * half;
    }
}

void fg_operand_shadow(fg_operand *operand) {
    int64_t n = operand->rows * operand->cols;
    if (operand->magnitude != NULL) {
        shadow_magnitude(operand, n);
    }
    if (operand->narrow > 0) {
        shadow_narrow(operand, n);
    } else if (operand->spread != NULL) {
        shadow_bounds(operand, n);
    }
}

fg_product_extents fg_product_measure(const fg_product *product) {
    const fg_operand *a = product->a;
    const fg_operand *b = product->b;
    return (fg_product_extents){
        .m = product->a_transposed ? a->cols : a->rows,
        .n = product->b_transposed ? b->rows : b->cols,
        .k = product->a_transposed ? a->rows : a->cols,
    };
}

void fg_product_values(const fg_product *product, double *v) {
    fg_product_extents size = fg_product_measure(product);
    if (size.m == 0 || size.n == 0 || size.k == 0) {
        memset(v, 0, (size_t)(size.m * size.n) * sizeof *v);
        return;
    }
    cblas_dgemm(CblasRowMajor, product->a_transposed ? CblasTrans : CblasNoTrans,
                product->b_transposed ? CblasTrans : CblasNoTrans, (int)size.m, (int)size.n,
                (int)size.k, 1, product->a->v, (int)product->a->cols, product->b->v,
                (int)product->b->cols, 0, v, (int)size.n);
}

static void shadow_product(const fg_product *product, float alpha, const float *a, const float *b,
                           float beta, float *c) {
    fg_product_extents size = fg_product_measure(product);
    cblas_sgemm(CblasRowMajor, product->a_transposed ? CblasTrans : CblasNoTrans,
                product->b_transposed ? CblasTrans : CblasNoTrans, (int)size.m, (int)size.n,
                (int)size.k, alpha, a, (int)product->a->cols, b, (int)product->b->cols, beta, c,
                (int)size.n);
}

/* Sum of (b d(a)/2)^2 + (a d(b)/2)^2. The two sums have scales of their own; the smaller one is
 * brought to the larger's. */
static void spread_products(const fg_product *product, fg_product_sums *sums) {
    const fg_operand *a = product->a;
    const fg_operand *b = product->b;
    int32_t of_a = a->spread != NULL ? a->spread_scale + b->scale : INT32_MIN / 4;
    int32_t of_b = b->spread != NULL ? b->spread_scale + a->scale : INT32_MIN / 4;
    int32_t scale = of_a > of_b ? of_a : of_b;
    float beta = 0;
    if (a->spread != NULL) {
        float alpha = (float)ldexp(1, 2 * (of_a - scale));
        shadow_product(product, alpha, a->spread, b->square, beta, sums->spread);
        beta = 1;
    }
    if (b->spread != NULL) {
        float alpha = (float)ldexp(1, 2 * (of_b - scale));
        shadow_product(product, alpha, a->square, b->spread, beta, sums->spread);
    }
    sums->spread_factor = 3 * sqrt(SUM_MARGIN) * ldexp(1, scale);
}

void fg_product_shadows(const fg_product *product, fg_product_sums *sums) {
    fg_product_extents size = fg_product_measure(product);
    sums->sum_factor = 0;
    sums->spread_factor = 0;
    sums->largest = INFINITY;
    if (size.m == 0 || size.n == 0 || size.k == 0) {
        return;
    }
    double scale = ldexp(1, product->a->scale + product->b->scale);
    shadow_product(product, 1, product->a->magnitude, product->b->magnitude, 0, sums->sum);
    sums->sum_factor = product->gamma * SUM_MARGIN * scale;
    sums->largest = product->largest / scale;
    if (product->a->spread != NULL || product->b->spread != NULL) {
        spread_products(product, sums);
    }
}
