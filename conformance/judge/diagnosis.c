#include "conformance/judge/diagnosis.h"

#include <math.h>
#include <stdio.h>

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

static int by_row(int output) {
    return !is_weight_gradient(output);
}

/* Within a rounding of each other, zero excluded. */
static int close_to(double a, double b) {
    return fabs(b) > 0 && fabs(a - b) <= 0.01 * fabs(b);
}

static int empty_expert(const scene *at) {
    return is_weight_gradient(at->output) && at->value->splits[at->finding->expert] == 0;
}

static int poisoned(const scene *at) {
    return isnan(at->finding->got) && !isnan(at->finding->expected);
}

static int huge(const scene *at) {
    return fabs(at->finding->got) > 1e30 ||
           (fabs(at->finding->got) > 5e4 && at->value->problem.dtype == FG_F16);
}

static double old_content(const scene *at) {
    int weight = at->output == FG_W1 ? FG_BUFFER_BEFORE_W1 : FG_BUFFER_BEFORE_W2;
    const fg_tensor *view = fg_tensors_view(at->tensors, weight);
    if (view == NULL || (at->output != FG_W1 && at->output != FG_W2)) {
        return 0;
    }
    int64_t offset = at->finding->expert * view->strides[0] + at->finding->row * view->strides[1] +
                     at->finding->col;
    return ((const float *)view->data)[offset];
}

static int old_missing(const scene *at) {
    double old = old_content(at);
    return old != 0 && close_to(at->finding->got, at->finding->expected - old);
}

static int old_twice(const scene *at) {
    double old = old_content(at);
    return old != 0 && close_to(at->finding->got, at->finding->expected + old);
}

static double probability(const scene *at) {
    const fg_tensor *view = fg_tensors_view(at->tensors, FG_BUFFER_INPUT + FG_P);
    if (view == NULL || !by_row(at->output) || at->output == FG_P || at->output == FG_BIAS_P) {
        return 1;
    }
    double p = 1;
    int64_t row = at->tensors->begin[at->finding->expert] + at->finding->row;
    fg_dtype_load_f64((fg_dtype)view->dtype, fg_tensor_row(view, row), 1, &p);
    return p;
}

static int p_missing(const scene *at) {
    double p = probability(at);
    return p != 1 && p != 0 && close_to(at->finding->got * p, at->finding->expected);
}

static int p_twice(const scene *at) {
    double p = probability(at);
    return p != 1 && p != 0 && close_to(at->finding->got, at->finding->expected * p);
}

static int zero(const scene *at) {
    return at->finding->got == 0 && at->finding->expected != 0;
}

static int negated(const scene *at) {
    return close_to(-at->finding->got, at->finding->expected);
}

static int last_row(const scene *at) {
    return by_row(at->output) && at->value->splits[at->finding->expert] > 1 &&
           at->finding->row == at->value->splits[at->finding->expert] - 1;
}

static int everything(const scene *at) {
    return at->finding->bad * 10 > at->finding->compared * 9;
}

/* The first that fits is said. */
static const struct {
    int (*fits)(const scene *at);
    const char *words;
} causes[] = {
    {empty_expert, "likely: the gradient of an expert without rows is not exact zero"},
    {poisoned, "likely: adds to old content, or reads padding, gaps or scratch not yet written"},
    {huge, "likely: adds to old content, or reads memory not yet written"},
    {old_missing, "likely: overwrites where it must accumulate"},
    {old_twice, "likely: adds the old content twice"},
    {p_missing, "likely: the row's probability is not applied"},
    {p_twice, "likely: the row's probability is applied twice"},
    {zero, "likely: a part is left out (tile, expert or row)"},
    {negated, "likely: a sign"},
    {last_row, "likely: the expert's last row tile"},
    {everything, "likely: order or layout (gate and linear part, transposed weight, wrong expert)"},
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
