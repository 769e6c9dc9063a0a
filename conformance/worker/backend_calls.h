#ifndef FG_CONFORMANCE_WORKER_BACKEND_CALLS_H
#define FG_CONFORMANCE_WORKER_BACKEND_CALLS_H

#include "conformance/worker/session.h"

/* One call of the protocol: reads its request, adds to the reply. */
typedef fg_status (*fg_worker_call_fn)(fg_session *session, const json_t *request, json_t *reply);

typedef struct fg_worker_call {
    const char *name;
    fg_worker_call_fn run;
} fg_worker_call;

/* Calls of the backend ABI, and of the session itself (load, share, unshare, outside); the list
 * ends with a NULL name. */
extern const fg_worker_call fg_backend_calls[];

/* Destroys the kernels that the judge left. */
void fg_kernels_destroy(fg_session *session);

/* Adds a member to a reply; takes `value`, NULL included. FG_STATUS_NO_MEMORY. */
fg_status fg_reply_add(json_t *reply, const char *key, json_t *value);

/* Reads a member that must be an int32; `fallback` where there is none. */
fg_status fg_request_int32(const json_t *request, const char *key, int32_t fallback, int32_t *out);

#endif
