#include "conformance/tensors/tensors.h"

#include "conformance/tensors/data.h"
#include "conformance/tensors/fresh.h"
#include "contract/alloc.h"

#include <stdio.h>
#include <string.h>

enum { GUARD = 256, WORD = 8 };

static size_t round_up(size_t value, size_t unit) {
    return (value + unit - 1) / unit * unit;
}

/* Strides of a view: rows a multiple of row_align bytes apart, and with padded strides at least 16
 * bytes and one more row between experts. */
static void lay_strides(fg_tensor *view, size_t row_align, int padded) {
    size_t size = fg_dtype_size((fg_dtype)view->dtype);
    size_t unit = row_align > size ? row_align : size;
    size_t tight = (size_t)view->dims[view->ndim - 1] * size;
    size_t apart = padded ? round_up(tight + 16, unit) : round_up(tight, unit);
    view->strides[view->ndim - 1] = 1;
    if (view->ndim >= 2) {
        view->strides[view->ndim - 2] = (int64_t)(apart / size);
    }
    if (view->ndim == 3) {
        view->strides[0] = (view->dims[1] + (padded ? 1 : 0)) * view->strides[1];
    }
}

/* Puts a buffer of `bytes` after what is laid out so far. */
static fg_status place(fg_tensors *tensors, int number, const char *name, size_t bytes,
                       size_t base_align, size_t *cursor) {
    fg_buffer *buffer = &tensors->buffers[number];
    size_t unit = base_align > WORD ? base_align : WORD;
    buffer->present = 1;
    snprintf(buffer->name, sizeof buffer->name, "%s", name);
    buffer->region = *cursor;
    buffer->offset = round_up(*cursor + GUARD, 2 * unit) + unit;
    buffer->bytes = bytes;
    size_t end = 0;
    FG_TRY(fg_size_add(buffer->offset, bytes, &end));
    FG_TRY(fg_size_add(end, GUARD + WORD, &end));
    buffer->end = end / WORD * WORD;
    *cursor = buffer->end;
    return FG_STATUS_OK;
}

static fg_status place_tensor(fg_tensors *tensors, int number, const char *name, fg_tensor view,
                              const fg_traits *traits, size_t *cursor) {
    size_t bytes = 0;
    lay_strides(&view, (size_t)traits->row_align, tensors->value->padded_strides);
    FG_TRY(fg_tensor_span(&view, &bytes));
    tensors->buffers[number].view = view;
    return place(tensors, number, name, bytes, (size_t)traits->base_align, cursor);
}

static fg_tensor view_of(const fg_problem *problem, int input, fg_dtype dtype, int64_t rows) {
    int64_t dims[FG_TENSOR_DIMS];
    int32_t ndim = fg_problem_input_dims(problem, input, rows, dims);
    return fg_tensor_tight(NULL, dtype, -1, ndim, dims);
}

static fg_status place_inputs(fg_tensors *tensors, const fg_traits *traits, size_t *cursor) {
    const fg_case *value = tensors->value;
    const fg_problem *problem = &value->problem;
    for (int i = 0; i < FG_INPUTS; i++) {
        if (fg_problem_has_input(problem, i)) {
            fg_tensor view = view_of(problem, i, fg_problem_input_dtype(problem, i), value->rows);
            FG_TRY(place_tensor(tensors, i, fg_input_name(i), view, traits, cursor));
        }
    }
    fg_tensor splits =
        fg_tensor_tight(NULL, (fg_dtype)problem->splits_dtype, -1, 1, &problem->experts);
    FG_TRY(place_tensor(tensors, FG_BUFFER_SPLITS, "splits", splits, traits, cursor));
    if (fg_fresh_missing(value) == NULL) {
        fg_tensor x = view_of(problem, FG_X, (fg_dtype)problem->dtype, value->rows);
        FG_TRY(place_tensor(tensors, FG_BUFFER_OTHER_X, "other x", x, traits, cursor));
    }
    if (value->mode == FG_MODE_NOGRAD) {
        return FG_STATUS_OK;
    }
    fg_tensor dy = view_of(problem, FG_X, (fg_dtype)problem->dtype, value->rows);
    FG_TRY(place_tensor(tensors, FG_BUFFER_DY, "dy", dy, traits, cursor));
    const int weights[2] = {FG_W1, FG_W2};
    for (int i = 0; i < 2 && problem->accumulate; i++) {
        fg_tensor before = view_of(problem, weights[i], (fg_dtype)problem->wgrad_dtype, 0);
        FG_TRY(place_tensor(tensors, FG_BUFFER_BEFORE_W1 + i, i == 0 ? "old dw1" : "old dw2",
                            before, traits, cursor));
    }
    return FG_STATUS_OK;
}

