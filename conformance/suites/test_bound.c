#include "conformance/suites/float_mlp.h"
#include "contract/dtype.h"
#include "reference/oracle_stage.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const uint32_t all_points = 0x1fff;
static const uint32_t fused_points = FG_ROUND_HIDDEN | FG_ROUND_Y1_SAVED | FG_ROUND_DACT;
static const uint32_t eager_points = 0x1fff & ~(uint32_t)(FG_ROUND_BIAS_AFTER | FG_ROUND_PROB);

static fg_problem problem_of(fg_dtype dtype, fg_activation activation, int32_t separate) {
    fg_problem problem = fg_problem_default(3, 40, 24);
    problem.dtype = (int32_t)dtype;
    problem.activation = (int32_t)activation;
    problem.interleave = activation == FG_ACT_SWIGLU ? 8 : 0;
    problem.bias = 1;
    problem.scale_bias = 1;
    problem.separate_bias_scale = separate;
    return problem;
}

static const int64_t some_splits[] = {33, 0, 20};

/* Largest ratio of error to tolerance over every output; NaN counts as infinite. */
static double worst_ratio(const fg_oracle_case *value, const fg_float_outputs *got) {
    fg_oracle *oracle = fg_oracle_case_open(value);
    double worst = 0;
    for (int64_t e = 0; e < value->problem.experts; e++) {
        cr_assert_eq(fg_oracle_expert(oracle, e), FG_STATUS_OK);
        for (int output = 0; output < FG_OUTPUTS; output++) {
            fg_expected want = fg_oracle_expected(oracle, output);
            fg_dtype dtype = fg_float_output_dtype(&value->problem, output);
            int by_row =
                output == FG_X || output == FG_P || output == FG_BIAS_P || output == FG_OUT_Y;
            int64_t n = want.rows * want.cols;
            const double *v = got->value[output] + (by_row ? want.first_row * want.cols : e * n);
            for (int64_t k = 0; k < n; k++) {
                double reach = fabs(want.value[k]) + want.bound[k];
                double limit = want.bound[k] + fg_dtype_ulp(dtype, reach) / 2;
                double error = fabs(v[k] - want.value[k]);
                double ratio = error == 0 ? 0 : error / limit;
                worst = ratio <= worst ? worst : (ratio == ratio ? ratio : INFINITY);
            }
        }
    }
    fg_oracle_destroy(oracle);
    return worst;
}

static double ratio_of(const fg_problem *problem, uint32_t rounding, fg_float_fault fault,
                       uint64_t seed) {
    fg_oracle_case value;
    fg_float_outputs got;
    fg_oracle_case_create(problem, some_splits, seed, 1, 2, &value);
    value.traits.rounding = rounding;
    fg_float_mlp(&value, fault, &got);
    double ratio = worst_ratio(&value, &got);
    fg_float_free(&got);
    fg_oracle_case_free(&value);
    return ratio;
}

Test(bound, right_float32_kernels_stay_within_it_at_every_set_of_rounding_points) {
    static const fg_dtype dtypes[] = {FG_F32, FG_F16, FG_BF16};
    uint32_t sets[17] = {0, fused_points, eager_points, all_points};
    for (int bit = 0; bit < 13; bit++) {
        sets[4 + bit] = FG_BIT(bit);
    }
    for (int d = 0; d < 3; d++) {
        for (int activation = 0; activation < FG_ACTIVATIONS; activation++) {
            fg_problem problem =
                problem_of(dtypes[d], (fg_activation)activation, activation == d % 2);
            for (int s = 0; s < 17; s++) {
                double ratio = ratio_of(&problem, sets[s], FG_FLOAT_RIGHT, 100u + (uint64_t)s);
                cr_assert(ratio <= 1, "%s %s points 0x%x: ratio %g", fg_dtype_name(dtypes[d]),
                          fg_activation_name((fg_activation)activation), sets[s], ratio);
                cr_assert(ratio >= 0.01, "%s %s points 0x%x: a bound that nothing comes near: %g",
                          fg_dtype_name(dtypes[d]), fg_activation_name((fg_activation)activation),
                          sets[s], ratio);
            }
        }
    }
}

Test(bound, wrong_kernels_exceed_it) {
    for (int fault = FG_FLOAT_RIGHT + 1; fault < FG_FLOAT_FAULTS; fault++) {
        fg_problem problem = problem_of(FG_BF16, FG_ACT_SWIGLU, 0);
        double ratio = ratio_of(&problem, fused_points, (fg_float_fault)fault, 7);
        cr_assert(ratio > 1, "fault %d: ratio %g", fault, ratio);
    }
}

