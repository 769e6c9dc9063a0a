#include "conformance/process/client_call.h"

#include "conformance/executor/passes.h"
#include "conformance/process/protocol_args.h"
#include "contract/alloc.h"

/* What the executor ABI's handles are on this side: numbers of the worker. */
struct fg_executor {
    fg_client *client;
    int64_t id;
};
struct fg_context {
    int64_t id;
};
struct fg_token {
    int64_t id;
};

static json_t *executor_request(const char *name, const fg_executor *executor) {
    return json_pack("{s:s, s:I}", "call", name, "executor", (json_int_t)executor->id);
}

static fg_status handle_allocate(size_t bytes, void **out) {
    *out = fg_alloc(bytes, FG_ALLOC_GENERAL);
    return *out != NULL ? FG_STATUS_OK : FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for a handle");
}

static fg_status remote_create(const fg_problem *problem, const fg_executor_options *options,
                               fg_executor **out) {
    void *made = NULL;
    json_t *reply = NULL;
    int failed = 0;
    *out = NULL;
    FG_TRY(handle_allocate(sizeof(fg_executor), &made));
    fg_executor *executor = made;
    executor->client = options->user;
    json_t *request = fg_client_request("executor_create");
    fg_client_put(request, "problem", fg_json_from_struct(&fg_problem_fields, problem), &failed);
    fg_client_put(request, "capacity", json_integer(options->capacity), &failed);
    fg_client_put(request, "unfused", json_integer(options->unfused), &failed);
    if (options->backend != NULL) {
        fg_client_put(request, "backend", json_string(options->backend->name), &failed);
    }
    fg_status status = fg_client_call(executor->client, fg_client_whole(request, failed), &reply);
    if (status == FG_STATUS_OK) {
        status = fg_client_reply_integer(reply, "executor", &executor->id);
    }
    if (status != FG_STATUS_OK) {
        fg_free(executor);
        return status;
    }
    *out = executor;
    return FG_STATUS_OK;
}

static void remote_destroy(fg_executor *executor) {
    if (executor != NULL) {
        (void)fg_client_call(executor->client, executor_request("executor_destroy", executor),
                             NULL);
        fg_free(executor);
    }
}

/* Puts what a builder made; *failed also when it could not be made, with the builder's status. */
static fg_status put_built(json_t *request, const char *key, fg_status status, json_t *value,
                           int *failed) {
    if (status == FG_STATUS_OK) {
        fg_client_put(request, key, value, failed);
    }
    return status;
}

/* One forward's request but for its tensors. */
static json_t *forward_request(const fg_executor *executor, int32_t mode, const fg_recipe *recipe,
                               uint32_t requires, const fg_token *token_in, int want_token,
                               int *failed) {
    json_t *request = executor_request("executor_forward", executor);
    fg_client_put(request, "mode", json_integer(mode), failed);
    fg_client_put(request, "requires", json_integer(requires), failed);
    fg_client_put(request, "want_token", json_integer(want_token), failed);
    if (recipe != NULL) {
        fg_client_put(request, "recipe", fg_json_from_struct(&fg_recipe_fields, recipe), failed);
    }
    if (token_in != NULL) {
        fg_client_put(request, "token", json_integer(token_in->id), failed);
    }
    return request;
}

/* Reads the handles that a forward's reply may hold; those not given are NULL. */
static fg_status forward_handles(const json_t *reply, fg_context **context, fg_token **token) {
    const json_t *context_id = json_object_get(reply, "context");
    const json_t *token_id = json_object_get(reply, "token");
    void *made = NULL;
    if (context_id != NULL) {
        FG_TRY(handle_allocate(sizeof(fg_context), &made));
        *context = made;
        (*context)->id = json_integer_value(context_id);
    }
    if (token != NULL && token_id != NULL) {
        FG_TRY(handle_allocate(sizeof(fg_token), &made));
        *token = made;
        (*token)->id = json_integer_value(token_id);
    }
    return FG_STATUS_OK;
}

