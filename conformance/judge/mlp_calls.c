#include "conformance/judge/mlp_calls.h"

#include "conformance/tensors/fresh.h"

#include <stdio.h>
#include <string.h>

enum { WEIGHTS = FG_BIT(FG_W1) | FG_BIT(FG_W2) };

static const fg_tensor *view(const fg_mlp_calls *calls, int buffer) {
    return fg_tensors_view(calls->tensors, buffer);
}

void fg_mlp_refused(fg_result *result, const char *call, fg_status status) {
    switch (status) {
    case FG_STATUS_CRASH:
        fg_result_check(result, "calls", FG_CHECK_FAIL, 0, FG_FAULT_CRASH, "%s: %s", call,
                        fg_message());
        break;
    case FG_STATUS_TIMEOUT:
        fg_result_check(result, "calls", FG_CHECK_FAIL, 0, FG_FAULT_TIMEOUT, "%s: %s", call,
                        fg_message());
        break;
    case FG_STATUS_NO_MEMORY:
    case FG_STATUS_DEVICE_LOST:
    case FG_STATUS_UNAVAILABLE:
        result->state = FG_STATE_RESOURCE;
        snprintf(result->reason, sizeof result->reason, "%s: %s: %.400s", call,
                 fg_status_name(status), fg_message());
        break;
    default:
        fg_result_check(result, "calls", FG_CHECK_FAIL, 0, FG_FAULT_CONTRACT,
                        "%s gave %s after supports said yes: %s", call, fg_status_name(status),
                        fg_message());
    }
}

void fg_mlp_calls_begin(fg_mlp_calls *calls, fg_poison poison) {
    calls->poison = poison;
    memset(calls->earlier, 0, sizeof calls->earlier);
    calls->inputs = (fg_inputs){
        .struct_size = sizeof calls->inputs,
        .rows = calls->value->rows,
        .splits = view(calls, FG_BUFFER_SPLITS),
        .splits_host = calls->value->problem.host_splits ? calls->value->splits : NULL,
    };
    for (int i = 0; i < FG_INPUTS; i++) {
        calls->inputs.inputs[i] = view(calls, FG_BUFFER_INPUT + i);
    }
    fg_tensors_hash_constants(calls->tensors, calls->constants);
}

static int memory_fails(fg_mlp_calls *calls, const char *call, const char *what,
                        const char *where) {
    fg_result_check(calls->result, "memory", FG_CHECK_FAIL, 0, FG_FAULT_MEMORY, "%s: %s %s", call,
                    what, where);
    return 0;
}

/* What else leaves elements unwritten. */
static const char *unwritten_hint(const fg_mlp_calls *calls, int buffer) {
    int output = buffer == FG_BUFFER_Y || buffer == FG_BUFFER_Y_NOGRAD;
    if (output && calls->value->problem.splits_dtype == FG_I64) {
        return calls->value->padded_strides
                   ? ", or ignores a stride, or reads 64-bit splits as 32-bit"
                   : ", or reads 64-bit splits as 32-bit";
    }
    return calls->value->padded_strides ? ", or ignores a stride" : "";
}

/* One buffer that the call was given: what it may write, and whether it owes every element. */
static int watch(fg_mlp_calls *calls, const char *call, int buffer, fg_allowed allowed, int owed) {
    char where[256] = "";
    if (!fg_tensors_intact(calls->tensors, buffer, allowed, where, 128)) {
        return memory_fails(calls, call, "wrote where it must not:", where);
    }
    if (owed && calls->poison == FG_POISON_NAN &&
        fg_tensors_unwritten(calls->tensors, buffer, where, 128) > 0) {
        return memory_fails(calls, call, "never wrote",
                            strcat(where, unwritten_hint(calls, buffer)));
    }
    return 1;
}

/* Inputs, and outputs of earlier calls, are as they were. */
static int unchanged(fg_mlp_calls *calls, const char *call) {
    uint64_t constants[FG_BUFFER_CONSTANTS];
    fg_tensors_hash_constants(calls->tensors, constants);
    for (int i = 0; i < FG_BUFFER_CONSTANTS; i++) {
        if (constants[i] != calls->constants[i]) {
            return memory_fails(calls, call, "changed an input:", calls->tensors->buffers[i].name);
        }
    }
    for (int i = 0; i < FG_BUFFERS; i++) {
        if (calls->earlier[i] != 0 &&
            (fg_tensors_hash_buffer(calls->tensors, i) | 1) != calls->earlier[i]) {
            return memory_fails(
                calls, call, "changed what an earlier call left:", calls->tensors->buffers[i].name);
        }
    }
    return 1;
}

