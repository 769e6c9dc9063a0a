#include "reference/oracle_forward.h"

#include "reference/oracle_activation.h"
#include "reference/oracle_stage.h"

/* One row of a product with its bias. */
static inline void linear_row(fg_oracle *oracle, const fg_linear *linear, int64_t row,
                              const fg_values *out, int64_t n, double gamma, int watched)
    __attribute__((always_inline));
static inline void linear_row(fg_oracle *oracle, const fg_linear *linear, int64_t row,
                              const fg_values *out, int64_t n, double gamma, int watched) {
    const fg_rounder io = oracle->io;
    const fg_product_sums sums = oracle->sums;
    const double *bias = linear->bias;
    int after = bias != NULL && fg_oracle_rounds(oracle, FG_ROUND_BIAS_AFTER);
    int read_rounded = !after && fg_oracle_rounds(oracle, linear->readers);
    double scale = linear->scale != NULL ? linear->scale[row] : 1;
    double unit = oracle->arithmetic.unit;
    fg_terms terms = {0};
    fg_terms *shown = watched ? &terms : NULL;
    for (int64_t j = 0; j < n; j++) {
        int64_t k = row * n + j;
        fg_bounded value = fg_product_element(&sums, k, out->v[k], shown);
        if (bias != NULL) {
            value = fg_bounded_round(value, &io, after, shown);
            value = fg_bounded_plus(value, scale * bias[j], gamma, unit, shown);
            value = fg_bounded_round(value, &io, after && linear->readers != 0, shown);
        }
        out->v[k] = value.v;
        out->d[k] = value.d;
        if (watched) {
            value = fg_bounded_round(value, &io, read_rounded, shown);
            fg_stage_offer(oracle, linear->stage, row, j, value, shown);
        }
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
        if (oracle->spec.stages) {
            linear_row(oracle, linear, i, out, size.n, gamma, 1);
        } else {
            linear_row(oracle, linear, i, out, size.n, gamma, 0);
        }
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
        .readers = FG_ROUND_Y1_FORWARD | FG_ROUND_Y1_SAVED,
    };
    fg_linear_compute(oracle, &fc1, &oracle->y1);
    fg_activation_forward(oracle, FG_ROUND_Y1_FORWARD, oracle->spec.stages);
    fg_operand_shadow(&oracle->h);
    fg_linear fc2 = {
        .product = {.a = &oracle->h, .b = &oracle->w2, .b_transposed = 1},
        .bias = problem->bias ? oracle->b2 : NULL,
        .scale = problem->scale_bias ? oracle->bias_p : NULL,
        .stage = FG_STAGE_Y,
    };
    fg_linear_compute(oracle, &fc2, &oracle->out[FG_OUT_Y]);
}
