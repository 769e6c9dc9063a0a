#ifndef FG_REFERENCE_HOST_TILE_H
#define FG_REFERENCE_HOST_TILE_H

/* Tiles of the fused `host` backend: a tile is some rows of one expert times some intermediate
 * units in the order of gate_columns.h. */

#include "reference/backend_args.h"
#include "reference/gate_columns.h"

enum {
    FG_HOST_ROW_TILE = 128,  /* rows of one GEMM */
    FG_HOST_ROW_BLOCK = 512, /* rows for which a forward keeps float32 sums of y */
    FG_HOST_UNIT_TILE = 128, /* intermediate units of one GEMM */
};

/* The tile that begins at unit `first`; the first one is the largest. */
fg_columns fg_host_units_at(const fg_problem *problem, int64_t first);

/* The smaller of the rows that are left and a tile of them. */
int64_t fg_host_rows(int64_t left, int64_t tile);

/* w1 [width, H], b1 [width] and w2 [H, units] float32 of one expert. */
void fg_host_load_w1(const fg_call *call, int64_t expert, const fg_columns *tile, float *w1);
void fg_host_load_b1(const fg_call *call, int64_t expert, const fg_columns *tile, float *b1);
void fg_host_load_w2(const fg_call *call, int64_t expert, const fg_columns *tile, float *w2);

/* Adds dw1 [width, H] or dw2 [H, units] to the gradient, or overwrites it. */
void fg_host_store_dw1(const fg_call *call, int64_t expert, const fg_columns *tile,
                       const float *dw1);
void fg_host_store_dw2(const fg_call *call, int64_t expert, const fg_columns *tile,
                       const float *dw2);

/* What the forward saves: y1 [T, O1] in the I/O type. */
fg_tensor fg_host_saved_y1(const fg_problem *problem, int64_t rows, void *saved);

#endif
