#include "conformance/judge/naive_check.h"

#include "conformance/judge/number.h"
#include "contract/alloc.h"

#include <math.h>

/* What the loops need of one expert, and room for lines of H and F elements. */
typedef struct naive {
    const fg_oracle_spec *spec;
    const fg_oracle *oracle;
    int64_t expert, first_row, rows, hidden, inter;
    int exact;
    double *x, *dy, *line, *column, *dx; /* [H] each */
    double *gate, *linear, *h, *dh;      /* [F] each */
    double *weights;                     /* [max(H, F)] */
} naive;

static const fg_tensor *input(const naive *of, int i) {
    return of->spec->in->inputs[i];
}

/* Reads line (i, j) of a view, along its last dimension. */
static void load_line(const fg_tensor *view, int64_t i, int64_t j, double *to) {
    int64_t offset = i * view->strides[0] + (view->ndim == 3 ? j * view->strides[1] : 0);
    size_t bytes = (size_t)offset * fg_dtype_size((fg_dtype)view->dtype);
    fg_dtype_load_f64((fg_dtype)view->dtype, (const char *)view->data + bytes,
                      view->dims[view->ndim - 1], to);
}

static double product(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++) {
        sum += a[k] * b[k];
    }
    return sum;
}

static int rounds(const naive *of, uint32_t point) {
    return (of->spec->traits->rounding & point) != 0;
}

static double to_io(const naive *of, double value) {
    return fg_dtype_round((fg_dtype)of->spec->problem->dtype, value);
}

/* p or bias_p as it is used: no bound allows for a rounding that is declared of an input. */
static double probability(const naive *of, int i, int64_t row) {
    if (!fg_problem_has_input(of->spec->problem, i)) {
        return 1;
    }
    double p = fg_number_at(input(of, i), of->first_row + row, 0, 0);
    return rounds(of, FG_ROUND_PROB) ? to_io(of, p) : p;
}

static double bias_scale(const naive *of, int64_t row) {
    const fg_problem *problem = of->spec->problem;
    int own = problem->separate_bias_scale;
    return problem->scale_bias ? probability(of, own ? FG_BIAS_P : FG_P, row) : 1.0;
}

static double bias(const naive *of, int i, int64_t column) {
    return of->spec->problem->bias ? fg_number_at(input(of, i), of->expert, column, 0) : 0;
}

/* Value of the activation, and its derivatives by gate and linear part. */
static double activate(const naive *of, double gate, double linear, double *by_gate,
                       double *by_linear) {
    if (fg_problem_linear_column(of->spec->problem, 0) < 0) {
        double kept = gate > 0 ? gate : 0;
        *by_gate = 2 * kept;
        *by_linear = 0;
        return kept * kept;
    }
    double s = 1 / (1 + exp(-gate));
    *by_gate = linear * (s + gate * s * (1 - s));
    *by_linear = gate * s;
    return gate * s * linear;
}

static fg_status hold(const naive *of, int output, int64_t row, int64_t col, double found) {
    fg_expected expected = fg_oracle_expected(of->oracle, output);
    if (expected.rows == 0) {
        return FG_STATUS_OK;
    }
    double v = expected.value[row * expected.cols + col];
    double d = expected.bound[row * expected.cols + col];
    double slack = 1e-9 * (fabs(found) + fabs(v)) + 1e-30;
    int agree = of->exact ? found == v : fabs(found - v) <= d + slack;
    if (!agree && !(isnan(found) && isnan(v)) && !(isinf(found) && found == v)) {
        return FG_FAIL(FG_STATUS_INTERNAL,
                       "%s expert %lld row %lld column %lld: the oracle has %.17g, a naive loop "
                       "%.17g, allowed difference %.3g",
                       fg_output_name(output), (long long)of->expert, (long long)row,
                       (long long)col, v, found, of->exact ? 0 : d);
    }
    return FG_STATUS_OK;
}

