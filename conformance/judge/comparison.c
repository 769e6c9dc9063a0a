#include "conformance/judge/comparison.h"

#include "contract/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROW_TILE = 128, EVIDENCE = 64 };

/* One element held against its tolerance. */
typedef struct judged {
    double tolerance, ratio;
    int good;
} judged;

fg_status fg_comparison_open(fg_compare_rule rule, int64_t longest, fg_comparison *out) {
    *out = (fg_comparison){.rule = rule, .capacity = longest > 0 ? longest : 1};
    out->scratch = fg_alloc((size_t)out->capacity * 3 * sizeof(double), FG_ALLOC_TENSOR);
    if (out->scratch == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory to compare rows of %lld elements",
                       (long long)longest);
    }
    return FG_STATUS_OK;
}

void fg_comparison_close(fg_comparison *comparison) {
    fg_free(comparison->scratch);
    comparison->scratch = NULL;
}

/* ulp at a finite magnitude, without a call: the loop below runs over every element. */
static inline double ulp_at(const fg_format *type, double magnitude) {
    return fg_power_of_two(fg_ulp_exponent(type->digits, type->exponent_min, magnitude));
}

/* Near or past the type's range, or not a number: class and sign decide first. */
static judged judge_class(const fg_format *type, double got, double v, double d) {
    double top = type->max + ulp_at(type, type->max) / 2; // from here on values round to infinity
    judged result = {.tolerance = d, .ratio = INFINITY};
    if (isnan(v) || isinf(v)) {
        result.good = isnan(v) ? isnan(got) : got == v;
    } else if (isinf(d)) {
        result.good = 1; // nothing is known of it
    } else {
        double error = fabs(got - v);
        double reach = fmin(fabs(v) + d, type->max);
        result.tolerance = d + ulp_at(type, reach) / 2;
        result.good = isinf(got) ? fabs(v) + d >= top && signbit(got) == signbit(v)
                                 : error <= result.tolerance;
        result.ratio = isfinite(got) ? error / result.tolerance : INFINITY;
    }
    result.ratio = result.good && !(result.ratio <= 1) ? 0 : result.ratio;
    return result;
}

static inline judged judge(const fg_format *type, double got, double v, double d) {
    double reach = fabs(v) + d;
    if (!(reach < type->max)) {
        return judge_class(type, got, v, d);
    }
    double tolerance = d + ulp_at(type, reach) / 2;
    double error = fabs(got - v);
    return (judged){tolerance, isnan(error) ? INFINITY : error / tolerance, error <= tolerance};
}

/* Keeps the worst element, the first of several as bad as it. */
static void keep(fg_finding *finding, int64_t expert, int64_t row, int64_t col, double got,
                 double v, double d, const judged *found) {
    finding->bad += !found->good;
    if (found->ratio <= finding->ratio) {
        return;
    }
    finding->ratio = found->ratio;
    finding->expert = expert;
    finding->row = row;
    finding->col = col;
    finding->got = got;
    finding->expected = v;
    finding->bound = d;
    finding->tolerance = found->tolerance;
}

static void compare_bound(fg_finding *finding, const fg_format *format, int64_t expert, int64_t row,
                          const double *v, const double *d, const double *got, int64_t n) {
    const fg_format type = *format;
    for (int64_t k = 0; k < n; k++) {
        judged found = judge(&type, got[k], v[k], d[k]);
        if (!found.good || found.ratio > finding->ratio) {
            keep(finding, expert, row, k, got[k], v[k], d[k], &found);
        }
        finding->nonzero += v[k] != 0;
        if (v[k] != 0 && fabs(v[k]) < type.max && isfinite(got[k])) {
            double error = (got[k] - v[k]) / ulp_at(&type, fabs(v[k]));
            error = v[k] < 0 ? -error : error;
            finding->bias.count++;
            finding->bias.sum += error;
            finding->bias.squares += error * error;
        }
    }
}

