#include "conformance/judge/mlp_verdict.h"

#include "conformance/judge/diagnosis.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STAGES = 48 };

void fg_mlp_mistrust(fg_result *result, const char *name, const char *why) {
    fg_result_check(result, name, FG_CHECK_NOT_RUN, 0, FG_FAULT_NONE, "%s", why);
    if (result->state != FG_STATE_MISTRUSTED) {
        result->state = FG_STATE_MISTRUSTED;
        result->fault = FG_FAULT_NONE;
        snprintf(result->reason, sizeof result->reason, "%s: %s", name, why);
    }
}

/* Of tolerance, which is half an ulp or more: what rounding the other way may reach. */
static const double misrounded = 2;

/* Outputs as one is computed from another: a fault shows first where it happens. */
static const int flow[FG_OUTPUTS] = {FG_OUT_Y, FG_P, FG_BIAS_P, FG_X, FG_B1, FG_W1, FG_B2, FG_W2};

/* The first output with a bad element; without any, the one that came closest to its limit. */
static int output_to_name(const fg_comparison *comparison) {
    int worst = FG_OUT_Y;
    for (int i = 0; i < FG_OUTPUTS; i++) {
        if (comparison->findings[flow[i]].bad > 0) {
            return flow[i];
        }
        if (comparison->findings[flow[i]].ratio > comparison->findings[worst].ratio) {
            worst = flow[i];
        }
    }
    return worst;
}

/* "; also wrong: dp, dx" of the bad outputs but the one named; "" when there is no other. */
static void others_words(const fg_comparison *comparison, int named, char *text, size_t size) {
    text[0] = '\0';
    for (int i = 0; i < FG_OUTPUTS; i++) {
        if (flow[i] != named && comparison->findings[flow[i]].bad > 0) {
            size_t length = strlen(text);
            snprintf(text + length, size - length, "%s%s",
                     length > 0 ? ", " : "; also wrong: ", fg_output_name(flow[i]));
        }
    }
}

/* Adds to the reason how the bound of a failing output came about in the failing expert. */
static fg_status add_terms(const fg_oracle_spec *spec, const fg_finding *finding, int output,
                           fg_result *result) {
    fg_bound_stage stages[STAGES];
    fg_oracle_spec with_stages = *spec;
    fg_oracle *oracle = NULL;
    with_stages.stages = 1;
    FG_TRY(fg_oracle_create(&with_stages, &oracle));
    fg_status status = fg_oracle_expert(oracle, finding->expert);
    int32_t count = status == FG_STATUS_OK ? fg_oracle_stages(oracle, stages, STAGES) : 0;
    for (int32_t i = 0; i < count; i++) {
        const fg_bound_stage *at = &stages[i];
        size_t length = strlen(result->reason);
        if (strcmp(at->name, fg_output_name(output)) == 0) {
            (void)snprintf(result->reason + length, sizeof result->reason - length,
                           "; terms of d at its largest: sum %.2e, operands %.2e, narrow %.2e, "
                           "elementwise %.2e, kink %.2e, rounding %.2e",
                           at->sum, at->operands, at->narrow, at->elementwise, at->kink,
                           at->rounding);
        }
    }
    fg_oracle_destroy(oracle);
    return status;
}

static fg_status report_numbers(const fg_mlp_judgement *judgement, const fg_oracle_spec *spec,
                                const fg_comparison *comparison, fg_result *result) {
    int named = output_to_name(comparison), exact = comparison->rule == FG_COMPARE_EXACT;
    const fg_finding *finding = &comparison->findings[named];
    const char *name = exact ? "exact" : "bound";
    char words[160] = "", cause[160] = "", others[80] = "";
    fg_finding_words(finding, named, comparison->rule, words, sizeof words);
    if (finding->bad == 0) {
        fg_result_check(result, name, FG_CHECK_PASS, finding->ratio, FG_FAULT_NUMERIC, "%s",
                        exact ? "every element has its one right value" : words);
        return FG_STATUS_OK;
    }
    int first = result->state != FG_STATE_FAIL;
    fg_diagnosis_words(judgement->value, judgement->tensors, named, finding, cause, sizeof cause);
    others_words(comparison, named, others, sizeof others);
    fg_result_check(result, name, FG_CHECK_FAIL, finding->ratio, FG_FAULT_NUMERIC, "%s%s%s%s",
                    words, cause[0] != '\0' ? "; " : "", cause, others);
    return first && !exact ? add_terms(spec, finding, named, result) : FG_STATUS_OK;
}