static void remote_context_release(fg_executor *executor, fg_context *context) {
    if (context != NULL) {
        json_t *request =
            json_pack("{s:s, s:I, s:I}", "call", "executor_context_release", "executor",
                      (json_int_t)executor->id, "context", (json_int_t)context->id);
        (void)fg_client_call(executor->client, request, NULL);
        fg_free(context);
    }
}

static void remote_token_release(fg_executor *executor, fg_token *token) {
    if (token != NULL) {
        json_t *request = json_pack("{s:s, s:I, s:I}", "call", "executor_token_release", "executor",
                                    (json_int_t)executor->id, "token", (json_int_t)token->id);
        (void)fg_client_call(executor->client, request, NULL);
        fg_free(token);
    }
}

static fg_status remote_forward(fg_executor *executor, int32_t mode, const fg_recipe *recipe,
                                uint32_t requires, const fg_inputs *inputs, const fg_tensor *y,
                                const fg_token *token_in, fg_token **token_out,
                                fg_context **context) {
    const fg_maps *maps = &executor->client->maps;
    json_t *value = NULL, *reply = NULL;
    int failed = 0;
    fg_context *no_context = NULL;
    fg_context **context_out = context != NULL ? context : &no_context;
    *context_out = NULL;
    if (token_out != NULL) {
        *token_out = NULL;
    }
    json_t *request =
        forward_request(executor, mode, recipe, requires, token_in, token_out != NULL, &failed);
    fg_status made = fg_json_from_inputs(maps, inputs, &value);
    fg_status status = put_built(request, "in", made, value, &failed);
    if (status == FG_STATUS_OK) {
        made = fg_json_from_tensor(maps, "y", y, &value);
        status = put_built(request, "y", made, value, &failed);
    }
    if (status != FG_STATUS_OK) {
        json_decref(request);
        return status;
    }
    FG_TRY(fg_client_call(executor->client, fg_client_whole(request, failed), &reply));
    status = forward_handles(reply, context_out, token_out);
    json_decref(reply);
    if (status != FG_STATUS_OK) {
        remote_context_release(executor, *context_out);
        *context_out = NULL;
    }
    return status;
}

static fg_status remote_backward(fg_executor *executor, fg_context *context, const fg_tensor *dy,
                                 const fg_tensor *const grads[FG_INPUT_SLOTS],
                                 uint32_t accumulate) {
    const fg_maps *maps = &executor->client->maps;
    json_t *value = NULL;
    int failed = 0;
    json_t *request = executor_request("executor_backward", executor);
    if (context != NULL) {
        fg_client_put(request, "context", json_integer(context->id), &failed);
    }
    fg_client_put(request, "accumulate", json_integer(accumulate), &failed);
    fg_status made = fg_json_from_tensor(maps, "dy", dy, &value);
    fg_status status = put_built(request, "dy", made, value, &failed);
    if (status == FG_STATUS_OK) {
        made = fg_json_from_grads(maps, grads, &value);
        status = put_built(request, "grads", made, value, &failed);
    }
    if (status != FG_STATUS_OK) {
        json_decref(request);
        return status;
    }
    return fg_client_call(executor->client, fg_client_whole(request, failed), NULL);
}

static fg_status remote_step(fg_executor *executor) {
    return fg_client_call(executor->client, executor_request("executor_step", executor), NULL);
}

static fg_status remote_register_pass(fg_executor *executor, int32_t kind, fg_pass_fn pass,
                                      void *user) {
    (void)user;
    const char *name = fg_pass_name(pass);
    if (name == NULL) {
        return FG_FAIL(FG_STATUS_INVALID, "found a pass without a name, expected a named one");
    }
    json_t *request =
        json_pack("{s:s, s:I, s:i, s:s}", "call", "executor_register_pass", "executor",
                  (json_int_t)executor->id, "kind", (int)kind, "pass", name);
    return fg_client_call(executor->client, request, NULL);
}

static fg_status remote_clear(fg_executor *executor) {
    return fg_client_call(executor->client, executor_request("executor_clear", executor), NULL);
}

