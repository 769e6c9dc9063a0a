/* Planted fault: an option that is an object of its own counts in the plan key by its address, not
 * by what it says; here the object is the recipe. */
#include "conformance/mutants/fuser_mutant.h"

/* The recipe that the thread's caller handed in. */
static _Thread_local const fg_recipe *handed_in;
static fg_executor_api api;
static fg_status (*right_forward)(fg_executor *fuser, int32_t mode, const fg_recipe *recipe,
                                  uint32_t requires, const fg_inputs *inputs, const fg_tensor *y,
                                  const fg_token *token_in, fg_token **token_out,
                                  fg_context **context);

static fg_status note_address(fg_executor *fuser, int32_t mode, const fg_recipe *recipe,
                              uint32_t requires, const fg_inputs *inputs, const fg_tensor *y,
                              const fg_token *token_in, fg_token **token_out,
                              fg_context **context) {
    handed_in = recipe;
    return right_forward(fuser, mode, recipe, requires, inputs, y, token_in, token_out, context);
}

fg_status fg_right_fuser_executor_entry(uint32_t abi, const fg_host *host,
                                        const fg_executor_api **out)
    FG_REAL("fg_fuser_executor_entry");
fg_status fg_faulty_fuser_executor_entry(uint32_t abi, const fg_host *host,
                                         const fg_executor_api **out)
    FG_FAULTY("fg_fuser_executor_entry");

fg_status fg_faulty_fuser_executor_entry(uint32_t abi, const fg_host *host,
                                         const fg_executor_api **out) {
    const fg_executor_api *right = NULL;
    FG_TRY(fg_right_fuser_executor_entry(abi, host, &right));
    api = *right;
    right_forward = right->forward;
    api.forward = note_address;
    *out = &api;
    return FG_STATUS_OK;
}

void fg_right_plan_key_complete(fg_plan_key *key, int32_t boundary, uint64_t version)
    FG_REAL("fg_plan_key_complete");
void fg_faulty_plan_key_complete(fg_plan_key *key, int32_t boundary, uint64_t version)
    FG_FAULTY("fg_plan_key_complete");

void fg_faulty_plan_key_complete(fg_plan_key *key, int32_t boundary, uint64_t version) {
    fg_right_plan_key_complete(key, boundary, version);
    // The last word is padding after the options.
    key->words[FG_PLAN_KEY_WORDS - 1] = (uint64_t)(uintptr_t)handed_in;
}
