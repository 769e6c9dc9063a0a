#include "conformance/executor/exec_judge.h"
#include "conformance/clock.h"
#include "conformance/executor/exec_driver.h"
#include "conformance/judge/comparison.h"
#include <stdio.h>

static int64_t longest_row(const fg_case *value) {
    const fg_problem *problem = &value->problem;
    int64_t longest = fg_problem_o1(problem);
    longest = problem->hidden > longest ? problem->hidden : longest;
    longest = problem->inter > longest ? problem->inter : longest;
    return value->rows > longest ? value->rows : longest;
}

static fg_status compare_all(const fg_exec_data *data, fg_oracle *oracle, const fg_exec_out *got,
                             uint32_t mask, fg_comparison *comparison) {
    for (int64_t e = 0; e < data->value.problem.experts; e++) {
        FG_TRY(fg_oracle_expert(oracle, e));
        for (int i = 0; i < FG_OUTPUTS; i++) {
            if (mask & got->has & FG_BIT(i)) {
                fg_expected expected = fg_oracle_expected(oracle, i);
                fg_comparison_expert(comparison, i, e, data->value.splits[e], &expected,
                                     &got->tensors[i]);
            }
        }
    }
    return FG_STATUS_OK;
}

/* Words for the first output with a bad element, or one that was not compared whole. */
static int findings_good(const fg_exec_data *data, const fg_exec_out *got, uint32_t mask,
                         const fg_comparison *comparison, fg_result *result, char *text,
                         size_t size) {
    for (int i = 0; i < FG_OUTPUTS; i++) {
        const fg_finding *finding = &comparison->findings[i];
        if (!(mask & got->has & FG_BIT(i))) {
            continue;
        }
        int64_t owed = fg_comparison_owed(&data->value.problem, data->value.splits, i);
        result->elements_compared += finding->compared;
        result->elements_owed += owed;
        if (finding->bad) {
            fg_finding_words(finding, i, comparison->rule, text, size);
            return 0;
        }
        if (finding->compared != owed) {
            snprintf(text, size, "%s: expected %lld elements compared, got %lld", fg_output_name(i),
                     (long long)owed, (long long)finding->compared);
            return 0;
        }
    }
    return 1;
}

fg_status fg_exec_judge(const fg_exec_data *data, const fg_traits *traits, const fg_exec_out *got,
                        uint32_t mask, fg_result *result, int *good, char *text, size_t size) {
    double began = fg_clock_seconds();
    fg_oracle *oracle = NULL;
    fg_exec_out *before = NULL;
    fg_comparison comparison;
    uint32_t gradients = mask & got->has & ~FG_EXEC_Y;
    fg_oracle_spec spec = {.problem = &data->value.problem,
                           .traits = traits,
                           .in = &data->in,
                           .dy = &data->dy,
                           .mask = gradients,
                           .accumulate = fg_exec_accumulate(&data->value.problem, gradients),
                           .bounds = 1};
    fg_status status = FG_STATUS_OK;
    if (spec.accumulate) {
        status = fg_exec_out_create(data->env, &data->value, &before);
    }
    if (!status && before) {
        fg_exec_out_poison(before, before->has, spec.accumulate);
        fg_exec_out_grads(before, spec.accumulate, spec.grads_before);
    }
    if (!status) {
        status = fg_comparison_open(FG_COMPARE_BOUND, longest_row(&data->value), &comparison);
    }
    if (!status) {
        status = fg_oracle_create(&spec, &oracle);
        if (!status) {
            status = compare_all(data, oracle, got, mask, &comparison);
        }
        *good = !status && findings_good(data, got, mask, &comparison, result, text, size);
        fg_oracle_destroy(oracle);
        fg_comparison_close(&comparison);
    }
    fg_exec_out_destroy(before);
    result->seconds_reference += fg_clock_seconds() - began;
    return status;
}
