#include "fuser/fuser_call.h"
#include "contract/alloc.h"
#include "fuser/call_check.h"
#include "fuser/plan_choice.h"
#include <string.h>

/* One call while it is in flight. */
typedef struct flight {
    fg_fuser *fuser;
    fg_fuser_device *device;
    fg_plan *plan;
    fg_recipe_state *state;
    fg_trail trail;
    int64_t stream_lookups;
} flight;

static fg_context *take_context(fg_fuser *fuser) {
    fg_call_gate_lock(&fuser->gate);
    fg_context *context = fuser->idle_contexts;
    if (context != NULL) {
        fuser->idle_contexts = context->next;
    }
    fg_call_gate_unlock(&fuser->gate);
    return context != NULL ? context : fg_alloc(sizeof *context, FG_ALLOC_PLAN);
}

static fg_token *take_token(fg_fuser *fuser) {
    fg_call_gate_lock(&fuser->gate);
    fg_token *token = fuser->idle_tokens;
    if (token != NULL) {
        fuser->idle_tokens = token->next;
    }
    fg_call_gate_unlock(&fuser->gate);
    return token != NULL ? token : fg_alloc(sizeof *token, FG_ALLOC_PLAN);
}

void fg_context_give(fg_fuser *fuser, fg_context *context) {
    if (context == NULL) {
        return;
    }
    if (context->device != NULL) {
        fg_kept_release(&context->kept, fuser->devices.backend, context->device, context->stream);
    }
    fg_fuser_drop(fuser, context->plan, context->state);
    *context = (fg_context){0};
    fg_call_gate_lock(&fuser->gate);
    context->next = fuser->idle_contexts;
    fuser->idle_contexts = context;
    fg_call_gate_unlock(&fuser->gate);
}

void fg_token_give(fg_fuser *fuser, fg_token *token) {
    if (token == NULL) {
        return;
    }
    fg_fuser_drop(fuser, NULL, token->state);
    token->state = NULL;
    fg_call_gate_lock(&fuser->gate);
    token->next = fuser->idle_tokens;
    fuser->idle_tokens = token;
    fg_call_gate_unlock(&fuser->gate);
}

void fg_fuser_free_idle(fg_fuser *fuser) {
    while (fuser->idle_contexts != NULL) {
        fg_context *context = fuser->idle_contexts;
        fuser->idle_contexts = context->next;
        fg_free(context);
    }
    while (fuser->idle_tokens != NULL) {
        fg_token *token = fuser->idle_tokens;
        fuser->idle_tokens = token->next;
        fg_free(token);
    }
}

static fg_stream find_stream(flight *call) {
    fg_trail_add(&call->trail, FG_EVENT_STREAM);
    call->stream_lookups++;
    return call->fuser->stream_for(call->fuser->user, call->device->index);
}

/* With the lock held: what plan_id and plan_runs say from now on. */
static void publish_list(fg_fuser *fuser, const fg_plan *plan, int32_t direction) {
    const fg_plan_list *list = &plan->lists[direction];
    fuser->last_serials[direction] = list->serial;
    fuser->last_run_counts[direction] = list->count;
    for (int32_t i = 0; i < list->count; i++) {
        fuser->last_runs[direction][i] = plan->entries[list->entries[i]].run;
    }
}

static void publish_trail(const flight *call) {
    fg_fuser *fuser = call->fuser;
    memcpy(fuser->events, call->trail.events, sizeof fuser->events);
    fuser->event_count = call->trail.count;
    fuser->counters.stream_lookups += call->stream_lookups;
}

static void copy_inputs(fg_context *context, const fg_inputs *in, uint32_t read) {
    context->in = *in;
    context->in.struct_size = sizeof context->in;
    for (int32_t i = 0; i < FG_INPUT_SLOTS; i++) {
        context->in.inputs[i] = NULL;
        if (read & FG_BIT(i)) {
            context->views[i] = *in->inputs[i];
            context->in.inputs[i] = &context->views[i];
        }
    }
    context->splits = *in->splits;
    context->in.splits = &context->splits;
}

