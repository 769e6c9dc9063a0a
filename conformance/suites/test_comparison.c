/* Expected against got: tolerances, classes, bias, evidence, words. */

#include "conformance/judge/comparison.h"
#include "conformance/report/result.h"
#include "contract/alloc.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 8 };

/* One row of y of one expert, compared under a rule. */
static fg_finding compare(fg_compare_rule rule, fg_dtype dtype, const double *value,
                          const double *bound, const double *got) {
    unsigned char stored[N * 8];
    int64_t dims[2] = {1, N};
    fg_comparison comparison;
    fg_dtype_store_f64(dtype, got, N, stored);
    fg_tensor view = fg_tensor_tight(stored, dtype, -1, 2, dims);
    fg_expected expected = {.rows = 1, .cols = N, .value = value, .bound = bound};
    cr_assert_eq(fg_comparison_open(rule, N, &comparison), FG_STATUS_OK);
    fg_comparison_expert(&comparison, FG_OUT_Y, 0, 1, &expected, &view);
    fg_finding finding = comparison.findings[FG_OUT_Y];
    fg_comparison_close(&comparison);
    return finding;
}

/* One element, the others right. */
static int passes(fg_compare_rule rule, fg_dtype dtype, double v, double d, double got) {
    double value[N], bound[N], all[N];
    for (int k = 0; k < N; k++) {
        value[k] = all[k] = 1;
        bound[k] = 0;
    }
    value[5] = v;
    bound[5] = d;
    all[5] = got;
    fg_finding finding = compare(rule, dtype, value, bound, all);
    cr_assert_eq(finding.compared, N);
    cr_assert(rule == FG_COMPARE_EXACT || (finding.bad == 0) == (finding.ratio <= 1));
    return finding.bad == 0;
}

static const fg_dtype dtypes[] = {FG_F32, FG_F16, FG_BF16};

Test(bound, tolerance_is_d_and_half_an_ulp_of_the_output) {
    for (int i = 0; i < 3; i++) {
        fg_dtype dtype = dtypes[i];
        double ulp = fg_dtype_ulp(dtype, 3.0);
        // v half-way between neighbours: both are right, the next ones need d.
        double v = 3 + ulp / 2;
        cr_assert(passes(FG_COMPARE_BOUND, dtype, v, 0, 3));
        cr_assert(passes(FG_COMPARE_BOUND, dtype, v, 0, 3 + ulp));
        cr_assert(!passes(FG_COMPARE_BOUND, dtype, v, 0, 3 - ulp));
        cr_assert(!passes(FG_COMPARE_BOUND, dtype, v, 0.99 * ulp, 3 - ulp));
        cr_assert(passes(FG_COMPARE_BOUND, dtype, v, 1.01 * ulp, 3 - ulp));
        cr_assert(!passes(FG_COMPARE_BOUND, dtype, -v, 0, v));
    }
}

Test(bound, ulp_is_taken_at_value_plus_bound) {
    // 1.996 lies where the ulp is 1/128, 1.996 + d where it is 1/64: half of that is allowed.
    cr_assert(passes(FG_COMPARE_BOUND, FG_BF16, 1.996, 0.0121, 2.015625));
    cr_assert(!passes(FG_COMPARE_BOUND, FG_BF16, 1.996, 0.0030, 2.015625));
}

Test(bound, subnormals_have_the_smallest_ulp) {
    double least = fg_dtype_ulp(FG_F16, 0);
    cr_assert(passes(FG_COMPARE_BOUND, FG_F16, least / 2, 0, 0));
    cr_assert(passes(FG_COMPARE_BOUND, FG_F16, least / 2, 0, least));
    cr_assert(!passes(FG_COMPARE_BOUND, FG_F16, least / 2, 0, 2 * least));
    cr_assert(!passes(FG_COMPARE_BOUND, FG_F32, 0, 0, 1e-40));
}