static double tf32(double v) {
    int exponent = 0;
    double fraction = frexp(v, &exponent);
    return ldexp(nearbyint(ldexp(fraction, 11)), exponent - 11);
}

Test(bound, operands_read_with_11_digits_are_allowed_only_where_declared) {
    fg_problem problem = problem_of(FG_F32, FG_ACT_SWIGLU, 0);
    fg_oracle_case value;
    fg_float_outputs got;
    fg_oracle_case_create(&problem, some_splits, 5, 0, 0, &value);
    fg_oracle_case narrow;
    fg_oracle_case_create(&problem, some_splits, 5, 0, 0, &narrow);
    const int operands[] = {FG_X, FG_W1, FG_W2};
    for (int i = 0; i < 3; i++) {
        fg_tensor *tensor = &narrow.inputs[operands[i]];
        for (int64_t k = 0; k < fg_tensor_count(tensor); k++) {
            fg_oracle_case_set(tensor, k, tf32(fg_oracle_case_get(tensor, k)));
        }
    }
    fg_float_mlp(&narrow, FG_FLOAT_RIGHT, &got);
    cr_assert_gt(worst_ratio(&value, &got), 1.0);
    value.traits.operand_digits = 11;
    double ratio = worst_ratio(&value, &got);
    cr_assert(ratio <= 1 && ratio > 0.05, "ratio %g", ratio);
    fg_float_free(&got);
    fg_oracle_case_free(&value);
    fg_oracle_case_free(&narrow);
}

Test(bound, gamma_follows_the_declared_accumulator) {
    fg_traits traits = fg_oracle_case_traits(0);
    double u = 0x1p-24;
    cr_assert_float_eq(fg_gamma(&traits, 512), exp(8 * sqrt(512) * u + 512 * u * u) - 1, 1e-15);
    cr_assert_eq(fg_gamma(&traits, 0), 0);
    traits.accumulator_truncates = 1;
    traits.accumulator_block = 16;
    cr_assert_float_eq(fg_gamma(&traits, 7168) / u, 928, 0.1);
    cr_assert_float_eq(fg_gamma(&traits, 28672) / u, 3616, 1);
    traits.accumulator_truncates = 0;
    traits.accumulator_digits = 53;
    cr_assert_lt(fg_gamma(&traits, 512), 1e-13);
}

Test(bound, sums_outside_gemms_are_never_better_than_float32) {
    fg_traits traits = fg_oracle_case_traits(0);
    double nearest = fg_gamma(&traits, 100);
    traits.accumulator_digits = 53;
    cr_assert_eq(fg_gamma_sum(&traits, 100), nearest);
    traits.accumulator_digits = 24;
    traits.accumulator_truncates = 1;
    cr_assert_eq(fg_gamma_sum(&traits, 100000), fg_gamma(&traits, 100000));
    cr_assert_gt(fg_gamma(&traits, 100000), fg_gamma_sum(&traits, 100));
}

Test(bound, traits_left_at_zero_mean_their_defaults) {
    fg_traits zero = {.struct_size = sizeof zero};
    fg_traits full = fg_oracle_case_traits(0);
    cr_assert_eq(fg_gamma(&zero, 77), fg_gamma(&full, 77));
    fg_arithmetic a = fg_arithmetic_make(&zero, 1);
    cr_assert_eq(a.unit, 0x1p-21);
    cr_assert_eq(a.narrow, 0);
    cr_assert_eq(a.operand_digits, 24);
}

