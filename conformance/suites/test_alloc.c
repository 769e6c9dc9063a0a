#include "contract/alloc.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

Test(alloc, memory_is_zero_aligned_and_distinct) {
    for (size_t bytes = 0; bytes < 300; bytes += 7) {
        unsigned char *a = fg_alloc(bytes, FG_ALLOC_GENERAL);
        unsigned char *b = fg_alloc(bytes, FG_ALLOC_GENERAL);
        cr_assert(a != NULL && b != NULL && a != b);
        cr_assert_eq((uintptr_t)a % 64, 0);
        for (size_t i = 0; i < bytes; i++) {
            cr_assert_eq(a[i], 0);
        }
        memset(a, 0xff, bytes);
        fg_free(a);
        fg_free(b);
    }
}

Test(alloc, bytes_are_counted_by_tag) {
    void *y1 = fg_alloc(1000, FG_ALLOC_Y1);
    void *hidden = fg_alloc(500, FG_ALLOC_HIDDEN);
    cr_assert_eq(fg_alloc_live(FG_ALLOC_Y1), 1000);
    cr_assert_eq(fg_alloc_live(FG_ALLOC_HIDDEN), 500);
    cr_assert_eq(fg_alloc_live_total(), 1500);
    fg_free(y1);
    cr_assert_eq(fg_alloc_live(FG_ALLOC_Y1), 0);
    cr_assert_eq(fg_alloc_peak(FG_ALLOC_Y1), 1000);
    fg_alloc_peak_reset();
    cr_assert_eq(fg_alloc_peak(FG_ALLOC_Y1), 0);
    cr_assert_eq(fg_alloc_peak(FG_ALLOC_HIDDEN), 500);
    fg_free(hidden);
    fg_free(NULL);
    cr_assert_eq(fg_alloc_live_total(), 0);
}

Test(alloc, growing_keeps_content_and_zeroes_the_rest) {
    unsigned char *p = fg_realloc(NULL, 10, FG_ALLOC_GENERAL);
    memset(p, 7, 10);
    p = fg_realloc(p, 5000, FG_ALLOC_GENERAL);
    for (int i = 0; i < 5000; i++) {
        cr_assert_eq(p[i], i < 10 ? 7 : 0);
    }
    p = fg_realloc(p, 4, FG_ALLOC_GENERAL);
    cr_assert_eq(p[3], 7);
    fg_free(p);
    cr_assert_eq(fg_alloc_live_total(), 0);
}

Test(alloc, exactly_the_nth_call_fails) {
    for (int64_t n = 1; n <= 5; n++) {
        fg_alloc_fail_at(n);
        for (int64_t i = 1; i <= 6; i++) {
            void *p = fg_alloc(8, FG_ALLOC_GENERAL);
            cr_assert_eq(p == NULL, i == n, "call %ld of failure at %ld", (long)i, (long)n);
            fg_free(p);
        }
    }
    fg_alloc_fail_at(1);
    fg_alloc_fail_at(0);
    void *p = fg_alloc(8, FG_ALLOC_GENERAL);
    cr_assert(p != NULL);
    fg_free(p);
}

Test(alloc, failed_growth_leaves_the_old_block) {
    char *p = fg_strdup("kept");
    fg_alloc_fail_at(1);
    cr_assert(fg_realloc(p, 100, FG_ALLOC_GENERAL) == NULL);
    cr_assert_str_eq(p, "kept");
    fg_alloc_fail_at(1);
    cr_assert(fg_strdup(p) == NULL);
    fg_free(p);
    cr_assert_eq(fg_alloc_live_total(), 0);
}

Test(alloc, calls_are_counted_also_when_they_fail) {
    int64_t before = fg_alloc_calls();
    fg_alloc_fail_at(1);
    cr_assert(fg_alloc(1, FG_ALLOC_GENERAL) == NULL);
    fg_free(fg_alloc(1, FG_ALLOC_GENERAL));
    cr_assert_eq(fg_alloc_calls() - before, 2);
}

Test(alloc, impossible_sizes_give_null) {
    cr_assert(fg_alloc(SIZE_MAX, FG_ALLOC_GENERAL) == NULL);
    cr_assert(fg_alloc(SIZE_MAX - 100, FG_ALLOC_GENERAL) == NULL);
    cr_assert_eq(fg_alloc_live_total(), 0);
}

Test(alloc, size_arithmetic_refuses_what_does_not_fit) {
    size_t size = 5;
    cr_assert_eq(fg_size_mul((size_t)1 << 32, (size_t)1 << 32, &size), FG_STATUS_OVERFLOW);
    cr_assert_eq(fg_size_add(SIZE_MAX, 1, &size), FG_STATUS_OVERFLOW);
    cr_assert_eq(size, 5);
    cr_assert_eq(fg_size_mul(6, 7, &size), FG_STATUS_OK);
    cr_assert_eq(size, 42);
    cr_assert_eq(fg_size_add(6, 7, &size), FG_STATUS_OK);
    cr_assert_eq(size, 13);
    int64_t extent = 5;
    cr_assert_eq(fg_extent_mul(INT64_MAX / 2, 3, &extent), FG_STATUS_OVERFLOW);
    cr_assert_eq(fg_extent_mul(-1, 3, &extent), FG_STATUS_OVERFLOW);
    cr_assert_eq(fg_extent_add(INT64_MAX, 1, &extent), FG_STATUS_OVERFLOW);
    cr_assert_eq(fg_extent_add(2, -1, &extent), FG_STATUS_OVERFLOW);
    cr_assert_eq(extent, 5);
    cr_assert_eq(fg_extent_mul(6, 7, &extent), FG_STATUS_OK);
    cr_assert_eq(extent, 42);
    cr_assert_eq(fg_extent_add(6, 7, &extent), FG_STATUS_OK);
    cr_assert_eq(extent, 13);
}

static void *churn(void *unused) {
    for (int i = 0; i < 2000; i++) {
        fg_free(fg_alloc((size_t)i, FG_ALLOC_TENSOR));
    }
    return unused;
}

Test(alloc, threads_share_exact_counts) {
    pthread_t threads[4];
    int64_t before = fg_alloc_calls();
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, churn, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    cr_assert_eq(fg_alloc_calls() - before, 8000);
    cr_assert_eq(fg_alloc_live_total(), 0);
}
