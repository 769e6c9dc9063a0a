#ifndef FG_FUSER_FUSER_CALL_H
#define FG_FUSER_FUSER_CALL_H

#include "fuser/fuser.h"

/* What one forward with gradients saved: views of its inputs, and references to the plan and recipe
 * state that it used. Idle ones are kept for the next forward. */
struct fg_context {
    fg_plan *plan;
    fg_recipe_state *state;
    fg_fuser_device *device;
    fg_stream stream; /* of the last call that used it */
    uint32_t requires;
    fg_inputs in;
    fg_tensor views[FG_INPUT_SLOTS], splits;
    fg_kept kept;
    struct fg_context *next;
};

/* The recipe state whose scales a forward without gradients used. */
struct fg_token {
    fg_recipe_state *state;
    struct fg_token *next;
};

/* One forward; arguments as fg_executor_api.forward. FG_STATUS_INVALID names an argument that is
 * missing or superfluous, FG_STATUS_DEVICE two operands on different devices. */
fg_status fg_fuser_forward(fg_fuser *fuser, int32_t mode, const fg_recipe *recipe,
                           uint32_t requires, const fg_inputs *inputs, const fg_tensor *y,
                           const fg_token *token_in, fg_token **token_out, fg_context **context);

/* One backward on what a forward saved; arguments as fg_executor_api.backward. */
fg_status fg_fuser_backward(fg_fuser *fuser, fg_context *context, const fg_tensor *dy,
                            const fg_tensor *const grads[FG_INPUT_SLOTS], uint32_t accumulate);

/* Give back what a forward handed out; NULL is a no-op. */
void fg_context_give(fg_fuser *fuser, fg_context *context);
void fg_token_give(fg_fuser *fuser, fg_token *token);

/* Frees the idle contexts and tokens. */
void fg_fuser_free_idle(fg_fuser *fuser);

#endif
