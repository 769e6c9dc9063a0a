#include "conformance/judge/diagnosis.h"

#include "conformance/judge/number.h"

#include <math.h>
#include <stdio.h>

enum { ROW_TILE = 128 };

/* Numbers of the worst element, and what the case held at its place. */
typedef struct scene {
    const fg_case *value;
    const fg_tensors *tensors;
    const fg_finding *finding;
    int output;
} scene;

static int is_weight_gradient(int output) {
    return output == FG_W1 || output == FG_W2 || output == FG_B1 || output == FG_B2;
}

static int64_t row_of(const scene *at) {
    int line = at->output == FG_P || at->output == FG_BIAS_P;
    return line ? at->finding->col : at->finding->row;
}

/* Within a rounding of each other, zero excluded. */
static int close_to(double a, double b) {
    return fabs(b) > 0 && fabs(a - b) <= 0.01 * fabs(b);
}

static int empty_expert(const scene *at) {
    return is_weight_gradient(at->output) && at->value->splits[at->finding->expert] == 0;
}

static int accumulates(const scene *at) {
    return at->value->problem.accumulate && (at->output == FG_W1 || at->output == FG_W2);
}

static int empty_expert_of_sums(const scene *at) {
    return empty_expert(at) && accumulates(at);
}

static int poisoned(const scene *at) {
    return isnan(at->finding->got) && !isnan(at->finding->expected);
}

static int huge(const scene *at) {
    return fabs(at->finding->got) > 1e30 ||
           (fabs(at->finding->got) > 5e4 && at->value->problem.dtype == FG_F16);
}

static double old_content(const scene *at) {
    if (!accumulates(at)) {
        return 0;
    }
    int before = at->output == FG_W1 ? FG_BUFFER_BEFORE_W1 : FG_BUFFER_BEFORE_W2;
    return fg_number_at(fg_tensors_view(at->tensors, before), at->finding->expert, at->finding->row,
                        at->finding->col);
}

static int old_missing(const scene *at) {
    double old = old_content(at);
    return old != 0 && close_to(at->finding->got, at->finding->expected - old);
}

static int old_alone(const scene *at) {
    return accumulates(at) && at->finding->got == old_content(at);
}

static int old_twice(const scene *at) {
    double old = old_content(at);
    return old != 0 && close_to(at->finding->got, at->finding->expected + old);
}

/* One number of a row of the worst element's expert; 1 where the problem has no such input. */
static double row_number(const scene *at, int input, int64_t row) {
    const fg_tensor *view = fg_tensors_view(at->tensors, FG_BUFFER_INPUT + input);
    return view == NULL ? 1
                        : fg_number_at(view, at->tensors->begin[at->finding->expert] + row, 0, 0);
}

/* The factor of b2 in a row. */
static double bias_scale(const scene *at, int64_t row) {
    const fg_problem *problem = &at->value->problem;
    int own = problem->separate_bias_scale;
    return problem->scale_bias ? row_number(at, own ? FG_BIAS_P : FG_P, row) : 1;
}

static double b2(const scene *at, int64_t column) {
    return at->value->problem.bias
               ? fg_number_at(fg_tensors_view(at->tensors, FG_BUFFER_INPUT + FG_B2),
                              at->finding->expert, column, 0)
               : 0;
}

static double dy(const scene *at, int64_t row, int64_t column) {
    const fg_tensor *view = fg_tensors_view(at->tensors, FG_BUFFER_DY);
    return fg_number_at(view, at->tensors->begin[at->finding->expert] + row, column, 0);
}

/* What b2 gives to the worst element, which the rest of it does not take part in. */
static double bias_part(const scene *at) {
    return at->output == FG_OUT_Y ? bias_scale(at, row_of(at)) * b2(at, at->finding->col) : 0;
}

/* Whether the element is off by `delta`, and that is more than roundings are. */
static int off_by(const scene *at, double delta) {
    const fg_finding *finding = at->finding;
    const fg_problem *problem = &at->value->problem;
    fg_dtype dtype = at->output == FG_OUT_Y ? (fg_dtype)problem->dtype
                                            : fg_problem_grad_dtype(problem, at->output);
    double size = fmax(fabs(finding->got), fabs(finding->expected));
    double slack = finding->tolerance + fg_dtype_ulp(dtype, size);
    return fabs(delta) > 2 * slack && fabs(finding->got - finding->expected - delta) <= slack;
}

/* A factor of b2 that is not the right one: nothing, 1, or the row's p. */
typedef enum bias_factor { FACTOR_NONE, FACTOR_ONE, FACTOR_P } bias_factor;

static double by_factor(const scene *at, bias_factor factor, int64_t row) {
    double other = factor == FACTOR_P ? row_number(at, FG_P, row) : factor == FACTOR_ONE;
    return other - bias_scale(at, row);
}

