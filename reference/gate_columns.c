#include "reference/gate_columns.h"
#include "reference/float_rows.h"

fg_columns fg_columns_of(const fg_problem *problem, int64_t first, int64_t units) {
    int gated = fg_activation_gated((fg_activation)problem->activation);
    return (fg_columns){problem, first, units, gated ? 2 * units : units};
}

/* Neighbours here that are neighbours in y1 too: `length` columns from `column` on. */
typedef struct column_run {
    int64_t column, length;
} column_run;

/* The run that begins at position `at`. */
static column_run run_at(const fg_columns *columns, int64_t at) {
    int linear = at >= columns->units;
    int64_t unit = columns->first + (linear ? at - columns->units : at);
    int64_t rest = columns->first + columns->units - unit;
    int64_t block = columns->problem->interleave;
    column_run run;
    run.column = linear ? fg_problem_linear_column(columns->problem, unit)
                        : fg_problem_gate_column(columns->problem, unit);
    run.length = rest;
    if (block != 0 && block - unit % block < rest) {
        run.length = block - unit % block;
    }
    return run;
}

void fg_columns_load(const fg_columns *columns, const fg_tensor *matrix, int64_t row, int64_t rows,
                     float *to) {
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t at = 0; at < columns->width;) {
            column_run run = run_at(columns, at);
            fg_rows_load(matrix, row + r, run.column, 1, run.length, to + r * columns->width + at);
            at += run.length;
        }
    }
}

void fg_columns_store(const fg_columns *columns, const fg_tensor *matrix, int64_t row, int64_t rows,
                      const float *from) {
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t at = 0; at < columns->width;) {
            column_run run = run_at(columns, at);
            fg_rows_store(matrix, row + r, run.column, 1, run.length,
                          from + r * columns->width + at, 0);
            at += run.length;
        }
    }
}

void fg_columns_load_rows(const fg_columns *columns, const fg_tensor *matrix, float *to) {
    int64_t n = matrix->dims[1];
    for (int64_t at = 0; at < columns->width;) {
        column_run run = run_at(columns, at);
        fg_rows_load(matrix, run.column, 0, run.length, n, to + at * n);
        at += run.length;
    }
}

void fg_columns_store_rows(const fg_columns *columns, const fg_tensor *matrix, const float *from,
                           int add) {
    int64_t n = matrix->dims[1];
    for (int64_t at = 0; at < columns->width;) {
        column_run run = run_at(columns, at);
        fg_rows_store(matrix, run.column, 0, run.length, n, from + at * n, add);
        at += run.length;
    }
}