Test(bound, nan_and_infinity_match_in_class_and_sign) {
    for (int i = 0; i < 3; i++) {
        fg_dtype dtype = dtypes[i];
        cr_assert(!passes(FG_COMPARE_BOUND, dtype, 1, 1e9, NAN));
        cr_assert(!passes(FG_COMPARE_BOUND, dtype, 1, 1, INFINITY));
        cr_assert(passes(FG_COMPARE_BOUND, dtype, NAN, 0, NAN));
        cr_assert(!passes(FG_COMPARE_BOUND, dtype, NAN, 0, 1));
        cr_assert(!passes(FG_COMPARE_BOUND, dtype, NAN, 0, INFINITY));
        cr_assert(passes(FG_COMPARE_BOUND, dtype, INFINITY, 0, INFINITY));
        cr_assert(!passes(FG_COMPARE_BOUND, dtype, INFINITY, 0, -INFINITY));
        cr_assert(!passes(FG_COMPARE_BOUND, dtype, -INFINITY, 0, NAN));
    }
}

Test(bound, overflow_is_right_only_within_reach_of_the_largest) {
    cr_assert(passes(FG_COMPARE_BOUND, FG_F16, 65519, 2, INFINITY));
    cr_assert(passes(FG_COMPARE_BOUND, FG_F16, 65519, 2, 65504));
    cr_assert(!passes(FG_COMPARE_BOUND, FG_F16, 65519, 0.5, INFINITY));
    cr_assert(!passes(FG_COMPARE_BOUND, FG_F16, 65519, 2, -INFINITY));
    cr_assert(passes(FG_COMPARE_BOUND, FG_F16, 70000, 0, INFINITY));
    cr_assert(!passes(FG_COMPARE_BOUND, FG_F16, 70000, 0, 65504));
}

Test(exact, asks_for_the_value_rounded_once) {
    for (int i = 0; i < 3; i++) {
        fg_dtype dtype = dtypes[i];
        double ulp = fg_dtype_ulp(dtype, 5.0);
        cr_assert(passes(FG_COMPARE_EXACT, dtype, 5 + ulp / 2, 0, 5)); // a tie, to even
        cr_assert(!passes(FG_COMPARE_EXACT, dtype, 5 + ulp / 2, 0, 5 + ulp));
        cr_assert(passes(FG_COMPARE_EXACT, dtype, 5 + 0.51 * ulp, 0, 5 + ulp));
        cr_assert(!passes(FG_COMPARE_EXACT, dtype, 5, 0, 5 + ulp));
        cr_assert(!passes(FG_COMPARE_EXACT, dtype, 5, 0, NAN));
        cr_assert(passes(FG_COMPARE_EXACT, dtype, NAN, 0, NAN));
        cr_assert(!passes(FG_COMPARE_EXACT, dtype, INFINITY, 0, -INFINITY));
    }
}

Test(comparison, zeros_are_equal_whatever_their_sign) {
    for (int rule = FG_COMPARE_EXACT; rule <= FG_COMPARE_BOUND; rule++) {
        for (int i = 0; i < 3; i++) {
            cr_assert(passes((fg_compare_rule)rule, dtypes[i], 0.0, 0, -0.0));
            cr_assert(passes((fg_compare_rule)rule, dtypes[i], -0.0, 0, 0.0));
        }
    }
}

Test(comparison, the_worst_element_is_kept_with_its_numbers) {
    double value[N] = {1, 2, 3, 4, 5, 6, 7, 8}, bound[N] = {0};
    double got[N] = {1, 2, 3.5, 4, 5, 9, 7, 8.5};
    fg_finding finding = compare(FG_COMPARE_BOUND, FG_F32, value, bound, got);
    cr_assert(finding.bad == 3 && finding.col == 5 && finding.got == 9 && finding.expected == 6);
    cr_assert_eq(finding.ratio, 3 / finding.tolerance);
    got[3] = NAN; // worse than any number
    finding = compare(FG_COMPARE_BOUND, FG_F32, value, bound, got);
    cr_assert(finding.bad == 4 && finding.col == 3);
    finding = compare(FG_COMPARE_EXACT, FG_F32, value, bound, got);
    cr_assert(finding.bad == 4 && finding.col == 3);
}

