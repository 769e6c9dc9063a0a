#include "conformance/worker/executor_calls.h"

#include "conformance/process/protocol_fields.h"
#include "contract/alloc.h"
#include <string.h>

/* A context with the arguments of its forward, which stay as they were until it is released. */
typedef struct held_context {
    fg_context *context;
    fg_call_storage inputs;
} held_context;

/* Gives a new stream at each look-up. NULL where the device or memory is not there. */
static fg_stream stream_for(void *user, int32_t index) {
    fg_held_executor *held = user;
    fg_session_device *device = NULL;
    double entered = held->session->entered;
    fg_stream stream = NULL;
    held->session->stream_lookups++;
    fg_status status = fg_session_device_of(held->session, held->backend, index, &device);
    held->session->entered = entered;
    if (status == FG_STATUS_OK && held->stream_count == held->stream_capacity) {
        int64_t capacity = held->stream_capacity == 0 ? 16 : 2 * held->stream_capacity;
        fg_held_stream *streams =
            fg_realloc(held->streams, (size_t)capacity * sizeof *streams, FG_ALLOC_GENERAL);
        if (streams == NULL) {
            return NULL;
        }
        held->streams = streams;
        held->stream_capacity = capacity;
    }
    if (status == FG_STATUS_OK &&
        held->backend->api.stream_create(device->device, &stream) == FG_STATUS_OK) {
        held->streams[held->stream_count++] = (fg_held_stream){device, stream};
    }
    return stream;
}

/* Waits for the streams handed out since the last time. */
static fg_status streams_sync(fg_held_executor *held) {
    fg_status first = FG_STATUS_OK;
    for (; held->synced < held->stream_count; held->synced++) {
        const fg_held_stream *at = &held->streams[held->synced];
        fg_status status = held->backend->api.stream_sync(at->device->device, at->stream);
        if (first == FG_STATUS_OK) {
            first = fg_session_backend_status(held->backend, at->device, status);
        }
    }
    return first;
}

fg_status fg_executor_status(fg_status status) {
    return fg_session_status("the executor", status, fg_message());
}

fg_status fg_request_executor(fg_session *session, const json_t *request, fg_held_executor **out) {
    int64_t id = 0;
    void *item = NULL;
    FG_TRY(fg_json_integer(request, "executor", &id));
    FG_TRY(fg_handles_get(&session->executors, "executor", id, &item));
    *out = item;
    return FG_STATUS_OK;
}

static fg_status call_create(fg_session *session, const json_t *request, json_t *reply) {
    const char *name = json_string_value(json_object_get(request, "backend"));
    fg_problem problem;
    fg_session_backend *backend = &session->backends[0];
    fg_executor_options options = {
        .struct_size = sizeof options, .host = &session->host, .stream_for = stream_for};
    int64_t id = 0;
    if (session->executor.create == NULL) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "found a call of an executor before one was loaded");
    }
    if (name != NULL) {
        FG_TRY(fg_session_backend_of(session, name, &backend));
    }
    FG_TRY(fg_json_to_struct(json_object_get(request, "problem"), &fg_problem_fields, &problem));
    FG_TRY(fg_request_int32(request, "capacity", 0, &options.capacity));
    FG_TRY(fg_request_int32(request, "unfused", 0, &options.unfused));
    fg_held_executor *held = fg_alloc(sizeof *held, FG_ALLOC_GENERAL);
    if (held == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for an executor");
    }
    *held = (fg_held_executor){.session = session, .backend = backend};
    options.backend = &backend->api;
    options.user = held;
    fg_session_enter(session);
    fg_status status = session->executor.create(&problem, &options, &held->executor);
    fg_session_leave(session);
    status = fg_executor_status(status);
    if (status == FG_STATUS_OK) {
        status = fg_handles_add(&session->executors, held, &id);
        if (status != FG_STATUS_OK) {
            session->executor.destroy(held->executor);
        }
    }
    if (status != FG_STATUS_OK) {
        fg_free(held);
        return status;
    }
    return fg_reply_add(reply, "executor", json_integer(id));
}

static void context_free(fg_held_executor *held, int64_t id) {
    held_context *context = held->contexts.items[id - 1];
    if (context != NULL) {
        held->session->executor.context_release(held->executor, context->context);
        fg_call_storage_free(&context->inputs);
        fg_free(context);
        fg_handles_drop(&held->contexts, id);
    }
}

static void token_free(fg_held_executor *held, int64_t id) {
    fg_token *token = held->tokens.items[id - 1];
    if (token != NULL) {
        held->session->executor.token_release(held->executor, token);
        fg_handles_drop(&held->tokens, id);
    }
}

