#include "reference/oracle.h"

#include "contract/alloc.h"
#include "reference/oracle_backward.h"
#include "reference/oracle_forward.h"
#include "reference/oracle_load.h"
#include "reference/oracle_memory.h"
#include "reference/oracle_stage.h"

const char *fg_output_name(int output) {
    return output == FG_OUT_Y ? "y" : fg_grad_name(output);
}

static fg_status check_mask(const fg_oracle_spec *spec) {
    for (int i = 0; i < FG_INPUTS; i++) {
        if ((spec->mask & FG_BIT(i)) && !fg_problem_has_input(spec->problem, i)) {
            return FG_FAIL(FG_STATUS_INVALID, "%s is wanted, and the problem has no %s",
                           fg_grad_name(i), fg_input_name(i));
        }
    }
    if (spec->mask >= FG_BIT(FG_INPUTS)) {
        return FG_FAIL(FG_STATUS_INVALID, "mask: found 0x%x, expected bits of the %d inputs",
                       spec->mask, FG_INPUTS);
    }
    return FG_STATUS_OK;
}

static fg_status check_spec(const fg_oracle_spec *spec) {
    const fg_problem *problem = spec->problem;
    int64_t rows = spec->in->rows;
    FG_TRY(fg_problem_check(problem));
    if (problem->first_op != FG_OP_FC1 || problem->op_count != FG_OP_COUNT) {
        return FG_FAIL(FG_STATUS_INVALID, "run: found ops %d..%d, expected 0..2", problem->first_op,
                       problem->first_op + problem->op_count - 1);
    }
    if (rows < 0 || rows > INT32_MAX) {
        return FG_FAIL(FG_STATUS_INVALID, "T: found %lld, expected 0 to 2^31 - 1", (long long)rows);
    }
    FG_TRY(check_mask(spec));
    for (int i = 0; i < FG_INPUTS; i++) {
        if (fg_problem_has_input(problem, i)) {
            FG_TRY(fg_load_check(problem, spec->in->inputs[i], i, 0, rows));
        }
        if (spec->mask & spec->accumulate & FG_BIT(i)) {
            FG_TRY(fg_load_check(problem, spec->grads_before[i], i, 1, rows));
        }
    }
    int64_t dims[] = {rows, problem->hidden};
    if (spec->mask != 0) {
        FG_TRY(fg_tensor_check(spec->dy, "dy", (fg_dtype)problem->dtype, 2, dims));
    }
    return fg_tensor_check(spec->in->splits, "splits", (fg_dtype)problem->splits_dtype, 1,
                           &problem->experts);
}

fg_status fg_oracle_create(const fg_oracle_spec *spec, fg_oracle **out) {
    FG_TRY(check_spec(spec));
    fg_oracle *oracle = fg_alloc(sizeof *oracle, FG_ALLOC_ORACLE);
    if (oracle == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for an oracle");
    }
    oracle->spec = *spec;
    fg_status status = fg_oracle_memory_create(oracle);
    if (status != FG_STATUS_OK) {
        fg_oracle_destroy(oracle);
        return status;
    }
    *out = oracle;
    return FG_STATUS_OK;
}

void fg_oracle_destroy(fg_oracle *oracle) {
    if (oracle != NULL) {
        fg_oracle_memory_free(oracle);
        fg_free(oracle);
    }
}

/* One value per row of p or bias_p, rounded where declared; 1 without. */
static void load_scale(const fg_oracle *oracle, int input, double *to) {
    if (!fg_problem_has_input(oracle->spec.problem, input)) {
        for (int64_t i = 0; i < oracle->rows; i++) {
            to[i] = 1;
        }
        return;
    }
    fg_load_rows(oracle->spec.in->inputs[input], oracle->first_row, oracle->rows, to);
    for (int64_t i = 0; fg_oracle_rounds(oracle, FG_ROUND_PROB) && i < oracle->rows; i++) {
        to[i] = fg_rounder_value(&oracle->io, to[i]);
    }
}

static void load_expert(fg_oracle *oracle) {
    const fg_problem *problem = oracle->spec.problem;
    const fg_tensor *const *inputs = oracle->spec.in->inputs;
    fg_dtype dtype = (fg_dtype)problem->dtype;
    int64_t e = oracle->expert;
    fg_operand *const by_row[] = {&oracle->x, &oracle->dy, &oracle->h, &oracle->dy1};
    for (size_t i = 0; i < sizeof by_row / sizeof by_row[0]; i++) {
        by_row[i]->rows = oracle->rows;
    }
    fg_load_rows(inputs[FG_X], oracle->first_row, oracle->rows, oracle->x.v);
    fg_operand_shadow(&oracle->x);
    fg_load_weight(problem, inputs[FG_W1], FG_W1, dtype, e, oracle->w1.v);
    fg_operand_shadow(&oracle->w1);
    fg_load_weight(problem, inputs[FG_W2], FG_W2, dtype, e, oracle->w2.v);
    fg_operand_shadow(&oracle->w2);
    if (oracle->spec.mask != 0) {
        fg_load_rows(oracle->spec.dy, oracle->first_row, oracle->rows, oracle->dy.v);
        fg_operand_shadow(&oracle->dy);
    }
    if (problem->bias) {
        fg_load_rows(inputs[FG_B1], e, 1, oracle->b1);
        fg_load_rows(inputs[FG_B2], e, 1, oracle->b2);
    }
    load_scale(oracle, FG_P, oracle->p);
    load_scale(oracle, problem->separate_bias_scale ? FG_BIAS_P : FG_P, oracle->bias_p);
}

