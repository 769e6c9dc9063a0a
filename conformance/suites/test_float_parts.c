/* The float32 parts that both CPU backends are made of. */

#include "contract/dtype.h"
#include "reference/float_activation.h"
#include "reference/float_gemm.h"
#include "reference/float_rows.h"
#include "reference/scratch_arena.h"
#include <cblas.h>
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <math.h>
#include <string.h>

typedef void sgemm_fn(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE transa,
                      enum CBLAS_TRANSPOSE transb, blasint m, blasint n, blasint k, float alpha,
                      const float *a, blasint lda, const float *b, blasint ldb, float beta,
                      float *c, blasint ldc);
static int blas_calls;

/* Stands before the library's function of that name and counts. */
void cblas_sgemm(enum CBLAS_ORDER Order, enum CBLAS_TRANSPOSE TransA, enum CBLAS_TRANSPOSE TransB,
                 blasint M, blasint N, blasint K, float alpha, const float *A, blasint lda,
                 const float *B, blasint ldb, float beta, float *C, blasint ldc) {
    void *symbol = dlsym(RTLD_NEXT, "cblas_sgemm");
    sgemm_fn *library = NULL;
    memcpy(&library, &symbol, sizeof library);
    blas_calls++;
    library(Order, TransA, TransB, M, N, K, alpha, A, lda, B, ldb, beta, C, ldc);
}

typedef void product_fn(int64_t m, int64_t n, int64_t k, const float *a, const float *b, int add,
                        float *c);

enum { ROWS = 3, COLS = 5, DEPTH = 4 };

/* Small integers, another at each place: sums are exact in any order. */
static float integer_at(int64_t row, int64_t col) {
    return (float)((row * 7 + col * 5) % 11 - 5);
}

/* Fills a [rows, cols] as it is, or its transpose as [cols, rows]. */
static void fill(float *to, int64_t rows, int64_t cols, int transposed) {
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            to[transposed ? j * rows + i : i * cols + j] = integer_at(i, j);
        }
    }
}

static void check_product(product_fn *product, int a_transposed, int b_transposed) {
    float a[ROWS * DEPTH], b[DEPTH * COLS], c[ROWS * COLS];
    fill(a, ROWS, DEPTH, a_transposed);
    fill(b, DEPTH, COLS, b_transposed);
    for (int add = 0; add < 2; add++) {
        for (int i = 0; i < ROWS * COLS; i++) {
            c[i] = add ? 100.0f : NAN;
        }
        product(ROWS, COLS, DEPTH, a, b, add, c);
        for (int64_t i = 0; i < ROWS; i++) {
            for (int64_t j = 0; j < COLS; j++) {
                float sum = add ? 100.0f : 0.0f;
                for (int64_t k = 0; k < DEPTH; k++) {
                    sum += integer_at(i, k) * integer_at(k, j);
                }
                cr_assert(c[i * COLS + j] == sum, "add %d at (%ld, %ld): %g, expected %g", add,
                          (long)i, (long)j, (double)c[i * COLS + j], (double)sum);
            }
        }
    }
}

Test(float_parts, products_are_those_of_naive_loops) {
    openblas_set_num_threads(1);
    check_product(fg_float_gemm_nt, 0, 1);
    check_product(fg_float_gemm_nn, 0, 0);
    check_product(fg_float_gemm_tn, 1, 0);
    cr_assert_eq(blas_calls, 6);
}

Test(float_parts, products_over_nothing_are_zero_without_blas) {
    product_fn *products[] = {fg_float_gemm_nt, fg_float_gemm_nn, fg_float_gemm_tn};
    for (int p = 0; p < 3; p++) {
        float c[2] = {NAN, NAN};
        products[p](1, 2, 0, NULL, NULL, FG_GEMM_OVERWRITE, c);
        cr_assert(c[0] == 0.0f && c[1] == 0.0f, "overwrite, product %d", p);
        c[0] = c[1] = 3.0f;
        products[p](1, 2, 0, NULL, NULL, FG_GEMM_ADD, c);
        products[p](0, 2, 1, NULL, NULL, FG_GEMM_OVERWRITE, c);
        products[p](1, 0, 1, NULL, NULL, FG_GEMM_OVERWRITE, c);
        cr_assert(c[0] == 3.0f && c[1] == 3.0f, "product %d", p);
    }
    cr_assert_eq(blas_calls, 0);
}

/* Value and derivatives at one gate, beside float64 ones; limits as the traits declare them. */
static void check_swiglu(float g) {
    const double unit = 8 * 0x1p-24;
    float u = 1.25f, d = -3.0f, a, dgate, dlinear;
    fg_float_activation(FG_ACT_SWIGLU, 1, &g, &u, &a);
    fg_float_activation_backward(FG_ACT_SWIGLU, 1, &g, &u, &d, &dgate, &dlinear);
    double x = (double)g;
    double s = 1 / (1 + exp(-x));
    double rest = 1 / (1 + exp(x));
    double floor = 0x1p-126 * (fabs(x) + 1) * 4;
    double slope = s + x * s * rest;
    double slope_size = s + fabs(x) * s * (1 + s);
    cr_assert(fabs((double)a - x * s * 1.25) <= unit * fabs(x * s * 1.25) + floor, "a(%a)", x);
    cr_assert(fabs((double)dlinear + 3 * x * s) <= unit * fabs(3 * x * s) + floor, "dl(%a)", x);
    cr_assert(fabs((double)dgate + 3.75 * slope) <= unit * 3.75 * slope_size + floor, "dg(%a)", x);
}

