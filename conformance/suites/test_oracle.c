#include "conformance/suites/naive_mlp.h"
#include "conformance/suites/oracle_case.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

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

/* Compares every output of every expert with the naive loop's; returns how many elements. */
static int64_t compare_with_naive(const fg_oracle_case *value) {
    fg_naive_outputs naive;
    fg_naive_mlp(value, &naive);
    fg_oracle *oracle = fg_oracle_case_open(value);
    int64_t compared = 0;
    for (int64_t e = 0; e < value->problem.experts; e++) {
        cr_assert_eq(fg_oracle_expert(oracle, e), FG_STATUS_OK, "%s", fg_message());
        for (int output = 0; output < FG_OUTPUTS; output++) {
            fg_expected got = fg_oracle_expected(oracle, output);
            int64_t n = got.rows * got.cols;
            const double *want = naive.value[output] + offset_of(&got, e, output);
            double limit = 1e-13 * largest(want, n);
            for (int64_t k = 0; k < n; k++) {
                cr_assert(fabs(got.value[k] - want[k]) <= limit,
                          "expert %lld %s[%lld]: %.17g, naive %.17g", (long long)e,
                          fg_output_name(output), (long long)k, got.value[k], want[k]);
            }
            compared += n;
        }
    }
    fg_oracle_destroy(oracle);
    fg_naive_free(&naive);
    return compared;
}

Test(oracle, matches_a_naive_triple_loop) {
    for (size_t form = 0; form < FORMS; form++) {
        fg_oracle_case value;
        case_of_form(form, (int64_t)form % 3, &value);
        cr_assert_gt(compare_with_naive(&value), 500, "form %zu", form);
        fg_oracle_case_free(&value);
    }
}

Test(oracle, matches_a_naive_triple_loop_where_blas_works_in_blocks) {
    static const int64_t splits[] = {37};
    for (int32_t order = 0; order < 2; order++) {
        fg_problem problem = fg_oracle_case_problem_f64(1, 161, 330);
        problem.weight_order = order;
        fg_oracle_case value;
        fg_oracle_case_create(&problem, splits, 77, 3, 1, &value);
        cr_assert_gt(compare_with_naive(&value), 2 * 161 * 330);
        fg_oracle_case_free(&value);
    }
}

/* The loss whose gradient with respect to every input the backward gives: sum of dy y. */
static double loss_of(const fg_oracle_case *value) {
    fg_oracle *oracle = fg_oracle_case_open(value);
    double loss = 0;
    for (int64_t e = 0; e < value->problem.experts; e++) {
        fg_expected y = fg_oracle_case_expert(oracle, e, FG_OUT_Y);
        for (int64_t k = 0; k < y.rows * y.cols; k++) {
            loss += y.value[k] * fg_oracle_case_get(&value->dy, y.first_row * y.cols + k);
        }
    }
    fg_oracle_destroy(oracle);
    return loss;
}

/* Central difference of the loss by one element of an input. */
static double difference(const fg_oracle_case *value, int input, int64_t index) {
    const double step = 1e-5;
    fg_oracle_case moved = *value;
    moved.spec.problem = &moved.problem;
    moved.spec.mask = 0;
    moved.spec.bounds = 0;
    double at = fg_oracle_case_get(&value->inputs[input], index);
    fg_oracle_case_set(&value->inputs[input], index, at + step);
    double above = loss_of(&moved);
    fg_oracle_case_set(&value->inputs[input], index, at - step);
    double below = loss_of(&moved);
    fg_oracle_case_set(&value->inputs[input], index, at);
    return (above - below) / (2 * step);
}

/* Index of element k of an expert's weight in the tensor, whose order may be [I, O]. */
static int64_t stored_index(const fg_problem *problem, const fg_expected *part, int64_t expert,
                            int output, int64_t k) {
    if ((output == FG_W1 || output == FG_W2) && problem->weight_order == FG_WEIGHTS_IO) {
        int64_t transposed = k % part->cols * part->rows + k / part->cols;
        return expert * part->rows * part->cols + transposed;
    }
    return offset_of(part, expert, output) + k;
}

Test(oracle, gradients_are_the_central_differences_of_the_forward) {
    for (size_t form = 0; form < FORMS; form++) {
        fg_oracle_case value;
        case_of_form(form, 1, &value);
        fg_oracle *oracle = fg_oracle_case_open(&value);
        int64_t compared = 0;
        for (int64_t e = 0; e < value.problem.experts; e++) {
            for (int input = 0; input < FG_INPUTS; input++) {
                fg_expected got = fg_oracle_case_expert(oracle, e, input);
                int64_t n = got.rows * got.cols;
                for (int64_t k = 0; k < n; k += 1 + n / 7) {
                    int64_t index = stored_index(&value.problem, &got, e, input, k);
                    double want = difference(&value, input, index);
                    cr_assert(fabs(got.value[k] - want) <= 1e-7 * (1 + fabs(want)),
                              "form %zu %s[%lld]: %.12g, difference %.12g", form,
                              fg_output_name(input), (long long)k, got.value[k], want);
                    compared++;
                }
            }
        }
        cr_assert_gt(compared, 60);
        fg_oracle_destroy(oracle);
        fg_oracle_case_free(&value);
    }
}

