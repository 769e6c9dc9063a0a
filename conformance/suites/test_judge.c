/* The judgement of outputs against the oracle, on outputs that are right but for one thing. */

#include "conformance/judge/mlp_judge.h"
#include "conformance/judge/naive_check.h"
#include "contract/alloc.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A case with the outputs of a right kernel in its buffers. */
typedef struct bench {
    fg_case value;
    fg_traits traits;
    fg_inputs inputs;
    fg_tensors *tensors;
    fg_mlp_judgement judgement;
} bench;

static void store_expected(bench *on, const fg_expected *expected, int output, int64_t expert,
                           double (*change)(fg_dtype dtype, double v)) {
    int buffer = output == FG_OUT_Y ? FG_BUFFER_Y : FG_BUFFER_GRAD + output;
    const fg_tensor *view = fg_tensors_view(on->tensors, buffer);
    fg_dtype dtype = (fg_dtype)view->dtype;
    int tokens = output == FG_OUT_Y || output == FG_X || output == FG_P || output == FG_BIAS_P;
    for (int64_t row = 0; row < expected->rows; row++) {
        int64_t line = tokens ? expected->first_row + row : expert;
        unsigned char *to = fg_tensor_row(view, line);
        to += view->ndim == 3 ? (size_t)(row * view->strides[1]) * fg_dtype_size(dtype) : 0;
        for (int64_t k = 0; k < expected->cols; k++) {
            double v = change(dtype, expected->value[row * expected->cols + k]);
            fg_dtype_store_f64(dtype, &v, 1, to + (size_t)k * fg_dtype_size(dtype));
        }
    }
}

/* What benches declare. */
static uint32_t declared_rounding = FG_ROUND_HIDDEN | FG_ROUND_Y1_SAVED | FG_ROUND_DACT;

static double nearest(fg_dtype dtype, double v) {
    return fg_dtype_round(dtype, v);
}

static void set_up(bench *on, const char *line, double (*change)(fg_dtype dtype, double v)) {
    const fg_kernel_sizes sizes = {sizeof sizes, 0, 0, 0};
    memset(on, 0, sizeof *on);
    cr_assert_eq(fg_case_parse(line, &on->value), FG_STATUS_OK, "%s", fg_message());
    on->traits = (fg_traits){.struct_size = sizeof on->traits,
                             .base_align = 8,
                             .row_align = 2,
                             .segment_align = 1,
                             .accumulator_digits = 24,
                             .accumulator_block = 1,
                             .operand_digits = 24,
                             .rounding = declared_rounding,
                             .activation_error = 8};
    cr_assert_eq(fg_tensors_create(&on->value, &on->traits, &sizes, &on->tensors), FG_STATUS_OK);
    on->inputs = (fg_inputs){.struct_size = sizeof on->inputs,
                             .rows = on->value.rows,
                             .splits = fg_tensors_view(on->tensors, FG_BUFFER_SPLITS)};
    for (int i = 0; i < FG_INPUTS; i++) {
        on->inputs.inputs[i] = fg_tensors_view(on->tensors, i);
    }
    on->judgement = (fg_mlp_judgement){
        .value = &on->value, .traits = &on->traits, .inputs = &on->inputs, .tensors = on->tensors};
    fg_mlp_target *targets = on->judgement.targets;
    targets[on->judgement.target_count++] = (fg_mlp_target){FG_OUT_Y, FG_BUFFER_Y};
    for (int i = 0; i < FG_INPUTS; i++) {
        if (on->value.want & FG_BIT(i)) {
            targets[on->judgement.target_count++] = (fg_mlp_target){i, FG_BUFFER_GRAD + i};
        }
    }
    fg_oracle_spec spec;
    fg_oracle *oracle = NULL;
    fg_mlp_spec(&on->judgement, on->value.want, &spec);
    cr_assert_eq(fg_oracle_create(&spec, &oracle), FG_STATUS_OK, "%s", fg_message());
    for (int64_t e = 0; e < on->value.problem.experts; e++) {
        cr_assert_eq(fg_oracle_expert(oracle, e), FG_STATUS_OK);
        for (int32_t t = 0; t < on->judgement.target_count; t++) {
            fg_expected expected = fg_oracle_expected(oracle, targets[t].output);
            store_expected(on, &expected, targets[t].output, e, change);
        }
    }
    fg_oracle_destroy(oracle);
}

