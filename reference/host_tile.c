#include "reference/host_tile.h"
#include "reference/float_rows.h"

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

fg_host_units fg_host_units_at(const fg_problem *problem, int64_t first) {
    int64_t units = smaller(problem->inter - first, FG_HOST_UNIT_TILE);
    int gated = fg_activation_gated((fg_activation)problem->activation);
    return (fg_host_units){problem, first, units, gated ? 2 * units : units};
}

int64_t fg_host_units_max(const fg_problem *problem) {
    return fg_host_units_at(problem, 0).units;
}

int64_t fg_host_width_max(const fg_problem *problem) {
    return fg_host_units_at(problem, 0).width;
}

int64_t fg_host_rows_max(int64_t rows, int64_t tile) {
    return smaller(rows, tile);
}

/* Neighbours in the tile that are neighbours in y1 too: `length` columns from `column` on. */
typedef struct column_run {
    int64_t column, length;
} column_run;

/* The run that begins at position `at` of a tile's row. */
static column_run run_at(const fg_host_units *tile, int64_t at) {
    int linear = at >= tile->units;
    int64_t unit = tile->first + (linear ? at - tile->units : at);
    int64_t end = tile->first + tile->units;
    int64_t block = tile->problem->interleave;
    column_run run;
    run.column = linear ? fg_problem_linear_column(tile->problem, unit)
                        : fg_problem_gate_column(tile->problem, unit);
    run.length = block == 0 ? end - unit : smaller(end - unit, block - unit % block);
    return run;
}

void fg_host_load_w1(const fg_call *call, int64_t expert, const fg_host_units *tile, float *w1) {
    fg_tensor matrix = fg_rows_matrix(&call->inputs[FG_W1], expert); // [O1, H]
    int64_t hidden = tile->problem->hidden;
    for (int64_t at = 0; at < tile->width;) {
        column_run run = run_at(tile, at);
        fg_rows_load(&matrix, run.column, 0, run.length, hidden, w1 + at * hidden);
        at += run.length;
    }
}

void fg_host_load_w2(const fg_call *call, int64_t expert, const fg_host_units *tile, float *w2) {
    fg_tensor matrix = fg_rows_matrix(&call->inputs[FG_W2], expert); // [H, F]
    fg_rows_load(&matrix, 0, tile->first, tile->problem->hidden, tile->units, w2);
}

/* Row `row` of a [.., O1] matrix into tile order. */
static void load_columns(const fg_tensor *matrix, int64_t row, const fg_host_units *tile,
                         float *to) {
    for (int64_t at = 0; at < tile->width;) {
        column_run run = run_at(tile, at);
        fg_rows_load(matrix, row, run.column, 1, run.length, to + at);
        at += run.length;
    }
}

static void store_columns(const fg_tensor *matrix, int64_t row, const fg_host_units *tile,
                          const float *from) {
    for (int64_t at = 0; at < tile->width;) {
        column_run run = run_at(tile, at);
        fg_rows_store(matrix, row, run.column, 1, run.length, from + at, 0);
        at += run.length;
    }
}

void fg_host_load_b1(const fg_call *call, int64_t expert, const fg_host_units *tile, float *b1) {
    load_columns(&call->inputs[FG_B1], expert, tile, b1);
}

void fg_host_store_y1(const fg_tensor *y1, int64_t row, int64_t rows, const fg_host_units *tile,
                      const float *from) {
    for (int64_t r = 0; r < rows; r++) {
        store_columns(y1, row + r, tile, from + r * tile->width);
    }
}

void fg_host_load_y1(const fg_tensor *y1, int64_t row, int64_t rows, const fg_host_units *tile,
                     float *to) {
    for (int64_t r = 0; r < rows; r++) {
        load_columns(y1, row + r, tile, to + r * tile->width);
    }
}

void fg_host_store_dw1(const fg_call *call, int64_t expert, const fg_host_units *tile,
                       const float *dw1) {
    fg_tensor matrix = fg_rows_matrix(&call->grads[FG_W1], expert); // [O1, H]
    int64_t hidden = tile->problem->hidden;
    int add = (call->accumulate & FG_BIT(FG_W1)) != 0;
    for (int64_t at = 0; at < tile->width;) {
        column_run run = run_at(tile, at);
        fg_rows_store(&matrix, run.column, 0, run.length, hidden, dw1 + at * hidden, add);
        at += run.length;
    }
}

void fg_host_store_dw2(const fg_call *call, int64_t expert, const fg_host_units *tile,
                       const float *dw2) {
    fg_tensor matrix = fg_rows_matrix(&call->grads[FG_W2], expert); // [H, F]
    int add = (call->accumulate & FG_BIT(FG_W2)) != 0;
    fg_rows_store(&matrix, 0, tile->first, tile->problem->hidden, tile->units, dw2, add);
}

void fg_host_store_db1(const fg_call *call, int64_t expert, const fg_host_units *tile,
                       const float *db1) {
    store_columns(&call->grads[FG_B1], expert, tile, db1);
}

fg_tensor fg_host_saved_y1(const fg_problem *problem, int64_t rows, void *saved) {
    int64_t dims[2] = {rows, fg_problem_o1(problem)};
    return fg_tensor_tight(saved, (fg_dtype)problem->dtype, -1, 2, dims);
}
