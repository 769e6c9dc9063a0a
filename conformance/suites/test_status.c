#include "contract/status.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

Test(status, every_name_finds_its_number) {
    for (int i = 0; i <= FG_STATUS_INTERNAL; i++) {
        fg_status found = FG_STATUS_INTERNAL;
        cr_assert_eq(fg_status_from_name(fg_status_name((fg_status)i), &found), FG_STATUS_OK);
        cr_assert_eq((int)found, i);
        cr_assert_gt(strlen(fg_status_sentence((fg_status)i)), 3);
    }
}

Test(status, numbers_never_change) {
    cr_assert_str_eq(fg_status_name((fg_status)0), "OK");
    cr_assert_str_eq(fg_status_name((fg_status)2), "SHAPE");
    cr_assert_str_eq(fg_status_name((fg_status)5), "DEVICE_LOST");
    cr_assert_str_eq(fg_status_name((fg_status)8), "NO_MEMORY");
    cr_assert_str_eq(fg_status_name((fg_status)18), "INTERNAL");
    cr_assert_str_eq(fg_status_name((fg_status)99), "?");
}

Test(status, unknown_name_is_refused_and_named) {
    fg_status found = FG_STATUS_SHAPE;
    cr_assert_eq(fg_status_from_name("SHAPES", &found), FG_STATUS_NOT_FOUND);
    cr_assert_eq(found, FG_STATUS_SHAPE);
    cr_assert(strstr(fg_message(), "SHAPES") != NULL);
}

static fg_status inner(void) {
    return FG_FAIL(FG_STATUS_IO, "inner failed with %d", 7);
}

static fg_status outer(void) {
    FG_TRY(inner());
    return FG_STATUS_OK;
}

Test(status, trace_names_each_place_from_the_inside_out) {
    cr_assert_eq(outer(), FG_STATUS_IO);
    cr_assert_str_eq(fg_message(), "inner failed with 7");
    char text[512];
    size_t length = fg_trace_text(text, sizeof text);
    cr_assert_eq(length, strlen(text));
    char *first = strstr(text, "inner failed with 7\n");
    char *second = strstr(text, "inner()\n");
    cr_assert(first != NULL && second != NULL && first < second);
    cr_assert(strstr(text, "test_status.c:") != NULL);
    fg_message_clear();
    cr_assert_eq(fg_trace_text(text, sizeof text), 0);
    cr_assert_str_eq(fg_message(), "");
}

Test(status, trace_reports_the_length_that_it_needed) {
    (void)outer();
    char small[8];
    char large[512];
    size_t needed = fg_trace_text(large, sizeof large);
    cr_assert_eq(fg_trace_text(small, sizeof small), needed);
    cr_assert_eq(strlen(small), sizeof small - 1);
    cr_assert_eq(fg_trace_text(NULL, 0), needed);
}

Test(status, a_message_may_quote_the_message_before) {
    (void)FG_FAIL(FG_STATUS_IO, "first");
    (void)FG_FAIL(FG_STATUS_IO, "second, after %s", fg_message());
    cr_assert_str_eq(fg_message(), "second, after first");
}

Test(status, long_traces_and_messages_are_cut) {
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(fg_trace(FG_STATUS_IO, "again", "file.c", i), FG_STATUS_IO);
    }
    char text[2048];
    fg_trace_text(text, sizeof text);
    cr_assert(strstr(text, "file.c:15 ") != NULL);
    cr_assert(strstr(text, "file.c:16 ") == NULL);
    char filler[3000];
    memset(filler, 'x', sizeof filler - 1);
    filler[sizeof filler - 1] = '\0';
    (void)FG_FAIL(FG_STATUS_IO, "%s", filler);
    cr_assert_eq(strlen(fg_message()), 1023);
}

static void *other_thread(void *unused) {
    (void)FG_FAIL(FG_STATUS_IO, "other");
    return unused;
}

Test(status, messages_belong_to_their_thread) {
    (void)FG_FAIL(FG_STATUS_SHAPE, "mine");
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, other_thread, NULL), 0);
    pthread_join(thread, NULL);
    cr_assert_str_eq(fg_message(), "mine");
}
