#include "conformance/executor/exec_watch.h"
#include "contract/alloc.h"
#include <stdarg.h>
#include <stdio.h>

void fg_watch_note(fg_driver *driver, fg_fault fault, const char *format, ...) {
    if (!driver->failure[0]) {
        va_list list;
        va_start(list, format);
        vsnprintf(driver->failure, sizeof driver->failure, format, list);
        va_end(list);
        driver->fault = fault;
    }
}

void fg_watch_status(fg_driver *driver, const char *what, fg_status status) {
    if (status && !driver->failure[0]) {
        driver->status = status;
        fg_watch_note(driver, fg_exec_fault(status), "%s: expected OK, got %s: %s", what,
                      fg_status_name(status), fg_message());
    }
}

/* Keeps the serial number of a list that a build made; notes one that was given before. */
static fg_status keep_list(fg_driver *driver, const char *which, int64_t id) {
    int watched = driver->watch & FG_WATCH_LISTS;
    for (int64_t i = 0; i < driver->id_count && watched; i++) {
        if (driver->ids[i] == id) {
            fg_watch_note(driver, FG_FAULT_CONTRACT,
                          "%s list of a new plan: expected a new number, got %lld again", which,
                          (long long)id);
        }
    }
    if (id <= 0 && watched) {
        fg_watch_note(driver, FG_FAULT_CONTRACT,
                      "%s list of a new plan: expected a number above 0, got %lld", which,
                      (long long)id);
    }
    if (driver->id_count == driver->id_capacity) {
        int64_t capacity = driver->id_capacity ? 2 * driver->id_capacity : 16;
        int64_t *ids = fg_realloc(driver->ids, (size_t)capacity * sizeof *ids, FG_ALLOC_GENERAL);
        if (!ids) {
            return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected %lld numbers",
                           (long long)capacity);
        }
        driver->ids = ids;
        driver->id_capacity = capacity;
    }
    driver->ids[driver->id_count++] = id;
    return FG_STATUS_OK;
}

/* One list may serve both directions, but then its entries are the same. */
static int lists_differ(const fg_driver *driver) {
    const fg_executor_api *api = driver->env->api;
    fg_run forward[FG_OP_COUNT];
    fg_run backward[FG_OP_COUNT];
    int32_t count = api->plan_runs ? api->plan_runs(driver->executor, FG_FORWARD, forward) : 0;
    int32_t other = api->plan_runs ? api->plan_runs(driver->executor, FG_BACKWARD, backward) : 0;
    int differ = count != other;
    for (int32_t i = 0; i < count && i < FG_OP_COUNT && !differ; i++) {
        differ = forward[i].first != backward[i].first || forward[i].count != backward[i].count;
    }
    return differ;
}

static fg_status keep_lists(fg_driver *driver, int64_t forward, int64_t backward) {
    driver->call.plan->forward_id = forward;
    driver->call.plan->backward_id = backward;
    FG_TRY(keep_list(driver, "forward", forward));
    if (forward != backward) {
        return keep_list(driver, "backward", backward);
    }
    if ((driver->watch & FG_WATCH_LISTS) && lists_differ(driver)) {
        fg_watch_note(driver, FG_FAULT_CONTRACT,
                      "backward list: expected another than the forward list of other entries, got "
                      "%lld for both",
                      (long long)forward);
    }
    return FG_STATUS_OK;
}

/* Whatever is watched, the numbers of a build are kept: a later hit is held against them. */
static fg_status check_lists(fg_driver *driver) {
    const fg_executor_api *api = driver->env->api;
    const fg_model_plan *plan = driver->call.plan;
    if (driver->call.hit && !(driver->watch & FG_WATCH_LISTS)) {
        return FG_STATUS_OK;
    }
    int64_t forward = api->plan_id(driver->executor, FG_FORWARD);
    int64_t backward = api->plan_id(driver->executor, FG_BACKWARD);
    if (!driver->call.hit) {
        return keep_lists(driver, forward, backward);
    }
    if (plan->forward_id != forward) {
        fg_watch_note(driver, FG_FAULT_CONTRACT, "forward list of a hit: expected %lld, got %lld",
                      (long long)plan->forward_id, (long long)forward);
    } else if (plan->backward_id != backward) {
        fg_watch_note(driver, FG_FAULT_CONTRACT, "backward list of a hit: expected %lld, got %lld",
                      (long long)plan->backward_id, (long long)backward);
    }
    return FG_STATUS_OK;
}

