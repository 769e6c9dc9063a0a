#include "conformance/judge/mlp_judge.h"

#include "conformance/clock.h"
#include "conformance/judge/comparison.h"
#include "conformance/judge/mlp_verdict.h"
#include "conformance/judge/naive_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAIVE_EXPERTS = 3 };

void fg_mlp_spec(const fg_mlp_judgement *judgement, uint32_t mask, fg_oracle_spec *out) {
    const fg_problem *problem = &judgement->value->problem;
    *out = (fg_oracle_spec){
        .problem = problem,
        .traits = judgement->traits,
        .in = judgement->inputs,
        .dy = mask != 0 ? fg_tensors_view(judgement->tensors, FG_BUFFER_DY) : NULL,
        .mask = mask,
        .accumulate = problem->accumulate ? mask & (FG_BIT(FG_W1) | FG_BIT(FG_W2)) : 0,
        .bounds = judgement->value->data == FG_DATA_NORMAL,
    };
    out->grads_before[FG_W1] = fg_tensors_view(judgement->tensors, FG_BUFFER_BEFORE_W1);
    out->grads_before[FG_W2] = fg_tensors_view(judgement->tensors, FG_BUFFER_BEFORE_W2);
}

/* Experts with rows that get a naive loop: the first, the last and one between. */
static int chosen(const fg_case *value, int64_t expert, const int64_t picks[NAIVE_EXPERTS]) {
    for (int i = 0; i < NAIVE_EXPERTS; i++) {
        if (picks[i] == expert) {
            return value->splits[expert] > 0;
        }
    }
    return 0;
}

static void pick_experts(const fg_case *value, int64_t picks[NAIVE_EXPERTS]) {
    int64_t held = 0, seen = 0;
    for (int64_t e = 0; e < value->problem.experts; e++) {
        held += value->splits[e] > 0;
    }
    picks[0] = picks[1] = picks[2] = -1;
    for (int64_t e = 0; e < value->problem.experts; e++) {
        if (value->splits[e] > 0) {
            picks[0] = seen == 0 ? e : picks[0];
            picks[1] = seen == (int64_t)(value->seed % (uint64_t)held) ? e : picks[1];
            picks[2] = e;
            seen++;
        }
    }
    double flops = fg_problem_forward_flops(&value->problem, 1);
    if (flops > 5e5) { // a naive loop over large widths is paid once
        picks[0] = picks[2] = picks[1];
    }
}

/* Exact data means that no rounding point changes anything: one expert again with all of them. But
 * where a bias comes after a rounding, the sum before it may need more digits, and is rounded in
 * one way only, since it is exact: that point stays as it is declared. */
static fg_status check_neutral(const fg_oracle_spec *spec, const fg_oracle *oracle, int64_t expert,
                               char *why, size_t size) {
    fg_traits rounding = *spec->traits;
    fg_oracle_spec all = *spec;
    rounding.rounding |= ~(uint32_t)FG_ROUND_BIAS_AFTER;
    all.traits = &rounding;
    fg_oracle *again = NULL;
    FG_TRY(fg_oracle_create(&all, &again));
    fg_status status = fg_oracle_expert(again, expert);
    for (int output = 0; output < FG_OUTPUTS && status == FG_STATUS_OK; output++) {
        fg_expected a = fg_oracle_expected(oracle, output), b = fg_oracle_expected(again, output);
        for (int64_t k = 0; k < a.rows * a.cols; k++) {
            if (a.value[k] != b.value[k] || a.value[k] != (double)(float)a.value[k]) {
                snprintf(why, size,
                         "the data is not neutral: %s expert %" PRId64 " element %" PRId64
                         " is %.17g, with every rounding point %.17g",
                         fg_output_name(output), expert, k, a.value[k], b.value[k]);
                break;
            }
        }
    }
    fg_oracle_destroy(again);
    return status;
}

