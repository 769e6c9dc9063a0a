#include "conformance/suites/tiny_backend.h"
#include "contract/alloc.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct fg_device {
    int32_t index;
};

struct fg_kernel {
    int32_t device;
    fg_problem problem;
    fg_recipe recipe;
};

tiny_state tiny;
static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;

void tiny_reset(void) {
    tiny = (tiny_state){.refused_recipe = -1,
                        .fail_forward_at = -1,
                        .fail_backward_at = -1,
                        .traits = {.struct_size = sizeof(fg_traits),
                                   .base_align = 16,
                                   .row_align = 16,
                                   .segment_align = 1,
                                   .deterministic = 1}};
}

static tiny_call *last_logged(int32_t what, int32_t n) {
    for (int32_t i = tiny.call_count - 1; i >= 0; i--) {
        if (tiny.calls[i].what == what && n-- == 0) {
            return &tiny.calls[i];
        }
    }
    return NULL;
}

const tiny_call *tiny_last(int32_t what, int32_t n) {
    return last_logged(what, n);
}

int32_t tiny_count(int32_t what) {
    int32_t count = 0;
    while (last_logged(what, count) != NULL) {
        count++;
    }
    return count;
}

/* Logs a call; a full log keeps its latest half. */
static void log_call(const fg_kernel *kernel, tiny_call call) {
    call.device = kernel->device;
    call.first = kernel->problem.first_op;
    call.count = kernel->problem.op_count;
    call.kernel = kernel;
    call.recipe = kernel->recipe;
    pthread_mutex_lock(&log_mutex);
    if (tiny.call_count == TINY_CALLS) {
        memmove(tiny.calls, tiny.calls + TINY_CALLS / 2, sizeof tiny.calls / 2);
        tiny.call_count = TINY_CALLS / 2;
    }
    tiny.calls[tiny.call_count++] = call;
    pthread_mutex_unlock(&log_mutex);
}

static fg_status device_open(int32_t index, fg_device **out) {
    if (index < -1 || index > 1) {
        return FG_FAIL(FG_STATUS_DEVICE, "found device %d, expected -1, 0 or 1", index);
    }
    *out = fg_alloc(sizeof **out, FG_ALLOC_GENERAL);
    if (*out == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for a device");
    }
    (*out)->index = index;
    tiny.devices_open++;
    return FG_STATUS_OK;
}

static void device_close(fg_device *device) {
    fg_free(device);
    tiny.devices_open--;
}

static fg_status traits(fg_device *device, fg_traits *out) {
    (void)device;
    *out = tiny.traits;
    return tiny.fail_traits;
}

static fg_status supports(fg_device *device, const fg_problem *problem, const fg_recipe *recipe,
                          char reason[FG_REASON_SIZE]) {
    (void)device;
    tiny.supports_calls++;
    if (tiny.fail_supports != FG_STATUS_OK) {
        return tiny.fail_supports;
    }
    if (tiny.refused_recipe == recipe->kind) {
        snprintf(reason, FG_REASON_SIZE, "tiny has no such recipe");
        return FG_STATUS_UNSUPPORTED;
    }
    if (tiny.refused & FG_BIT(3 * problem->first_op + problem->op_count - 1)) {
        snprintf(reason, FG_REASON_SIZE, "tiny does not do that run");
        return FG_STATUS_UNSUPPORTED;
    }
    return FG_STATUS_OK;
}

static fg_status mem_alloc(fg_device *device, size_t bytes, void **out) {
    (void)device;
    tiny.allocations++;
    *out = fg_alloc(bytes, FG_ALLOC_DEVICE);
    if (*out == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no device memory");
    }
    memset(*out, 0xff, bytes); // NaN: nothing may be read before it is written
    return FG_STATUS_OK;
}

static void mem_free(fg_device *device, void *pointer) {
    (void)device;
    fg_free(pointer);
}

static fg_status copy_in(fg_device *device, void *to, const void *from_host, size_t bytes,
                         fg_stream stream) {
    (void)device;
    (void)stream;
    memcpy(to, from_host, bytes);
    return FG_STATUS_OK;
}

static fg_status stream_sync(fg_device *device, fg_stream stream) {
    (void)device;
    (void)stream;
    return FG_STATUS_OK;
}

static fg_status kernel_create(fg_device *device, const fg_problem *problem,
                               const fg_recipe *recipe, fg_kernel **out) {
    if (tiny.fail_create) {
        return FG_FAIL(FG_STATUS_UNSUPPORTED, "tiny cannot make this kernel");
    }
    fg_kernel *kernel = fg_alloc(sizeof *kernel, FG_ALLOC_PLAN);
    if (kernel == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for a kernel");
    }
    *kernel = (fg_kernel){device->index, *problem, *recipe};
    tiny.kernels_alive++;
    log_call(kernel, (tiny_call){.what = TINY_CREATE});
    *out = kernel;
    return FG_STATUS_OK;
}

