#ifndef FG_CONFORMANCE_WORKER_SESSION_H
#define FG_CONFORMANCE_WORKER_SESSION_H

/* What a worker holds between calls: shared mappings, the loaded backend and executor, their
 * devices, kernels, executors and contexts, each known to the judge by a number. One thread. */

#include "conformance/process/protocol_args_read.h"
#include "conformance/worker/state_guard.h"
#include "contract/executor.h"

enum { FG_SESSION_DEVICES = 16, FG_SESSION_BACKENDS = 4 };

/* Objects by number, from 1. Numbers are not used again, so that a stale one is found out. */
typedef struct fg_handles {
    void **items;
    int64_t count, capacity;
} fg_handles;

fg_status fg_handles_add(fg_handles *handles, void *item, int64_t *id);
/* FG_STATUS_PROTOCOL when there is no such object now; `what` is what the message calls it. */
fg_status fg_handles_get(const fg_handles *handles, const char *what, int64_t id, void **out);
void fg_handles_drop(fg_handles *handles, int64_t id);
void fg_handles_free(fg_handles *handles);

typedef struct fg_session_device {
    int32_t index;
    fg_device *device;
    int32_t known; /* whether the traits were asked and are right */
    fg_traits traits;
    fg_maps mirrors;                 /* device memory: a copy of each shared mapping there */
    void *addresses[FG_CALL_BLOCKS]; /* device memory: the call's arrays of addresses there */
    int32_t address_count;
} fg_session_device;

typedef struct fg_session_backend {
    char what[4096]; /* as the judge named it; "" for a free place */
    fg_backend api;
    fg_session_device devices[FG_SESSION_DEVICES];
    int32_t device_count;
} fg_session_backend;

typedef struct fg_session {
    fg_maps maps;
    fg_host host;
    fg_session_backend backends[FG_SESSION_BACKENDS]; /* [0] is the judge's */
    fg_executor_api executor;
    fg_handles kernels, executors;
    int64_t stream_lookups, current_device_queries;
    fg_process_state before; /* what calls must leave as it is */
    char changes[512];
    double entered, seconds; /* of the call in hand */
} fg_session;

/* Takes the state to hold everything to. The session must not move afterwards. */
void fg_session_begin(fg_session *session);
/* Destroys what is left, contexts before executors before kernels before devices. */
void fg_session_end(fg_session *session);

/* Around every call into code under test: time, and process state put back and noted. */
void fg_session_enter(fg_session *session);
void fg_session_leave(fg_session *session);

/* Gives the backend of that name, loading it at first. */
fg_status fg_session_backend_of(fg_session *session, const char *what, fg_session_backend **out);

/* Opens a device at its first use; its traits are not known yet. */
fg_status fg_session_device_open(fg_session *session, fg_session_backend *backend, int32_t index,
                                 fg_session_device **out);

/* Opens a device at its first use and takes its traits, defaults filled in. FG_STATUS_ABI: traits
 * out of range. */
fg_status fg_session_device_of(fg_session *session, fg_session_backend *backend, int32_t index,
                               fg_session_device **out);

/* The status of a call of a backend as one that may travel: a status that speaks of the worker
 * itself, or is no status, becomes FG_STATUS_INTERNAL. Takes the backend's text as message. */
fg_status fg_session_backend_status(const fg_session_backend *backend,
                                    const fg_session_device *device, fg_status status);
fg_status fg_session_status(const char *who, fg_status status, const char *text);

/* Where the arguments of a call on a device lie: the mappings themselves in host memory, else their
 * mirrors, filled from the mappings by this call. */
fg_status fg_session_maps_in(fg_session *session, fg_session_backend *backend,
                             fg_session_device *device, const fg_maps **out);
/* Puts the arrays of addresses (weights as pointers) of read arguments into device memory; maps_out
 * frees them. A no-op in host memory. */
fg_status fg_session_addresses_in(fg_session_backend *backend, fg_session_device *device,
                                  fg_call_storage *storage);
/* Brings what a call wrote in device memory back; a no-op in host memory. */
fg_status fg_session_maps_out(fg_session *session, fg_session_backend *backend,
                              fg_session_device *device);

/* Forgets a mapping and its mirrors, and unmaps it. */
void fg_session_unmap(fg_session *session, const char *path);

#endif
