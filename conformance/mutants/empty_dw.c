/* The weight gradients of an expert without rows are not written. */

#include "conformance/mutants/fault.h"
#include "reference/expert_gradient.h"

void fg_empty_dw(const fg_call *call, int64_t expert) FG_FAULTY("fg_expert_gradient_empty");

void fg_empty_dw(const fg_call *call, int64_t expert) {
    (void)call;
    (void)expert;
}