/* A GEMM result meets its bias; where it is rounded before, exact data need not fit. */
static double with_bias(const naive *of, double sum, double added) {
    int before = of->spec->problem->bias && rounds(of, FG_ROUND_BIAS_AFTER);
    return (before ? to_io(of, sum) : sum) + added;
}

static double preactivation(naive *of, int64_t column) {
    load_line(input(of, FG_W1), of->expert, column, of->weights);
    double sum = product(of->x, of->weights, of->hidden);
    return with_bias(of, sum, bias(of, FG_B1, column));
}

static fg_status check_y(naive *of, int64_t row) {
    const fg_problem *problem = of->spec->problem;
    double p = probability(of, FG_P, row), scale = bias_scale(of, row);
    for (int64_t j = 0; j < of->inter; j++) {
        int64_t column = fg_problem_linear_column(problem, j);
        double by_gate = 0, by_linear = 0;
        of->gate[j] = preactivation(of, fg_problem_gate_column(problem, j));
        of->linear[j] = column >= 0 ? preactivation(of, column) : 0;
        of->h[j] = p * activate(of, of->gate[j], of->linear[j], &by_gate, &by_linear);
        of->dh[j] = 0;
    }
    for (int64_t k = 0; k < of->hidden; k++) {
        load_line(input(of, FG_W2), of->expert, k, of->weights);
        double sum = product(of->h, of->weights, of->inter);
        FG_TRY(hold(of, FG_OUT_Y, row, k, with_bias(of, sum, scale * bias(of, FG_B2, k))));
        for (int64_t j = 0; j < of->inter; j++) {
            of->dh[j] += of->dy[k] * of->weights[j];
        }
    }
    return FG_STATUS_OK;
}

static fg_status check_scales(const naive *of, int64_t row, double dp) {
    const fg_problem *problem = of->spec->problem;
    double by_bias = 0;
    for (int64_t k = 0; k < of->hidden && problem->scale_bias; k++) {
        by_bias += of->dy[k] * bias(of, FG_B2, k);
    }
    FG_TRY(hold(of, FG_BIAS_P, row, 0, by_bias));
    return hold(of, FG_P, row, 0, problem->separate_bias_scale ? dp : dp + by_bias);
}

static void add_line(naive *of, int64_t column, double factor) {
    load_line(input(of, FG_W1), of->expert, column, of->weights);
    for (int64_t k = 0; k < of->hidden; k++) {
        of->dx[k] += factor * of->weights[k];
    }
}

static fg_status check_dx(naive *of, int64_t row) {
    const fg_problem *problem = of->spec->problem;
    double p = probability(of, FG_P, row), dp = 0;
    for (int64_t k = 0; k < of->hidden; k++) {
        of->dx[k] = 0;
    }
    for (int64_t j = 0; j < of->inter; j++) {
        double by_gate = 0, by_linear = 0, dh = of->dh[j];
        dp += dh * activate(of, of->gate[j], of->linear[j], &by_gate, &by_linear);
        add_line(of, fg_problem_gate_column(problem, j), dh * p * by_gate);
        int64_t linear = fg_problem_linear_column(problem, j);
        if (linear >= 0) {
            add_line(of, linear, dh * p * by_linear);
        }
    }
    FG_TRY(check_scales(of, row, dp));
    for (int64_t k = 0; k < of->hidden; k++) {
        FG_TRY(hold(of, FG_X, row, k, of->dx[k]));
    }
    return FG_STATUS_OK;
}

/* Gradients that pass through one inner coordinate, at one hidden coordinate. */
typedef struct inner_sums {
    double dw1[2], db1[2]; /* gate, linear */
    double dw2, db2;
} inner_sums;

