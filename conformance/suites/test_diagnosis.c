/* What a wrong element looks like, in words: each cause by the element that shows it. */

#include "conformance/judge/diagnosis.h"
#include <criterion/criterion.h>
#include <math.h>
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
        expect(&on, outputs[i], 1.25, 0, "without rows");
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

Test(diagnosis, tells_what_is_left_out_signs_and_last_rows) {
    scene on;
    set_up(&on, LINE);
    expect(&on, FG_OUT_Y, 0, 3, "left out");
    expect(&on, FG_W1, -3, 3, "a sign");
    on.finding.row = 8;
    expect(&on, FG_OUT_Y, 1.25, 3, "last row tile");
    expect(&on, FG_W1, 1.25, 3, NULL);
    fg_tensors_destroy(on.tensors);
}

Test(diagnosis, tells_order_and_layout_when_everything_is_wrong) {
    scene on;
    set_up(&on, LINE);
    on.finding.bad = 950;
    expect(&on, FG_OUT_Y, 1.25, 3, "order or layout");
    on.finding.bad = 850;
    expect(&on, FG_OUT_Y, 1.25, 3, NULL);
    fg_tensors_destroy(on.tensors);
}
