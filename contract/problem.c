#include "contract/problem.h"

#include "contract/alloc.h"

#include <string.h>

#define EXPERTS_MAX 1024
#define WIDTH_MAX (INT64_C(1) << 20)
#define SEGMENT_ALIGN_MAX 4096

static const struct {
    const char *name;
    int gated;
} activations[FG_ACTIVATIONS] = {
    [FG_ACT_SWIGLU] = {"swiglu", 1},
    [FG_ACT_SRELU] = {"srelu", 0},
};

static const struct {
    const char *input, *grad;
} names[FG_INPUTS] = {
    [FG_X] = {"x", "dx"},
    [FG_W1] = {"w1", "dw1"},
    [FG_B1] = {"b1", "db1"},
    [FG_P] = {"p", "dp"},
    [FG_W2] = {"w2", "dw2"},
    [FG_B2] = {"b2", "db2"},
    [FG_BIAS_P] = {"bias_p", "dbp"},
};

fg_problem fg_problem_default(int64_t experts, int64_t hidden, int64_t inter) {
    return (fg_problem){
        .struct_size = sizeof(fg_problem),
        .experts = experts,
        .hidden = hidden,
        .inter = inter,
        .first_op = FG_OP_FC1,
        .op_count = FG_OP_COUNT,
        .activation = FG_ACT_SWIGLU,
        .dtype = FG_BF16,
        .prob_dtype = FG_F32,
        .bias_dtype = FG_F32,
        .wgrad_dtype = FG_F32,
        .splits_dtype = FG_I32,
        .prob = 1,
        .segment_align = 1,
    };
}

static fg_status check_range(const char *name, int64_t found, int64_t least, int64_t most) {
    if (found < least || found > most) {
        return FG_FAIL(FG_STATUS_INVALID, "%s: found %lld, expected %lld to %lld", name,
                       (long long)found, (long long)least, (long long)most);
    }
    return FG_STATUS_OK;
}

static fg_status check_extents(const fg_problem *problem) {
    FG_TRY(check_range("E", problem->experts, 1, EXPERTS_MAX));
    FG_TRY(check_range("H", problem->hidden, 1, WIDTH_MAX));
    FG_TRY(check_range("F", problem->inter, 1, WIDTH_MAX));
    FG_TRY(check_range("first_op", problem->first_op, 0, FG_OP_COUNT - 1));
    FG_TRY(check_range("op_count", problem->op_count, 1, FG_OP_COUNT - problem->first_op));
    FG_TRY(check_range("segment_align", problem->segment_align, 1, SEGMENT_ALIGN_MAX));
    FG_TRY(check_range("activation", problem->activation, 0, FG_ACTIVATIONS - 1));
    FG_TRY(check_range("interleave", problem->interleave, 0, problem->inter));
    if (problem->interleave > 0 && problem->inter % problem->interleave != 0) {
        return FG_FAIL(FG_STATUS_INVALID, "interleave: found %d, expected a divisor of F = %lld",
                       problem->interleave, (long long)problem->inter);
    }
    if (problem->interleave > 0 && !fg_activation_gated((fg_activation)problem->activation)) {
        return FG_FAIL(FG_STATUS_INVALID,
                       "interleave: found %d, expected 0 with %s, which is unary",
                       problem->interleave, fg_activation_name((fg_activation)problem->activation));
    }
    return FG_STATUS_OK;
}

static fg_status check_type(const char *name, int32_t found, int32_t dtype) {
    if (found != FG_F32 && found != dtype) {
        return FG_FAIL(FG_STATUS_INVALID, "type of %s: found %s, expected f32 or %s", name,
                       fg_dtype_name((fg_dtype)found), fg_dtype_name((fg_dtype)dtype));
    }
    return FG_STATUS_OK;
}

static fg_status check_types(const fg_problem *problem) {
    if (problem->dtype < FG_F64 || problem->dtype > FG_BF16) {
        return FG_FAIL(FG_STATUS_INVALID, "I/O type: found %s, expected f64 f32 f16 or bf16",
                       fg_dtype_name((fg_dtype)problem->dtype));
    }
    FG_TRY(check_type("p", problem->prob_dtype, problem->dtype));
    FG_TRY(check_type("bias", problem->bias_dtype, problem->dtype));
    FG_TRY(check_type("weight gradients", problem->wgrad_dtype, problem->dtype));
    if (problem->splits_dtype != FG_I32 && problem->splits_dtype != FG_I64) {
        return FG_FAIL(FG_STATUS_INVALID, "type of splits: found %s, expected i32 or i64",
                       fg_dtype_name((fg_dtype)problem->splits_dtype));
    }
    return FG_STATUS_OK;
}

