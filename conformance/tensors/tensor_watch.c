#include "conformance/tensors/tensor_watch.h"

#include "conformance/tensors/data.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

/* Input whose shape a buffer has; -1 for bytes and splits. */
static int shape_of(int buffer) {
    if (buffer < FG_INPUTS) {
        return buffer;
    }
    if (buffer >= FG_BUFFER_GRAD && buffer < FG_BUFFER_SAVED) {
        return (buffer - FG_BUFFER_GRAD) % FG_INPUTS;
    }
    static const int like_x[] = {FG_BUFFER_DY, FG_BUFFER_OTHER_X, FG_BUFFER_Y, FG_BUFFER_Y_NOGRAD,
                                 FG_BUFFER_OTHER_Y};
    for (size_t i = 0; i < sizeof like_x / sizeof like_x[0]; i++) {
        if (buffer == like_x[i]) {
            return FG_X;
        }
    }
    return -1;
}

fg_span_walk fg_tensors_walk(const fg_tensors *tensors, int number, int padding) {
    int shape = shape_of(number);
    int tokens = shape >= 0 && fg_data_by_token(shape);
    return (fg_span_walk){
        .view = &tensors->buffers[number].view,
        .begin = tokens ? tensors->begin : NULL,
        .splits = tokens ? tensors->value->splits : NULL,
        .experts = tensors->value->problem.experts,
        .padding = padding,
    };
}

static void place_element(const fg_tensors *tensors, int number, size_t byte, char *where,
                          size_t size) {
    const fg_buffer *buffer = &tensors->buffers[number];
    const fg_tensor *view = &buffer->view;
    int64_t element = (int64_t)(byte / fg_dtype_size((fg_dtype)view->dtype));
    int shape = shape_of(number);
    int64_t row = element / view->strides[0], rest = element % view->strides[0];
    if (shape >= 0 && fg_data_by_token(shape)) {
        int64_t expert = fg_tensors_expert(tensors, row);
        int64_t cols = view->ndim == 1 ? 1 : view->dims[1];
        snprintf(where, size, "%s%s row %" PRId64 "%s column %" PRId64, buffer->name,
                 expert < 0 ? " padding" : "", row, rest >= cols ? " gap behind it," : "", rest);
    } else if (view->ndim == 3) {
        int64_t line = rest / view->strides[1], col = rest % view->strides[1];
        int gap = line >= view->dims[1] || col >= view->dims[2];
        snprintf(where, size, "%s expert %" PRId64 " row %" PRId64 "%s column %" PRId64,
                 buffer->name, row, line, gap ? " gap," : "", col);
    } else {
        snprintf(where, size, "%s expert %" PRId64 "%s column %" PRId64, buffer->name, row,
                 view->ndim == 2 && rest >= view->dims[1] ? " gap," : "", rest);
    }
}

void fg_tensors_place(const fg_tensors *tensors, int number, size_t at, char *where, size_t size) {
    const fg_buffer *buffer = &tensors->buffers[number];
    if (at < buffer->offset) {
        snprintf(where, size, "guard before %s, %zu bytes ahead of it", buffer->name,
                 buffer->offset - at);
    } else if (at >= buffer->offset + buffer->bytes) {
        snprintf(where, size, "guard behind %s, %zu bytes past its end", buffer->name,
                 at - buffer->offset - buffer->bytes);
    } else if (buffer->view.ndim == 0) {
        snprintf(where, size, "%s byte %zu", buffer->name, at - buffer->offset);
    } else {
        place_element(tensors, number, at - buffer->offset, where, size);
    }
}

/* First byte of [from, to) that differs from the repeated word, or `to`. */
static size_t first_change(const unsigned char *base, size_t from, size_t to, uint32_t word) {
    unsigned char bytes[8];
    uint64_t pattern = (uint64_t)word << 32 | word;
    memcpy(bytes, &pattern, sizeof bytes);
    while (from < to && from % 8 != 0 && base[from] == bytes[from % 8]) {
        from++;
    }
    if (from % 8 == 0) {
        for (; from + 8 <= to; from += 8) {
            uint64_t found = 0;
            memcpy(&found, base + from, sizeof found);
            if (found != pattern) {
                break;
            }
        }
    }
    while (from < to && base[from] == bytes[from % 8]) {
        from++;
    }
    return from;
}

