#include "reference/oracle_backward.h"

#include "reference/oracle_activation.h"
#include "reference/oracle_forward.h"
#include "reference/oracle_stage.h"

/* A sum of n products of one row or column, as dp, dbp, db1 and db2 are. */
static void sum_store(fg_oracle *oracle, int output, int stage, int64_t index, int64_t n,
                      const fg_product_sum *sums) {
    double gamma = oracle->spec.bounds ? fg_gamma_sum(oracle->spec.traits, n) : 0;
    fg_terms terms = {.sum = gamma * sums->size, .operands = 3 * sqrt(sums->squares)};
    fg_bounded value = {sums->value, terms.sum + terms.operands};
    oracle->out[output].v[index] = value.v;
    oracle->out[output].d[index] = value.d;
    int64_t row = output == FG_P || output == FG_BIAS_P ? index : 0;
    fg_stage_sum(oracle, stage, n, gamma);
    if (oracle->spec.stages) {
        fg_stage_offer(oracle, stage, row, index - row, value, &terms);
    }
}

/* Adds sum_j dy b2 of one row. */
static void bias_product_add(const fg_oracle *oracle, int64_t row, fg_product_sum *sums) {
    const double *dy = oracle->dy.v + row * oracle->hidden;
    for (int64_t j = 0; j < oracle->hidden; j++) {
        double product = dy[j] * oracle->b2[j];
        sums->value += product;
        sums->size += fabs(product);
    }
}

static void store_dp(fg_oracle *oracle, int64_t row, fg_product_sum *sums) {
    const fg_problem *problem = oracle->spec.problem;
    int64_t n = oracle->inter;
    if (problem->scale_bias && !problem->separate_bias_scale) {
        bias_product_add(oracle, row, sums);
        n += oracle->hidden;
    }
    sum_store(oracle, FG_P, FG_STAGE_DP, row, n, sums);
}

static void compute_dbp(fg_oracle *oracle) {
    for (int64_t i = 0; i < oracle->rows; i++) {
        fg_product_sum sums = {0};
        bias_product_add(oracle, i, &sums);
        sum_store(oracle, FG_BIAS_P, FG_STAGE_DBP, i, oracle->hidden, &sums);
    }
}

/* Adds one row to the column sums that db1 or db2 is: v times scale. */
static void columns_add(fg_product_sum *columns, int64_t n, const double *v, const double *d,
                        double scale) {
    for (int64_t j = 0; j < n; j++) {
        double product = scale * v[j];
        columns[j].value += product;
        columns[j].size += fabs(product);
        if (d != NULL) {
            columns[j].squares += d[j] * d[j] / 4;
        }
    }
}

static void columns_store(fg_oracle *oracle, int output, int stage, int64_t n) {
    for (int64_t j = 0; j < n; j++) {
        sum_store(oracle, output, stage, j, oracle->rows, &oracle->sum_columns[j]);
    }
}

static void compute_db2(fg_oracle *oracle) {
    int scaled = oracle->spec.problem->scale_bias;
    int64_t n = oracle->hidden;
    memset(oracle->sum_columns, 0, (size_t)n * sizeof *oracle->sum_columns);
    for (int64_t i = 0; i < oracle->rows; i++) {
        columns_add(oracle->sum_columns, n, oracle->dy.v + i * n, NULL,
                    scaled ? oracle->bias_p[i] : 1);
    }
    columns_store(oracle, FG_B2, FG_STAGE_DB2, n);
}

/* One row of dh with its bounds, from the product that was just computed. */
static inline void dhidden_row(fg_oracle *oracle, int64_t row, int watched)
    __attribute__((always_inline));