Test(float_parts, swiglu_of_every_bf16_gate_is_as_exact_as_declared) {
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        float g = fg_f32_from_bf16((uint16_t)bits);
        if (isfinite(g) && fabsf(g) < 1e30f) {
            check_swiglu(g);
        }
    }
}

Test(float_parts, saturated_gates_are_exact) {
    const float gates[] = {48, 64, 1000, -1024, -5000};
    for (int i = 0; i < 5; i++) {
        float g = gates[i], u = -3, d = 5, a, dgate, dlinear;
        float open = g > 0 ? 1.0f : 0.0f;
        fg_float_activation(FG_ACT_SWIGLU, 1, &g, &u, &a);
        fg_float_activation_backward(FG_ACT_SWIGLU, 1, &g, &u, &d, &dgate, &dlinear);
        cr_assert(a == open * g * u && dgate == open * d * u && dlinear == open * d * g, "gate %g",
                  (double)g);
    }
}

Test(float_parts, squared_relu_is_exact_and_flat_at_zero) {
    const float gates[] = {-2, -0.0f, 0, 3};
    const float values[] = {0, 0, 0, 9};
    const float slopes[] = {0, 0, 0, 6};
    for (int i = 0; i < 4; i++) {
        float d = 1, a, slope;
        fg_float_activation(FG_ACT_SRELU, 1, &gates[i], NULL, &a);
        fg_float_activation_backward(FG_ACT_SRELU, 1, &gates[i], NULL, &d, &slope, NULL);
        cr_assert(a == values[i] && slope == slopes[i], "gate %g", (double)gates[i]);
    }
}

Test(float_parts, nan_gates_give_nan) {
    for (int32_t activation = 0; activation < FG_ACTIVATIONS; activation++) {
        float g = NAN, u = 1, d = 1, a = 0, dgate = 0, dlinear = 0;
        fg_float_activation(activation, 1, &g, &u, &a);
        fg_float_activation_backward(activation, 1, &g, &u, &d, &dgate, &dlinear);
        cr_assert(isnan(a) && isnan(dgate), "%s", fg_activation_name((fg_activation)activation));
    }
}

Test(float_parts, rounding_in_place_is_that_of_the_type) {
    const fg_dtype dtypes[] = {FG_F32, FG_F16, FG_BF16};
    for (int t = 0; t < 3; t++) {
        float values[1000];
        for (int i = 0; i < 1000; i++) {
            values[i] = 1.0f + (float)i * 0x1.3p-12f;
        }
        fg_rows_round(dtypes[t], 1000, values);
        for (int i = 0; i < 1000; i++) {
            double right = fg_dtype_round(dtypes[t], (double)(1.0f + (float)i * 0x1.3p-12f));
            cr_assert((double)values[i] == right, "%s at %d", fg_dtype_name(dtypes[t]), i);
        }
    }
}

Test(float_parts, added_blocks_keep_what_lies_around_them) {
    float memory[4][600], block[2][500];
    int64_t dims[2] = {4, 600};
    fg_tensor matrix = fg_tensor_tight(memory, FG_F32, -1, 2, dims);
    for (int i = 0; i < 4 * 600; i++) {
        (&memory[0][0])[i] = (float)i;
    }
    for (int i = 0; i < 2 * 500; i++) {
        (&block[0][0])[i] = 1.0f;
    }
    fg_rows_store(&matrix, 1, 50, 2, 500, &block[0][0], 1);
    for (int r = 0; r < 4; r++) {
        for (int c = 0; c < 600; c++) {
            int inside = r >= 1 && r < 3 && c >= 50 && c < 550;
            cr_assert(memory[r][c] == (float)(r * 600 + c + inside), "(%d, %d)", r, c);
        }
    }
}

Test(float_parts, arena_cuts_apart_and_remembers_overflow) {
    unsigned char memory[256];
    fg_arena sizing = fg_arena_on(NULL);
    fg_arena cutting = fg_arena_on(memory);
    cr_assert_null(fg_arena_floats(&sizing, 3, 5));
    cr_assert_null(fg_arena_take(&sizing, 1, 1, 1));
    float *first = fg_arena_floats(&cutting, 3, 5);
    unsigned char *second = fg_arena_take(&cutting, 1, 1, 1);
    cr_assert((unsigned char *)first == memory && second >= memory + 3 * 5 * sizeof(float));
    cr_assert_eq(cutting.used, sizing.used);
    cr_assert(second + 1 <= memory + cutting.used);
    fg_arena_floats(&sizing, INT64_MAX / 2, 3);
    cr_assert_eq(sizing.status, FG_STATUS_OVERFLOW);
    fg_arena_floats(&sizing, 1, 1);
    cr_assert_eq(sizing.status, FG_STATUS_OVERFLOW);
    fg_arena wide = fg_arena_on(NULL);
    fg_arena_floats(&wide, (int64_t)1 << 62, 1);
    cr_assert_eq(wide.status, FG_STATUS_OVERFLOW);
}
