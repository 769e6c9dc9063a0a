#include "conformance/executor/boundary_checks.h"
#include "conformance/executor/exec_judge.h"
#include "conformance/executor/exec_watch.h"
#include <stdio.h>

static fg_status record_text(const fg_exec_set *set, const char *name, fg_fault fault,
                             const char *failure, fg_result *result) {
    fg_exec_set_check(set, name, failure[0] ? FG_CHECK_FAIL : FG_CHECK_PASS,
                      failure[0] ? fault : FG_FAULT_NONE, failure, result);
    return FG_STATUS_OK;
}

static fg_status check_bound(const fg_exec_set *set, fg_result *result) {
    char text[192] = "";
    int good = 0;
    FG_TRY(fg_exec_judge(set->data, &set->env->traits, set->expected, set->expected->has, result,
                         &good, text, sizeof text));
    return record_text(set, "bound", FG_FAULT_NUMERIC, good ? "" : text, result);
}

/* The call, the backwards of every context, and all of it again. */
static fg_status run_watching(const fg_exec_set *set, const char *name, uint32_t watch,
                              int32_t repeats, fg_result *result) {
    const char *call = set->value->mode == FG_MODE_NOGRAD ? "nograd,back,back" : "grad,back,back";
    fg_driver driver;
    int32_t missing = 0;
    FG_TRY(fg_driver_open(set->env, set->data, set->out, set->expected, &driver));
    driver.watch = watch;
    fg_status status = fg_exec_set_begin(set, &driver);
    for (int32_t i = 0; i < repeats && !status; i++) {
        status = fg_driver_text(&driver, call);
    }
    if (!status) {
        status = fg_watch_counts(&driver, &missing);
    }
    status = fg_exec_set_record(set, name, status, &driver, missing, result);
    fg_driver_close(&driver);
    return status;
}

/* Forwards without gradients, and those that nothing asks a gradient of, must save nothing. */
static fg_status check_saved(const fg_exec_set *set, fg_result *result) {
    fg_driver driver;
    fg_outside_counts before;
    fg_outside_counts after = {0};
    const char *call = set->value->mode == FG_MODE_NOGRAD ? "nograd" : "grad";
    FG_TRY(fg_driver_open(set->env, set->data, set->out, NULL, &driver));
    driver.watch = 0;
    fg_status status = fg_exec_set_begin(set, &driver);
    if (!status) {
        status = set->env->outside(set->env, &before);
    }
    if (!status) {
        status = fg_driver_text(&driver, call);
    }
    if (!status) {
        status = set->env->outside(set->env, &after);
    }
    int none = driver.call.boundary == FG_OP_COUNT;
    if (!status && after.saving_forwards == FG_NOT_GIVEN) {
        status = FG_FAIL(FG_STATUS_UNSUPPORTED, "only the backend recorder counts saves");
    } else if (!status && none && after.saving_forwards != before.saving_forwards) {
        fg_watch_note(&driver, FG_FAULT_CONTRACT, "forwards that save: expected 0, got %lld",
                      (long long)(after.saving_forwards - before.saving_forwards));
    }
    status = fg_exec_set_record(set, "saved", status, &driver, 0, result);
    fg_driver_close(&driver);
    return status;
}

static void try_refusal(fg_driver *driver, fg_context *context, uint32_t given, int input,
                        const char *what) {
    const fg_tensor *grads[FG_INPUT_SLOTS];
    char text[160];
    fg_exec_out_poison(driver->out, driver->out->has, 0);
    fg_exec_out_grads(driver->out, given, grads);
    fg_status status =
        driver->env->api->backward(driver->executor, context, &driver->data->dy, grads, 0);
    if (status != FG_STATUS_INVALID) {
        fg_watch_note(driver, fg_exec_fault(status), "%s %s: expected INVALID, got %s",
                      fg_grad_name(input), what, fg_status_name(status));
    } else if (!fg_exec_out_intact(driver->out, 0, text, sizeof text)) {
        fg_watch_note(driver, FG_FAULT_MEMORY, "%s %s: %s", fg_grad_name(input), what, text);
    }
}