#define FORWARD_AND_BACKWARD                                                                       \
    (FG_BIT(FG_OUT_Y) | FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_B1) | FG_BIT(FG_P) | FG_BIT(FG_W2))

/* Which outputs a rounding point changes, beside other points. */
static const struct {
    uint32_t flag, beside, changes;
} points[] = {
    {FG_ROUND_Y1_FORWARD, 0, FG_BIT(FG_OUT_Y)},
    {FG_ROUND_Y1_FORWARD, FG_ROUND_HIDDEN_SAVED, FG_BIT(FG_OUT_Y) | FG_BIT(FG_W2)},
    {FG_ROUND_BIAS_AFTER, 0, FORWARD_AND_BACKWARD},
    {FG_ROUND_ACT, 0, FORWARD_AND_BACKWARD},
    {FG_ROUND_GATED, 0, FG_BIT(FG_OUT_Y) | FG_BIT(FG_P) | FG_BIT(FG_W2)},
    {FG_ROUND_PROB, 0, (FORWARD_AND_BACKWARD & ~FG_BIT(FG_P)) | FG_BIT(FG_B2)},
    {FG_ROUND_HIDDEN, 0, FG_BIT(FG_OUT_Y) | FG_BIT(FG_W2)},
    {FG_ROUND_Y1_SAVED, 0, FORWARD_AND_BACKWARD & ~FG_BIT(FG_OUT_Y)},
    {FG_ROUND_HIDDEN_SAVED, 0, 0},
    {FG_ROUND_HIDDEN_SAVED, FG_ROUND_Y1_SAVED, FG_BIT(FG_W2)},
    {FG_ROUND_DHIDDEN, 0, FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_B1) | FG_BIT(FG_P)},
    {FG_ROUND_DPROB, 0, FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_B1)},
    {FG_ROUND_DLINEAR, 0, FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_B1)},
    {FG_ROUND_DACT, 0, FG_BIT(FG_X) | FG_BIT(FG_W1)},
    {FG_ROUND_DBIAS, 0, FG_BIT(FG_B1)},
    {FG_ROUND_DBIAS, FG_ROUND_DACT, FG_BIT(FG_B1)},
};

static fg_problem bf16_problem(void) {
    fg_problem problem = fg_problem_default(6, 5, 8);
    problem.bias = 1;
    problem.scale_bias = 1;
    return problem;
}

Test(oracle, each_rounding_point_changes_the_outputs_behind_it_and_no_other) {
    fg_problem problem = bf16_problem();
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        fg_oracle_case value;
        fg_oracle_case_create(&problem, some_splits, 31, 0, 0, &value);
        value.traits.rounding = points[i].beside;
        fg_oracle *without = fg_oracle_case_open(&value);
        fg_traits traits = value.traits;
        traits.rounding |= points[i].flag;
        value.spec.traits = &traits;
        fg_oracle *with = fg_oracle_case_open(&value);
        for (int output = 0; output < FG_OUTPUTS; output++) {
            int changes = (points[i].changes & FG_BIT(output)) != 0;
            cr_assert_eq(!fg_oracle_case_same(with, without, problem.experts, output), changes,
                         "point %x beside %x: %s %s", points[i].flag, points[i].beside,
                         fg_output_name(output), changes ? "stays" : "changes");
        }
        fg_oracle_destroy(without);
        fg_oracle_destroy(with);
        fg_oracle_case_free(&value);
    }
}

Test(oracle, rounding_points_are_ignored_in_float64) {
    fg_oracle_case value;
    case_of_form(3, 0, &value);
    fg_oracle *without = fg_oracle_case_open(&value);
    fg_traits traits = fg_oracle_case_traits(0x1fff);
    value.spec.traits = &traits;
    fg_oracle *with = fg_oracle_case_open(&value);
    for (int output = 0; output < FG_OUTPUTS; output++) {
        cr_assert(fg_oracle_case_same(with, without, value.problem.experts, output));
    }
    fg_oracle_destroy(without);
    fg_oracle_destroy(with);
    fg_oracle_case_free(&value);
}

Test(oracle, any_mask_gives_the_values_of_the_full_one_and_nothing_else) {
    fg_problem problem = bf16_problem();
    problem.separate_bias_scale = 1;
    fg_oracle_case value;
    fg_oracle_case_create(&problem, some_splits, 32, 0, 0, &value);
    value.traits.rounding = FG_ROUND_Y1_SAVED | FG_ROUND_DACT;
    fg_oracle *full = fg_oracle_case_open(&value);
    for (uint32_t mask = 0; mask < FG_BIT(FG_INPUTS); mask++) {
        value.spec.mask = mask;
        fg_oracle *some = fg_oracle_case_open(&value);
        for (int output = 0; output < FG_OUTPUTS; output++) {
            int wanted = output == FG_OUT_Y || (mask & FG_BIT(output)) != 0;
            if (wanted) {
                cr_assert(fg_oracle_case_same(full, some, problem.experts, output), "mask %x %s",
                          mask, fg_output_name(output));
            } else {
                cr_assert_eq(fg_oracle_case_expert(some, 3, output).rows, 0);
            }
        }
        fg_oracle_destroy(some);
    }
    fg_oracle_destroy(full);
    fg_oracle_case_free(&value);
}

