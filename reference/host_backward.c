#include "reference/host_backward.h"
#include "reference/expert_gradient.h"
#include "reference/float_activation.h"
#include "reference/float_gemm.h"
#include "reference/float_rows.h"
#include "reference/host_tile.h"
#include "reference/scratch_arena.h"
#include <string.h>

/* Float32 buffers of one call. */
typedef struct buffers {
    float *w1, *dw1; // [width, H]
    float *w2, *dw2; // [H, units]
    float *db1;      // [width]
    float *x, *dy;   // [rows of a tile, H]
    float *dh, *h;   // [rows of a tile, units]
    float *y1;       // [rows of a tile, width], then dy1
    float *p;        // [rows of a tile]
    float *line;     // [2, H]
    float *dx;       // [T, H], row 0 is the expert's first
    float *dp;       // [T], likewise
} buffers;

static buffers lay_out(const fg_problem *problem, int64_t rows, fg_arena *arena) {
    int64_t units = fg_host_units_at(problem, 0).units;
    int64_t width = fg_host_units_at(problem, 0).width;
    int64_t tile = fg_host_rows(rows, FG_HOST_ROW_TILE);
    buffers b;
    b.w1 = fg_arena_floats(arena, width, problem->hidden);
    b.dw1 = fg_arena_floats(arena, width, problem->hidden);
    b.w2 = fg_arena_floats(arena, problem->hidden, units);
    b.dw2 = fg_arena_floats(arena, problem->hidden, units);
    b.db1 = fg_arena_floats(arena, 1, width);
    b.x = fg_arena_floats(arena, tile, problem->hidden);
    b.dy = fg_arena_floats(arena, tile, problem->hidden);
    b.dh = fg_arena_floats(arena, tile, units);
    b.h = fg_arena_floats(arena, tile, units);
    b.y1 = fg_arena_floats(arena, tile, width);
    b.p = fg_arena_floats(arena, 1, tile);
    b.line = fg_arena_floats(arena, 2, problem->hidden);
    b.dx = fg_arena_floats(arena, rows, problem->hidden);
    b.dp = fg_arena_floats(arena, 1, rows);
    return b;
}

fg_status fg_host_backward_bytes(const fg_problem *problem, int64_t rows, size_t *out) {
    fg_arena arena = fg_arena_on(NULL);
    if (rows > 0) {
        lay_out(problem, rows, &arena);
        FG_TRY(arena.status);
    }
    *out = arena.used;
    return FG_STATUS_OK;
}

static int wants(const fg_call *call, uint32_t mask) {
    return (call->mask & mask) != 0;
}

enum {
    PAST_FC1 = 1u << FG_X | 1u << FG_W1 | 1u << FG_B1, /* need dy1 */
    PAST_ACTIVATION = PAST_FC1 | 1u << FG_P,           /* need dh */
    PAST_FC2 = PAST_ACTIVATION | 1u << FG_W2,          /* need the tiles at all */
};

/* One row of the activation's part: h = p a, dp += sum of dh a, and dy1 in y1's place. */
static void activation_row(const fg_call *call, const fg_columns *tile, float p, float *h,
                           float *dh, float *y1, float *dp) {
    float *linear = y1 + tile->units;
    float sum = 0.0f;
    fg_float_activation(call->problem->activation, tile->units, y1, linear, h);
    for (int64_t j = 0; j < tile->units; j++) {
        sum += dh[j] * h[j];
        h[j] *= p;
        dh[j] *= p;
    }
    *dp += sum;
    if (wants(call, PAST_FC1)) {
        fg_float_activation_backward(call->problem->activation, tile->units, y1, linear, dh, y1,
                                     linear);
    }
}

/* dx and dw1 of one tile; db1 takes dy1 before it is rounded. */
static void fc1_tile(const fg_call *call, const buffers *b, const fg_columns *tile, int64_t row,
                     int64_t rows, float *dx) {
    int64_t hidden = call->problem->hidden;
    fg_rows_sum(rows, tile->width, b->y1, b->db1);
    fg_rows_round((fg_dtype)call->problem->dtype, rows * tile->width, b->y1);
    if (wants(call, FG_BIT(FG_X))) {
        int add = tile->first == 0 ? FG_GEMM_OVERWRITE : FG_GEMM_ADD;
        fg_float_gemm_nn(rows, hidden, tile->width, b->y1, b->w1, add, dx);
    }
    if (wants(call, FG_BIT(FG_W1))) {
        fg_rows_load(&call->inputs[FG_X], row, 0, rows, hidden, b->x);
        fg_float_gemm_tn(tile->width, hidden, rows, b->y1, b->x, FG_GEMM_ADD, b->dw1);
    }
}