static int other_factor(const scene *at, bias_factor factor) {
    if (!at->value->problem.bias || (at->output != FG_OUT_Y && at->output != FG_B2)) {
        return 0;
    }
    int64_t column = at->finding->col;
    if (at->output == FG_OUT_Y) {
        return off_by(at, by_factor(at, factor, row_of(at)) * b2(at, column));
    }
    double delta = 0;
    for (int64_t row = 0; row < at->value->splits[at->finding->expert]; row++) {
        delta += by_factor(at, factor, row) * dy(at, row, column);
    }
    return off_by(at, delta);
}

static int bias_unscaled(const scene *at) {
    return other_factor(at, FACTOR_ONE);
}

static int bias_by_p(const scene *at) {
    return other_factor(at, FACTOR_P);
}

static int bias_missing(const scene *at) {
    return at->output == FG_OUT_Y && other_factor(at, FACTOR_NONE);
}

/* sum_k dy b2 of a row, which dp takes when p scales b2, and must not when bias_p does. */
static double bias_product(const scene *at) {
    double sum = 0;
    for (int64_t k = 0; k < at->value->problem.hidden; k++) {
        sum += dy(at, row_of(at), k) * b2(at, k);
    }
    return sum;
}

static int dp_without_bias(const scene *at) {
    const fg_problem *problem = &at->value->problem;
    return at->output == FG_P && problem->scale_bias && !problem->separate_bias_scale &&
           off_by(at, -bias_product(at));
}

static int dp_with_bias(const scene *at) {
    const fg_problem *problem = &at->value->problem;
    return at->output == FG_P && (!problem->scale_bias || problem->separate_bias_scale) &&
           off_by(at, bias_product(at));
}

/* Whether p scales the output, all but the part of b2; and p. */
static int scaled_by_p(const scene *at, double *p) {
    if (at->output != FG_OUT_Y && at->output != FG_X) {
        return 0;
    }
    *p = row_number(at, FG_P, row_of(at));
    return *p != 1;
}

static int p_missing(const scene *at) {
    double p = 1, part = bias_part(at), got = at->finding->got, expected = at->finding->expected;
    if (!scaled_by_p(at, &p)) {
        return 0;
    }
    if (p == 0) { // all but the part of b2 must vanish; few elements may be another expert's
        return fabs(expected - part) <= at->finding->tolerance &&
               at->finding->bad * 3 > at->finding->compared;
    }
    int all = at->value->problem.scale_bias && close_to(got * p, expected);
    return all || close_to((got - part) * p, expected - part);
}

static int p_twice(const scene *at) {
    double p = 1, part = bias_part(at);
    return scaled_by_p(at, &p) && p != 0 &&
           close_to(at->finding->got - part, (at->finding->expected - part) * p);
}

static int zero(const scene *at) {
    return at->finding->got == 0 && at->finding->expected != 0;
}

static int negated(const scene *at) {
    return close_to(-at->finding->got, at->finding->expected);
}

/* The last row of an expert, when no more is wrong than its last tile holds or half of its rows:
 * any row may be the worst of many. */
static int last_row(const scene *at) {
    int64_t n = at->value->splits[at->finding->expert];
    if (is_weight_gradient(at->output) || n < 2 || row_of(at) != n - 1) {
        return 0;
    }
    int64_t tile = (n - 1) % ROW_TILE + 1, rows = tile < n / 2 ? tile : n / 2;
    int line = at->output == FG_P || at->output == FG_BIAS_P;
    return at->finding->bad <= rows * (line ? 1 : at->value->problem.hidden);
}

static int everything(const scene *at) {
    return at->finding->bad * 10 > at->finding->compared * 9;
}

/* The first that fits is said. */
static const struct {
    int (*fits)(const scene *at);
    const char *words;
} causes[] = {
    {empty_expert_of_sums, "likely: an expert without rows must leave the old content"},
    {empty_expert, "likely: the gradient of an expert without rows is not exact zero"},
    {poisoned, "likely: adds to old content, or reads padding, gaps or scratch not yet written"},
    {huge, "likely: adds to old content, or reads memory not yet written"},
    {old_missing, "likely: overwrites where it must accumulate"},
    {old_alone, "likely: left as it was: nothing was added"},
    {old_twice, "likely: adds the old content twice"},
    {bias_unscaled, "likely: b2 is not scaled"},
    {bias_by_p, "likely: b2 is scaled by p, which is not its scale"},
    {dp_without_bias, "likely: dp lacks the part of b2, which p scales"},
    {dp_with_bias, "likely: dp holds the part of b2, which p does not scale"},
    {p_missing, "likely: the row's probability is not applied"},
    {p_twice, "likely: the row's probability is applied twice"},
    {zero, "likely: a part is left out (tile, expert or row)"},
    {bias_missing, "likely: b2 is left out"},
    {negated, "likely: a sign"},
    {last_row, "likely: the expert's last row tile"},
    {everything, "likely: nearly every element: a wrong factor, operand or layout"},
};

void fg_diagnosis_words(const fg_case *value, const fg_tensors *tensors, int output,
                        const fg_finding *finding, char *text, size_t size) {
    scene at = {value, tensors, finding, output};
    text[0] = '\0';
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++) {
        if (causes[i].fits(&at)) {
            snprintf(text, size, "%s", causes[i].words);
            return;
        }
    }
}
