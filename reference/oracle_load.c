#include "reference/oracle_load.h"

#include <stddef.h>

/* Elements of an input-major row that are read before they are scattered. */
#define CHUNK 256

static int is_weight(int input) {
    return input == FG_W1 || input == FG_W2;
}

fg_status fg_load_check(const fg_problem *problem, const fg_tensor *tensor, int input, int gradient,
                        int64_t rows) {
    const char *name = gradient ? fg_grad_name(input) : fg_input_name(input);
    int64_t dims[FG_TENSOR_DIMS] = {0};
    int32_t ndim = fg_problem_input_dims(problem, input, rows, dims);
    fg_dtype dtype =
        gradient ? fg_problem_grad_dtype(problem, input) : fg_problem_input_dtype(problem, input);
    if (is_weight(input) && problem->weight_form == FG_WEIGHTS_POINTERS) {
        return fg_tensor_check(tensor, name, FG_POINTER, 1, dims);
    }
    return fg_tensor_check(tensor, name, dtype, ndim, dims);
}

void fg_load_rows(const fg_tensor *tensor, int64_t first, int64_t rows, double *to) {
    fg_dtype dtype = (fg_dtype)tensor->dtype;
    if (tensor->ndim == 1) {
        if (rows > 0) {
            fg_dtype_load_f64(dtype, fg_tensor_row(tensor, first), rows, to);
        }
        return;
    }
    int64_t cols = tensor->dims[1];
    for (int64_t i = 0; i < rows; i++) {
        fg_dtype_load_f64(dtype, fg_tensor_row(tensor, first + i), cols, to + i * cols);
    }
}

/* One expert's matrix as it is stored. */
typedef struct stored {
    const char *data;
    fg_dtype dtype;
    int64_t rows, cols, stride;
} stored;

static const char *stored_at(const stored *matrix, int64_t i, int64_t j) {
    int64_t index = i * matrix->stride + j;
    return matrix->data + index * (int64_t)fg_dtype_size(matrix->dtype);
}

/* Reads input-major rows a chunk at a time and scatters each as part of a column of `to`. */
static void load_transposed(const stored *matrix, double *to) {
    double chunk[CHUNK];
    for (int64_t j = 0; j < matrix->cols; j += CHUNK) {
        int64_t n = matrix->cols - j < CHUNK ? matrix->cols - j : CHUNK;
        for (int64_t i = 0; i < matrix->rows; i++) {
            fg_dtype_load_f64(matrix->dtype, stored_at(matrix, i, j), n, chunk);
            for (int64_t k = 0; k < n; k++) {
                to[(j + k) * matrix->rows + i] = chunk[k];
            }
        }
    }
}

void fg_load_weight(const fg_problem *problem, const fg_tensor *tensor, int input, fg_dtype dtype,
                    int64_t expert, double *to) {
    int64_t dims[FG_TENSOR_DIMS] = {0};
    fg_problem_input_dims(problem, input, 0, dims);
    stored matrix = {
        .dtype = dtype, .rows = dims[1], .cols = dims[2], .stride = tensor->strides[1]};
    if (problem->weight_form == FG_WEIGHTS_POINTERS) {
        matrix.data = ((void **)tensor->data)[expert * tensor->strides[0]];
        matrix.stride = matrix.cols;
    } else {
        matrix.data = fg_tensor_row(tensor, expert);
    }
    if (problem->weight_order == FG_WEIGHTS_IO) {
        load_transposed(&matrix, to);
        return;
    }
    for (int64_t i = 0; i < matrix.rows; i++) {
        fg_dtype_load_f64(dtype, stored_at(&matrix, i, 0), matrix.cols, to + i * matrix.cols);
    }
}
