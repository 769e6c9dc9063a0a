#include "conformance/tensors/data_selection.h"

#include "conformance/tensors/data_exact.h"
#include "conformance/tensors/data_order.h"
#include "conformance/tensors/data_random.h"

#include <string.h>

enum { GATE = 64, PURPOSE_SELECTED = 8 };

static int codes_x(const fg_case *value) {
    return value->seed % 2 == 0;
}

/* One part of the linear index of a place, 1 .. 2^bits. */
static float code_of(const fg_case *value, int64_t row, int64_t col, int bits) {
    uint64_t last = (uint64_t)(value->rows * value->problem.hidden) - 1;
    uint64_t index = (uint64_t)(row * value->problem.hidden + col);
    unsigned parts = 1;
    while (parts * (unsigned)bits < 64 && last >> (parts * (unsigned)bits) != 0) {
        parts++;
    }
    unsigned part = (unsigned)(value->seed / 2 % parts);
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    uint64_t code = index >> (part * (unsigned)bits) & mask;
    return (float)(code != 0 ? code : mask + 1);
}

/* Bits of a code at a time. A weight gradient sums one term a row, of up to 2^(2 bits + 3): the
 * more rows an expert has, the fewer bits keep sum |a||b| below 2^24 halves. */
static int code_bits(const fg_case *value, int is_x) {
    int64_t most = 0;
    for (int64_t e = 0; e < value->problem.experts; e++) {
        most = value->splits[e] > most ? value->splits[e] : most;
    }
    static const struct {
        int64_t rows;
        int bits, squared_bits; /* squared_bits: of an x that the activation squares */
    } steps[] = {{96, 8, 4}, {1024, 6, 3}, {3072, 4, 3}, {INT64_MAX, 3, 2}};
    int i = 0;
    while (most > steps[i].rows) {
        i++;
    }
    int squared = is_x && value->problem.activation == FG_ACT_SRELU;
    return squared ? steps[i].squared_bits : steps[i].bits;
}

/* Coordinate of x that is 1 in every row. */
static int64_t anchor_of(const fg_data_spot *spot, const fg_data_order *order) {
    return fg_data_order_at(order,
                            fg_data_choice(spot, PURPOSE_SELECTED, spot->value->problem.hidden));
}

static void fill_tokens(const fg_data_spot *spot, int tensor, int64_t rows, int64_t cols,
                        float *out) {
    const fg_problem *problem = &spot->value->problem;
    int is_x = tensor == FG_X, unary = problem->activation == FG_ACT_SRELU;
    int coded = is_x == codes_x(spot->value);
    int bits = code_bits(spot->value, is_x);
    fg_data_order order = fg_data_order_of(spot, is_x ? FG_W1 : FG_W2);
    int64_t turns = (problem->hidden + problem->inter - 1) / problem->inter;
    for (int64_t row = 0; row < rows; row++) {
        float *to = out + row * cols;
        fg_random random = {spot->value->seed, (uint32_t)tensor, fg_data_row(spot, tensor, row)};
        fg_random_signs(&random, cols, to);
        uint64_t shifts = fg_random_word(&random, 1 << 20);
        for (int64_t place = 0; place < cols; place++) {
            int64_t col = fg_data_order_at(&order, place);
            if (place / problem->inter != row % turns) {
                to[col] = 0;
            } else if (coded) {
                to[col] = code_of(spot->value, spot->first_row + row, col, bits);
            } else {
                float sign = is_x && unary ? 1.0f : to[col];
                to[col] = sign * (float)(1 << (((uint64_t)place + shifts) % 3));
            }
        }
        if (is_x && !unary) {
            to[anchor_of(spot, &order)] = 1;
        }
    }
}

static void fill_w1(const fg_data_spot *spot, int64_t rows, int64_t cols, float *out) {
    const fg_problem *problem = &spot->value->problem;
    fg_data_order order = fg_data_order_of(spot, FG_W1);
    int64_t anchor = anchor_of(spot, &order);
    memset(out, 0, (size_t)(rows * cols) * sizeof *out);
    for (int64_t j = 0; j < problem->inter; j++) {
        int64_t gate = fg_problem_gate_column(problem, j);
        int64_t linear = fg_problem_linear_column(problem, j);
        float *selecting = out + (linear >= 0 ? linear : gate) * cols;
        for (int64_t place = j % cols; place < cols; place += problem->inter) {
            // A row that selects several takes one of them in each token; the anchor is always
            // there.
            int64_t col = fg_data_order_at(&order, place);
            selecting[col] = linear < 0 || problem->inter >= cols || col != anchor;
        }
        if (linear >= 0) {
            out[gate * cols + anchor] = GATE;
        }
    }
}

static void fill_w2(const fg_data_spot *spot, int64_t rows, int64_t cols, float *out) {
    fg_data_order order = fg_data_order_of(spot, FG_W2);
    memset(out, 0, (size_t)(rows * cols) * sizeof *out);
    for (int64_t j = 0; j < cols; j++) {
        for (int64_t place = j % rows; place < rows; place += cols) {
            out[fg_data_order_at(&order, place) * cols + j] = 1;
        }
    }
}

static void fill_probabilities(const fg_data_spot *spot, int tensor, int64_t rows, float *out) {
    static const float choices[4] = {0.5f, 1.0f, 2.0f, 1.0f};
    for (int64_t row = 0; row < rows; row++) {
        fg_random random = {spot->value->seed, (uint32_t)tensor, fg_data_row(spot, tensor, row)};
        out[row] = choices[fg_random_word(&random, 0) % 4];
    }
}

void fg_data_selection(const fg_data_spot *spot, int tensor, int64_t rows, int64_t cols,
                       float *out) {
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
        memset(out, 0, (size_t)(rows * cols) * sizeof *out);
        break;
    case FG_P:
    case FG_BIAS_P:
        fill_probabilities(spot, tensor, rows, out);
        break;
    default:
        fg_data_exact(spot, tensor, rows, cols, out);
    }
}
