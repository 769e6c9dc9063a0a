#ifndef FG_REFERENCE_FLOAT_KERNEL_H
#define FG_REFERENCE_FLOAT_KERNEL_H

/* What the float32 backends of this folder share: the kernel object, the traits of their arithmetic
 * and what they all refuse. */

#include "reference/backend_args.h"

/* The arithmetic of one backend: bytes for T rows, and calls whose arguments have been checked. */
typedef struct fg_float_math {
    fg_status (*sizes)(const fg_problem *problem, int64_t rows, fg_kernel_sizes *out);
    void (*forward)(const fg_call *call, void *saved, void *scratch);
    void (*backward)(const fg_call *call, const void *saved, void *scratch);
} fg_float_math;

struct fg_kernel {
    const fg_float_math *math;
    int32_t device;     /* 0 or 1 */
    fg_problem problem; /* checked, all fields */
};

/* Checks the caller's version; FG_STATUS_ABI names both. */
fg_status fg_float_check_abi(uint32_t abi);

/* Float32 GEMMs rounding to nearest, strides of any length, and these rounding points. */
fg_status fg_float_traits(uint32_t rounding, fg_traits *out);

/* Widens problem and recipe, and refuses what is not float32 arithmetic on f32, f16 or bf16 tensors
 * with weights [E, O, I]; FG_STATUS_UNSUPPORTED with a reason. `problem_out` may be NULL. */
fg_status fg_float_supports(const fg_problem *problem, const fg_recipe *recipe,
                            char reason[FG_REASON_SIZE], fg_problem *problem_out);

/* Makes a kernel for a problem that is supported (and widened). */
fg_status fg_float_kernel_create(const fg_device *device, const fg_float_math *math,
                                 const fg_problem *problem, fg_kernel **out);

/* Kernel functions of contract/backend.h, to be put into a backend's table as they are. */
void fg_float_kernel_destroy(fg_kernel *kernel);
fg_status fg_float_kernel_sizes(const fg_kernel *kernel, int64_t rows, fg_kernel_sizes *out);
fg_status fg_float_mlp_forward(const fg_kernel *kernel, const fg_forward_args *given,
                               fg_stream stream);
fg_status fg_float_mlp_backward(const fg_kernel *kernel, const fg_backward_args *given,
                                fg_stream stream);

/* Writes `reason` printf style and returns FG_STATUS_UNSUPPORTED. */
fg_status fg_float_refuse(char reason[FG_REASON_SIZE], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