/* Whether rounding errors of an output are its own: 16 bits, or float32 all the way through an
 * accumulator that rounds to nearest. A float32 gradient of 16-bit operands carries their errors,
 * hundreds of its ulps and alike along a row. */
static int bias_means(const fg_mlp_judgement *judgement, const fg_tensor *view) {
    return fg_dtype_size((fg_dtype)view->dtype) <= 2 ||
           (judgement->value->problem.dtype == FG_F32 && !judgement->traits->accumulator_truncates);
}

/* Whether some output is wrong by more than roundings: its errors lean to a side for that reason.
 */
static int numbers_wrong(const fg_comparison *comparison) {
    int wrong = 0;
    for (int output = 0; output < FG_OUTPUTS; output++) {
        wrong |= comparison->findings[output].ratio > misrounded;
    }
    return wrong;
}

static void report_bias(const fg_mlp_judgement *judgement, const fg_comparison *comparison,
                        fg_result *result) {
    int worst = -1;
    for (int32_t i = 0; i < judgement->target_count; i++) {
        int output = judgement->targets[i].output;
        const fg_bias *bias = &comparison->findings[output].bias;
        const fg_tensor *view = fg_tensors_view(judgement->tensors, judgement->targets[i].buffer);
        if (bias->count < FG_BIAS_LEAST || !bias_means(judgement, view)) {
            continue;
        }
        if (fg_bias_fails(bias)) {
            fg_result_check(result, "bias", FG_CHECK_FAIL, fg_bias_z(bias), FG_FAULT_NUMERIC,
                            "%s: mean signed error %.4f ulp of %s, z = %.1f over %" PRId64
                            " elements: not rounded to nearest, or arithmetic a little off",
                            fg_output_name(output), fg_bias_mean(bias),
                            fg_dtype_name((fg_dtype)view->dtype), fg_bias_z(bias), bias->count);
            return;
        }
        worst = worst < 0 ? output : worst;
    }
    if (worst >= 0) {
        const fg_bias *bias = &comparison->findings[worst].bias;
        fg_result_check(result, "bias", FG_CHECK_PASS, 0, FG_FAULT_NUMERIC,
                        "%s: mean %.4f ulp, z = %.1f", fg_output_name(worst), fg_bias_mean(bias),
                        fg_bias_z(bias));
    }
}

/* Elements compared are those owed, and enough of them say something. */
static void report_evidence(const fg_mlp_judgement *judgement, const fg_comparison *comparison,
                            fg_result *result) {
    const fg_case *value = judgement->value;
    int64_t owed = 0, compared = 0;
    for (int32_t i = 0; i < judgement->target_count; i++) {
        owed += fg_comparison_owed(&value->problem, value->splits, judgement->targets[i].output);
    }
    char why[160] = "";
    for (int output = 0; output < FG_OUTPUTS; output++) {
        const fg_finding *finding = &comparison->findings[output];
        compared += finding->compared;
        if (fg_finding_thin(finding) && !value->zeros_expected && why[0] == '\0') {
            snprintf(why, sizeof why,
                     "evidence too thin: %s has %" PRId64 " expected elements that are not 0 of "
                     "%" PRId64,
                     fg_output_name(output), finding->nonzero, finding->with_tokens);
        }
    }
    result->elements_compared += compared;
    result->elements_owed += owed;
    judgement->tensors->touched += compared;
    if (compared != owed) {
        snprintf(why, sizeof why, "compared %" PRId64 " elements, owed %" PRId64, compared, owed);
    } else if (owed == 0 && !value->zeros_expected) {
        snprintf(why, sizeof why, "no element was compared");
    }
    if (why[0] != '\0' && result->state == FG_STATE_PASS) {
        fg_mlp_mistrust(result, "evidence", why);
    }
}

fg_status fg_mlp_verdict(const fg_mlp_judgement *judgement, const fg_oracle_spec *spec,
                         const fg_comparison *comparison, fg_result *result) {
    FG_TRY(report_numbers(judgement, spec, comparison, result));
    if (comparison->rule == FG_COMPARE_BOUND && !numbers_wrong(comparison)) {
        report_bias(judgement, comparison, result);
    }
    report_evidence(judgement, comparison, result);
    return FG_STATUS_OK;
}
