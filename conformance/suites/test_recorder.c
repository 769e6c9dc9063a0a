#include "conformance/suites/exec_fixture.h"
#include "conformance/worker/recorder.h"
#include "contract/alloc.h"
#include <criterion/criterion.h>
#include <string.h>

#define LINE FG_FIXTURE_LINE("plan", "")

static fg_exec_fixture fixture;
static fg_driver driver;
static fg_recorded entries[64];

/* Does actions on a new executor; returns how many things the recorder logged last. */
static int32_t record(const char *actions) {
    cr_assert_eq(fg_exec_fixture_open("recorder", LINE, &fixture), 0, "%s", fg_message());
    cr_assert_eq(fg_driver_open(&fixture.env, fixture.set.data, fixture.set.out, NULL, &driver), 0);
    driver.watch = 0;
    cr_assert_eq(fg_driver_text(&driver, actions), 0, "%s", fg_message());
    cr_assert_str_eq(driver.failure, "");
    return fg_recorder_log(entries, 64);
}

static void close_all(void) {
    fg_driver_close(&driver);
    fg_exec_fixture_close(&fixture);
}

/* The last logged thing of a kind. */
static const fg_recorded *last(int32_t what, int32_t count) {
    while (count > 0 && entries[count - 1].what != what) {
        count--;
    }
    cr_assert_gt(count, 0, "nothing of kind %d was logged", what);
    return &entries[count - 1];
}

Test(recorder, kernels_keep_recipe_device_and_run) {
    int32_t count = record("recipe:delayed,opt:margin:5,dev:1,nograd");
    const fg_recorded *made = last(FG_RECORDED_CREATE, count);
    cr_assert_eq(made->recipe.kind, FG_RECIPE_DELAYED);
    cr_assert_eq(made->recipe.margin, 5);
    cr_assert_eq(made->device, 1);
    cr_assert_eq(made->first_op, 0);
    cr_assert_eq(made->op_count, FG_OP_COUNT);
    cr_assert_eq(last(FG_RECORDED_FORWARD, count)->kernel, made->kernel);
    close_all();
}

Test(recorder, calls_keep_stream_mask_and_saving) {
    int32_t count = record("need:w1+p,dev:0,grad,back");
    const fg_recorded *forward = last(FG_RECORDED_FORWARD, count);
    const fg_recorded *backward = last(FG_RECORDED_BACKWARD, count);
    cr_assert_eq(forward->saving, 1);
    cr_assert_eq(backward->mask, FG_BIT(FG_W1) | FG_BIT(FG_P));
    cr_assert_eq(forward->device, 0);
    cr_assert_gt(forward->stream, 0);
    cr_assert_neq(forward->stream, backward->stream);
    close_all();
    count = record("nograd");
    cr_assert_eq(last(FG_RECORDED_FORWARD, count)->saving, 0);
    close_all();
}

Test(recorder, scales_of_delayed_recipes_are_kept) {
    int32_t count = record("recipe:delayed,grad,back");
    const fg_recorded *forward = last(FG_RECORDED_FORWARD, count);
    cr_assert_eq(forward->scale[FG_ROLE_X], 1.0f);
    cr_assert_eq(forward->scale[FG_ROLE_W2], 1.0f);
    close_all();
    count = record("recipe:none,grad");
    cr_assert_eq(last(FG_RECORDED_FORWARD, count)->scale[FG_ROLE_X], 0.0f);
    close_all();
}

Test(recorder, counts_rise_by_what_was_done) {
    fg_outside_counts before = {0};
    fg_outside_counts after = {0};
    cr_assert_eq(fg_exec_fixture_open("recorder", LINE, &fixture), 0, "%s", fg_message());
    fg_recorder_counts(&before);
    cr_assert_eq(fg_driver_open(&fixture.env, fixture.set.data, fixture.set.out, NULL, &driver), 0);
    driver.watch = 0;
    cr_assert_eq(fg_driver_text(&driver, "nograd,grad,grad,back,need:w2,grad,back"), 0);
    fg_driver_close(&driver);
    fg_recorder_counts(&after);
    cr_assert_eq(after.kernels_created - before.kernels_created, 3);
    cr_assert_eq(after.kernels_destroyed - before.kernels_destroyed, 3);
    cr_assert_eq(after.forwards - before.forwards, 4);
    cr_assert_eq(after.backwards - before.backwards, 2);
    cr_assert_eq(after.saving_forwards - before.saving_forwards, 3);
    cr_assert_eq(after.streams_seen - before.streams_seen, 6);
    cr_assert_eq(after.last_mask, (1u << 6) - 1); // the second forward of all inputs
    fg_exec_fixture_close(&fixture);
}

