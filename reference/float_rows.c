#include "reference/float_rows.h"
#include <string.h>

enum { CHUNK = 256 };

fg_tensor fg_rows_matrix(const fg_tensor *tensor, int64_t e) {
    fg_tensor matrix = *tensor;
    size_t size = fg_dtype_size((fg_dtype)tensor->dtype);
    if (tensor->ndim == 3) {
        matrix.data = (unsigned char *)tensor->data + (size_t)(e * tensor->strides[0]) * size;
        matrix.dims[0] = tensor->dims[1];
        matrix.dims[1] = tensor->dims[2];
        matrix.strides[0] = tensor->strides[1];
        matrix.strides[1] = tensor->strides[2];
    } else if (tensor->ndim == 1) {
        matrix.dims[0] = 1;
        matrix.dims[1] = tensor->dims[0];
        matrix.strides[0] = tensor->dims[0];
        matrix.strides[1] = tensor->strides[0];
    }
    matrix.ndim = 2;
    return matrix;
}

static void *element(const fg_tensor *matrix, int64_t row, int64_t col) {
    size_t size = fg_dtype_size((fg_dtype)matrix->dtype);
    return (unsigned char *)matrix->data + (size_t)(row * matrix->strides[0] + col) * size;
}

void fg_rows_load(const fg_tensor *matrix, int64_t row, int64_t col, int64_t rows, int64_t cols,
                  float *to) {
    for (int64_t r = 0; r < rows; r++) {
        fg_dtype_load_f32((fg_dtype)matrix->dtype, element(matrix, row + r, col), cols,
                          to + r * cols);
    }
}

void fg_rows_load_vector(const fg_tensor *vector, int64_t first, int64_t n, float *to) {
    if (vector->ndim == 0) {
        for (int64_t i = 0; i < n; i++) {
            to[i] = 1.0f;
        }
        return;
    }
    fg_tensor line = fg_rows_matrix(vector, 0);
    fg_rows_load(&line, 0, first, 1, n, to);
}

static void add_row(fg_dtype dtype, unsigned char *at, int64_t n, const float *from) {
    size_t size = fg_dtype_size(dtype);
    float sum[CHUNK];
    for (int64_t begin = 0; begin < n; begin += CHUNK) {
        int64_t count = n - begin < CHUNK ? n - begin : CHUNK;
        void *part = at + (size_t)begin * size;
        fg_dtype_load_f32(dtype, part, count, sum);
        for (int64_t i = 0; i < count; i++) {
            sum[i] += from[begin + i];
        }
        fg_dtype_store_f32(dtype, sum, count, part);
    }
}

void fg_rows_store(const fg_tensor *matrix, int64_t row, int64_t col, int64_t rows, int64_t cols,
                   const float *from, int add) {
    for (int64_t r = 0; r < rows; r++) {
        void *at = element(matrix, row + r, col);
        if (add) {
            add_row((fg_dtype)matrix->dtype, at, cols, from + r * cols);
        } else {
            fg_dtype_store_f32((fg_dtype)matrix->dtype, from + r * cols, cols, at);
        }
    }
}

void fg_rows_zero(const fg_tensor *matrix, int64_t row, int64_t col, int64_t rows, int64_t cols) {
    size_t bytes = (size_t)cols * fg_dtype_size((fg_dtype)matrix->dtype);
    for (int64_t r = 0; r < rows; r++) {
        memset(element(matrix, row + r, col), 0, bytes);
    }
}

void fg_rows_round(fg_dtype dtype, int64_t n, float *values) {
    uint16_t rounded[CHUNK];
    if (dtype == FG_F32) {
        return;
    }
    for (int64_t begin = 0; begin < n; begin += CHUNK) {
        int64_t count = n - begin < CHUNK ? n - begin : CHUNK;
        fg_dtype_store_f32(dtype, values + begin, count, rounded);
        fg_dtype_load_f32(dtype, rounded, count, values + begin);
    }
}

void fg_rows_sum(int64_t rows, int64_t cols, const float *matrix, float *sums) {
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < cols; c++) {
            sums[c] += matrix[r * cols + c];
        }
    }
}

void fg_rows_add(int64_t rows, int64_t cols, const float *line, const float *factor,
                 float *matrix) {
    for (int64_t r = 0; r < rows; r++) {
        float scale = factor == NULL ? 1.0f : factor[r];
        for (int64_t c = 0; c < cols; c++) {
            matrix[r * cols + c] += scale * line[c];
        }
    }
}
