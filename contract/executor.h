#ifndef FG_CONTRACT_EXECUTOR_H
#define FG_CONTRACT_EXECUTOR_H

/* The executor ABI, version 1: an operation fuser, ours or somebody else's. It decides plans, keeps
 * recipe state and boundaries, and runs kernels of a backend that it is given, or its own.
 * Struct sizes as in contract/backend.h. The ops are those of the problem's run: first_op,
 * op_count. */

#include "contract/backend.h"

#define FG_EXECUTOR_ABI 1u
#define FG_NOT_GIVEN (-1)

typedef struct fg_executor fg_executor; /* the executor's own */
typedef struct fg_context fg_context;   /* what one forward with gradients saved */
typedef struct fg_token fg_token;       /* scales that one no-grad forward used */

enum { FG_NO_GRAD = 0, FG_GRAD = 1 };
enum { FG_FORWARD = 0, FG_BACKWARD = 1 };

/* A run of basic ops that one kernel does. */
typedef struct fg_run {
    int32_t first, count;
} fg_run;

/* All that a fusion pass may read: the ops as runs so far, and the fields of the plan key. */
typedef struct fg_pass_input {
    size_t struct_size;
    const fg_problem *problem;
    const fg_recipe *recipe; /* history is 0: the key does not hold it */
    int32_t boundary;        /* first op requiring backward; op_count: no gradients */
    int32_t run_count;
    fg_run runs[FG_OP_COUNT];
    uint32_t claimed; /* bit 3 * first + count - 1: the backend does that run */
    fg_traits traits; /* memory, segment_align, base_align, capturable; others 0 */
} fg_pass_input;

/* Writes the runs after the pass; each of 0..n-1 exactly once, in order, or the build fails. */
typedef fg_status (*fg_pass_fn)(void *user, const fg_pass_input *in, fg_run runs[FG_OP_COUNT],
                                int32_t *run_count);

enum { FG_PASS_JOINT = 0, FG_PASS_FORWARD = 1, FG_PASS_BACKWARD = 2 };

typedef struct fg_executor_options {
    size_t struct_size;
    int32_t capacity;          /* plans kept; 0: 64 */
    const fg_host *host;       /* current_device here is counted */
    const fg_backend *backend; /* to run on */
    fg_stream (*stream_for)(void *user, int32_t device);
    void *user;
    int32_t unfused; /* 1: no built-in pass, one entry for each basic op */
} fg_executor_options;

/* Numbers since create; FG_NOT_GIVEN where the executor cannot say. */
typedef struct fg_counters {
    size_t struct_size;
    int64_t plans_built, plan_hits, evictions, state_resets, pre_first, kernels_created;
    int64_t stream_lookups, current_device_queries;
} fg_counters;

/* Steps of one call, in the order in which they must come. */
typedef enum fg_event {
    FG_EVENT_BOUNDARY = 0,
    FG_EVENT_STATE_KEY = 1,
    FG_EVENT_RESET = 2,
    FG_EVENT_PRE_FIRST = 3,
    FG_EVENT_PLAN_KEY = 4,
    FG_EVENT_HIT = 5,
    FG_EVENT_BUILD = 6,
    FG_EVENT_STREAM = 7,
    FG_EVENT_EXECUTE = 8,
    FG_EVENT_SAVE = 9,
} fg_event;

/* The functions of an executor; R must be there, O may be NULL. Calls may come from many threads;
 * a context belongs to one thread at a time. Tensors are the caller's and may change between calls;
 * with gradients the inputs of a forward stay unchanged until its context is released. */
typedef struct fg_executor_api {
    size_t struct_size;
    const char *name;

    /* R. Problem and options are copied; host, backend and user must outlive the executor. */
    fg_status (*create)(const fg_problem *problem, const fg_executor_options *options,
                        fg_executor **out);
    void (*destroy)(fg_executor *executor);

    /* R. mode FG_NO_GRAD or FG_GRAD; `requires` has FG_BIT(i) for every input i that requires a
     * gradient. token_in: NULL, or scales to quantize with. token_out: NULL, or where a no-grad
     * call puts its token. *context is NULL after a no-grad call, and whenever no op requires a
     * gradient; else released by context_release. */
    fg_status (*forward)(fg_executor *executor, int32_t mode, const fg_recipe *recipe,
                         uint32_t requires, const fg_inputs *inputs, const fg_tensor *y,
                         const fg_token *token_in, fg_token **token_out, fg_context **context);
    /* R. grads[i] must be there exactly for the inputs that require a gradient; FG_STATUS_INVALID
     * otherwise. `accumulate` as in fg_backward_args. May be called again on one context. */
    fg_status (*backward)(fg_executor *executor, fg_context *context, const fg_tensor *dy,
                          const fg_tensor *const grads[FG_INPUT_SLOTS], uint32_t accumulate);
    void (*context_release)(fg_executor *executor, fg_context *context);
    void (*token_release)(fg_executor *executor, fg_token *token);

    /* R. Ends a training step. */
    fg_status (*step)(fg_executor *executor);
    /* O. Adds a fusion pass of a kind FG_PASS_*; later plans see it. */
    fg_status (*register_pass)(fg_executor *executor, int32_t kind, fg_pass_fn pass, void *user);
    /* O. Drops every plan; those of live contexts stay usable. */
    fg_status (*clear)(fg_executor *executor);

    /* R. */
    fg_status (*counters)(const fg_executor *executor, fg_counters *out);
    /* R. Serial number of the last call's list for a direction: equal exactly when the list is the
     * same object, never given twice; 0 before the first call. */
    int64_t (*plan_id)(const fg_executor *executor, int32_t direction);
    /* R. Bits of op's gradient flags as the last forward with gradients left them (bit 0: requires
     * gradient, bit 1: saves its input); a no-grad call must not touch them. */
    uint32_t (*flags)(const fg_executor *executor, int32_t op);
    /* O. Number of entries of the last call's list, and each as a run. */
    int32_t (*plan_runs)(const fg_executor *executor, int32_t direction, fg_run runs[FG_OP_COUNT]);
    /* O. Events of the last call, oldest first; returns their number. */
    int32_t (*events)(const fg_executor *executor, fg_event *out, int32_t capacity);
    /* O. Test hooks by name: "equal_hash" (0 1), "fail_build" (n: the next n builds fail),
     * "device_property" (a number that fusion may not read); FG_STATUS_NOT_FOUND for others. */
    fg_status (*hook)(fg_executor *executor, const char *name, int64_t value);
} fg_executor_api;

/* The one symbol of an executor plugin. */
#define FG_EXECUTOR_ENTRY "fg_executor_entry"
typedef fg_status (*fg_executor_entry_fn)(uint32_t abi, const fg_host *host,
                                          const fg_executor_api **out);

#endif
