#include "conformance/judge/number.h"

double fg_number_at(const fg_tensor *view, int64_t i, int64_t j, int64_t k) {
    const int64_t at[FG_TENSOR_DIMS] = {i, j, k};
    int64_t offset = 0;
    for (int32_t d = 0; d < view->ndim && d < FG_TENSOR_DIMS; d++) {
        offset += at[d] * view->strides[d];
    }
    fg_dtype dtype = (fg_dtype)view->dtype;
    const char *from = (const char *)view->data + (size_t)offset * fg_dtype_size(dtype);
    double value = 0;
    fg_dtype_load_f64(dtype, from, 1, &value);
    return value;
}
