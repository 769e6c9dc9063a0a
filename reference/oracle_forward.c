#include "reference/oracle_forward.h"

#include "reference/oracle_activation.h"
#include "reference/oracle_stage.h"

fg_values fg_forward_y1(const fg_oracle *oracle) {
    return fg_oracle_rounds(oracle, FG_ROUND_Y1_FORWARD) ? oracle->y1_rounded : oracle->y1;
}

fg_values fg_backward_y1(const fg_oracle *oracle) {
    return fg_oracle_rounds(oracle, FG_ROUND_Y1_SAVED) ? oracle->y1_rounded : oracle->y1;
}

/* One row of a product with its bias, as it is and as its readers may round it. */
static void linear_row(fg_oracle *oracle, const fg_linear *linear, int64_t row,
                       const fg_values *out, int64_t n, double gamma) {
    const fg_rounder *io = &oracle->io;
    int after = linear->bias != NULL && fg_oracle_rounds(oracle, FG_ROUND_BIAS_AFTER);
    double scale = linear->scale != NULL ? linear->scale[row] : 1;
    double unit = oracle->arithmetic.unit;
    for (int64_t j = row * n; j < (row + 1) * n; j++) {
        fg_step step = fg_product_step(&oracle->sums, j, out->v[j]);
        if (linear->bias != NULL) {
            step = fg_step_round(step, io, after);
            step = fg_step_plus(step, scale * linear->bias[j - row * n], gamma, unit);
            step = fg_step_round(step, io, after && linear->intermediate);
        }
        out->v[j] = step.v;
        out->d[j] = step.d;
        if (linear->rounded != NULL) {
            step = fg_step_round(step, io, !after);
            linear->rounded->v[j] = step.v;
            linear->rounded->d[j] = step.d;
        }
        fg_stage_offer(oracle, linear->stage, row, j - row * n, &step);
    }
}

void fg_linear_compute(fg_oracle *oracle, const fg_linear *linear, const fg_values *out) {
    fg_product product = linear->product;
    fg_product_extents size = fg_product_measure(&product);
    // An accumulator may hold the bias from the start, unless it is rounded before.
    int held = linear->bias != NULL && !fg_oracle_rounds(oracle, FG_ROUND_BIAS_AFTER);
    int64_t terms = size.k + held;
    product.gamma = fg_gamma(oracle->spec.traits, terms);
    product.largest = oracle->arithmetic.largest;
    fg_product_values(&product, out->v);
    oracle->sums.sum_factor = 0;
    oracle->sums.spread_factor = 0;
    if (oracle->spec.bounds) {
        fg_product_shadows(&product, &oracle->sums);
    }
    double gamma = held && oracle->spec.bounds ? product.gamma : 0;
    for (int64_t i = 0; i < size.m; i++) {
        linear_row(oracle, linear, i, out, size.n, gamma);
    }
    fg_stage_sum(oracle, linear->stage, terms, product.gamma);
    fg_stage_narrow(oracle, linear->stage, &product);
}

void fg_oracle_forward(fg_oracle *oracle) {
    const fg_problem *problem = oracle->spec.problem;
    fg_linear fc1 = {
        .product = {.a = &oracle->x, .b = &oracle->w1, .b_transposed = 1},
        .bias = problem->bias ? oracle->b1 : NULL,
        .stage = FG_STAGE_Y1,
        .intermediate = 1,
        .rounded = oracle->needs & FG_NEED_Y1_ROUNDED ? &oracle->y1_rounded : NULL,
    };
    fg_linear_compute(oracle, &fc1, &oracle->y1);
    fg_values read = fg_forward_y1(oracle);
    fg_activation_forward(oracle, &read, &oracle->h, oracle->spec.stages);
    fg_operand_shadow(&oracle->h);
    if (oracle->needs & FG_NEED_H_AGAIN) {
        read = fg_backward_y1(oracle);
        fg_activation_forward(oracle, &read, &oracle->h_again, 0);
        fg_operand_shadow(&oracle->h_again);
    }
    fg_linear fc2 = {
        .product = {.a = &oracle->h, .b = &oracle->w2, .b_transposed = 1},
        .bias = problem->bias ? oracle->b2 : NULL,
        .scale = problem->scale_bias ? oracle->bias_p : NULL,
        .stage = FG_STAGE_Y,
    };
    fg_linear_compute(oracle, &fc2, &oracle->out[FG_OUT_Y]);
}
