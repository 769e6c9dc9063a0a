#include "reference/oracle_memory.h"

#include "contract/alloc.h"

/* Gives `count` zeroed elements; the oracle frees them at its end. */
static fg_status take(fg_oracle *oracle, size_t size, int64_t rows, int64_t cols, void *out) {
    FG_TRY(fg_array_create(size, rows, cols, out));
    void *block = NULL;
    memcpy(&block, out, sizeof block);
    oracle->owned[oracle->owned_count++] = block;
    return FG_STATUS_OK;
}

static fg_status take_values(fg_oracle *oracle, int64_t rows, int64_t cols, fg_values *out) {
    FG_TRY(take(oracle, sizeof(double), rows, cols, &out->v));
    return take(oracle, sizeof(double), rows, cols, &out->d);
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static fg_status take_geometry(fg_oracle *oracle) {
    const fg_problem *problem = oracle->spec.problem;
    int64_t experts = problem->experts;
    oracle->hidden = problem->hidden;
    oracle->inter = problem->inter;
    oracle->columns = fg_problem_o1(problem);
    FG_TRY(take(oracle, sizeof(int64_t), experts, 1, &oracle->splits));
    FG_TRY(take(oracle, sizeof(int64_t), experts + 1, 1, &oracle->begin));
    fg_splits_read(problem, oracle->spec.in->splits->data, oracle->splits);
    FG_TRY(fg_segments(problem, oracle->splits, oracle->spec.in->rows, oracle->begin));
    for (int64_t e = 0; e < experts; e++) {
        oracle->rows_max = larger(oracle->rows_max, oracle->splits[e]);
    }
    FG_TRY(take(oracle, sizeof(int64_t), problem->inter, 1, &oracle->gate_column));
    FG_TRY(take(oracle, sizeof(int64_t), problem->inter, 1, &oracle->linear_column));
    int gated = fg_activation_gated((fg_activation)problem->activation);
    for (int64_t j = 0; j < problem->inter; j++) {
        oracle->gate_column[j] = fg_problem_gate_column(problem, j);
        oracle->linear_column[j] = gated ? fg_problem_linear_column(problem, j) : j;
    }
    return FG_STATUS_OK;
}

/* What the mask and the declared rounding points ask for. */
static void decide_needs(fg_oracle *oracle) {
    const fg_oracle_spec *spec = &oracle->spec;
    uint32_t before_fc2 = FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_B1) | FG_BIT(FG_P);
    int forward = fg_oracle_rounds(oracle, FG_ROUND_Y1_FORWARD);
    int saved = fg_oracle_rounds(oracle, FG_ROUND_Y1_SAVED);
    if (spec->mask & before_fc2) {
        oracle->needs |= FG_NEED_DH;
    }
    if (forward || saved) {
        oracle->needs |= FG_NEED_Y1_ROUNDED;
    }
    if (fg_oracle_wants(oracle, FG_W2) && forward != saved &&
        !fg_oracle_rounds(oracle, FG_ROUND_HIDDEN_SAVED)) {
        oracle->needs |= FG_NEED_H_AGAIN;
    }
}

static void decide_arithmetic(fg_oracle *oracle) {
    const fg_oracle_spec *spec = &oracle->spec;
    oracle->arithmetic = fg_arithmetic_make(spec->traits, spec->bounds);
    oracle->io = fg_rounder_make((fg_dtype)spec->problem->dtype);
    oracle->rounding = oracle->io.exact ? 0 : spec->traits->rounding;
}