static fg_status remote_counters(const fg_executor *executor, fg_counters *out) {
    json_t *reply = NULL;
    FG_TRY(
        fg_client_call(executor->client, executor_request("executor_counters", executor), &reply));
    return fg_client_reply_struct(reply, "counters", &fg_counters_fields, out);
}

/* A call with one number that answers one number; `failed` where there is no answer. */
static int64_t number_call(const fg_executor *executor, const char *name, const char *key,
                           int32_t argument, int64_t failed) {
    json_t *reply = NULL;
    int64_t number = failed;
    json_t *request = json_pack("{s:s, s:I, s:i}", "call", name, "executor",
                                (json_int_t)executor->id, key, (int)argument);
    if (fg_client_call(executor->client, request, &reply) == FG_STATUS_OK &&
        fg_client_reply_integer(reply, "value", &number) != FG_STATUS_OK) {
        number = failed;
    }
    return number;
}

static int64_t remote_plan_id(const fg_executor *executor, int32_t direction) {
    return number_call(executor, "executor_plan_id", "direction", direction, FG_NOT_GIVEN);
}

static uint32_t remote_flags(const fg_executor *executor, int32_t op) {
    return (uint32_t)number_call(executor, "executor_flags", "op", op, UINT32_MAX);
}

/* Asks for an array of at most `capacity` members; the caller releases *reply. */
static int32_t array_call(const fg_executor *executor, json_t *request, int32_t capacity,
                          json_t **reply, const json_t **array) {
    if (fg_client_call(executor->client, request, reply) != FG_STATUS_OK) {
        return FG_NOT_GIVEN;
    }
    *array = json_object_get(*reply, "values");
    size_t count = json_array_size(*array);
    return count < (size_t)capacity ? (int32_t)count : capacity;
}

static int32_t remote_plan_runs(const fg_executor *executor, int32_t direction,
                                fg_run runs[FG_OP_COUNT]) {
    json_t *reply = NULL;
    const json_t *array = NULL;
    json_t *request = json_pack("{s:s, s:I, s:i}", "call", "executor_plan_runs", "executor",
                                (json_int_t)executor->id, "direction", (int)direction);
    int32_t count = array_call(executor, request, FG_OP_COUNT, &reply, &array);
    for (int32_t i = 0; i < count; i++) {
        if (fg_json_to_struct(json_array_get(array, (size_t)i), &fg_run_fields, &runs[i]) !=
            FG_STATUS_OK) {
            count = FG_NOT_GIVEN;
        }
    }
    json_decref(reply);
    return count;
}

static int32_t remote_events(const fg_executor *executor, fg_event *out, int32_t capacity) {
    json_t *reply = NULL;
    const json_t *array = NULL;
    int32_t count = array_call(executor, executor_request("executor_events", executor), capacity,
                               &reply, &array);
    for (int32_t i = 0; i < count; i++) {
        out[i] = (fg_event)json_integer_value(json_array_get(array, (size_t)i));
    }
    json_decref(reply);
    return count;
}

static fg_status remote_hook(fg_executor *executor, const char *name, int64_t value) {
    json_t *request = json_pack("{s:s, s:I, s:s, s:I}", "call", "executor_hook", "executor",
                                (json_int_t)executor->id, "name", name, "value", (json_int_t)value);
    return fg_client_call(executor->client, request, NULL);
}

const fg_executor_api *fg_client_executor(void) {
    static const fg_executor_api api = {
        .struct_size = sizeof api,
        .name = "worker",
        .create = remote_create,
        .destroy = remote_destroy,
        .forward = remote_forward,
        .backward = remote_backward,
        .context_release = remote_context_release,
        .token_release = remote_token_release,
        .step = remote_step,
        .register_pass = remote_register_pass,
        .clear = remote_clear,
        .counters = remote_counters,
        .plan_id = remote_plan_id,
        .flags = remote_flags,
        .plan_runs = remote_plan_runs,
        .events = remote_events,
        .hook = remote_hook,
    };
    return &api;
}
