#ifndef FG_CONFORMANCE_WORKER_EXECUTOR_CALLS_H
#define FG_CONFORMANCE_WORKER_EXECUTOR_CALLS_H

#include "conformance/worker/backend_calls.h"

/* One stream that was handed out, kept until its executor goes. */
typedef struct fg_held_stream {
    fg_session_device *device;
    fg_stream stream;
} fg_held_stream;

/* An executor of the judge's, its contexts and tokens by number, and its streams. */
typedef struct fg_held_executor {
    fg_session *session;
    fg_session_backend *backend;
    fg_executor *executor;
    fg_handles contexts, tokens;
    fg_held_stream *streams;
    int64_t stream_count, stream_capacity;
    int64_t synced;       /* streams before it have no work left */
    fg_recipe recipes[3]; /* a forward's recipe lies elsewhere than those of the two before */
    int64_t forwards;
} fg_held_executor;

/* Calls that make, run and end executors; the list ends with a NULL name. */
extern const fg_worker_call fg_executor_calls[];

/* The executor that a request names. */
fg_status fg_request_executor(fg_session *session, const json_t *request, fg_held_executor **out);

/* The status of an executor's call as one that may travel; its message is this thread's, where the
 * executor shares our contract. */
fg_status fg_executor_status(fg_status status);

/* Releases the contexts and tokens that the judge left, and destroys its executors. */
void fg_executors_destroy(fg_session *session);

#endif