static fg_status take_operands(fg_oracle *oracle) {
    const fg_arithmetic *arithmetic = &oracle->arithmetic;
    int64_t rows = oracle->rows_max;
    int64_t h = oracle->hidden;
    int64_t f = oracle->inter;
    int64_t o1 = oracle->columns;
    int32_t stored = oracle->io.digits;
    int32_t wide = oracle->io.exact ? stored : 24;
    int32_t hidden = fg_oracle_rounds(oracle, FG_ROUND_HIDDEN) ? stored : wide;
    int32_t dact = fg_oracle_rounds(oracle, FG_ROUND_DACT | FG_ROUND_DLINEAR) ? stored : wide;
    int narrow = arithmetic->narrow > 0;
    int dh = (oracle->needs & FG_NEED_DH) != 0;
    int again = (oracle->needs & FG_NEED_H_AGAIN) != 0;
    const struct {
        fg_operand *operand;
        int64_t rows, cols;
        int32_t digits;
        int wanted, inexact, square;
    } table[] = {
        {&oracle->x, rows, h, stored, 1, 0, narrow || fg_oracle_wants(oracle, FG_W1)},
        {&oracle->w1, o1, h, stored, 1, 0, narrow || fg_oracle_wants(oracle, FG_X)},
        {&oracle->w2, h, f, stored, 1, 0, 1},
        {&oracle->dy, rows, h, stored, oracle->spec.mask != 0, 0,
         narrow || fg_oracle_wants(oracle, FG_W2)},
        {&oracle->h, rows, f, hidden, 1, 1, narrow},
        {&oracle->h_again, rows, f, hidden, again, 1, narrow},
        {&oracle->dy1, rows, o1, dact, dh, 1, narrow},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const fg_operand_form form = {
            .rows = table[i].rows,
            .cols = table[i].cols,
            .digits = table[i].digits,
            .inexact = table[i].inexact,
            .bounds = oracle->spec.bounds,
            .square = table[i].square,
        };
        if (table[i].wanted) {
            FG_TRY(fg_operand_create(table[i].operand, &form, arithmetic));
        }
    }
    return FG_STATUS_OK;
}

static fg_status take_intermediates(fg_oracle *oracle) {
    int64_t rows = oracle->rows_max;
    int64_t o1 = oracle->columns;
    int64_t widest = larger(o1, oracle->hidden);
    FG_TRY(take(oracle, sizeof(double), o1, 1, &oracle->b1));
    FG_TRY(take(oracle, sizeof(double), oracle->hidden, 1, &oracle->b2));
    FG_TRY(take(oracle, sizeof(double), rows, 1, &oracle->p));
    FG_TRY(take(oracle, sizeof(double), rows, 1, &oracle->bias_p));
    FG_TRY(take_values(oracle, rows, o1, &oracle->y1));
    if (oracle->needs & FG_NEED_Y1_ROUNDED) {
        FG_TRY(take_values(oracle, rows, o1, &oracle->y1_rounded));
    }
    FG_TRY(take(oracle, sizeof(fg_product_sum), widest, 1, &oracle->sum_columns));
    if (oracle->needs & FG_NEED_DH) {
        FG_TRY(take(oracle, sizeof(double), rows, oracle->inter, &oracle->dh));
        FG_TRY(take_values(oracle, oracle->inter, 1, &oracle->dh_row));
        FG_TRY(take_values(oracle, o1, 1, &oracle->dy1_row));
    }
    return FG_STATUS_OK;
}

/* Outputs, what they held before, and the largest product's sums. */
static fg_status take_outputs(fg_oracle *oracle) {
    int64_t most = oracle->rows_max * larger(oracle->columns, oracle->hidden);
    int64_t most_before = 0;
    oracle->rows = oracle->rows_max;
    for (int output = 0; output < FG_OUTPUTS; output++) {
        fg_expected shape = fg_oracle_expected(oracle, output);
        int64_t count = 0;
        FG_TRY(fg_extent_mul(shape.rows, shape.cols, &count));
        FG_TRY(take_values(oracle, count, 1, &oracle->out[output]));
        most = larger(most, count);
        if (output < FG_INPUTS && (oracle->spec.accumulate & FG_BIT(output))) {
            most_before = larger(most_before, count);
        }
    }
    FG_TRY(take(oracle, sizeof(double), most_before, 1, &oracle->before));
    if (oracle->spec.bounds) {
        FG_TRY(take(oracle, sizeof(float), most, 1, &oracle->sums.sum));
        FG_TRY(take(oracle, sizeof(float), most, 1, &oracle->sums.spread));
    }
    return FG_STATUS_OK;
}

fg_status fg_oracle_memory_create(fg_oracle *oracle) {
    FG_TRY(take_geometry(oracle));
    decide_arithmetic(oracle);
    decide_needs(oracle);
    FG_TRY(take_operands(oracle));
    FG_TRY(take_intermediates(oracle));
    return take_outputs(oracle);
}

void fg_oracle_memory_free(fg_oracle *oracle) {
    fg_operand *const operands[] = {&oracle->x, &oracle->w1,      &oracle->w2, &oracle->dy,
                                    &oracle->h, &oracle->h_again, &oracle->dy1};
    for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++) {
        fg_operand_free(operands[i]);
    }
    for (int32_t i = 0; i < oracle->owned_count; i++) {
        fg_free(oracle->owned[i]);
    }
}