/* All that one tile of `rows` rows gives. */
static void add_tile(const fg_call *call, const buffers *b, const fg_columns *tile, int64_t row,
                     int64_t rows, const fg_tensor *saved, float *dx, float *dp) {
    fg_dtype dtype = (fg_dtype)call->problem->dtype;
    int64_t hidden = call->problem->hidden;
    fg_rows_load(&call->dy, row, 0, rows, hidden, b->dy);
    fg_rows_load_vector(&call->inputs[FG_P], row, rows, b->p);
    fg_columns_load(tile, saved, row, rows, b->y1);
    fg_float_gemm_nn(rows, tile->units, hidden, b->dy, b->w2, FG_GEMM_OVERWRITE, b->dh);
    for (int64_t r = 0; r < rows; r++) {
        activation_row(call, tile, b->p[r], b->h + r * tile->units, b->dh + r * tile->units,
                       b->y1 + r * tile->width, dp + r);
    }
    if (wants(call, FG_BIT(FG_W2))) {
        fg_rows_round(dtype, rows * tile->units, b->h);
        fg_float_gemm_tn(hidden, tile->units, rows, b->dy, b->h, FG_GEMM_ADD, b->dw2);
    }
    if (wants(call, PAST_FC1)) {
        fc1_tile(call, b, tile, row, rows, dx);
    }
}

static void begin_units(const fg_call *call, const buffers *b, int64_t expert,
                        const fg_columns *tile) {
    size_t hidden = (size_t)call->problem->hidden;
    if (wants(call, FG_BIT(FG_X))) {
        fg_host_load_w1(call, expert, tile, b->w1);
    }
    fg_host_load_w2(call, expert, tile, b->w2);
    memset(b->dw1, 0, (size_t)tile->width * hidden * sizeof *b->dw1);
    memset(b->dw2, 0, (size_t)tile->units * hidden * sizeof *b->dw2);
    memset(b->db1, 0, (size_t)tile->width * sizeof *b->db1);
}

static void end_units(const fg_call *call, const buffers *b, int64_t expert,
                      const fg_columns *tile) {
    if (wants(call, FG_BIT(FG_W1))) {
        fg_host_store_dw1(call, expert, tile, b->dw1);
    }
    if (wants(call, FG_BIT(FG_W2))) {
        fg_host_store_dw2(call, expert, tile, b->dw2);
    }
    if (wants(call, FG_BIT(FG_B1))) {
        fg_columns_store(tile, &call->grads[FG_B1], expert, 1, b->db1);
    }
}

static void backward_expert(const fg_call *call, const buffers *b, int64_t expert,
                            const fg_tensor *saved) {
    int64_t hidden = call->problem->hidden;
    int64_t begin = call->begin[expert];
    int64_t count = call->count[expert];
    memset(b->dp, 0, (size_t)count * sizeof *b->dp);
    for (int64_t unit = 0; wants(call, PAST_FC2) && unit < call->problem->inter;
         unit += FG_HOST_UNIT_TILE) {
        fg_columns tile = fg_host_units_at(call->problem, unit);
        begin_units(call, b, expert, &tile);
        for (int64_t at = 0; at < count; at += FG_HOST_ROW_TILE) {
            int64_t rows = fg_host_rows(count - at, FG_HOST_ROW_TILE);
            add_tile(call, b, &tile, begin + at, rows, saved, b->dx + at * hidden, b->dp + at);
        }
        end_units(call, b, expert, &tile);
    }
    fg_expert_gradient_b2(call, expert, FG_HOST_ROW_TILE, b->dy, b->p, b->line, b->dp);
    if (wants(call, FG_BIT(FG_P))) {
        fg_tensor line = fg_rows_matrix(&call->grads[FG_P], 0);
        fg_rows_store(&line, 0, begin, 1, count, b->dp, (call->accumulate & FG_BIT(FG_P)) != 0);
    }
    if (wants(call, FG_BIT(FG_X))) {
        fg_rows_store(&call->grads[FG_X], begin, 0, count, hidden, b->dx, 0);
    }
}

void fg_host_backward(const fg_call *call, const void *saved, void *scratch) {
    fg_arena arena = fg_arena_on(scratch);
    buffers b = lay_out(call->problem, call->rows, &arena);
    // The view is only read from; tensors have no const form.
    fg_tensor y1 = fg_host_saved_y1(call->problem, call->rows, (void *)(uintptr_t)saved);
    for (int64_t expert = 0; expert < call->problem->experts; expert++) {
        if (call->count[expert] == 0) {
            fg_expert_gradient_empty(call, expert);
        } else {
            backward_expert(call, &b, expert, &y1);
        }
    }
}
