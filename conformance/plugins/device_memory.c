/* A test backend: `host` behind memory that the host cannot touch. Its addresses lie far above
 * those of the process, so that a worker that passes its own, or reads these, is found out. */

#include "conformance/plugins/tell.h"
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
static fg_problem latest; /* of the kernel made last */

static void *near_address(const void *address) {
    return address == NULL ? NULL : (void *)((uintptr_t)address - FAR);
}

static void *far_address(const void *address) {
    return (void *)((uintptr_t)address + FAR);
}

/* Weights as pointers, which `host` does not take, as one tensor: experts lie evenly apart here. */
static void near_weights(int input, fg_tensor *view) {
    int64_t dims[FG_TENSOR_DIMS];
    void *const *there = view->data;
    int32_t ndim = fg_problem_input_dims(&latest, input, 0, dims);
    int64_t apart = (int64_t)((uintptr_t)there[1] - (uintptr_t)there[0]);
    *view = fg_tensor_tight(near_address(there[0]), fg_problem_input_dtype(&latest, input),
                            view->device, ndim, dims);
    view->strides[0] = apart / (int64_t)fg_dtype_size((fg_dtype)view->dtype);
}

/* `input` is that of a weight or its gradient, where addresses may come. */
static const fg_tensor *near_view(near_call *call, const fg_tensor *tensor, int input) {
    if (tensor == NULL) {
        return NULL;
    }
    fg_tensor *view = &call->views[call->count++];
    *view = *tensor;
    view->data = near_address(tensor->data);
    if (view->dtype == FG_POINTER) {
        near_weights(input, view);
    }
    return view;
}

static const fg_inputs *near_inputs(near_call *call, const fg_inputs *in) {
    call->in = *in;
    for (int i = 0; i < FG_INPUTS; i++) {
        call->in.inputs[i] = near_view(call, in->inputs[i], i);
    }
    call->in.splits = near_view(call, in->splits, FG_INPUTS);
    return &call->in;
}

static fg_status traits(fg_device *device, fg_traits *out) {
    fg_status status = right->traits(device, out);
    out->memory = FG_MEMORY_DEVICE;
    return status;
}

static fg_problem in_one_tensor(const fg_problem *problem) {
    fg_problem copy = *problem;
    copy.weight_form = FG_WEIGHTS_TENSOR;
    return copy;
}

static fg_status supports(fg_device *device, const fg_problem *problem, const fg_recipe *recipe,
                          char reason[FG_REASON_SIZE]) {
    const fg_problem whole = in_one_tensor(problem);
    return right->supports(device, &whole, recipe, reason);
}

static fg_status kernel_create(fg_device *device, const fg_problem *problem,
                               const fg_recipe *recipe, fg_kernel **out) {
    latest = in_one_tensor(problem);
    tell("kernel_create");
    return right->kernel_create(device, &latest, recipe, out);
}

static fg_status device_open(int32_t index, fg_device **out) {
    tell("device_open");
    return right->device_open(index, out);
}

static void device_close(fg_device *device) {
    tell("device_close");
    right->device_close(device);
}

static fg_status stream_create(fg_device *device, fg_stream *out) {
    tell("stream_create");
    return right->stream_create(device, out);
}

static void stream_destroy(fg_device *device, fg_stream stream) {
    tell("stream_destroy");
    right->stream_destroy(device, stream);
}

static fg_status stream_sync(fg_device *device, fg_stream stream) {
    tell("stream_sync");
    return right->stream_sync(device, stream);
}

static void kernel_destroy(fg_kernel *kernel) {
    tell("kernel_destroy");
    right->kernel_destroy(kernel);
}

static fg_status mem_alloc(fg_device *device, size_t bytes, void **out) {
    tell("mem_alloc");
    fg_status status = right->mem_alloc(device, bytes, out);
    *out = status == FG_STATUS_OK ? far_address(*out) : NULL;
    return status;
}

static void mem_free(fg_device *device, void *pointer) {
    tell("mem_free");
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
    here.y1 = near_view(&call, args->y1, FG_INPUTS);
    here.h = near_view(&call, args->h, FG_INPUTS);
    here.y = near_view(&call, args->y, FG_INPUTS);
    here.saved = near_address(args->saved);
    here.scratch = near_address(args->scratch);
    return right->mlp_forward(kernel, &here, stream);
}

static fg_status mlp_backward(const fg_kernel *kernel, const fg_backward_args *args,
                              fg_stream stream) {
    near_call call = {.count = 0};
    fg_backward_args here = *args;
    here.in = near_inputs(&call, args->in);
    here.y1 = near_view(&call, args->y1, FG_INPUTS);
    here.h = near_view(&call, args->h, FG_INPUTS);
    here.dy = near_view(&call, args->dy, FG_INPUTS);
    here.dh = near_view(&call, args->dh, FG_INPUTS);
    here.dy1 = near_view(&call, args->dy1, FG_INPUTS);
    for (int i = 0; i < FG_INPUT_SLOTS; i++) {
        here.grads[i] = near_view(&call, args->grads[i], i);
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
    table.device_open = device_open;
    table.device_close = device_close;
    table.stream_create = stream_create;
    table.stream_destroy = stream_destroy;
    table.stream_sync = stream_sync;
    table.kernel_destroy = kernel_destroy;
    table.traits = traits;
    table.supports = supports;
    table.kernel_create = kernel_create;
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