static fg_result judge(bench *on) {
    fg_result result = {0};
    cr_assert_eq(fg_mlp_judge(&on->judgement, on->value.want, &result), FG_STATUS_OK, "%s",
                 fg_message());
    return result;
}

static const fg_check *check_named(const fg_result *result, const char *name) {
    for (int32_t i = 0; i < result->check_count; i++) {
        if (strcmp(result->checks[i].name, name) == 0) {
            return &result->checks[i];
        }
    }
    return NULL;
}

/* Adds to one element of an output. */
static void disturb(bench *on, int buffer, int64_t element, double by) {
    const fg_tensor *view = fg_tensors_view(on->tensors, buffer);
    fg_dtype dtype = (fg_dtype)view->dtype;
    unsigned char *at = (unsigned char *)view->data + (size_t)element * fg_dtype_size(dtype);
    double v = 0;
    fg_dtype_load_f64(dtype, at, 1, &v);
    v += by;
    fg_dtype_store_f64(dtype, &v, 1, at);
}

static const char *const lines[] = {
    "mlp E=3 H=24 F=32 splits=5,0,9 bias=1 data=exact",
    "mlp E=3 H=24 F=32 splits=5,0,9 bias=1 data=normal",
    "mlp E=3 H=32 F=32 splits=5,0,9 data=selection layout=gate8",
    "mlp E=2 H=24 F=32 splits=9,20 data=exact wgrad=accumulate act=srelu strides=padded",
    "mlp E=2 H=24 F=32 splits=9,20 T=40 data=normal bias=1 scale_bias=1 bias_scale=own dt=f16",
};
enum { LINES = sizeof lines / sizeof lines[0] };

Test(judge, right_outputs_pass_and_every_element_owed_is_compared) {
    for (int i = 0; i < LINES; i++) {
        bench on;
        set_up(&on, lines[i], nearest);
        fg_result result = judge(&on);
        const char *name = on.value.data == FG_DATA_NORMAL ? "bound" : "exact";
        cr_assert_eq(result.state, FG_STATE_PASS, "%s: %s", lines[i], result.reason);
        cr_assert_eq(check_named(&result, name)->state, FG_CHECK_PASS);
        cr_assert(result.elements_compared == result.elements_owed && result.elements_owed > 0);
        cr_assert(result.seconds_reference > 0);
        fg_tensors_destroy(on.tensors);
    }
}

Test(judge, one_wrong_element_of_any_output_fails) {
    for (int i = 0; i < LINES; i++) {
        bench on;
        set_up(&on, lines[i], nearest);
        for (int32_t t = 0; t < on.judgement.target_count; t++) {
            const fg_mlp_target *target = &on.judgement.targets[t];
            disturb(&on, target->buffer, 3, 64);
            fg_result result = judge(&on);
            const char *name = on.value.data == FG_DATA_NORMAL ? "bound" : "exact";
            cr_assert(result.state == FG_STATE_FAIL && result.fault == FG_FAULT_NUMERIC, "%s %s",
                      lines[i], fg_output_name(target->output));
            cr_assert_eq(check_named(&result, name)->state, FG_CHECK_FAIL);
            cr_assert(strstr(result.reason, fg_output_name(target->output)) != NULL, "%s",
                      result.reason);
            disturb(&on, target->buffer, 3, -64);
        }
        fg_tensors_destroy(on.tensors);
    }
}

Test(judge, a_broken_bound_prints_its_terms) {
    bench on;
    set_up(&on, lines[1], nearest);
    disturb(&on, FG_BUFFER_GRAD + FG_W2, 3, 64);
    fg_result result = judge(&on);
    const char *terms = strstr(result.reason, "; terms of d at its largest: sum ");
    cr_assert(terms != NULL && strstr(terms, "operands ") != NULL, "%s", result.reason);
    cr_assert(strtod(terms + strlen("; terms of d at its largest: sum "), NULL) > 0);
    fg_tensors_destroy(on.tensors);
}

