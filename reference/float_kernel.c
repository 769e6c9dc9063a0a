#include "reference/float_kernel.h"
#include "contract/alloc.h"
#include "reference/host_device.h"
#include <stdarg.h>
#include <stdio.h>

fg_status fg_float_check_abi(uint32_t abi) {
    if (abi != FG_BACKEND_ABI) {
        return FG_FAIL(FG_STATUS_ABI, "backend ABI: found version %u, expected %u", abi,
                       FG_BACKEND_ABI);
    }
    return FG_STATUS_OK;
}

fg_status fg_float_traits(uint32_t rounding, fg_traits *out) {
    fg_traits traits = {
        .struct_size = sizeof traits,
        .memory = FG_MEMORY_HOST,
        .deterministic = 1,
        .row_invariant = 0, // OpenBLAS sums in another order when rows are grouped otherwise
        .writes_padding = 0,
        .capturable = 0,
        .flush_subnormals = 0,
        .base_align = FG_CALL_BASE_ALIGN,
        .row_align = 1,
        .segment_align = 1,
        .accumulator_digits = 24,
        .accumulator_truncates = 0,
        .accumulator_block = 1,
        .operand_digits = 24,
        .rounding = rounding,
        .activation_error = 8.0,
    };
    return fg_struct_give(&traits, "traits", out);
}

fg_status fg_float_refuse(char reason[FG_REASON_SIZE], const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(reason, FG_REASON_SIZE, format, list);
    va_end(list);
    return FG_FAIL(FG_STATUS_UNSUPPORTED, "%s", reason);
}

static fg_status refuse_types(const fg_problem *problem, char reason[FG_REASON_SIZE]) {
    if (problem->dtype != FG_F32 && problem->dtype != FG_F16 && problem->dtype != FG_BF16) {
        return fg_float_refuse(reason, "I/O type %s, expected f32, f16 or bf16",
                               fg_dtype_name((fg_dtype)problem->dtype));
    }
    if (problem->weight_form != FG_WEIGHTS_TENSOR) {
        return fg_float_refuse(reason, "a pointer per expert, expected weights in one tensor");
    }
    if (problem->weight_order != FG_WEIGHTS_OI) {
        return fg_float_refuse(reason, "weights in order io, expected oi");
    }
    return FG_STATUS_OK;
}

fg_status fg_float_supports(const fg_problem *problem, const fg_recipe *recipe,
                            char reason[FG_REASON_SIZE], fg_problem *problem_out) {
    fg_problem known;
    fg_recipe asked;
    FG_TRY(fg_struct_take(problem, sizeof known, "problem", &known));
    FG_TRY(fg_struct_take(recipe, sizeof asked, "recipe", &asked));
    FG_TRY(fg_problem_check(&known));
    FG_TRY(fg_recipe_check(&asked));
    if (asked.kind != FG_RECIPE_NONE) {
        return fg_float_refuse(reason, "recipe %s, expected none",
                               fg_recipe_kind_name((fg_recipe_kind)asked.kind));
    }
    FG_TRY(refuse_types(&known, reason));
    if (problem_out != NULL) {
        *problem_out = known;
    }
    return FG_STATUS_OK;
}

fg_status fg_float_kernel_create(const fg_device *device, const fg_float_math *math,
                                 const fg_problem *problem, fg_kernel **out) {
    fg_kernel *kernel = fg_alloc(sizeof *kernel, FG_ALLOC_GENERAL);
    if (kernel == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for a kernel");
    }
    kernel->math = math;
    kernel->device = fg_host_device_index(device);
    kernel->problem = *problem;
    *out = kernel;
    return FG_STATUS_OK;
}

void fg_float_kernel_destroy(fg_kernel *kernel) {
    fg_free(kernel);
}

static fg_status sizes_at(const fg_kernel *kernel, int64_t rows, fg_kernel_sizes *sizes) {
    FG_TRY(fg_call_rows(rows));
    sizes->struct_size = sizeof *sizes;
    return kernel->math->sizes(&kernel->problem, rows, sizes);
}

fg_status fg_float_kernel_sizes(const fg_kernel *kernel, int64_t rows, fg_kernel_sizes *out) {
    fg_kernel_sizes sizes;
    FG_TRY(sizes_at(kernel, rows, &sizes));
    return fg_struct_give(&sizes, "kernel sizes", out);
}

fg_status fg_float_mlp_forward(const fg_kernel *kernel, const fg_forward_args *given,
                               fg_stream stream) {
    fg_forward_args args;
    fg_kernel_sizes sizes;
    fg_call call;
    FG_TRY(fg_host_stream_check(kernel->device, stream));
    FG_TRY(fg_struct_take(given, sizeof args, "forward arguments", &args));
    FG_TRY(fg_call_forward(&kernel->problem, kernel->device, &args, &call));
    FG_TRY(sizes_at(kernel, call.rows, &sizes));
    FG_TRY(fg_call_buffer(args.saved, 0, "saved"));
    FG_TRY(fg_call_buffer(args.scratch, sizes.scratch_forward, "scratch"));
    kernel->math->forward(&call, args.saved, args.scratch);
    return FG_STATUS_OK;
}

fg_status fg_float_mlp_backward(const fg_kernel *kernel, const fg_backward_args *given,
                                fg_stream stream) {
    fg_backward_args args;
    fg_kernel_sizes sizes;
    fg_call call;
    FG_TRY(fg_host_stream_check(kernel->device, stream));
    FG_TRY(fg_struct_take(given, sizeof args, "backward arguments", &args));
    FG_TRY(fg_call_backward(&kernel->problem, kernel->device, &args, &call));
    FG_TRY(sizes_at(kernel, call.rows, &sizes));
    FG_TRY(fg_call_buffer(args.saved, sizes.saved, "saved"));
    FG_TRY(fg_call_buffer(args.scratch, sizes.scratch_backward, "scratch"));
    kernel->math->backward(&call, args.saved, args.scratch);
    return FG_STATUS_OK;
}
