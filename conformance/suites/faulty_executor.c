#include "conformance/suites/faulty_executor.h"
#include "contract/alloc.h"
#include "fuser/fuser_executor.h"
#include <string.h>

#define BLOCKS 20000
#define EXECUTORS 4 /* at once */
#define DEVICES 3   /* -1, 0, 1 */
#define GUARD 256   /* bytes around every output of conformance/executor/exec_data.h */

/* What an executor keeps of a y that it will give again. */
typedef struct kept_y {
    const fg_executor *executor;
    const void *x;
    size_t bytes;
    unsigned char y[4096];
} kept_y;

/* The right executor and what the faults remember; an executor has no room for that. */
static struct {
    fg_faulty fault;
    const fg_executor_api *right;
    const fg_host *host;
    fg_stream (*stream_for)(void *user, int32_t device);
    void *user;
    fg_stream first_streams[DEVICES];
    int64_t numbers;
    int32_t after_no_grad;
    kept_y kept[EXECUTORS];
    fg_inputs first_in;
    const fg_tensor *last_y;
    const fg_executor *last_executor;
    void *blocks[BLOCKS];
    int32_t block_count;
    const fg_backend *backend;
    fg_device *device; /* of `held` */
    void *held[BLOCKS];
    int32_t held_count;
    const fg_context *last_context;
    int64_t forwards;
} faulty;

static void give_back(void) {
    while (faulty.held_count > 0) {
        faulty.backend->mem_free(faulty.device, faulty.held[--faulty.held_count]);
    }
    if (faulty.device) {
        faulty.backend->device_close(faulty.device);
    }
}

void fg_faulty_choose(fg_faulty fault) {
    give_back();
    const fg_executor_api *right = faulty.right;
    memset(&faulty, 0, sizeof faulty);
    faulty.right = right;
    faulty.fault = fault;
}

static fg_stream same_stream(void *user, int32_t device) {
    fg_stream stream = faulty.stream_for(user, device);
    fg_stream *first = &faulty.first_streams[device + 1];
    *first = *first ? *first : stream;
    return *first;
}

static fg_status create(const fg_problem *problem, const fg_executor_options *options,
                        fg_executor **out) {
    fg_executor_options changed = *options;
    faulty.host = options->host;
    faulty.stream_for = options->stream_for;
    faulty.user = options->user;
    faulty.backend = options->backend;
    if (faulty.fault == FG_FAULTY_STREAM) {
        memset(faulty.first_streams, 0, sizeof faulty.first_streams);
        changed.stream_for = same_stream;
    }
    faulty.first_in = (fg_inputs){0};
    faulty.last_y = NULL;
    return faulty.right->create(problem, &changed, out);
}

static void destroy(fg_executor *executor) {
    while (faulty.block_count > 0) {
        fg_free(faulty.blocks[--faulty.block_count]);
    }
    for (int i = 0; i < EXECUTORS; i++) {
        if (faulty.kept[i].executor == executor) {
            faulty.kept[i] = (kept_y){0};
        }
    }
    faulty.right->destroy(executor);
}

static size_t bytes_of(const fg_tensor *tensor) {
    return (size_t)fg_tensor_count(tensor) * fg_dtype_size((fg_dtype)tensor->dtype);
}

/* Takes a block of the backend that is given back when the next fault is chosen. */
static fg_status hold_block(void) {
    if (!faulty.device) {
        FG_TRY(faulty.backend->device_open(-1, &faulty.device));
    }
    if (faulty.held_count < BLOCKS) {
        FG_TRY(faulty.backend->mem_alloc(faulty.device, 16, &faulty.held[faulty.held_count]));
        faulty.held_count++;
    }
    return FG_STATUS_OK;
}

/* What goes wrong before a forward; a status other than OK is the forward's. */
static fg_status before_forward(fg_executor *executor) {
    (void)executor;
    switch (faulty.fault) {
    case FG_FAULTY_LOOKUPS:
        (void)faulty.stream_for(faulty.user, -1);
        return FG_STATUS_OK;
    case FG_FAULTY_ASKS:
        (void)faulty.host->current_device(faulty.host->user);
        return FG_STATUS_OK;
    case FG_FAULTY_GROWS:
        if (faulty.block_count < BLOCKS) {
            faulty.blocks[faulty.block_count++] = fg_alloc(16, FG_ALLOC_PLAN);
        }
        return FG_STATUS_OK;
    case FG_FAULTY_HOLDS:
        return hold_block();
    case FG_FAULTY_EARLIER:
        if (faulty.last_y) {
            *(unsigned char *)faulty.last_y->data ^= 1u;
        }
        return FG_STATUS_OK;
    case FG_FAULTY_DEAD:
        return FG_FAIL(FG_STATUS_CRASH, "the worker is gone");
    case FG_FAULTY_LATE:
        return FG_FAIL(FG_STATUS_TIMEOUT, "no answer");
    default:
        return FG_STATUS_OK;
    }
}

