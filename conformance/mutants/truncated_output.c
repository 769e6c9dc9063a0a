/* y in bf16 is cut off where it should be rounded to nearest. */

#include "conformance/mutants/fault.h"
#include "reference/float_rows.h"
#include "reference/host_forward.h"
#include <string.h>

static _Thread_local const fg_tensor *output; /* y of the call that this thread is in */

void fg_forward_right(const fg_call *call, void *saved, void *scratch) FG_REAL("fg_host_forward");
void fg_forward_watched(const fg_call *call, void *saved, void *scratch)
    FG_FAULTY("fg_host_forward");
void fg_store_right(const fg_tensor *matrix, int64_t row, int64_t col, int64_t rows, int64_t cols,
                    const float *from, int add) FG_REAL("fg_rows_store");
void fg_store_truncated(const fg_tensor *matrix, int64_t row, int64_t col, int64_t rows,
                        int64_t cols, const float *from, int add) FG_FAULTY("fg_rows_store");

void fg_forward_watched(const fg_call *call, void *saved, void *scratch) {
    output = &call->y;
    fg_forward_right(call, saved, scratch);
    output = NULL;
}

void fg_store_truncated(const fg_tensor *matrix, int64_t row, int64_t col, int64_t rows,
                        int64_t cols, const float *from, int add) {
    if (matrix != output || matrix->dtype != FG_BF16) {
        fg_store_right(matrix, row, col, rows, cols, from, add);
        return;
    }
    for (int64_t r = 0; r < rows; r++) {
        uint16_t *to = (uint16_t *)fg_tensor_row(matrix, row + r) + col;
        for (int64_t c = 0; c < cols; c++) {
            uint32_t bits;
            memcpy(&bits, &from[r * cols + c], sizeof bits);
            to[c] = (uint16_t)(bits >> 16);
        }
    }
}