static void remember(fg_mlp_calls *calls, int buffer) {
    if (view(calls, buffer) != NULL) {
        calls->earlier[buffer] = fg_tensors_hash_buffer(calls->tensors, buffer) | 1;
    }
}

static int count_queries(fg_mlp_calls *calls, const char *call, int64_t *out) {
    fg_outside_counts counts = {0};
    fg_status status = fg_client_outside(calls->client, &counts);
    *out = counts.current_device_queries - calls->device_queries;
    calls->device_queries = counts.current_device_queries;
    if (status != FG_STATUS_OK) {
        fg_mlp_refused(calls->result, call, status);
    }
    return status == FG_STATUS_OK;
}

int fg_mlp_calls_open(fg_mlp_calls *calls) {
    int64_t queries = 0;
    (void)fg_client_stdout_bytes(calls->client);
    (void)fg_client_state_changes(calls->client);
    return count_queries(calls, "outside", &queries);
}

int fg_mlp_quiet(fg_mlp_calls *calls, const char *call) {
    int64_t bytes = fg_client_stdout_bytes(calls->client);
    const char *changes = fg_client_state_changes(calls->client);
    int64_t queries = 0;
    if (!count_queries(calls, call, &queries)) {
        return 0;
    }
    if (bytes > 0) {
        fg_result_check(calls->result, "contract", FG_CHECK_FAIL, 0, FG_FAULT_CONTRACT,
                        "%s: %lld bytes written to standard output", call, (long long)bytes);
    }
    if (changes[0] != '\0') {
        fg_result_check(calls->result, "contract", FG_CHECK_FAIL, 0, FG_FAULT_CONTRACT,
                        "%s: left the process changed: %s", call, changes);
    }
    if (queries > 0) {
        fg_result_check(calls->result, "contract", FG_CHECK_FAIL, 0, FG_FAULT_CONTRACT,
                        "%s: asked which device is current %lld times, expected never", call,
                        (long long)queries);
    }
    return bytes == 0 && changes[0] == '\0' && queries == 0;
}

static fg_allowed rows_allowed(const fg_mlp_calls *calls) {
    return calls->traits->writes_padding ? FG_ALLOWED_PADDING : FG_ALLOWED_ELEMENTS;
}

/* Everything that a forward must leave alone, and y, which it owes. */
static int watch_forward(fg_mlp_calls *calls, const char *call, int buffer, int saved) {
    return watch(calls, call, buffer, rows_allowed(calls), 1) &&
           watch(calls, call, FG_BUFFER_SCRATCH_FORWARD, FG_ALLOWED_CONTENT, 0) &&
           (saved < 0 || watch(calls, call, saved, FG_ALLOWED_CONTENT, 0)) &&
           unchanged(calls, call);
}

int fg_mlp_forward(fg_mlp_calls *calls, int buffer, int grad) {
    fg_tensors *tensors = calls->tensors;
    int other = buffer == FG_BUFFER_OTHER_Y;
    int saved = !grad ? -1 : other ? FG_BUFFER_OTHER_SAVED : FG_BUFFER_SAVED;
    const char *call = other ? "forward of other x" : grad ? "forward" : "no-grad forward";
    const int fresh[] = {buffer, FG_BUFFER_SCRATCH_FORWARD, saved};
    for (int i = 0; i < (grad ? 3 : 2); i++) {
        fg_tensors_poison(tensors, fresh[i], calls->poison);
        calls->earlier[fresh[i]] = 0;
    }
    fg_forward_args args = {
        .struct_size = sizeof args,
        .in = &calls->inputs,
        .y = view(calls, buffer),
        .saved = grad ? fg_tensors_bytes(tensors, saved) : NULL,
        .scratch = fg_tensors_bytes(tensors, FG_BUFFER_SCRATCH_FORWARD),
    };
    fg_status status = fg_client_forward(calls->client, calls->kernel, &args);
    if (status != FG_STATUS_OK) {
        fg_mlp_refused(calls->result, call, status);
        return 0;
    }
    if (!watch_forward(calls, call, buffer, saved)) {
        return 0;
    }
    remember(calls, buffer);
    if (grad) {
        remember(calls, saved);
    }
    return fg_mlp_quiet(calls, call);
}

