#ifndef FG_REFERENCE_GATE_COLUMNS_H
#define FG_REFERENCE_GATE_COLUMNS_H

/* Some intermediate units of an MLP, and for each its gate column and its linear column, in one
 * order whatever the layout of the columns in y1 and of the rows in W1:
 *
 *     gate of the units      linear of the units
 *   [ 0 .. units - 1       | units .. 2 units - 1 ]   width = 2 units
 *
 * A unary activation has the first half only. */

#include "contract/problem.h"

/* Units [first, first + units) of the F. */
typedef struct fg_columns {
    const fg_problem *problem;
    int64_t first, units, width;
} fg_columns;

fg_columns fg_columns_of(const fg_problem *problem, int64_t first, int64_t units);

/* Rows row.. of a tensor [.., O1] to and from float32 [rows, width]; stores round once. */
void fg_columns_load(const fg_columns *columns, const fg_tensor *matrix, int64_t row, int64_t rows,
                     float *to);
void fg_columns_store(const fg_columns *columns, const fg_tensor *matrix, int64_t row, int64_t rows,
                      const float *from);

/* The same of a matrix [O1, n] whose rows are those columns, to and from float32 [width, n]; with
 * `add` a store adds. */
void fg_columns_load_rows(const fg_columns *columns, const fg_tensor *matrix, float *to);
void fg_columns_store_rows(const fg_columns *columns, const fg_tensor *matrix, const float *from,
                           int add);

#endif
