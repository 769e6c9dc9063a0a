#include "conformance/executor/exec_set.h"
#include <stdio.h>
#include <string.h>

int fg_exec_own_trouble(const fg_exec_env *env, fg_status status) {
    return status != FG_STATUS_OK && env->refused.status != status;
}

void fg_exec_set_mistrust(fg_result *result, const char *why) {
    if (result->state == FG_STATE_PASS) {
        result->state = FG_STATE_MISTRUSTED;
        snprintf(result->reason, sizeof result->reason, "%s", why);
    }
}

int fg_exec_set_resource(fg_status status, const char *text, fg_result *result) {
    int lacks = status == FG_STATUS_NO_MEMORY || status == FG_STATUS_DEVICE_LOST ||
                status == FG_STATUS_UNAVAILABLE;
    if (lacks && result->state != FG_STATE_FAIL) {
        result->state = FG_STATE_RESOURCE;
        snprintf(result->reason, sizeof result->reason, "%s", text);
    }
    return lacks;
}

fg_status fg_exec_set_create(fg_exec_env *env, const fg_case *value, const char *suffix,
                             const char *setup, fg_exec_set *out) {
    *out = (fg_exec_set){.env = env, .value = value, .suffix = suffix};
    if (env->traits.memory != FG_MEMORY_HOST) {
        return FG_FAIL(FG_STATUS_UNSUPPORTED, "found device memory, expected host memory");
    }
    fg_status status = fg_exec_data_create(env, value, &out->data);
    if (!status) {
        status = fg_exec_out_create(env, value, &out->out);
    }
    if (!status && setup) {
        status = fg_exec_out_create(env, value, &out->expected);
    }
    if (!status && setup) {
        status =
            fg_exec_fresh(env, out->data, setup, out->expected->has & ~FG_EXEC_Y, out->expected);
    }
    if (status) {
        fg_exec_set_destroy(out);
    }
    return status;
}

void fg_exec_set_destroy(fg_exec_set *set) {
    fg_exec_data_destroy(set->data);
    fg_exec_out_destroy(set->out);
    fg_exec_out_destroy(set->expected);
    set->data = NULL;
    set->out = NULL;
    set->expected = NULL;
}

void fg_exec_set_check(const fg_exec_set *set, const char *name, int32_t state, fg_fault fault,
                       const char *where, fg_result *result) {
    char full[32];
    snprintf(full, sizeof full, "%s%s", name, set->suffix);
    fg_result_check(result, full, state, 0, fault, "%s", where);
}

void fg_exec_set_uncounted(const fg_exec_set *set, int32_t missing, fg_result *result) {
    char full[32];
    int known = !missing;
    snprintf(full, sizeof full, "counts%s", set->suffix);
    for (int32_t i = 0; i < result->check_count; i++) {
        known |= strcmp(result->checks[i].name, full) == 0;
    }
    if (!known) {
        fg_exec_set_check(set, "counts", FG_CHECK_NOT_RUN, FG_FAULT_NONE, "counters not given",
                          result);
    }
    if (missing && set->value->kind == FG_CASE_PLAN) {
        fg_exec_set_mistrust(result, "counters not given");
    }
}

fg_status fg_exec_set_record(const fg_exec_set *set, const char *name, fg_status status,
                             const fg_driver *driver, int32_t missing, fg_result *result) {
    char text[64] = "";
    fg_counters counters = {.struct_size = sizeof counters};
    if (driver->executor && !set->env->api->counters(driver->executor, &counters)) {
        result->plans_built += counters.plans_built > 0 ? counters.plans_built : 0;
        result->plan_hits += counters.plan_hits > 0 ? counters.plan_hits : 0;
        result->state_resets += counters.state_resets > 0 ? counters.state_resets : 0;
    }
    result->elements_compared += driver->compared;
    result->elements_owed += driver->owed;
    if (driver->failure[0] && fg_exec_set_resource(driver->status, driver->failure, result)) {
        fg_exec_set_check(set, name, FG_CHECK_NOT_RUN, FG_FAULT_NONE, driver->failure, result);
        return FG_STATUS_OK;
    }
    if (driver->failure[0]) {
        fg_exec_set_check(set, name, FG_CHECK_FAIL, driver->fault, driver->failure, result);
        return FG_STATUS_OK;
    }
    if (status == FG_STATUS_UNSUPPORTED) {
        fg_exec_set_check(set, name, FG_CHECK_NOT_RUN, FG_FAULT_NONE, fg_message(), result);
        return FG_STATUS_OK;
    }
    FG_TRY(status);
    fg_exec_set_uncounted(set, missing, result);
    int untaken = missing && set->value->kind == FG_CASE_PLAN;
    if (untaken) {
        snprintf(text, sizeof text, "%d counts are not given", missing);
    }
    fg_exec_set_check(set, name, untaken ? FG_CHECK_NOT_RUN : FG_CHECK_PASS, FG_FAULT_NONE, text,
                      result);
    return FG_STATUS_OK;
}

fg_status fg_exec_set_begin(const fg_exec_set *set, fg_driver *driver) {
    const fg_case *value = set->value;
    uint32_t watch = driver->watch;
    driver->watch = 0;
    FG_TRY(fg_driver_text(driver, value->actions));
    driver->watch = watch;
    driver->expected_off = 0; // expected comes from the same passes
    if (value->mode == FG_MODE_NOGRAD) {
        FG_TRY(fg_driver_text(driver, "grad"));
    }
    if (value->has_first) {
        driver->requires = value->first & driver->model.inputs;
        FG_TRY(fg_driver_text(driver, value->first ? "grad" : "nograd"));
    }
    driver->requires = value->want & driver->model.inputs;
    return FG_STATUS_OK;
}
