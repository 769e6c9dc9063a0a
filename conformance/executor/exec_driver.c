#include "conformance/executor/exec_driver.h"
#include "conformance/executor/exec_watch.h"
#include "conformance/executor/passes.h"
#include "contract/alloc.h"
#include <string.h>

#define OBJECTS 3

fg_fault fg_exec_fault(fg_status status) {
    return status == FG_STATUS_CRASH     ? FG_FAULT_CRASH
           : status == FG_STATUS_TIMEOUT ? FG_FAULT_TIMEOUT
                                         : FG_FAULT_CONTRACT;
}

uint32_t fg_exec_accumulate(const fg_problem *problem, uint32_t requires) {
    return problem->accumulate ? requires & (FG_BIT(FG_W1) | FG_BIT(FG_W2)) : 0u;
}

static void place_tensors(fg_exec_data *data, fg_exec_out *out, int32_t device) {
    fg_exec_data_device(data, device);
    fg_exec_out_device(out, device);
}

void fg_driver_use(fg_driver *driver, fg_exec_data *data, fg_exec_out *out,
                   const fg_exec_out *expected) {
    driver->data = data;
    driver->out = out;
    driver->expected = expected;
    place_tensors(data, out, driver->device);
}

static fg_status make_executor(fg_driver *driver, int32_t capacity) {
    fg_exec_env *env = driver->env;
    fg_executor_options options = env->options;
    options.capacity = capacity;
    FG_TRY(env->outside(env, &driver->before));
    fg_status status = env->api->create(&driver->data->value.problem, &options, &driver->executor);
    if (status) {
        driver->executor = NULL;
        fg_watch_status(driver, "create", status);
    }
    fg_model_start(&driver->model, &driver->data->value.problem, capacity);
    driver->flags_known = 0;
    driver->id_count = 0;
    return FG_STATUS_OK;
}

static void drop_token(fg_driver *driver) {
    if (driver->token) {
        driver->env->api->token_release(driver->executor, driver->token);
        driver->token = NULL;
    }
}

static void drop_executor(fg_driver *driver) {
    for (int32_t i = 0; i < driver->context_count; i++) {
        driver->env->api->context_release(driver->executor, driver->contexts[i].context);
    }
    driver->context_count = 0;
    drop_token(driver);
    if (driver->executor) {
        driver->env->api->destroy(driver->executor);
        driver->executor = NULL;
    }
}

fg_status fg_driver_open(fg_exec_env *env, fg_exec_data *data, fg_exec_out *out,
                         const fg_exec_out *expected, fg_driver *driver) {
    *driver = (fg_driver){.env = env,
                          .data = data,
                          .out = out,
                          .expected = expected,
                          .watch = FG_WATCH_ALL,
                          .recipe = fg_recipe_default(FG_RECIPE_NONE),
                          .requires = out->has & ~FG_EXEC_Y,
                          .device = -1};
    driver->objects = fg_alloc(OBJECTS * sizeof *driver->objects, FG_ALLOC_GENERAL);
    if (!driver->objects) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected %zu bytes",
                       OBJECTS * sizeof *driver->objects);
    }
    place_tensors(driver->data, driver->out, driver->device);
    fg_status status = make_executor(driver, 0);
    if (status) {
        fg_driver_close(driver);
    }
    return status;
}

void fg_driver_close(fg_driver *driver) {
    drop_executor(driver);
    place_tensors(driver->data, driver->out, -1);
    fg_free(driver->objects);
    fg_free(driver->ids);
    driver->objects = NULL;
    driver->ids = NULL;
    driver->id_count = 0;
    driver->id_capacity = 0;
}

/* The recipe in another object than the last two calls had, with fields that its kind does not use
 * changed: neither may matter. */
static const fg_recipe *new_object(fg_driver *driver) {
    int32_t call = (int32_t)(driver->calls % 1000);
    fg_recipe *object = &driver->objects[driver->calls++ % OBJECTS];
    *object = driver->recipe;
    if (object->kind != FG_RECIPE_DELAYED) {
        object->algo = call % 2;
        object->margin = call % 5;
        object->history = 2 + call;
    }
    if (object->kind != FG_RECIPE_CURRENT) {
        object->power_of_two = call % 2;
        object->epsilon = (float)call;
    }
    if (object->kind == FG_RECIPE_NONE) {
        object->format = call % 2;
    }
    return object;
}

static fg_status keep_context(fg_driver *driver, fg_context *context) {
    if (driver->context_count == FG_DRIVER_CONTEXTS) {
        driver->env->api->context_release(driver->executor, driver->contexts[0].context);
        memmove(driver->contexts, driver->contexts + 1,
                (FG_DRIVER_CONTEXTS - 1) * sizeof driver->contexts[0]);
        driver->context_count--;
    }
    fg_driver_context *kept = &driver->contexts[driver->context_count];
    *kept = (fg_driver_context){.context = context,
                                .data = driver->data,
                                .out = driver->out,
                                .expected = driver->expected,
                                .requires = driver->requires,
                                .device = driver->device};
    driver->context_count++;
    return fg_watch_kernel(driver, &kept->kernel);
}

