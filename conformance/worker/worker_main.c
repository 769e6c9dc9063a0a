/* The program fusegate-worker: one JSON line in, one out, until its channel closes. It alone holds
 * code under test. */

#include "conformance/process/protocol.h"
#include "conformance/worker/executor_calls.h"
#include "conformance/worker/executor_queries.h"
#include "conformance/worker/session.h"
#include "contract/alloc.h"
#include <cblas.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static fg_status line_write(const json_t *object) {
    char *text = NULL;
    size_t length = 0;
    FG_TRY(fg_protocol_dump(object, &text, &length));
    fg_status status = FG_STATUS_OK;
    for (size_t done = 0; done < length && status == FG_STATUS_OK;) {
        ssize_t written = write(FG_PROTOCOL_OUT, text + done, length - done);
        if (written > 0) {
            done += (size_t)written;
        } else if (errno != EINTR) {
            status = FG_FAIL(FG_STATUS_IO, "the judge is gone: %s", strerror(errno));
        }
    }
    fg_free(text);
    return status;
}

static fg_status call_run(fg_session *session, const json_t *request, json_t *reply) {
    static const fg_worker_call *const lists[] = {fg_backend_calls, fg_executor_calls,
                                                  fg_executor_queries};
    const char *name = NULL;
    FG_TRY(fg_json_string(request, "call", &name));
    for (size_t l = 0; l < sizeof lists / sizeof lists[0]; l++) {
        for (const fg_worker_call *call = lists[l]; call->name != NULL; call++) {
            if (strcmp(call->name, name) == 0) {
                return call->run(session, request, reply);
            }
        }
    }
    return FG_FAIL(FG_STATUS_PROTOCOL, "found call '%s', expected a known one", name);
}

/* Completes a reply. */
static fg_status reply_finish(fg_session *session, fg_status status, const json_t *id,
                              json_t *reply) {
    if (json_is_integer(id)) {
        FG_TRY(fg_reply_add(reply, "id", json_integer(json_integer_value(id))));
    }
    FG_TRY(fg_reply_add(reply, "status", json_integer(status)));
    FG_TRY(fg_reply_add(reply, "seconds", json_real(session->seconds)));
    if (status != FG_STATUS_OK) {
        FG_TRY(fg_reply_add(reply, "message", fg_json_from_text(fg_message())));
    }
    if (session->changes[0] != '\0') {
        FG_TRY(fg_reply_add(reply, "state", fg_json_from_text(session->changes)));
    }
    return FG_STATUS_OK;
}

static fg_status line_answer(fg_session *session, const char *line, size_t length) {
    json_t *request = NULL, *reply = json_object();
    session->seconds = 0;
    session->changes[0] = '\0';
    fg_message_clear();
    fg_status status = fg_protocol_parse(line, length, &request);
    const json_t *id = json_object_get(request, "id");
    if (status == FG_STATUS_OK) {
        status = call_run(session, request, reply);
    }
    status = reply_finish(session, status, id, reply);
    if (status == FG_STATUS_OK) {
        status = line_write(reply);
    }
    json_decref(request);
    json_decref(reply);
    return status;
}

static fg_status serve(fg_session *session) {
    fg_line_buffer buffer = {0};
    fg_status status = FG_STATUS_OK;
    int ended = 0;
    while (status == FG_STATUS_OK && !ended) {
        size_t length = 0;
        const char *line = fg_line_next(&buffer, &length);
        if (line != NULL) {
            status = line_answer(session, line, length);
        } else {
            status = fg_line_fill(&buffer, FG_PROTOCOL_IN, &ended);
        }
    }
    fg_line_free(&buffer);
    return status;
}

static fg_status greet(void) {
    json_t *hello = json_pack("{s:i, s:s, s:[s, s]}", "protocol", FG_PROTOCOL, "name",
                              "fusegate-worker", "kinds", "backend", "executor");
    fg_status status = line_write(hello);
    json_decref(hello);
    return status;
}

int main(void) {
    fg_session session = {0};
    /* Code under test may hang: the worker goes with its judge however that one ends. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    fg_protocol_use_allocator();
    openblas_set_num_threads(1);
    fg_session_begin(&session);
    fg_status status = greet();
    if (status == FG_STATUS_OK) {
        status = serve(&session);
    }
    fg_session_end(&session);
    if (status != FG_STATUS_OK) {
        (void)fprintf(stderr, "fusegate-worker: %s\n", fg_message());
        return 1;
    }
    return 0;
}
