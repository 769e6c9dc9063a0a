#include "reference/oracle_stage.h"

static const char *const names[FG_STAGES] = {
    [FG_STAGE_Y1] = "y1",   [FG_STAGE_ACT] = "act",     [FG_STAGE_GATED] = "gated",
    [FG_STAGE_H] = "h",     [FG_STAGE_Y] = "y",         [FG_STAGE_DH] = "dh",
    [FG_STAGE_DP] = "dp",   [FG_STAGE_DPROB] = "dprob", [FG_STAGE_DY1] = "dy1",
    [FG_STAGE_DX] = "dx",   [FG_STAGE_DW1] = "dw1",     [FG_STAGE_DB1] = "db1",
    [FG_STAGE_DW2] = "dw2", [FG_STAGE_DB2] = "db2",     [FG_STAGE_DBP] = "dbp",
};

void fg_stage_reset(fg_oracle *oracle) {
    for (int stage = 0; stage < FG_STAGES; stage++) {
        oracle->stages[stage] = (fg_bound_stage){0};
    }
}

void fg_stage_offer(fg_oracle *oracle, int stage, int64_t row, int64_t col, fg_bounded value,
                    const fg_terms *terms) {
    fg_bound_stage *kept = &oracle->stages[stage];
    if (kept->name != NULL && !(value.d > kept->bound)) {
        return;
    }
    kept->name = names[stage];
    kept->row = row;
    kept->col = col;
    kept->value = value.v;
    kept->sum = terms->sum;
    kept->operands = terms->operands;
    kept->elementwise = terms->elementwise;
    kept->kink = terms->kink;
    kept->rounding = terms->rounding;
    kept->bound = value.d;
}

void fg_stage_sum(fg_oracle *oracle, int stage, int64_t n, double gamma) {
    oracle->stages[stage].n = n;
    oracle->stages[stage].gamma = gamma;
}

/* Element (row, k) of op(A), or (k, col) of op(B), in the operand's storage. */
static int64_t operand_index(const fg_operand *operand, int transposed, int64_t i, int64_t j) {
    return transposed ? j * operand->cols + i : i * operand->cols + j;
}

void fg_stage_narrow(fg_oracle *oracle, int stage, const fg_product *product) {
    fg_bound_stage *kept = &oracle->stages[stage];
    const fg_operand *a = product->a;
    const fg_operand *b = product->b;
    if (kept->name == NULL || (a->narrow == 0 && b->narrow == 0)) {
        return;
    }
    double squares = 0;
    int64_t n = fg_product_measure(product).k;
    for (int64_t k = 0; k < n; k++) {
        int64_t i = operand_index(a, product->a_transposed, kept->row, k);
        int64_t j = operand_index(b, product->b_transposed, k, kept->col);
        double of_a = a->d != NULL ? b->v[j] * a->d[i] / 2 : 0;
        double of_b = b->d != NULL ? a->v[i] * b->d[j] / 2 : 0;
        squares += of_a * of_a + of_b * of_b;
    }
    double operands = fmin(3 * sqrt(squares), kept->operands);
    kept->narrow = kept->operands - operands;
    kept->operands = operands;
}

int32_t fg_oracle_stages(const fg_oracle *oracle, fg_bound_stage *out, int32_t capacity) {
    int32_t count = 0;
    for (int stage = 0; stage < FG_STAGES && count < capacity; stage++) {
        if (oracle->stages[stage].name != NULL) {
            out[count++] = oracle->stages[stage];
        }
    }
    return count;
}
