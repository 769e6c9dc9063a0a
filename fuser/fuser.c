#include "fuser/fuser.h"
#include "contract/alloc.h"
#include "fuser/fuser_call.h"
#include <string.h>

#define DEFAULT_CAPACITY 64

static fg_status check_options(const fg_executor_options *options) {
    if (options == NULL || options->struct_size < sizeof *options) {
        return FG_FAIL(FG_STATUS_ABI, "executor options: found %zu bytes, expected %zu",
                       options != NULL ? options->struct_size : 0, sizeof *options);
    }
    if (options->backend == NULL || options->backend->struct_size < sizeof(fg_backend)) {
        return FG_FAIL(FG_STATUS_INVALID, "executor options: found no backend of version %u",
                       FG_BACKEND_ABI);
    }
    if (options->stream_for == NULL) {
        return FG_FAIL(FG_STATUS_INVALID, "executor options: found no stream_for, expected one");
    }
    return FG_STATUS_OK;
}

static void init_fields(fg_fuser *fuser, const fg_problem *problem,
                        const fg_executor_options *options) {
    fuser->problem = *problem;
    fuser->problem.struct_size = sizeof fuser->problem;
    fg_op_set_init(&fuser->problem, &fuser->ops);
    fg_fusion_init(&fuser->fusion, options->unfused);
    fuser->stream_for = options->stream_for;
    fuser->user = options->user;
    fuser->next_serial = 1;
    fuser->counters.struct_size = sizeof fuser->counters;
}

fg_status fg_fuser_create(const fg_problem *problem, const fg_executor_options *options,
                          fg_fuser **out) {
    FG_TRY(fg_problem_check(problem));
    FG_TRY(check_options(options));
    int32_t capacity = options->capacity != 0 ? options->capacity : DEFAULT_CAPACITY;
    fg_fuser *fuser = fg_alloc(sizeof *fuser, FG_ALLOC_GENERAL);
    if (fuser == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected %zu bytes", sizeof *fuser);
    }
    init_fields(fuser, problem, options);
    fg_status status = fg_device_table_init(&fuser->devices, options->backend);
    if (status != FG_STATUS_OK) {
        goto fail_devices;
    }
    status = fg_call_gate_init(&fuser->gate);
    if (status != FG_STATUS_OK) {
        goto fail_gate;
    }
    status = fg_plan_cache_init(&fuser->cache, capacity);
    if (status != FG_STATUS_OK) {
        goto fail_cache;
    }
    *out = fuser;
    return FG_STATUS_OK;
fail_cache:
    fg_call_gate_release(&fuser->gate);
fail_gate:
    fg_device_table_release(&fuser->devices);
fail_devices:
    fg_free(fuser);
    return fg_trace(status, "fg_fuser_create", __FILE__, __LINE__);
}

void fg_fuser_destroy(fg_fuser *fuser) {
    if (fuser == NULL) {
        return;
    }
    fg_fuser_clear(fuser);
    fg_fuser_drop(fuser, NULL, fuser->state);
    fg_fuser_free_idle(fuser);
    fg_plan_cache_release(&fuser->cache);
    fg_call_gate_release(&fuser->gate);
    fg_device_table_release(&fuser->devices);
    fg_free(fuser);
}

fg_status fg_fuser_step(fg_fuser *fuser) {
    fg_call_gate_lock(&fuser->gate);
    fg_call_gate_pause(&fuser->gate);
    fg_call_gate_end_pause(&fuser->gate);
    fg_call_gate_unlock(&fuser->gate);
    return FG_STATUS_OK;
}

fg_status fg_fuser_register_pass(fg_fuser *fuser, int32_t kind, fg_pass_fn pass, void *user) {
    fg_call_gate_lock(&fuser->gate);
    fg_status status = fg_fusion_add(&fuser->fusion, kind, pass, user);
    fuser->pass_version += status == FG_STATUS_OK;
    fg_call_gate_unlock(&fuser->gate);
    return status;
}

fg_status fg_fuser_clear(fg_fuser *fuser) {
    fg_call_gate_lock(&fuser->gate);
    fg_plan *plan = fg_plan_cache_clear(&fuser->cache);
    fg_call_gate_unlock(&fuser->gate);
    while (plan != NULL) {
        fg_plan *next = plan->next; // before the plan may go
        fg_fuser_drop(fuser, plan, NULL);
        plan = next;
    }
    return FG_STATUS_OK;
}

void fg_fuser_drop(fg_fuser *fuser, fg_plan *plan, fg_recipe_state *state) {
    fg_call_gate_lock(&fuser->gate);
    int plan_stays = plan != NULL && --plan->refs > 0;
    int state_stays = state != NULL && --state->refs > 0;
    fg_call_gate_unlock(&fuser->gate);
    if (!plan_stays) {
        fg_plan_destroy(plan, fuser->devices.backend);
    }
    if (!state_stays) {
        fg_recipe_state_destroy(state, &fuser->devices);
    }
}

/* Changes a trait that no fusion pass may read; what was derived from the traits is forgotten. */
static void set_ignored_property(fg_fuser *fuser, int64_t value) {
    for (int32_t slot = 0; slot < FG_DEVICE_SLOTS; slot++) {
        fg_fuser_device *device = fg_device_table_slot(&fuser->devices, slot);
        if (device != NULL) {
            device->traits.accumulator_block = (int32_t)value;
        }
    }
    fuser->prefix_count = 0;
    fuser->prefix_next = 0;
}

fg_status fg_fuser_hook(fg_fuser *fuser, const char *name, int64_t value) {
    fg_status status = FG_STATUS_OK;
    fg_call_gate_lock(&fuser->gate);
    if (strcmp(name, "equal_hash") == 0) {
        fg_plan_cache_set_equal_hash(&fuser->cache, value != 0);
    } else if (strcmp(name, "fail_build") == 0) {
        fuser->failing_builds = value;
    } else if (strcmp(name, "device_property") == 0) {
        set_ignored_property(fuser, value);
    } else {
        status = FG_STATUS_NOT_FOUND;
    }
    fg_call_gate_unlock(&fuser->gate);
    return status == FG_STATUS_OK ? status
                                  : FG_FAIL(status,
                                            "found hook '%s', expected equal_hash, fail_build or "
                                            "device_property",
                                            name);
}
