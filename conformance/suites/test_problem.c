#include "contract/problem.h"

#include <criterion/criterion.h>
#include <string.h>

static fg_problem problem;

static void reset(void) {
    problem = fg_problem_default(4, 64, 32);
}

Test(problem, defaults_are_valid, .init = reset) {
    cr_assert_eq(fg_problem_check(&problem), FG_STATUS_OK);
    cr_assert_eq(problem.struct_size, sizeof problem);
}

Test(problem, each_bad_field_is_named) {
    struct {
        const char *name;
        int32_t *field;
        int32_t value;
    } rows[] = {
        {"op_count", &problem.op_count, 4},
        {"first_op", &problem.first_op, -1},
        {"activation", &problem.activation, FG_ACTIVATIONS},
        {"interleave", &problem.interleave, 5},
        {"interleave", &problem.interleave, -1},
        {"I/O type", &problem.dtype, FG_I32},
        {"type of p", &problem.prob_dtype, FG_F16},
        {"type of bias", &problem.bias_dtype, FG_F64},
        {"type of weight gradients", &problem.wgrad_dtype, FG_F16},
        {"type of splits", &problem.splits_dtype, FG_F32},
        {"bias", &problem.bias, 2},
        {"scale_bias", &problem.scale_bias, 1},
        {"separate_bias_scale", &problem.separate_bias_scale, 1},
        {"host_splits", &problem.host_splits, -1},
        {"weight_form", &problem.weight_form, 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        reset();
        *rows[i].field = rows[i].value;
        cr_assert_eq(fg_problem_check(&problem), FG_STATUS_INVALID, "%s", rows[i].name);
        cr_assert(strstr(fg_message(), rows[i].name) != NULL, "'%s'", fg_message());
        cr_assert(strstr(fg_message(), "expected") != NULL, "'%s'", fg_message());
    }
}

Test(problem, extents_have_limits) {
    const int64_t bad[] = {0, -1, INT64_MAX, (INT64_C(1) << 20) + 1};
    for (size_t i = 0; i < 4; i++) {
        int64_t *fields[] = {&problem.experts, &problem.hidden, &problem.inter,
                             &problem.segment_align};
        for (size_t f = 0; f < 4; f++) {
            reset();
            *fields[f] = bad[i];
            cr_assert_eq(fg_problem_check(&problem), FG_STATUS_INVALID);
        }
    }
    reset();
    problem.experts = 1024;
    cr_assert_eq(fg_problem_check(&problem), FG_STATUS_OK);
    problem.experts = 1025;
    cr_assert_eq(fg_problem_check(&problem), FG_STATUS_INVALID);
    cr_assert(strstr(fg_message(), "1025") != NULL);
}

Test(problem, an_old_struct_is_refused_by_size, .init = reset) {
    problem.struct_size = 16;
    cr_assert_eq(fg_problem_check(&problem), FG_STATUS_ABI);
}

Test(problem, accumulating_needs_wide_gradients, .init = reset) {
    problem.accumulate = 1;
    cr_assert_eq(fg_problem_check(&problem), FG_STATUS_OK);
    problem.wgrad_dtype = FG_BF16;
    cr_assert_eq(fg_problem_check(&problem), FG_STATUS_INVALID);
}

Test(problem, unary_activations_take_no_interleave, .init = reset) {
    problem.activation = FG_ACT_SRELU;
    cr_assert_eq(fg_problem_o1(&problem), 32);
    cr_assert_eq(fg_problem_linear_column(&problem, 3), -1);
    problem.interleave = 8;
    cr_assert_eq(fg_problem_check(&problem), FG_STATUS_INVALID);
}

Test(problem, layouts_permute_the_same_columns) {
    const int32_t interleaves[] = {0, 1, 8, 16, 32};
    for (size_t i = 0; i < 5; i++) {
        reset();
        problem.interleave = interleaves[i];
        int seen[64] = {0};
        for (int64_t j = 0; j < 32; j++) {
            int64_t gate = fg_problem_gate_column(&problem, j);
            int64_t linear = fg_problem_linear_column(&problem, j);
            int64_t s = interleaves[i] > 0 ? interleaves[i] : 32;
            cr_assert_eq(gate, 2 * s * (j / s) + j % s);
            cr_assert_eq(linear, gate + s);
            seen[gate]++;
            seen[linear]++;
        }
        for (int c = 0; c < 64; c++) {
            cr_assert_eq(seen[c], 1);
        }
    }
}

Test(problem, inputs_exist_as_the_flags_say, .init = reset) {
    const int plain[] = {1, 1, 0, 1, 1, 0, 0};
    for (int i = 0; i < FG_INPUTS; i++) {
        cr_assert_eq(!!fg_problem_has_input(&problem, i), plain[i]);
    }
    problem.bias = problem.scale_bias = problem.separate_bias_scale = 1;
    for (int i = 0; i < FG_INPUTS; i++) {
        cr_assert(fg_problem_has_input(&problem, i));
    }
    cr_assert_not(fg_problem_has_input(&problem, FG_INPUTS));
}

Test(problem, types_and_shapes_follow_the_fields, .init = reset) {
    problem.bias = 1;
    problem.bias_dtype = FG_BF16;
    const fg_dtype types[] = {FG_BF16, FG_BF16, FG_BF16, FG_F32, FG_BF16, FG_BF16, FG_F32};
    const int64_t shapes[][3] = {{9, 64, 0},  {4, 64, 64}, {4, 64, 0}, {9, 0, 0},
                                 {4, 64, 32}, {4, 64, 0},  {9, 0, 0}};
    for (int i = 0; i < FG_INPUTS; i++) {
        int64_t dims[3];
        int32_t ndim = fg_problem_input_dims(&problem, i, 9, dims);
        cr_assert_eq(ndim, shapes[i][2] > 0 ? 3 : shapes[i][1] > 0 ? 2 : 1);
        cr_assert_eq(memcmp(dims, shapes[i], sizeof dims), 0, "%s", fg_input_name(i));
        cr_assert_eq(fg_problem_input_dtype(&problem, i), types[i]);
    }
    cr_assert_eq(fg_problem_grad_dtype(&problem, FG_W1), FG_F32);
    cr_assert_eq(fg_problem_grad_dtype(&problem, FG_X), FG_BF16);
}

Test(problem, transposed_weights_swap_their_extents, .init = reset) {
    problem.weight_order = FG_WEIGHTS_IO;
    problem.inter = 16;
    int64_t dims[3];
    fg_problem_input_dims(&problem, FG_W1, 9, dims);
    cr_assert(dims[1] == 64 && dims[2] == 32);
    fg_problem_input_dims(&problem, FG_W2, 9, dims);
    cr_assert(dims[1] == 16 && dims[2] == 64);
}

Test(problem, runs_read_the_inputs_of_their_ops, .init = reset) {
    problem.bias = problem.scale_bias = 1;
    problem.first_op = 2;
    problem.op_count = 1;
    cr_assert_eq(fg_problem_run_inputs(&problem), FG_BIT(FG_W2) | FG_BIT(FG_B2) | FG_BIT(FG_P));
    problem.separate_bias_scale = 1;
    cr_assert_eq(fg_problem_run_inputs(&problem),
                 FG_BIT(FG_W2) | FG_BIT(FG_B2) | FG_BIT(FG_BIAS_P));
    problem.first_op = 0;
    cr_assert_eq(fg_problem_run_inputs(&problem), FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_B1));
    problem.op_count = 3;
    cr_assert_eq(fg_problem_run_inputs(&problem), 0x7fu);
    reset();
    problem.prob = 0;
    cr_assert_eq(fg_problem_run_inputs(&problem), FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_W2));
}