/* Each gradient in turn is left out, or given although nobody asked; the right call then works. */
static fg_status check_refusals(const fg_exec_set *set, fg_result *result) {
    fg_driver driver;
    FG_TRY(fg_driver_open(set->env, set->data, set->out, set->expected, &driver));
    driver.watch = FG_WATCH_VALUES;
    fg_status status = fg_exec_set_begin(set, &driver);
    if (!status && set->value->mode == FG_MODE_GRAD) {
        status = fg_driver_text(&driver, "grad");
    }
    int last = driver.context_count - 1;
    fg_context *context = last >= 0 ? driver.contexts[last].context : NULL;
    uint32_t requires = last >= 0 ? driver.contexts[last].requires : 0;
    for (int i = 0; i < FG_INPUTS && !status && context && !driver.failure[0]; i++) {
        if (driver.out->has & FG_BIT(i)) {
            try_refusal(&driver, context, requires ^ FG_BIT(i), i,
                        requires & FG_BIT(i) ? "left out" : "given unasked");
        }
    }
    while (!status && driver.context_count && !driver.failure[0]) {
        status = fg_driver_text(&driver, "back");
    }
    int32_t missing = 0;
    if (!status) {
        status = fg_watch_counts(&driver, &missing);
    }
    status = fg_exec_set_record(set, "refusals", status, &driver, missing, result);
    fg_driver_close(&driver);
    return status;
}

/* A context's backward may be called again: the same bits, in other buffers too. */
static fg_status check_twice(const fg_exec_set *set, fg_result *result) {
    fg_exec_out *other = NULL;
    fg_driver driver;
    int32_t missing = 0;
    FG_TRY(fg_exec_out_create(set->env, set->value, &other));
    fg_status status = fg_driver_open(set->env, set->data, set->out, set->expected, &driver);
    if (status) {
        fg_exec_out_destroy(other);
        return status;
    }
    driver.watch = FG_WATCH_VALUES;
    status = fg_exec_set_begin(set, &driver);
    if (!status && set->value->mode == FG_MODE_GRAD) {
        status = fg_driver_text(&driver, "grad");
    }
    int contexts = driver.context_count;
    fg_driver_again(&driver, other);
    fg_driver_again(&driver, set->out);
    while (!status && driver.context_count && !driver.failure[0]) {
        status = fg_driver_text(&driver, "back");
    }
    if (!status) {
        status = fg_watch_counts(&driver, &missing);
    }
    // Without a context there is nothing to call again.
    if (contexts || status || driver.failure[0]) {
        status = fg_exec_set_record(set, "backward_again", status, &driver, missing, result);
    }
    fg_driver_close(&driver);
    fg_exec_out_destroy(other);
    return status;
}

/* Blocks of device memory and kernels that the recorder sees alive. */
static int64_t alive(const fg_outside_counts *counts) {
    return counts->blocks_live + counts->kernels_created - counts->kernels_destroyed;
}

/* An executor that is gone, and contexts that are released, leave nothing behind. */
static fg_status check_released(const fg_exec_set *set, fg_result *result) {
    fg_driver driver;
    fg_outside_counts after;
    FG_TRY(fg_driver_open(set->env, set->data, set->out, NULL, &driver));
    driver.watch = 0;
    fg_status status = fg_exec_set_begin(set, &driver);
    for (int i = 0; i < 2 && !status; i++) {
        status = fg_driver_text(&driver, "nograd,grad,grad,back");
    }
    fg_driver_close(&driver); // releases the contexts that are left
    if (!status) {
        status = set->env->outside(set->env, &after);
    }
    if (!status && after.blocks_live == FG_NOT_GIVEN) {
        status = FG_FAIL(FG_STATUS_UNSUPPORTED, "only the backend recorder counts memory");
    } else if (!status && alive(&after) != alive(&driver.before)) {
        fg_watch_note(&driver, FG_FAULT_CONTRACT,
                      "alive after destroy: expected %lld blocks and %lld kernels, got %lld and "
                      "%lld",
                      (long long)driver.before.blocks_live,
                      (long long)(driver.before.kernels_created - driver.before.kernels_destroyed),
                      (long long)after.blocks_live,
                      (long long)(after.kernels_created - after.kernels_destroyed));
    }
    return fg_exec_set_record(set, "released", status, &driver, 0, result);
}

fg_status fg_boundary_checks(const fg_exec_set *set, fg_result *result) {
    uint64_t hash = fg_exec_data_hash(set->data);
    FG_TRY(check_bound(set, result));
    FG_TRY(run_watching(set, "boundary", FG_WATCH_FLAGS | FG_WATCH_COUNTS | FG_WATCH_LISTS, 1,
                        result));
    FG_TRY(run_watching(set, "gradients", FG_WATCH_VALUES | FG_WATCH_OUTSIDE, 1, result));
    FG_TRY(run_watching(set, "repeat", FG_WATCH_ALL & ~(uint32_t)FG_WATCH_EVENTS, 3, result));
    FG_TRY(check_saved(set, result));
    FG_TRY(check_refusals(set, result));
    FG_TRY(check_twice(set, result));
    FG_TRY(check_released(set, result));
    return record_text(
        set, "inputs", FG_FAULT_MEMORY,
        fg_exec_data_hash(set->data) == hash ? "" : "expected inputs unchanged, got a write",
        result);
}
