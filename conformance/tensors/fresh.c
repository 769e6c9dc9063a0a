#include "conformance/tensors/fresh.h"

#include "conformance/tensors/data.h"
#include "conformance/tensors/tensor_watch.h"

#include <string.h>

/* Past it one more forward would take longer than what it may show is worth. */
static const double flops_limit = 1e10;

const char *fg_fresh_missing(const fg_case *value) {
    int64_t tokens = 0;
    for (int64_t e = 0; e < value->problem.experts; e++) {
        tokens += value->splits[e];
    }
    if (value->kind != FG_CASE_MLP) {
        return "another kind of case";
    }
    if (tokens == 0) {
        return "no tokens";
    }
    return fg_problem_forward_flops(&value->problem, tokens) > flops_limit
               ? "a forward of more than 1e10 operations"
               : NULL;
}

fg_status fg_fresh_fill(fg_tensors *tensors) {
    fg_case other = *tensors->value;
    other.data = FG_DATA_NORMAL;
    other.seed ^= UINT64_C(0x9e3779b97f4a7c15);
    return fg_data_fill(&other, tensors->begin, FG_X, &tensors->buffers[FG_BUFFER_OTHER_X].view);
}

static void swap_bytes(unsigned char *a, unsigned char *b, size_t bytes) {
    unsigned char held[4096];
    for (size_t at = 0; at < bytes; at += sizeof held) {
        size_t size = bytes - at < sizeof held ? bytes - at : sizeof held;
        memcpy(held, a + at, size);
        memcpy(a + at, b + at, size);
        memcpy(b + at, held, size);
    }
}

void fg_fresh_swap(fg_tensors *tensors) {
    const fg_buffer *x = &tensors->buffers[FG_BUFFER_INPUT + FG_X];
    const fg_buffer *other = &tensors->buffers[FG_BUFFER_OTHER_X];
    fg_span_walk walk = fg_tensors_walk(tensors, FG_BUFFER_INPUT + FG_X, 1);
    fg_span span;
    while (other->present && fg_span_next(&walk, &span)) {
        swap_bytes(tensors->shm.base + x->offset + span.offset,
                   tensors->shm.base + other->offset + span.offset, span.bytes);
    }
}
