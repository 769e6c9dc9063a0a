#include "conformance/suites/float_mlp.h"

#include <math.h>
#include <stdlib.h>

/* One expert's computation. */
typedef struct work {
    const fg_oracle_case *value;
    const fg_problem *problem;
    fg_float_fault fault;
    int64_t expert, row;
    int64_t h, f, o1;
    float *y1, *hidden, *again, *gated, *act, *dh, *read, *summed;
    float *sum[FG_OUTPUTS]; /* float32 outputs before their last rounding */
} work;

fg_dtype fg_float_output_dtype(const fg_problem *problem, int output) {
    return output == FG_OUT_Y ? (fg_dtype)problem->dtype : fg_problem_grad_dtype(problem, output);
}

int64_t fg_float_output_count(const fg_oracle_case *value, int output) {
    int64_t dims[FG_TENSOR_DIMS] = {0};
    int input = output == FG_OUT_Y ? FG_X : output;
    int32_t ndim = fg_problem_input_dims(&value->problem, input, value->in.rows, dims);
    return dims[0] * (ndim > 1 ? dims[1] : 1) * (ndim > 2 ? dims[2] : 1);
}

static float get(const work *w, int input, int64_t index) {
    return (float)fg_oracle_case_get(&w->value->inputs[input], index);
}

static float rounded(const work *w, uint32_t flag, float v) {
    int declared = (w->value->traits.rounding & flag) != 0;
    return declared ? (float)fg_dtype_round((fg_dtype)w->problem->dtype, (double)v) : v;
}

static float add(const work *w, float sum, float term) {
    sum += term;
    return w->fault == FG_FLOAT_SUMS_IN_IO_TYPE
               ? (float)fg_dtype_round((fg_dtype)w->problem->dtype, (double)sum)
               : sum;
}

static int64_t depth(const work *w, int64_t terms) {
    return w->fault == FG_FLOAT_LAST_TERM_LOST ? terms - 1 : terms;
}

static float scale(const work *w, int input) {
    int present = fg_problem_has_input(w->problem, input);
    return present ? rounded(w, FG_ROUND_PROB, get(w, input, w->row)) : 1;
}

static float bias_scale(const work *w) {
    int input = w->problem->separate_bias_scale ? FG_BIAS_P : FG_P;
    return w->problem->scale_bias ? scale(w, input) : 1;
}

static float with_bias(const work *w, float sum, float bias, int intermediate) {
    sum = rounded(w, w->problem->bias ? FG_ROUND_BIAS_AFTER : 0, sum);
    sum = w->problem->bias ? sum + bias : sum;
    return intermediate && w->problem->bias ? rounded(w, FG_ROUND_BIAS_AFTER, sum) : sum;
}

static void compute_y1(work *w) {
    for (int64_t c = 0; c < w->o1; c++) {
        float sum = 0;
        for (int64_t k = 0; k < depth(w, w->h); k++) {
            sum = add(w, sum,
                      get(w, FG_X, w->row * w->h + k) *
                          get(w, FG_W1, (w->expert * w->o1 + c) * w->h + k));
        }
        float bias = w->problem->bias ? get(w, FG_B1, w->expert * w->o1 + c) : 0;
        w->y1[c] = with_bias(w, sum, bias, 1);
    }
}

static int64_t gate_at(const work *w, int64_t j) {
    return w->fault == FG_FLOAT_HALVES_SWAPPED ? fg_problem_linear_column(w->problem, j)
                                               : fg_problem_gate_column(w->problem, j);
}

static int64_t linear_at(const work *w, int64_t j) {
    return w->fault == FG_FLOAT_HALVES_SWAPPED ? fg_problem_gate_column(w->problem, j)
                                               : fg_problem_linear_column(w->problem, j);
}

/* act, gated and h as a reader of y1 that rounds it by `flag` has them. */
static void compute_hidden(work *w, uint32_t flag, float *hidden) {
    int srelu = w->problem->activation == FG_ACT_SRELU;
    float p = w->fault == FG_FLOAT_NO_PROB ? 1 : scale(w, FG_P);
    for (int64_t j = 0; j < w->f; j++) {
        float g = rounded(w, flag, w->y1[srelu ? j : gate_at(w, j)]);
        if (srelu) {
            w->act[j] = fmaxf(g, 0) * fmaxf(g, 0);
            w->gated[j] = w->act[j];
        } else {
            w->act[j] = rounded(w, FG_ROUND_ACT, g / (1 + expf(-g)));
            w->gated[j] = w->act[j] * rounded(w, flag, w->y1[linear_at(w, j)]);
        }
        w->gated[j] = rounded(w, FG_ROUND_GATED, w->gated[j]);
        hidden[j] = rounded(w, FG_ROUND_HIDDEN, w->problem->prob ? w->gated[j] * p : w->gated[j]);
    }
}

static void compute_y(work *w) {
    for (int64_t c = 0; c < w->h; c++) {
        float sum = 0;
        for (int64_t j = 0; j < depth(w, w->f); j++) {
            sum = add(w, sum, w->hidden[j] * get(w, FG_W2, (w->expert * w->h + c) * w->f + j));
        }
        float bias = w->problem->bias ? get(w, FG_B2, w->expert * w->h + c) : 0;
        w->sum[FG_OUT_Y][w->row * w->h + c] = with_bias(w, sum, bias_scale(w) * bias, 0);
    }
}

static float dy_at(const work *w, int64_t c) {
    return (float)fg_oracle_case_get(&w->value->dy, w->row * w->h + c);
}

