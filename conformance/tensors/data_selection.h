#ifndef FG_CONFORMANCE_TENSORS_DATA_SELECTION_H
#define FG_CONFORMANCE_TENSORS_DATA_SELECTION_H

#include "conformance/tensors/data.h"

/* Permutation-like weights and values that encode their coordinates, so that an index error gives
 * the number of another place.
 *   even seeds  x encodes (row, column), dy holds +-1 2 4; odd seeds the other way round
 *   a code is one byte of the linear index (1..256), squared ReLU's x half a byte (1..16), and
 *   fewer bits where an expert has so many rows that the sums of weight gradients would not be
 *   exact; which part: seed / 2 modulo the number of parts
 *   W1          gate rows 64 at the anchor, where x is 1; linear rows one 1 (several where H > F:
 *               then row t of x holds only the coordinates of the t-th of them)
 *   W2          one 1 in each row and column (several in a row where F > H, in a column where
 *               H > F)
 *   p           1/2 1 2
 *   b1, b2      0; -4..4
 * Sums that reach an intermediate have one term, so everything is exact. */
void fg_data_selection(const fg_data_spot *spot, int tensor, int64_t rows, int64_t cols,
                       float *out);

#endif
