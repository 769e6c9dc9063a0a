#include "fuser/fuser_executor.h"
#include "fuser/fuser_call.h"
#include <string.h>

static fg_status executor_create(const fg_problem *problem, const fg_executor_options *options,
                                 fg_executor **out) {
    return fg_fuser_create(problem, options, out);
}

static void executor_destroy(fg_executor *executor) {
    fg_fuser_destroy(executor);
}

static fg_status executor_forward(fg_executor *executor, int32_t mode, const fg_recipe *recipe,
                                  uint32_t requires, const fg_inputs *inputs, const fg_tensor *y,
                                  const fg_token *token_in, fg_token **token_out,
                                  fg_context **context) {
    if (context != NULL) {
        *context = NULL;
    }
    if (token_out != NULL) {
        *token_out = NULL;
    }
    if (recipe == NULL || recipe->struct_size < sizeof *recipe) {
        return FG_FAIL(FG_STATUS_ABI, "recipe: found a struct of %zu bytes, expected %zu",
                       recipe != NULL ? recipe->struct_size : 0, sizeof *recipe);
    }
    fg_recipe known = *recipe; // a later version's recipe compares as the part that we know
    known.struct_size = sizeof known;
    return fg_fuser_forward(executor, mode, &known, requires, inputs, y, token_in, token_out,
                            context);
}

static fg_status executor_counters(const fg_executor *executor, fg_counters *out) {
    fg_fuser *fuser = (fg_fuser *)executor; // the lock changes, nothing else
    if (out == NULL || out->struct_size < sizeof out->struct_size) {
        return FG_FAIL(FG_STATUS_ABI, "counters: found no size, expected up to %zu bytes",
                       sizeof *out);
    }
    fg_call_gate_lock(&fuser->gate);
    fg_counters counters = fuser->counters;
    fg_call_gate_unlock(&fuser->gate);
    counters.kernels_created = atomic_load(&fuser->devices.kernels_created);
    counters.struct_size = out->struct_size;
    memcpy(out, &counters, out->struct_size < sizeof counters ? out->struct_size : sizeof counters);
    return FG_STATUS_OK;
}

static int64_t executor_plan_id(const fg_executor *executor, int32_t direction) {
    fg_fuser *fuser = (fg_fuser *)executor; // the lock changes, nothing else
    fg_call_gate_lock(&fuser->gate);
    int64_t serial = fuser->last_serials[direction == FG_BACKWARD];
    fg_call_gate_unlock(&fuser->gate);
    return serial;
}

static uint32_t executor_flags(const fg_executor *executor, int32_t op) {
    fg_fuser *fuser = (fg_fuser *)executor; // the lock changes, nothing else
    if (op < 0 || op >= fuser->ops.count) {
        return 0;
    }
    fg_call_gate_lock(&fuser->gate);
    uint32_t flags = fuser->flags[op];
    fg_call_gate_unlock(&fuser->gate);
    return flags;
}

static int32_t executor_plan_runs(const fg_executor *executor, int32_t direction,
                                  fg_run runs[FG_OP_COUNT]) {
    fg_fuser *fuser = (fg_fuser *)executor; // the lock changes, nothing else
    int32_t list = direction == FG_BACKWARD;
    fg_call_gate_lock(&fuser->gate);
    int32_t count = fuser->last_run_counts[list];
    memcpy(runs, fuser->last_runs[list], sizeof fuser->last_runs[list]);
    fg_call_gate_unlock(&fuser->gate);
    return count;
}

static int32_t executor_events(const fg_executor *executor, fg_event *out, int32_t capacity) {
    fg_fuser *fuser = (fg_fuser *)executor; // the lock changes, nothing else
    fg_call_gate_lock(&fuser->gate);
    int32_t count = fuser->event_count;
    for (int32_t i = 0; i < count && i < capacity; i++) {
        out[i] = fuser->events[i];
    }
    fg_call_gate_unlock(&fuser->gate);
    return count;
}

static const fg_executor_api fuser_api = {
    .struct_size = sizeof fuser_api,
    .name = "fuser",
    .create = executor_create,
    .destroy = executor_destroy,
    .forward = executor_forward,
    .backward = fg_fuser_backward,
    .context_release = fg_context_give,
    .token_release = fg_token_give,
    .step = fg_fuser_step,
    .register_pass = fg_fuser_register_pass,
    .clear = fg_fuser_clear,
    .counters = executor_counters,
    .plan_id = executor_plan_id,
    .flags = executor_flags,
    .plan_runs = executor_plan_runs,
    .events = executor_events,
    .hook = fg_fuser_hook,
};

fg_status fg_fuser_executor_entry(uint32_t abi, const fg_host *host, const fg_executor_api **out) {
    (void)host; // asks for nothing that it offers
    if (abi != FG_EXECUTOR_ABI) {
        return FG_FAIL(FG_STATUS_ABI, "executor ABI: found version %u, expected %u", abi,
                       FG_EXECUTOR_ABI);
    }
    *out = &fuser_api;
    return FG_STATUS_OK;
}
