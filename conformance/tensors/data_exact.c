#include "conformance/tensors/data_exact.h"

#include "conformance/tensors/data_order.h"
#include "conformance/tensors/data_random.h"

#include <string.h>

enum {
    ENTRIES = 15,     /* of -1, 1 whose sum keeps within 4 digits */
    GATE_ENTRIES = 4, /* of -8, 8 around 80 or 88: a multiple of 8 of 48..120 */
    GATE_STEP = 8,
    GATE_ON = 80,
    GATE_OFF = -1152,
    PURPOSE_ANCHOR = 0,
    PURPOSE_START = 1,
};

/* How often the hidden coordinates are thinned out for a weight whose F rows or columns hold
 * `entries` each. */
static int64_t slack(const fg_problem *problem, int64_t entries) {
    int64_t held = entries * problem->inter;
    return (problem->hidden + held - 1) / held;
}

/* Entries of W1 that meet one token: its bias and an anchor that is never thinned out count too. */
static int64_t entries_w1(const fg_problem *problem) {
    int64_t entries = ENTRIES - problem->bias;
    return slack(problem, entries) > 1 ? entries - 1 : entries;
}

static int64_t slack_w1(const fg_problem *problem) {
    return slack(problem, entries_w1(problem));
}

static int64_t slack_w2(const fg_problem *problem) {
    return slack(problem, ENTRIES);
}

/* Whether gate j is one that is off. */
static int gate_off(const fg_problem *problem, int64_t j) {
    return j % 16 == 5 && problem->inter > 8;
}

static int64_t anchor_of(const fg_data_spot *spot) {
    fg_data_order order = fg_data_order_of(spot, FG_W1);
    return fg_data_order_at(&order,
                            fg_data_choice(spot, PURPOSE_ANCHOR, spot->value->problem.hidden));
}

/* x or dy: row `row` of the expert holds the coordinates of places row mod s, row mod s + s, .. */
static void fill_tokens(const fg_data_spot *spot, int tensor, int64_t rows, int64_t cols,
                        float *out) {
    const fg_problem *problem = &spot->value->problem;
    int is_x = tensor == FG_X;
    int64_t s = is_x ? slack_w1(problem) : slack_w2(problem);
    fg_data_order order = fg_data_order_of(spot, is_x ? FG_W1 : FG_W2);
    int64_t anchor = anchor_of(spot);
    for (int64_t row = 0; row < rows; row++) {
        float *to = out + row * cols;
        fg_random random = {spot->value->seed, (uint32_t)tensor, fg_data_row(spot, tensor, row)};
        fg_random_signs(&random, cols, to);
        for (int64_t place = 0; place < cols && s > 1; place++) {
            if (place % s != row % s) {
                to[fg_data_order_at(&order, place)] = 0;
            }
        }
        if (is_x) {
            to[anchor] = 1;
        }
    }
}

/* First of `count` neighbouring places for line j, so that the lines together cover all n. */
static int64_t start_of(int64_t j, int64_t count, int64_t n) {
    int64_t blocks = (n + count - 1) / count;
    int64_t start = j % blocks * count;
    return start + count <= n ? start : n - count;
}

/* Writes +-step into `count` places of a weight's line, from the place where line j starts. */
static void scatter(const fg_data_order *order, const fg_random *random, int64_t j, int64_t count,
                    float step, float *line, int64_t stride) {
    float signs[256];
    count = count < order->n ? count : order->n;
    int64_t start = start_of(j, count, order->n);
    for (int64_t i = 0; i < count; i++) {
        if (i % 256 == 0) {
            fg_random part = *random;
            part.row ^= (uint64_t)(i / 256) << 60;
            fg_random_signs(&part, count - i < 256 ? count - i : 256, signs);
        }
        line[fg_data_order_at(order, start + i) * stride] = step * signs[i % 256];
    }
}

static void fill_gate_row(const fg_data_spot *spot, const fg_data_order *order, int64_t j,
                          float *line) {
    const fg_problem *problem = &spot->value->problem;
    fg_random random = {spot->value->seed, FG_W1, fg_data_row(spot, FG_W1, j)};
    int64_t shift = fg_data_choice(spot, PURPOSE_START, problem->hidden);
    scatter(order, &random, j + shift, (GATE_ENTRIES - problem->bias) * slack_w1(problem),
            GATE_STEP, line, 1);
    int64_t on = GATE_ON + GATE_STEP * (int64_t)(fg_random_word(&random, 1 << 20) % 2);
    line[anchor_of(spot)] = (float)(gate_off(problem, j) ? GATE_OFF : on);
}