static fg_status check_flags(const fg_problem *problem) {
    const struct {
        const char *name;
        int32_t value;
    } flags[] = {
        {"bias", problem->bias},
        {"prob", problem->prob},
        {"scale_bias", problem->scale_bias},
        {"separate_bias_scale", problem->separate_bias_scale},
        {"weight_form", problem->weight_form},
        {"weight_order", problem->weight_order},
        {"accumulate", problem->accumulate},
        {"host_splits", problem->host_splits},
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        FG_TRY(check_range(flags[i].name, flags[i].value, 0, 1));
    }
    if (problem->scale_bias && !(problem->bias && problem->prob)) {
        return FG_FAIL(FG_STATUS_INVALID, "scale_bias: found 1, expected 0 without bias and prob");
    }
    if (problem->separate_bias_scale && !problem->scale_bias) {
        return FG_FAIL(FG_STATUS_INVALID,
                       "separate_bias_scale: found 1, expected 0 without scale_bias");
    }
    if (problem->accumulate && problem->wgrad_dtype != FG_F32 && problem->wgrad_dtype != FG_F64) {
        return FG_FAIL(FG_STATUS_INVALID, "accumulate: found weight gradients of %s, expected f32",
                       fg_dtype_name((fg_dtype)problem->wgrad_dtype));
    }
    return FG_STATUS_OK;
}

fg_status fg_problem_check(const fg_problem *problem) {
    if (problem->struct_size < sizeof *problem) {
        return FG_FAIL(FG_STATUS_ABI, "problem: found a struct of %zu bytes, expected %zu",
                       problem->struct_size, sizeof *problem);
    }
    FG_TRY(check_extents(problem));
    FG_TRY(check_types(problem));
    return check_flags(problem);
}

int fg_activation_gated(fg_activation activation) {
    return (unsigned)activation < FG_ACTIVATIONS && activations[activation].gated;
}

const char *fg_activation_name(fg_activation activation) {
    return (unsigned)activation < FG_ACTIVATIONS ? activations[activation].name : "?";
}

fg_status fg_activation_from_name(const char *name, fg_activation *out) {
    for (int i = 0; i < FG_ACTIVATIONS; i++) {
        if (strcmp(name, activations[i].name) == 0) {
            *out = (fg_activation)i;
            return FG_STATUS_OK;
        }
    }
    return FG_FAIL(FG_STATUS_NOT_FOUND, "found activation '%s', expected swiglu or srelu", name);
}

int64_t fg_problem_o1(const fg_problem *problem) {
    return fg_activation_gated((fg_activation)problem->activation) ? 2 * problem->inter
                                                                   : problem->inter;
}

int64_t fg_problem_gate_column(const fg_problem *problem, int64_t j) {
    int64_t s = problem->interleave;
    return s > 0 ? 2 * s * (j / s) + j % s : j;
}

int64_t fg_problem_linear_column(const fg_problem *problem, int64_t j) {
    if (!fg_activation_gated((fg_activation)problem->activation)) {
        return -1;
    }
    int64_t s = problem->interleave;
    return s > 0 ? fg_problem_gate_column(problem, j) + s : problem->inter + j;
}

int fg_problem_has_input(const fg_problem *problem, int input) {
    switch (input) {
    case FG_X:
    case FG_W1:
    case FG_W2:
        return 1;
    case FG_B1:
    case FG_B2:
        return problem->bias;
    case FG_P:
        return problem->prob;
    case FG_BIAS_P:
        return problem->separate_bias_scale;
    default:
        return 0;
    }
}

fg_dtype fg_problem_input_dtype(const fg_problem *problem, int input) {
    switch (input) {
    case FG_B1:
    case FG_B2:
        return (fg_dtype)problem->bias_dtype;
    case FG_P:
    case FG_BIAS_P:
        return (fg_dtype)problem->prob_dtype;
    default:
        return (fg_dtype)problem->dtype;
    }
}