static void executor_free(fg_held_executor *held) {
    for (int64_t c = 1; c <= held->contexts.count; c++) {
        context_free(held, c);
    }
    for (int64_t t = 1; t <= held->tokens.count; t++) {
        token_free(held, t);
    }
    held->session->executor.destroy(held->executor);
    for (int64_t s = 0; s < held->stream_count; s++) {
        const fg_held_stream *at = &held->streams[s];
        held->backend->api.stream_destroy(at->device->device, at->stream);
    }
    fg_handles_free(&held->contexts);
    fg_handles_free(&held->tokens);
    fg_free(held->streams);
    fg_free(held);
}

static fg_status call_destroy(fg_session *session, const json_t *request, json_t *reply) {
    (void)reply;
    int64_t id = 0;
    fg_held_executor *held = NULL;
    FG_TRY(fg_request_executor(session, request, &held));
    FG_TRY(fg_json_integer(request, "executor", &id));
    fg_session_enter(session);
    executor_free(held);
    fg_session_leave(session);
    fg_handles_drop(&session->executors, id);
    return FG_STATUS_OK;
}

void fg_executors_destroy(fg_session *session) {
    for (int64_t e = 0; e < session->executors.count; e++) {
        if (session->executors.items[e] != NULL) {
            executor_free(session->executors.items[e]);
        }
    }
    fg_handles_free(&session->executors);
}

/* The device whose memory a call's operands lie in: the first weight's, as an executor takes it. */
static fg_status operand_device(fg_held_executor *held, const json_t *inputs,
                                fg_session_device **out) {
    int32_t index = -1;
    const json_t *weight = json_object_get(inputs, fg_input_name(FG_W1));
    FG_TRY(fg_request_int32(weight, "device", -1, &index));
    /* An executor must find out itself that a device does not exist. */
    if (fg_session_device_of(held->session, held->backend, index, out) != FG_STATUS_OK) {
        return fg_session_device_of(held->session, held->backend, -1, out);
    }
    return FG_STATUS_OK;
}

/* What one forward of an executor is called with. */
typedef struct forward_call {
    int32_t mode, want_token;
    int64_t requires;
    const fg_recipe *recipe_given;
    const fg_tensor *y;
    fg_token *token_in, *token;
    fg_context *context;
} forward_call;

static fg_status forward_read(fg_held_executor *held, const json_t *request,
                              fg_call_storage *storage, forward_call *call) {
    const json_t *recipe = json_object_get(request, "recipe");
    const json_t *token = json_object_get(request, "token");
    FG_TRY(fg_request_int32(request, "mode", FG_NO_GRAD, &call->mode));
    FG_TRY(fg_request_int32(request, "want_token", 0, &call->want_token));
    FG_TRY(fg_json_integer(request, "requires", &call->requires));
    if (recipe != NULL) {
        // Frameworks make a new recipe every iteration: identity must not lie in the address.
        fg_recipe *object = &held->recipes[held->forwards++ % 3];
        *object = (fg_recipe){0};
        FG_TRY(fg_json_to_struct(recipe, &fg_recipe_fields, object));
        call->recipe_given = object;
    }
    if (token != NULL) {
        void *item = NULL;
        FG_TRY(fg_handles_get(&held->tokens, "token", json_integer_value(token), &item));
        call->token_in = item;
    }
    FG_TRY(fg_json_to_inputs(json_object_get(request, "in"), storage));
    return fg_json_to_tensor(json_object_get(request, "y"), "y", storage, &call->y);
}

static fg_status forward_run(fg_held_executor *held, const fg_call_storage *storage,
                             forward_call *call) {
    fg_session *session = held->session;
    fg_session_enter(session);
    fg_status status = session->executor.forward(
        held->executor, call->mode, call->recipe_given, (uint32_t)call->requires, &storage->in,
        call->y, call->token_in, call->want_token ? &call->token : NULL, &call->context);
    status = fg_executor_status(status);
    fg_status synced = streams_sync(held);
    fg_session_leave(session);
    return status != FG_STATUS_OK ? status : synced;
}

/* Keeps what a forward gave back, under numbers; `kept` becomes the context's. */
static fg_status forward_keep(fg_held_executor *held, held_context *kept, forward_call *call,
                              json_t *reply) {
    int64_t id = 0;
    if (call->token != NULL) {
        FG_TRY(fg_handles_add(&held->tokens, call->token, &id));
        FG_TRY(fg_reply_add(reply, "token", json_integer(id)));
    }
    if (call->context != NULL) {
        kept->context = call->context;
        FG_TRY(fg_handles_add(&held->contexts, kept, &id));
        fg_status status = fg_reply_add(reply, "context", json_integer(id));
        if (status != FG_STATUS_OK) {
            fg_handles_drop(&held->contexts, id);
            return status;
        }
    }
    return FG_STATUS_OK;
}

