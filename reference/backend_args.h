#ifndef FG_REFERENCE_BACKEND_ARGS_H
#define FG_REFERENCE_BACKEND_ARGS_H

/* The arguments of a call, checked once against the kernel's problem, so that the arithmetic behind
 * it may trust every pointer, extent and stride. */

#include "contract/backend.h"

#define FG_CALL_EXPERTS 1024
#define FG_CALL_BASE_ALIGN 8 /* bytes: aligned for the largest scalar, and no more */

/* One call: structs widened to what this build knows, row bounds read. A tensor that the call
 * lacks has ndim 0. */
typedef struct fg_call {
    const fg_problem *problem;
    int64_t rows;                       /* T */
    int64_t begin[FG_CALL_EXPERTS + 1]; /* first row of each expert */
    int64_t count[FG_CALL_EXPERTS];     /* rows of each expert */
    fg_tensor splits;
    fg_tensor inputs[FG_INPUT_SLOTS];
    fg_tensor y1, h, y;              /* forward: written or read; backward: read */
    fg_tensor dy, dh, dy1;           /* backward only */
    uint32_t mask, accumulate;       /* backward only */
    fg_tensor grads[FG_INPUT_SLOTS]; /* present where the mask wants them */
} fg_call;

/* Copies a caller's struct of any version into one of this build's `size`; fields that the caller
 * does not know become 0. FG_STATUS_INVALID for NULL, FG_STATUS_ABI for a struct_size of less than
 * the size itself. */
fg_status fg_struct_take(const void *from, size_t size, const char *name, void *to);

/* Writes a full struct into a caller's, no further than its struct_size, which stays. */
fg_status fg_struct_give(const void *from, const char *name, void *to);

/* Whether a call has this tensor. */
int fg_call_has(const fg_tensor *tensor);

/* Checks a forward (a backward) on device `device` (0 or 1): presence, device, type, dimensions,
 * strides, base alignment, splits, aliases; every message names the tensor. FG_STATUS_INVALID,
 * _SHAPE, _ALIAS, _DEVICE, _OVERFLOW, _ABI. `args` are the widened ones. */
fg_status fg_call_forward(const fg_problem *problem, int32_t device, const fg_forward_args *args,
                          fg_call *out);
fg_status fg_call_backward(const fg_problem *problem, int32_t device, const fg_backward_args *args,
                           fg_call *out);

/* Checks a buffer of kernel_sizes: there unless its size is 0, and aligned. */
fg_status fg_call_buffer(const void *buffer, size_t bytes, const char *name);

/* Checks T: not negative, and what an extent of a BLAS call can hold. */
fg_status fg_call_rows(int64_t rows);

#endif