/* New poison for every gradient, and the old content of those that are added to. */
static uint32_t prepare_gradients(fg_mlp_calls *calls, int set, uint32_t mask,
                                  fg_backward_args *args) {
    uint32_t adds = calls->value->problem.accumulate ? mask & WEIGHTS : 0;
    for (int i = 0; i < FG_INPUTS; i++) {
        fg_tensors_poison(calls->tensors, set + i, calls->poison);
        calls->earlier[set + i] = 0;
        args->grads[i] = view(calls, set + i);
        if (adds & FG_BIT(i)) {
            fg_tensors_copy(calls->tensors, i == FG_W1 ? FG_BUFFER_BEFORE_W1 : FG_BUFFER_BEFORE_W2,
                            set + i);
        }
    }
    return adds;
}

static int watch_gradients(fg_mlp_calls *calls, const char *call, int set, uint32_t mask,
                           uint32_t adds) {
    for (int i = 0; i < FG_INPUTS; i++) {
        int wanted = (mask & FG_BIT(i)) != 0;
        fg_allowed allowed = wanted ? rows_allowed(calls) : FG_ALLOWED_NOTHING;
        if (!watch(calls, call, set + i, allowed, wanted && !(adds & FG_BIT(i)))) {
            return 0;
        }
    }
    return 1;
}

int fg_mlp_backward(fg_mlp_calls *calls, int set, uint32_t mask) {
    fg_tensors *tensors = calls->tensors;
    const char *call = set == FG_BUFFER_FIRST ? "first backward" : "backward";
    fg_backward_args args = {
        .struct_size = sizeof args,
        .in = &calls->inputs,
        .dy = view(calls, FG_BUFFER_DY),
        .mask = mask,
        .saved = fg_tensors_bytes(tensors, FG_BUFFER_SAVED),
        .scratch = fg_tensors_bytes(tensors, FG_BUFFER_SCRATCH_BACKWARD),
    };
    args.accumulate = prepare_gradients(calls, set, mask, &args);
    fg_tensors_poison(tensors, FG_BUFFER_SCRATCH_BACKWARD, calls->poison);
    fg_status status = fg_client_backward(calls->client, calls->kernel, &args);
    if (status != FG_STATUS_OK) {
        fg_mlp_refused(calls->result, call, status);
        return 0;
    }
    if (!watch_gradients(calls, call, set, mask, args.accumulate) ||
        !watch(calls, call, FG_BUFFER_SCRATCH_BACKWARD, FG_ALLOWED_CONTENT, 0) ||
        !unchanged(calls, call)) {
        return 0;
    }
    for (int i = 0; i < FG_INPUTS; i++) {
        remember(calls, set + i);
    }
    return fg_mlp_quiet(calls, call);
}

int fg_mlp_release(fg_mlp_calls *calls, int saved) {
    fg_status status = fg_client_saved_release(calls->client, calls->kernel,
                                               fg_tensors_bytes(calls->tensors, saved));
    calls->earlier[saved] = 0; // the caller's again
    if (status != FG_STATUS_OK) {
        fg_mlp_refused(calls->result, "saved_release", status);
        return 0;
    }
    return fg_mlp_quiet(calls, "saved_release");
}

static void swap_x(fg_mlp_calls *calls, int buffer) {
    fg_fresh_swap(calls->tensors);
    calls->inputs.inputs[FG_X] = view(calls, buffer);
    fg_tensors_hash_constants(calls->tensors, calls->constants);
}

int fg_mlp_fresh_begin(fg_mlp_calls *calls, int grad) {
    fg_poison poison = calls->poison;
    swap_x(calls, FG_BUFFER_INPUT + FG_X);
    calls->poison = FG_POISON_NAN;
    int done = fg_mlp_forward(calls, FG_BUFFER_OTHER_Y, grad) &&
               (!grad || fg_mlp_release(calls, FG_BUFFER_OTHER_SAVED));
    calls->poison = poison;
    calls->inputs.inputs[FG_X] = view(calls, FG_BUFFER_OTHER_X);
    return done;
}

void fg_mlp_fresh_end(fg_mlp_calls *calls) {
    swap_x(calls, FG_BUFFER_INPUT + FG_X);
}
