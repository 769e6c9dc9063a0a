#include "conformance/suites/naive_mlp.h"
#include "conformance/suites/oracle_case.h"
#include "contract/alloc.h"
#include <criterion/criterion.h>
#include <math.h>

/* Every layout, activation and bias form, in float64. */
static const struct {
    int32_t activation, interleave, bias, scale_bias, separate, prob, order;
    int64_t align;
} forms[] = {
    {FG_ACT_SWIGLU, 0, 0, 0, 0, 1, FG_WEIGHTS_OI, 1},
    {FG_ACT_SWIGLU, 1, 1, 0, 0, 1, FG_WEIGHTS_OI, 1},
    {FG_ACT_SWIGLU, 4, 1, 1, 0, 1, FG_WEIGHTS_IO, 1},
    {FG_ACT_SWIGLU, 8, 1, 1, 1, 1, FG_WEIGHTS_OI, 4},
    {FG_ACT_SWIGLU, 2, 1, 0, 0, 0, FG_WEIGHTS_IO, 32},
    {FG_ACT_SRELU, 0, 0, 0, 0, 1, FG_WEIGHTS_OI, 1},
    {FG_ACT_SRELU, 0, 1, 1, 0, 1, FG_WEIGHTS_IO, 4},
    {FG_ACT_SRELU, 0, 1, 1, 1, 1, FG_WEIGHTS_OI, 1},
    {FG_ACT_SRELU, 0, 1, 0, 0, 0, FG_WEIGHTS_OI, 32},
};
#define FORMS (sizeof forms / sizeof forms[0])

static const int64_t some_splits[] = {0, 3, 0, 5, 1, 0};

static void case_of_form(size_t form, int64_t gap, fg_oracle_case *out) {
    fg_problem problem = fg_oracle_case_problem_f64(6, 5, 8);
    problem.activation = forms[form].activation;
    problem.interleave = forms[form].interleave;
    problem.bias = forms[form].bias;
    problem.scale_bias = forms[form].scale_bias;
    problem.separate_bias_scale = forms[form].separate;
    problem.prob = forms[form].prob;
    problem.weight_order = forms[form].order;
    problem.segment_align = forms[form].align;
    fg_oracle_case_create(&problem, some_splits, 17 + form, gap, 3, out);
}

static fg_oracle *open_oracle(const fg_oracle_case *value) {
    fg_oracle *oracle = NULL;
    fg_status status = fg_oracle_create(&value->spec, &oracle);
    cr_assert_eq(status, FG_STATUS_OK, "%s", fg_message());
    return oracle;
}

static fg_expected expert_output(fg_oracle *oracle, int64_t expert, int output) {
    cr_assert_eq(fg_oracle_expert(oracle, expert), FG_STATUS_OK, "%s", fg_message());
    return fg_oracle_expected(oracle, output);
}

/* Where an expert's part of an output begins in the whole, tight output. */
static int64_t offset_of(const fg_expected *part, int64_t expert, int output) {
    int by_row = output == FG_X || output == FG_P || output == FG_BIAS_P || output == FG_OUT_Y;
    return by_row ? part->first_row * part->cols : expert * part->rows * part->cols;
}

static double largest(const double *v, int64_t n) {
    double most = 0;
    for (int64_t k = 0; k < n; k++) {
        most = fmax(most, fabs(v[k]));
    }
    return most;
}

Test(oracle, matches_a_naive_triple_loop) {
    for (size_t form = 0; form < FORMS; form++) {
        fg_oracle_case value;
        fg_naive_outputs naive;
        case_of_form(form, (int64_t)form % 3, &value);
        fg_naive_mlp(&value, &naive);
        fg_oracle *oracle = open_oracle(&value);
        int64_t compared = 0;
        for (int64_t e = 0; e < value.problem.experts; e++) {
            for (int output = 0; output < FG_OUTPUTS; output++) {
                fg_expected got = expert_output(oracle, e, output);
                int64_t n = got.rows * got.cols;
                const double *want = naive.value[output] + offset_of(&got, e, output);
                double limit = 1e-13 * largest(want, n);
                for (int64_t k = 0; k < n; k++) {
                    cr_assert(fabs(got.value[k] - want[k]) <= limit,
                              "form %zu expert %lld %s[%lld]: %.17g, naive %.17g", form,
                              (long long)e, fg_output_name(output), (long long)k, got.value[k],
                              want[k]);
                }
                compared += n;
            }
        }
        cr_assert_gt(compared, 500);
        fg_oracle_destroy(oracle);
        fg_naive_free(&naive);
        fg_oracle_case_free(&value);
    }
}