Test(bound, inlined_rounding_agrees_with_the_contract) {
    static const fg_dtype dtypes[] = {FG_F32, FG_F16, FG_BF16};
    uint64_t state = 3;
    for (int d = 0; d < 3; d++) {
        fg_rounder rounder = fg_rounder_make(dtypes[d]);
        int largest = dtypes[d] == FG_F16 ? 18 : 130;
        for (int k = 0; k < 200000; k++) {
            int exponent = k % (2 * largest) - largest - 20;
            double v = ldexp(fg_oracle_case_normal(&state), exponent);
            v = k % 3 == 0 ? v : fg_dtype_round(FG_F16, v * 3); // short ones fall on midpoints
            double want = fg_dtype_round(dtypes[d], v);
            double got = fg_rounder_value(&rounder, v);
            cr_assert(got == want, "%s of %a: %a, expected %a", fg_dtype_name(dtypes[d]), v, got,
                      want);
            if (isfinite(v)) {
                cr_assert_eq(fg_rounder_ulp(&rounder, fabs(v)), fg_dtype_ulp(dtypes[d], v));
            }
        }
        const double specials[] = {INFINITY, -INFINITY, rounder.max, rounder.overflow,
                                   nextafter(rounder.overflow, 0)};
        for (int k = 0; k < 5; k++) {
            cr_assert_eq(fg_rounder_value(&rounder, specials[k]),
                         fg_dtype_round(dtypes[d], specials[k]));
        }
        cr_assert(isnan(fg_rounder_value(&rounder, NAN)));
        cr_assert(signbit(fg_rounder_value(&rounder, -0.0)));
    }
}

Test(bound, rounding_adds_an_ulp_at_the_far_end_and_nothing_to_an_exact_value) {
    fg_rounder rounder = fg_rounder_make(FG_BF16);
    cr_assert_eq(fg_rounder_spread(&rounder, 1.99, 0), 0);
    cr_assert_eq(fg_rounder_spread(&rounder, 1.5, 0.25), 0x1p-7);
    cr_assert_eq(fg_rounder_spread(&rounder, -1.99, 0.25), 0x1p-6);
    cr_assert_eq(fg_rounder_spread(&rounder, 0, 1e-50), 0x1p-133);
    fg_terms terms = {0};
    fg_bounded step = fg_bounded_round((fg_bounded){1.001, 0.25}, &rounder, 1, &terms);
    cr_assert_eq(step.v, 1.0);
    cr_assert_eq(step.d, 0.25 + 0x1p-7);
    cr_assert_eq(terms.rounding, 0x1p-7);
    step = fg_bounded_round((fg_bounded){1.001, 0.25}, &rounder, 0, NULL);
    cr_assert_eq(step.v, 1.001);
    cr_assert_eq(step.d, 0.25);
}

Test(bound, a_value_that_may_or_may_not_overflow_has_no_bound) {
    fg_rounder rounder = fg_rounder_make(FG_F16);
    cr_assert(isinf(fg_rounder_spread(&rounder, 65519, 2)));
    cr_assert(isinf(fg_rounder_spread(&rounder, 65521, 2)));
    cr_assert_lt(fg_rounder_spread(&rounder, 65000, 2), 64);
    cr_assert_leq(fg_rounder_spread(&rounder, 70000, 2), 64);
}

Test(bound, products_and_sums_follow_the_table) {
    fg_terms terms = {0};
    fg_bounded a = {-3, 0.5};
    fg_bounded product = fg_bounded_times(a, (fg_bounded){2, 0.25}, 0.125, &terms);
    cr_assert_eq(product.v, -6);
    cr_assert_eq(terms.operands, 2 * 0.5 + 3 * 0.25);
    cr_assert_eq(terms.elementwise, 6 * 0.125);
    cr_assert_eq(product.d, terms.operands + terms.elementwise);
    terms = (fg_terms){.operands = a.d};
    fg_bounded sum = fg_bounded_plus(a, 2, 0.0625, 0.125, &terms);
    cr_assert_eq(sum.v, -1);
    cr_assert_eq(terms.sum, 0.125);
    cr_assert_eq(terms.elementwise, 5 * 0.125);
    cr_assert_eq(sum.d, 0.5 + 0.125 + 5 * 0.125);
}

/* A problem of one expert whose every tensor has one column; x, w and the rest are set by hand. */
static void create_tiny(fg_activation activation, int64_t hidden, fg_oracle_case *out) {
    const int64_t one_row[] = {1};
    fg_problem problem = fg_problem_default(1, hidden, 1);
    problem.dtype = FG_F32;
    problem.activation = (int32_t)activation;
    fg_oracle_case_create(&problem, one_row, 9, 0, 0, out);
    for (int i = 0; i < FG_INPUTS; i++) {
        for (int64_t k = 0;
             fg_problem_has_input(&problem, i) && k < fg_tensor_count(&out->inputs[i]); k++) {
            fg_oracle_case_set(&out->inputs[i], k, 1);
        }
    }
    for (int64_t k = 0; k < hidden; k++) {
        fg_oracle_case_set(&out->dy, k, k == 0);
    }
}

