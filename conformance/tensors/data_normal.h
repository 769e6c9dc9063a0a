#ifndef FG_CONFORMANCE_TENSORS_DATA_NORMAL_H
#define FG_CONFORMANCE_TENSORS_DATA_NORMAL_H

#include "conformance/tensors/data.h"

/* Random data: x, dy and what is accumulated into N(0, 1), weights N(0, 1 / fan-in), bias
 * N(0, 1 / 4), p uniform in (0, 1). Fills one expert's block [rows, cols] of a tensor. */
void fg_data_normal(const fg_data_spot *spot, int tensor, int64_t rows, int64_t cols, float *out);

#endif
