#include "conformance/executor/plan_checks.h"
#include "conformance/executor/exec_watch.h"
#include "conformance/executor/passes.h"
#include "conformance/executor/plan_checks_forms.h"
#include "conformance/executor/plan_checks_random.h"
#include "conformance/executor/plan_checks_rows.h"
#include "conformance/executor/plan_checks_threads.h"
#include "contract/alloc.h"
#include <stdio.h>
#include <string.h>

/* Does actions on a new executor and records what `watch` finds. */
static fg_status run_actions(const fg_exec_set *set, const char *name, const char *actions,
                             int32_t repeats, uint32_t watch, fg_result *result) {
    fg_driver driver;
    int32_t missing = 0;
    FG_TRY(fg_driver_open(set->env, set->data, set->out, set->expected, &driver));
    driver.watch = watch;
    fg_status status = FG_STATUS_OK;
    for (int32_t i = 0; i < repeats && !status; i++) {
        status = fg_driver_text(&driver, actions);
    }
    if (!status) {
        status = fg_watch_counts(&driver, &missing);
    }
    if (!status && !driver.failure[0] && !driver.calls) {
        fg_exec_set_mistrust(result, "vacuous: no forward was made");
        status = FG_FAIL(FG_STATUS_UNSUPPORTED, "no forward was made");
    }
    status = fg_exec_set_record(set, name, status, &driver, missing, result);
    fg_driver_close(&driver);
    return status;
}

static fg_status check_identity(const fg_exec_set *set, const fg_plan_check *check,
                                fg_result *result) {
    return run_actions(set, check->name,
                       "nograd,grad,back,need:w2,grad,back,need:p,grad,back,need:all", 4,
                       FG_WATCH_LISTS | FG_WATCH_VALUES | FG_WATCH_OUTSIDE, result);
}

static fg_status check_order(const fg_exec_set *set, const fg_plan_check *check,
                             fg_result *result) {
    if (!set->env->api->events) {
        fg_exec_set_check(set, check->name, FG_CHECK_NOT_RUN, FG_FAULT_NONE, "no events", result);
        return FG_STATUS_OK;
    }
    const char *actions = set->env->every_recipe
                              ? "nograd,grad,back,recipe:current,grad,nograd,back,recipe:none"
                              : "nograd,grad,back,grad,nograd,back";
    return run_actions(set, check->name, actions, 2, FG_WATCH_EVENTS, result);
}

static fg_status check_eviction(const fg_exec_set *set, const fg_plan_check *check,
                                fg_result *result) {
    // At capacity 2 the plan used longest ago goes: w2's, since all's was used again.
    return run_actions(set, check->name,
                       "cap:2,need:all,grad,need:w2,grad,need:all,grad,need:p,grad,need:all,grad,"
                       "need:w2,grad,back,back,back,back,back,back,cap:3,need:all,grad,evict,back,"
                       "grad,back,clear,grad,grad,back,back",
                       2, FG_WATCH_COUNTS | FG_WATCH_LISTS | FG_WATCH_VALUES | FG_WATCH_OUTSIDE,
                       result);
}

static fg_status check_failed_build(const fg_exec_set *set, const fg_plan_check *check,
                                    fg_result *result) {
    return run_actions(set, check->name,
                       "hook:fail_build:1,grad,grad,back,grad,back,need:w2,hook:fail_build:2,grad,"
                       "grad,grad,back,need:all,grad,back",
                       1, FG_WATCH_COUNTS | FG_WATCH_LISTS | FG_WATCH_VALUES, result);
}

static fg_status check_equal_hash(const fg_exec_set *set, const fg_plan_check *check,
                                  fg_result *result) {
    const char *actions =
        set->env->every_recipe
            ? "hook:equal_hash:1,nograd,grad,back,need:w2,grad,back,recipe:current,grad,back,"
              "recipe:delayed,grad,back,opt:margin:1,grad,back,recipe:none,need:p,grad,back"
            : "hook:equal_hash:1,nograd,grad,back,need:w2,grad,back,need:p,grad,back,need:all";
    return run_actions(set, check->name, actions, 3,
                       FG_WATCH_COUNTS | FG_WATCH_LISTS | FG_WATCH_VALUES, result);
}

