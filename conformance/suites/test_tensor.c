#include "contract/tensor.h"

#include <criterion/criterion.h>
#include <string.h>

static float data[1000];

static fg_tensor make(int64_t a, int64_t b, int64_t c) {
    const int64_t dims[] = {a, b, c};
    return fg_tensor_tight(data, FG_F32, -1, 3, dims);
}

Test(tensor, tight_strides_are_products_of_the_inner_extents) {
    fg_tensor t = make(2, 3, 4);
    cr_assert_eq(t.strides[0], 12);
    cr_assert_eq(t.strides[1], 4);
    cr_assert_eq(t.strides[2], 1);
    cr_assert_eq(fg_tensor_count(&t), 24);
    cr_assert_eq(t.struct_size, sizeof t);
    cr_assert_eq(t.device, -1);
}

Test(tensor, span_ends_at_the_last_element) {
    fg_tensor t = make(2, 3, 4);
    size_t bytes = 0;
    cr_assert_eq(fg_tensor_span(&t, &bytes), FG_STATUS_OK);
    cr_assert_eq(bytes, 24 * 4);
    t.strides[0] = 100;
    t.strides[1] = 7;
    cr_assert_eq(fg_tensor_span(&t, &bytes), FG_STATUS_OK);
    cr_assert_eq(bytes, (100 + 14 + 3 + 1) * 4);
    t.dims[1] = 0;
    cr_assert_eq(fg_tensor_span(&t, &bytes), FG_STATUS_OK);
    cr_assert_eq(bytes, 0);
}

Test(tensor, span_that_does_not_fit_is_overflow) {
    fg_tensor t = make(1, 1, 1);
    size_t bytes = 0;
    t.dims[0] = INT64_C(1) << 32;
    t.strides[0] = INT64_C(1) << 32;
    cr_assert_eq(fg_tensor_span(&t, &bytes), FG_STATUS_OVERFLOW);
}

Test(tensor, check_names_what_does_not_fit) {
    const int64_t dims[] = {2, 3, 4};
    const struct {
        const char *what;
        fg_status status;
    } faults[] = {
        {"type", FG_STATUS_SHAPE},      {"dimensions", FG_STATUS_SHAPE},
        {"extent 9", FG_STATUS_SHAPE},  {"stride 2 of dimension 1", FG_STATUS_SHAPE},
        {"stride 11", FG_STATUS_SHAPE}, {"null pointer", FG_STATUS_SHAPE},
        {"struct of 8", FG_STATUS_ABI}, {"last dimension", FG_STATUS_SHAPE},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        fg_tensor t = make(2, 3, 4);
        t.dtype = i == 0 ? FG_F16 : FG_F32;
        t.ndim = i == 1 ? 2 : 3;
        t.dims[0] = i == 2 ? 9 : 2;
        t.strides[1] = i == 3 ? 2 : 4;
        t.strides[0] = i == 4 ? 11 : 12;
        t.data = i == 5 ? NULL : data;
        t.struct_size = i == 6 ? 8 : sizeof t;
        t.strides[2] = i == 7 ? 2 : 1;
        t.strides[1] = i == 7 ? 8 : t.strides[1];
        t.strides[0] = i == 7 ? 24 : t.strides[0];
        cr_assert_eq(fg_tensor_check(&t, "w1", FG_F32, 3, dims), faults[i].status);
        cr_assert(strstr(fg_message(), "w1") != NULL && strstr(fg_message(), faults[i].what),
                  "'%s' lacks '%s'", fg_message(), faults[i].what);
    }
    cr_assert_eq(fg_tensor_check(NULL, "w1", FG_F32, 3, dims), FG_STATUS_SHAPE);
}

Test(tensor, check_takes_padded_and_empty_views) {
    const int64_t dims[] = {2, 3, 4};
    fg_tensor t = make(2, 3, 4);
    cr_assert_eq(fg_tensor_check(&t, "x", FG_F32, 3, dims), FG_STATUS_OK);
    t.strides[0] = 50;
    t.strides[1] = 6;
    cr_assert_eq(fg_tensor_check(&t, "x", FG_F32, 3, dims), FG_STATUS_OK);
    const int64_t empty[] = {0, 3, 4};
    t = fg_tensor_tight(NULL, FG_F32, -1, 3, empty);
    cr_assert_eq(fg_tensor_check(&t, "x", FG_F32, 3, empty), FG_STATUS_OK);
}

Test(tensor, overlap_is_a_matter_of_bytes) {
    const int64_t ten[] = {10};
    fg_tensor a = fg_tensor_tight(data, FG_F32, -1, 1, ten);
    fg_tensor b = fg_tensor_tight(data + 10, FG_F32, -1, 1, ten);
    cr_assert_not(fg_tensor_overlap(&a, &b));
    cr_assert_not(fg_tensor_overlap(&b, &a));
    b.data = data + 9;
    cr_assert(fg_tensor_overlap(&a, &b));
    cr_assert(fg_tensor_overlap(&b, &a));
    b.dims[0] = 0;
    cr_assert_not(fg_tensor_overlap(&a, &b));
}

Test(tensor, rows_follow_the_stride) {
    fg_tensor t = make(5, 3, 4);
    cr_assert_eq(fg_tensor_row(&t, 2), (void *)(data + 24));
    t.strides[0] = 20;
    cr_assert_eq(fg_tensor_row(&t, 2), (void *)(data + 40));
}