static void add_inner(naive *of, int64_t j, int64_t k, int64_t row, inner_sums *sums) {
    const fg_problem *problem = of->spec->problem;
    int64_t linear = fg_problem_linear_column(problem, j);
    double by_gate = 0, by_linear = 0, p = probability(of, FG_P, row);
    load_line(input(of, FG_X), of->first_row + row, 0, of->x);
    load_line(of->spec->dy, of->first_row + row, 0, of->dy);
    double gate =
        product(of->x, of->line, of->hidden) + bias(of, FG_B1, fg_problem_gate_column(problem, j));
    double up = linear >= 0 ? preactivation(of, linear) : 0;
    double value = activate(of, gate, up, &by_gate, &by_linear);
    double dh = product(of->dy, of->column, of->hidden);
    sums->db1[0] += dh * p * by_gate;
    sums->db1[1] += dh * p * by_linear;
    sums->dw1[0] += dh * p * by_gate * of->x[k];
    sums->dw1[1] += dh * p * by_linear * of->x[k];
    sums->dw2 += of->dy[k] * p * value;
    sums->db2 += of->dy[k] * bias_scale(of, row);
}

/* What an accumulating gradient held before. */
static double before(const naive *of, int i, int64_t row, int64_t col) {
    int adds = (of->spec->accumulate & of->spec->mask & FG_BIT(i)) != 0;
    return adds ? fg_number_at(of->spec->grads_before[i], of->expert, row, col) : 0;
}

static fg_status check_inner(naive *of, int64_t j, int64_t k) {
    const fg_problem *problem = of->spec->problem;
    const int64_t columns[2] = {fg_problem_gate_column(problem, j),
                                fg_problem_linear_column(problem, j)};
    inner_sums sums = {0};
    load_line(input(of, FG_W1), of->expert, columns[0], of->line);
    for (int64_t i = 0; i < of->hidden; i++) {
        of->column[i] = fg_number_at(input(of, FG_W2), of->expert, i, j);
    }
    for (int64_t row = 0; row < of->rows; row++) {
        add_inner(of, j, k, row, &sums);
    }
    for (int i = 0; i < 2 && columns[i] >= 0; i++) {
        double was = before(of, FG_W1, columns[i], k);
        FG_TRY(hold(of, FG_W1, columns[i], k, was + sums.dw1[i]));
        FG_TRY(hold(of, FG_B1, 0, columns[i], sums.db1[i]));
    }
    FG_TRY(hold(of, FG_W2, k, j, before(of, FG_W2, k, j) + sums.dw2));
    return hold(of, FG_B2, 0, k, sums.db2);
}

static fg_status check_all(naive *of, int64_t row, int64_t inner) {
    load_line(input(of, FG_X), of->first_row + row, 0, of->x);
    if (of->spec->mask != 0) {
        load_line(of->spec->dy, of->first_row + row, 0, of->dy);
    }
    FG_TRY(check_y(of, row));
    if (of->spec->mask == 0) {
        return FG_STATUS_OK;
    }
    FG_TRY(check_dx(of, row));
    return check_inner(of, inner, (inner * 7 + row) % of->hidden);
}

fg_status fg_naive_check(const fg_oracle_spec *spec, const fg_oracle *oracle, int64_t expert,
                         int64_t row, int64_t inner, int exact) {
    fg_expected y = fg_oracle_expected(oracle, FG_OUT_Y);
    naive of = {.spec = spec,
                .oracle = oracle,
                .expert = expert,
                .first_row = y.first_row,
                .rows = y.rows,
                .hidden = spec->problem->hidden,
                .inter = spec->problem->inter,
                .exact = exact};
    double **lines[] = {&of.x,    &of.dy,     &of.line, &of.column, &of.dx,
                        &of.gate, &of.linear, &of.h,    &of.dh,     &of.weights};
    size_t count = sizeof lines / sizeof lines[0];
    size_t longest = (size_t)(of.hidden > of.inter ? of.hidden : of.inter);
    double *memory = fg_alloc(count * longest * sizeof(double), FG_ALLOC_ORACLE);
    if (memory == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory for a naive row");
    }
    for (size_t i = 0; i < count; i++) {
        *lines[i] = memory + i * longest;
    }
    fg_status status = check_all(&of, row, inner);
    fg_free(memory);
    return status;
}