Test(oracle, an_expert_without_rows_has_zero_gradients_and_zero_bounds) {
    fg_oracle_case value;
    case_of_form(3, 0, &value);
    fg_oracle *oracle = fg_oracle_case_open(&value);
    const int outputs[] = {FG_W1, FG_B1, FG_W2, FG_B2};
    fg_oracle_case_expert(oracle, 1, FG_W1); // leaves numbers behind
    for (int i = 0; i < 4; i++) {
        fg_expected got = fg_oracle_case_expert(oracle, 2, outputs[i]);
        cr_assert_gt(got.rows * got.cols, 0);
        for (int64_t k = 0; k < got.rows * got.cols; k++) {
            cr_assert_eq(got.value[k], 0);
            cr_assert_eq(got.bound[k], 0);
        }
    }
    cr_assert_eq(fg_oracle_case_expert(oracle, 2, FG_OUT_Y).rows, 0);
    cr_assert_eq(fg_oracle_case_expert(oracle, 2, FG_P).rows, 0);
    fg_oracle_destroy(oracle);
    fg_oracle_case_free(&value);
}

Test(oracle, accumulating_adds_to_every_gradient_and_leaves_that_of_an_empty_expert) {
    for (size_t form = 2; form < 4; form++) {
        fg_oracle_case value;
        case_of_form(form, 2, &value);
        fg_oracle *over = fg_oracle_case_open(&value);
        value.spec.accumulate = value.spec.mask;
        fg_oracle *onto = fg_oracle_case_open(&value);
        for (int64_t e = 0; e < value.problem.experts; e++) {
            for (int output = 0; output < FG_INPUTS; output++) {
                fg_expected a = fg_oracle_case_expert(over, e, output);
                fg_expected b = fg_oracle_case_expert(onto, e, output);
                for (int64_t k = 0; k < b.rows * b.cols; k++) {
                    int64_t index = stored_index(&value.problem, &b, e, output, k);
                    double was = fg_oracle_case_get(&value.grads_before[output], index);
                    cr_assert_eq(b.value[k], a.value[k] + was);
                    cr_assert_eq(b.bound[k] > a.bound[k], value.splits[e] > 0);
                }
            }
        }
        fg_oracle_destroy(over);
        fg_oracle_destroy(onto);
        fg_oracle_case_free(&value);
    }
}

Test(oracle, without_bounds_the_values_are_the_same_and_every_bound_is_zero) {
    fg_problem problem = bf16_problem();
    fg_oracle_case value;
    fg_oracle_case_create(&problem, some_splits, 33, 0, 0, &value);
    value.traits.rounding = 0x1fff;
    fg_oracle *with = fg_oracle_case_open(&value);
    value.spec.bounds = 0;
    fg_oracle *without = fg_oracle_case_open(&value);
    for (int output = 0; output < FG_OUTPUTS; output++) {
        cr_assert(fg_oracle_case_same(with, without, problem.experts, output));
        fg_expected got = fg_oracle_case_expert(without, 3, output);
        for (int64_t k = 0; k < got.rows * got.cols; k++) {
            cr_assert_eq(got.bound[k], 0);
        }
    }
    fg_oracle_destroy(with);
    fg_oracle_destroy(without);
    fg_oracle_case_free(&value);
}

Test(oracle, nan_in_one_experts_inputs_stays_with_it) {
    fg_problem problem = bf16_problem();
    for (int input = 0; input < FG_INPUTS - 1; input++) {
        fg_oracle_case value;
        fg_oracle_case_create(&problem, some_splits, 34, 0, 0, &value);
        fg_oracle *before = fg_oracle_case_open(&value);
        int by_row = input == FG_X || input == FG_P;
        int64_t extent = fg_tensor_count(&value.inputs[input]) / value.inputs[input].dims[0];
        int64_t row = by_row ? value.begin[1] : 1;
        fg_oracle_case_set(&value.inputs[input], row * extent, NAN);
        fg_oracle *after = fg_oracle_case_open(&value);
        int touched = 0;
        for (int output = 0; output < FG_OUTPUTS; output++) {
            fg_expected of_one = fg_oracle_case_expert(after, 1, output);
            for (int64_t k = 0; k < of_one.rows * of_one.cols; k++) {
                touched |= isnan(of_one.value[k]);
                cr_assert(!isnan(of_one.bound[k]));
            }
            fg_expected a = fg_oracle_case_expert(before, 3, output);
            fg_expected b = fg_oracle_case_expert(after, 3, output);
            cr_assert_eq(memcmp(a.value, b.value, (size_t)(a.rows * a.cols) * sizeof(double)), 0);
        }
        cr_assert(touched, "%s", fg_input_name(input));
        fg_oracle_destroy(before);
        fg_oracle_destroy(after);
        fg_oracle_case_free(&value);
    }
}
