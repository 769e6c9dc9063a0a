/* Planted fault: a backward runs the plan of the newest forward, not of its own. */
#include "conformance/mutants/fuser_mutant.h"

/* The newest plan, with a reference of its own. */
static struct {
    fg_fuser *fuser;
    fg_plan *plan;
} newest;

static void keep_newest(fg_fuser *fuser, fg_plan *plan) {
    fg_fuser *old_fuser = newest.fuser;
    fg_plan *old_plan = newest.plan;
    if (plan) {
        fg_call_gate_lock(&fuser->gate);
        plan->refs++;
        fg_call_gate_unlock(&fuser->gate);
    }
    newest.fuser = fuser;
    newest.plan = plan;
    if (old_plan) {
        fg_fuser_drop(old_fuser, old_plan, NULL);
    }
}

fg_status fg_right_plan_choose(fg_fuser *fuser, const fg_plan_request *request, fg_trail *trail,
                               fg_plan_choice *out) FG_REAL("fg_plan_choose");
fg_status fg_faulty_plan_choose(fg_fuser *fuser, const fg_plan_request *request, fg_trail *trail,
                                fg_plan_choice *out) FG_FAULTY("fg_plan_choose");

fg_status fg_faulty_plan_choose(fg_fuser *fuser, const fg_plan_request *request, fg_trail *trail,
                                fg_plan_choice *out) {
    FG_TRY(fg_right_plan_choose(fuser, request, trail, out));
    keep_newest(fuser, out->plan);
    return FG_STATUS_OK;
}

void fg_right_fuser_destroy(fg_fuser *fuser) FG_REAL("fg_fuser_destroy");
void fg_faulty_fuser_destroy(fg_fuser *fuser) FG_FAULTY("fg_fuser_destroy");

void fg_faulty_fuser_destroy(fg_fuser *fuser) {
    if (fuser && newest.fuser == fuser) {
        keep_newest(fuser, NULL);
    }
    fg_right_fuser_destroy(fuser);
}

fg_status fg_right_fuser_backward(fg_fuser *fuser, fg_context *context, const fg_tensor *dy,
                                  const fg_tensor *const grads[FG_INPUT_SLOTS], uint32_t accumulate)
    FG_REAL("fg_fuser_backward");
fg_status fg_faulty_fuser_backward(fg_fuser *fuser, fg_context *context, const fg_tensor *dy,
                                   const fg_tensor *const grads[FG_INPUT_SLOTS],
                                   uint32_t accumulate) FG_FAULTY("fg_fuser_backward");

fg_status fg_faulty_fuser_backward(fg_fuser *fuser, fg_context *context, const fg_tensor *dy,
                                   const fg_tensor *const grads[FG_INPUT_SLOTS],
                                   uint32_t accumulate) {
    if (context && newest.fuser == fuser && newest.plan) {
        fg_plan *own = context->plan;
        fg_call_gate_lock(&fuser->gate);
        newest.plan->refs++;
        fg_call_gate_unlock(&fuser->gate);
        context->plan = newest.plan;
        fg_fuser_drop(fuser, own, NULL);
    }
    return fg_right_fuser_backward(fuser, context, dy, grads, accumulate);
}
