#ifndef FG_FUSER_PLAN_RUN_H
#define FG_FUSER_PLAN_RUN_H

#include "fuser/plan.h"

#define FG_EDGES (FG_OP_COUNT + 1) /* x, y1, h, y */

/* What every kernel call of one forward or backward shares. */
typedef struct fg_plan_call {
    fg_plan *plan;
    const fg_problem *problem;
    fg_device_table *table;
    fg_fuser_device *device;
    fg_stream stream;
    const fg_inputs *in;
    const fg_quant *quant;
} fg_plan_call;

/* What a forward keeps for its backward; zeroed means nothing. */
typedef struct fg_kept {
    fg_buffer *buffer;
    fg_tensor edges[FG_EDGES];             /* y1 and h, data NULL where not kept */
    const fg_kernel *kernels[FG_OP_COUNT]; /* by entry of the forward list, where it saved */
    void *saved[FG_OP_COUNT];
} fg_kept;

/* Runs the forward list. `y` takes the place of the last edge, the main input that of the first.
 * With `kept`, entries that hold an op from the boundary on save; NULL: nothing is kept. After an
 * error nothing is kept either. */
fg_status fg_plan_forward(const fg_plan_call *call, const fg_tensor *y, fg_kept *kept);

/* The gradients of one backward. */
typedef struct fg_plan_gradients {
    uint32_t requires;             /* inputs */
    uint32_t accumulate;           /* of these, the ones to add to */
    const fg_tensor *output;       /* gradient of y */
    const fg_tensor *const *grads; /* [FG_INPUT_SLOTS] by input, the main input as FG_X */
} fg_plan_gradients;

/* Walks the backward list in reverse on what the forward of the same call kept, and stops at the
 * first entry none of whose ops requires a gradient. */
fg_status fg_plan_backward(const fg_plan_call *call, const fg_kept *kept,
                           const fg_plan_gradients *gradients);

/* Gives what was kept back; `stream` is the last one whose work read it. */
void fg_kept_release(fg_kept *kept, const fg_backend *backend, fg_fuser_device *device,
                     fg_stream stream);

#endif