Test(comparison, a_wrong_class_is_infinitely_wrong) {
    static const double pairs[][2] = {{1, NAN},      {1, INFINITY},  {NAN, 1},
                                      {INFINITY, 1}, {0, -INFINITY}, {INFINITY, NAN},
                                      {3e38, NAN},   {3.4e38, NAN},  {-INFINITY, INFINITY}};
    for (int rule = FG_COMPARE_EXACT; rule <= FG_COMPARE_BOUND; rule++) {
        for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
            double value[N] = {0, 0, pairs[i][0]}, bound[N] = {0}, got[N] = {1, 0, pairs[i][1], 2};
            bound[2] = 3e37;
            fg_finding finding = compare((fg_compare_rule)rule, FG_F32, value, bound, got);
            cr_assert(finding.bad == 3 && finding.col == 2,
                      "rule %d pair %zu: %lld bad, column %lld", rule, i, (long long)finding.bad,
                      (long long)finding.col);
            cr_assert_eq(finding.ratio, INFINITY, "rule %d pair %zu", rule, i);
        }
    }
}

Test(comparison, reads_padded_rows_and_experts) {
    fg_comparison comparison;
    float memory[2 * 40];
    for (int k = 0; k < 80; k++) {
        memory[k] = NAN;
    }
    fg_tensor view = {.struct_size = sizeof view,
                      .data = memory,
                      .dtype = FG_F32,
                      .ndim = 3,
                      .device = -1,
                      .dims = {2, 3, 4},
                      .strides = {40, 9, 1}};
    double value[12], bound[12] = {0};
    for (int k = 0; k < 12; k++) {
        value[k] = k + 1;
        memory[40 + k / 4 * 9 + k % 4] = (float)value[k];
    }
    fg_expected expected = {.rows = 3, .cols = 4, .value = value, .bound = bound};
    cr_assert_eq(fg_comparison_open(FG_COMPARE_BOUND, 4, &comparison), FG_STATUS_OK);
    fg_comparison_expert(&comparison, FG_W2, 1, 1, &expected, &view);
    cr_assert(comparison.findings[FG_W2].bad == 0 && comparison.findings[FG_W2].compared == 12);
    fg_comparison_expert(&comparison, FG_W2, 0, 1, &expected, &view);
    cr_assert(comparison.findings[FG_W2].bad == 12 && comparison.findings[FG_W2].expert == 0);
    fg_comparison_close(&comparison);
}

Test(comparison, owes_every_element_of_a_problem) {
    fg_problem problem = fg_problem_default(3, 5, 4);
    const int64_t splits[3] = {2, 0, 7};
    const int64_t owed[FG_OUTPUTS] = {45, 120, 24, 9, 60, 15, 9, 45};
    for (int output = 0; output < FG_OUTPUTS; output++) {
        cr_assert_eq(fg_comparison_owed(&problem, splits, output), owed[output], "%s",
                     fg_output_name(output));
    }
}

/* Rounds values of a smooth spread in some way and gives the bias that the comparison saw. */
static fg_bias bias_of(fg_dtype dtype, double (*rounding)(fg_dtype dtype, double v)) {
    enum { ROWS = 2048 };
    fg_bias all = {0};
    for (int row = 0; row < ROWS; row++) {
        double value[N], bound[N], got[N];
        for (int k = 0; k < N; k++) {
            double at = sin(12.9898 * (row * N + k + 1)) * 43758.5453;
            value[k] = (at - floor(at) - 0.5) * 8;
            bound[k] = 1;
            got[k] = rounding(dtype, value[k]);
        }
        fg_bias one = compare(FG_COMPARE_BOUND, dtype, value, bound, got).bias;
        all.count += one.count;
        all.sum += one.sum;
        all.squares += one.squares;
    }
    return all;
}

static double truncate_toward_zero(fg_dtype dtype, double v) {
    double nearest = fg_dtype_round(dtype, v);
    return fabs(nearest) > fabs(v) ? nearest - copysign(fg_dtype_ulp(dtype, v), v) : nearest;
}

