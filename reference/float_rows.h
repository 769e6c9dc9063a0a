#ifndef FG_REFERENCE_FLOAT_ROWS_H
#define FG_REFERENCE_FLOAT_ROWS_H

/* Moves blocks between tensors of any floating type and tight float32 matrices. No checks: the
 * caller's bounds have been checked. Nothing here allocates. */

#include "contract/tensor.h"

/* A [rows, cols] view: matrix `e` of a 3-D tensor, a 2-D tensor itself, a 1-D tensor as one row. */
fg_tensor fg_rows_matrix(const fg_tensor *tensor, int64_t e);

/* to [rows, cols] = matrix[row.., col..], exact for f32, f16, bf16. */
void fg_rows_load(const fg_tensor *matrix, int64_t row, int64_t col, int64_t rows, int64_t cols,
                  float *to);

/* to [n] = vector[first..], or 1 in each place when there is no vector (ndim 0). */
void fg_rows_load_vector(const fg_tensor *vector, int64_t first, int64_t n, float *to);

/* matrix[row.., col..] = from [rows, cols], or += with `add`; one rounding to the matrix's type.
 * Without `add` the old content is not read. */
void fg_rows_store(const fg_tensor *matrix, int64_t row, int64_t col, int64_t rows, int64_t cols,
                   const float *from, int add);

/* matrix[row.., col..] = 0. */
void fg_rows_zero(const fg_tensor *matrix, int64_t row, int64_t col, int64_t rows, int64_t cols);

/* Rounds n float32 values to a type, in place; f32 is left as it is. */
void fg_rows_round(fg_dtype dtype, int64_t n, float *values);

/* sums [cols] += column sums of matrix [rows, cols]. */
void fg_rows_sum(int64_t rows, int64_t cols, const float *matrix, float *sums);

/* matrix [rows, cols] += line [cols] in every row; times factor [rows] unless NULL. */
void fg_rows_add(int64_t rows, int64_t cols, const float *line, const float *factor, float *matrix);

#endif