static fg_expected only_expert(const fg_oracle_case *value, int output, fg_oracle **out) {
    *out = fg_oracle_case_open(value);
    return fg_oracle_case_expert(*out, 0, output);
}

Test(bound, both_branches_are_allowed_within_reach_of_a_kink) {
    fg_oracle_case value;
    fg_oracle *oracle = NULL;
    create_tiny(FG_ACT_SRELU, 2, &value);
    fg_oracle_case_set(&value.inputs[FG_W1], 1, -1); // y1 = 1 - 1, whose bound is gamma(2) 2
    double reach = fg_gamma(&value.traits, 2) * 2;
    fg_expected y = only_expert(&value, FG_OUT_Y, &oracle);
    cr_assert_eq(y.value[0], 0);
    cr_assert_geq(y.bound[0], reach * reach);
    fg_expected dx = fg_oracle_expected(oracle, FG_X);
    cr_assert_eq(dx.value[0], 0);
    cr_assert_geq(dx.bound[0], 2 * reach);
    cr_assert_leq(dx.bound[0], 8 * reach);
    fg_oracle_destroy(oracle);
    fg_oracle_case_set(&value.inputs[FG_W1], 1, -1.5); // far from the kink, on the flat side
    dx = only_expert(&value, FG_X, &oracle);
    cr_assert_eq(dx.bound[0], 0);
    fg_oracle_destroy(oracle);
    fg_oracle_case_free(&value);
}

Test(bound, a_sigmoid_that_underflows_in_float32_is_allowed) {
    fg_oracle_case value;
    fg_oracle *oracle = NULL;
    create_tiny(FG_ACT_SWIGLU, 1, &value);
    fg_oracle_case_set(&value.inputs[FG_W1], 0, -100);
    fg_expected y = only_expert(&value, FG_OUT_Y, &oracle);
    cr_assert_lt(y.value[0], 0);
    cr_assert_geq(y.bound[0], -y.value[0]);
    cr_assert_leq(y.bound[0], 200 * 0x1p-126);
    fg_oracle_destroy(oracle);
    fg_oracle_case_free(&value);
}

Test(bound, scales_with_its_operands_far_outside_float32_squares) {
    fg_problem problem = problem_of(FG_F32, FG_ACT_SWIGLU, 0);
    problem.bias = problem.scale_bias = 0;
    fg_oracle_case value;
    fg_oracle *plain = NULL;
    fg_oracle *scaled = NULL;
    fg_oracle_case_create(&problem, some_splits, 11, 0, 0, &value);
    fg_expected before = only_expert(&value, FG_OUT_Y, &plain);
    for (int power = -100; power <= 100; power += 200) {
        for (int64_t k = 0; k < fg_tensor_count(&value.inputs[FG_W2]); k++) {
            fg_tensor *w2 = &value.inputs[FG_W2];
            fg_oracle_case_set(w2, k, ldexp(fg_oracle_case_get(w2, k), power));
        }
        fg_expected after = only_expert(&value, FG_OUT_Y, &scaled);
        for (int64_t k = 0; k < before.rows * before.cols; k++) {
            double ratio = after.bound[k] / ldexp(before.bound[k], power);
            cr_assert(fabs(ratio - 1) < 1e-6, "2^%d: bound off by %g", power, ratio);
        }
        for (int64_t k = 0; k < fg_tensor_count(&value.inputs[FG_W2]); k++) {
            fg_tensor *w2 = &value.inputs[FG_W2];
            fg_oracle_case_set(w2, k, ldexp(fg_oracle_case_get(w2, k), -power));
        }
        fg_oracle_destroy(scaled);
    }
    fg_oracle_destroy(plain);
    fg_oracle_case_free(&value);
}

Test(bound, sums_past_the_accumulator_range_have_none) {
    fg_oracle_case value;
    fg_oracle *oracle = NULL;
    create_tiny(FG_ACT_SRELU, 2, &value);
    fg_oracle_case_set(&value.inputs[FG_W2], 0, 3e38);
    fg_oracle_case_set(&value.inputs[FG_X], 0, 2);
    fg_expected y = only_expert(&value, FG_OUT_Y, &oracle);
    cr_assert(isinf(y.bound[0]));
    cr_assert(isfinite(y.bound[1]));
    fg_oracle_destroy(oracle);
    fg_oracle_case_free(&value);
}