/* A row of the linear half, or of a unary activation. */
static void fill_linear_row(const fg_data_spot *spot, const fg_data_order *order, int64_t j,
                            float *line) {
    const fg_problem *problem = &spot->value->problem;
    uint64_t number = fg_data_row(spot, FG_W1, j) | UINT64_C(1) << 31;
    fg_random random = {spot->value->seed, FG_W1, number};
    int64_t shift = fg_data_choice(spot, PURPOSE_START + 1, problem->hidden);
    scatter(order, &random, j + shift, entries_w1(problem) * slack_w1(problem), 1, line, 1);
}

static void fill_w1(const fg_data_spot *spot, int64_t rows, int64_t cols, float *out) {
    const fg_problem *problem = &spot->value->problem;
    fg_data_order order = fg_data_order_of(spot, FG_W1);
    memset(out, 0, (size_t)(rows * cols) * sizeof *out);
    for (int64_t j = 0; j < problem->inter; j++) {
        int64_t gate = fg_problem_gate_column(problem, j);
        int64_t linear = fg_problem_linear_column(problem, j);
        if (linear >= 0) {
            fill_gate_row(spot, &order, j, out + gate * cols);
        }
        fill_linear_row(spot, &order, j, out + (linear >= 0 ? linear : gate) * cols);
    }
}

static void fill_w2(const fg_data_spot *spot, int64_t rows, int64_t cols, float *out) {
    const fg_problem *problem = &spot->value->problem;
    fg_data_order order = fg_data_order_of(spot, FG_W2);
    int64_t shift = fg_data_choice(spot, PURPOSE_START + 2, problem->hidden);
    memset(out, 0, (size_t)(rows * cols) * sizeof *out);
    for (int64_t j = 0; j < cols; j++) {
        fg_random random = {spot->value->seed, FG_W2, fg_data_row(spot, FG_W2, j)};
        scatter(&order, &random, j + shift, ENTRIES * slack_w2(problem), 1, out + j, cols);
    }
}

static void fill_b1(const fg_data_spot *spot, int64_t cols, float *out) {
    const fg_problem *problem = &spot->value->problem;
    fg_random random = {spot->value->seed, FG_B1, fg_data_row(spot, FG_B1, 0)};
    fg_random_signs(&random, cols, out);
    for (int64_t j = 0; j < problem->inter && problem->activation == FG_ACT_SWIGLU; j++) {
        out[fg_problem_gate_column(problem, j)] *= GATE_STEP;
    }
}

static void fill_integers(const fg_data_spot *spot, int tensor, int64_t rows, int64_t cols,
                          int32_t most, float *out) {
    for (int64_t row = 0; row < rows; row++) {
        fg_random random = {spot->value->seed, (uint32_t)tensor, fg_data_row(spot, tensor, row)};
        uint32_t words[4];
        for (int64_t k = 0; k < cols; k++) {
            if (k % 4 == 0) {
                fg_random_block(&random, (uint32_t)(k / 4), words);
            }
            out[row * cols + k] =
                (float)((int64_t)(words[k % 4] % (uint32_t)(2 * most + 1)) - most);
        }
    }
}

static void fill_probabilities(const fg_data_spot *spot, int tensor, int64_t rows, float *out) {
    static const float choices[4] = {0.5f, 1.0f, 2.0f, 1.0f};
    int64_t zero = tensor == FG_P ? 7 : 11;
    for (int64_t row = 0; row < rows; row++) {
        fg_random random = {spot->value->seed, (uint32_t)tensor, fg_data_row(spot, tensor, row)};
        out[row] = row % 16 == zero ? 0.0f : choices[fg_random_word(&random, 0) % 4];
    }
}

void fg_data_exact(const fg_data_spot *spot, int tensor, int64_t rows, int64_t cols, float *out) {
    switch (tensor) {
    case FG_X:
    case FG_DATA_DY:
        fill_tokens(spot, tensor, rows, cols, out);
        break;
    case FG_W1:
        fill_w1(spot, rows, cols, out);
        break;
    case FG_W2:
        fill_w2(spot, rows, cols, out);
        break;
    case FG_B1:
        fill_b1(spot, cols, out);
        break;
    case FG_P:
    case FG_BIAS_P:
        fill_probabilities(spot, tensor, rows, out);
        break;
    case FG_B2:
        fill_integers(spot, tensor, rows, cols, 4, out);
        break;
    default:
        fill_integers(spot, tensor, rows, cols, 2048, out);
    }
}
