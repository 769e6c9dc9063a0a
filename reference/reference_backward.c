#include "reference/reference_backward.h"
#include "reference/expert_gradient.h"
#include "reference/float_activation.h"
#include "reference/float_gemm.h"
#include "reference/float_rows.h"
#include "reference/gate_columns.h"
#include "reference/reference_forward.h"
#include "reference/scratch_arena.h"
#include <string.h>

/* Buffers of one call; float32 but for the intermediate gradients. */
typedef struct buffers {
    fg_tensor dh, dy1; // [T, F], [T, O1] I/O type
    float *left;       // [T, H] or [T, O1]
    float *right;      // [T, H] or [T, F]
    float *weight;     // [O1, H] or [H, F]
    float *dweight;    // likewise
    float *line;       // [2, max(O1, H)]
    float *a;          // [F]
    float *p;          // [T]
    float *dp;         // [T]
} buffers;

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static buffers lay_out(const fg_problem *problem, int64_t rows, fg_arena *arena) {
    fg_dtype dtype = (fg_dtype)problem->dtype;
    int64_t o1 = fg_problem_o1(problem);
    int64_t by_inter[2] = {rows, problem->inter};
    int64_t by_o1[2] = {rows, o1};
    int64_t wide = larger(o1, problem->hidden);
    buffers b;
    void *dh = fg_arena_take(arena, rows, problem->inter, fg_dtype_size(dtype));
    void *dy1 = fg_arena_take(arena, rows, o1, fg_dtype_size(dtype));
    b.dh = fg_tensor_tight(dh, dtype, -1, 2, by_inter);
    b.dy1 = fg_tensor_tight(dy1, dtype, -1, 2, by_o1);
    b.left = fg_arena_floats(arena, rows, wide);
    b.right = fg_arena_floats(arena, rows, larger(problem->hidden, problem->inter));
    b.weight = fg_arena_floats(arena, o1, problem->hidden);
    b.dweight = fg_arena_floats(arena, o1, problem->hidden);
    b.line = fg_arena_floats(arena, 2, wide);
    b.a = fg_arena_floats(arena, 1, problem->inter);
    b.p = fg_arena_floats(arena, 1, rows);
    b.dp = fg_arena_floats(arena, 1, rows);
    return b;
}

