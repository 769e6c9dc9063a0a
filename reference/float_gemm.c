#include "reference/float_gemm.h"
#include <cblas.h>
#include <stddef.h>
#include <string.h>

/* Whether there is nothing for BLAS to do; a product over nothing clears c unless it is added. */
static int is_empty(int64_t m, int64_t n, int64_t k, int add, float *c) {
    if (m > 0 && n > 0 && k > 0) {
        return 0;
    }
    if (m > 0 && n > 0 && !add) {
        memset(c, 0, (size_t)m * (size_t)n * sizeof *c);
    }
    return 1;
}

void fg_float_gemm_nt(int64_t m, int64_t n, int64_t k, const float *a, const float *b, int add,
                      float *c) {
    if (!is_empty(m, n, k, add, c)) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)m, (int)n, (int)k, 1.0f, a,
                    (int)k, b, (int)k, add ? 1.0f : 0.0f, c, (int)n);
    }
}

void fg_float_gemm_nn(int64_t m, int64_t n, int64_t k, const float *a, const float *b, int add,
                      float *c) {
    if (!is_empty(m, n, k, add, c)) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1.0f, a,
                    (int)k, b, (int)n, add ? 1.0f : 0.0f, c, (int)n);
    }
}

void fg_float_gemm_tn(int64_t m, int64_t n, int64_t k, const float *a, const float *b, int add,
                      float *c) {
    if (!is_empty(m, n, k, add, c)) {
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1.0f, a,
                    (int)m, b, (int)n, add ? 1.0f : 0.0f, c, (int)n);
    }
}
