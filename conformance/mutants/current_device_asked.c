/* Planted fault: each forward asks the host which device is current. */
#include "conformance/mutants/fuser_mutant.h"

static const fg_host *asked;

fg_status fg_right_fuser_create(const fg_problem *problem, const fg_executor_options *options,
                                fg_fuser **out) FG_REAL("fg_fuser_create");
fg_status fg_faulty_fuser_create(const fg_problem *problem, const fg_executor_options *options,
                                 fg_fuser **out) FG_FAULTY("fg_fuser_create");

fg_status fg_faulty_fuser_create(const fg_problem *problem, const fg_executor_options *options,
                                 fg_fuser **out) {
    asked = options->host;
    return fg_right_fuser_create(problem, options, out);
}

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
    (void)asked->current_device(asked->user);
    return fg_right_fuser_forward(fuser, mode, recipe, requires, inputs, y, token_in, token_out,
                                  context);
}