/* Outputs of a forward of the other x. */
static fg_status place_other_outputs(fg_tensors *tensors, const fg_traits *traits, size_t saved,
                                     size_t *cursor) {
    const fg_case *value = tensors->value;
    fg_tensor y = view_of(&value->problem, FG_X, (fg_dtype)value->problem.dtype, value->rows);
    if (fg_fresh_missing(value) != NULL) {
        return FG_STATUS_OK;
    }
    FG_TRY(place_tensor(tensors, FG_BUFFER_OTHER_Y, "other y", y, traits, cursor));
    return value->mode == FG_MODE_NOGRAD ? FG_STATUS_OK
                                         : place(tensors, FG_BUFFER_OTHER_SAVED, "other saved",
                                                 saved, (size_t)traits->base_align, cursor);
}

static fg_status place_outputs(fg_tensors *tensors, const fg_traits *traits,
                               const fg_kernel_sizes *sizes, size_t *cursor) {
    const fg_case *value = tensors->value;
    const fg_problem *problem = &value->problem;
    size_t align = (size_t)traits->base_align;
    fg_tensor y = view_of(problem, FG_X, (fg_dtype)problem->dtype, value->rows);
    FG_TRY(place_tensor(tensors, FG_BUFFER_Y, "y", y, traits, cursor));
    FG_TRY(place_other_outputs(tensors, traits, sizes->saved, cursor));
    FG_TRY(place(tensors, FG_BUFFER_SCRATCH_FORWARD, "scratch", sizes->scratch_forward, align,
                 cursor));
    if (value->mode == FG_MODE_RECOMPUTE) {
        FG_TRY(place_tensor(tensors, FG_BUFFER_Y_NOGRAD, "first y", y, traits, cursor));
    }
    if (value->mode == FG_MODE_NOGRAD) {
        return FG_STATUS_OK;
    }
    for (int i = 0; i < FG_INPUTS; i++) {
        if (!fg_problem_has_input(problem, i)) {
            continue;
        }
        fg_tensor view = view_of(problem, i, fg_problem_grad_dtype(problem, i), value->rows);
        FG_TRY(place_tensor(tensors, FG_BUFFER_GRAD + i, fg_grad_name(i), view, traits, cursor));
        if (value->has_first) {
            char name[16];
            snprintf(name, sizeof name, "first %s", fg_grad_name(i));
            FG_TRY(place_tensor(tensors, FG_BUFFER_FIRST + i, name, view, traits, cursor));
        }
    }
    FG_TRY(place(tensors, FG_BUFFER_SAVED, "saved", sizes->saved, align, cursor));
    return place(tensors, FG_BUFFER_SCRATCH_BACKWARD, "scratch", sizes->scratch_backward, align,
                 cursor);
}

/* Gives every view its address. A case without rows passes null pointers when its seed is odd. */
static void point_views(fg_tensors *tensors) {
    for (int i = 0; i < FG_BUFFERS; i++) {
        fg_buffer *buffer = &tensors->buffers[i];
        int empty = buffer->view.ndim > 0 && fg_tensor_count(&buffer->view) == 0;
        if (buffer->present && !(empty && tensors->value->seed % 2 == 1)) {
            buffer->view.data = tensors->shm.base + buffer->offset;
        }
    }
}

static void fill_words(fg_tensors *tensors, fg_buffer *buffer, uint32_t word) {
    uint64_t pattern = (uint64_t)word << 32 | word;
    uint64_t *from = (uint64_t *)(void *)(tensors->shm.base + buffer->region);
    uint64_t *to = (uint64_t *)(void *)(tensors->shm.base + buffer->end);
    for (; from < to; from++) {
        *from = pattern;
    }
    buffer->poison = word;
}

int64_t fg_buffer_elements(const fg_buffer *buffer) {
    return buffer->view.ndim > 0 ? fg_tensor_count(&buffer->view) : (int64_t)(buffer->bytes / 4);
}