Test(bound, accumulating_adds_a_rounding_of_what_was_there_and_of_the_sum) {
    fg_problem problem = problem_of(FG_BF16, FG_ACT_SWIGLU, 0);
    fg_oracle_case value;
    fg_oracle *over = NULL;
    fg_oracle *onto = NULL;
    fg_oracle_case_create(&problem, some_splits, 12, 0, 0, &value);
    fg_expected first = only_expert(&value, FG_W2, &over);
    value.spec.accumulate = FG_BIT(FG_W2);
    fg_expected second = only_expert(&value, FG_W2, &onto);
    for (int64_t k = 0; k < first.rows * first.cols; k++) {
        double was = fg_oracle_case_get(&value.grads_before[FG_W2], k);
        double storage = 0x1p-24 * (fabs(was) + fabs(second.value[k]));
        cr_assert_eq(second.value[k], first.value[k] + was);
        cr_assert_float_eq(second.bound[k], first.bound[k] + storage, 1e-15);
    }
    fg_oracle_destroy(over);
    fg_oracle_destroy(onto);
    fg_oracle_case_free(&value);
}

static void check_stages(const fg_bound_stage *stages, int32_t count, const fg_expected *y) {
    for (int32_t i = 0; i < count; i++) {
        const fg_bound_stage *s = &stages[i];
        double sum = s->sum + s->operands + s->narrow + s->elementwise + s->kink + s->rounding;
        cr_assert(fabs(sum - s->bound) <= 1e-9 * s->bound, "%s: %g, bound %g", s->name, sum,
                  s->bound);
        if (strcmp(s->name, "y") == 0) {
            int64_t k = s->row * y->cols + s->col;
            cr_assert_eq(s->bound, y->bound[k]);
            cr_assert_eq(s->value, y->value[k]);
        }
    }
}

Test(bound, the_terms_of_each_stage_add_up_to_its_bound) {
    for (int activation = 0; activation < FG_ACTIVATIONS; activation++) {
        fg_problem problem = problem_of(FG_F32, (fg_activation)activation, 1);
        fg_oracle_case value;
        fg_oracle *oracle = NULL;
        fg_bound_stage stages[32];
        fg_oracle_case_create(&problem, some_splits, 13, 0, 0, &value);
        value.spec.stages = 1;
        value.traits.operand_digits = 11;
        value.traits.rounding = all_points;
        fg_expected y = only_expert(&value, FG_OUT_Y, &oracle);
        int32_t count = fg_oracle_stages(oracle, stages, 32);
        cr_assert_eq(count, 15);
        check_stages(stages, count, &y);
        double narrow = 0;
        for (int32_t i = 0; i < count; i++) {
            narrow += stages[i].narrow;
        }
        cr_assert_gt(narrow, 0);
        cr_assert_eq(fg_oracle_stages(oracle, stages, 3), 3);
        fg_oracle_destroy(oracle);
        fg_oracle_case_free(&value);
    }
}

Test(bound, stages_come_in_order_with_the_terms_that_they_sum) {
    static const char *const names[] = {"y1",  "act", "gated", "h",   "y",   "dh",  "dprob", "dp",
                                        "dy1", "dx",  "dw1",   "db1", "dw2", "db2", "dbp"};
    static const int64_t terms[] = {41, 0, 0, 0, 25, 40, 0, 24, 0, 48, 33, 33, 33, 33, 40};
    fg_problem problem = problem_of(FG_BF16, FG_ACT_SWIGLU, 1);
    fg_oracle_case value;
    fg_oracle *oracle = NULL;
    fg_bound_stage stages[32];
    fg_oracle_case_create(&problem, some_splits, 14, 0, 0, &value);
    value.spec.stages = 1;
    value.traits.rounding = FG_ROUND_Y1_SAVED;
    only_expert(&value, FG_OUT_Y, &oracle);
    cr_assert_eq(fg_oracle_stages(oracle, stages, 32), 15);
    for (int i = 0; i < 15; i++) {
        cr_assert_str_eq(stages[i].name, names[i]);
        cr_assert_eq(stages[i].n, terms[i], "%s: %lld", names[i], (long long)stages[i].n);
        cr_assert_eq(stages[i].gamma > 0, terms[i] > 0);
    }
    cr_assert_gt(stages[0].rounding, 0);
    cr_assert_eq(fg_oracle_expert(oracle, 1), FG_STATUS_OK); // no rows: nothing was computed
    cr_assert_eq(fg_oracle_stages(oracle, stages, 32), 0);
    fg_oracle_destroy(oracle);
    fg_oracle_case_free(&value);
}