fg_dtype fg_problem_grad_dtype(const fg_problem *problem, int input) {
    return input == FG_W1 || input == FG_W2 ? (fg_dtype)problem->wgrad_dtype
                                            : fg_problem_input_dtype(problem, input);
}

int32_t fg_problem_input_dims(const fg_problem *problem, int input, int64_t rows,
                              int64_t dims[FG_TENSOR_DIMS]) {
    int64_t o1 = fg_problem_o1(problem);
    int64_t e = problem->experts;
    int io = problem->weight_order == FG_WEIGHTS_IO;
    const int64_t shapes[FG_INPUTS][FG_TENSOR_DIMS] = {
        [FG_X] = {rows, problem->hidden, 0},
        [FG_W1] = {e, io ? problem->hidden : o1, io ? o1 : problem->hidden},
        [FG_B1] = {e, o1, 0},
        [FG_P] = {rows, 0, 0},
        [FG_W2] = {e, io ? problem->inter : problem->hidden, io ? problem->hidden : problem->inter},
        [FG_B2] = {e, problem->hidden, 0},
        [FG_BIAS_P] = {rows, 0, 0},
    };
    static const int32_t ndims[FG_INPUTS] = {2, 3, 2, 1, 3, 2, 1};
    memcpy(dims, shapes[input], sizeof shapes[input]);
    return ndims[input];
}

const char *fg_input_name(int input) {
    return input >= 0 && input < FG_INPUTS ? names[input].input : "?";
}

const char *fg_grad_name(int input) {
    return input >= 0 && input < FG_INPUTS ? names[input].grad : "?";
}

uint32_t fg_problem_run_inputs(const fg_problem *problem) {
    uint32_t by_op[FG_OP_COUNT] = {
        [FG_OP_FC1] = FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_B1),
        [FG_OP_ACTIVATION] = FG_BIT(FG_P),
        [FG_OP_FC2] = FG_BIT(FG_W2) | FG_BIT(FG_B2) | FG_BIT(FG_BIAS_P),
    };
    if (problem->scale_bias && !problem->separate_bias_scale) {
        by_op[FG_OP_FC2] |= FG_BIT(FG_P);
    }
    uint32_t mask = 0;
    for (int32_t op = problem->first_op; op < problem->first_op + problem->op_count; op++) {
        mask |= by_op[op];
    }
    for (int input = 0; input < FG_INPUTS; input++) {
        if (!fg_problem_has_input(problem, input)) {
            mask &= ~FG_BIT(input);
        }
    }
    return mask;
}

fg_status fg_segments(const fg_problem *problem, const int64_t *splits, int64_t rows,
                      int64_t *begin) {
    int64_t align = problem->segment_align;
    begin[0] = 0;
    for (int64_t e = 0; e < problem->experts; e++) {
        if (splits[e] < 0) {
            return FG_FAIL(FG_STATUS_INVALID,
                           "splits: found %lld rows of expert %lld, expected 0 "
                           "or more",
                           (long long)splits[e], (long long)e);
        }
        int64_t end = 0;
        FG_TRY(fg_extent_add(splits[e], align - 1, &end));
        FG_TRY(fg_extent_add(begin[e], end / align * align, &begin[e + 1]));
    }
    if (begin[problem->experts] > rows) {
        return FG_FAIL(FG_STATUS_SHAPE,
                       "splits: found segments that take %lld rows, expected at "
                       "most T = %lld",
                       (long long)begin[problem->experts], (long long)rows);
    }
    return FG_STATUS_OK;
}

void fg_splits_read(const fg_problem *problem, const void *splits, int64_t *out) {
    for (int64_t e = 0; e < problem->experts; e++) {
        out[e] = problem->splits_dtype == FG_I64 ? ((const int64_t *)splits)[e]
                                                 : ((const int32_t *)splits)[e];
    }
}

double fg_problem_forward_flops(const fg_problem *problem, int64_t rows) {
    double columns = (double)(fg_problem_o1(problem) + problem->inter);
    return 2 * (double)rows * (double)problem->hidden * columns;
}

double fg_problem_backward_flops(const fg_problem *problem, int64_t rows) {
    return 2 * fg_problem_forward_flops(problem, rows);
}