/* Runs the kernels of a forward that is in flight. */
static fg_status execute_forward(flight *call, const fg_inputs *in, const fg_tensor *y,
                                 fg_context *context) {
    fg_fuser *fuser = call->fuser;
    fg_quant_views views;
    fg_plan_call args = {.plan = call->plan,
                         .problem = &fuser->problem,
                         .table = &fuser->devices,
                         .device = call->device,
                         .stream = find_stream(call),
                         .in = in};
    FG_TRY(fg_recipe_state_quant(call->state, &fuser->devices, call->device, args.stream,
                                 context != NULL, &views, &args.quant));
    fg_trail_add(&call->trail, FG_EVENT_EXECUTE);
    FG_TRY(fg_plan_forward(&args, y, context != NULL ? &context->kept : NULL));
    if (context != NULL) {
        context->stream = args.stream;
        fg_trail_add(&call->trail, FG_EVENT_SAVE);
    }
    return FG_STATUS_OK;
}

/* Ends a forward that was in flight: what it held goes to the context or is dropped. */
static void finish_forward(flight *call, const fg_plan_request *request, fg_context *context) {
    fg_fuser *fuser = call->fuser;
    fg_call_gate_lock(&fuser->gate);
    publish_trail(call);
    publish_list(fuser, call->plan, FG_FORWARD);
    publish_list(fuser, call->plan, FG_BACKWARD);
    for (int32_t op = 0; op < fuser->ops.count && request->mode == FG_GRAD; op++) {
        fuser->flags[op] = fg_op_flags(&fuser->ops, op, request->boundary, request->requires);
    }
    fg_call_gate_leave(&fuser->gate);
    fg_call_gate_unlock(&fuser->gate);
    if (context != NULL) {
        context->plan = call->plan;
        context->state = call->state;
        context->device = call->device;
        context->requires = request->requires;
    } else {
        fg_fuser_drop(fuser, call->plan, call->state);
    }
}

/* Takes what a forward may have to hand out, so that nothing fails after its kernels ran. */
static fg_status take_results(fg_fuser *fuser, int saves, int has_token, fg_context **context,
                              fg_token **token) {
    *context = saves ? take_context(fuser) : NULL;
    *token = has_token ? take_token(fuser) : NULL;
    if ((saves && *context == NULL) || (has_token && *token == NULL)) {
        fg_context_give(fuser, *context);
        fg_token_give(fuser, *token);
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected a context of %zu bytes",
                       sizeof **context);
    }
    return FG_STATUS_OK;
}

/* With the call in flight: the token hands its state in, or takes this call's along. */
static void exchange_state(flight *call, const fg_token *token_in, fg_token *token) {
    fg_fuser *fuser = call->fuser;
    fg_recipe_state *unused = NULL;
    fg_call_gate_lock(&fuser->gate);
    if (token_in != NULL) {
        unused = call->state;
        call->state = token_in->state;
        call->state->refs++;
    }
    if (token != NULL) {
        token->state = call->state;
        call->state->refs++;
    }
    fg_call_gate_unlock(&fuser->gate);
    fg_fuser_drop(fuser, NULL, unused);
}

/* Chooses a plan and runs it; on success the call's references are the context's, if any. */
static fg_status fly_forward(flight *call, const fg_plan_request *request, const fg_inputs *in,
                             const fg_tensor *y, const fg_token *token_in, fg_token *token,
                             fg_context *context) {
    fg_fuser *fuser = call->fuser;
    fg_plan_choice choice = {0};
    fg_status status = fg_plan_choose(fuser, request, &call->trail, &choice);
    if (status != FG_STATUS_OK) {
        fg_call_gate_lock(&fuser->gate);
        publish_trail(call);
        fg_call_gate_unlock(&fuser->gate);
        return status;
    }
    call->plan = choice.plan;
    call->state = choice.state;
    if (token_in != NULL || token != NULL) {
        exchange_state(call, token_in, token);
    }
    status = execute_forward(call, in, y, context);
    finish_forward(call, request, status == FG_STATUS_OK ? context : NULL);
    return status;
}

