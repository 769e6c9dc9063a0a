#include "reference/backend_args.h"
#include "reference/host_device.h"
#include <string.h>

fg_status fg_struct_take(const void *from, size_t size, const char *name, void *to) {
    size_t given = 0;
    if (from == NULL) {
        return FG_FAIL(FG_STATUS_INVALID, "found no %s, expected one", name);
    }
    memcpy(&given, from, sizeof given);
    if (given < sizeof given) {
        return FG_FAIL(FG_STATUS_ABI, "%s: found struct_size %zu, expected at least %zu", name,
                       given, sizeof given);
    }
    memset(to, 0, size);
    memcpy(to, from, given < size ? given : size);
    memcpy(to, &size, sizeof size);
    return FG_STATUS_OK;
}

fg_status fg_struct_give(const void *from, const char *name, void *to) {
    size_t full = 0;
    size_t given = 0;
    if (to == NULL) {
        return FG_FAIL(FG_STATUS_INVALID, "found no %s to fill, expected one", name);
    }
    memcpy(&full, from, sizeof full);
    memcpy(&given, to, sizeof given);
    if (given < sizeof given) {
        return FG_FAIL(FG_STATUS_ABI, "%s: found struct_size %zu, expected at least %zu", name,
                       given, sizeof given);
    }
    memcpy(to, from, given < full ? given : full);
    memcpy(to, &given, sizeof given);
    return FG_STATUS_OK;
}

int fg_call_has(const fg_tensor *tensor) {
    return tensor->ndim != 0;
}

fg_status fg_call_buffer(const void *buffer, size_t bytes, const char *name) {
    if (buffer == NULL && bytes > 0) {
        return FG_FAIL(FG_STATUS_INVALID, "%s: found a null pointer, expected %zu bytes", name,
                       bytes);
    }
    if ((uintptr_t)buffer % FG_CALL_BASE_ALIGN != 0) {
        return FG_FAIL(FG_STATUS_INVALID, "%s: found address %p, expected a multiple of %d", name,
                       buffer, FG_CALL_BASE_ALIGN);
    }
    return FG_STATUS_OK;
}

fg_status fg_call_rows(int64_t rows) {
    if (rows < 0) {
        return FG_FAIL(FG_STATUS_INVALID, "rows: found %lld, expected at least 0", (long long)rows);
    }
    if (rows > INT32_MAX) {
        return FG_FAIL(FG_STATUS_OVERFLOW, "rows: found %lld, expected at most %d", (long long)rows,
                       INT32_MAX);
    }
    return FG_STATUS_OK;
}

/* What one tensor must be. */
typedef struct expected {
    const char *name;
    int32_t device;
    fg_dtype dtype;
    int32_t ndim;
    int64_t dims[FG_TENSOR_DIMS];
} expected;

static fg_status take_tensor(const fg_tensor *from, const expected *want, fg_tensor *out) {
    FG_TRY(fg_struct_take(from, sizeof *out, want->name, out));
    if (fg_host_device_fold(out->device) != want->device) {
        return FG_FAIL(FG_STATUS_DEVICE, "%s lives on device %d, the kernel on device %d",
                       want->name, out->device, want->device);
    }
    FG_TRY(fg_tensor_check(out, want->name, want->dtype, want->ndim, want->dims));
    return fg_call_buffer(out->data, 0, want->name);
}

/* An intermediate or a gradient of one, [T, cols] I/O type. */
static fg_status take_matrix(const fg_call *call, int32_t device, const fg_tensor *from,
                             const char *name, int64_t cols, fg_tensor *out) {
    expected want = {name, device, (fg_dtype)call->problem->dtype, 2, {call->rows, cols, 0}};
    return take_tensor(from, &want, out);
}

static fg_status take_input(const fg_call *call, int32_t device, const fg_tensor *from, int input,
                            fg_dtype dtype, const char *name, fg_tensor *out) {
    expected want = {name, device, dtype, 0, {0, 0, 0}};
    want.ndim = fg_problem_input_dims(call->problem, input, call->rows, want.dims);
    return take_tensor(from, &want, out);
}