static fg_status forward_all(fg_held_executor *held, const json_t *request, held_context *kept,
                             forward_call *call) {
    fg_session *session = held->session;
    fg_session_device *device = NULL;
    FG_TRY(operand_device(held, json_object_get(request, "in"), &device));
    FG_TRY(fg_session_maps_in(session, held->backend, device, &kept->inputs.maps));
    FG_TRY(forward_read(held, request, &kept->inputs, call));
    FG_TRY(fg_session_addresses_in(held->backend, device, &kept->inputs));
    fg_status status = forward_run(held, &kept->inputs, call);
    fg_status copied = fg_session_maps_out(session, held->backend, device);
    return status != FG_STATUS_OK ? status : copied;
}

static fg_status call_forward(fg_session *session, const json_t *request, json_t *reply) {
    fg_held_executor *held = NULL;
    forward_call call = {0};
    FG_TRY(fg_request_executor(session, request, &held));
    held_context *kept = fg_alloc(sizeof *kept, FG_ALLOC_GENERAL);
    if (kept == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for a context");
    }
    fg_status status = forward_all(held, request, kept, &call);
    if (status == FG_STATUS_OK) {
        status = forward_keep(held, kept, &call, reply);
    }
    if (status != FG_STATUS_OK && call.context != NULL) {
        session->executor.context_release(held->executor, call.context);
    }
    if (status != FG_STATUS_OK || call.context == NULL) {
        fg_call_storage_free(&kept->inputs);
        fg_free(kept);
    }
    return status;
}

static fg_status request_context(fg_held_executor *held, const json_t *request, int64_t *id,
                                 held_context **out) {
    void *item = NULL;
    *out = NULL;
    if (json_object_get(request, "context") == NULL) {
        return FG_STATUS_OK;
    }
    FG_TRY(fg_json_integer(request, "context", id));
    FG_TRY(fg_handles_get(&held->contexts, "context", *id, &item));
    *out = item;
    return FG_STATUS_OK;
}

static fg_status backward_run(fg_held_executor *held, const json_t *request, held_context *context,
                              fg_call_storage *storage) {
    fg_session *session = held->session;
    const fg_tensor *dy = NULL, *grads[FG_INPUT_SLOTS] = {NULL};
    int64_t accumulate = 0;
    FG_TRY(fg_json_integer(request, "accumulate", &accumulate));
    FG_TRY(fg_json_to_tensor(json_object_get(request, "dy"), "dy", storage, &dy));
    FG_TRY(fg_json_to_grads(json_object_get(request, "grads"), storage, grads));
    fg_session_enter(session);
    fg_status status = session->executor.backward(
        held->executor, context != NULL ? context->context : NULL, dy, grads, (uint32_t)accumulate);
    status = fg_executor_status(status);
    fg_status synced = streams_sync(held);
    fg_session_leave(session);
    return status != FG_STATUS_OK ? status : synced;
}

static fg_status call_backward(fg_session *session, const json_t *request, json_t *reply) {
    (void)reply;
    fg_held_executor *held = NULL;
    held_context *context = NULL;
    fg_session_device *device = NULL;
    fg_call_storage storage = {0};
    int64_t id = 0;
    FG_TRY(fg_request_executor(session, request, &held));
    FG_TRY(request_context(held, request, &id, &context));
    int32_t index = context != NULL && context->inputs.in.inputs[FG_W1] != NULL
                        ? context->inputs.in.inputs[FG_W1]->device
                        : -1;
    FG_TRY(fg_session_device_of(session, held->backend, index, &device));
    FG_TRY(fg_session_maps_in(session, held->backend, device, &storage.maps));
    fg_status status = backward_run(held, request, context, &storage);
    fg_status copied = fg_session_maps_out(session, held->backend, device);
    fg_call_storage_free(&storage);
    return status != FG_STATUS_OK ? status : copied;
}

static fg_status call_context_release(fg_session *session, const json_t *request, json_t *reply) {
    (void)reply;
    fg_held_executor *held = NULL;
    held_context *context = NULL;
    int64_t id = 0;
    FG_TRY(fg_request_executor(session, request, &held));
    FG_TRY(request_context(held, request, &id, &context));
    if (context != NULL) {
        fg_session_enter(session);
        context_free(held, id);
        fg_session_leave(session);
    }
    return FG_STATUS_OK;
}

static fg_status call_token_release(fg_session *session, const json_t *request, json_t *reply) {
    (void)reply;
    fg_held_executor *held = NULL;
    int64_t id = 0;
    void *token = NULL;
    FG_TRY(fg_request_executor(session, request, &held));
    FG_TRY(fg_json_integer(request, "token", &id));
    FG_TRY(fg_handles_get(&held->tokens, "token", id, &token));
    fg_session_enter(session);
    token_free(held, id);
    fg_session_leave(session);
    return FG_STATUS_OK;
}

const fg_worker_call fg_executor_calls[] = {
    {"executor_create", call_create},
    {"executor_destroy", call_destroy},
    {"executor_forward", call_forward},
    {"executor_backward", call_backward},
    {"executor_context_release", call_context_release},
    {"executor_token_release", call_token_release},
    {NULL, NULL},
};
