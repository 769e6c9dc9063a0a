/* A test backend: `host` behind memory that the host cannot touch. Its addresses lie far above
 * those of the process, so that a worker that passes its own, or reads these, is found out. */

#include "contract/backend.h"
#include "reference/host_backend.h"

fg_status fg_backend_entry(uint32_t abi, const fg_host *host, const fg_backend **out);

/* User addresses end below 2^47. */
#define FAR ((uintptr_t)1 << 47)

enum { VIEWS = 48 };

/* Views of one call as the host sees them. */
typedef struct near_call {
    fg_tensor views[VIEWS];
    int32_t count;
    fg_inputs in;
} near_call;

static fg_backend table;
static const fg_backend *right;

static void *near_address(const void *address) {
    return address == NULL ? NULL : (void *)((uintptr_t)address - FAR);
}

static void *far_address(const void *address) {
    return (void *)((uintptr_t)address + FAR);
}

static const fg_tensor *near_view(near_call *call, const fg_tensor *tensor) {
    if (tensor == NULL) {
        return NULL;
    }
    fg_tensor *view = &call->views[call->count++];
    *view = *tensor;
    view->data = near_address(tensor->data);
    return view;
}

static const fg_inputs *near_inputs(near_call *call, const fg_inputs *in) {
    call->in = *in;
    for (int i = 0; i < FG_INPUTS; i++) {
        call->in.inputs[i] = near_view(call, in->inputs[i]);
    }
    call->in.splits = near_view(call, in->splits);
    return &call->in;
}

static fg_status traits(fg_device *device, fg_traits *out) {
    fg_status status = right->traits(device, out);
    out->memory = FG_MEMORY_DEVICE;
    return status;
}

/* Arrays of addresses would need a copy of their own. */
static fg_status supports(fg_device *device, const fg_problem *problem, const fg_recipe *recipe,
                          char reason[FG_REASON_SIZE]) {
    if (problem->weight_form == FG_WEIGHTS_POINTERS) {
        return FG_STATUS_UNSUPPORTED;
    }
    return right->supports(device, problem, recipe, reason);
}

static fg_status mem_alloc(fg_device *device, size_t bytes, void **out) {
    fg_status status = right->mem_alloc(device, bytes, out);
    *out = status == FG_STATUS_OK ? far_address(*out) : NULL;
    return status;
}

static void mem_free(fg_device *device, void *pointer) {
    right->mem_free(device, near_address(pointer));
}

static fg_status mem_fill32(fg_device *device, void *to, uint32_t pattern, size_t words,
                            fg_stream stream) {
    return right->mem_fill32(device, near_address(to), pattern, words, stream);
}

static fg_status copy_in(fg_device *device, void *to, const void *from, size_t bytes,
                         fg_stream stream) {
    return right->copy_in(device, near_address(to), from, bytes, stream);
}

static fg_status copy_out(fg_device *device, void *to, const void *from, size_t bytes,
                          fg_stream stream) {
    return right->copy_out(device, to, near_address(from), bytes, stream);
}

static fg_status mlp_forward(const fg_kernel *kernel, const fg_forward_args *args,
                             fg_stream stream) {
    near_call call = {.count = 0};
    fg_forward_args here = *args;
    here.in = near_inputs(&call, args->in);
    here.y1 = near_view(&call, args->y1);
    here.h = near_view(&call, args->h);
    here.y = near_view(&call, args->y);
    here.saved = near_address(args->saved);
    here.scratch = near_address(args->scratch);
    return right->mlp_forward(kernel, &here, stream);
}

static fg_status mlp_backward(const fg_kernel *kernel, const fg_backward_args *args,
                              fg_stream stream) {
    near_call call = {.count = 0};
    fg_backward_args here = *args;
    here.in = near_inputs(&call, args->in);
    here.y1 = near_view(&call, args->y1);
    here.h = near_view(&call, args->h);
    here.dy = near_view(&call, args->dy);
    here.dh = near_view(&call, args->dh);
    here.dy1 = near_view(&call, args->dy1);
    for (int i = 0; i < FG_INPUT_SLOTS; i++) {
        here.grads[i] = near_view(&call, args->grads[i]);
    }
    here.saved = near_address(args->saved);
    here.scratch = near_address(args->scratch);
    return right->mlp_backward(kernel, &here, stream);
}

fg_status fg_backend_entry(uint32_t abi, const fg_host *host, const fg_backend **out) {
    fg_status status = fg_host_backend_entry(abi, host, &right);
    if (status != FG_STATUS_OK) {
        return status;
    }
    table = *right;
    table.name = "device_memory";
    table.traits = traits;
    table.supports = supports;
    table.mem_alloc = mem_alloc;
    table.mem_free = mem_free;
    table.mem_fill32 = mem_fill32;
    table.copy_in = copy_in;
    table.copy_out = copy_out;
    table.mlp_forward = mlp_forward;
    table.mlp_backward = mlp_backward;
    *out = &table;
    return FG_STATUS_OK;
}
