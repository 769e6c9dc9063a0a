/* Planted fault: plans are found without the boundary, which then is the cached plan's. */
#include "conformance/mutants/fuser_mutant.h"

void __real_fg_plan_key_complete(fg_plan_key *key, int32_t boundary, uint64_t version);
void __wrap_fg_plan_key_complete(fg_plan_key *key, int32_t boundary, uint64_t version);

void __wrap_fg_plan_key_complete(fg_plan_key *key, int32_t boundary, uint64_t version) {
    (void)boundary;
    __real_fg_plan_key_complete(key, 0, version);
}

fg_status __real_fg_plan_choose(fg_fuser *fuser, const fg_plan_request *request, fg_trail *trail,
                                fg_plan_choice *out);
fg_status __wrap_fg_plan_choose(fg_fuser *fuser, fg_plan_request *request, fg_trail *trail,
                                fg_plan_choice *out);

fg_status __wrap_fg_plan_choose(fg_fuser *fuser, fg_plan_request *request, fg_trail *trail,
                                fg_plan_choice *out) {
    FG_TRY(__real_fg_plan_choose(fuser, request, trail, out));
    request->boundary = out->plan->boundary;
    return FG_STATUS_OK;
}