Test(recorder, masks_of_several_entries_are_joined) {
    fg_outside_counts counts = {0};
    record("pass:basic,need:w1+p+b2,grad,back");
    fg_recorder_counts(&counts);
    cr_assert_eq(counts.last_mask, FG_BIT(FG_W1) | FG_BIT(FG_P) | FG_BIT(FG_B2));
    close_all();
}

Test(recorder, takes_every_recipe_and_only_its_devices) {
    const fg_backend *recorder = NULL;
    fg_device *device = NULL;
    char reason[FG_REASON_SIZE] = "";
    fg_problem problem = fg_problem_default(2, 16, 16);
    cr_assert_eq(fg_recorder_backend_entry(FG_BACKEND_ABI, NULL, &recorder), 0);
    cr_assert_eq(recorder->device_open(2, &device), FG_STATUS_DEVICE);
    cr_assert_eq(recorder->device_open(1, &device), 0, "%s", fg_message());
    for (int kind = 0; kind < FG_RECIPES; kind++) {
        fg_recipe recipe = fg_recipe_default((fg_recipe_kind)kind);
        cr_assert_eq(recorder->supports(device, &problem, &recipe, reason), 0, "%s", reason);
    }
    fg_recipe wrong = fg_recipe_default(FG_RECIPE_DELAYED);
    wrong.history = 1;
    cr_assert_eq(recorder->supports(device, &problem, &wrong, reason), FG_STATUS_INVALID);
    recorder->device_close(device);
}

Test(recorder, memory_and_copies_are_those_of_reference) {
    const fg_backend *recorder = NULL;
    fg_device *device = NULL;
    fg_stream stream = NULL;
    void *memory = NULL;
    uint32_t words[4] = {0};
    size_t before = fg_alloc_live_total();
    cr_assert_eq(fg_recorder_backend_entry(FG_BACKEND_ABI, NULL, &recorder), 0);
    cr_assert_eq(recorder->device_open(-1, &device), 0);
    cr_assert_eq(recorder->stream_create(device, &stream), 0);
    cr_assert_eq(recorder->mem_alloc(device, sizeof words, &memory), 0);
    cr_assert_eq(recorder->mem_fill32(device, memory, 0x5eed5eedu, 4, stream), 0);
    cr_assert_eq(recorder->copy_out(device, words, memory, sizeof words, stream), 0);
    cr_assert_eq(recorder->stream_sync(device, stream), 0);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(words[i], 0x5eed5eedu);
        words[i] = (uint32_t)i;
    }
    cr_assert_eq(recorder->copy_in(device, memory, words, sizeof words, stream), 0);
    memset(words, 0xff, sizeof words);
    cr_assert_eq(recorder->copy_out(device, words, memory, sizeof words, stream), 0);
    cr_assert_eq(recorder->stream_sync(device, stream), 0);
    cr_assert_eq(words[3], 3);
    cr_assert_not_null(recorder->last_error(device));
    recorder->mem_free(device, memory);
    recorder->stream_destroy(device, stream);
    recorder->device_close(device);
    cr_assert_eq(fg_alloc_live_total(), before);
}

Test(recorder, streams_of_another_device_are_refused) {
    const fg_backend *recorder = NULL;
    fg_device *devices[2] = {NULL, NULL};
    fg_stream stream = NULL;
    cr_assert_eq(fg_recorder_backend_entry(FG_BACKEND_ABI, NULL, &recorder), 0);
    cr_assert_eq(recorder->device_open(0, &devices[0]), 0);
    cr_assert_eq(recorder->device_open(1, &devices[1]), 0);
    cr_assert_eq(recorder->stream_create(devices[0], &stream), 0);
    cr_assert_eq(recorder->stream_sync(devices[0], stream), 0);
    cr_assert_eq(recorder->stream_sync(devices[1], stream), FG_STATUS_DEVICE);
    recorder->stream_destroy(devices[0], stream);
    recorder->device_close(devices[0]);
    recorder->device_close(devices[1]);
}