Test(bound, asking_for_stages_changes_no_value_and_no_bound) {
    fg_problem problem = problem_of(FG_BF16, FG_ACT_SRELU, 1);
    fg_oracle_case value;
    fg_oracle *with = NULL;
    fg_oracle *without = NULL;
    fg_oracle_case_create(&problem, some_splits, 15, 0, 0, &value);
    value.traits.rounding = eager_points;
    only_expert(&value, FG_OUT_Y, &without);
    cr_assert_eq(fg_oracle_stages(without, NULL, 0), 0);
    value.spec.stages = 1;
    only_expert(&value, FG_OUT_Y, &with);
    for (int output = 0; output < FG_OUTPUTS; output++) {
        fg_expected a = fg_oracle_expected(with, output);
        fg_expected b = fg_oracle_expected(without, output);
        size_t bytes = (size_t)(a.rows * a.cols) * sizeof(double);
        cr_assert_eq(memcmp(a.value, b.value, bytes), 0, "%s", fg_output_name(output));
        cr_assert_eq(memcmp(a.bound, b.bound, bytes), 0, "%s", fg_output_name(output));
    }
    fg_oracle_destroy(with);
    fg_oracle_destroy(without);
    fg_oracle_case_free(&value);
}

Test(bound, products_with_an_extent_of_zero_are_zero_with_zero_bounds) {
    double a_values[12] = {1};
    double c[12];
    float sums_at[12];
    for (int zero = 0; zero < 3; zero++) {
        fg_operand a = {.rows = zero == 0 ? 0 : 3, .cols = zero == 2 ? 0 : 4, .v = a_values};
        fg_operand b = {.rows = a.cols, .cols = zero == 1 ? 0 : 3, .v = a_values};
        const fg_product product = {.a = &a, .b = &b, .gamma = 1, .largest = INFINITY};
        fg_product_sums sums = {.sum = sums_at, .spread = sums_at, .sum_factor = 7};
        for (int k = 0; k < 12; k++) {
            c[k] = NAN;
        }
        fg_product_values(&product, c);
        fg_product_shadows(&product, &sums);
        for (int64_t k = 0; k < 12; k++) {
            cr_assert(k < a.rows * b.cols ? c[k] == 0 : isnan(c[k]));
        }
        cr_assert_eq(fg_product_element(&sums, 0, 0, NULL).d, 0);
    }
}

Test(bound, the_part_of_operands_read_with_few_digits_is_told_from_the_rest) {
    double a_v[] = {1, 2, 3, 4, 5, 6};
    double a_d[] = {0.5, 0.25, 1, 2, 0.125, 4};
    double b_v[] = {7, -8, 9, 10, -11, 12};
    double b_d[] = {1, 0.5, 2, 0.25, 4, 8};
    for (int transposed = 0; transposed < 2; transposed++) {
        fg_oracle oracle = {0};
        fg_operand a = {.rows = transposed ? 3 : 2, .cols = transposed ? 2 : 3, .v = a_v};
        fg_operand b = {.rows = transposed ? 2 : 3, .cols = transposed ? 3 : 2, .v = b_v};
        a.d = a_d;
        b.d = b_d;
        a.narrow = 0x1p-11;
        const fg_product product = {
            .a = &a, .b = &b, .a_transposed = transposed, .b_transposed = transposed};
        const fg_terms terms = {.operands = 1000};
        fg_stage_offer(&oracle, FG_STAGE_Y, 1, 0, (fg_bounded){3, 1000}, &terms);
        fg_stage_narrow(&oracle, FG_STAGE_Y, &product);
        double squares = 0;
        for (int k = 0; k < 3; k++) { // row 1 of op(A), column 0 of op(B)
            int of_a = transposed ? 2 * k + 1 : 3 + k;
            int of_b = transposed ? k : 2 * k;
            squares += pow(b_v[of_b] * a_d[of_a] / 2, 2) + pow(a_v[of_a] * b_d[of_b] / 2, 2);
        }
        cr_assert_float_eq(oracle.stages[FG_STAGE_Y].operands, 3 * sqrt(squares), 1e-12);
        cr_assert_float_eq(oracle.stages[FG_STAGE_Y].narrow, 1000 - 3 * sqrt(squares), 1e-12);
    }
}