/* Asks for forwards after a pass that no build may survive; each try must fail anew. */
static fg_status try_bad_pass(fg_driver *driver, const char *name, int32_t *missing) {
    const fg_executor_api *api = driver->env->api;
    fg_counters before = {.struct_size = sizeof before};
    fg_counters after = {.struct_size = sizeof after};
    fg_context *context = NULL;
    fg_recipe recipe = fg_recipe_default(FG_RECIPE_NONE);
    FG_TRY(fg_driver_text(driver, "grad,back"));
    if (driver->failure[0]) {
        return FG_STATUS_OK;
    }
    fg_watch_status(driver, "counters", api->counters(driver->executor, &before));
    fg_watch_status(
        driver, "register_pass",
        api->register_pass(driver->executor, FG_PASS_JOINT, fg_pass_from_name(name), NULL));
    for (int i = 0; i < 2 && !driver->failure[0]; i++) {
        fg_status status =
            api->forward(driver->executor, FG_GRAD, &recipe, driver->requires, &driver->data->in,
                         &driver->out->tensors[FG_INPUTS], NULL, NULL, &context);
        if (!status || fg_exec_fault(status) != FG_FAULT_CONTRACT) {
            fg_watch_note(driver, FG_FAULT_CONTRACT, "pass %s, call %d: expected a refusal, got %s",
                          name, i, fg_status_name(status));
        }
        if (!status && context) {
            api->context_release(driver->executor, context);
        }
    }
    fg_watch_status(driver, "counters", api->counters(driver->executor, &after));
    *missing += before.plans_built == FG_NOT_GIVEN;
    if (before.plans_built != after.plans_built) {
        fg_watch_note(driver, FG_FAULT_CONTRACT, "pass %s: expected %lld plans built, got %lld",
                      name, (long long)before.plans_built, (long long)after.plans_built);
    }
    return FG_STATUS_OK;
}

static fg_status check_bad_passes(const fg_exec_set *set, const fg_plan_check *check,
                                  fg_result *result) {
    static const char *const names[] = {"gap", "overlap", "disorder", "refuse"};
    fg_driver driver = {0};
    int32_t missing = 0;
    fg_status status = set->env->api->register_pass
                           ? FG_STATUS_OK
                           : FG_FAIL(FG_STATUS_UNSUPPORTED, "found no register_pass, expected one");
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !status && !driver.failure[0]; i++) {
        fg_driver next;
        FG_TRY(fg_driver_open(set->env, set->data, set->out, set->expected, &next));
        status = try_bad_pass(&next, names[i], &missing);
        fg_driver_close(&next);
        driver = next;
    }
    driver.executor = NULL;
    return fg_exec_set_record(set, check->name, status, &driver, missing, result);
}

/* One weight on another device than the first must be refused. */
static fg_status try_mixed_devices(fg_driver *driver) {
    const fg_executor_api *api = driver->env->api;
    fg_context *context = NULL;
    fg_recipe recipe = fg_recipe_default(FG_RECIPE_NONE);
    driver->data->inputs[FG_W2].device = 1;
    fg_status status =
        api->forward(driver->executor, FG_GRAD, &recipe, driver->requires, &driver->data->in,
                     &driver->out->tensors[FG_INPUTS], NULL, NULL, &context);
    driver->data->inputs[FG_W2].device = 0;
    if (status != FG_STATUS_DEVICE) {
        fg_watch_note(driver, FG_FAULT_CONTRACT,
                      "w2 on device 1, the rest on 0: expected DEVICE, got %s",
                      fg_status_name(status));
    }
    return FG_STATUS_OK;
}

/* Streams that the recorder saw: each look-up gave another one, and each must have been used. */
static fg_status judge_streams(fg_driver *driver, int64_t seen_before) {
    fg_outside_counts outside;
    FG_TRY(driver->env->outside(driver->env, &outside));
    int64_t lookups = outside.stream_lookups - driver->before.stream_lookups;
    if (outside.streams_seen != FG_NOT_GIVEN && outside.streams_seen - seen_before != lookups) {
        fg_watch_note(driver, FG_FAULT_CONTRACT, "streams used: expected %lld, got %lld",
                      (long long)lookups, (long long)(outside.streams_seen - seen_before));
    }
    return FG_STATUS_OK;
}

static fg_status check_devices(const fg_exec_set *set, const fg_plan_check *check,
                               fg_result *result) {
    fg_driver driver;
    int32_t missing = 0;
    FG_TRY(fg_driver_open(set->env, set->data, set->out, set->expected, &driver));
    driver.watch = FG_WATCH_COUNTS | FG_WATCH_VALUES | FG_WATCH_LISTS | FG_WATCH_LAUNCH;
    fg_status status = FG_STATUS_OK;
    for (int i = 0; i < 4 && !status; i++) {
        status = fg_driver_text(&driver, "dev:0,nograd,grad,back,dev:1,nograd,grad,back");
    }
    if (!status) {
        status = fg_watch_counts(&driver, &missing);
    }
    if (!status && !driver.failure[0]) {
        status = judge_streams(&driver, driver.before.streams_seen);
    }
    if (!status && !driver.failure[0]) {
        status = fg_driver_text(&driver, "dev:0");
    }
    if (!status && !driver.failure[0]) {
        status = try_mixed_devices(&driver);
    }
    status = fg_exec_set_record(set, check->name, status, &driver, missing, result);
    fg_driver_close(&driver);
    return status;
}

