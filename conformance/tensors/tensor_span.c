#include "conformance/tensors/tensor_span.h"

/* Elements of a line, and elements from one line's start to that of line number `line`. */
static int64_t line_length(const fg_tensor *view) {
    return view->ndim == 1 ? 1 : view->dims[view->ndim - 1];
}

static int64_t line_count(const fg_tensor *view) {
    return view->ndim == 3 ? view->dims[0] * view->dims[1] : view->dims[0];
}

static int64_t line_start(const fg_tensor *view, int64_t line) {
    if (view->ndim == 3) {
        return line / view->dims[1] * view->strides[0] + line % view->dims[1] * view->strides[1];
    }
    return line * view->strides[0];
}

static int touching(const fg_tensor *view) {
    int64_t length = line_length(view);
    if (view->ndim == 3) {
        return view->strides[1] == length && view->strides[0] == length * view->dims[1];
    }
    return view->strides[0] == length;
}

/* Lines [from, to) that come next: those of one expert, or all. */
static int next_lines(fg_span_walk *walk, int64_t *from, int64_t *to) {
    int64_t all = line_count(walk->view);
    if (walk->begin == NULL || walk->padding) {
        *from = walk->line;
        *to = all;
        return walk->line < all;
    }
    for (; walk->expert < walk->experts; walk->expert++) {
        int64_t first = walk->begin[walk->expert], end = first + walk->splits[walk->expert];
        *from = walk->line > first ? walk->line : first;
        *to = end;
        if (*from < end) {
            return 1;
        }
    }
    return 0;
}

int fg_span_next(fg_span_walk *walk, fg_span *out) {
    int64_t from = 0, to = 0, length = line_length(walk->view);
    if (length == 0 || !next_lines(walk, &from, &to)) {
        return 0;
    }
    size_t size = fg_dtype_size((fg_dtype)walk->view->dtype);
    int64_t lines = touching(walk->view) ? to - from : 1;
    out->line = from;
    out->offset = (size_t)line_start(walk->view, from) * size;
    out->bytes = (size_t)(lines * length) * size;
    walk->line = from + lines;
    return 1;
}