Test(judge, a_nan_in_one_output_blames_no_other) {
    for (int i = 0; i < LINES; i++) {
        bench on;
        set_up(&on, lines[i], nearest);
        for (int32_t t = 0; t < on.judgement.target_count; t++) {
            const fg_mlp_target *target = &on.judgement.targets[t];
            char start[32];
            snprintf(start, sizeof start, ": %s expert ", fg_output_name(target->output));
            const fg_tensor *view = fg_tensors_view(on.tensors, target->buffer);
            double kept = 0;
            fg_dtype_load_f64((fg_dtype)view->dtype, view->data, 1, &kept);
            disturb(&on, target->buffer, 0, NAN);
            fg_result result = judge(&on);
            cr_assert(strstr(result.reason, start) != NULL, "%s", result.reason);
            cr_assert(strstr(result.reason, "got nan") != NULL, "%s", result.reason);
            cr_assert(strstr(result.reason, "; 1 of ") != NULL, "%s", result.reason);
            cr_assert(strstr(result.reason, "also wrong") == NULL, "%s", result.reason);
            cr_assert_eq(result.checks[0].ratio, INFINITY);
            fg_dtype_store_f64((fg_dtype)view->dtype, &kept, 1, view->data);
        }
        fg_tensors_destroy(on.tensors);
    }
}

Test(judge, the_output_where_a_fault_shows_first_is_named_and_the_others_after_it) {
    static const int flow[] = {FG_OUT_Y, FG_P, FG_BIAS_P, FG_X, FG_B1, FG_W1, FG_B2, FG_W2};
    static const char *const forms[] = {"exact", "normal"};
    for (int f = 0; f < 2; f++) {
        char line[128];
        bench on;
        snprintf(line, sizeof line,
                 "mlp E=2 H=24 F=32 splits=5,9 bias=1 scale_bias=1 bias_scale=own data=%s",
                 forms[f]);
        set_up(&on, line, nearest);
        char expected[96] = "";
        for (int i = FG_OUTPUTS - 1; i >= 0; i--) { // the later, the more is wrong
            char start[32], others[128];
            int buffer = flow[i] == FG_OUT_Y ? FG_BUFFER_Y : FG_BUFFER_GRAD + flow[i];
            disturb(&on, buffer, 1, 64.0 * (i + 1));
            fg_result result = judge(&on);
            const char *where = result.checks[0].where;
            snprintf(start, sizeof start, "%s expert 0 ", fg_output_name(flow[i]));
            cr_assert_eq(strncmp(where, start, strlen(start)), 0, "%s", where);
            const char *also = strstr(where, "; also wrong: ");
            cr_assert_eq(also != NULL, i < FG_OUTPUTS - 1, "%s", where);
            cr_assert_str_eq(also != NULL ? also + strlen("; also wrong: ") : "", expected);
            snprintf(others, sizeof others, "%s%s%s", fg_output_name(flow[i]),
                     expected[0] != '\0' ? ", " : "", expected);
            snprintf(expected, sizeof expected, "%.95s", others);
        }
        fg_tensors_destroy(on.tensors);
    }
}

static double truncated(fg_dtype dtype, double v) {
    double rounded = fg_dtype_round(dtype, v);
    return fabs(rounded) > fabs(v) ? rounded - copysign(fg_dtype_ulp(dtype, v), v) : rounded;
}

Test(judge, truncated_outputs_fail_by_bias) {
    bench on;
    set_up(&on, "mlp E=2 H=256 F=64 splits=40,30 data=normal", nearest);
    fg_result right = judge(&on);
    cr_assert(right.state == FG_STATE_PASS && check_named(&right, "bias") != NULL);
    fg_tensors_destroy(on.tensors);
    set_up(&on, "mlp E=2 H=256 F=64 splits=40,30 data=normal", truncated);
    fg_result wrong = judge(&on);
    cr_assert_eq(check_named(&wrong, "bias")->state, FG_CHECK_FAIL);
    disturb(&on, FG_BUFFER_GRAD + FG_W2, 3, 64); // wrong by more than roundings
    wrong = judge(&on);
    cr_assert_eq(check_named(&wrong, "bound")->state, FG_CHECK_FAIL);
    cr_assert_null(check_named(&wrong, "bias"));
    fg_tensors_destroy(on.tensors);
}

