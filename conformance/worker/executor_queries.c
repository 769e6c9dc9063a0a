#include "conformance/worker/executor_queries.h"

#include "conformance/executor/passes.h"
#include "conformance/process/protocol_fields.h"
#include "conformance/worker/executor_calls.h"

enum { EVENTS = 64 };

/* An optional function that the executor does not have. */
static fg_status lacks(const char *function) {
    return FG_FAIL(FG_STATUS_UNSUPPORTED, "the executor has no %s", function);
}

/* Which optional functions there are, so that the judge's table can lack the others. */
static fg_status call_functions(fg_session *session, const json_t *request, json_t *reply) {
    (void)request;
    const fg_executor_api *api = &session->executor;
    FG_TRY(fg_reply_add(reply, "register_pass", json_boolean(api->register_pass != NULL)));
    FG_TRY(fg_reply_add(reply, "clear", json_boolean(api->clear != NULL)));
    FG_TRY(fg_reply_add(reply, "plan_runs", json_boolean(api->plan_runs != NULL)));
    FG_TRY(fg_reply_add(reply, "events", json_boolean(api->events != NULL)));
    return fg_reply_add(reply, "hook", json_boolean(api->hook != NULL));
}

static fg_status call_step(fg_session *session, const json_t *request, json_t *reply) {
    (void)reply;
    fg_held_executor *held = NULL;
    FG_TRY(fg_request_executor(session, request, &held));
    fg_session_enter(session);
    fg_status status = session->executor.step(held->executor);
    fg_session_leave(session);
    return fg_executor_status(status);
}

static fg_status call_register_pass(fg_session *session, const json_t *request, json_t *reply) {
    (void)reply;
    fg_held_executor *held = NULL;
    const char *name = NULL;
    int32_t kind = 0;
    FG_TRY(fg_request_executor(session, request, &held));
    FG_TRY(fg_json_string(request, "pass", &name));
    FG_TRY(fg_request_int32(request, "kind", FG_PASS_JOINT, &kind));
    fg_pass_fn pass = fg_pass_from_name(name);
    if (pass == NULL) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "found pass '%s', expected a known one", name);
    }
    if (session->executor.register_pass == NULL) {
        return lacks("register_pass");
    }
    fg_session_enter(session);
    fg_status status = session->executor.register_pass(held->executor, kind, pass, NULL);
    fg_session_leave(session);
    return fg_executor_status(status);
}

static fg_status call_clear(fg_session *session, const json_t *request, json_t *reply) {
    (void)reply;
    fg_held_executor *held = NULL;
    FG_TRY(fg_request_executor(session, request, &held));
    if (session->executor.clear == NULL) {
        return lacks("clear");
    }
    fg_session_enter(session);
    fg_status status = session->executor.clear(held->executor);
    fg_session_leave(session);
    return fg_executor_status(status);
}

static fg_status call_counters(fg_session *session, const json_t *request, json_t *reply) {
    fg_held_executor *held = NULL;
    fg_counters counters = {.struct_size = sizeof counters};
    FG_TRY(fg_request_executor(session, request, &held));
    FG_TRY(fg_executor_status(session->executor.counters(held->executor, &counters)));
    return fg_reply_add(reply, "counters", fg_json_from_struct(&fg_counters_fields, &counters));
}

static fg_status call_plan_id(fg_session *session, const json_t *request, json_t *reply) {
    fg_held_executor *held = NULL;
    int32_t direction = 0;
    FG_TRY(fg_request_executor(session, request, &held));
    FG_TRY(fg_request_int32(request, "direction", FG_FORWARD, &direction));
    return fg_reply_add(reply, "value",
                        json_integer(session->executor.plan_id(held->executor, direction)));
}

static fg_status call_flags(fg_session *session, const json_t *request, json_t *reply) {
    fg_held_executor *held = NULL;
    int32_t op = 0;
    FG_TRY(fg_request_executor(session, request, &held));
    FG_TRY(fg_request_int32(request, "op", 0, &op));
    return fg_reply_add(reply, "value", json_integer(session->executor.flags(held->executor, op)));
}

static fg_status call_plan_runs(fg_session *session, const json_t *request, json_t *reply) {
    fg_held_executor *held = NULL;
    int32_t direction = 0;
    fg_run runs[FG_OP_COUNT];
    FG_TRY(fg_request_executor(session, request, &held));
    FG_TRY(fg_request_int32(request, "direction", FG_FORWARD, &direction));
    if (session->executor.plan_runs == NULL) {
        return lacks("plan_runs");
    }
    int32_t count = session->executor.plan_runs(held->executor, direction, runs);
    json_t *values = json_array();
    FG_TRY(fg_reply_add(reply, "values", values));
    for (int32_t i = 0; i < count && i < FG_OP_COUNT; i++) {
        if (json_array_append_new(values, fg_json_from_struct(&fg_run_fields, &runs[i])) != 0) {
            return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for runs");
        }
    }
    return FG_STATUS_OK;
}

static fg_status call_events(fg_session *session, const json_t *request, json_t *reply) {
    fg_held_executor *held = NULL;
    fg_event events[EVENTS];
    FG_TRY(fg_request_executor(session, request, &held));
    if (session->executor.events == NULL) {
        return lacks("events");
    }
    int32_t count = session->executor.events(held->executor, events, EVENTS);
    json_t *values = json_array();
    FG_TRY(fg_reply_add(reply, "values", values));
    for (int32_t i = 0; i < count && i < EVENTS; i++) {
        if (json_array_append_new(values, json_integer((json_int_t)events[i])) != 0) {
            return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for events");
        }
    }
    return FG_STATUS_OK;
}

static fg_status call_hook(fg_session *session, const json_t *request, json_t *reply) {
    (void)reply;
    fg_held_executor *held = NULL;
    const char *name = NULL;
    int64_t value = 0;
    FG_TRY(fg_request_executor(session, request, &held));
    FG_TRY(fg_json_string(request, "name", &name));
    FG_TRY(fg_json_integer(request, "value", &value));
    if (session->executor.hook == NULL) {
        return lacks("hook");
    }
    return fg_executor_status(session->executor.hook(held->executor, name, value));
}

const fg_worker_call fg_executor_queries[] = {
    {"executor_functions", call_functions},
    {"executor_step", call_step},
    {"executor_register_pass", call_register_pass},
    {"executor_clear", call_clear},
    {"executor_counters", call_counters},
    {"executor_plan_id", call_plan_id},
    {"executor_flags", call_flags},
    {"executor_plan_runs", call_plan_runs},
    {"executor_events", call_events},
    {"executor_hook", call_hook},
    {NULL, NULL},
};
