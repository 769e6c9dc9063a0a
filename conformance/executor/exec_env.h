#ifndef FG_CONFORMANCE_EXECUTOR_EXEC_ENV_H
#define FG_CONFORMANCE_EXECUTOR_EXEC_ENV_H

/* What a check of an executor needs: the executor's functions, memory it can see, and counts taken
 * outside it. One kind runs in this process (Criterion suites, thread sanitizer), one through a
 * worker; a check cannot tell them apart. */

#include "conformance/process/client.h"
#include "conformance/report/result.h"

/* How an executor's function failed where results of a fresh executor were wanted. */
typedef struct fg_exec_refusal {
    fg_status status; /* FG_STATUS_OK: it did not */
    int32_t created;  /* 1: `create` had said OK */
    fg_fault fault;
    char text[192];
} fg_exec_refusal;

typedef struct fg_exec_env fg_exec_env;
struct fg_exec_env {
    const fg_executor_api *api;
    fg_executor_options options; /* for api->create: host, backend, stream_for, user */
    fg_traits traits;            /* of the backend below */
    int32_t every_recipe;        /* 1: the backend is `recorder` and takes recipes it cannot do */
    int32_t parallel;            /* 1: calls may come from many threads at once */
    fg_status (*memory)(fg_exec_env *env, size_t bytes, void **out); /* zeroed, 256-aligned */
    void (*memory_free)(fg_exec_env *env, void *pointer);
    fg_status (*outside)(fg_exec_env *env, fg_outside_counts *out);
    void (*close)(fg_exec_env *env); /* what fg_exec_env_close calls; frees the state */
    void *state;
    fg_exec_refusal refused; /* of the last fresh executor: a status of its, not of this side */
};

/* In this process: executor entry and backend entry are handed in. */
fg_status fg_exec_env_local(fg_executor_entry_fn executor, fg_backend_entry_fn backend,
                            fg_exec_env *out);
/* Sets the recorder's part of outside counts to FG_NOT_GIVEN: for an executor that runs on another
 * backend. */
void fg_exec_env_uncounted(fg_outside_counts *counts);

/* Says that the local environment's backend is `recorder`, whose counts `counts` adds. */
void fg_exec_env_counted(fg_exec_env *env, void (*counts)(fg_outside_counts *out));
/* Through a worker; the client must have an executor and outlives the environment. With `recorder`
 * the executor runs on the worker's `recorder` instead of the client's backend. */
fg_status fg_exec_env_remote(fg_client *client, int32_t recorder, fg_exec_env *out);
/* FG_STATUS_OK when the remote environment's backend claims a problem and recipe on the host. */
fg_status fg_exec_env_claims(fg_exec_env *env, const fg_problem *problem, const fg_recipe *recipe);
void fg_exec_env_close(fg_exec_env *env);

#endif