static void compute_dh(work *w) {
    float dp = 0;
    for (int64_t j = 0; j < w->f; j++) {
        float sum = 0;
        for (int64_t c = 0; c < depth(w, w->h); c++) {
            sum = add(w, sum, dy_at(w, c) * get(w, FG_W2, (w->expert * w->h + c) * w->f + j));
        }
        w->dh[j] = rounded(w, FG_ROUND_DHIDDEN, sum);
        dp += w->dh[j] * w->gated[j];
    }
    float dbp = 0;
    for (int64_t c = 0; w->problem->scale_bias && c < w->h; c++) {
        dbp += dy_at(w, c) * get(w, FG_B2, w->expert * w->h + c);
    }
    w->sum[FG_P][w->row] = w->problem->separate_bias_scale ? dp : dp + dbp;
    w->sum[FG_BIAS_P][w->row] = dbp;
}

static void store_dy1(work *w, int64_t column, float gradient) {
    gradient = rounded(w, FG_ROUND_DLINEAR, gradient);
    w->read[column] = rounded(w, FG_ROUND_DACT, gradient);
    w->summed[column] = rounded(w, FG_ROUND_DBIAS, gradient);
}

static void compute_dy1(work *w) {
    float p = scale(w, FG_P);
    for (int64_t j = 0; j < w->f; j++) {
        float d = w->problem->prob ? rounded(w, FG_ROUND_DPROB, w->dh[j] * p) : w->dh[j];
        if (w->problem->activation == FG_ACT_SRELU) {
            float x = rounded(w, FG_ROUND_Y1_SAVED, w->y1[j]);
            store_dy1(w, j, d * 2 * fmaxf(x, 0));
            continue;
        }
        float g = rounded(w, FG_ROUND_Y1_SAVED, w->y1[gate_at(w, j)]);
        float u = rounded(w, FG_ROUND_Y1_SAVED, w->y1[linear_at(w, j)]);
        float s = 1 / (1 + expf(-g));
        float slope = w->fault == FG_FLOAT_SLOPE_AS_VALUE ? s : s + g * s * (1 - s);
        store_dy1(w, gate_at(w, j), rounded(w, FG_ROUND_DLINEAR, d * u) * slope);
        store_dy1(w, linear_at(w, j), d * w->act[j]);
    }
}

/* What this row adds to the gradients of FC1's and FC2's weights and biases, and its dx. */
static void add_gradients(work *w) {
    for (int64_t c = 0; c < w->o1; c++) {
        for (int64_t k = 0; k < w->h; k++) {
            float *dx = &w->sum[FG_X][w->row * w->h + k];
            float *dw1 = &w->sum[FG_W1][(w->expert * w->o1 + c) * w->h + k];
            if (c < depth(w, w->o1)) {
                *dx = add(w, *dx, w->read[c] * get(w, FG_W1, (w->expert * w->o1 + c) * w->h + k));
            }
            *dw1 = add(w, *dw1, w->read[c] * get(w, FG_X, w->row * w->h + k));
        }
        w->sum[FG_B1][w->expert * w->o1 + c] += w->summed[c];
    }
    const float *h = w->value->traits.rounding & FG_ROUND_HIDDEN_SAVED ? w->hidden : w->again;
    for (int64_t c = 0; c < w->h; c++) {
        for (int64_t j = 0; j < w->f; j++) {
            float *dw2 = &w->sum[FG_W2][(w->expert * w->h + c) * w->f + j];
            *dw2 = add(w, *dw2, dy_at(w, c) * h[j]);
        }
        w->sum[FG_B2][w->expert * w->h + c] += bias_scale(w) * dy_at(w, c);
    }
}

static void compute_row(work *w) {
    compute_y1(w);
    compute_hidden(w, FG_ROUND_Y1_FORWARD, w->hidden);
    compute_y(w);
    compute_hidden(w, FG_ROUND_Y1_SAVED, w->again);
    compute_dh(w);
    compute_dy1(w);
    add_gradients(w);
}

void fg_float_mlp(const fg_oracle_case *value, fg_float_fault fault, fg_float_outputs *out) {
    const fg_problem *problem = &value->problem;
    work w = {.value = value, .problem = problem, .fault = fault};
    w.h = problem->hidden;
    w.f = problem->inter;
    w.o1 = fg_problem_o1(problem);
    float *rows = calloc((size_t)(3 * w.o1 + 5 * w.f), sizeof *rows);
    w.y1 = rows;
    w.read = w.y1 + w.o1;
    w.summed = w.read + w.o1;
    w.hidden = w.summed + w.o1;
    w.again = w.hidden + w.f;
    w.gated = w.again + w.f;
    w.act = w.gated + w.f;
    w.dh = w.act + w.f;
    for (int i = 0; i < FG_OUTPUTS; i++) {
        w.sum[i] = calloc((size_t)fg_float_output_count(value, i) + 1, sizeof(float));
    }
    for (w.expert = 0; w.expert < problem->experts; w.expert++) {
        int64_t begin = value->begin[w.expert];
        for (w.row = begin; w.row < begin + value->splits[w.expert]; w.row++) {
            compute_row(&w);
        }
    }
    for (int i = 0; i < FG_OUTPUTS; i++) {
        int64_t n = fg_float_output_count(value, i);
        out->value[i] = calloc((size_t)n + 1, sizeof(double));
        for (int64_t k = 0; k < n; k++) {
            out->value[i][k] =
                fg_dtype_round(fg_float_output_dtype(problem, i), (double)w.sum[i][k]);
        }
        free(w.sum[i]);
    }
    free(rows);
}

void fg_float_free(fg_float_outputs *out) {
    for (int i = 0; i < FG_OUTPUTS; i++) {
        free(out->value[i]);
    }
}