/* Gives the y that the executor gave for this x before, or keeps this one. */
static void repeat_y(const fg_executor *executor, const void *x, unsigned char *y, size_t bytes) {
    kept_y *kept = faulty.kept;
    while (kept < faulty.kept + EXECUTORS - 1 && kept->executor && kept->executor != executor) {
        kept++;
    }
    if (kept->executor == executor && kept->x == x && kept->bytes == bytes) {
        memcpy(y, kept->y, bytes);
    } else if (bytes <= sizeof kept->y) {
        kept->executor = executor;
        kept->x = x;
        kept->bytes = bytes;
        memcpy(kept->y, y, bytes);
    }
}

/* What goes wrong in y. */
static void after_forward(const fg_executor *executor, const fg_inputs *inputs,
                          const fg_tensor *y) {
    unsigned char *data = y->data;
    size_t bytes = bytes_of(y);
    switch (faulty.fault) {
    case FG_FAULTY_Y:
        data[0] ^= 1u;
        break;
    case FG_FAULTY_ONCE:
        data[0] ^= ++faulty.forwards == 10;
        break;
    case FG_FAULTY_Y_BEFORE:
        data[-1] ^= 1u;
        break;
    case FG_FAULTY_Y_AFTER:
        data[bytes] ^= 1u;
        break;
    case FG_FAULTY_STALE:
        repeat_y(executor, inputs->inputs[FG_X]->data, data, bytes);
        break;
    case FG_FAULTY_EARLIER:
        faulty.last_y = y;
        break;
    default:
        break;
    }
}

/* The status of a forward, where a fault makes something else of it. */
static fg_status forgive(fg_status status) {
    int device = faulty.fault == FG_FAULTY_DEVICES && status == FG_STATUS_DEVICE;
    int build = faulty.fault == FG_FAULTY_PASSES &&
                (status == FG_STATUS_BUILD || status == FG_STATUS_UNSUPPORTED);
    return device || build ? FG_STATUS_OK : status;
}

static fg_status forward(fg_executor *executor, int32_t mode, const fg_recipe *recipe,
                         uint32_t requires, const fg_inputs *inputs, const fg_tensor *y,
                         const fg_token *token_in, fg_token **token_out, fg_context **context) {
    FG_TRY(before_forward(executor));
    if (faulty.fault == FG_FAULTY_POINTERS && !faulty.first_in.splits) {
        faulty.first_in = *inputs;
    }
    const fg_inputs *in =
        faulty.first_in.splits && faulty.first_in.rows == inputs->rows ? &faulty.first_in : inputs;
    fg_status status = faulty.right->forward(executor, mode, recipe, requires, in, y, token_in,
                                             token_out, context);
    faulty.last_executor = executor;
    faulty.last_context = NULL;
    faulty.after_no_grad = mode == FG_NO_GRAD;
    if (status) {
        return forgive(status);
    }
    after_forward(executor, inputs, y);
    if (faulty.fault == FG_FAULTY_NO_CONTEXT && *context) {
        faulty.right->context_release(executor, *context);
        *context = NULL;
    }
    return FG_STATUS_OK;
}

static void after_backward(const fg_tensor *dy, const fg_tensor *const grads[FG_INPUT_SLOTS]) {
    const fg_tensor *last = NULL;
    for (int i = 0; i < FG_INPUTS; i++) {
        last = grads[i] ? grads[i] : last;
    }
    unsigned char *data = last ? last->data : NULL;
    if (data && faulty.fault == FG_FAULTY_GRADIENT) {
        data[0] ^= 1u;
    } else if (data && faulty.fault == FG_FAULTY_UNASKED) {
        // Over both guards: the next output begins at the next multiple of 256 past them.
        size_t past = (bytes_of(last) + GUARD + 255) / 256 * 256 + GUARD;
        data[past] ^= 1u;
    } else if (faulty.fault == FG_FAULTY_INPUT) {
        ((unsigned char *)dy->data)[0]++; // another back would undo a flipped bit
    }
}