static void check_events(fg_driver *driver) {
    static const char *const names[] = {"boundary", "state key", "reset",  "pre-first", "plan key",
                                        "hit",      "build",     "stream", "execute",   "save"};
    const fg_model_call *call = &driver->call;
    fg_event got[16];
    fg_event want[10];
    int32_t count = 0;
    want[count++] = FG_EVENT_BOUNDARY;
    want[count++] = FG_EVENT_STATE_KEY;
    if (call->reset) {
        want[count++] = FG_EVENT_RESET;
    }
    if (call->first) {
        want[count++] = FG_EVENT_PRE_FIRST;
    }
    want[count++] = FG_EVENT_PLAN_KEY;
    want[count++] = call->hit ? FG_EVENT_HIT : FG_EVENT_BUILD;
    want[count++] = FG_EVENT_STREAM;
    want[count++] = FG_EVENT_EXECUTE;
    if (call->boundary < FG_OP_COUNT) {
        want[count++] = FG_EVENT_SAVE;
    }
    int32_t number = driver->env->api->events(driver->executor, got, 16);
    if (number == FG_NOT_GIVEN) {
        return;
    }
    for (int32_t i = 0; i < count || i < number; i++) {
        int known = i < number && (unsigned)got[i] <= FG_EVENT_SAVE;
        if (i >= number || i >= count || got[i] != want[i]) {
            fg_watch_note(driver, FG_FAULT_CONTRACT, "event %d: expected %s, got %s", i,
                          i < count ? names[want[i]] : "none", known ? names[got[i]] : "none");
            return;
        }
    }
}

static void check_flags(fg_driver *driver) {
    const fg_executor_api *api = driver->env->api;
    const fg_model_call *call = &driver->call;
    for (int32_t op = 0; op < FG_OP_COUNT; op++) {
        uint32_t flags = api->flags(driver->executor, op);
        if (call->mode == FG_GRAD && (flags & 1u) != (op >= call->boundary)) {
            fg_watch_note(driver, FG_FAULT_CONTRACT,
                          "boundary %d: expected requires_grad %d of op %d, got %u", call->boundary,
                          op >= call->boundary, op, flags & 1u);
        }
        if (call->mode == FG_NO_GRAD && driver->flags_known && flags != driver->flags[op]) {
            fg_watch_note(driver, FG_FAULT_CONTRACT,
                          "flags of op %d after a no-grad call: expected %u, got %u", op,
                          driver->flags[op], flags);
        }
        driver->flags[op] = flags;
    }
    // Before the first forward with gradients flags may say anything.
    driver->flags_known |= call->mode == FG_GRAD;
}

static void check_counts(fg_driver *driver, int32_t *missing) {
    fg_counters counters = {.struct_size = sizeof counters};
    fg_status status = driver->env->api->counters(driver->executor, &counters);
    if (status) {
        fg_watch_status(driver, "counters", status);
    } else if (!driver->failure[0]) {
        char text[sizeof driver->failure];
        if (!fg_model_compare(&driver->model, &counters, text, sizeof text, missing)) {
            fg_watch_note(driver, FG_FAULT_CONTRACT, "%s", text);
        }
    }
}

/* Compares the outputs of a mask with a fresh executor's bit for bit, and counts their elements. */
static void compare_bits(fg_driver *driver, const fg_exec_out *expected, const fg_exec_out *got,
                         uint32_t mask) {
    char text[sizeof driver->failure];
    int64_t elements = 0;
    for (int i = 0; i <= FG_INPUTS; i++) {
        elements += mask & got->has & FG_BIT(i) ? fg_tensor_count(&got->tensors[i]) : 0;
    }
    driver->owed += elements;
    if (fg_exec_out_equal(expected, got, mask, text, sizeof text)) {
        driver->compared += elements;
    } else {
        fg_watch_note(driver, FG_FAULT_NUMERIC, "%s", text);
    }
}

static void check_y(fg_driver *driver) {
    char text[sizeof driver->failure];
    if (!fg_exec_out_intact(driver->out, driver->out->has, text, sizeof text)) {
        fg_watch_note(driver, FG_FAULT_MEMORY, "%s", text);
    } else if (!driver->expected_off) {
        compare_bits(driver, driver->expected, driver->out, FG_EXEC_Y);
    }
}

fg_status fg_watch_forward(fg_driver *driver) {
    const fg_executor_api *api = driver->env->api;
    int32_t missing = 0;
    if (driver->watch & FG_WATCH_COUNTS) {
        check_counts(driver, &missing);
    }
    FG_TRY(check_lists(driver));
    if ((driver->watch & FG_WATCH_EVENTS) && api->events) {
        check_events(driver);
    }
    if (driver->watch & FG_WATCH_FLAGS) {
        check_flags(driver);
    }
    if ((driver->watch & FG_WATCH_VALUES) && driver->expected) {
        check_y(driver);
    }
    return FG_STATUS_OK;
}

fg_status fg_watch_kernel(fg_driver *driver, int64_t *out) {
    const fg_executor_api *api = driver->env->api;
    fg_run runs[FG_OP_COUNT];
    *out = FG_NOT_GIVEN;
    if (!(driver->watch & FG_WATCH_OUTSIDE) || !api->plan_runs ||
        api->plan_runs(driver->executor, FG_FORWARD, runs) != 1 ||
        api->plan_runs(driver->executor, FG_BACKWARD, runs) != 1) {
        return FG_STATUS_OK;
    }
    fg_outside_counts counts;
    FG_TRY(driver->env->outside(driver->env, &counts));
    *out = counts.last_forward_kernel;
    return FG_STATUS_OK;
}