/* What an executor holds: bytes in this process, blocks of memory that the recorder counts. */
static fg_status held_now(const fg_exec_set *set, size_t *bytes, int64_t *blocks) {
    fg_outside_counts outside;
    FG_TRY(set->env->outside(set->env, &outside));
    *blocks = outside.blocks_live;
    *bytes = set->env->parallel ? fg_alloc_live_total() : 0;
    return FG_STATUS_OK;
}

/* Enough rounds for every pool to have its size, then many more: nothing may grow. */
static fg_status grow(const fg_exec_set *set, fg_driver *driver) {
    int64_t rounds = set->env->parallel ? 3500 : 170;
    size_t bytes[2] = {0};
    int64_t blocks[2] = {0};
    FG_TRY(fg_driver_text(driver, set->env->every_recipe ? "recipe:delayed" : "recipe:none"));
    for (int64_t i = 0; i < rounds; i++) {
        if (i == rounds / 5) {
            FG_TRY(held_now(set, &bytes[0], &blocks[0]));
        }
        FG_TRY(fg_driver_text(driver, "nograd,grad,back"));
    }
    FG_TRY(held_now(set, &bytes[1], &blocks[1]));
    if (blocks[1] > blocks[0]) {
        fg_watch_note(driver, FG_FAULT_CONTRACT,
                      "blocks held: expected %lld, got %lld after %lld calls", (long long)blocks[0],
                      (long long)blocks[1], (long long)driver->calls);
    }
    if (bytes[1] > bytes[0]) {
        fg_watch_note(driver, FG_FAULT_CONTRACT,
                      "bytes held: expected %zu, got %zu after %lld calls", bytes[0], bytes[1],
                      (long long)driver->calls);
    }
    return FG_STATUS_OK;
}

static fg_status check_growth(const fg_exec_set *set, const fg_plan_check *check,
                              fg_result *result) {
    fg_driver driver;
    int32_t missing = 0;
    FG_TRY(fg_driver_open(set->env, set->data, set->out, NULL, &driver));
    driver.watch = 0;
    fg_status status = grow(set, &driver);
    if (!status) {
        status = fg_watch_counts(&driver, &missing);
    }
    status = fg_exec_set_record(set, check->name, status, &driver, missing, result);
    fg_driver_close(&driver);
    return status;
}

static fg_status check_threads(const fg_exec_set *set, const fg_plan_check *check,
                               fg_result *result) {
    return fg_plan_threads(set, check->name, 20, result);
}

static fg_status check_forms(const fg_exec_set *set, const fg_plan_check *check,
                             fg_result *result) {
    return fg_plan_forms(set, check->name, result);
}

static fg_status check_random(const fg_exec_set *set, const fg_plan_check *check,
                              fg_result *result) {
    return fg_plan_random(set, check->name, 20 * (int64_t)set->value->iterations, result);
}

static const fg_plan_check checks[] = {
    {30, "identity", 0, check_identity},
    {31, "order_of_events", 0, check_order},
    {32, "eviction", 0, check_eviction},
    {33, "failed_build", 0, check_failed_build},
    {34, "bad_passes", 0, check_bad_passes},
    {35, "equal_hash", 0, check_equal_hash},
    {36, "devices_streams", 0, check_devices},
    {37, "growth", 0, check_growth},
    {38, "threads", 0, check_threads},
    {39, "random", 0, check_random},
    {40, "forms", 0, check_forms},
};

const fg_plan_check *fg_plan_check_at(int32_t i) {
    int32_t rows = 0;
    while (fg_plan_row_at(rows)) {
        rows++;
    }
    if (i < rows) {
        return fg_plan_row_at(i);
    }
    return (size_t)(i - rows) < sizeof checks / sizeof checks[0] ? &checks[i - rows] : NULL;
}

fg_status fg_plan_checks(const fg_exec_set *set, fg_result *result, int32_t *ran) {
    const fg_case *value = set->value;
    *ran = 0;
    if (value->actions[0]) {
        *ran = 1;
        return run_actions(set, "actions", value->actions, value->iterations, FG_WATCH_ALL, result);
    }
    for (int32_t i = 0; fg_plan_check_at(i); i++) {
        const fg_plan_check *check = fg_plan_check_at(i);
        int wanted = !value->sequence || value->sequence == check->number;
        if (wanted && (!check->recipes || set->env->every_recipe)) {
            FG_TRY(check->run(set, check, result));
            (*ran)++;
        }
    }
    return FG_STATUS_OK;
}
