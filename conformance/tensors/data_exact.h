#ifndef FG_CONFORMANCE_TENSORS_DATA_EXACT_H
#define FG_CONFORMANCE_TENSORS_DATA_EXACT_H

#include "conformance/tensors/data.h"

/* Saturated-gate neutral data: every sum is exact in float32 in any order, and every intermediate
 * is representable in bf16 and f16, so that each element has one right bit pattern.
 *
 *   x, dy   -1 1; in x one coordinate of each expert, the anchor, is always 1
 *   W1      a gate row holds 80 or 88 at the anchor and 4 of -8, 8 elsewhere: gates are multiples
 *           of 8 in 48..120, where the sigmoid is 1; every sixteenth holds -1152 at the anchor:
 *           gates below -1024, where it is 0; any other row holds 15 of -1, 1: |u| <= 15
 *   W2      a column holds 15 of -1, 1: |dh| <= 15; so gate * u, dh * u, dh * gate fit 8 digits
 *   p       1/2 1 2, and 0 at one row in sixteen
 *   biases  of gates -8 8, of other columns -1 1, b2 -4..4; each takes the place of one entry
 *
 * y alone may need more digits, before b2 as after it: a sum of h fills them, and where
 * FG_ROUND_BIAS_AFTER rounds it, it does so in one way, since the sum is exact.
 *
 * Where H is so much larger than F that columns of a weight would stay empty, rows hold s times as
 * many and x, dy hold only every s-th coordinate, another one in the next row. */
void fg_data_exact(const fg_data_spot *spot, int tensor, int64_t rows, int64_t cols, float *out);

#endif