static double off_by_little(fg_dtype dtype, double v) {
    return fg_dtype_round(dtype, v * (1 + 0x1p-9));
}

Test(bias, nearest_rounding_has_none) {
    for (int i = 1; i < 3; i++) {
        fg_bias bias = bias_of(dtypes[i], fg_dtype_round);
        cr_assert(!fg_bias_fails(&bias) && fabs(fg_bias_z(&bias)) < 5);
        cr_assert(fabs(fg_bias_mean(&bias)) < 0.02 && bias.count == 2048 * N);
    }
}

Test(bias, truncation_shows_as_half_an_ulp) {
    for (int i = 1; i < 3; i++) {
        fg_bias bias = bias_of(dtypes[i], truncate_toward_zero);
        cr_assert(fg_bias_fails(&bias));
        cr_assert(fabs(fg_bias_mean(&bias) + 0.5) < 0.02 && fg_bias_z(&bias) < -100);
    }
}

Test(bias, a_small_factor_shows) {
    fg_bias bias = bias_of(FG_BF16, off_by_little);
    cr_assert(fg_bias_fails(&bias) && fg_bias_z(&bias) > 30);
}

Test(bias, few_elements_say_nothing) {
    fg_bias bias = {.count = FG_BIAS_LEAST - 1, .sum = -2000, .squares = 1100};
    cr_assert(!fg_bias_fails(&bias));
    bias.count++;
    cr_assert(fg_bias_fails(&bias));
    fg_bias none = {0};
    cr_assert(fg_bias_mean(&none) == 0 && fg_bias_z(&none) == 0);
}

Test(bias, needs_both_a_large_mean_and_a_large_z) {
    fg_bias sure_but_small = {.count = 1000000, .sum = 0.019 * 1000000, .squares = 83000};
    fg_bias large_but_unsure = {.count = 4096, .sum = 0.05 * 4096, .squares = 4096};
    cr_assert(fg_bias_z(&sure_but_small) > 6 && !fg_bias_fails(&sure_but_small));
    cr_assert(fg_bias_z(&large_but_unsure) < 6 && !fg_bias_fails(&large_but_unsure));
}

Test(bias, one_and_the_same_error_everywhere_fails) {
    fg_bias same = {.count = 5000, .sum = 2500, .squares = 1250};
    cr_assert(fg_bias_fails(&same));
}

Test(evidence, is_thin_under_a_quarter_or_64_elements) {
    const struct {
        int64_t with_tokens, nonzero;
        int thin;
    } findings[] = {{0, 0, 0},      {8, 1, 1},    {8, 2, 0},    {100, 24, 1},
                    {100, 25, 0},   {128, 63, 1}, {128, 64, 0}, {1000, 249, 1},
                    {1000, 250, 0}, {1, 0, 1},    {1, 1, 0},    {200, 60, 1}};
    for (size_t i = 0; i < sizeof findings / sizeof findings[0]; i++) {
        fg_finding finding = {.with_tokens = findings[i].with_tokens,
                              .nonzero = findings[i].nonzero};
        cr_assert_eq(fg_finding_thin(&finding), findings[i].thin, "%lld of %lld",
                     (long long)finding.nonzero, (long long)finding.with_tokens);
    }
}

Test(evidence, experts_without_rows_do_not_count) {
    float stored[4] = {0};
    double zeros[4] = {0};
    int64_t dims[2] = {1, 4};
    fg_comparison comparison;
    fg_tensor view = fg_tensor_tight(stored, FG_F32, -1, 2, dims);
    fg_expected expected = {.rows = 1, .cols = 4, .value = zeros, .bound = zeros};
    cr_assert_eq(fg_comparison_open(FG_COMPARE_EXACT, 4, &comparison), FG_STATUS_OK);
    fg_comparison_expert(&comparison, FG_B2, 0, 0, &expected, &view);
    cr_assert(comparison.findings[FG_B2].compared == 4);
    cr_assert(comparison.findings[FG_B2].with_tokens == 0);
    fg_comparison_close(&comparison);
}

