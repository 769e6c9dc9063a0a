/* A backend as a vendor would write one: naive float32 loops in host memory, grouped SwiGLU without
 * bias on f32 or bf16. It includes one header and links nothing of fusegate. */

#include "contract/backend.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fg_kernel {
    fg_problem problem;
};

static _Thread_local const char *message = "";
static int the_device; /* only its address counts */

static fg_status fail(fg_status status, const char *text) {
    message = text;
    return status;
}

static float load(const fg_tensor *tensor, int64_t at) {
    float value;
    if (tensor->dtype == FG_F32) {
        return ((const float *)tensor->data)[at];
    }
    uint32_t bits = (uint32_t)((const uint16_t *)tensor->data)[at] << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void store(const fg_tensor *tensor, int64_t at, float value) {
    uint32_t bits;
    if (tensor->dtype == FG_F32) {
        ((float *)tensor->data)[at] = value;
        return;
    }
    memcpy(&bits, &value, sizeof bits);
    uint32_t even = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    ((uint16_t *)tensor->data)[at] = (uint16_t)(value == value ? even : bits >> 16 | 0x40u);
}

static fg_status device_open(int32_t index, fg_device **out) {
    if (index != -1 && index != 0) {
        return fail(FG_STATUS_DEVICE, "found another device, expected -1 or 0");
    }
    *out = (fg_device *)&the_device;
    return FG_STATUS_OK;
}

static void device_close(fg_device *device) {
    (void)device;
}

static fg_status traits(fg_device *device, fg_traits *out) {
    const fg_traits own = {.memory = FG_MEMORY_HOST,
                           .deterministic = 1,
                           .row_invariant = 1,
                           .base_align = 4,
                           .row_align = 1,
                           .segment_align = 1,
                           .accumulator_digits = 24,
                           .accumulator_block = 1,
                           .operand_digits = 24,
                           .rounding = 0,
                           .activation_error = 8.0};
    size_t given = out->struct_size;
    (void)device;
    memcpy(out, &own, given < sizeof own ? given : sizeof own);
    out->struct_size = given;
    return FG_STATUS_OK;
}

static fg_status supports(fg_device *device, const fg_problem *p, const fg_recipe *recipe,
                          char reason[FG_REASON_SIZE]) {
    int io = p->dtype == FG_F32 || p->dtype == FG_BF16;
    int types = p->prob_dtype == FG_F32 && p->wgrad_dtype == FG_F32 && p->splits_dtype == FG_I32;
    int run = p->first_op == 0 && p->op_count == FG_OP_COUNT && p->segment_align == 1;
    int weights = p->weight_form == FG_WEIGHTS_TENSOR && p->weight_order == FG_WEIGHTS_OI;
    int act = p->activation == FG_ACT_SWIGLU && p->interleave == 0 && !p->bias;
    const char *found = recipe->kind != FG_RECIPE_NONE ? "recipes"
                        : !io                          ? "I/O types but f32 and bf16"
                        : !types   ? "p and weight gradients but f32, splits but i32"
                        : !run     ? "runs but the whole one, aligned segments"
                        : !weights ? "weights but one tensor [E, O, I]"
                        : !act     ? "activations but SwiGLU in halves without bias"
                                   : NULL;
    (void)device;
    if (found != NULL) {
        snprintf(reason, FG_REASON_SIZE, "plain takes no %s", found);
        return fail(FG_STATUS_UNSUPPORTED, found);
    }
    return FG_STATUS_OK;
}

static fg_status mem_alloc(fg_device *device, size_t bytes, void **out) {
    (void)device;
    *out = malloc(bytes > 0 ? bytes : 1);
    return *out == NULL ? fail(FG_STATUS_NO_MEMORY, "no memory") : FG_STATUS_OK;
}

static void mem_free(fg_device *device, void *pointer) {
    (void)device;
    free(pointer);
}

static fg_status mem_fill32(fg_device *device, void *to, uint32_t pattern, size_t words,
                            fg_stream stream) {
    (void)device, (void)stream;
    for (size_t i = 0; i < words; i++) {
        memcpy((char *)to + 4 * i, &pattern, 4);
    }
    return FG_STATUS_OK;
}

static fg_status copy(fg_device *device, void *to, const void *from, size_t bytes,
                      fg_stream stream) {
    (void)device, (void)stream;
    memmove(to, from, bytes);
    return FG_STATUS_OK;
}

/* Work runs at the call: a stream is a byte that nobody reads, freed as memory is. */
static fg_status stream_create(fg_device *device, fg_stream *out) {
    return mem_alloc(device, 1, out);
}

static fg_status stream_sync(fg_device *device, fg_stream stream) {
    (void)device, (void)stream;
    return FG_STATUS_OK;
}

static fg_status kernel_create(fg_device *device, const fg_problem *problem,
                               const fg_recipe *recipe, fg_kernel **out) {
    char reason[FG_REASON_SIZE];
    fg_status status = supports(device, problem, recipe, reason);
    fg_kernel *kernel = status == FG_STATUS_OK ? malloc(sizeof *kernel) : NULL;
    if (kernel == NULL) {
        return status != FG_STATUS_OK ? status : fail(FG_STATUS_NO_MEMORY, "no memory");
    }
    kernel->problem = *problem;
    *out = kernel;
    return FG_STATUS_OK;
}

static void kernel_destroy(fg_kernel *kernel) {
    free(kernel);
}

/* Nothing is saved: the backward computes y1 again. Scratch: rows of y1, h, dh; dw1 and dw2. */
static fg_status kernel_sizes(const fg_kernel *kernel, int64_t rows, fg_kernel_sizes *out) {
    size_t hidden = (size_t)kernel->problem.hidden, inter = (size_t)kernel->problem.inter;
    (void)rows;
    out->saved = 0;
    out->scratch_forward = 4 * inter * sizeof(float);
    out->scratch_backward = (4 * inter + 3 * inter * hidden) * sizeof(float);
    return FG_STATUS_OK;
}

/* The number of rows of an expert; negative when it passes T. */
static int64_t split(const fg_inputs *in, int64_t e, int64_t begin) {
    int64_t rows = ((const int32_t *)in->splits->data)[e];
    return rows <= in->rows - begin ? rows : -1;
}

static float weight(const fg_inputs *in, int input, int64_t e, int64_t o, int64_t i) {
    const fg_tensor *w = in->inputs[input];
    return load(w, e * w->strides[0] + o * w->strides[1] + i);
}

/* y1 [2F] and unscaled a [F] of one row. */
static void forward_row(const fg_problem *p, const fg_inputs *in, int64_t e, int64_t row, float *y1,
                        float *a) {
    const fg_tensor *x = in->inputs[FG_X];
    for (int64_t o = 0; o < 2 * p->inter; o++) {
        y1[o] = 0.0f;
        for (int64_t k = 0; k < p->hidden; k++) {
            y1[o] += load(x, row * x->strides[0] + k) * weight(in, FG_W1, e, o, k);
        }
    }
    for (int64_t j = 0; j < p->inter; j++) {
        a[j] = y1[j] / (1.0f + expf(-y1[j])) * y1[p->inter + j];
    }
}

static fg_status mlp_forward(const fg_kernel *kernel, const fg_forward_args *args,
                             fg_stream stream) {
    const fg_problem *p = &kernel->problem;
    const fg_inputs *in = args->in;
    float *y1 = args->scratch, *a = y1 + 2 * p->inter;
    (void)stream;
    for (int64_t e = 0, row = 0, end = 0; e < p->experts; e++) {
        int64_t rows = split(in, e, row);
        if (rows < 0) {
            return fail(FG_STATUS_SHAPE, "splits pass T or are negative");
        }
        for (end = row + rows; row < end; row++) {
            float prob = p->prob ? load(in->inputs[FG_P], row) : 1.0f;
            forward_row(p, in, e, row, y1, a);
            for (int64_t c = 0; c < p->hidden; c++) {
                float sum = 0.0f;
                for (int64_t j = 0; j < p->inter; j++) {
                    sum += a[j] * prob * weight(in, FG_W2, e, c, j);
                }
                store(args->y, row * args->y->strides[0] + c, sum);
            }
        }
    }
    return FG_STATUS_OK;
}

static int wants(const fg_backward_args *args, int input) {
    return (args->mask & FG_BIT(input)) != 0;
}

/* dx and dp of one row; adds to dw1 [2F, H] and dw2 [H, F]. */
static void backward_row(const fg_problem *p, const fg_backward_args *args, int64_t e, int64_t row,
                         float *y1, float *dw1) {
    const fg_tensor *x = args->in->inputs[FG_X], *dx = args->grads[FG_X];
    float *a = y1 + 2 * p->inter, *dw2 = dw1 + 2 * p->inter * p->hidden, dp = 0.0f;
    float prob = p->prob ? load(args->in->inputs[FG_P], row) : 1.0f;
    forward_row(p, args->in, e, row, y1, a);
    for (int64_t j = 0; j < p->inter; j++) {
        float dh = 0.0f, g = y1[j], u = y1[p->inter + j], s = 1.0f / (1.0f + expf(-g));
        for (int64_t c = 0; c < p->hidden; c++) {
            float dy = load(args->dy, row * args->dy->strides[0] + c);
            dh += dy * weight(args->in, FG_W2, e, c, j);
            dw2[c * p->inter + j] += dy * (a[j] * prob);
        }
        dp += dh * a[j];
        y1[j] = dh * prob * u * (s + g * s * (1.0f - s));
        y1[p->inter + j] = dh * prob * (g * s);
    }
    for (int64_t k = 0; k < p->hidden; k++) {
        float sum = 0.0f, from = load(x, row * x->strides[0] + k);
        for (int64_t o = 0; o < 2 * p->inter; o++) {
            sum += y1[o] * weight(args->in, FG_W1, e, o, k);
            dw1[o * p->hidden + k] += y1[o] * from;
        }
        if (wants(args, FG_X)) {
            store(dx, row * dx->strides[0] + k, sum);
        }
    }
    if (wants(args, FG_P)) {
        float before = args->accumulate & FG_BIT(FG_P) ? load(args->grads[FG_P], row) : 0.0f;
        store(args->grads[FG_P], row, before + dp);
    }
}

static void store_weight(const fg_backward_args *args, int input, int64_t e, int empty,
                         const float *sums) {
    const fg_tensor *dw = args->grads[input];
    int add = (args->accumulate & FG_BIT(input)) != 0;
    for (int64_t i = 0; wants(args, input) && !(add && empty) && i < dw->dims[1] * dw->dims[2];
         i++) {
        int64_t row = i / dw->dims[2], col = i % dw->dims[2];
        int64_t at = e * dw->strides[0] + row * dw->strides[1] + col;
        store(dw, at, add ? load(dw, at) + sums[i] : sums[i]);
    }
}

static fg_status mlp_backward(const fg_kernel *kernel, const fg_backward_args *args,
                              fg_stream stream) {
    const fg_problem *p = &kernel->problem;
    int64_t weights = p->hidden * p->inter;
    float *y1 = args->scratch, *dw1 = y1 + 4 * p->inter;
    (void)stream;
    for (int64_t e = 0, row = 0, end = 0; e < p->experts; e++) {
        int64_t rows = split(args->in, e, row);
        if (rows < 0) {
            return fail(FG_STATUS_SHAPE, "splits pass T or are negative");
        }
        memset(dw1, 0, 3 * (size_t)weights * sizeof *dw1);
        for (end = row + rows; row < end; row++) {
            backward_row(p, args, e, row, y1, dw1);
        }
        store_weight(args, FG_W1, e, rows == 0, dw1);
        store_weight(args, FG_W2, e, rows == 0, dw1 + 2 * weights);
    }
    return FG_STATUS_OK;
}

static const char *last_error(fg_device *device) {
    (void)device;
    return message;
}

static const fg_backend backend = {
    .struct_size = sizeof backend,
    .name = "plain",
    .device_open = device_open,
    .device_close = device_close,
    .traits = traits,
    .supports = supports,
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .mem_fill32 = mem_fill32,
    .copy_in = copy,
    .copy_out = copy,
    .stream_create = stream_create,
    .stream_destroy = mem_free,
    .stream_sync = stream_sync,
    .kernel_create = kernel_create,
    .kernel_destroy = kernel_destroy,
    .kernel_sizes = kernel_sizes,
    .mlp_forward = mlp_forward,
    .mlp_backward = mlp_backward,
    .last_error = last_error,
};

fg_status fg_backend_entry(uint32_t abi, const fg_host *host, const fg_backend **out);
fg_status fg_backend_entry(uint32_t abi, const fg_host *host, const fg_backend **out) {
    (void)host;
    *out = abi == FG_BACKEND_ABI ? &backend : NULL;
    return abi == FG_BACKEND_ABI ? FG_STATUS_OK : FG_STATUS_ABI;
}