fg_status fg_reference_backward_bytes(const fg_problem *problem, int64_t rows, size_t *out) {
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

/* A linear layer's part for one expert: dfrom = dto W unless NULL, and dW = dto^T from when wanted.
 * Leaves dto [rows, n] in b->left. */
static void linear(const fg_call *call, const buffers *b, int64_t e, int weight,
                   const fg_tensor *from, const fg_tensor *dto, const fg_tensor *dfrom) {
    int64_t begin = call->begin[e];
    int64_t rows = call->count[e];
    int64_t n = dto->dims[1];
    fg_rows_load(dto, begin, 0, rows, n, b->left);
    if (dfrom != NULL) {
        int64_t k = dfrom->dims[1];
        fg_tensor w = fg_rows_matrix(&call->inputs[weight], e); // [n, k]
        fg_rows_load(&w, 0, 0, n, k, b->weight);
        fg_float_gemm_nn(rows, k, n, b->left, b->weight, FG_GEMM_OVERWRITE, b->right);
        fg_rows_store(dfrom, begin, 0, rows, k, b->right, 0);
    }
    if (wants(call, FG_BIT(weight))) {
        int64_t k = from->dims[1];
        fg_tensor dw = fg_rows_matrix(&call->grads[weight], e); // [n, k]
        fg_rows_load(from, begin, 0, rows, k, b->right);
        fg_float_gemm_tn(n, k, rows, b->left, b->right, FG_GEMM_OVERWRITE, b->dweight);
        fg_rows_store(&dw, 0, 0, n, k, b->dweight, (call->accumulate & FG_BIT(weight)) != 0);
    }
}

static float dot(int64_t n, const float *a, const float *b) {
    float sum = 0.0f;
    for (int64_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* dp += sum of dh a, and dy1 unless NULL, for one expert. */
static void activation(const fg_call *call, const buffers *b, int64_t e, const fg_tensor *y1,
                       const fg_tensor *dh, const fg_tensor *dy1) {
    int32_t act = call->problem->activation;
    int64_t inter = call->problem->inter;
    fg_columns all = fg_columns_of(call->problem, 0, inter);
    float *gate = b->left;
    float *linear_half = gate + inter;
    fg_rows_load_vector(&call->inputs[FG_P], call->begin[e], call->count[e], b->p);
    for (int64_t r = 0; r < call->count[e]; r++) {
        int64_t row = call->begin[e] + r;
        fg_columns_load(&all, y1, row, 1, gate);
        fg_rows_load(dh, row, 0, 1, inter, b->right);
        fg_float_activation(act, inter, gate, linear_half, b->a);
        b->dp[r] += dot(inter, b->right, b->a);
        if (dy1 != NULL) {
            for (int64_t j = 0; j < inter; j++) {
                b->right[j] *= b->p[r];
            }
            fg_float_activation_backward(act, inter, gate, linear_half, b->right, gate,
                                         linear_half);
            fg_columns_store(&all, dy1, row, 1, gate);
        }
    }
}

/* The tensors of one call's backward; NULL where nothing is wanted of them. */
typedef struct flow {
    fg_tensor y1, h;
    const fg_tensor *dh, *dy1, *dx;
} flow;

static flow plan_flow(const fg_call *call, const buffers *b, const void *saved) {
    uint32_t past_fc1 = FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_B1) | FG_MASK_DY1;
    uint32_t past_activation = past_fc1 | FG_MASK_DH;
    // The views are only read from; tensors have no const form.
    fg_intermediates kept = fg_reference_saved(call->problem, call->rows, (void *)(uintptr_t)saved);
    if (call->problem->first_op <= FG_OP_ACTIVATION) {
        past_activation |= FG_BIT(FG_P);
    }
    flow f;
    f.y1 = fg_call_has(&call->y1) ? call->y1 : kept.y1;
    f.h = fg_call_has(&call->h) ? call->h : kept.h;
    f.dh = fg_call_has(&call->dh) ? &call->dh : &b->dh;
    f.dh = wants(call, past_activation) ? f.dh : NULL;
    f.dy1 = fg_call_has(&call->dy1) ? &call->dy1 : &b->dy1;
    f.dy1 = wants(call, past_fc1) ? f.dy1 : NULL;
    f.dx = wants(call, FG_BIT(FG_X)) ? &call->grads[FG_X] : NULL;
    return f;
}

static void backward_expert(const fg_call *call, const buffers *b, int64_t e, const flow *f) {
    const fg_problem *problem = call->problem;
    int32_t end = problem->first_op + problem->op_count;
    memset(b->dp, 0, (size_t)call->count[e] * sizeof *b->dp);
    if (end == FG_OP_COUNT) {
        fg_expert_gradient_b2(call, e, call->count[e], b->left, b->p, b->line, b->dp);
        linear(call, b, e, FG_W2, &f->h, &call->dy, f->dh);
    }
    if (problem->first_op <= FG_OP_ACTIVATION && end > FG_OP_ACTIVATION && f->dh != NULL) {
        activation(call, b, e, &f->y1, f->dh, f->dy1);
    }
    if (problem->first_op == FG_OP_FC1 && f->dy1 != NULL) {
        int64_t o1 = fg_problem_o1(problem);
        linear(call, b, e, FG_W1, &call->inputs[FG_X], f->dy1, f->dx);
        if (wants(call, FG_BIT(FG_B1))) {
            memset(b->line, 0, (size_t)o1 * sizeof *b->line);
            fg_rows_sum(call->count[e], o1, b->left, b->line);
            fg_rows_store(&call->grads[FG_B1], e, 0, 1, o1, b->line, 0);
        }
    }
    if (wants(call, FG_BIT(FG_P))) {
        fg_tensor dp = fg_rows_matrix(&call->grads[FG_P], 0);
        int add = (call->accumulate & FG_BIT(FG_P)) != 0;
        fg_rows_store(&dp, 0, call->begin[e], 1, call->count[e], b->dp, add);
    }
}

void fg_reference_backward(const fg_call *call, const void *saved, void *scratch) {
    fg_arena arena = fg_arena_on(scratch);
    buffers b = lay_out(call->problem, call->rows, &arena);
    flow f = plan_flow(call, &b, saved);
    for (int64_t e = 0; e < call->problem->experts; e++) {
        if (call->count[e] == 0) {
            fg_expert_gradient_empty(call, e);
        } else {
            backward_expert(call, &b, e, &f);
        }
    }
}