static fg_status do_forward(fg_driver *driver, int32_t mode) {
    const fg_executor_api *api = driver->env->api;
    fg_context *context = NULL;
    fg_exec_out_poison(driver->out, FG_EXEC_Y, 0);
    driver->call = fg_model_forward(&driver->model, mode, &driver->recipe, driver->requires);
    fg_token **token_out = NULL;
    if (driver->tokens && mode == FG_NO_GRAD) {
        drop_token(driver);
        token_out = &driver->token;
    }
    fg_status status = api->forward(driver->executor, mode, new_object(driver), driver->requires,
                                    &driver->data->in, &driver->out->tensors[FG_INPUTS],
                                    mode == FG_GRAD ? driver->token : NULL, token_out, &context);
    if (mode == FG_GRAD) {
        drop_token(driver);
    }
    if (!driver->call.plan) {
        if (status != FG_STATUS_BUILD) {
            fg_watch_note(driver, fg_exec_fault(status), "forward: expected BUILD, got %s",
                          fg_status_name(status));
        }
        if (!status && context) {
            api->context_release(driver->executor, context);
        }
        return FG_STATUS_OK;
    }
    if (status) {
        fg_watch_status(driver, "forward", status);
        return FG_STATUS_OK;
    }
    int wanted = driver->call.boundary < FG_OP_COUNT;
    if (wanted != (context != NULL)) {
        fg_watch_note(driver, FG_FAULT_CONTRACT, "context: expected %s, got %s",
                      wanted ? "one" : "none", context ? "one" : "none");
    }
    if (context) {
        FG_TRY(keep_context(driver, context));
    }
    return fg_watch_forward(driver);
}

static fg_status do_backward(fg_driver *driver) {
    const fg_executor_api *api = driver->env->api;
    if (!driver->context_count) {
        return FG_STATUS_OK;
    }
    fg_driver_context done = driver->contexts[0];
    driver->context_count--;
    memmove(driver->contexts, driver->contexts + 1,
            (size_t)driver->context_count * sizeof driver->contexts[0]);
    const fg_tensor *grads[FG_INPUT_SLOTS];
    uint32_t accumulate = fg_exec_accumulate(&done.data->value.problem, done.requires);
    fg_exec_out_poison(done.out, done.out->has & ~FG_EXEC_Y, accumulate);
    fg_exec_out_grads(done.out, done.requires, grads);
    // A context stays on the device of its forward.
    place_tensors(done.data, done.out, done.device);
    fg_status status =
        api->backward(driver->executor, done.context, &done.data->dy, grads, accumulate);
    place_tensors(done.data, done.out, driver->device);
    fg_model_backward(&driver->model);
    fg_watch_status(driver, "backward", status);
    fg_status watched = status ? FG_STATUS_OK : fg_watch_backward(driver, &done);
    api->context_release(driver->executor, done.context);
    return watched;
}

void fg_driver_again(fg_driver *driver, fg_exec_out *out) {
    const fg_tensor *grads[FG_INPUT_SLOTS];
    if (driver->failure[0] || !driver->context_count) {
        return;
    }
    fg_driver_context done = driver->contexts[driver->context_count - 1];
    done.out = out;
    uint32_t accumulate = fg_exec_accumulate(&done.data->value.problem, done.requires);
    fg_exec_out_poison(out, out->has & ~FG_EXEC_Y, accumulate);
    fg_exec_out_grads(out, done.requires, grads);
    place_tensors(done.data, out, done.device);
    fg_status status = driver->env->api->backward(driver->executor, done.context, &done.data->dy,
                                                  grads, accumulate);
    place_tensors(done.data, driver->out, driver->device);
    fg_model_backward(&driver->model);
    fg_watch_status(driver, "another backward", status);
    if (!status) {
        fg_watch_gradients(driver, &done);
    }
}

/* Forwards with other boundaries than the last call's, until the model has forgotten its plan. */
static fg_status do_evict(fg_driver *driver) {
    static const uint32_t requires_of[FG_OP_COUNT] = {FG_BIT(FG_X), FG_BIT(FG_P), FG_BIT(FG_W2)};
    uint32_t requires = driver->requires;
    int32_t boundary = driver->call.boundary;
    int64_t evictions = driver->model.expected.evictions;
    fg_model_plan *last = driver->call.plan;
    int64_t used = last ? last->used : 0;
    fg_status status = FG_STATUS_OK;
    int gone = !last;
    for (int32_t b = 0; b <= FG_OP_COUNT && !gone && !status; b++) {
        if (b != boundary) {
            driver->requires = b < FG_OP_COUNT ? requires_of[b] & driver->model.inputs : 0u;
            status = do_forward(driver, b < FG_OP_COUNT ? FG_GRAD : FG_NO_GRAD);
            gone = driver->model.expected.evictions > evictions && last->used != used;
        }
    }
    driver->requires = requires;
    if (!status && !gone) {
        return FG_FAIL(FG_STATUS_INVALID, "evict: found capacity %d, expected 1 to 3",
                       driver->model.capacity);
    }
    return status;
}