static void kernel_destroy(fg_kernel *kernel) {
    fg_free(kernel);
    tiny.kernels_alive--;
}

static fg_status kernel_sizes(const fg_kernel *kernel, int64_t rows, fg_kernel_sizes *out) {
    if (rows > 1000) {
        return FG_FAIL(FG_STATUS_UNSUPPORTED, "rows: found %lld, expected up to 1000",
                       (long long)rows);
    }
    out->saved = kernel->problem.op_count == 3 ? 2 * sizeof(float) * (size_t)rows : 0;
    out->scratch_forward = 2 * sizeof(float) * (size_t)rows;
    out->scratch_backward = 2 * sizeof(float) * (size_t)rows;
    return FG_STATUS_OK;
}

static float *at(const fg_tensor *tensor, int64_t row) {
    return fg_tensor_row(tensor, row);
}

static float first_of(const fg_tensor *tensor, float otherwise) {
    return tensor != NULL ? *at(tensor, 0) : otherwise;
}

static uint32_t present(const fg_tensor *const *tensors) {
    uint32_t mask = 0;
    for (int i = 0; i < FG_INPUT_SLOTS; i++) {
        mask |= tensors[i] != NULL ? FG_BIT(i) : 0;
    }
    return mask;
}

static tiny_call describe(const fg_inputs *in, const fg_quant *quant, fg_stream stream) {
    return (tiny_call){.stream = stream,
                       .rows = in->rows,
                       .inputs = present(in->inputs),
                       .scale = quant != NULL && quant->scale[FG_ROLE_X] != NULL
                                    ? *at(quant->scale[FG_ROLE_X], 0)
                                    : 0,
                       .records = quant != NULL && quant->amax[FG_ROLE_X] != NULL};
}

/* Where a row of y1 (which = 0) or h (1) lies: its own tensor, or `saved` or scratch. */
static float *middle(const fg_tensor *tensor, void *saved, void *scratch, int64_t rows, int which,
                     int64_t t) {
    if (tensor != NULL) {
        return at(tensor, t);
    }
    float *block = saved != NULL ? saved : scratch;
    return block + which * rows + t;
}

static float bias_scale(const fg_problem *problem, const fg_inputs *in, int64_t t) {
    if (!problem->scale_bias) {
        return 1;
    }
    return *at(in->inputs[problem->separate_bias_scale ? FG_BIAS_P : FG_P], t);
}

static fg_status mlp_forward(const fg_kernel *kernel, const fg_forward_args *args,
                             fg_stream stream) {
    const fg_inputs *in = args->in;
    const fg_tensor *const *input = in->inputs;
    const int32_t first = kernel->problem.first_op, end = first + kernel->problem.op_count;
    void *saved = kernel->problem.op_count == 3 ? args->saved : NULL;
    tiny_call call = describe(in, args->quant, stream);
    call.what = TINY_FORWARD;
    call.saved = args->saved;
    call.scratch = args->scratch;
    call.has_y1 = args->y1 != NULL;
    call.has_h = args->h != NULL;
    log_call(kernel, call);
    if (tiny.in_forward != NULL) {
        tiny.in_forward();
    }
    if (first <= tiny.fail_forward_at && tiny.fail_forward_at < end) {
        return FG_FAIL(FG_STATUS_INTERNAL, "tiny fails this forward");
    }
    for (int64_t t = 0; t < in->rows; t++) {
        float *y1 = middle(args->y1, saved, args->scratch, in->rows, 0, t);
        float *h = middle(args->h, saved, args->scratch, in->rows, 1, t);
        if (first == FG_OP_FC1) {
            *y1 = *at(input[FG_X], t) * *at(input[FG_W1], 0) + first_of(input[FG_B1], 0);
        }
        if (first <= FG_OP_ACTIVATION && end > FG_OP_ACTIVATION) {
            *h = (input[FG_P] != NULL ? *at(input[FG_P], t) : 1) * *y1;
        }
        if (end == FG_OP_COUNT) {
            *at(args->y, t) = *h * *at(input[FG_W2], 0) +
                              bias_scale(&kernel->problem, in, t) * first_of(input[FG_B2], 0);
        }
    }
    return FG_STATUS_OK;
}

