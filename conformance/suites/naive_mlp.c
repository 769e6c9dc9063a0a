#include "conformance/suites/naive_mlp.h"

#include <math.h>
#include <stdlib.h>

/* One token's way through the network. */
typedef struct token {
    const fg_oracle_case *value;
    const fg_problem *problem;
    int64_t expert, row;
    double *y1, *act, *dact, *dlinear, *dh; /* [O1], then [F] each */
} token;

static double at(const token *t, int input, int64_t i, int64_t j, int64_t k) {
    const fg_tensor *tensor = &t->value->inputs[input];
    int io = t->problem->weight_order == FG_WEIGHTS_IO;
    if (tensor->ndim == 3) {
        int64_t row = io ? k : j;
        int64_t col = io ? j : k;
        return fg_oracle_case_get(tensor, (i * tensor->dims[1] + row) * tensor->dims[2] + col);
    }
    return fg_oracle_case_get(tensor, tensor->ndim == 2 ? i * tensor->dims[1] + j : i);
}

static double scale_of(const token *t, int input) {
    return fg_problem_has_input(t->problem, input) ? at(t, input, t->row, 0, 0) : 1;
}

static double bias_scale(const token *t) {
    if (!t->problem->scale_bias) {
        return 1;
    }
    return scale_of(t, t->problem->separate_bias_scale ? FG_BIAS_P : FG_P);
}

static double logistic(double g) {
    return 1 / (1 + exp(-g));
}

/* Columns of the j-th pair; the layouts written out once more. */
static void columns_of(const fg_problem *problem, int64_t j, int64_t *gate, int64_t *linear) {
    int64_t s = problem->interleave > 0 ? problem->interleave : problem->inter;
    *gate = j / s * (2 * s) + j % s;
    *linear = *gate + s;
}

static void token_forward(token *t, double *y) {
    const fg_problem *problem = t->problem;
    int64_t o1 = problem->activation == FG_ACT_SRELU ? problem->inter : 2 * problem->inter;
    for (int64_t c = 0; c < o1; c++) {
        t->y1[c] = problem->bias ? at(t, FG_B1, t->expert, c, 0) : 0;
        for (int64_t k = 0; k < problem->hidden; k++) {
            t->y1[c] += at(t, FG_X, t->row, k, 0) * at(t, FG_W1, t->expert, c, k);
        }
    }
    for (int64_t j = 0; j < problem->inter; j++) {
        if (problem->activation == FG_ACT_SRELU) {
            t->act[j] = t->y1[j] > 0 ? t->y1[j] * t->y1[j] : 0;
            t->dact[j] = t->y1[j] > 0 ? 2 * t->y1[j] : 0;
            continue;
        }
        int64_t gate = 0;
        int64_t linear = 0;
        columns_of(problem, j, &gate, &linear);
        double g = t->y1[gate];
        double s = logistic(g);
        t->act[j] = g * s * t->y1[linear];
        t->dact[j] = (s + g * s * (1 - s)) * t->y1[linear];
        t->dlinear[j] = g * s;
    }
    for (int64_t c = 0; c < problem->hidden; c++) {
        y[c] = problem->bias ? bias_scale(t) * at(t, FG_B2, t->expert, c, 0) : 0;
        for (int64_t j = 0; j < problem->inter; j++) {
            y[c] += scale_of(t, FG_P) * t->act[j] * at(t, FG_W2, t->expert, c, j);
        }
    }
}

/* Gradients at FC2 and at p. */
static void token_backward_fc2(token *t, const fg_naive_outputs *out) {
    const fg_problem *problem = t->problem;
    double p = scale_of(t, FG_P);
    double dp = 0;
    double dbp = 0;
    for (int64_t j = 0; j < problem->inter; j++) {
        t->dh[j] = 0;
    }
    for (int64_t c = 0; c < problem->hidden; c++) {
        double dy = fg_oracle_case_get(&t->value->dy, t->row * problem->hidden + c);
        for (int64_t j = 0; j < problem->inter; j++) {
            t->dh[j] += dy * at(t, FG_W2, t->expert, c, j);
            out->value[FG_W2][(t->expert * problem->hidden + c) * problem->inter + j] +=
                dy * p * t->act[j];
        }
        if (problem->bias) {
            out->value[FG_B2][t->expert * problem->hidden + c] += bias_scale(t) * dy;
            dbp += problem->scale_bias ? dy * at(t, FG_B2, t->expert, c, 0) : 0;
        }
    }
    for (int64_t j = 0; j < problem->inter; j++) {
        dp += t->dh[j] * t->act[j];
    }
    out->value[FG_P][t->row] = dp + (problem->separate_bias_scale ? 0 : dbp);
    out->value[FG_BIAS_P][t->row] = dbp;
}

/* What one column of dy1 adds to FC1's gradients. */
static void column_backward(token *t, int64_t column, double dy1, const fg_naive_outputs *out) {
    const fg_problem *problem = t->problem;
    int64_t o1 = problem->activation == FG_ACT_SRELU ? problem->inter : 2 * problem->inter;
    int64_t h = problem->hidden;
    for (int64_t k = 0; k < h; k++) {
        out->value[FG_X][t->row * h + k] += dy1 * at(t, FG_W1, t->expert, column, k);
        out->value[FG_W1][(t->expert * o1 + column) * h + k] += dy1 * at(t, FG_X, t->row, k, 0);
    }
    out->value[FG_B1][t->expert * o1 + column] += dy1;
}

static void token_backward_fc1(token *t, const fg_naive_outputs *out) {
    double p = scale_of(t, FG_P);
    for (int64_t j = 0; j < t->problem->inter; j++) {
        int64_t gate = j;
        int64_t linear = j;
        if (t->problem->activation != FG_ACT_SRELU) {
            columns_of(t->problem, j, &gate, &linear);
            column_backward(t, linear, t->dh[j] * p * t->dlinear[j], out);
        }
        column_backward(t, gate, t->dh[j] * p * t->dact[j], out);
    }
}

void fg_naive_mlp(const fg_oracle_case *value, fg_naive_outputs *out) {
    const fg_problem *problem = &value->problem;
    int64_t rows = value->in.rows;
    for (int i = 0; i < FG_OUTPUTS; i++) {
        int64_t dims[FG_TENSOR_DIMS] = {0};
        int64_t count = rows * problem->hidden;
        if (i < FG_INPUTS) {
            int32_t ndim = fg_problem_input_dims(problem, i, rows, dims);
            count = dims[0] * (ndim > 1 ? dims[1] : 1) * (ndim > 2 ? dims[2] : 1);
        }
        out->value[i] = calloc((size_t)count + 1, sizeof(double));
    }
    double *work = calloc((size_t)(6 * problem->inter), sizeof *work);
    token t = {.value = value, .problem = problem, .y1 = work};
    t.act = work + 2 * problem->inter;
    t.dact = t.act + problem->inter;
    t.dlinear = t.dact + problem->inter;
    t.dh = t.dlinear + problem->inter;
    for (t.expert = 0; t.expert < problem->experts; t.expert++) {
        int64_t begin = value->begin[t.expert];
        for (t.row = begin; t.row < begin + value->splits[t.expert]; t.row++) {
            token_forward(&t, out->value[FG_OUT_Y] + t.row * problem->hidden);
            token_backward_fc2(&t, out);
            token_backward_fc1(&t, out);
        }
    }
    free(work);
}

void fg_naive_free(fg_naive_outputs *out) {
    for (int i = 0; i < FG_OUTPUTS; i++) {
        free(out->value[i]);
    }
}