static fg_status do_pass(fg_driver *driver, const fg_action *action) {
    const fg_executor_api *api = driver->env->api;
    if (!api->register_pass) {
        return FG_FAIL(FG_STATUS_UNSUPPORTED, "found no register_pass, expected one");
    }
    fg_watch_status(driver, "register_pass",
                    api->register_pass(driver->executor, (int32_t)action->number,
                                       fg_pass_from_name(action->name), NULL));
    fg_model_pass(&driver->model);
    driver->expected_off |= strcmp(action->name, "identity") != 0;
    return FG_STATUS_OK;
}

static fg_status do_hook(fg_driver *driver, const fg_action *action) {
    const fg_executor_api *api = driver->env->api;
    fg_status status =
        api->hook ? api->hook(driver->executor, action->name, action->number) : FG_STATUS_NOT_FOUND;
    if (status == FG_STATUS_NOT_FOUND) {
        return FG_FAIL(FG_STATUS_UNSUPPORTED, "found no hook '%s', expected one", action->name);
    }
    fg_watch_status(driver, "hook", status);
    if (strcmp(action->name, "fail_build") == 0) {
        driver->model.failing = action->number;
    }
    return FG_STATUS_OK;
}

static fg_status do_clear(fg_driver *driver) {
    if (!driver->env->api->clear) {
        return FG_FAIL(FG_STATUS_UNSUPPORTED, "found no clear, expected one");
    }
    fg_watch_status(driver, "clear", driver->env->api->clear(driver->executor));
    fg_model_clear(&driver->model);
    driver->call.plan = NULL;
    return FG_STATUS_OK;
}

static fg_status set_recipe(fg_driver *driver, const fg_action *action) {
    fg_recipe_kind kind = FG_RECIPE_NONE;
    switch (action->kind) {
    case FG_ACTION_RECIPE:
        FG_TRY(fg_recipe_kind_from_name(action->name, &kind));
        driver->recipe = fg_recipe_default(kind);
        return FG_STATUS_OK;
    case FG_ACTION_OPT:
        return fg_recipe_set(&driver->recipe, action->name, action->value);
    default:
        driver->recipe.history = (int32_t)action->number;
        return FG_STATUS_OK;
    }
}

fg_status fg_driver_do(fg_driver *driver, const fg_action *action) {
    if (driver->failure[0]) {
        return FG_STATUS_OK;
    }
    switch (action->kind) {
    case FG_ACTION_NOGRAD:
        return do_forward(driver, FG_NO_GRAD);
    case FG_ACTION_GRAD:
        return do_forward(driver, FG_GRAD);
    case FG_ACTION_BACK:
        return do_backward(driver);
    case FG_ACTION_STEP:
        fg_watch_status(driver, "step", driver->env->api->step(driver->executor));
        return FG_STATUS_OK;
    case FG_ACTION_CLEAR:
        return do_clear(driver);
    case FG_ACTION_EVICT:
        return do_evict(driver);
    case FG_ACTION_PASS:
        return do_pass(driver, action);
    case FG_ACTION_DEV:
        driver->device = (int32_t)action->number;
        place_tensors(driver->data, driver->out, driver->device);
        return FG_STATUS_OK;
    case FG_ACTION_CAP:
        drop_executor(driver);
        return make_executor(driver, (int32_t)action->number);
    case FG_ACTION_NEED:
        driver->requires
        = (uint32_t)action->number & driver->model.inputs;
        return FG_STATUS_OK;
    case FG_ACTION_HOOK:
        return do_hook(driver, action);
    default:
        return set_recipe(driver, action);
    }
}

fg_status fg_driver_run(fg_driver *driver, const fg_action *actions, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        FG_TRY(fg_driver_do(driver, &actions[i]));
    }
    return FG_STATUS_OK;
}

fg_status fg_driver_text(fg_driver *driver, const char *actions) {
    fg_action list[FG_ACTIONS];
    int32_t count = 0;
    FG_TRY(fg_actions_parse(actions, 1, list, FG_ACTIONS, &count));
    return fg_driver_run(driver, list, count);
}

fg_status fg_exec_fresh(fg_exec_env *env, fg_exec_data *data, const char *setup, uint32_t requires,
                        fg_exec_out *out) {
    fg_driver driver;
    env->refused = (fg_exec_refusal){0};
    FG_TRY(fg_driver_open(env, data, out, NULL, &driver));
    driver.watch = 0;
    fg_status status = fg_driver_text(&driver, setup);
    driver.requires = requires & driver.model.inputs;
    if (!status) {
        status = fg_driver_text(&driver, "grad,back");
    }
    if (!status && driver.failure[0]) {
        status = FG_FAIL(driver.status ? driver.status : FG_STATUS_INTERNAL, "%s", driver.failure);
        env->refused = (fg_exec_refusal){
            .status = status, .created = driver.executor != NULL, .fault = driver.fault};
        memcpy(env->refused.text, driver.failure, sizeof driver.failure);
    }
    fg_driver_close(&driver);
    return status;
}