Test(judge, float32_gradients_of_16_bit_operands_have_no_bias_check) {
    bench on;
    set_up(&on, "mlp E=1 H=128 F=64 T=4 want=dw1 mode=grad data=normal", truncated);
    fg_result result = judge(&on);
    cr_assert(check_named(&result, "bias") == NULL, "%s", check_named(&result, "bias")->where);
    fg_tensors_destroy(on.tensors);
}

Test(judge, too_little_evidence_is_mistrusted_unless_expected) {
    bench on;
    // The lone row of the second expert has p = 1/2 .. 2; without dp, dw the first has none at all.
    set_up(&on, "mlp E=2 H=512 F=16 splits=1,0 data=selection", nearest);
    fg_result result = judge(&on);
    cr_assert_eq(result.state, FG_STATE_MISTRUSTED, "%s", result.reason);
    cr_assert(strstr(result.reason, "evidence too thin") != NULL, "%s", result.reason);
    on.value.zeros_expected = 1;
    result = judge(&on);
    cr_assert_eq(result.state, FG_STATE_PASS, "%s", result.reason);
    fg_tensors_destroy(on.tensors);
}

Test(judge, nothing_compared_is_mistrusted) {
    bench on;
    set_up(&on, "mlp E=2 H=8 F=8 T=0 want=none", nearest);
    fg_result result = judge(&on);
    cr_assert_eq(result.state, FG_STATE_MISTRUSTED, "%s", result.reason);
    fg_tensors_destroy(on.tensors);
}

/* Every rounding point alone and all of them, on outputs that round there as declared. */
Test(judge, right_outputs_pass_whatever_is_rounded) {
    static const char *const forms[] = {"bias=1", "bias=1 scale_bias=1",
                                        "bias=1 scale_bias=1 bias_scale=own act=srelu"};
    static const char *const kinds[] = {"exact", "normal", "selection"};
    for (int bit = -1; bit <= 13; bit++) {
        for (int i = 0; i < 9; i++) {
            char line[160];
            bench on;
            snprintf(line, sizeof line, "mlp E=3 H=%d F=24 splits=9,0,33 %s data=%s seed=101",
                     i < 3 ? 8 : 24, forms[i % 3], kinds[i / 3]);
            declared_rounding = bit < 0 ? 0 : bit < 13 ? 1u << bit : 0x1fff;
            set_up(&on, line, nearest);
            fg_result result = judge(&on);
            cr_assert_eq(result.state, FG_STATE_PASS, "%s rounding 0x%x: %s", line,
                         on.traits.rounding, result.reason);
            fg_tensors_destroy(on.tensors);
        }
    }
}

Test(judge, data_that_is_not_neutral_is_mistrusted) {
    bench on;
    set_up(&on, "mlp E=3 H=24 F=32 splits=9,0,5 bias=1 data=exact", nearest);
    on.traits.rounding = 0; // so that the naive loop agrees
    const fg_tensor *w1 = fg_tensors_view(on.tensors, FG_W1);
    int64_t count = w1->dims[1] * w1->dims[2];
    for (int64_t k = 0; k < count; k++) {
        disturb(&on, FG_W1, 2 * count + k, 0.375); // too many digits in the last expert
    }
    fg_result result = judge(&on);
    cr_assert_eq(result.state, FG_STATE_MISTRUSTED, "%s", result.reason);
    cr_assert(strstr(result.reason, "not neutral") != NULL, "%s", result.reason);
    fg_tensors_destroy(on.tensors);
}

