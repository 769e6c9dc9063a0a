#ifndef FG_REFERENCE_HOST_TILE_H
#define FG_REFERENCE_HOST_TILE_H

/* Tiles of the fused `host` backend: a tile is some rows of one expert times some of the F
 * intermediate units, and for each unit its gate column and its linear column.
 *
 *            gate of the tile's units   linear of the tile's units
 *   y1 tile [ 0 .. units-1            | units .. 2 units - 1      ]  one row
 *
 * in this order whatever the layout of the columns in y1 and of the rows in W1. */

#include "reference/backend_args.h"

enum {
    FG_HOST_ROW_TILE = 128,  /* rows of one GEMM */
    FG_HOST_ROW_BLOCK = 512, /* rows for which a forward keeps float32 sums of y */
    FG_HOST_UNIT_TILE = 256, /* intermediate units of one GEMM */
};

/* Units [first, first + units) of the intermediate dimension; `width` columns of y1. */
typedef struct fg_host_units {
    const fg_problem *problem;
    int64_t first, units, width;
} fg_host_units;

/* The tile that begins at unit `first`. */
fg_host_units fg_host_units_at(const fg_problem *problem, int64_t first);

/* Largest tile sizes of a problem at T rows. */
int64_t fg_host_units_max(const fg_problem *problem);
int64_t fg_host_width_max(const fg_problem *problem);
int64_t fg_host_rows_max(int64_t rows, int64_t tile);

/* w1 [width, H] and w2 [H, units] float32 of one expert. */
void fg_host_load_w1(const fg_call *call, int64_t expert, const fg_host_units *tile, float *w1);
void fg_host_load_w2(const fg_call *call, int64_t expert, const fg_host_units *tile, float *w2);

/* b1 [width] float32 of one expert. */
void fg_host_load_b1(const fg_call *call, int64_t expert, const fg_host_units *tile, float *b1);

/* Moves y1 tile [rows, width] to and from the tensor y1 [T, O1]. */
void fg_host_store_y1(const fg_tensor *y1, int64_t row, int64_t rows, const fg_host_units *tile,
                      const float *from);
void fg_host_load_y1(const fg_tensor *y1, int64_t row, int64_t rows, const fg_host_units *tile,
                     float *to);

/* Adds dw1 [width, H], dw2 [H, units] or db1 [width] to the gradient, or overwrites it. */
void fg_host_store_dw1(const fg_call *call, int64_t expert, const fg_host_units *tile,
                       const float *dw1);
void fg_host_store_dw2(const fg_call *call, int64_t expert, const fg_host_units *tile,
                       const float *dw2);
void fg_host_store_db1(const fg_call *call, int64_t expert, const fg_host_units *tile,
                       const float *db1);

/* What the forward saves: y1 [T, O1] in the I/O type. */
fg_tensor fg_host_saved_y1(const fg_problem *problem, int64_t rows, void *saved);

#endif
