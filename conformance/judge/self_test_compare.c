#include "conformance/judge/self_test_compare.h"

#include <math.h>
#include <string.h>

enum { EXPERTS = 3, HIDDEN = 5, INTER = 4, ROWS = 7, LARGEST = EXPERTS * 2 * INTER * HIDDEN };

/* A small problem whose expected values are known without an oracle. */
typedef struct stage {
    fg_compare_fn compare;
    fg_problem problem;
    int64_t splits[EXPERTS], begin[EXPERTS + 1];
    fg_tensor view;
    unsigned char memory[LARGEST * 8];
    double value[EXPERTS][LARGEST], bound[LARGEST];
    fg_expected expected[EXPERTS];
} stage;

/* Values with both signs and some zeros, each representable in any type. */
static double value_at(int64_t i) {
    return (double)((i * 7) % 11 - 5) * 0.25;
}

static void set(stage *on, int64_t expert, int64_t element, double value) {
    const fg_expected *expected = &on->expected[expert];
    fg_dtype dtype = (fg_dtype)on->view.dtype;
    int64_t row = element / expected->cols, col = element % expected->cols;
    int64_t line = expected->rows == 1 || on->view.ndim == 3 ? expert : expected->first_row + row;
    if (on->view.ndim == 1) {
        line = expected->first_row + row;
    }
    unsigned char *to = fg_tensor_row(&on->view, line);
    int64_t offset = on->view.ndim == 3 ? row * on->view.strides[1] + col : col;
    fg_dtype_store_f64(dtype, &value, 1, to + (size_t)offset * fg_dtype_size(dtype));
}

static int by_token(int output) {
    return output == FG_X || output == FG_P || output == FG_BIAS_P || output == FG_OUT_Y;
}

static void stage_open(stage *on, fg_compare_fn compare, fg_dtype dtype, int output) {
    static const int64_t splits[EXPERTS] = {3, 0, 4};
    int64_t dims[FG_TENSOR_DIMS];
    memset(on, 0, sizeof *on);
    on->compare = compare;
    on->problem = fg_problem_default(EXPERTS, HIDDEN, INTER);
    on->problem.dtype = on->problem.bias_dtype = on->problem.prob_dtype = (int32_t)dtype;
    on->problem.bias = on->problem.scale_bias = on->problem.separate_bias_scale = 1;
    memcpy(on->splits, splits, sizeof splits);
    (void)fg_segments(&on->problem, on->splits, ROWS, on->begin);
    int32_t ndim =
        fg_problem_input_dims(&on->problem, output == FG_OUT_Y ? FG_X : output, ROWS, dims);
    fg_dtype type = output == FG_OUT_Y ? dtype : fg_problem_grad_dtype(&on->problem, output);
    on->view = fg_tensor_tight(on->memory, type, -1, ndim, dims);
    for (int64_t k = 0; k < LARGEST; k++) {
        on->bound[k] = 1e-6;
    }
    for (int64_t e = 0; e < EXPERTS; e++) {
        fg_expected *expected = &on->expected[e];
        int64_t rows = by_token(output) ? on->splits[e] : ndim == 3 ? dims[1] : 1;
        *expected = (fg_expected){.first_row = on->begin[e],
                                  .rows = rows,
                                  .cols = ndim == 1 ? 1 : dims[ndim - 1],
                                  .value = on->value[e],
                                  .bound = on->bound};
        for (int64_t k = 0; k < expected->rows * expected->cols; k++) {
            on->value[e][k] = value_at(k + 3 * e);
            set(on, e, k, on->value[e][k]);
        }
    }
}

static fg_status compare_all(const stage *on, fg_compare_rule rule, int output, fg_finding *out) {
    fg_comparison comparison;
    FG_TRY(fg_comparison_open(rule, LARGEST, &comparison));
    for (int64_t e = 0; e < EXPERTS; e++) {
        on->compare(&comparison, output, e, on->splits[e], &on->expected[e], &on->view);
    }
    *out = comparison.findings[output];
    fg_comparison_close(&comparison);
    return FG_STATUS_OK;
}