/* v = C0 + sum; an expert without rows leaves what was there, exactly. */
static void accumulate(fg_oracle *oracle, int input) {
    const fg_problem *problem = oracle->spec.problem;
    const fg_tensor *before = oracle->spec.grads_before[input];
    if (input == FG_W1 || input == FG_W2) {
        fg_load_weight(problem, before, input, fg_problem_grad_dtype(problem, input),
                       oracle->expert, oracle->before);
    } else if (input == FG_B1 || input == FG_B2) {
        fg_load_rows(before, oracle->expert, 1, oracle->before);
    } else {
        fg_load_rows(before, oracle->first_row, oracle->rows, oracle->before);
    }
    fg_expected shape = fg_oracle_expected(oracle, input);
    fg_values *out = &oracle->out[input];
    double storage = oracle->rows > 0 ? oracle->arithmetic.storage : 0;
    for (int64_t k = 0; k < shape.rows * shape.cols; k++) {
        double was = oracle->before[k];
        out->v[k] += was;
        out->d[k] += storage > 0 ? storage * (fabs(was) + fabs(out->v[k])) : 0;
    }
}

/* A bound that is no number limits nothing: it belongs to values that are none, or to sums past
 * the accumulator's range. Without bounds they read 0. */
static void finish_bounds(fg_oracle *oracle, int output) {
    fg_expected shape = fg_oracle_expected(oracle, output);
    double *d = oracle->out[output].d;
    int bounds = oracle->spec.bounds;
    for (int64_t k = 0; k < shape.rows * shape.cols; k++) {
        d[k] = bounds ? (d[k] == d[k] ? d[k] : INFINITY) : 0;
    }
}

/* What an expert without rows gives, before anything is accumulated. */
static void clear_outputs(fg_oracle *oracle) {
    for (int output = 0; output < FG_OUTPUTS; output++) {
        fg_expected shape = fg_oracle_expected(oracle, output);
        size_t bytes = (size_t)(shape.rows * shape.cols) * sizeof(double);
        memset(oracle->out[output].v, 0, bytes);
        memset(oracle->out[output].d, 0, bytes);
    }
}

fg_status fg_oracle_expert(fg_oracle *oracle, int64_t expert) {
    if (expert < 0 || expert >= oracle->spec.problem->experts) {
        return FG_FAIL(FG_STATUS_INVALID, "expert: found %lld, expected 0 to %lld",
                       (long long)expert, (long long)oracle->spec.problem->experts - 1);
    }
    oracle->expert = expert;
    oracle->first_row = oracle->begin[expert];
    oracle->rows = oracle->splits[expert];
    fg_stage_reset(oracle);
    if (oracle->rows > 0) {
        load_expert(oracle);
        fg_oracle_forward(oracle);
        fg_oracle_backward(oracle);
    } else {
        clear_outputs(oracle);
    }
    for (int i = 0; i < FG_INPUTS; i++) {
        if (oracle->spec.mask & oracle->spec.accumulate & FG_BIT(i)) {
            accumulate(oracle, i);
        }
    }
    for (int output = 0; output < FG_OUTPUTS; output++) {
        finish_bounds(oracle, output);
    }
    return FG_STATUS_OK;
}

fg_expected fg_oracle_expected(const fg_oracle *oracle, int output) {
    int64_t rows = oracle->rows;
    const int64_t shapes[FG_OUTPUTS][2] = {
        [FG_X] = {rows, oracle->hidden},
        [FG_W1] = {oracle->columns, oracle->hidden},
        [FG_B1] = {1, oracle->columns},
        [FG_P] = {rows, 1},
        [FG_W2] = {oracle->hidden, oracle->inter},
        [FG_B2] = {1, oracle->hidden},
        [FG_BIAS_P] = {rows, 1},
        [FG_OUT_Y] = {rows, oracle->hidden},
    };
    int wanted = output == FG_OUT_Y || fg_oracle_wants(oracle, output);
    return (fg_expected){
        .first_row = oracle->first_row,
        .rows = wanted ? shapes[output][0] : 0,
        .cols = shapes[output][1],
        .value = oracle->out[output].v,
        .bound = oracle->out[output].d,
    };
}