static fg_status backward(fg_executor *executor, fg_context *context, const fg_tensor *dy,
                          const fg_tensor *const grads[FG_INPUT_SLOTS], uint32_t accumulate) {
    if (faulty.fault == FG_FAULTY_OTHER_EXECUTOR && faulty.last_executor != executor) {
        return FG_FAIL(FG_STATUS_INTERNAL, "another executor was here");
    }
    if (faulty.fault == FG_FAULTY_LACKS) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for a backward");
    }
    fg_status status = faulty.right->backward(executor, context, dy, grads, accumulate);
    if (status == FG_STATUS_INVALID && faulty.fault == FG_FAULTY_ACCEPTS) {
        return FG_STATUS_OK;
    }
    if (!status) {
        after_backward(dy, grads);
        if (faulty.fault == FG_FAULTY_AGAIN && faulty.last_context == context && grads[FG_X]) {
            *(unsigned char *)grads[FG_X]->data ^= 1u;
        }
        faulty.last_context = context;
    }
    return status;
}

static fg_status counters(const fg_executor *executor, fg_counters *out) {
    FG_TRY(faulty.right->counters(executor, out));
    out->plans_built += faulty.fault == FG_FAULTY_BUILT;
    out->state_resets += faulty.fault == FG_FAULTY_RESETS;
    out->evictions += faulty.fault == FG_FAULTY_EVICTIONS;
    out->kernels_created += faulty.fault == FG_FAULTY_KERNELS;
    if (faulty.fault == FG_FAULTY_NOT_GIVEN) {
        const int64_t none = FG_NOT_GIVEN;
        *out = (fg_counters){out->struct_size, none, none, none, none, none, none, none, none};
    }
    return FG_STATUS_OK;
}

static int64_t plan_id(const fg_executor *executor, int32_t direction) {
    switch (faulty.fault) {
    case FG_FAULTY_SAME_LISTS:
        return 5 + direction;
    case FG_FAULTY_NO_LISTS:
        return 0;
    case FG_FAULTY_ONE_LIST:
        return faulty.right->plan_id(executor, FG_FORWARD);
    default:
        break;
    }
    int another = (faulty.fault == FG_FAULTY_FORWARD_LIST && direction == FG_FORWARD) ||
                  (faulty.fault == FG_FAULTY_BACKWARD_LIST && direction == FG_BACKWARD);
    return faulty.right->plan_id(executor, direction) + (another ? 1000 * ++faulty.numbers : 0);
}

static uint32_t flags(const fg_executor *executor, int32_t op) {
    uint32_t bits = faulty.right->flags(executor, op);
    if (faulty.fault == FG_FAULTY_BOUNDARY) {
        return bits | 1u;
    }
    return faulty.fault == FG_FAULTY_FLAGS && faulty.after_no_grad ? bits ^ 2u : bits;
}

static int32_t plan_runs(const fg_executor *executor, int32_t direction, fg_run runs[FG_OP_COUNT]) {
    return faulty.right->plan_runs(executor, direction, runs) + (faulty.fault == FG_FAULTY_RUNS);
}

static int32_t events(const fg_executor *executor, fg_event *out, int32_t capacity) {
    int32_t count = faulty.right->events(executor, out, capacity);
    if (faulty.fault == FG_FAULTY_EVENTS && count > 1) {
        fg_event first = out[0];
        out[0] = out[1];
        out[1] = first;
    }
    return count - (faulty.fault == FG_FAULTY_LAST_EVENT);
}

static fg_status hook(fg_executor *executor, const char *name, int64_t value) {
    if (faulty.fault == FG_FAULTY_NO_HOOK) {
        return FG_FAIL(FG_STATUS_NOT_FOUND, "no hook '%s'", name);
    }
    if (faulty.fault == FG_FAULTY_FAIL_HOOK && strcmp(name, "fail_build") == 0) {
        return FG_STATUS_OK;
    }
    return faulty.right->hook(executor, name, value);
}

fg_status fg_faulty_executor_entry(uint32_t abi, const fg_host *host, const fg_executor_api **out) {
    static fg_executor_api api;
    FG_TRY(fg_fuser_executor_entry(abi, host, &faulty.right));
    api = *faulty.right;
    api.create = create;
    api.destroy = destroy;
    api.forward = forward;
    api.backward = backward;
    api.counters = counters;
    api.plan_id = plan_id;
    api.flags = flags;
    api.plan_runs = plan_runs;
    api.events = events;
    api.hook = hook;
    if (faulty.fault == FG_FAULTY_NO_FUNCTIONS) {
        api.register_pass = NULL;
        api.clear = NULL;
        api.plan_runs = NULL;
        api.events = NULL;
        api.hook = NULL;
    }
    *out = &api;
    return FG_STATUS_OK;
}
