#ifndef FG_CONFORMANCE_SUITES_FUSER_RIG_H
#define FG_CONFORMANCE_SUITES_FUSER_RIG_H

#include "contract/executor.h"

#define RIG_ROWS 3

/* A fuser on the tiny backend with tensors of RIG_ROWS rows: everything a test of the fuser needs.
 * Tensors are small numbers, gradients begin as 100. */
typedef struct fuser_rig {
    const fg_executor_api *api;
    fg_executor *executor;
    fg_problem problem;
    fg_executor_options options;
    fg_inputs in;
    fg_tensor inputs[FG_INPUT_SLOTS], splits, y, dy, grads[FG_INPUT_SLOTS];
    const fg_tensor *grad_pointers[FG_INPUT_SLOTS];
    float numbers[2 * FG_INPUT_SLOTS + 2][16];
    int32_t split;
    int32_t stream_calls, stream_device; /* of stream_for */
    int32_t stream_number; /* which stream it gives; the rig counts it up when `moving` */
    int32_t moving;
} fuser_rig;

/* Resets the tiny backend and sets the rig up for a problem of one expert with H = F = 2, bias and
 * p, float32; scale_bias: 0, 1, or 2 with a scale of its own. Create the executor with rig_create.
 */
void rig_init(fuser_rig *rig, int32_t scale_bias);
fg_status rig_create(fuser_rig *rig);
void rig_destroy(fuser_rig *rig);

/* One forward; grad mode with `requires`, or no-grad when requires is 0. */
fg_status rig_forward(fuser_rig *rig, const fg_recipe *recipe, int32_t mode, uint32_t requires,
                      fg_context **context);
/* One backward with gradients for `requires`, preset to 100. */
fg_status rig_backward(fuser_rig *rig, fg_context *context, uint32_t requires, uint32_t accumulate);

/* Value of row t of y, of a gradient, or of an input. */
float rig_y(const fuser_rig *rig, int64_t t);
float rig_grad(const fuser_rig *rig, int input, int64_t t);
float rig_input(const fuser_rig *rig, int input, int64_t t);

/* Moves every tensor to a device index. */
void rig_move(fuser_rig *rig, int32_t device);

fg_counters rig_counters(const fuser_rig *rig);

/* The last call's events as letters: B boundary, S state key, R reset, 1 pre-first, P plan key,
 * H hit, N new build, T stream, X execute, C context saved. */
const char *rig_events(const fuser_rig *rig, char text[32]);

/* What the tiny backend ought to give. */
float rig_expected_y(const fuser_rig *rig, int64_t t);
float rig_expected_grad(const fuser_rig *rig, int input, int64_t t);

#endif
