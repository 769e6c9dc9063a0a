/* The per-token scales are not read: every row counts once. */

#include "conformance/mutants/fault.h"
#include "reference/float_rows.h"

void fg_load_ones(const fg_tensor *vector, int64_t first, int64_t n, float *to)
    FG_FAULTY("fg_rows_load_vector");

void fg_load_ones(const fg_tensor *vector, int64_t first, int64_t n, float *to) {
    (void)vector;
    (void)first;
    for (int64_t i = 0; i < n; i++) {
        to[i] = 1.0f;
    }
}