void fg_watch_gradients(fg_driver *driver, const fg_driver_context *done) {
    char text[sizeof driver->failure];
    uint32_t requires = done->requires;
    if (!fg_exec_out_intact(done->out, requires | FG_EXEC_Y, text, sizeof text)) {
        fg_watch_note(driver, FG_FAULT_MEMORY, "%s", text);
    } else if (!driver->expected_off) {
        compare_bits(driver, done->expected, done->out, requires);
    }
}

static fg_status backward_outside(fg_driver *driver, const fg_driver_context *done) {
    fg_outside_counts counts;
    FG_TRY(driver->env->outside(driver->env, &counts));
    if (counts.backwards == FG_NOT_GIVEN) {
        return FG_STATUS_OK;
    }
    if (counts.last_mask != done->requires) {
        fg_watch_note(driver, FG_FAULT_CONTRACT, "mask of the kernels: expected 0x%x, got 0x%x",
                      done->requires, counts.last_mask);
    }
    if (done->kernel != FG_NOT_GIVEN && counts.last_backward_kernel != done->kernel) {
        fg_watch_note(driver, FG_FAULT_CONTRACT,
                      "kernel of a backward: expected its forward's %lld, got "
                      "%lld",
                      (long long)done->kernel, (long long)counts.last_backward_kernel);
    }
    return FG_STATUS_OK;
}

/* One count that the executor gives and that was also taken outside since `before`. */
typedef struct two_counts {
    const char *name;
    int64_t own, outside, before;
} two_counts;

static void compare_counts(fg_driver *driver, const two_counts *counts, int32_t number,
                           int32_t *missing) {
    for (int32_t i = 0; i < number; i++) {
        int64_t outside = counts[i].outside - counts[i].before;
        if (counts[i].own == FG_NOT_GIVEN) {
            (*missing)++;
        } else if (counts[i].outside != FG_NOT_GIVEN && counts[i].own != outside) {
            fg_watch_note(driver, FG_FAULT_CONTRACT,
                          "%s: the executor says %lld, counted outside %lld", counts[i].name,
                          (long long)counts[i].own, (long long)outside);
        }
    }
}

/* One stream look-up for each call, and no question which device is current. */
static void judge_launches(fg_driver *driver, const fg_outside_counts *outside) {
    int64_t queries = outside->current_device_queries - driver->before.current_device_queries;
    int64_t lookups = outside->stream_lookups - driver->before.stream_lookups;
    if (queries != 0) {
        fg_watch_note(driver, FG_FAULT_CONTRACT,
                      "current-device queries: expected 0, got %lld outside", (long long)queries);
    }
    if (lookups != driver->model.expected.stream_lookups) {
        fg_watch_note(driver, FG_FAULT_CONTRACT, "stream look-ups: expected %lld, got %lld outside",
                      (long long)driver->model.expected.stream_lookups, (long long)lookups);
    }
}

void fg_watch_own_counts(fg_driver *driver, int32_t *missing) {
    *missing = 0;
    if (!driver->failure[0]) {
        check_counts(driver, missing);
    }
}

fg_status fg_watch_counts(fg_driver *driver, int32_t *missing) {
    *missing = 0;
    if (driver->failure[0]) {
        return FG_STATUS_OK;
    }
    fg_counters own = {.struct_size = sizeof own};
    fg_outside_counts outside;
    check_counts(driver, missing);
    FG_TRY(driver->env->outside(driver->env, &outside));
    fg_watch_status(driver, "counters", driver->env->api->counters(driver->executor, &own));
    const fg_outside_counts *before = &driver->before;
    const two_counts counts[] = {
        {"kernels created", own.kernels_created, outside.kernels_created, before->kernels_created},
        {"stream look-ups", own.stream_lookups, outside.stream_lookups, before->stream_lookups},
        {"current-device queries", own.current_device_queries, outside.current_device_queries,
         before->current_device_queries},
    };
    if (driver->watch & FG_WATCH_LAUNCH) {
        judge_launches(driver, &outside);
    }
    compare_counts(driver, counts, driver->watch & FG_WATCH_LAUNCH ? 3 : 1, missing);
    return FG_STATUS_OK;
}

fg_status fg_watch_backward(fg_driver *driver, const fg_driver_context *done) {
    if ((driver->watch & FG_WATCH_VALUES) && done->expected) {
        fg_watch_gradients(driver, done);
    }
    if (driver->watch & FG_WATCH_OUTSIDE) {
        FG_TRY(backward_outside(driver, done));
    }
    return FG_STATUS_OK;
}