/* Adds to a gradient, or overwrites it with the first row's part. */
static void put(const fg_backward_args *args, int which, int64_t row, int is_first, float value) {
    if (!(args->mask & FG_BIT(which))) {
        return;
    }
    float *to = at(args->grads[which], row);
    *to = is_first && !(args->accumulate & FG_BIT(which)) ? value : *to + value;
}

/* Where the gradient of y1 or h goes or comes from. */
static float *middle_grad(const fg_tensor *tensor, int64_t t, float *own) {
    return tensor != NULL ? at(tensor, t) : own;
}

static void backward_row(const fg_kernel *kernel, const fg_backward_args *args, int64_t t) {
    const fg_tensor *const *input = args->in->inputs;
    const int32_t first = kernel->problem.first_op, end = first + kernel->problem.op_count;
    void *saved = kernel->problem.op_count == 3 ? (void *)(uintptr_t)args->saved : NULL;
    const int64_t rows = args->in->rows;
    float own_dh = 0, own_dy1 = 0;
    float *dh = middle_grad(args->dh, t, &own_dh);
    float *dy1 = middle_grad(args->dy1, t, &own_dy1);
    const float *y1 = middle(args->y1, saved, args->scratch, rows, 0, t);
    const float *h = middle(args->h, saved, args->scratch, rows, 1, t);
    int adds_p = 0;
    if (end == FG_OP_COUNT) {
        const float dy = *at(args->dy, t), scale = bias_scale(&kernel->problem, args->in, t);
        *dh = dy * *at(input[FG_W2], 0);
        put(args, FG_W2, 0, t == 0, dy * *h);
        put(args, FG_B2, 0, t == 0, dy * scale);
        put(args, FG_BIAS_P, t, 1, dy * first_of(input[FG_B2], 0));
        if (kernel->problem.scale_bias && !kernel->problem.separate_bias_scale) {
            put(args, FG_P, t, 1, dy * first_of(input[FG_B2], 0));
            adds_p = 1;
        }
    }
    if (first <= FG_OP_ACTIVATION && end > FG_OP_ACTIVATION) {
        put(args, FG_P, t, !adds_p, *dh * *y1);
        *dy1 = *dh * (input[FG_P] != NULL ? *at(input[FG_P], t) : 1);
    }
    if (first == FG_OP_FC1) {
        put(args, FG_X, t, 1, *dy1 * *at(input[FG_W1], 0));
        put(args, FG_W1, 0, t == 0, *dy1 * *at(input[FG_X], t));
        put(args, FG_B1, 0, t == 0, *dy1);
    }
}

static fg_status mlp_backward(const fg_kernel *kernel, const fg_backward_args *args,
                              fg_stream stream) {
    const int32_t first = kernel->problem.first_op, end = first + kernel->problem.op_count;
    tiny_call call = describe(args->in, args->quant, stream);
    call.what = TINY_BACKWARD;
    call.saved = args->saved;
    call.scratch = args->scratch;
    call.has_y1 = args->y1 != NULL;
    call.has_h = args->h != NULL;
    call.has_dy = args->dy != NULL;
    call.has_dh = args->dh != NULL;
    call.has_dy1 = args->dy1 != NULL;
    call.mask = args->mask;
    call.accumulate = args->accumulate;
    call.grads = present(args->grads);
    log_call(kernel, call);
    if (first <= tiny.fail_backward_at && tiny.fail_backward_at < end) {
        return FG_FAIL(FG_STATUS_INTERNAL, "tiny fails this backward");
    }
    for (int64_t t = 0; t < args->in->rows; t++) {
        backward_row(kernel, args, t);
    }
    return FG_STATUS_OK;
}

static void saved_release(const fg_kernel *kernel, void *saved) {
    log_call(kernel, (tiny_call){.what = TINY_RELEASE, .saved = saved});
}

static const char *last_error(fg_device *device) {
    (void)device;
    return fg_message();
}

const fg_backend *tiny_backend(void) {
    static const fg_backend backend = {.struct_size = sizeof backend,
                                       .name = "tiny",
                                       .device_open = device_open,
                                       .device_close = device_close,
                                       .traits = traits,
                                       .supports = supports,
                                       .mem_alloc = mem_alloc,
                                       .mem_free = mem_free,
                                       .copy_in = copy_in,
                                       .stream_sync = stream_sync,
                                       .kernel_create = kernel_create,
                                       .kernel_destroy = kernel_destroy,
                                       .kernel_sizes = kernel_sizes,
                                       .mlp_forward = mlp_forward,
                                       .mlp_backward = mlp_backward,
                                       .saved_release = saved_release,
                                       .last_error = last_error};
    return &backend;
}