Test(comparison, words_name_output_expert_row_tile_and_numbers) {
    char text[192];
    fg_finding finding = {
        .compared = 500, .bad = 3, .ratio = 8, .expert = 4, .row = 300, .col = 17};
    finding.got = 2.5;
    finding.expected = 1.5;
    finding.tolerance = 0.125;
    fg_finding_words(&finding, FG_X, FG_COMPARE_BOUND, text, sizeof text);
    cr_assert(strstr(text, "dx expert 4 row 300 (tile 2) column 17") != NULL, "%s", text);
    cr_assert(strstr(text, "got 2.5, expected 1.5 +- 0.125") != NULL, "%s", text);
    cr_assert(strstr(text, "3 of 500") != NULL, "%s", text);
    fg_finding_words(&finding, FG_P, FG_COMPARE_EXACT, text, sizeof text);
    cr_assert(strstr(text, "dp expert 4 row 17 (tile 0) column 0") != NULL, "%s", text);
    fg_finding_words(&finding, FG_B1, FG_COMPARE_EXACT, text, sizeof text);
    cr_assert(strstr(text, "db1 expert 4 column 17") != NULL, "%s", text);
}

Test(result, first_failure_keeps_reason_and_fault) {
    fg_result result = {0};
    fg_result_check(&result, "memory", FG_CHECK_PASS, 0, FG_FAULT_MEMORY, "fine");
    cr_assert(result.state == FG_STATE_PASS && result.check_count == 1);
    fg_result_check(&result, "bound", FG_CHECK_FAIL, 3.5, FG_FAULT_NUMERIC, "row %d", 7);
    fg_result_check(&result, "determinism", FG_CHECK_FAIL, 0, FG_FAULT_DETERMINISM, "other");
    cr_assert(result.state == FG_STATE_FAIL && result.fault == FG_FAULT_NUMERIC);
    cr_assert_str_eq(result.reason, "bound: row 7");
    cr_assert(result.check_count == 3 && result.checks[1].ratio == 3.5);
    cr_assert_str_eq(result.checks[1].where, "row 7");
}

Test(result, takes_no_more_checks_than_it_holds) {
    fg_result result = {0};
    for (int i = 0; i < FG_CHECKS + 5; i++) {
        fg_result_check(&result, "x", FG_CHECK_PASS, 0, FG_FAULT_NONE, "%d", i);
    }
    cr_assert_eq(result.check_count, FG_CHECKS);
    fg_result_check(&result, "x", FG_CHECK_FAIL, 0, FG_FAULT_CRASH, "late");
    cr_assert(result.state == FG_STATE_FAIL && result.fault == FG_FAULT_CRASH);
}

Test(result, names_of_states_and_faults_go_both_ways) {
    for (int i = 0; i < FG_STATES; i++) {
        fg_state state = FG_STATES;
        cr_assert_eq(fg_state_from_name(fg_state_name((fg_state)i), &state), FG_STATUS_OK);
        cr_assert_eq((int)state, i);
    }
    for (int i = 0; i < FG_FAULTS; i++) {
        fg_fault fault = FG_FAULTS;
        cr_assert_eq(fg_fault_from_name(fg_fault_name((fg_fault)i), &fault), FG_STATUS_OK);
        cr_assert_eq((int)fault, i);
    }
    fg_state state = FG_STATE_FAIL;
    fg_fault fault = FG_FAULT_CRASH;
    cr_assert_eq(fg_state_from_name("passed", &state), FG_STATUS_NOT_FOUND);
    cr_assert_eq(fg_fault_from_name("?", &fault), FG_STATUS_NOT_FOUND);
    cr_assert(state == FG_STATE_FAIL && fault == FG_FAULT_CRASH);
    cr_assert_str_eq(fg_state_name(FG_STATES), "?");
}

Test(comparison, no_memory_comes_back) {
    fg_comparison comparison;
    fg_alloc_fail_at(1);
    cr_assert_eq(fg_comparison_open(FG_COMPARE_EXACT, 8, &comparison), FG_STATUS_NO_MEMORY);
    fg_alloc_fail_at(0);
    cr_assert_eq(fg_alloc_live_total(), 0);
}