static inline void dhidden_row(fg_oracle *oracle, int64_t row, int watched) {
    const fg_rounder io = oracle->io;
    const fg_product_sums sums = oracle->sums;
    int rounded = fg_oracle_rounds(oracle, FG_ROUND_DHIDDEN);
    fg_terms terms = {0};
    fg_terms *shown = watched ? &terms : NULL;
    for (int64_t j = 0; j < oracle->inter; j++) {
        int64_t k = row * oracle->inter + j;
        fg_bounded value = fg_product_element(&sums, k, oracle->dh[k], shown);
        value = fg_bounded_round(value, &io, rounded, shown);
        oracle->dh_row.v[j] = value.v;
        oracle->dh_row.d[j] = value.d;
        if (watched) {
            fg_stage_offer(oracle, FG_STAGE_DH, row, j, value, shown);
        }
    }
}

/* dh, and row by row what the activation makes of it: dy1, dp, db1. */
static void compute_activation(fg_oracle *oracle) {
    const fg_product product = {
        .a = &oracle->dy,
        .b = &oracle->w2,
        .gamma = fg_gamma(oracle->spec.traits, oracle->hidden),
        .largest = oracle->arithmetic.largest,
    };
    fg_product_values(&product, oracle->dh);
    oracle->sums.sum_factor = 0;
    oracle->sums.spread_factor = 0;
    if (oracle->spec.bounds) {
        fg_product_shadows(&product, &oracle->sums);
    }
    int64_t n = oracle->columns;
    memset(oracle->sum_columns, 0, (size_t)n * sizeof *oracle->sum_columns);
    for (int64_t i = 0; i < oracle->rows; i++) {
        if (oracle->spec.stages) {
            dhidden_row(oracle, i, 1);
        } else {
            dhidden_row(oracle, i, 0);
        }
        fg_product_sum sums =
            fg_activation_backward_row(oracle, i, &oracle->dh_row, &oracle->dy1_row);
        if (fg_oracle_wants(oracle, FG_B1)) {
            columns_add(oracle->sum_columns, n, oracle->dy1_row.v, oracle->dy1_row.d, 1);
        }
        if (fg_oracle_wants(oracle, FG_P)) {
            store_dp(oracle, i, &sums);
        }
    }
    fg_stage_sum(oracle, FG_STAGE_DH, oracle->hidden, product.gamma);
    fg_stage_narrow(oracle, FG_STAGE_DH, &product);
}

static void compute_fc1(fg_oracle *oracle) {
    fg_operand_shadow(&oracle->dy1);
    if (fg_oracle_wants(oracle, FG_X)) {
        fg_linear dx = {.product = {.a = &oracle->dy1, .b = &oracle->w1}, .stage = FG_STAGE_DX};
        fg_linear_compute(oracle, &dx, &oracle->out[FG_X]);
    }
    if (fg_oracle_wants(oracle, FG_W1)) {
        fg_linear dw1 = {
            .product = {.a = &oracle->dy1, .b = &oracle->x, .a_transposed = 1},
            .stage = FG_STAGE_DW1,
        };
        fg_linear_compute(oracle, &dw1, &oracle->out[FG_W1]);
    }
}

static void compute_dw2(fg_oracle *oracle) {
    if (oracle->needs & FG_NEED_H_AGAIN) {
        if (!(oracle->needs & FG_NEED_DH)) { // else the activation's backward filled it
            fg_activation_forward(oracle, FG_ROUND_Y1_SAVED, 0);
        }
        fg_operand_shadow(&oracle->h);
    }
    fg_linear dw2 = {
        .product = {.a = &oracle->dy, .b = &oracle->h, .a_transposed = 1},
        .stage = FG_STAGE_DW2,
    };
    fg_linear_compute(oracle, &dw2, &oracle->out[FG_W2]);
}

void fg_oracle_backward(fg_oracle *oracle) {
    if (oracle->needs & FG_NEED_DH) {
        compute_activation(oracle);
        if (fg_oracle_wants(oracle, FG_B1)) {
            columns_store(oracle, FG_B1, FG_STAGE_DB1, oracle->columns);
        }
        compute_fc1(oracle);
    }
    if (fg_oracle_wants(oracle, FG_W2)) {
        compute_dw2(oracle);
    }
    if (fg_oracle_wants(oracle, FG_B2)) {
        compute_db2(oracle);
    }
    if (fg_oracle_wants(oracle, FG_BIAS_P)) {
        compute_dbp(oracle);
    }
}
