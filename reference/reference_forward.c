#include "reference/reference_forward.h"
#include "reference/float_activation.h"
#include "reference/float_gemm.h"
#include "reference/float_rows.h"
#include "reference/gate_columns.h"
#include "reference/scratch_arena.h"

/* Buffers of one call; float32 but for the intermediates. */
typedef struct buffers {
    fg_intermediates own;
    float *in;     // [T, H] or [T, F]
    float *weight; // [O1, H] or [H, F]
    float *out;    // [T, O1] or [T, H]
    float *line;   // [O1] or [H]
    float *p;      // [T]
} buffers;

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static fg_intermediates cut(const fg_problem *problem, int64_t rows, fg_arena *arena) {
    fg_dtype dtype = (fg_dtype)problem->dtype;
    int64_t y1[2] = {rows, fg_problem_o1(problem)};
    int64_t h[2] = {rows, problem->inter};
    fg_intermediates views;
    void *data = fg_arena_take(arena, y1[0], y1[1], fg_dtype_size(dtype));
    views.y1 = fg_tensor_tight(data, dtype, -1, 2, y1);
    data = fg_arena_take(arena, h[0], h[1], fg_dtype_size(dtype));
    views.h = fg_tensor_tight(data, dtype, -1, 2, h);
    return views;
}

fg_intermediates fg_reference_saved(const fg_problem *problem, int64_t rows, void *saved) {
    fg_arena arena = fg_arena_on(saved);
    return cut(problem, rows, &arena);
}

fg_status fg_reference_saved_bytes(const fg_problem *problem, int64_t rows, size_t *out) {
    fg_arena arena = fg_arena_on(NULL);
    if (problem->op_count == FG_OP_COUNT) {
        cut(problem, rows, &arena);
        FG_TRY(arena.status);
    }
    *out = arena.used;
    return FG_STATUS_OK;
}

static buffers lay_out(const fg_problem *problem, int64_t rows, fg_arena *arena) {
    int64_t o1 = fg_problem_o1(problem);
    buffers b;
    b.own = cut(problem, rows, arena);
    b.in = fg_arena_floats(arena, rows, larger(problem->hidden, problem->inter));
    b.weight = fg_arena_floats(arena, o1, problem->hidden);
    b.out = fg_arena_floats(arena, rows, larger(o1, problem->hidden));
    b.line = fg_arena_floats(arena, 1, larger(o1, problem->hidden));
    b.p = fg_arena_floats(arena, 1, rows);
    return b;
}

fg_status fg_reference_forward_bytes(const fg_problem *problem, int64_t rows, size_t *out) {
    fg_arena arena = fg_arena_on(NULL);
    if (rows > 0) {
        lay_out(problem, rows, &arena);
        FG_TRY(arena.status);
    }
    *out = arena.used;
    return FG_STATUS_OK;
}

/* A linear layer: to = from W^T + bias; each bias row times `scale` unless that is NULL. */
static void linear(const fg_call *call, const buffers *b, int weight, int bias,
                   const fg_tensor *scale, const fg_tensor *from, const fg_tensor *to) {
    int64_t k = from->dims[1];
    int64_t n = to->dims[1];
    for (int64_t e = 0; e < call->problem->experts; e++) {
        int64_t begin = call->begin[e];
        int64_t rows = call->count[e];
        if (rows == 0) {
            continue;
        }
        fg_tensor w = fg_rows_matrix(&call->inputs[weight], e); // [n, k]
        fg_rows_load(from, begin, 0, rows, k, b->in);
        fg_rows_load(&w, 0, 0, n, k, b->weight);
        fg_float_gemm_nt(rows, n, k, b->in, b->weight, FG_GEMM_OVERWRITE, b->out);
        if (call->problem->bias) {
            fg_rows_load(&call->inputs[bias], e, 0, 1, n, b->line);
            if (scale != NULL) {
                fg_rows_load_vector(scale, begin, rows, b->p);
            }
            fg_rows_add(rows, n, b->line, scale == NULL ? NULL : b->p, b->out);
        }
        fg_rows_store(to, begin, 0, rows, n, b->out, 0);
    }
}

/* h = p act(y1), row after row. */
static void activation(const fg_call *call, const buffers *b, const fg_tensor *y1,
                       const fg_tensor *h) {
    int64_t inter = call->problem->inter;
    fg_columns all = fg_columns_of(call->problem, 0, inter);
    for (int64_t e = 0; e < call->problem->experts; e++) {
        if (call->count[e] == 0) {
            continue;
        }
        fg_rows_load_vector(&call->inputs[FG_P], call->begin[e], call->count[e], b->p);
        for (int64_t r = 0; r < call->count[e]; r++) {
            int64_t row = call->begin[e] + r;
            fg_columns_load(&all, y1, row, 1, b->out);
            fg_float_activation(call->problem->activation, inter, b->out, b->out + inter, b->in);
            for (int64_t j = 0; j < inter; j++) {
                b->in[j] *= b->p[r];
            }
            fg_rows_store(h, row, 0, 1, inter, b->in, 0);
        }
    }
}

void fg_reference_forward(const fg_call *call, void *saved, void *scratch) {
    const fg_problem *problem = call->problem;
    fg_arena arena = fg_arena_on(scratch);
    buffers b = lay_out(problem, call->rows, &arena);
    int whole = problem->op_count == FG_OP_COUNT;
    fg_intermediates kept = fg_reference_saved(problem, call->rows, saved);
    const fg_intermediates *own = whole && saved != NULL ? &kept : &b.own;
    const fg_tensor *y1 = fg_call_has(&call->y1) ? &call->y1 : &own->y1;
    const fg_tensor *h = fg_call_has(&call->h) ? &call->h : &own->h;
    const fg_tensor *scale = problem->separate_bias_scale ? &call->inputs[FG_BIAS_P]
                             : problem->scale_bias        ? &call->inputs[FG_P]
                                                          : NULL;
    int32_t end = problem->first_op + problem->op_count;
    if (problem->first_op == FG_OP_FC1) {
        linear(call, &b, FG_W1, FG_B1, NULL, &call->inputs[FG_X], y1);
    }
    if (problem->first_op <= FG_OP_ACTIVATION && end > FG_OP_ACTIVATION) {
        activation(call, &b, y1, h);
    }
    if (end == FG_OP_COUNT) {
        linear(call, &b, FG_W2, FG_B2, scale, h, &call->y);
    }
}
