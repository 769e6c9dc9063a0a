/* Planted fault: plans are found without the boundary, which then is the cached plan's. */
#include "conformance/mutants/fuser_mutant.h"

void fg_right_plan_key_complete(fg_plan_key *key, int32_t boundary, uint64_t version)
    FG_REAL("fg_plan_key_complete");
void fg_faulty_plan_key_complete(fg_plan_key *key, int32_t boundary, uint64_t version)
    FG_FAULTY("fg_plan_key_complete");

void fg_faulty_plan_key_complete(fg_plan_key *key, int32_t boundary, uint64_t version) {
    (void)boundary;
    fg_right_plan_key_complete(key, 0, version);
}

fg_status fg_right_plan_choose(fg_fuser *fuser, const fg_plan_request *request, fg_trail *trail,
                               fg_plan_choice *out) FG_REAL("fg_plan_choose");
fg_status fg_faulty_plan_choose(fg_fuser *fuser, fg_plan_request *request, fg_trail *trail,
                                fg_plan_choice *out) FG_FAULTY("fg_plan_choose");

fg_status fg_faulty_plan_choose(fg_fuser *fuser, fg_plan_request *request, fg_trail *trail,
                                fg_plan_choice *out) {
    FG_TRY(fg_right_plan_choose(fuser, request, trail, out));
    request->boundary = out->plan->boundary;
    return FG_STATUS_OK;
}
