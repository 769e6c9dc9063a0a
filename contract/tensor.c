#include "contract/tensor.h"

#include "contract/alloc.h"

fg_tensor fg_tensor_tight(void *data, fg_dtype dtype, int32_t device, int32_t ndim,
                          const int64_t *dims) {
    fg_tensor tensor = {
        .struct_size = sizeof tensor,
        .data = data,
        .dtype = (int32_t)dtype,
        .ndim = ndim,
        .device = device,
    };
    int64_t stride = 1;
    for (int32_t i = ndim - 1; i >= 0; i--) {
        tensor.dims[i] = dims[i];
        tensor.strides[i] = stride;
        stride *= dims[i];
    }
    return tensor;
}

int64_t fg_tensor_count(const fg_tensor *tensor) {
    int64_t count = 1;
    for (int32_t i = 0; i < tensor->ndim; i++) {
        count *= tensor->dims[i];
    }
    return count;
}

fg_status fg_tensor_span(const fg_tensor *tensor, size_t *out) {
    int64_t last = 0;
    for (int32_t i = 0; i < tensor->ndim; i++) {
        if (tensor->dims[i] == 0) {
            *out = 0;
            return FG_STATUS_OK;
        }
        int64_t step = 0;
        FG_TRY(fg_extent_mul(tensor->dims[i] - 1, tensor->strides[i], &step));
        FG_TRY(fg_extent_add(last, step, &last));
    }
    FG_TRY(fg_extent_add(last, 1, &last));
    return fg_size_mul((size_t)last, fg_dtype_size((fg_dtype)tensor->dtype), out);
}

/* Each stride must step over all that the dimension after it spans. */
static fg_status check_strides(const fg_tensor *tensor, const char *name) {
    int64_t inner = 1;
    for (int32_t i = tensor->ndim - 1; i >= 0; i--) {
        if (tensor->dims[i] > 1 && tensor->strides[i] < inner) {
            return FG_FAIL(FG_STATUS_SHAPE,
                           "%s: found stride %lld of dimension %d, expected %lld%s", name,
                           (long long)tensor->strides[i], i, (long long)inner,
                           i == tensor->ndim - 1 ? "" : " or more");
        }
        int64_t extent = tensor->dims[i] > 0 ? tensor->dims[i] : 1;
        int64_t stride = tensor->strides[i] > inner ? tensor->strides[i] : inner;
        FG_TRY(fg_extent_mul(stride, extent, &inner));
    }
    int32_t last = tensor->ndim - 1;
    if (tensor->dims[last] > 1 && tensor->strides[last] != 1) {
        return FG_FAIL(FG_STATUS_SHAPE, "%s: found stride %lld of the last dimension, expected 1",
                       name, (long long)tensor->strides[last]);
    }
    return FG_STATUS_OK;
}

fg_status fg_tensor_check(const fg_tensor *tensor, const char *name, fg_dtype dtype, int32_t ndim,
                          const int64_t *dims) {
    if (tensor == NULL) {
        return FG_FAIL(FG_STATUS_SHAPE, "%s: found no tensor, expected one", name);
    }
    if (tensor->struct_size < sizeof *tensor) {
        return FG_FAIL(FG_STATUS_ABI, "%s: found a tensor struct of %zu bytes, expected %zu", name,
                       tensor->struct_size, sizeof *tensor);
    }
    if (tensor->dtype != (int32_t)dtype) {
        return FG_FAIL(FG_STATUS_SHAPE, "%s: found type %s, expected %s", name,
                       fg_dtype_name((fg_dtype)tensor->dtype), fg_dtype_name(dtype));
    }
    if (tensor->ndim != ndim) {
        return FG_FAIL(FG_STATUS_SHAPE, "%s: found %d dimensions, expected %d", name, tensor->ndim,
                       ndim);
    }
    for (int32_t i = 0; i < ndim; i++) {
        if (tensor->dims[i] != dims[i]) {
            return FG_FAIL(FG_STATUS_SHAPE, "%s: found extent %lld in dimension %d, expected %lld",
                           name, (long long)tensor->dims[i], i, (long long)dims[i]);
        }
    }
    FG_TRY(check_strides(tensor, name));
    if (tensor->data == NULL && fg_tensor_count(tensor) > 0) {
        return FG_FAIL(FG_STATUS_SHAPE, "%s: found a null pointer, expected data", name);
    }
    return FG_STATUS_OK;
}

int fg_tensor_overlap(const fg_tensor *a, const fg_tensor *b) {
    size_t a_bytes = 0;
    size_t b_bytes = 0;
    if (fg_tensor_span(a, &a_bytes) != FG_STATUS_OK ||
        fg_tensor_span(b, &b_bytes) != FG_STATUS_OK) {
        return 1;
    }
    uintptr_t a_first = (uintptr_t)a->data;
    uintptr_t b_first = (uintptr_t)b->data;
    return a_bytes > 0 && b_bytes > 0 && a_first < b_first + b_bytes && b_first < a_first + a_bytes;
}

void *fg_tensor_row(const fg_tensor *tensor, int64_t i) {
    int64_t size = (int64_t)fg_dtype_size((fg_dtype)tensor->dtype);
    return (char *)tensor->data + i * tensor->strides[0] * size;
}
