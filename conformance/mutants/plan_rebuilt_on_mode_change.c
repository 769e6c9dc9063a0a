/* Planted fault: every change between calls with and without gradients drops the plans. */
#include "conformance/mutants/fuser_mutant.h"

fg_status fg_right_fuser_forward(fg_fuser *fuser, int32_t mode, const fg_recipe *recipe,
                                 uint32_t requires, const fg_inputs *inputs, const fg_tensor *y,
                                 const fg_token *token_in, fg_token **token_out,
                                 fg_context **context) FG_REAL("fg_fuser_forward");
fg_status fg_faulty_fuser_forward(fg_fuser *fuser, int32_t mode, const fg_recipe *recipe,
                                  uint32_t requires, const fg_inputs *inputs, const fg_tensor *y,
                                  const fg_token *token_in, fg_token **token_out,
                                  fg_context **context) FG_FAULTY("fg_fuser_forward");

fg_status fg_faulty_fuser_forward(fg_fuser *fuser, int32_t mode, const fg_recipe *recipe,
                                  uint32_t requires, const fg_inputs *inputs, const fg_tensor *y,
                                  const fg_token *token_in, fg_token **token_out,
                                  fg_context **context) {
    static _Thread_local int32_t last_mode = -1;
    if (mode != last_mode) {
        FG_TRY(fg_fuser_clear(fuser));
    }
    last_mode = mode;
    return fg_right_fuser_forward(fuser, mode, recipe, requires, inputs, y, token_in, token_out,
                                  context);
}
