#include "conformance/tensors/data.h"

#include "conformance/tensors/data_exact.h"
#include "conformance/tensors/data_normal.h"
#include "conformance/tensors/data_selection.h"
#include "contract/alloc.h"

#include <math.h>

typedef void (*fill_fn)(const fg_data_spot *spot, int tensor, int64_t rows, int64_t cols,
                        float *out);

static const fill_fn fills[] = {
    [FG_DATA_EXACT] = fg_data_exact,
    [FG_DATA_NORMAL] = fg_data_normal,
    [FG_DATA_SELECTION] = fg_data_selection,
};

int fg_data_by_token(int tensor) {
    return tensor == FG_X || tensor == FG_P || tensor == FG_BIAS_P || tensor == FG_DATA_DY;
}

uint64_t fg_data_row(const fg_data_spot *spot, int tensor, int64_t row) {
    return fg_data_by_token(tensor) ? (uint64_t)(spot->first_row + row)
                                    : (uint64_t)spot->expert << 32 | (uint64_t)row;
}

static void store_rows(const fg_tensor *view, unsigned char *to, int64_t stride, int64_t rows,
                       int64_t cols, const float *from) {
    fg_dtype dtype = (fg_dtype)view->dtype;
    if (stride == cols) {
        fg_dtype_store_f32(dtype, from, rows * cols, to);
        return;
    }
    size_t step = (size_t)stride * fg_dtype_size(dtype);
    for (int64_t row = 0; row < rows; row++) {
        fg_dtype_store_f32(dtype, from + row * cols, cols, to + (size_t)row * step);
    }
}

/* Rows and columns of one expert's block, and the stride of its rows in the view. */
static void block_shape(const fg_data_spot *spot, int tensor, const fg_tensor *view, int64_t *rows,
                        int64_t *cols, int64_t *stride) {
    if (fg_data_by_token(tensor)) {
        *rows = spot->rows;
        *cols = view->ndim == 1 ? 1 : view->dims[1];
        *stride = view->strides[0];
    } else if (view->ndim == 2) {
        *rows = 1;
        *cols = view->dims[1];
        *stride = view->dims[1];
    } else {
        *rows = view->dims[1];
        *cols = view->dims[2];
        *stride = view->strides[1];
    }
}

static void fill_padding(const fg_tensor *view, int64_t from, int64_t to, float *scratch) {
    int64_t cols = view->ndim == 1 ? 1 : view->dims[1];
    for (int64_t k = 0; k < cols; k++) {
        scratch[k] = NAN;
    }
    for (int64_t row = from; row < to; row++) {
        store_rows(view, fg_tensor_row(view, row), cols, 1, cols, scratch);
    }
}

static int64_t largest_block(const fg_case *value, int tensor, const fg_tensor *view) {
    int64_t largest = 1;
    for (int64_t e = 0; e < value->problem.experts; e++) {
        int64_t rows = 0, cols = 0, stride = 0;
        fg_data_spot spot = {value, e, 0, value->splits[e]};
        block_shape(&spot, tensor, view, &rows, &cols, &stride);
        rows = rows > 1 ? rows : 1; // padding rows go through the same scratch
        largest = rows * cols > largest ? rows * cols : largest;
    }
    return largest;
}

fg_status fg_data_fill(const fg_case *value, const int64_t *begin, int tensor,
                       const fg_tensor *view) {
    int64_t experts = value->problem.experts;
    size_t bytes = (size_t)largest_block(value, tensor, view) * sizeof(float);
    float *scratch = fg_alloc(bytes, FG_ALLOC_TENSOR);
    if (scratch == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory for %zu bytes of data", bytes);
    }
    for (int64_t e = 0; e < experts; e++) {
        fg_data_spot spot = {value, e, begin[e], value->splits[e]};
        int64_t rows = 0, cols = 0, stride = 0;
        block_shape(&spot, tensor, view, &rows, &cols, &stride);
        if (rows > 0) {
            fills[value->data](&spot, tensor, rows, cols, scratch);
            store_rows(view, fg_tensor_row(view, fg_data_by_token(tensor) ? begin[e] : e), stride,
                       rows, cols, scratch);
        }
        if (fg_data_by_token(tensor)) {
            fill_padding(view, begin[e] + spot.rows, begin[e + 1], scratch);
        }
    }
    if (fg_data_by_token(tensor)) {
        fill_padding(view, begin[experts], view->dims[0], scratch);
    }
    fg_free(scratch);
    return FG_STATUS_OK;
}
