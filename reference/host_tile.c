#include "reference/host_tile.h"
#include "reference/float_rows.h"

fg_columns fg_host_units_at(const fg_problem *problem, int64_t first) {
    int64_t left = problem->inter - first;
    return fg_columns_of(problem, first, left < FG_HOST_UNIT_TILE ? left : FG_HOST_UNIT_TILE);
}

int64_t fg_host_rows(int64_t left, int64_t tile) {
    return left < tile ? left : tile;
}

void fg_host_load_w1(const fg_call *call, int64_t expert, const fg_columns *tile, float *w1) {
    fg_tensor matrix = fg_rows_matrix(&call->inputs[FG_W1], expert); // [O1, H]
    fg_columns_load_rows(tile, &matrix, w1);
}

void fg_host_load_b1(const fg_call *call, int64_t expert, const fg_columns *tile, float *b1) {
    fg_columns_load(tile, &call->inputs[FG_B1], expert, 1, b1);
}

void fg_host_load_w2(const fg_call *call, int64_t expert, const fg_columns *tile, float *w2) {
    fg_tensor matrix = fg_rows_matrix(&call->inputs[FG_W2], expert); // [H, F]
    fg_rows_load(&matrix, 0, tile->first, call->problem->hidden, tile->units, w2);
}

void fg_host_store_dw1(const fg_call *call, int64_t expert, const fg_columns *tile,
                       const float *dw1) {
    fg_tensor matrix = fg_rows_matrix(&call->grads[FG_W1], expert); // [O1, H]
    fg_columns_store_rows(tile, &matrix, dw1, (call->accumulate & FG_BIT(FG_W1)) != 0);
}

void fg_host_store_dw2(const fg_call *call, int64_t expert, const fg_columns *tile,
                       const float *dw2) {
    fg_tensor matrix = fg_rows_matrix(&call->grads[FG_W2], expert); // [H, F]
    int add = (call->accumulate & FG_BIT(FG_W2)) != 0;
    fg_rows_store(&matrix, 0, tile->first, call->problem->hidden, tile->units, dw2, add);
}

fg_tensor fg_host_saved_y1(const fg_problem *problem, int64_t rows, void *saved) {
    int64_t dims[2] = {rows, fg_problem_o1(problem)};
    return fg_tensor_tight(saved, (fg_dtype)problem->dtype, -1, 2, dims);
}
