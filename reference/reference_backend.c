#include "reference/reference_backend.h"
#include "reference/float_kernel.h"
#include "reference/host_device.h"
#include "reference/reference_backward.h"
#include "reference/reference_forward.h"

static fg_status sizes(const fg_problem *problem, int64_t rows, fg_kernel_sizes *out) {
    FG_TRY(fg_reference_saved_bytes(problem, rows, &out->saved));
    FG_TRY(fg_reference_forward_bytes(problem, rows, &out->scratch_forward));
    return fg_reference_backward_bytes(problem, rows, &out->scratch_backward);
}

static const fg_float_math math = {sizes, fg_reference_forward, fg_reference_backward};

/* Every tensor between two ops lies in memory in the I/O type, and is read from there. */
static fg_status traits(fg_device *device, fg_traits *out) {
    (void)device;
    return fg_float_traits(FG_ROUND_Y1_FORWARD | FG_ROUND_HIDDEN | FG_ROUND_Y1_SAVED |
                               FG_ROUND_HIDDEN_SAVED | FG_ROUND_DHIDDEN | FG_ROUND_DACT |
                               FG_ROUND_DBIAS,
                           out);
}

static fg_status supports(fg_device *device, const fg_problem *problem, const fg_recipe *recipe,
                          char reason[FG_REASON_SIZE]) {
    (void)device;
    return fg_float_supports(problem, recipe, reason, NULL);
}

static fg_status kernel_create(fg_device *device, const fg_problem *problem,
                               const fg_recipe *recipe, fg_kernel **out) {
    char reason[FG_REASON_SIZE];
    fg_problem known;
    FG_TRY(fg_float_supports(problem, recipe, reason, &known));
    return fg_float_kernel_create(device, &math, &known, out);
}

static const fg_backend backend = {
    .struct_size = sizeof backend,
    .name = "reference",
    .device_open = fg_host_device_open,
    .device_close = fg_host_device_close,
    .traits = traits,
    .supports = supports,
    .mem_alloc = fg_host_mem_alloc,
    .mem_free = fg_host_mem_free,
    .mem_fill32 = fg_host_mem_fill32,
    .copy_in = fg_host_copy,
    .copy_out = fg_host_copy,
    .stream_create = fg_host_stream_create,
    .stream_destroy = fg_host_stream_destroy,
    .stream_sync = fg_host_stream_sync,
    .stream_delay = fg_host_stream_delay,
    .kernel_create = kernel_create,
    .kernel_destroy = fg_float_kernel_destroy,
    .kernel_sizes = fg_float_kernel_sizes,
    .mlp_forward = fg_float_mlp_forward,
    .mlp_backward = fg_float_mlp_backward,
    .last_error = fg_host_last_error,
};

fg_status fg_reference_backend_entry(uint32_t abi, const fg_host *host, const fg_backend **out) {
    (void)host;
    FG_TRY(fg_float_check_abi(abi));
    *out = &backend;
    return FG_STATUS_OK;
}