static fg_status take_splits(fg_call *call, int32_t device, const fg_tensor *from) {
    const fg_problem *problem = call->problem;
    expected want = {
        "splits", device, (fg_dtype)problem->splits_dtype, 1, {problem->experts, 0, 0}};
    FG_TRY(take_tensor(from, &want, &call->splits));
    fg_splits_read(problem, call->splits.data, call->count);
    return fg_segments(problem, call->count, call->rows, call->begin);
}

/* Inputs and splits, for either direction. */
static fg_status take_inputs(const fg_problem *problem, int32_t device, const fg_inputs *given,
                             fg_call *call) {
    fg_inputs in;
    memset(call, 0, sizeof *call);
    call->problem = problem;
    FG_TRY(fg_struct_take(given, sizeof in, "inputs", &in));
    FG_TRY(fg_call_rows(in.rows));
    call->rows = in.rows;
    FG_TRY(take_splits(call, device, in.splits));
    uint32_t needed = fg_problem_run_inputs(problem);
    for (int i = 0; i < FG_INPUTS; i++) {
        if ((needed & FG_BIT(i)) != 0) {
            FG_TRY(take_input(call, device, in.inputs[i], i, fg_problem_input_dtype(problem, i),
                              fg_input_name(i), &call->inputs[i]));
        }
    }
    return FG_STATUS_OK;
}

/* The tensors a call writes, then all the others it holds, by name. */
typedef struct named {
    const fg_tensor *tensor;
    const char *name;
} named;

static fg_status check_aliases(const named *written, int written_count, const named *read,
                               int read_count) {
    for (int i = 0; i < written_count; i++) {
        for (int j = 0; j < read_count + i; j++) {
            const named *other = j < read_count ? &read[j] : &written[j - read_count];
            if (fg_call_has(written[i].tensor) && fg_call_has(other->tensor) &&
                fg_tensor_overlap(written[i].tensor, other->tensor)) {
                return FG_FAIL(FG_STATUS_ALIAS, "%s overlaps %s, expected memory of its own",
                               written[i].name, other->name);
            }
        }
    }
    return FG_STATUS_OK;
}

static int list_inputs(const fg_call *call, named *list) {
    for (int i = 0; i < FG_INPUTS; i++) {
        list[i] = (named){&call->inputs[i], fg_input_name(i)};
    }
    list[FG_INPUTS] = (named){&call->splits, "splits"};
    return FG_INPUTS + 1;
}

fg_status fg_call_forward(const fg_problem *problem, int32_t device, const fg_forward_args *args,
                          fg_call *out) {
    int32_t first = problem->first_op;
    int32_t last = first + problem->op_count - 1;
    FG_TRY(take_inputs(problem, device, args->in, out));
    int whole = problem->op_count == FG_OP_COUNT;
    int y1_needed = first == FG_OP_ACTIVATION || last == FG_OP_FC1;
    int y1_welcome = first == FG_OP_FC1 && last == FG_OP_ACTIVATION && args->y1 != NULL;
    int h_needed = first == FG_OP_FC2 || last == FG_OP_ACTIVATION;
    int h_welcome = last == FG_OP_FC2 && !whole && args->h != NULL;
    if (y1_needed || y1_welcome) {
        FG_TRY(take_matrix(out, device, args->y1, "y1", fg_problem_o1(problem), &out->y1));
    }
    if (h_needed || h_welcome) {
        FG_TRY(take_matrix(out, device, args->h, "h", problem->inter, &out->h));
    }
    if (last == FG_OP_FC2) {
        FG_TRY(take_matrix(out, device, args->y, "y", problem->hidden, &out->y));
    }
    named read[FG_INPUTS + 3];
    named written[3];
    int reads = list_inputs(out, read);
    int writes = 0;
    named y1 = {&out->y1, "y1"};
    named h = {&out->h, "h"};
    *(first == FG_OP_ACTIVATION ? &read[reads++] : &written[writes++]) = y1;
    *(first == FG_OP_FC2 ? &read[reads++] : &written[writes++]) = h;
    written[writes++] = (named){&out->y, "y"};
    return check_aliases(written, writes, read, reads);
}

