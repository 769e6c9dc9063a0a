#ifndef FG_CONTRACT_TENSOR_H
#define FG_CONTRACT_TENSOR_H

#include "contract/dtype.h"

#define FG_TENSOR_DIMS 3

/* A non-owning view of a strided array; the last dimension is contiguous (stride 1).
 * dims and strides are in elements, strides[i] >= 0; device -1 is host memory. */
typedef struct fg_tensor {
    size_t struct_size;
    void *data;
    int32_t dtype; /* fg_dtype */
    int32_t ndim;  /* 1..3 */
    int32_t device;
    int64_t dims[FG_TENSOR_DIMS];
    int64_t strides[FG_TENSOR_DIMS];
} fg_tensor;

/* Makes a view with tight strides of up to three dimensions (unused ones are 0). */
fg_tensor fg_tensor_tight(void *data, fg_dtype dtype, int32_t device, int32_t ndim,
                          const int64_t *dims);

/* Number of elements; 1 for no dimensions. */
int64_t fg_tensor_count(const fg_tensor *tensor);

/* Bytes from the first element to one past the last; 0 when a dimension is 0.
 * Returns FG_STATUS_OVERFLOW when that does not fit. */
fg_status fg_tensor_span(const fg_tensor *tensor, size_t *out);

/* Checks type, dimensions, strides that do not overlap rows, and a non-NULL pointer unless empty;
 * `name` is what the message calls it. Returns FG_STATUS_SHAPE. */
fg_status fg_tensor_check(const fg_tensor *tensor, const char *name, fg_dtype dtype, int32_t ndim,
                          const int64_t *dims);

/* Whether the bytes that two views span overlap. */
int fg_tensor_overlap(const fg_tensor *a, const fg_tensor *b);

/* Address of element (i, 0..) of the first dimension. */
void *fg_tensor_row(const fg_tensor *tensor, int64_t i);

#endif
