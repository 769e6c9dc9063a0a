/* A test backend: `host` with right numbers, which does the one wrong thing between calls that the
 * environment names (FUSEGATE_TEST_FORGET). It finds `host` in the worker that loads it. */

#include "contract/backend.h"
#include "reference/host_backend.h"
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

fg_status fg_backend_entry(uint32_t abi, const fg_host *host, const fg_backend **out);

static fg_backend table;
static const fg_backend *right;
static const fg_host *around;
static const char *deed = "";

/* What a kernel must not keep between calls. */
static void *x_of_forward;
static unsigned char *first_y, *last_saved;

static int doing(const char *name) {
    return strcmp(deed, name) == 0;
}

static size_t bytes_of(const fg_tensor *matrix) {
    return (size_t)(matrix->dims[0] * matrix->strides[0]) * fg_dtype_size((fg_dtype)matrix->dtype);
}

static void *copy(const void *from, size_t bytes) {
    void *to = malloc(bytes);
    return to != NULL ? memcpy(to, from, bytes) : NULL;
}

/* Gives the y of the first call again. */
static void replay(const fg_forward_args *args) {
    if (first_y == NULL) {
        first_y = copy(args->y->data, bytes_of(args->y));
    } else {
        memcpy(args->y->data, first_y, bytes_of(args->y));
    }
}

/* Keeps what it saves in the kernel. */
static fg_status keep_saved(const fg_kernel *kernel, const fg_forward_args *args) {
    fg_kernel_sizes sizes = {.struct_size = sizeof sizes};
    fg_status status = right->kernel_sizes(kernel, args->in->rows, &sizes);
    free(last_saved);
    last_saved = copy(args->saved, sizes.saved);
    return status;
}

static fg_status mlp_forward(const fg_kernel *kernel, const fg_forward_args *args,
                             fg_stream stream) {
    fg_status status = right->mlp_forward(kernel, args, stream);
    x_of_forward = args->in->inputs[FG_X]->data;
    if (status == FG_STATUS_OK && doing("replay")) {
        replay(args);
    }
    if (status == FG_STATUS_OK && doing("saved_own") && args->saved != NULL) {
        status = keep_saved(kernel, args);
    }
    if (doing("asks")) {
        (void)around->current_device(around->user);
    }
    return status;
}

static fg_status mlp_backward(const fg_kernel *kernel, const fg_backward_args *args,
                              fg_stream stream) {
    fg_backward_args own = *args;
    fg_inputs in = *args->in;
    fg_tensor x = *args->in->inputs[FG_X];
    const char *mask = getenv("FUSEGATE_TEST_MASK");
    if (doing("lazy") && mask != NULL && strtoul(mask, NULL, 0) == args->mask) {
        return FG_STATUS_OK;
    }
    if (doing("keepx")) {
        x.data = x_of_forward;
        in.inputs[FG_X] = &x;
        own.in = &in;
    }
    if (doing("saved_own") && last_saved != NULL) {
        own.saved = last_saved;
    }
    return right->mlp_backward(kernel, &own, stream);
}

/* Sets flush-to-zero, as a library built for fast arithmetic does when it is loaded. */
static fg_status kernel_create(fg_device *device, const fg_problem *problem,
                               const fg_recipe *recipe, fg_kernel **out) {
    free(first_y);
    first_y = NULL;
    if (doing("ftz")) {
        _mm_setcsr(_mm_getcsr() | 0x8000);
    }
    return right->kernel_create(device, problem, recipe, out);
}

/* Declares nothing about bits where the environment says so. */
static fg_status traits(fg_device *device, fg_traits *out) {
    fg_status status = right->traits(device, out);
    out->deterministic = getenv("FUSEGATE_TEST_UNSURE") == NULL;
    return status;
}

fg_status fg_backend_entry(uint32_t abi, const fg_host *host, const fg_backend **out) {
    fg_status status = fg_host_backend_entry(abi, host, &right);
    if (status != FG_STATUS_OK) {
        return status;
    }
    deed = getenv("FUSEGATE_TEST_FORGET") != NULL ? getenv("FUSEGATE_TEST_FORGET") : "";
    around = host;
    table = *right;
    table.name = "forgetful";
    table.traits = traits;
    table.kernel_create = kernel_create;
    table.mlp_forward = mlp_forward;
    table.mlp_backward = mlp_backward;
    *out = &table;
    return FG_STATUS_OK;
}