/* The bits a run can give: its inputs, or the intermediate that takes x's place. */
static fg_status check_masks(const fg_problem *problem, uint32_t mask, uint32_t accumulate) {
    uint32_t possible = fg_problem_run_inputs(problem);
    possible |= problem->first_op == FG_OP_ACTIVATION ? FG_MASK_DY1 : 0u;
    possible |= problem->first_op == FG_OP_FC2 ? FG_MASK_DH : 0u;
    if ((mask & ~possible) != 0) {
        return FG_FAIL(FG_STATUS_INVALID, "mask: found 0x%x, expected bits of 0x%x only", mask,
                       possible);
    }
    uint32_t weights = FG_BIT(FG_W1) | FG_BIT(FG_W2);
    uint32_t addable = FG_BIT(FG_P) | (problem->wgrad_dtype == FG_F32 ? weights : 0u);
    if ((accumulate & mask & ~addable) != 0) {
        return FG_FAIL(FG_STATUS_INVALID, "accumulate: found 0x%x, expected bits of 0x%x only",
                       accumulate, addable);
    }
    return FG_STATUS_OK;
}

/* The forward's intermediates, which a shorter run's backward reads. */
static fg_status take_intermediates(const fg_problem *problem, int32_t device,
                                    const fg_backward_args *args, fg_call *out) {
    int32_t first = problem->first_op;
    int32_t last = first + problem->op_count - 1;
    uint32_t past_h = FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_B1) | FG_BIT(FG_P) | FG_MASK_DY1;
    int whole = problem->op_count == FG_OP_COUNT;
    int activation = first <= FG_OP_ACTIVATION && last >= FG_OP_ACTIVATION;
    if (!whole && activation && (args->mask & past_h) != 0) {
        FG_TRY(take_matrix(out, device, args->y1, "y1", fg_problem_o1(problem), &out->y1));
    }
    if (!whole && last == FG_OP_FC2 && (args->mask & FG_BIT(FG_W2)) != 0) {
        FG_TRY(take_matrix(out, device, args->h, "h", problem->inter, &out->h));
    }
    return FG_STATUS_OK;
}

/* The gradient of the run's output, and where that of its main input goes. */
static fg_status take_gradients(const fg_problem *problem, int32_t device,
                                const fg_backward_args *args, fg_call *out) {
    int32_t last = problem->first_op + problem->op_count - 1;
    int64_t o1 = fg_problem_o1(problem);
    if (last == FG_OP_FC2) {
        FG_TRY(take_matrix(out, device, args->dy, "dy", problem->hidden, &out->dy));
    }
    if (last == FG_OP_ACTIVATION || (args->mask & FG_MASK_DH) != 0) {
        FG_TRY(take_matrix(out, device, args->dh, "dh", problem->inter, &out->dh));
    }
    if (last == FG_OP_FC1 || (args->mask & FG_MASK_DY1) != 0) {
        FG_TRY(take_matrix(out, device, args->dy1, "dy1", o1, &out->dy1));
    }
    for (int i = 0; i < FG_INPUTS; i++) {
        if ((args->mask & FG_BIT(i)) != 0) {
            FG_TRY(take_input(out, device, args->grads[i], i, fg_problem_grad_dtype(problem, i),
                              fg_grad_name(i), &out->grads[i]));
        }
    }
    return FG_STATUS_OK;
}

fg_status fg_call_backward(const fg_problem *problem, int32_t device, const fg_backward_args *args,
                           fg_call *out) {
    FG_TRY(take_inputs(problem, device, args->in, out));
    FG_TRY(check_masks(problem, args->mask, args->accumulate));
    out->mask = args->mask;
    out->accumulate = args->accumulate;
    FG_TRY(take_intermediates(problem, device, args, out));
    FG_TRY(take_gradients(problem, device, args, out));
    named read[FG_INPUTS + 6];
    named written[FG_INPUTS + 2];
    int reads = list_inputs(out, read);
    int writes = 0;
    read[reads++] = (named){&out->y1, "y1"};
    read[reads++] = (named){&out->h, "h"};
    read[reads++] = (named){&out->dy, "dy"};
    named dh = {&out->dh, "dh"};
    named dy1 = {&out->dy1, "dy1"};
    *((args->mask & FG_MASK_DH) != 0 ? &written[writes++] : &read[reads++]) = dh;
    *((args->mask & FG_MASK_DY1) != 0 ? &written[writes++] : &read[reads++]) = dy1;
    for (int i = 0; i < FG_INPUTS; i++) {
        written[writes++] = (named){&out->grads[i], fg_grad_name(i)};
    }
    return check_aliases(written, writes, read, reads);
}
