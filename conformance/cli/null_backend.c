#include "conformance/cli/null_backend.h"
#include "contract/alloc.h"

/* Objects of this backend hold nothing; their addresses are all that anybody uses. */
struct fg_device {
    char none;
};
struct fg_kernel {
    char none;
};

static fg_device the_device;
static fg_kernel the_kernel;

static fg_status device_open(int32_t index, fg_device **out) {
    if (index < -1 || index > 7) {
        return FG_FAIL(FG_STATUS_DEVICE, "found device %d, expected -1 to 7", index);
    }
    *out = &the_device;
    return FG_STATUS_OK;
}

static void device_close(fg_device *device) {
    (void)device;
}

static fg_status traits(fg_device *device, fg_traits *out) {
    (void)device;
    *out = (fg_traits){.struct_size = sizeof *out,
                       .base_align = 64,
                       .row_align = 2,
                       .segment_align = 1,
                       .accumulator_digits = 24,
                       .accumulator_block = 1,
                       .operand_digits = 24};
    return FG_STATUS_OK;
}

static fg_status supports(fg_device *device, const fg_problem *problem, const fg_recipe *recipe,
                          char reason[FG_REASON_SIZE]) {
    (void)device;
    (void)problem;
    (void)recipe;
    (void)reason;
    return FG_STATUS_OK;
}

static fg_status mem_alloc(fg_device *device, size_t bytes, void **out) {
    (void)device;
    *out = fg_alloc(bytes, FG_ALLOC_DEVICE);
    return *out != NULL
               ? FG_STATUS_OK
               : FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected %zu bytes", bytes);
}

static void mem_free(fg_device *device, void *pointer) {
    (void)device;
    fg_free(pointer);
}

static fg_status copy_in(fg_device *device, void *to, const void *from_host, size_t bytes,
                         fg_stream stream) {
    (void)device;
    (void)to;
    (void)from_host;
    (void)bytes;
    (void)stream;
    return FG_STATUS_OK;
}

static fg_status stream_sync(fg_device *device, fg_stream stream) {
    (void)device;
    (void)stream;
    return FG_STATUS_OK;
}

static fg_status kernel_create(fg_device *device, const fg_problem *problem,
                               const fg_recipe *recipe, fg_kernel **out) {
    (void)device;
    (void)problem;
    (void)recipe;
    *out = &the_kernel;
    return FG_STATUS_OK;
}

static void kernel_destroy(fg_kernel *kernel) {
    (void)kernel;
}

static fg_status kernel_sizes(const fg_kernel *kernel, int64_t rows, fg_kernel_sizes *out) {
    (void)kernel;
    out->saved = (size_t)rows * 64;
    out->scratch_forward = (size_t)rows * 64;
    out->scratch_backward = (size_t)rows * 64;
    return FG_STATUS_OK;
}

static fg_status mlp_forward(const fg_kernel *kernel, const fg_forward_args *args,
                             fg_stream stream) {
    (void)kernel;
    (void)args;
    (void)stream;
    return FG_STATUS_OK;
}

static fg_status mlp_backward(const fg_kernel *kernel, const fg_backward_args *args,
                              fg_stream stream) {
    (void)kernel;
    (void)args;
    (void)stream;
    return FG_STATUS_OK;
}

static const char *last_error(fg_device *device) {
    (void)device;
    return "";
}

const fg_backend *fg_null_backend(void) {
    // Only what a fuser calls; nobody else is given this table.
    static const fg_backend backend = {.struct_size = sizeof backend,
                                       .name = "null",
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
                                       .last_error = last_error};
    return &backend;
}
