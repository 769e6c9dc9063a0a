/* Planted fault: choosing another plan resets the recipe's state. */
#include "conformance/mutants/fuser_mutant.h"
#include <string.h>

fg_status fg_right_plan_choose(fg_fuser *fuser, const fg_plan_request *request, fg_trail *trail,
                               fg_plan_choice *out) FG_REAL("fg_plan_choose");
fg_status fg_faulty_plan_choose(fg_fuser *fuser, const fg_plan_request *request, fg_trail *trail,
                                fg_plan_choice *out) FG_FAULTY("fg_plan_choose");

fg_status fg_faulty_plan_choose(fg_fuser *fuser, const fg_plan_request *request, fg_trail *trail,
                                fg_plan_choice *out) {
    static _Thread_local int32_t last_boundary = -1;
    if (request->boundary != last_boundary) {
        fg_call_gate_lock(&fuser->gate);
        memset(&fuser->state_key, 0xff, sizeof fuser->state_key);
        fg_call_gate_unlock(&fuser->gate);
    }
    last_boundary = request->boundary;
    return fg_right_plan_choose(fuser, request, trail, out);
}