/* The oracle's last expert is held against loops over inputs that were changed after it ran. */
Test(naive, any_changed_input_contradicts_the_oracle) {
    static const struct {
        const char *line;
        int buffer;
    } inputs[] = {
        {"exact", FG_X},          {"exact", FG_W1},        {"exact", FG_B1},  {"exact", FG_W2},
        {"exact", FG_B2},         {"exact", FG_BUFFER_DY}, {"normal", FG_X},  {"normal", FG_W1},
        {"normal", FG_B1},        {"normal", FG_P},        {"normal", FG_W2}, {"normal", FG_B2},
        {"normal", FG_BUFFER_DY}, {"normal", FG_BIAS_P},
    };
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        char line[160];
        bench on;
        fg_oracle_spec spec;
        fg_oracle *oracle = NULL;
        snprintf(line, sizeof line,
                 "mlp E=1 H=16 F=8 T=3 bias=1 scale_bias=1 bias_scale=own data=%s", inputs[i].line);
        set_up(&on, line, nearest);
        int exact = on.value.data == FG_DATA_EXACT;
        fg_mlp_spec(&on.judgement, on.value.want, &spec);
        cr_assert_eq(fg_oracle_create(&spec, &oracle), FG_STATUS_OK);
        cr_assert_eq(fg_oracle_expert(oracle, 0), FG_STATUS_OK);
        cr_assert_eq(fg_naive_check(&spec, oracle, 0, 0, 0, exact), FG_STATUS_OK, "%s",
                     fg_message());
        disturb(&on, inputs[i].buffer, 0, 3);
        cr_assert_eq(fg_naive_check(&spec, oracle, 0, 0, 0, exact), FG_STATUS_INTERNAL, "%s %d",
                     line, inputs[i].buffer);
        cr_assert(strstr(fg_message(), "a naive loop") != NULL);
        fg_oracle_destroy(oracle);
        fg_tensors_destroy(on.tensors);
    }
}

Test(naive, gradients_of_scales_are_looked_at_alone) {
    static const char *const wants[] = {"dp", "dbp"};
    for (int i = 0; i < 2; i++) {
        char line[128];
        bench on;
        fg_oracle_spec spec;
        fg_oracle *oracle = NULL;
        snprintf(line, sizeof line,
                 "mlp E=1 H=16 F=8 T=3 bias=1 scale_bias=1 bias_scale=own want=%s", wants[i]);
        set_up(&on, line, nearest);
        fg_mlp_spec(&on.judgement, on.value.want, &spec);
        cr_assert_eq(fg_oracle_create(&spec, &oracle), FG_STATUS_OK);
        cr_assert_eq(fg_oracle_expert(oracle, 0), FG_STATUS_OK);
        cr_assert_eq(fg_naive_check(&spec, oracle, 0, 0, 0, 1), FG_STATUS_OK, "%s", fg_message());
        for (int64_t k = 0; k < 16; k++) {
            disturb(&on, FG_BUFFER_DY, k, 4 + (double)k);
        }
        cr_assert_eq(fg_naive_check(&spec, oracle, 0, 0, 0, 1), FG_STATUS_INTERNAL, "%s", line);
        fg_oracle_destroy(oracle);
        fg_tensors_destroy(on.tensors);
    }
}

/* Row 0 and inner coordinate 0 are looked at: these changes reach weight gradients alone. */
Test(naive, changes_of_other_rows_and_of_old_content_contradict_the_oracle) {
    static const struct {
        int buffer;
        int64_t element;
    } changes[] = {{FG_X, 16},
                   {FG_BUFFER_DY, 16},
                   {FG_P, 1},
                   {FG_BUFFER_BEFORE_W1, 0},
                   {FG_BUFFER_BEFORE_W1, 8 * 16},
                   {FG_BUFFER_BEFORE_W2, 0}};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        bench on;
        fg_oracle_spec spec;
        fg_oracle *oracle = NULL;
        set_up(&on, "mlp E=1 H=16 F=8 T=3 bias=1 wgrad=accumulate data=exact", nearest);
        fg_mlp_spec(&on.judgement, on.value.want, &spec);
        cr_assert_eq(fg_oracle_create(&spec, &oracle), FG_STATUS_OK);
        cr_assert_eq(fg_oracle_expert(oracle, 0), FG_STATUS_OK);
        cr_assert_eq(fg_naive_check(&spec, oracle, 0, 0, 0, 1), FG_STATUS_OK, "%s", fg_message());
        disturb(&on, changes[i].buffer, changes[i].element, 4);
        cr_assert_eq(fg_naive_check(&spec, oracle, 0, 0, 0, 1), FG_STATUS_INTERNAL, "change %zu",
                     i);
        fg_oracle_destroy(oracle);
        fg_tensors_destroy(on.tensors);
    }
}