Test(problem, segments_begin_at_multiples_of_the_alignment, .init = reset) {
    const int64_t splits[] = {0, 17, 32, 1};
    int64_t begin[5];
    cr_assert_eq(fg_segments(&problem, splits, 50, begin), FG_STATUS_OK);
    cr_assert(begin[1] == 0 && begin[2] == 17 && begin[3] == 49 && begin[4] == 50);
    problem.segment_align = 32;
    cr_assert_eq(fg_segments(&problem, splits, 96, begin), FG_STATUS_OK);
    cr_assert(begin[1] == 0 && begin[2] == 32 && begin[3] == 64 && begin[4] == 96);
    cr_assert_eq(fg_segments(&problem, splits, 95, begin), FG_STATUS_SHAPE);
    cr_assert(strstr(fg_message(), "96") != NULL && strstr(fg_message(), "95") != NULL);
}

Test(problem, impossible_splits_are_refused, .init = reset) {
    int64_t begin[5];
    const int64_t negative[] = {1, -2, 3, 4};
    cr_assert_eq(fg_segments(&problem, negative, 50, begin), FG_STATUS_INVALID);
    cr_assert(strstr(fg_message(), "-2") != NULL);
    const int64_t huge[] = {INT64_MAX, 1, 0, 0};
    cr_assert_eq(fg_segments(&problem, huge, 50, begin), FG_STATUS_OVERFLOW);
}

Test(problem, splits_are_read_in_both_types, .init = reset) {
    const int32_t narrow[] = {1, 2, 3, 2147483647};
    const int64_t wide[] = {1, 2, 3, INT64_C(1) << 40};
    int64_t out[4];
    fg_splits_read(&problem, narrow, out);
    cr_assert_eq(out[3], 2147483647);
    problem.splits_dtype = FG_I64;
    fg_splits_read(&problem, wide, out);
    cr_assert_eq(out[3], INT64_C(1) << 40);
}

Test(problem, flops_count_three_products, .init = reset) {
    // FC1 is 10 x 64 x 64, FC2 is 10 x 32 x 64; two operations for each multiply-add.
    cr_assert_eq(fg_problem_forward_flops(&problem, 10), 2.0 * 10 * 64 * (64 + 32));
    cr_assert_eq(fg_problem_backward_flops(&problem, 10), 4.0 * 10 * 64 * (64 + 32));
}

Test(problem, names_are_those_of_the_field) {
    const char *inputs[] = {"x", "w1", "b1", "p", "w2", "b2", "bias_p", "?"};
    const char *grads[] = {"dx", "dw1", "db1", "dp", "dw2", "db2", "dbp", "?"};
    for (int i = 0; i < 8; i++) {
        cr_assert_str_eq(fg_input_name(i), inputs[i]);
        cr_assert_str_eq(fg_grad_name(i), grads[i]);
    }
    for (int a = 0; a < FG_ACTIVATIONS; a++) {
        fg_activation found = FG_ACTIVATIONS;
        cr_assert_eq(fg_activation_from_name(fg_activation_name((fg_activation)a), &found), 0);
        cr_assert_eq((int)found, a);
    }
    fg_activation found = FG_ACT_SRELU;
    cr_assert_eq(fg_activation_from_name("swish", &found), FG_STATUS_NOT_FOUND);
    cr_assert_eq(found, FG_ACT_SRELU);
}