static fg_status failed(const stage *on, fg_compare_rule rule, int output, const char *what) {
    return FG_FAIL(FG_STATUS_INTERNAL, "comparison: %s of %s, %s: %s", fg_output_name(output),
                   fg_dtype_name((fg_dtype)on->view.dtype),
                   rule == FG_COMPARE_EXACT ? "exact" : "bound", what);
}

/* Plants one wrong element, expects to find it and nothing else, and puts the right one back. */
static fg_status plant(stage *on, fg_compare_rule rule, int output, int64_t expert, int64_t element,
                       double wrong, int64_t *checks) {
    fg_finding finding;
    int64_t cols = on->expected[expert].cols;
    set(on, expert, element, wrong);
    FG_TRY(compare_all(on, rule, output, &finding));
    set(on, expert, element, on->value[expert][element]);
    ++*checks;
    int64_t row = on->view.ndim == 1 ? 0 : element / cols;
    int64_t col = on->view.ndim == 1 ? element : element % cols;
    if (finding.bad != 1 || finding.expert != expert || finding.row != row || finding.col != col) {
        return failed(on, rule, output, "a planted error was not found where it was");
    }
    return FG_STATUS_OK;
}

static fg_status plant_all(stage *on, fg_compare_rule rule, int output, int64_t *checks) {
    for (int64_t e = 0; e < EXPERTS; e++) {
        const fg_expected *expected = &on->expected[e];
        int64_t count = expected->rows * expected->cols;
        const int64_t places[] = {0, expected->cols - 1, count - expected->cols, count - 1};
        for (size_t i = 0; i < sizeof places / sizeof places[0] && count > 0; i++) {
            double right = on->value[e][places[i]];
            FG_TRY(plant(on, rule, output, e, places[i], right + 0.0625, checks));
            FG_TRY(plant(on, rule, output, e, places[i], NAN, checks));
            FG_TRY(plant(on, rule, output, e, places[i], -INFINITY, checks));
            if (right != 0) {
                FG_TRY(plant(on, rule, output, e, places[i], 0, checks));
                FG_TRY(plant(on, rule, output, e, places[i], -right, checks));
            }
        }
    }
    return FG_STATUS_OK;
}

static fg_status check_right(stage *on, fg_compare_rule rule, int output, int64_t *checks) {
    fg_finding finding;
    int64_t owed = fg_comparison_owed(&on->problem, on->splits, output);
    for (int64_t e = 0; e < EXPERTS; e++) {
        for (int64_t k = 0; k < on->expected[e].rows * on->expected[e].cols; k++) {
            if (on->value[e][k] == 0) {
                set(on, e, k, -0.0);
            }
        }
    }
    FG_TRY(compare_all(on, rule, output, &finding));
    ++*checks;
    if (finding.bad != 0 || !(finding.ratio <= 1)) {
        return failed(on, rule, output, "right values, with -0 for 0, do not pass");
    }
    return finding.compared == owed ? FG_STATUS_OK
                                    : failed(on, rule, output, "not every element was compared");
}

fg_status fg_self_test_compare(fg_compare_fn compare, int64_t *checks) {
    static const fg_dtype dtypes[] = {FG_F32, FG_F16, FG_BF16};
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        for (int output = 0; output < FG_OUTPUTS; output++) {
            for (int rule = FG_COMPARE_EXACT; rule <= FG_COMPARE_BOUND; rule++) {
                stage on;
                stage_open(&on, compare, dtypes[i], output);
                FG_TRY(plant_all(&on, (fg_compare_rule)rule, output, checks));
                FG_TRY(check_right(&on, (fg_compare_rule)rule, output, checks));
            }
        }
    }
    return FG_STATUS_OK;
}
