/* The memory of a case: places, strides, poison, guards, and what is watched in them. */

#include "conformance/tensors/fresh.h"
#include "conformance/tensors/tensor_watch.h"
#include "contract/alloc.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fg_traits traits_of(int32_t base_align, int32_t row_align) {
    return (fg_traits){.struct_size = sizeof(fg_traits),
                       .base_align = base_align,
                       .row_align = row_align,
                       .segment_align = 1};
}

static const fg_kernel_sizes some_sizes = {sizeof(fg_kernel_sizes), 1000, 333, 40};

typedef struct held {
    fg_case value;
    fg_tensors *tensors;
} held;

static void hold(held *out, const char *line, int32_t base_align, int32_t row_align) {
    fg_traits traits = traits_of(base_align, row_align);
    cr_assert_eq(fg_case_parse(line, &out->value), FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(fg_tensors_create(&out->value, &traits, &some_sizes, &out->tensors), FG_STATUS_OK,
                 "%s", fg_message());
}

/* Every constant's hash in one number. */
static uint64_t hash_of_constants(const held *on) {
    uint64_t hashes[FG_BUFFER_CONSTANTS], all = 0;
    fg_tensors_hash_constants(on->tensors, hashes);
    for (int b = 0; b < FG_BUFFER_CONSTANTS; b++) {
        all = all * 31 + hashes[b];
    }
    return all;
}

#define WHOLE                                                                                      \
    "mlp E=3 H=24 F=16 splits=5,0,9 T=20 align=2 bias=1 scale_bias=1 bias_scale=own first=all "    \
    "wgrad=accumulate"
static const char *const lines[] = {
    WHOLE,
    WHOLE " strides=padded",
    WHOLE " strides=padded dt=f32 mode=recompute idx=i64",
    "mlp E=2 H=7 F=5 splits=3,4 dt=f16 strides=padded mode=nograd",
};
enum { LINES = sizeof lines / sizeof lines[0] };

Test(tensors, bases_are_aligned_as_asked_and_no_more) {
    static const int32_t aligns[] = {8, 16, 64, 256, 1024};
    for (size_t a = 0; a < sizeof aligns / sizeof aligns[0]; a++) {
        for (int i = 0; i < LINES; i++) {
            held on;
            hold(&on, lines[i], aligns[a], 2);
            for (int b = 0; b < FG_BUFFERS; b++) {
                const fg_buffer *buffer = &on.tensors->buffers[b];
                uintptr_t at = (uintptr_t)(on.tensors->shm.base + buffer->offset);
                uintptr_t align = (uintptr_t)aligns[a];
                cr_assert(!buffer->present || at % (2 * align) == align, "%s", buffer->name);
            }
            fg_tensors_destroy(on.tensors);
        }
    }
}

Test(tensors, regions_touch_and_never_overlap) {
    for (int i = 0; i < LINES; i++) {
        held on;
        hold(&on, lines[i], 64, 16);
        for (int a = 0; a < FG_BUFFERS; a++) {
            const fg_buffer *one = &on.tensors->buffers[a];
            cr_assert(!one->present || (one->region + 256 <= one->offset &&
                                        one->offset + one->bytes + 256 <= one->end &&
                                        one->end <= on.tensors->shm.bytes));
            for (int b = 0; b < a && one->present; b++) {
                const fg_buffer *other = &on.tensors->buffers[b];
                cr_assert(!other->present || one->end <= other->region ||
                          other->end <= one->region);
            }
        }
        fg_tensors_destroy(on.tensors);
    }
}

Test(tensors, strides_are_tight_or_apart_and_row_aligned) {
    for (int padded = 0; padded < 2; padded++) {
        for (int32_t row_align = 2; row_align <= 128; row_align *= 8) {
            held on;
            hold(&on, padded ? WHOLE " strides=padded" : WHOLE, 64, row_align);
            for (int b = 0; b < FG_BUFFER_SAVED; b++) {
                const fg_tensor *view = fg_tensors_view(on.tensors, b);
                if (view == NULL || view->ndim == 1) {
                    continue;
                }
                int64_t row = view->strides[view->ndim - 2], cols = view->dims[view->ndim - 1];
                int64_t size = (int64_t)fg_dtype_size((fg_dtype)view->dtype);
                cr_assert_eq(row * size % row_align, 0);
                cr_assert_eq(row * size >= cols * size + 16,
                             padded != 0 || row * size > cols * size + 15);
                cr_assert(padded || (row - cols) * size < row_align);
                cr_assert(view->ndim == 2 ||
                          (view->strides[0] > view->dims[1] * row) == (padded != 0));
            }
            fg_tensors_destroy(on.tensors);
        }
    }
}

Test(tensors, a_case_has_the_buffers_that_its_mode_needs) {
    held nograd, again, plain;
    hold(&nograd, "mlp E=2 H=8 F=8 T=4 mode=nograd", 8, 2);
    hold(&again, "mlp E=2 H=8 F=8 T=4 mode=recompute", 8, 2);
    hold(&plain, "mlp E=2 H=8 F=8 T=4", 8, 2);
    cr_assert_null(fg_tensors_view(nograd.tensors, FG_BUFFER_DY));
    cr_assert_null(fg_tensors_bytes(nograd.tensors, FG_BUFFER_SAVED));
    cr_assert_not_null(fg_tensors_view(again.tensors, FG_BUFFER_Y_NOGRAD));
    cr_assert_null(fg_tensors_view(plain.tensors, FG_BUFFER_Y_NOGRAD));
    cr_assert_null(fg_tensors_view(plain.tensors, FG_BUFFER_FIRST + FG_X));
    cr_assert_null(fg_tensors_view(plain.tensors, FG_BUFFER_GRAD + FG_B1));
    cr_assert_not_null(fg_tensors_bytes(plain.tensors, FG_BUFFER_SAVED));
    fg_tensors_destroy(nograd.tensors);
    fg_tensors_destroy(again.tensors);
    fg_tensors_destroy(plain.tensors);
}

Test(tensors, no_rows_mean_null_pointers_for_odd_seeds) {
    for (int seed = 0; seed < 2; seed++) {
        char line[64];
        held on;
        snprintf(line, sizeof line, "mlp E=2 H=8 F=8 T=0 seed=%d", seed);
        hold(&on, line, 8, 2);
        cr_assert_eq(fg_tensors_view(on.tensors, FG_X)->data == NULL, seed);
        cr_assert_not_null(fg_tensors_view(on.tensors, FG_W1)->data);
        fg_tensors_destroy(on.tensors);
    }
}

Test(tensors, splits_stand_in_both_types) {
    for (int wide = 0; wide < 2; wide++) {
        held on;
        int64_t found[3];
        hold(&on, wide ? "mlp E=3 H=8 F=8 splits=3,0,5 idx=i64" : "mlp E=3 H=8 F=8 splits=3,0,5", 8,
             2);
        fg_splits_read(&on.value.problem, fg_tensors_view(on.tensors, FG_BUFFER_SPLITS)->data,
                       found);
        cr_assert(memcmp(found, on.value.splits, sizeof found) == 0);
        fg_tensors_destroy(on.tensors);
    }
}

Test(tensors, poison_fills_content_gaps_and_guards_of_one_buffer) {
    held on;
    hold(&on, lines[1], 64, 2);
    fg_buffer *y = &on.tensors->buffers[FG_BUFFER_Y];
    for (int kind = FG_POISON_NAN; kind <= FG_POISON_LARGE; kind++) {
        uint64_t others = hash_of_constants(&on);
        fg_tensors_poison(on.tensors, FG_BUFFER_Y, (fg_poison)kind);
        double *v = calloc(y->bytes, sizeof *v);
        fg_dtype_load_f64((fg_dtype)y->view.dtype, y->view.data, (int64_t)y->bytes / 2, v);
        for (size_t k = 0; k < y->bytes / 2; k++) {
            cr_assert(kind == FG_POISON_NAN ? isnan(v[k]) : v[k] > 1e30 && isfinite(v[k]));
        }
        free(v);
        cr_assert_eq(hash_of_constants(&on), others);
        for (size_t at = y->region; at < y->end; at += 4) {
            cr_assert(memcmp(on.tensors->shm.base + at, &y->poison, 4) == 0);
        }
    }
    fg_tensors_destroy(on.tensors);
}

/* Arithmetic must change the bits of the NaN, so that adding to it does not pass for not writing.
 */
Test(tensors, nan_poison_is_signalling_in_every_type) {
    static const char *const types[] = {"bf16", "f16", "f32"};
    for (int i = 0; i < 3; i++) {
        char line[64], where[128];
        held on;
        snprintf(line, sizeof line, "mlp dt=%s E=1 H=8 F=8 T=4", types[i]);
        hold(&on, line, 8, 2);
        const fg_tensor *y = fg_tensors_view(on.tensors, FG_BUFFER_Y);
        float sums[32];
        fg_tensors_poison(on.tensors, FG_BUFFER_Y, FG_POISON_NAN);
        cr_assert_eq(fg_tensors_unwritten(on.tensors, FG_BUFFER_Y, where, sizeof where), 32);
        fg_dtype_load_f32((fg_dtype)y->dtype, y->data, 32, sums);
        for (int k = 0; k < 32; k++) {
            volatile float sum = sums[k];
            sums[k] = sum + 1.0f;
        }
        fg_dtype_store_f32((fg_dtype)y->dtype, sums, 32, y->data);
        cr_assert_eq(fg_tensors_unwritten(on.tensors, FG_BUFFER_Y, where, sizeof where), 0, "%s",
                     types[i]);
        fg_tensors_destroy(on.tensors);
    }
}

/* Whether a byte of a buffer belongs to an element of an expert's row, by plain arithmetic. */
static int is_element(const held *on, int number, size_t at, int padding_too) {
    const fg_buffer *buffer = &on->tensors->buffers[number];
    const fg_tensor *view = &buffer->view;
    int64_t size = (int64_t)fg_dtype_size((fg_dtype)view->dtype);
    if (at < buffer->offset || at >= buffer->offset + buffer->bytes) {
        return 0;
    }
    int64_t element = (int64_t)(at - buffer->offset) / size;
    int64_t row = element / view->strides[0], rest = element % view->strides[0];
    if (view->ndim == 3) {
        return rest / view->strides[1] < view->dims[1] && rest % view->strides[1] < view->dims[2];
    }
    if (view->ndim == 2 && rest >= view->dims[1]) {
        return 0;
    }
    int tokens = view->dims[0] == on->value.rows;
    return !tokens || padding_too || fg_tensors_expert(on->tensors, row) >= 0;
}

static void check_every_byte(const held *on, int number, fg_allowed allowed) {
    char where[128];
    const fg_buffer *buffer = &on->tensors->buffers[number];
    fg_tensors_poison(on->tensors, number, FG_POISON_LARGE);
    cr_assert(fg_tensors_intact(on->tensors, number, allowed, where, sizeof where));
    for (size_t at = buffer->region; at < buffer->end; at++) {
        int free_to_write = allowed == FG_ALLOWED_CONTENT
                                ? at >= buffer->offset && at < buffer->offset + buffer->bytes
                            : allowed == FG_ALLOWED_NOTHING
                                ? 0
                                : is_element(on, number, at, allowed == FG_ALLOWED_PADDING);
        on->tensors->shm.base[at] ^= 0xff;
        int intact = fg_tensors_intact(on->tensors, number, allowed, where, sizeof where);
        on->tensors->shm.base[at] ^= 0xff;
        cr_assert_eq(intact, free_to_write, "%s byte %zd, allowed %d: %s", buffer->name,
                     (ssize_t)at - (ssize_t)buffer->offset, (int)allowed, where);
    }
}

Test(watch, every_byte_that_may_not_change_is_watched) {
    for (int i = 0; i < 2; i++) {
        held on;
        hold(&on, lines[i], 8, 2);
        static const int buffers[] = {FG_BUFFER_Y, FG_BUFFER_GRAD + FG_W1, FG_BUFFER_GRAD + FG_B1,
                                      FG_BUFFER_GRAD + FG_P};
        for (size_t b = 0; b < sizeof buffers / sizeof buffers[0]; b++) {
            check_every_byte(&on, buffers[b], FG_ALLOWED_NOTHING);
            check_every_byte(&on, buffers[b], FG_ALLOWED_ELEMENTS);
            check_every_byte(&on, buffers[b], FG_ALLOWED_PADDING);
        }
        check_every_byte(&on, FG_BUFFER_SAVED, FG_ALLOWED_CONTENT);
        check_every_byte(&on, FG_BUFFER_SCRATCH_FORWARD, FG_ALLOWED_CONTENT);
        fg_tensors_destroy(on.tensors);
    }
}

Test(watch, says_where_in_words) {
    char where[128];
    held on;
    hold(&on, "mlp E=2 H=8 F=4 splits=3,2 T=8 strides=padded bias=1", 8, 2);
    const fg_buffer *y = &on.tensors->buffers[FG_BUFFER_Y];
    size_t row = (size_t)y->view.strides[0] * 2;
    const struct {
        size_t at;
        const char *words;
    } places[] = {
        {y->offset - 1, "guard before y, 1 bytes"},
        {y->offset + y->bytes, "guard behind y, 0 bytes"},
        {y->offset + 6 * row + 4, "y padding row 6 column 2"},
        {y->offset + row + 16, "y row 1 gap behind it, column 8"},
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        fg_tensors_place(on.tensors, FG_BUFFER_Y, places[i].at, where, sizeof where);
        cr_assert(strstr(where, places[i].words) != NULL, "%s", where);
    }
    const fg_buffer *dw1 = &on.tensors->buffers[FG_BUFFER_GRAD + FG_W1];
    size_t element = (size_t)(dw1->view.strides[0] + 3 * dw1->view.strides[1] + 5) * 4;
    fg_tensors_place(on.tensors, FG_BUFFER_GRAD + FG_W1, dw1->offset + element, where,
                     sizeof where);
    cr_assert_str_eq(where, "dw1 expert 1 row 3 column 5");
    fg_tensors_destroy(on.tensors);
}

Test(watch, every_unwritten_element_is_counted) {
    for (int i = 0; i < LINES; i++) {
        held on;
        char where[128];
        hold(&on, lines[i], 16, 2);
        const fg_tensor *y = fg_tensors_view(on.tensors, FG_BUFFER_Y);
        size_t size = fg_dtype_size((fg_dtype)y->dtype);
        int64_t owed = 0;
        fg_tensors_poison(on.tensors, FG_BUFFER_Y, FG_POISON_NAN);
        for (int64_t e = 0; e < on.value.problem.experts; e++) {
            owed += on.value.splits[e] * y->dims[1];
        }
        int64_t last = on.tensors->begin[on.value.problem.experts - 1];
        cr_assert_eq(fg_tensors_unwritten(on.tensors, FG_BUFFER_Y, where, sizeof where), owed);
        memset(fg_tensor_row(y, last), 0, size * (size_t)y->dims[1]);
        cr_assert_eq(fg_tensors_unwritten(on.tensors, FG_BUFFER_Y, where, sizeof where),
                     owed - y->dims[1]);
        cr_assert(strstr(where, "y row 0 column 0") != NULL, "%s", where);
        fg_tensors_destroy(on.tensors);
    }
}

Test(watch, any_change_of_an_input_changes_its_hash_alone) {
    held on;
    uint64_t before[FG_BUFFER_CONSTANTS], after[FG_BUFFER_CONSTANTS];
    hold(&on, lines[1], 16, 2);
    fg_tensors_hash_constants(on.tensors, before);
    for (int b = 0; b < FG_BUFFER_CONSTANTS; b++) {
        const fg_buffer *buffer = &on.tensors->buffers[b];
        for (size_t at = buffer->region; at < buffer->end; at += 7) {
            on.tensors->shm.base[at] ^= 1;
            fg_tensors_hash_constants(on.tensors, after);
            on.tensors->shm.base[at] ^= 1;
            for (int other = 0; other < FG_BUFFER_CONSTANTS; other++) {
                cr_assert_eq(after[other] != before[other], other == b, "%s", buffer->name);
            }
        }
    }
    fg_tensors_hash_constants(on.tensors, after);
    cr_assert(memcmp(before, after, sizeof before) == 0);
    fg_tensors_destroy(on.tensors);
}

Test(fresh, other_values_of_x_swap_places_and_come_back) {
    for (int i = 0; i < LINES; i++) {
        held on;
        hold(&on, lines[i], 16, 2);
        int x = FG_BUFFER_INPUT + FG_X, other = FG_BUFFER_OTHER_X;
        uint64_t whole = hash_of_constants(&on);
        uint64_t one = fg_tensors_hash_elements(on.tensors, x);
        uint64_t two = fg_tensors_hash_elements(on.tensors, other);
        cr_assert_neq(one, two);
        fg_fresh_swap(on.tensors);
        cr_assert_eq(fg_tensors_hash_elements(on.tensors, x), two);
        cr_assert_eq(fg_tensors_hash_elements(on.tensors, other), one);
        cr_assert_neq(hash_of_constants(&on), whole);
        fg_fresh_swap(on.tensors);
        cr_assert_eq(hash_of_constants(&on), whole);
        fg_tensors_destroy(on.tensors);
    }
}

Test(fresh, cases_without_tokens_or_too_large_have_none) {
    static const struct {
        const char *line, *words;
    } cases[] = {
        {"mlp E=2 H=8 F=8 T=4", NULL},
        {"mlp E=2 H=8 F=8 splits=0,0 T=4", "no tokens"},
        {"mlp E=1 H=4096 F=4096 T=128", "1e10 operations"},
        {"plan E=2 H=8 F=8 T=4 seq=1", "kind"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fg_case value;
        cr_assert_eq(fg_case_parse(cases[i].line, &value), FG_STATUS_OK, "%s", fg_message());
        const char *missing = fg_fresh_missing(&value);
        cr_assert(cases[i].words == NULL ? missing == NULL
                                         : missing != NULL && strstr(missing, cases[i].words),
                  "%s", cases[i].line);
    }
    held on;
    hold(&on, cases[1].line, 16, 2);
    cr_assert_null(fg_tensors_view(on.tensors, FG_BUFFER_OTHER_X));
    cr_assert_null(fg_tensors_view(on.tensors, FG_BUFFER_OTHER_Y));
    fg_tensors_destroy(on.tensors);
}

Test(watch, hash_of_elements_sees_elements_only) {
    held on;
    hold(&on, "mlp E=2 H=8 F=4 splits=3,2 T=8 strides=padded", 8, 2);
    const fg_tensor *y = fg_tensors_view(on.tensors, FG_BUFFER_Y);
    uint16_t *row = fg_tensor_row(y, 4), *padding = fg_tensor_row(y, 5);
    uint64_t before = fg_tensors_hash_elements(on.tensors, FG_BUFFER_Y);
    padding[0]++;
    row[8]++; // the gap behind the row
    cr_assert_eq(fg_tensors_hash_elements(on.tensors, FG_BUFFER_Y), before);
    row[7]++;
    cr_assert_neq(fg_tensors_hash_elements(on.tensors, FG_BUFFER_Y), before);
    fg_tensors_destroy(on.tensors);
}

Test(tensors, copies_move_elements_and_nothing_else) {
    held on;
    char where[128];
    hold(&on, lines[1], 16, 2);
    int to = FG_BUFFER_GRAD + FG_W1;
    fg_tensors_poison(on.tensors, to, FG_POISON_NAN);
    fg_tensors_copy(on.tensors, FG_BUFFER_BEFORE_W1, to);
    cr_assert(fg_tensors_intact(on.tensors, to, FG_ALLOWED_ELEMENTS, where, sizeof where));
    cr_assert_eq(fg_tensors_hash_elements(on.tensors, to),
                 fg_tensors_hash_elements(on.tensors, FG_BUFFER_BEFORE_W1));
    fg_tensors_destroy(on.tensors);
}

Test(tensors, rows_belong_to_their_expert_or_to_padding) {
    held on;
    hold(&on, "mlp E=4 H=8 F=8 splits=3,0,5,1 align=4 T=20", 8, 2);
    static const int64_t owners[20] = {0,  0,  0, -1, 2,  2,  2,  2,  2,  -1,
                                       -1, -1, 3, -1, -1, -1, -1, -1, -1, -1};
    for (int64_t row = 0; row < 20; row++) {
        cr_assert_eq(fg_tensors_expert(on.tensors, row), owners[row], "row %lld", (long long)row);
    }
    fg_tensors_destroy(on.tensors);
}

Test(tensors, every_failing_allocation_comes_back) {
    fg_traits traits = traits_of(64, 2);
    fg_case value;
    int failed = 0;
    cr_assert_eq(fg_case_parse(lines[0], &value), FG_STATUS_OK);
    size_t live = fg_alloc_live_total();
    for (int64_t n = 1;; n++) {
        fg_tensors *tensors = NULL;
        fg_alloc_fail_at(n);
        fg_status status = fg_tensors_create(&value, &traits, &some_sizes, &tensors);
        fg_alloc_fail_at(0);
        fg_tensors_destroy(tensors);
        cr_assert_eq(fg_alloc_live_total(), live, "allocation %lld leaks", (long long)n);
        if (status == FG_STATUS_OK) {
            break;
        }
        cr_assert_eq(status, FG_STATUS_NO_MEMORY);
        failed++;
    }
    cr_assert_geq(failed, 5);
}

Test(tensors, every_element_touched_is_counted) {
    held on;
    hold(&on, "mlp E=2 H=8 F=4 splits=3,2 T=8 strides=padded", 8, 2);
    const struct {
        int buffer;
        int64_t elements;
    } counts[] = {{FG_X, 64}, {FG_BUFFER_GRAD + FG_W1, 128}, {FG_BUFFER_SAVED, 250}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        int64_t before = on.tensors->touched;
        fg_tensors_poison(on.tensors, counts[i].buffer, FG_POISON_NAN);
        cr_assert_eq(on.tensors->touched - before, counts[i].elements);
        (void)fg_tensors_hash_buffer(on.tensors, counts[i].buffer);
        cr_assert_eq(on.tensors->touched - before, 2 * counts[i].elements);
    }
    fg_tensors_destroy(on.tensors);
}

/* Number of stretches of a walk, and the bytes in them. */
static int64_t stretches(const held *on, int buffer, int padding, size_t *bytes) {
    fg_span_walk walk = fg_tensors_walk(on->tensors, buffer, padding);
    fg_span span;
    int64_t count = 0;
    *bytes = 0;
    while (fg_span_next(&walk, &span)) {
        count++;
        *bytes += span.bytes;
    }
    return count;
}

Test(watch, rows_that_touch_are_walked_as_one_stretch) {
    for (int padded = 0; padded < 2; padded++) {
        held on;
        size_t bytes = 0;
        hold(&on,
             padded ? "mlp E=3 H=8 F=4 splits=3,0,2 T=8 bias=1 strides=padded"
                    : "mlp E=3 H=8 F=4 splits=3,0,2 T=8 bias=1",
             8, 2);
        cr_assert_eq(stretches(&on, FG_BUFFER_Y, 0, &bytes), padded ? 5 : 2);
        cr_assert_eq(bytes, 5 * 8 * 2);
        cr_assert_eq(stretches(&on, FG_BUFFER_Y, 1, &bytes), padded ? 8 : 1);
        cr_assert_eq(bytes, 8 * 8 * 2);
        cr_assert_eq(stretches(&on, FG_W1, 0, &bytes), padded ? 24 : 1);
        cr_assert_eq(bytes, 24 * 8 * 2);
        cr_assert_eq(stretches(&on, FG_B1, 0, &bytes), padded ? 3 : 1);
        cr_assert_eq(stretches(&on, FG_P, 0, &bytes), 2);
        cr_assert_eq(bytes, 5 * 4);
        fg_tensors_destroy(on.tensors);
    }
}

Test(tensors, destroying_nothing_is_allowed) {
    fg_tensors_destroy(NULL);
    cr_assert_eq(fg_alloc_live_total(), 0);
}
