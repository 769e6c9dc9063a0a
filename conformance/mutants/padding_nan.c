/* An expert's last row takes in the padding row after it, times zero: NaN there becomes NaN here.
 */

#include "conformance/mutants/fault.h"
#include "reference/float_rows.h"
#include "reference/host_forward.h"

void fg_forward_right(const fg_call *call, void *saved, void *scratch) FG_REAL("fg_host_forward");
void fg_forward_padded(const fg_call *call, void *saved, void *scratch)
    FG_FAULTY("fg_host_forward");

void fg_forward_padded(const fg_call *call, void *saved, void *scratch) {
    int64_t experts = call->problem->experts;
    fg_forward_right(call, saved, scratch);
    for (int64_t e = 0; e < experts; e++) {
        int64_t end = call->begin[e] + call->count[e];
        int64_t next = e + 1 < experts ? call->begin[e + 1] : call->rows;
        if (call->count[e] > 0 && end < next) {
            float beyond;
            fg_rows_load(&call->inputs[FG_X], end, 0, 1, 1, &beyond);
            beyond *= 0.0f;
            fg_rows_store(&call->y, end - 1, 0, 1, 1, &beyond, 1);
        }
    }
}
