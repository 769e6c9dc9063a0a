#ifndef FG_REFERENCE_FLOAT_KERNEL_H
#define FG_REFERENCE_FLOAT_KERNEL_H

/* What the float32 backends of this folder share: the kernel object, the traits of their arithmetic
 * and what they all refuse. */

#include "contract/backend.h"

struct fg_kernel {
    int32_t device;     /* 0 or 1 */
    fg_problem problem; /* checked, all fields */
};

/* Base pointers are aligned for the largest scalar, and no more. */
#define FG_FLOAT_BASE_ALIGN 8

/* Checks the caller's version; FG_STATUS_ABI names both. */
fg_status fg_float_check_abi(uint32_t abi);

/* Float32 GEMMs rounding to nearest, strides of any length, and these rounding points. */
fg_status fg_float_traits(uint32_t rounding, fg_traits *out);

/* Widens problem and recipe, and refuses what is not float32 arithmetic on f32, f16 or bf16 tensors
 * with weights [E, O, I]; FG_STATUS_UNSUPPORTED with a reason. `problem_out` may be NULL. */
fg_status fg_float_supports(const fg_problem *problem, const fg_recipe *recipe,
                            char reason[FG_REASON_SIZE], fg_problem *problem_out);

/* Makes a kernel for a problem that is supported (and widened). */
fg_status fg_float_kernel_create(const fg_device *device, const fg_problem *problem,
                                 fg_kernel **out);
void fg_float_kernel_destroy(fg_kernel *kernel);

/* Writes `reason` printf style and returns FG_STATUS_UNSUPPORTED. */
fg_status fg_float_refuse(char reason[FG_REASON_SIZE], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