/* Bits first: only rows that differ are looked at element by element. */
static void compare_exact(fg_comparison *comparison, fg_finding *finding, const fg_tensor *view,
                          int64_t expert, int64_t row, const double *v, const void *at, int64_t n) {
    fg_dtype dtype = (fg_dtype)view->dtype;
    double *got = comparison->scratch, *rounded = got + comparison->capacity;
    void *stored = rounded + comparison->capacity;
    for (int64_t k = 0; k < n; k++) {
        finding->nonzero += v[k] != 0;
    }
    fg_dtype_store_f64(dtype, v, n, stored);
    if (memcmp(stored, at, (size_t)n * fg_dtype_size(dtype)) == 0) {
        return;
    }
    fg_dtype_load_f64(dtype, stored, n, rounded);
    fg_dtype_load_f64(dtype, at, n, got);
    for (int64_t k = 0; k < n; k++) {
        if (got[k] != rounded[k] && !(isnan(got[k]) && isnan(rounded[k]))) {
            int finite = isfinite(got[k]) && isfinite(rounded[k]);
            double ulp = finite ? fg_dtype_ulp(dtype, rounded[k]) : 0;
            judged found = {.ratio = finite ? fabs(got[k] - rounded[k]) / ulp : INFINITY};
            keep(finding, expert, row, k, got[k], rounded[k], 0, &found);
        }
    }
}

void fg_comparison_expert(fg_comparison *comparison, int output, int64_t expert, int64_t tokens,
                          const fg_expected *expected, const fg_tensor *got) {
    fg_finding *finding = &comparison->findings[output];
    fg_dtype dtype = (fg_dtype)got->dtype;
    int by_row = output == FG_OUT_Y || output == FG_X;
    int64_t rows = expected->rows, cols = expected->cols;
    int64_t before = finding->nonzero;
    if (got->ndim == 1) { // dp, dbp: one line of an expert's rows
        cols = rows;
        rows = rows > 0 ? 1 : 0;
    }
    const unsigned char *at =
        fg_tensor_row(got, got->ndim == 1 || by_row ? expected->first_row : expert);
    size_t step =
        fg_dtype_size(dtype) * (size_t)(got->ndim == 3 ? got->strides[1] : got->strides[0]);
    for (int64_t row = 0; row < rows; row++) {
        const double *v = expected->value + row * cols, *d = expected->bound + row * cols;
        if (comparison->rule == FG_COMPARE_EXACT) {
            compare_exact(comparison, finding, got, expert, row, v, at + (size_t)row * step, cols);
        } else {
            fg_dtype_load_f64(dtype, at + (size_t)row * step, cols, comparison->scratch);
            compare_bound(finding, fg_dtype_format(dtype), expert, row, v, d, comparison->scratch,
                          cols);
        }
    }
    finding->compared += rows * cols;
    if (tokens > 0) {
        finding->with_tokens += rows * cols;
    } else {
        finding->nonzero = before;
    }
}

int64_t fg_comparison_owed(const fg_problem *problem, const int64_t *splits, int output) {
    int64_t rows = 0, o1 = fg_problem_o1(problem);
    for (int64_t e = 0; e < problem->experts; e++) {
        rows += splits[e];
    }
    const int64_t owed[FG_OUTPUTS] = {
        [FG_X] = rows * problem->hidden,
        [FG_W1] = problem->experts * o1 * problem->hidden,
        [FG_B1] = problem->experts * o1,
        [FG_P] = rows,
        [FG_W2] = problem->experts * problem->hidden * problem->inter,
        [FG_B2] = problem->experts * problem->hidden,
        [FG_BIAS_P] = rows,
        [FG_OUT_Y] = rows * problem->hidden,
    };
    return owed[output];
}

int fg_finding_thin(const fg_finding *finding) {
    return finding->nonzero * 4 < finding->with_tokens ||
           (finding->with_tokens >= 2 * EVIDENCE && finding->nonzero < EVIDENCE);
}

void fg_finding_words(const fg_finding *finding, int output, fg_compare_rule rule, char *text,
                      size_t size) {
    int line = output == FG_P || output == FG_BIAS_P;
    int64_t row = line ? finding->col : finding->row, col = line ? 0 : finding->col;
    char place[96];
    if (output == FG_B1 || output == FG_B2) {
        snprintf(place, sizeof place, "column %" PRId64, col);
    } else {
        snprintf(place, sizeof place, "row %" PRId64 " (tile %" PRId64 ") column %" PRId64, row,
                 row / ROW_TILE, col);
    }
    if (rule == FG_COMPARE_EXACT) {
        snprintf(text, size,
                 "%s expert %" PRId64 " %s: got %.9g, expected %.9g; %" PRId64 " of %" PRId64
                 " differ",
                 fg_output_name(output), finding->expert, place, finding->got, finding->expected,
                 finding->bad, finding->compared);
        return;
    }
    snprintf(text, size,
             "%s expert %" PRId64 " %s: got %.9g, expected %.9g +- %.3g (d %.3g); %" PRId64
             " of %" PRId64 " outside",
             fg_output_name(output), finding->expert, place, finding->got, finding->expected,
             finding->tolerance, finding->bound, finding->bad, finding->compared);
}