Test(judge, an_oracle_that_a_loop_contradicts_is_mistrusted) {
    bench on;
    set_up(&on, "mlp E=3 H=24 F=32 splits=0,0,20 data=exact", nearest);
    // A rounding that matters, of data with too many digits: the loop has none for h.
    const fg_tensor *w1 = fg_tensors_view(on.tensors, FG_W1);
    int64_t count = w1->dims[1] * w1->dims[2];
    for (int64_t k = 0; k < count; k++) {
        disturb(&on, FG_W1, 2 * count + k, 0.375);
    }
    fg_result result = judge(&on);
    cr_assert_eq(result.state, FG_STATE_MISTRUSTED, "%s", result.reason);
    cr_assert(strstr(result.reason, "naive loop") != NULL, "%s", result.reason);
    fg_tensors_destroy(on.tensors);
}

/* p of 13 digits, which bf16 cannot hold, is what a kernel that rounds p uses rounded. */
Test(naive, rounds_scales_and_sums_before_a_bias_as_declared) {
    static const struct {
        uint32_t rounding;
        int buffer;
        double by;
    } points[] = {{FG_ROUND_PROB, FG_P, 0x1p-10},
                  {FG_ROUND_PROB, FG_BIAS_P, 0x1p-10},
                  {FG_ROUND_BIAS_AFTER, FG_B2, 0}};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        for (int declared = 0; declared < 2; declared++) {
            bench on;
            fg_oracle_spec spec;
            fg_oracle *oracle = NULL;
            declared_rounding = points[i].rounding;
            set_up(&on,
                   "mlp E=1 H=8 F=24 T=33 bias=1 scale_bias=1 bias_scale=own data=exact seed=101",
                   nearest);
            const fg_tensor *view = fg_tensors_view(on.tensors, points[i].buffer);
            for (int64_t k = 0; k < view->dims[0] * (view->ndim == 1 ? 1 : view->dims[1]); k++) {
                disturb(&on, points[i].buffer, k, points[i].by);
            }
            fg_mlp_spec(&on.judgement, on.value.want, &spec);
            cr_assert_eq(fg_oracle_create(&spec, &oracle), FG_STATUS_OK);
            cr_assert_eq(fg_oracle_expert(oracle, 0), FG_STATUS_OK);
            on.traits.rounding = declared ? points[i].rounding : 0; // what the loop reads
            int contradicted = 0;
            for (int64_t row = 0; row < 33; row++) {
                contradicted |= fg_naive_check(&spec, oracle, 0, row, 0, 1) != FG_STATUS_OK;
            }
            cr_assert_eq(contradicted, !declared, "point %zu declared %d", i, declared);
            fg_oracle_destroy(oracle);
            fg_tensors_destroy(on.tensors);
        }
    }
}

Test(judge, every_failing_allocation_comes_back) {
    bench on;
    set_up(&on, lines[0], nearest);
    size_t live = fg_alloc_live_total();
    int failed = 0;
    for (int64_t n = 1;; n++) {
        fg_result result = {0};
        fg_alloc_fail_at(n);
        fg_status status = fg_mlp_judge(&on.judgement, on.value.want, &result);
        fg_alloc_fail_at(0);
        cr_assert_eq(fg_alloc_live_total(), live, "allocation %lld leaks", (long long)n);
        if (status == FG_STATUS_OK) {
            cr_assert_eq(result.state, FG_STATE_PASS);
            break;
        }
        cr_assert_eq(status, FG_STATUS_NO_MEMORY);
        failed++;
    }
    cr_assert_geq(failed, 4, "%d", failed);
    fg_tensors_destroy(on.tensors);
}
