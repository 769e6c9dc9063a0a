/* FC1's forward loses the last tile of 64 of its K = H products. */

#include "conformance/mutants/fault.h"
#include "reference/host_tile.h"
#include <string.h>

enum { K_TILE = 64 };

void fg_load_w1_right(const fg_call *call, int64_t expert, const fg_columns *tile, float *w1)
    FG_REAL("fg_host_load_w1");
void fg_load_w1_short(const fg_call *call, int64_t expert, const fg_columns *tile, float *w1)
    FG_FAULTY("fg_host_load_w1");

void fg_load_w1_short(const fg_call *call, int64_t expert, const fg_columns *tile, float *w1) {
    int64_t hidden = call->problem->hidden;
    int64_t kept = (hidden - 1) / K_TILE * K_TILE;
    int forward = !fg_call_has(&call->dy);
    fg_load_w1_right(call, expert, tile, w1);
    for (int64_t row = 0; forward && row < tile->width; row++) {
        memset(w1 + row * hidden + kept, 0, (size_t)(hidden - kept) * sizeof *w1);
    }
}