static fg_status judge_expert(const fg_mlp_judgement *judgement, fg_comparison *comparison,
                              fg_oracle *oracle, int64_t expert, fg_result *result) {
    double began = fg_clock_seconds();
    FG_TRY(fg_oracle_expert(oracle, expert));
    result->seconds_reference += fg_clock_seconds() - began;
    for (int32_t i = 0; i < judgement->target_count; i++) {
        const fg_mlp_target *target = &judgement->targets[i];
        fg_expected expected = fg_oracle_expected(oracle, target->output);
        fg_comparison_expert(comparison, target->output, expert, judgement->value->splits[expert],
                             &expected, fg_tensors_view(judgement->tensors, target->buffer));
    }
    return FG_STATUS_OK;
}

/* The few checks of the oracle itself on the expert that it just computed. */
static fg_status doubt(const fg_mlp_judgement *judgement, const fg_oracle_spec *spec,
                       const fg_oracle *oracle, int64_t expert, char *why, size_t size) {
    const fg_case *value = judgement->value;
    uint64_t draw = value->seed * 2654435761u + (uint64_t)expert * 40503u;
    int64_t row = (int64_t)(draw % (uint64_t)value->splits[expert]);
    int64_t inner = (int64_t)(draw / 7 % (uint64_t)value->problem.inter);
    fg_status status =
        fg_naive_check(spec, oracle, expert, row, inner, value->data != FG_DATA_NORMAL);
    if (status == FG_STATUS_INTERNAL) {
        snprintf(why, size, "%s", fg_message());
        return FG_STATUS_OK;
    }
    return status;
}

/* The expert with the fewest rows, but some; -1 when there are none. */
static int64_t smallest_expert(const fg_case *value) {
    int64_t smallest = -1;
    for (int64_t e = 0; e < value->problem.experts; e++) {
        if (value->splits[e] > 0 && (smallest < 0 || value->splits[e] < value->splits[smallest])) {
            smallest = e;
        }
    }
    return smallest;
}

static fg_status judge_experts(const fg_mlp_judgement *judgement, const fg_oracle_spec *spec,
                               fg_comparison *comparison, fg_oracle *oracle, fg_result *result) {
    const fg_case *value = judgement->value;
    int64_t picks[NAIVE_EXPERTS];
    int64_t again = value->data != FG_DATA_NORMAL ? smallest_expert(value) : -1;
    char contradiction[256] = "", unfit[256] = "";
    pick_experts(value, picks);
    for (int64_t e = 0; e < value->problem.experts; e++) {
        FG_TRY(judge_expert(judgement, comparison, oracle, e, result));
        if (chosen(value, e, picks) && contradiction[0] == '\0') {
            FG_TRY(doubt(judgement, spec, oracle, e, contradiction, sizeof contradiction));
        }
        if (e == again) {
            double began = fg_clock_seconds();
            FG_TRY(check_neutral(spec, oracle, e, unfit, sizeof unfit));
            result->seconds_reference += fg_clock_seconds() - began;
        }
    }
    if (contradiction[0] != '\0') {
        fg_mlp_mistrust(result, "oracle", contradiction);
    } else if (unfit[0] != '\0') {
        fg_mlp_mistrust(result, "data", unfit);
    }
    return FG_STATUS_OK;
}

static int64_t longest_row(const fg_case *value) {
    int64_t longest = value->rows;
    const int64_t others[] = {value->problem.hidden, fg_problem_o1(&value->problem)};
    for (int i = 0; i < 2; i++) {
        longest = others[i] > longest ? others[i] : longest;
    }
    return longest;
}

fg_status fg_mlp_judge(const fg_mlp_judgement *judgement, uint32_t mask, fg_result *result) {
    fg_compare_rule rule =
        judgement->value->data == FG_DATA_NORMAL ? FG_COMPARE_BOUND : FG_COMPARE_EXACT;
    fg_oracle_spec spec;
    fg_oracle *oracle = NULL;
    fg_comparison comparison;
    fg_mlp_spec(judgement, mask, &spec);
    FG_TRY(fg_oracle_create(&spec, &oracle));
    fg_status status = fg_comparison_open(rule, longest_row(judgement->value), &comparison);
    if (status == FG_STATUS_OK) {
        status = judge_experts(judgement, &spec, &comparison, oracle, result);
        if (status == FG_STATUS_OK && result->state != FG_STATE_MISTRUSTED) {
            status = fg_mlp_verdict(judgement, &spec, &comparison, result);
        }
        fg_comparison_close(&comparison);
    }
    fg_oracle_destroy(oracle);
    return status;
}
