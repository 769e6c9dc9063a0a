#ifndef FG_CONFORMANCE_TENSORS_TENSOR_SPAN_H
#define FG_CONFORMANCE_TENSORS_TENSOR_SPAN_H

#include "contract/tensor.h"

/* Walks the contiguous stretches of elements of a view, in order of address: whole blocks where
 * rows touch, row by row else. For a view by token, rows that belong to no expert are left out
 * unless `padding`. */
typedef struct fg_span_walk {
    const fg_tensor *view;
    const int64_t *begin, *splits; /* by token: [E + 1], [E]; NULL: every line counts */
    int64_t experts;
    int padding;
    int64_t expert, line; /* where the walk is */
} fg_span_walk;

/* One stretch: bytes from the view's data, and the number of its first line (a line is all
 * dimensions but the last; for one dimension an element). */
typedef struct fg_span {
    size_t offset, bytes;
    int64_t line;
} fg_span;

/* Gives the next stretch; 0 past the last. */
int fg_span_next(fg_span_walk *walk, fg_span *out);

#endif
