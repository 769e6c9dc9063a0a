/* What a wrong element looks like, in words: each cause by the element that shows it. */

#include "conformance/judge/diagnosis.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A case with tensors, and a finding in it. */
typedef struct scene {
    fg_case value;
    fg_tensors *tensors;
    fg_finding finding;
    char text[160];
} scene;

static void set_up(scene *on, const char *line) {
    const fg_traits traits = {
        .struct_size = sizeof traits, .base_align = 8, .row_align = 2, .segment_align = 1};
    const fg_kernel_sizes sizes = {sizeof sizes, 0, 0, 0};
    memset(on, 0, sizeof *on);
    cr_assert_eq(fg_case_parse(line, &on->value), FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(fg_tensors_create(&on->value, &traits, &sizes, &on->tensors), FG_STATUS_OK);
    on->finding = (fg_finding){.compared = 1000, .bad = 1, .expert = 2, .row = 3};
}

static const char *said(scene *on, int output, double got, double expected) {
    on->finding.got = got;
    on->finding.expected = expected;
    fg_diagnosis_words(&on->value, on->tensors, output, &on->finding, on->text, sizeof on->text);
    return on->text;
}

static void expect(scene *on, int output, double got, double expected, const char *words) {
    const char *text = said(on, output, got, expected);
    if (words == NULL) {
        cr_assert_str_eq(text, "");
    } else {
        cr_assert(strstr(text, words) != NULL, "'%s', expected '%s'", text, words);
    }
}

#define LINE "mlp E=3 H=8 F=8 splits=5,0,9 data=normal"

Test(diagnosis, says_nothing_of_what_it_does_not_know) {
    scene on;
    set_up(&on, LINE);
    expect(&on, FG_OUT_Y, 1.25, 3, NULL);
    expect(&on, FG_W1, 1.25, 3, NULL);
    fg_tensors_destroy(on.tensors);
}

Test(diagnosis, tells_experts_without_rows_by_their_weight_gradients) {
    scene on;
    set_up(&on, LINE);
    on.finding.expert = 1;
    static const int outputs[] = {FG_W1, FG_B1, FG_W2, FG_B2};
    for (int i = 0; i < 4; i++) {
        expect(&on, outputs[i], 1.25, 0, "without rows is not exact zero");
    }
    fg_tensors_destroy(on.tensors);
    set_up(&on, LINE " bias=1 wgrad=accumulate");
    on.finding.expert = 1;
    for (int i = 0; i < 4; i++) {
        int added = outputs[i] == FG_W1 || outputs[i] == FG_W2;
        expect(&on, outputs[i], 0, 1.25,
               added ? "without rows must leave the old content" : "not exact zero");
    }
    fg_tensors_destroy(on.tensors);
}

Test(diagnosis, tells_nan_and_huge_numbers_as_memory_not_written) {
    scene on;
    set_up(&on, LINE);
    expect(&on, FG_OUT_Y, NAN, 3, "padding, gaps or scratch");
    expect(&on, FG_OUT_Y, 1.3e36, 3, "reads memory not yet written");
    expect(&on, FG_OUT_Y, 6e4, 3, NULL);
    on.value.problem.dtype = FG_F16;
    expect(&on, FG_OUT_Y, -6e4, 3, "reads memory not yet written");
    fg_tensors_destroy(on.tensors);
}

Test(diagnosis, tells_overwriting_from_adding_twice) {
    scene on;
    set_up(&on, LINE " wgrad=accumulate strides=padded");
    static const int outputs[] = {FG_W1, FG_W2},
                     buffers[] = {FG_BUFFER_BEFORE_W1, FG_BUFFER_BEFORE_W2};
    for (int i = 0; i < 2; i++) {
        const fg_tensor *before = fg_tensors_view(on.tensors, buffers[i]);
        on.finding.col = 5;
        float *old = (float *)before->data + 2 * before->strides[0] + 3 * before->strides[1] + 5;
        *old = 20;
        expect(&on, outputs[i], 3, 23, "overwrites where it must accumulate");
        expect(&on, outputs[i], 43, 23, "adds the old content twice");
        expect(&on, outputs[i], 20, 23, "left as it was: nothing was added");
        expect(&on, outputs[i], 20, 0.01, "left as it was: nothing was added");
    }
    fg_tensors_destroy(on.tensors);
}

Test(diagnosis, tells_a_missing_probability_from_a_doubled_one) {
    scene on;
    set_up(&on, LINE);
    const fg_tensor *p = fg_tensors_view(on.tensors, FG_P);
    ((float *)p->data)[on.tensors->begin[2] + 3] = 0.25f;
    expect(&on, FG_OUT_Y, 4, 1, "probability is not applied");
    expect(&on, FG_X, 0.25, 1, "probability is applied twice");
    expect(&on, FG_P, 4, 1, NULL); // dp takes the activation without p
    fg_tensors_destroy(on.tensors);
}

/* Writes a number of the scene's inputs. */
static void put(scene *on, int buffer, int64_t element, double v) {
    const fg_tensor *view = fg_tensors_view(on->tensors, buffer);
    size_t size = fg_dtype_size((fg_dtype)view->dtype);
    fg_dtype_store_f64((fg_dtype)view->dtype, &v, 1, (char *)view->data + (size_t)element * size);
}

/* A case whose row 3 of expert 2 has p = 1/4, bias_p = 2, and b2 = 8 at column 5. */
static void set_up_bias(scene *on, const char *line) {
    set_up(on, line);
    int64_t row = on->tensors->begin[2] + 3;
    put(on, FG_P, row, 0.25);
    if (on->value.problem.separate_bias_scale) {
        put(on, FG_BIAS_P, row, 2);
    }
    put(on, FG_B2, 2 * 8 + 5, 8);
    on->finding.col = 5;
}

Test(diagnosis, takes_the_part_of_b2_off_before_it_looks_for_a_probability) {
    scene on;
    set_up_bias(&on, LINE " bias=1"); // y = p 12 + b2
    expect(&on, FG_OUT_Y, 20, 11, "probability is not applied");
    expect(&on, FG_OUT_Y, 8.75, 11, "probability is applied twice");
    fg_tensors_destroy(on.tensors);
    set_up_bias(&on, LINE " bias=1 scale_bias=1"); // y = p 12 + p b2
    expect(&on, FG_OUT_Y, 14, 5, "probability is not applied");
    expect(&on, FG_OUT_Y, 20, 5, "probability is not applied"); // nor to b2
    fg_tensors_destroy(on.tensors);
    set_up_bias(&on, LINE " bias=1 scale_bias=1 bias_scale=own"); // y = p 12 + bias_p b2
    expect(&on, FG_OUT_Y, 28, 19, "probability is not applied");
    fg_tensors_destroy(on.tensors);
}

Test(diagnosis, sees_rows_of_probability_0_that_do_not_vanish) {
    scene on;
    set_up_bias(&on, LINE " bias=1");
    put(&on, FG_P, on.tensors->begin[2] + 3, 0);
    on.finding.bad = 500;
    expect(&on, FG_OUT_Y, 20, 8, "probability is not applied");
    expect(&on, FG_OUT_Y, 20, 9, NULL);
    on.finding.bad = 200; // rather another expert's numbers
    expect(&on, FG_OUT_Y, 20, 8, NULL);
    fg_tensors_destroy(on.tensors);
}

Test(diagnosis, tells_a_wrong_scale_of_b2_in_y) {
    scene on;
    set_up_bias(&on, LINE " bias=1"); // y = 3 + b2
    expect(&on, FG_OUT_Y, 5, 11, "b2 is scaled by p");
    expect(&on, FG_OUT_Y, 3, 11, "b2 is left out");
    fg_tensors_destroy(on.tensors);
    set_up_bias(&on, LINE " bias=1 scale_bias=1"); // y = 3 + p b2
    expect(&on, FG_OUT_Y, 11, 5, "b2 is not scaled");
    expect(&on, FG_OUT_Y, 3, 5, "b2 is left out");
    fg_tensors_destroy(on.tensors);
    set_up_bias(&on, LINE " bias=1 scale_bias=1 bias_scale=own"); // y = 3 + bias_p b2
    expect(&on, FG_OUT_Y, 11, 19, "b2 is not scaled");
    expect(&on, FG_OUT_Y, 5, 19, "b2 is scaled by p");
    expect(&on, FG_OUT_Y, 3, 19, "b2 is left out");
    on.finding.tolerance = 4; // too wide to tell 8 more from less
    expect(&on, FG_OUT_Y, 11, 19, NULL);
    fg_tensors_destroy(on.tensors);
}

Test(diagnosis, tells_a_wrong_scale_of_b2_in_its_gradient) {
    static const struct {
        const char *options, *words;
        double got[3]; /* right, with no scale, with p */
    } forms[] = {{" bias=1", "b2 is scaled by p", {9, 9, 2.25}},
                 {" bias=1 scale_bias=1", "b2 is not scaled", {2.25, 9, 2.25}},
                 {" bias=1 scale_bias=1 bias_scale=own", "b2 is scaled by p", {18, 9, 2.25}}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        char line[160];
        scene on;
        snprintf(line, sizeof line, "%s%s", LINE, forms[i].options);
        set_up_bias(&on, line);
        for (int64_t row = 0; row < 9; row++) { // dy = 1 at column 5, and one scale for all rows
            put(&on, FG_BUFFER_DY, (on.tensors->begin[2] + row) * 8 + 5, 1);
            put(&on, FG_P, on.tensors->begin[2] + row, 0.25);
            if (on.value.problem.separate_bias_scale) {
                put(&on, FG_BIAS_P, on.tensors->begin[2] + row, 2);
            }
        }
        on.finding.row = 0;
        const double *got = forms[i].got;
        expect(&on, FG_B2, got[i == 1 ? 1 : 2], got[0], forms[i].words);
        expect(&on, FG_B2, i == 2 ? got[1] : 5, got[0], i == 2 ? "b2 is not scaled" : NULL);
        fg_tensors_destroy(on.tensors);
    }
}

Test(diagnosis, tells_whether_dp_holds_the_part_of_b2) {
    static const char *const options[] = {" bias=1", " bias=1 scale_bias=1",
                                          " bias=1 scale_bias=1 bias_scale=own"};
    for (int i = 0; i < 3; i++) {
        char line[160];
        scene on;
        snprintf(line, sizeof line, "%s%s", LINE, options[i]);
        set_up(&on, line);
        on.finding.row = 0;
        on.finding.col = 3;
        for (int64_t k = 0; k < 8; k++) { // dy . b2 = 24
            put(&on, FG_B2, 2 * 8 + k, 3);
            put(&on, FG_BUFFER_DY, (on.tensors->begin[2] + 3) * 8 + k, 1);
        }
        expect(&on, FG_P, 16, 40, i == 1 ? "dp lacks the part of b2" : NULL);
        expect(&on, FG_P, 64, 40, i != 1 ? "dp holds the part of b2" : NULL);
        fg_tensors_destroy(on.tensors);
    }
}

Test(diagnosis, tells_what_is_left_out_signs_and_last_rows) {
    scene on;
    set_up(&on, LINE);
    expect(&on, FG_OUT_Y, 0, 3, "left out");
    expect(&on, FG_W1, -3, 3, "a sign");
    on.finding.row = 8;
    expect(&on, FG_OUT_Y, 1.25, 3, "last row tile");
    expect(&on, FG_W1, 1.25, 3, NULL);
    on.finding.bad = 4 * 8; // half of the rows; with more, any row may be the worst
    expect(&on, FG_OUT_Y, 1.25, 3, "last row tile");
    on.finding.bad++;
    expect(&on, FG_OUT_Y, 1.25, 3, NULL);
    on.finding.row = 0;
    on.finding.col = 8; // dp's rows
    on.finding.bad = 4;
    expect(&on, FG_P, 1.25, 3, "last row tile");
    on.finding.bad++;
    expect(&on, FG_P, 1.25, 3, NULL);
    fg_tensors_destroy(on.tensors);
    set_up(&on, "mlp E=3 H=8 F=8 splits=5,0,130 data=normal"); // 2 rows in the last tile
    on.finding.row = 129;
    on.finding.bad = 2 * 8;
    expect(&on, FG_OUT_Y, 1.25, 3, "last row tile");
    on.finding.bad++;
    expect(&on, FG_OUT_Y, 1.25, 3, NULL);
    fg_tensors_destroy(on.tensors);
}

Test(diagnosis, tells_when_everything_is_wrong) {
    scene on;
    set_up(&on, LINE);
    on.finding.bad = 950;
    expect(&on, FG_OUT_Y, 1.25, 3, "nearly every element: a wrong factor, operand or layout");
    on.finding.bad = 850;
    expect(&on, FG_OUT_Y, 1.25, 3, NULL);
    fg_tensors_destroy(on.tensors);
}
