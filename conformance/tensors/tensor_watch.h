#ifndef FG_CONFORMANCE_TENSORS_TENSOR_WATCH_H
#define FG_CONFORMANCE_TENSORS_TENSOR_WATCH_H

#include "conformance/tensors/tensor_span.h"
#include "conformance/tensors/tensors.h"

/* A walk over the elements of a buffer's view that belong to experts, with padding rows too on
 * request. */
fg_span_walk fg_tensors_walk(const fg_tensors *tensors, int number, int padding);

/* Says in words which place of a buffer a byte of the mapping is. */
void fg_tensors_place(const fg_tensors *tensors, int number, size_t at, char *where, size_t size);

#endif
