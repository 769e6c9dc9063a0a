#ifndef FG_CONFORMANCE_JUDGE_NUMBER_H
#define FG_CONFORMANCE_JUDGE_NUMBER_H

#include "contract/tensor.h"

/* The element (i, j, k) of a view in host memory; indices past its dimensions are not read. */
double fg_number_at(const fg_tensor *view, int64_t i, int64_t j, int64_t k);

#endif
