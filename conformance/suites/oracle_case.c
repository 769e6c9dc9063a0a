#include "conformance/suites/oracle_case.h"

#include "contract/alloc.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

fg_traits fg_oracle_case_traits(uint32_t rounding) {
    return (fg_traits){
        .struct_size = sizeof(fg_traits),
        .accumulator_digits = 24,
        .accumulator_block = 1,
        .operand_digits = 24,
        .rounding = rounding,
        .activation_error = 8,
    };
}

fg_problem fg_oracle_case_problem_f64(int64_t experts, int64_t hidden, int64_t inter) {
    fg_problem problem = fg_problem_default(experts, hidden, inter);
    problem.dtype = FG_F64;
    problem.prob_dtype = FG_F64;
    problem.bias_dtype = FG_F64;
    problem.wgrad_dtype = FG_F64;
    return problem;
}

uint32_t fg_oracle_case_mask(const fg_problem *problem) {
    uint32_t mask = 0;
    for (int i = 0; i < FG_INPUTS; i++) {
        mask |= fg_problem_has_input(problem, i) ? FG_BIT(i) : 0;
    }
    return mask;
}

static uint64_t next_bits(uint64_t *state) { // splitmix64
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double next_uniform(uint64_t *state) { // in (0, 1)
    return ((double)(next_bits(state) >> 12) + 0.5) * 0x1p-52;
}

double fg_oracle_case_normal(uint64_t *state) {
    double radius = sqrt(-2 * log(next_uniform(state)));
    return radius * cos(6.283185307179586 * next_uniform(state));
}

static void *address(const fg_tensor *tensor, int64_t index) {
    int64_t offset = 0;
    for (int32_t i = tensor->ndim - 1; i >= 0; i--) {
        offset += index % tensor->dims[i] * tensor->strides[i];
        index /= tensor->dims[i];
    }
    return (char *)tensor->data + offset * (int64_t)fg_dtype_size((fg_dtype)tensor->dtype);
}

double fg_oracle_case_get(const fg_tensor *tensor, int64_t index) {
    double value = 0;
    fg_dtype_load_f64((fg_dtype)tensor->dtype, address(tensor, index), 1, &value);
    return value;
}

void fg_oracle_case_set(const fg_tensor *tensor, int64_t index, double value) {
    fg_dtype_store_f64((fg_dtype)tensor->dtype, &value, 1, address(tensor, index));
}

/* A tensor whose inner dimension has `gap` elements of NaN after it; all of it is NaN so far. */
static fg_tensor tensor_create(fg_dtype dtype, int32_t ndim, const int64_t *dims, int64_t gap) {
    fg_tensor tensor = fg_tensor_tight(NULL, dtype, -1, ndim, dims);
    int64_t stride = ndim > 1 ? dims[ndim - 1] + gap : 1;
    for (int32_t i = ndim - 2; i >= 0; i--) {
        tensor.strides[i] = stride;
        stride *= dims[i];
    }
    int64_t count = ndim > 1 ? stride : dims[0];
    tensor.data = fg_alloc((size_t)(count + 1) * fg_dtype_size(dtype), FG_ALLOC_GENERAL);
    if (tensor.data == NULL) {
        abort();
    }
    const double nan_value = NAN;
    for (int64_t i = 0; i < count; i++) {
        fg_dtype_store_f64(dtype, &nan_value, 1,
                           (char *)tensor.data + i * (int64_t)fg_dtype_size(dtype));
    }
    return tensor;
}

/* Whether row t of a [T, ..] tensor belongs to an expert. */
static int row_is_used(const fg_oracle_case *value, int64_t row) {
    for (int64_t e = 0; e < value->problem.experts; e++) {
        if (row >= value->begin[e] && row < value->begin[e] + value->splits[e]) {
            return 1;
        }
    }
    return 0;
}

static void fill(const fg_oracle_case *value, const fg_tensor *tensor, int by_row, int probability,
                 double size, uint64_t *state) {
    int64_t count = fg_tensor_count(tensor);
    int64_t cols = tensor->ndim > 1 ? tensor->dims[1] : 1;
    for (int64_t k = 0; k < count; k++) {
        double v = probability ? next_uniform(state) : size * fg_oracle_case_normal(state);
        if (!by_row || row_is_used(value, k / cols)) {
            fg_oracle_case_set(tensor, k, v);
        }
    }
}

static void create_inputs(fg_oracle_case *out, int64_t gap, uint64_t *state) {
    const fg_problem *problem = &out->problem;
    for (int i = 0; i < FG_INPUTS; i++) {
        int64_t dims[FG_TENSOR_DIMS] = {0};
        int32_t ndim = fg_problem_input_dims(problem, i, out->in.rows, dims);
        int by_row = i == FG_X || i == FG_P || i == FG_BIAS_P;
        int p = i == FG_P || i == FG_BIAS_P;
        // Weights of size 1/sqrt(terms) keep every intermediate near 1.
        double depth = (double)(i == FG_W1 ? problem->hidden : problem->inter);
        double size = i == FG_W1 || i == FG_W2 ? 1 / sqrt(depth) : 1;
        if (!fg_problem_has_input(problem, i)) {
            continue;
        }
        out->inputs[i] = tensor_create(fg_problem_input_dtype(problem, i), ndim, dims, gap);
        fill(out, &out->inputs[i], by_row, p, size, state);
        out->in.inputs[i] = &out->inputs[i];
        out->grads_before[i] = tensor_create(fg_problem_grad_dtype(problem, i), ndim, dims, gap);
        fill(out, &out->grads_before[i], by_row, 0, 1, state);
        out->spec.grads_before[i] = &out->grads_before[i];
    }
}

void fg_oracle_case_create(const fg_problem *problem, const int64_t *splits, uint64_t seed,
                           int64_t gap, int64_t spare, fg_oracle_case *out) {
    uint64_t state = seed;
    *out = (fg_oracle_case){.problem = *problem, .traits = fg_oracle_case_traits(0)};
    memcpy(out->splits, splits, (size_t)problem->experts * sizeof *splits);
    for (int64_t e = 0; e < problem->experts; e++) {
        out->splits_device[e] = (int32_t)splits[e];
    }
    if (fg_segments(problem, splits, INT64_MAX, out->begin) != FG_STATUS_OK) {
        abort();
    }
    out->splits_tensor = fg_tensor_tight(out->splits_device, FG_I32, -1, 1, &out->problem.experts);
    out->in = (fg_inputs){
        .struct_size = sizeof out->in,
        .rows = out->begin[problem->experts] + spare,
        .splits = &out->splits_tensor,
    };
    create_inputs(out, gap, &state);
    const int64_t dims[] = {out->in.rows, problem->hidden};
    out->dy = tensor_create((fg_dtype)problem->dtype, 2, dims, gap);
    fill(out, &out->dy, 1, 0, 1, &state);
    out->spec.problem = &out->problem;
    out->spec.traits = &out->traits;
    out->spec.in = &out->in;
    out->spec.dy = &out->dy;
    out->spec.mask = fg_oracle_case_mask(problem);
    out->spec.bounds = 1;
}

void fg_oracle_case_free(fg_oracle_case *value) {
    for (int i = 0; i < FG_INPUTS; i++) {
        fg_free(value->inputs[i].data);
        fg_free(value->grads_before[i].data);
    }
    fg_free(value->dy.data);
}

static void check(fg_status status) {
    if (status != FG_STATUS_OK) {
        fprintf(stderr, "oracle: %s: %s\n", fg_status_name(status), fg_message());
        abort();
    }
}

fg_oracle *fg_oracle_case_open(const fg_oracle_case *value) {
    fg_oracle *oracle = NULL;
    check(fg_oracle_create(&value->spec, &oracle));
    return oracle;
}

fg_expected fg_oracle_case_expert(fg_oracle *oracle, int64_t expert, int output) {
    check(fg_oracle_expert(oracle, expert));
    return fg_oracle_expected(oracle, output);
}

int fg_oracle_case_same(fg_oracle *a, fg_oracle *b, int64_t experts, int output) {
    for (int64_t e = 0; e < experts; e++) {
        fg_expected of_a = fg_oracle_case_expert(a, e, output);
        fg_expected of_b = fg_oracle_case_expert(b, e, output);
        if (of_a.rows != of_b.rows ||
            memcmp(of_a.value, of_b.value, (size_t)(of_a.rows * of_a.cols) * sizeof(double)) != 0) {
            return 0;
        }
    }
    return 1;
}