static fg_status check_token(const fg_recipe *recipe, const fg_token *token) {
    fg_state_key lasting;
    fg_state_key_lasting(recipe, &lasting);
    if (!fg_state_key_equal(&lasting, &token->state->lasting)) {
        return FG_FAIL(FG_STATUS_INVALID,
                       "found a token of another recipe, expected one of recipe %s with the same "
                       "options",
                       fg_recipe_kind_name((fg_recipe_kind)recipe->kind));
    }
    return FG_STATUS_OK;
}

fg_status fg_fuser_forward(fg_fuser *fuser, int32_t mode, const fg_recipe *recipe,
                           uint32_t requires, const fg_inputs *inputs, const fg_tensor *y,
                           const fg_token *token_in, fg_token **token_out, fg_context **context) {
    fg_context *saved = NULL;
    fg_token *token = NULL;
    flight call = {.fuser = fuser};
    fg_plan_request request = {.mode = mode, .requires = requires, .recipe = recipe};
    int32_t index = 0;
    FG_TRY(fg_forward_check(fuser, mode, requires, inputs, y, &index));
    if (token_in != NULL) {
        FG_TRY(check_token(recipe, token_in));
    }
    FG_TRY(fg_device_table_get(&fuser->devices, index, &call.device));
    request.device = call.device;
    request.boundary = fg_op_boundary(&fuser->ops, mode, requires);
    const int saves = request.boundary < fuser->ops.count;
    if (saves && context == NULL) {
        return FG_FAIL(FG_STATUS_INVALID, "found no place for a context, expected one");
    }
    FG_TRY(take_results(fuser, saves, token_out != NULL && mode == FG_NO_GRAD, &saved, &token));
    if (saved != NULL) {
        copy_inputs(saved, inputs, fuser->ops.inputs);
    }
    fg_status status = fly_forward(&call, &request, inputs, y, token_in, token, saved);
    if (status != FG_STATUS_OK) {
        fg_context_give(fuser, saved);
        fg_token_give(fuser, token);
        return fg_trace(status, "fg_fuser_forward", __FILE__, __LINE__);
    }
    if (context != NULL) {
        *context = saved;
    }
    if (token_out != NULL) {
        *token_out = token;
    }
    return FG_STATUS_OK;
}

/* Runs the kernels of a backward that is in flight. */
static fg_status execute_backward(flight *call, fg_context *context,
                                  const fg_plan_gradients *gradients) {
    fg_fuser *fuser = call->fuser;
    fg_quant_views views;
    fg_plan_call args = {.plan = context->plan,
                         .problem = &fuser->problem,
                         .table = &fuser->devices,
                         .device = context->device,
                         .stream = find_stream(call),
                         .in = &context->in};
    context->stream = args.stream;
    FG_TRY(fg_recipe_state_quant(context->state, &fuser->devices, context->device, args.stream, 1,
                                 &views, &args.quant));
    fg_trail_add(&call->trail, FG_EVENT_EXECUTE);
    return fg_plan_backward(&args, &context->kept, gradients);
}

fg_status fg_fuser_backward(fg_fuser *fuser, fg_context *context, const fg_tensor *dy,
                            const fg_tensor *const grads[FG_INPUT_SLOTS], uint32_t accumulate) {
    if (context == NULL) {
        return FG_FAIL(FG_STATUS_INVALID, "found no context, expected a forward's");
    }
    FG_TRY(
        fg_backward_check(fuser, context->requires, context->device->index, dy, grads, accumulate));
    flight call = {.fuser = fuser, .device = context->device};
    const fg_plan_gradients gradients = {.requires = context->requires,
                                         .accumulate = accumulate & context->requires,
                                         .output = dy,
                                         .grads = grads};
    fg_call_gate_lock(&fuser->gate);
    while (fuser->gate.paused) {
        fg_call_gate_sleep(&fuser->gate);
    }
    fuser->gate.in_flight++;
    fg_call_gate_unlock(&fuser->gate);
    fg_status status = execute_backward(&call, context, &gradients);
    fg_call_gate_lock(&fuser->gate);
    publish_trail(&call);
    publish_list(fuser, context->plan, FG_BACKWARD);
    fg_call_gate_leave(&fuser->gate);
    fg_call_gate_unlock(&fuser->gate);
    return status;
}
