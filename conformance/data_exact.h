#ifndef FG_CONFORMANCE_DATA_EXACT_H
#define FG_CONFORMANCE_DATA_EXACT_H

#include "conformance/data.h"

/* Saturated-gate neutral data: every sum is exact in float32 in any order, and every intermediate
 * is representable in bf16 and f16, so that each element has one right bit pattern.
 *
 *   x, dy   -1 0 1; in x one coordinate of each expert, the anchor, is always 1
 *   W1      a gate row holds 60..68 at the anchor and up to 10 of -1, 1 elsewhere: gates of 49..79,
 *           where the sigmoid is 1; every eighth holds -1152 and up to 10 of -8, 8: gates below
 *           -1024, where it is 0; a linear row holds 3 of -1, 1 (2 with bias): |u| <= 3
 *           squared ReLU: 10 of -1, 1
 *   W2      a column holds 3 of -1, 1: |dh| <= 3, so that dh * gate, gate * u fit 8 digits
 *   p       1/2 1 2, and 0 at every sixteenth row
 *   biases  of gates -1 0 1 (-8 0 8), of linear columns -1 0 1, b2 -4..4
 *
 * Where H is so much larger than F that columns of a weight would stay empty, rows hold s times as
 * many and x, dy only every s-th coordinate, another s-th in the next row. */
void fg_data_exact(const fg_data_spot *spot, int tensor, int64_t rows, int64_t cols, float *out);

#endif