int fg_tensors_intact(fg_tensors *tensors, int number, fg_allowed allowed, char *where,
                      size_t size) {
    const fg_buffer *buffer = &tensors->buffers[number];
    size_t from = buffer->region;
    if (!buffer->present) {
        return 1;
    }
    if (allowed == FG_ALLOWED_CONTENT) {
        size_t changed = first_change(tensors->shm.base, from, buffer->offset, buffer->poison);
        if (changed < buffer->offset) {
            fg_tensors_place(tensors, number, changed, where, size);
            return 0;
        }
        from = buffer->offset + buffer->bytes;
    }
    fg_span_walk walk = fg_tensors_walk(tensors, number, allowed == FG_ALLOWED_PADDING);
    int walking = allowed == FG_ALLOWED_ELEMENTS || allowed == FG_ALLOWED_PADDING;
    fg_span span;
    while (walking && fg_span_next(&walk, &span)) {
        size_t to = buffer->offset + span.offset;
        size_t changed = first_change(tensors->shm.base, from, to, buffer->poison);
        if (changed < to) {
            fg_tensors_place(tensors, number, changed, where, size);
            return 0;
        }
        from = to + span.bytes;
    }
    size_t changed = first_change(tensors->shm.base, from, buffer->end, buffer->poison);
    if (changed < buffer->end) {
        fg_tensors_place(tensors, number, changed, where, size);
    }
    return changed == buffer->end;
}

/* Number of elements of a stretch that hold the poison; *first is the first of them. */
static int64_t count_poison(const void *elements, size_t bytes, size_t size, uint32_t word,
                            size_t *first) {
    int64_t count = 0;
    size_t n = bytes / size;
    if (size == 2) {
        const uint16_t *at = elements;
        for (size_t i = 0; i < n; i++) {
            count += at[i] == (uint16_t)word;
        }
        for (*first = 0; count > 0 && at[*first] != (uint16_t)word;) {
            ++*first;
        }
    } else {
        const uint32_t *at = elements;
        for (size_t i = 0; i < n; i++) {
            count += at[i] == word;
        }
        for (*first = 0; count > 0 && at[*first] != word;) {
            ++*first;
        }
    }
    return count;
}

int64_t fg_tensors_unwritten(fg_tensors *tensors, int number, char *where, size_t size) {
    const fg_buffer *buffer = &tensors->buffers[number];
    size_t element = fg_dtype_size((fg_dtype)buffer->view.dtype);
    fg_span_walk walk = fg_tensors_walk(tensors, number, 0);
    int64_t count = 0;
    fg_span span;
    while (buffer->present && fg_span_next(&walk, &span)) {
        size_t first = 0, at = buffer->offset + span.offset;
        int64_t found =
            count_poison(tensors->shm.base + at, span.bytes, element, buffer->poison, &first);
        if (found > 0 && count == 0) {
            fg_tensors_place(tensors, number, at + first * element, where, size);
        }
        count += found;
    }
    return count;
}

uint64_t fg_tensors_hash_buffer(fg_tensors *tensors, int number) {
    const fg_buffer *buffer = &tensors->buffers[number];
    tensors->touched += fg_buffer_elements(buffer);
    return XXH3_64bits(tensors->shm.base + buffer->region, buffer->end - buffer->region);
}

void fg_tensors_hash_constants(fg_tensors *tensors, uint64_t hashes[FG_BUFFER_CONSTANTS]) {
    for (int i = 0; i < FG_BUFFER_CONSTANTS; i++) {
        hashes[i] = tensors->buffers[i].present ? fg_tensors_hash_buffer(tensors, i) : 0;
    }
}

uint64_t fg_tensors_hash_elements(fg_tensors *tensors, int number) {
    const fg_buffer *buffer = &tensors->buffers[number];
    fg_span_walk walk = fg_tensors_walk(tensors, number, 0);
    uint64_t hash = 0;
    fg_span span;
    while (fg_span_next(&walk, &span)) {
        uint64_t pair[2] = {
            hash, XXH3_64bits(tensors->shm.base + buffer->offset + span.offset, span.bytes)};
        hash = XXH3_64bits(pair, sizeof pair);
    }
    tensors->touched += fg_buffer_elements(buffer);
    return hash;
}

void fg_tensors_copy(fg_tensors *tensors, int from, int to) {
    const fg_buffer *source = &tensors->buffers[from], *target = &tensors->buffers[to];
    fg_span_walk walk = fg_tensors_walk(tensors, from, 1);
    fg_span span;
    while (source->present && fg_span_next(&walk, &span)) {
        memcpy(tensors->shm.base + target->offset + span.offset,
               tensors->shm.base + source->offset + span.offset, span.bytes);
    }
}
