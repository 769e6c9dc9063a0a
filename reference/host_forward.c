#include "reference/host_forward.h"
#include "reference/float_activation.h"
#include "reference/float_gemm.h"
#include "reference/float_rows.h"
#include "reference/host_tile.h"
#include "reference/scratch_arena.h"

/* Float32 buffers of one call. */
typedef struct buffers {
    float *w1; // [width, H]
    float *w2; // [H, units]
    float *b1; // [width]
    float *b2; // [H]
    float *x;  // [rows of a tile, H]
    float *y1; // [rows of a tile, width]
    float *h;  // [rows of a tile, units]
    float *p;  // [rows of a block]
    float *y;  // [rows of a block, H]
} buffers;

static buffers lay_out(const fg_problem *problem, int64_t rows, fg_arena *arena) {
    int64_t units = fg_host_units_at(problem, 0).units;
    int64_t width = fg_host_units_at(problem, 0).width;
    int64_t tile = fg_host_rows(rows, FG_HOST_ROW_TILE);
    int64_t block = fg_host_rows(rows, FG_HOST_ROW_BLOCK);
    buffers b;
    b.w1 = fg_arena_floats(arena, width, problem->hidden);
    b.w2 = fg_arena_floats(arena, problem->hidden, units);
    b.b1 = fg_arena_floats(arena, 1, width);
    b.b2 = fg_arena_floats(arena, 1, problem->hidden);
    b.x = fg_arena_floats(arena, tile, problem->hidden);
    b.y1 = fg_arena_floats(arena, tile, width);
    b.h = fg_arena_floats(arena, tile, units);
    b.p = fg_arena_floats(arena, 1, block);
    b.y = fg_arena_floats(arena, block, problem->hidden);
    return b;
}

fg_status fg_host_forward_bytes(const fg_problem *problem, int64_t rows, size_t *out) {
    fg_arena arena = fg_arena_on(NULL);
    if (rows > 0) {
        lay_out(problem, rows, &arena);
        FG_TRY(arena.status);
    }
    *out = arena.used;
    return FG_STATUS_OK;
}

/* h tile [rows, units] = p act(y1 tile), rounded to the I/O type. */
static void activate(const fg_call *call, const fg_columns *tile, int64_t rows, const float *y1,
                     const float *p, float *h) {
    for (int64_t r = 0; r < rows; r++) {
        const float *gate = y1 + r * tile->width;
        float *row = h + r * tile->units;
        fg_float_activation(call->problem->activation, tile->units, gate, gate + tile->units, row);
        for (int64_t j = 0; j < tile->units; j++) {
            row[j] *= p[r];
        }
    }
    fg_rows_round((fg_dtype)call->problem->dtype, rows * tile->units, h);
}

/* Adds one tile's part of y to y [rows, H]. */
static void add_tile(const fg_call *call, const buffers *b, const fg_columns *tile, int64_t row,
                     int64_t rows, const fg_tensor *saved, const float *p, float *y) {
    int64_t hidden = call->problem->hidden;
    fg_rows_load(&call->inputs[FG_X], row, 0, rows, hidden, b->x);
    fg_float_gemm_nt(rows, tile->width, hidden, b->x, b->w1, FG_GEMM_OVERWRITE, b->y1);
    if (call->problem->bias) {
        fg_rows_add(rows, tile->width, b->b1, NULL, b->y1);
    }
    if (saved != NULL) {
        fg_columns_store(tile, saved, row, rows, b->y1);
    }
    activate(call, tile, rows, b->y1, p, b->h);
    int add = tile->first == 0 ? FG_GEMM_OVERWRITE : FG_GEMM_ADD;
    fg_float_gemm_nt(rows, hidden, tile->units, b->h, b->w2, add, y);
}

/* y [rows, H] + b2, or + the scale of each row times b2. */
static void add_output_bias(const fg_call *call, const buffers *b, int64_t expert, int64_t row,
                            int64_t rows) {
    int64_t hidden = call->problem->hidden;
    const float *scale = call->problem->scale_bias ? b->p : NULL;
    if (call->problem->separate_bias_scale) {
        fg_rows_load_vector(&call->inputs[FG_BIAS_P], row, rows, b->p);
    }
    fg_rows_load(&call->inputs[FG_B2], expert, 0, 1, hidden, b->b2);
    fg_rows_add(rows, hidden, b->b2, scale, b->y);
}

/* y of one block of an expert's rows. */
static void forward_block(const fg_call *call, const buffers *b, int64_t expert, int64_t row,
                          int64_t rows, const fg_tensor *saved) {
    int64_t hidden = call->problem->hidden;
    fg_rows_load_vector(&call->inputs[FG_P], row, rows, b->p);
    for (int64_t unit = 0; unit < call->problem->inter; unit += FG_HOST_UNIT_TILE) {
        fg_columns tile = fg_host_units_at(call->problem, unit);
        fg_host_load_w1(call, expert, &tile, b->w1);
        fg_host_load_w2(call, expert, &tile, b->w2);
        if (call->problem->bias) {
            fg_host_load_b1(call, expert, &tile, b->b1);
        }
        for (int64_t at = 0; at < rows; at += FG_HOST_ROW_TILE) {
            int64_t count = fg_host_rows(rows - at, FG_HOST_ROW_TILE);
            add_tile(call, b, &tile, row + at, count, saved, b->p + at, b->y + at * hidden);
        }
    }
    if (call->problem->bias) {
        add_output_bias(call, b, expert, row, rows);
    }
    fg_rows_store(&call->y, row, 0, rows, hidden, b->y, 0);
}

void fg_host_forward(const fg_call *call, void *saved, void *scratch) {
    fg_arena arena = fg_arena_on(scratch);
    buffers b = lay_out(call->problem, call->rows, &arena);
    fg_tensor y1 = fg_host_saved_y1(call->problem, call->rows, saved);
    for (int64_t expert = 0; expert < call->problem->experts; expert++) {
        for (int64_t at = 0; at < call->count[expert]; at += FG_HOST_ROW_BLOCK) {
            int64_t rows = fg_host_rows(call->count[expert] - at, FG_HOST_ROW_BLOCK);
            forward_block(call, &b, expert, call->begin[expert] + at, rows,
                          saved == NULL ? NULL : &y1);
        }
    }
}
