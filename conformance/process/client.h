#ifndef FG_CONFORMANCE_PROCESS_CLIENT_H
#define FG_CONFORMANCE_PROCESS_CLIENT_H

/* The judge's end of a worker process: each function is one call of an ABI, sent as one JSON line
 * and answered by one. A worker that dies gives FG_STATUS_CRASH, one that does not answer in time
 * FG_STATUS_TIMEOUT (it is killed), nonsense FG_STATUS_PROTOCOL; fg_message() says more; after any
 * of these the client is dead and every call returns the same status. */

#include "conformance/process/shm.h"
#include "contract/executor.h"

typedef struct fg_client fg_client;

typedef struct fg_client_options {
    const char *backend;  /* NAME, PATH.so or exec:CMD */
    const char *executor; /* NULL, NAME, PATH.so or exec:CMD */
    double timeout;       /* seconds for one call; 0: 60 */
} fg_client_options;

/* Starts a worker (the program fusegate-worker beside this one or in the folder above), and has it
 * load the backend and executor. A plugin that is missing, not a library or lacks its entry is
 * FG_STATUS_UNAVAILABLE; an unknown name FG_STATUS_NOT_FOUND with the nearest one. The worker is
 * killed when the thread that opened it ends. */
fg_status fg_client_open(const fg_client_options *options, fg_client **out);
void fg_client_close(fg_client *client);

/* Has an idle worker end in order and says how that went: code under test that crashes, hangs
 * (past the client's timeout, 2 s at least) or prints when its objects are destroyed, or as the
 * process ends, gives FG_STATUS_CRASH, FG_STATUS_TIMEOUT or FG_STATUS_PROTOCOL. FG_STATUS_OK at
 * once for a client that is dead already. Afterwards the client is dead, and still the caller's to
 * close. */
fg_status fg_client_finish(fg_client *client);

/* FG_STATUS_PROTOCOL when the worker, since the last question about either, wrote to standard
 * output or changed its process's state; the message begins with `when`. */
fg_status fg_client_quiet(fg_client *client, const char *when);

/* Process id of the worker; whether it is still to be used; what it wrote to stdout since the last
 * question (a contract failure), as a count of bytes; and how much CPU state (FTZ, rounding mode,
 * locale, BLAS threads, signals, working directory) it found changed since the last question, as
 * text ("" for none; valid until the next question). */
int32_t fg_client_pid(const fg_client *client);
int fg_client_alive(const fg_client *client);
int64_t fg_client_stdout_bytes(fg_client *client);
const char *fg_client_state_changes(fg_client *client);

/* Seconds that calls of the backend took inside the worker since the last question. */
double fg_client_seconds(fg_client *client);

/* Shares a mapping with the worker; the file is unlinked when the worker holds it. Pointers in the
 * tensors of later calls must lie in shared mappings. unshare drops the worker's side. Not from
 * several threads at once. */
fg_status fg_client_share(fg_client *client, fg_shm *shm);
fg_status fg_client_unshare(fg_client *client, const fg_shm *shm);

/* The backend ABI. Device index -1 is host; a device is opened, and its traits are asked and
 * checked, on first use. Traits out of range are FG_STATUS_ABI. Each forward and
 * backward is followed by a stream_sync. Streams: the worker uses a new one for each call. */
fg_status fg_client_traits(fg_client *client, int32_t device, fg_traits *out);
fg_status fg_client_supports(fg_client *client, int32_t device, const fg_problem *problem,
                             const fg_recipe *recipe, char reason[FG_REASON_SIZE]);
fg_status fg_client_kernel_create(fg_client *client, int32_t device, const fg_problem *problem,
                                  const fg_recipe *recipe, int64_t *kernel);
fg_status fg_client_kernel_destroy(fg_client *client, int64_t kernel);
fg_status fg_client_kernel_sizes(fg_client *client, int64_t kernel, int64_t rows,
                                 fg_kernel_sizes *out);
fg_status fg_client_forward(fg_client *client, int64_t kernel, const fg_forward_args *args);
fg_status fg_client_backward(fg_client *client, int64_t kernel, const fg_backward_args *args);
fg_status fg_client_saved_release(fg_client *client, int64_t kernel, void *saved);

/* The executor ABI of the worker's executor, as the same table of functions: `create` takes the
 * client as options->user and ignores host and stream_for (the worker gives its own: a new stream
 * for each look-up); of backend only the name counts, and the worker runs the executor on its own
 * backend of that name (NULL: on the client's). Passes must be ones that
 * conformance/executor/passes.h names. */
const fg_executor_api *fg_client_executor(void);

/* Counts taken outside the executor, by the worker and by the backend `recorder`. */
typedef struct fg_outside_counts {
    int64_t stream_lookups;         /* calls of stream_for */
    int64_t current_device_queries; /* calls of host.current_device */
    int64_t kernels_created;        /* recorder: kernel_create calls, FG_NOT_GIVEN on another */
    int64_t kernels_destroyed;
    int64_t forwards, backwards; /* recorder: kernel calls */
    uint32_t last_mask;          /* recorder: masks of the last backward, or-ed over its runs */
    int64_t saving_forwards;     /* recorder: forwards with saved != NULL */
    int64_t streams_seen;        /* recorder: distinct streams */
    int64_t last_forward_kernel; /* recorder: serial number of the last call's kernel, from 1 */
    int64_t last_backward_kernel;
    int64_t blocks_live; /* recorder: blocks of device memory allocated and not freed */
} fg_outside_counts;

fg_status fg_client_outside(fg_client *client, fg_outside_counts *out);

#endif
