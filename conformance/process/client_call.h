#ifndef FG_CONFORMANCE_PROCESS_CLIENT_CALL_H
#define FG_CONFORMANCE_PROCESS_CLIENT_CALL_H

/* Inside of the client: one call, and what the functions of both ABIs share. */

#include "conformance/process/client.h"
#include "conformance/process/client_process.h"
#include "conformance/process/protocol_fields.h"
#include "conformance/process/protocol_maps.h"
#include <pthread.h>

#define FG_CHANGES_SIZE 512

struct fg_client {
    pthread_mutex_t lock; /* one call at a time */
    fg_process process;
    pid_t pid; /* stays after the end */
    double timeout;
    fg_status dead; /* FG_STATUS_OK while it lives */
    char death[FG_STDERR_KEPT + 512];
    int64_t stdout_asked;          /* stdout bytes told so far */
    char changes[FG_CHANGES_SIZE]; /* not told yet */
    char changes_told[FG_CHANGES_SIZE];
    double seconds;
    int64_t calls;           /* id of the last request */
    _Atomic uint64_t opened; /* bit i + 1: device i was opened, -1 is host */
    fg_maps maps;
};

/* Makes a request {"call":name}; NULL when there is no memory. */
json_t *fg_client_request(const char *name);

/* Adds a member and takes `value`; notes in *failed when one of both is NULL or no memory is left.
 */
void fg_client_put(json_t *request, const char *key, json_t *value, int *failed);

/* Gives the request back, or releases it and gives NULL when something failed. */
json_t *fg_client_whole(json_t *request, int failed);

/* Sends a request (taken in every case; NULL is FG_STATUS_NO_MEMORY) and gives the reply, which the
 * caller releases, when its status is FG_STATUS_OK; `reply` may be NULL. Else returns that status
 * with the worker's message. Threads: calls of one client wait for each other. */
fg_status fg_client_call(fg_client *client, json_t *request, json_t **reply);

/* Reads a reply's member as a struct or an integer, and releases the reply. */
fg_status fg_client_reply_struct(json_t *reply, const char *key, const fg_struct_fields *fields,
                                 void *out);
fg_status fg_client_reply_integer(json_t *reply, const char *key, int64_t *out);

#endif
