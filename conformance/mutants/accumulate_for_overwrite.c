/* Float32 weight gradients are added to where they should be overwritten. */

#include "conformance/mutants/fault.h"
#include "reference/host_backward.h"

void fg_backward_right(const fg_call *call, const void *saved, void *scratch)
    FG_REAL("fg_host_backward");
void fg_backward_adding(const fg_call *call, const void *saved, void *scratch)
    FG_FAULTY("fg_host_backward");

void fg_backward_adding(const fg_call *call, const void *saved, void *scratch) {
    fg_call adding = *call;
    if (call->problem->wgrad_dtype == FG_F32) {
        adding.accumulate |= FG_BIT(FG_W1) | FG_BIT(FG_W2);
    }
    fg_backward_right(&adding, saved, scratch);
}