void fg_tensors_poison(fg_tensors *tensors, int number, fg_poison kind) {
    fg_buffer *buffer = &tensors->buffers[number];
    int half = buffer->view.ndim > 0 && buffer->view.dtype == FG_F16;
    uint32_t nan = half ? 0x7dbf7dbf : 0x7fbf7fbf;
    if (buffer->present) {
        fill_words(tensors, buffer, kind == FG_POISON_NAN ? nan : 0x7b7b7b7b);
        tensors->touched += fg_buffer_elements(buffer);
    }
}

static void fill_splits(fg_tensors *tensors) {
    const fg_tensor *view = &tensors->buffers[FG_BUFFER_SPLITS].view;
    for (int64_t e = 0; e < tensors->value->problem.experts; e++) {
        if (view->dtype == FG_I64) {
            ((int64_t *)view->data)[e] = tensors->value->splits[e];
        } else {
            ((int32_t *)view->data)[e] = (int32_t)tensors->value->splits[e];
        }
    }
}

static fg_status fill_constants(fg_tensors *tensors) {
    for (int i = 0; i < FG_BUFFER_CONSTANTS; i++) {
        fg_buffer *buffer = &tensors->buffers[i];
        fg_tensors_poison(tensors, i, FG_POISON_NAN);
        if (i == FG_BUFFER_SPLITS) {
            fill_splits(tensors);
        } else if (i == FG_BUFFER_OTHER_X) {
            FG_TRY(buffer->present ? fg_fresh_fill(tensors) : FG_STATUS_OK);
        } else if (buffer->present && fg_tensor_count(&buffer->view) > 0) {
            FG_TRY(fg_data_fill(tensors->value, tensors->begin, i, &buffer->view));
            tensors->touched += fg_buffer_elements(buffer);
        }
    }
    return FG_STATUS_OK;
}

static fg_status lay_out(fg_tensors *tensors, const fg_traits *traits,
                         const fg_kernel_sizes *sizes) {
    const fg_case *value = tensors->value;
    size_t cursor = 0;
    tensors->begin =
        fg_alloc((size_t)(value->problem.experts + 1) * sizeof *tensors->begin, FG_ALLOC_TENSOR);
    if (tensors->begin == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory for segment bounds");
    }
    FG_TRY(fg_segments(&value->problem, value->splits, value->rows, tensors->begin));
    FG_TRY(place_inputs(tensors, traits, &cursor));
    FG_TRY(place_outputs(tensors, traits, sizes, &cursor));
    FG_TRY(fg_shm_create(cursor, &tensors->shm));
    point_views(tensors);
    return fill_constants(tensors);
}

fg_status fg_tensors_create(const fg_case *value, const fg_traits *traits,
                            const fg_kernel_sizes *sizes, fg_tensors **out) {
    fg_tensors *tensors = fg_alloc(sizeof *tensors, FG_ALLOC_TENSOR);
    if (tensors == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory for tensors");
    }
    tensors->value = value;
    fg_status status = lay_out(tensors, traits, sizes);
    if (status != FG_STATUS_OK) {
        fg_tensors_destroy(tensors);
        return status;
    }
    *out = tensors;
    return FG_STATUS_OK;
}

void fg_tensors_destroy(fg_tensors *tensors) {
    if (tensors == NULL) {
        return;
    }
    if (tensors->shm.base != NULL) {
        fg_shm_close(&tensors->shm);
    }
    fg_free(tensors->begin);
    fg_free(tensors);
}

const fg_tensor *fg_tensors_view(const fg_tensors *tensors, int number) {
    return tensors->buffers[number].present ? &tensors->buffers[number].view : NULL;
}

void *fg_tensors_bytes(const fg_tensors *tensors, int number) {
    const fg_buffer *from = &tensors->buffers[number];
    return from->present ? tensors->shm.base + from->offset : NULL;
}

int64_t fg_tensors_expert(const fg_tensors *tensors, int64_t row) {
    int64_t low = 0, high = tensors->value->problem.experts;
    while (high - low > 1) { // the last segment that begins at or before the row and is not empty
        int64_t middle = (low + high) / 2;
        if (tensors->begin[middle] <= row) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return row >= tensors->begin[low] && row < tensors->begin[low] + tensors->value->splits[low]
               ? low
               : -1;
}
