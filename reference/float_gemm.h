#ifndef FG_REFERENCE_FLOAT_GEMM_H
#define FG_REFERENCE_FLOAT_GEMM_H

#include <stdint.h>

enum { FG_GEMM_OVERWRITE = 0, FG_GEMM_ADD = 1 };

/* The three products of a linear layer on tight row-major float32 matrices, through cblas_sgemm.
 * `add` 0 never reads c. Extents fit an int; a zero extent works without BLAS: a product over
 * nothing is zero. */

/* c [m, n] = a [m, k] b [n, k]^T. */
void fg_float_gemm_nt(int64_t m, int64_t n, int64_t k, const float *a, const float *b, int add,
                      float *c);
/* c [m, n] = a [m, k] b [k, n]. */
void fg_float_gemm_nn(int64_t m, int64_t n, int64_t k, const float *a, const float *b, int add,
                      float *c);
/* c [m, n] = a [k, m]^T b [k, n]. */
void fg_float_gemm_tn(int64_t m, int64_t n, int64_t k, const float *a, const float *b, int add,
                      float *c);

#endif
