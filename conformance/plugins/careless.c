/* A test backend: `host` with right numbers, which for some numbers of experts does something to
 * memory that it must not do, or does not repeat itself. It finds `host` in the worker that loads
 * it. */

#include "contract/backend.h"
#include "reference/host_backend.h"
#include <stdlib.h>

fg_status fg_backend_entry(uint32_t abi, const fg_host *host, const fg_backend **out);

static fg_backend table;
static const fg_backend *right;
static int calls; /* of deeds that happen every second time only */

/* A tensor's first byte, seen from a call that should not write it. */
static unsigned char *bytes(const fg_tensor *tensor) {
    return tensor->data;
}

static void before_y(const fg_forward_args *args) {
    bytes(args->y)[-1] ^= 0xff;
}

static void behind_y(const fg_forward_args *args) {
    const fg_tensor *y = args->y;
    int64_t elements = (y->dims[0] - 1) * y->strides[0] + y->dims[1];
    bytes(y)[2 * elements] ^= 0xff;
}

static void padding_of_y(const fg_forward_args *args) {
    const fg_tensor *y = args->y;
    bytes(y)[2 * (y->dims[0] - 1) * y->strides[0]] ^= 0xff;
}

static void input(const fg_forward_args *args) {
    bytes(args->in->inputs[FG_X])[0] ^= 1;
}

/* Old content of y, which the right call has written over by then: the poison of its padding. */
static void part_of_y(const fg_forward_args *args) {
    const fg_tensor *y = args->y;
    for (int64_t k = 0; k < 8; k++) {
        bytes(y)[k] = bytes(y)[2 * (y->dims[0] - 1) * y->strides[0] + k];
    }
}

static void other_bits(const fg_forward_args *args) {
    bytes(args->y)[0] = (unsigned char)(bytes(args->y)[0] ^ (calls++ & 1));
}

static void no_grad_only(const fg_forward_args *args) {
    bytes(args->y)[0] = (unsigned char)(bytes(args->y)[0] ^ (args->saved == NULL));
}

static void saved(const fg_backward_args *args) {
    ((unsigned char *)(uintptr_t)args->saved)[0] ^= 1;
}

static void unwanted(const fg_backward_args *args) {
    for (int i = 0; i < FG_INPUTS; i++) {
        if (args->grads[i] != NULL && !(args->mask & FG_BIT(i))) {
            bytes(args->grads[i])[0] ^= 1;
        }
    }
}

static void scratch(const fg_backward_args *args) {
    ((unsigned char *)args->scratch)[-1] ^= 1;
}

static void other_gradient(const fg_backward_args *args) {
    bytes(args->grads[FG_X])[0] = (unsigned char)(bytes(args->grads[FG_X])[0] ^ (calls++ & 1));
}

/* What happens for so many experts, after the right call. */
static const struct {
    int64_t experts;
    void (*forward)(const fg_forward_args *args);
    void (*backward)(const fg_backward_args *args);
} deeds[] = {
    {2, before_y, NULL},  {3, behind_y, NULL},        {4, padding_of_y, NULL},  {5, input, NULL},
    {6, part_of_y, NULL}, {7, other_bits, NULL},      {8, NULL, saved},         {9, NULL, unwanted},
    {10, NULL, scratch},  {11, NULL, other_gradient}, {13, no_grad_only, NULL},
};

static fg_status mlp_forward(const fg_kernel *kernel, const fg_forward_args *args,
                             fg_stream stream) {
    fg_status status = right->mlp_forward(kernel, args, stream);
    for (unsigned i = 0; i < sizeof deeds / sizeof deeds[0] && status == FG_STATUS_OK; i++) {
        if (deeds[i].experts == args->in->splits->dims[0] && deeds[i].forward != NULL) {
            deeds[i].forward(args);
        }
    }
    return status;
}

static fg_status mlp_backward(const fg_kernel *kernel, const fg_backward_args *args,
                              fg_stream stream) {
    fg_status status = right->mlp_backward(kernel, args, stream);
    for (unsigned i = 0; i < sizeof deeds / sizeof deeds[0] && status == FG_STATUS_OK; i++) {
        if (deeds[i].experts == args->in->splits->dims[0] && deeds[i].backward != NULL) {
            deeds[i].backward(args);
        }
    }
    return status;
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
    table = *right;
    table.name = "careless";
    table.traits = traits;
    table.mlp_forward = mlp_forward;
    table.mlp_backward = mlp_backward;
    *out = &table;
    return FG_STATUS_OK;
}
