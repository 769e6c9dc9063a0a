#include "fuser/fusion.h"
#include "fuser/op.h"
#include <criterion/criterion.h>
#include <string.h>

#define EVERY_RUN 0x5fu

static fg_fusion fusion;
static fg_run_list forward, backward;
static fg_pass_input base;

/* A pass that gives one list, whatever comes, and counts and keeps what came. */
typedef struct fixed_pass {
    fg_run_list gives;
    fg_status status;
    int calls;
    fg_pass_input came;
} fixed_pass;

static fg_status pass_fixed(void *user, const fg_pass_input *in, fg_run runs[FG_OP_COUNT],
                            int32_t *run_count) {
    fixed_pass *pass = user;
    pass->calls++;
    pass->came = *in;
    memcpy(runs, pass->gives.runs, sizeof pass->gives.runs);
    *run_count = pass->gives.count;
    return pass->status;
}

static fixed_pass whole = {.gives = {1, {{0, 3}}}};
static fixed_pass front = {.gives = {2, {{0, 2}, {2, 1}}}};
static fixed_pass back = {.gives = {2, {{0, 1}, {1, 2}}}};

static void set_up(void) {
    fg_fusion_init(&fusion, 1);
    base = (fg_pass_input){.struct_size = sizeof base, .boundary = 1, .claimed = EVERY_RUN};
}

static fg_status add(int32_t kind, fixed_pass *pass) {
    return fg_fusion_add(&fusion, kind, pass_fixed, pass);
}

static void apply(void) {
    cr_assert_eq(fg_fusion_apply(&fusion, &base, 3, &forward, &backward), FG_STATUS_OK, "%s",
                 fg_message());
}

static void check_runs(const fg_run_list *list, const char *expected) {
    char text[64];
    cr_assert_str_eq(fg_run_list_text(list, text, sizeof text), expected);
}

Test(fusion, without_passes_each_op_is_a_run, .init = set_up) {
    apply();
    check_runs(&forward, "0..0 1..1 2..2");
    check_runs(&backward, "0..0 1..1 2..2");
}

Test(fusion, the_built_in_pass_takes_the_whole_run_where_claimed) {
    for (int32_t ops = 1; ops <= 3; ops++) {
        fg_fusion_init(&fusion, 0);
        base.claimed = fg_run_claim((fg_run){0, ops});
        cr_assert_eq(fg_fusion_apply(&fusion, &base, ops, &forward, &backward), FG_STATUS_OK);
        cr_assert_eq(forward.count, 1);
        cr_assert_eq(forward.runs[0].count, ops);
        base.claimed = EVERY_RUN & ~base.claimed;
        cr_assert_eq(fg_fusion_apply(&fusion, &base, ops, &forward, &backward), FG_STATUS_OK);
        cr_assert_eq(forward.count, ops);
        cr_assert_eq(backward.count, ops);
    }
}

Test(fusion, joint_passes_reach_both_lists_and_the_others_one, .init = set_up) {
    add(FG_PASS_JOINT, &front);
    apply();
    check_runs(&forward, "0..1 2..2");
    check_runs(&backward, "0..1 2..2");
    add(FG_PASS_FORWARD, &whole);
    apply();
    check_runs(&forward, "0..2");
    check_runs(&backward, "0..1 2..2");
    add(FG_PASS_BACKWARD, &back);
    apply();
    check_runs(&forward, "0..2");
    check_runs(&backward, "0..0 1..2");
}

Test(fusion, passes_of_a_direction_see_what_the_joint_ones_left, .init = set_up) {
    add(FG_PASS_BACKWARD, &back); // registered first, still after the joint one
    add(FG_PASS_FORWARD, &whole);
    add(FG_PASS_JOINT, &front);
    apply();
    cr_assert_eq(back.came.run_count, 2);
    cr_assert_eq(back.came.runs[0].count, 2);
    cr_assert_eq(whole.came.run_count, 2);
    cr_assert_eq(front.came.run_count, 3);
    cr_assert_eq(front.came.boundary, 1);
    cr_assert_eq(front.came.claimed, EVERY_RUN);
    cr_assert(front.calls == 1 && back.calls == 1 && whole.calls == 1);
}

Test(fusion, passes_of_a_kind_run_in_order_of_registration, .init = set_up) {
    add(FG_PASS_JOINT, &front);
    add(FG_PASS_JOINT, &back);
    apply();
    check_runs(&forward, "0..0 1..2");
    cr_assert_eq(back.came.runs[0].count, 2, "the second sees the first's runs");
}

Test(fusion, a_list_that_does_not_cover_each_op_once_in_order_fails, .init = set_up) {
    static const fg_run_list wrong[] = {{0, {{0, 0}}},
                                        {1, {{0, 2}}},
                                        {1, {{1, 2}}},
                                        {2, {{0, 2}, {1, 2}}},
                                        {2, {{1, 2}, {0, 1}}},
                                        {2, {{0, 3}, {0, 3}}},
                                        {2, {{0, 0}, {0, 3}}},
                                        {2, {{0, 4}, {4, -1}}},
                                        {1, {{0, 4}}},
                                        {1, {{0, INT32_MAX}}},
                                        {1, {{INT32_MAX, INT32_MAX}}},
                                        {3, {{0, 1}, {2, 1}, {1, 1}}},
                                        {4, {{0, 1}, {1, 1}, {2, 1}}},
                                        {-1, {{0, 3}}}};
    for (int32_t kind = FG_PASS_JOINT; kind <= FG_PASS_BACKWARD; kind++) {
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            fixed_pass pass = {.gives = wrong[i]};
            set_up();
            add(kind, &pass);
            cr_assert_eq(fg_fusion_apply(&fusion, &base, 3, &forward, &backward), FG_STATUS_BUILD,
                         "list %d", (int)i);
        }
    }
}

Test(fusion, a_pass_that_fails_is_named, .init = set_up) {
    fixed_pass pass = {.gives = whole.gives, .status = FG_STATUS_UNSUPPORTED};
    add(FG_PASS_BACKWARD, &pass);
    cr_assert_eq(fg_fusion_apply(&fusion, &base, 3, &forward, &backward), FG_STATUS_BUILD);
    cr_assert(strstr(fg_message(), "backward pass 0") && strstr(fg_message(), "UNSUPPORTED"), "%s",
              fg_message());
}

Test(fusion, a_wrong_kind_a_missing_function_and_a_full_table_are_refused, .init = set_up) {
    cr_assert_eq(add(-1, &front), FG_STATUS_INVALID);
    cr_assert_eq(add(3, &front), FG_STATUS_INVALID);
    cr_assert_eq(fg_fusion_add(&fusion, FG_PASS_JOINT, NULL, NULL), FG_STATUS_INVALID);
    cr_assert_eq(fusion.count, 0);
    for (int i = 0; i < FG_FUSION_PASSES; i++) {
        cr_assert_eq(add(FG_PASS_JOINT, &front), FG_STATUS_OK);
    }
    cr_assert_eq(add(FG_PASS_JOINT, &front), FG_STATUS_OVERFLOW);
    cr_assert_eq(fusion.count, FG_FUSION_PASSES);
}

static fg_problem problem_of(int32_t first, int32_t count, int32_t scale_bias) {
    fg_problem problem = fg_problem_default(1, 2, 2);
    problem.bias = 1;
    problem.scale_bias = scale_bias != 0;
    problem.separate_bias_scale = scale_bias == 2;
    problem.first_op = first;
    problem.op_count = count;
    return problem;
}

Test(fusion, ops_own_the_inputs_that_they_read) {
    static const uint32_t fc2[] = {FG_BIT(FG_W2) | FG_BIT(FG_B2),
                                   FG_BIT(FG_W2) | FG_BIT(FG_B2) | FG_BIT(FG_P),
                                   FG_BIT(FG_W2) | FG_BIT(FG_B2) | FG_BIT(FG_BIAS_P)};
    for (int32_t scale_bias = 0; scale_bias < 3; scale_bias++) {
        const fg_problem problem = problem_of(0, 3, scale_bias);
        fg_op_set ops;
        fg_op_set_init(&problem, &ops);
        cr_assert_eq(ops.count, 3);
        cr_assert_eq(ops.params[0], FG_BIT(FG_W1) | FG_BIT(FG_B1));
        cr_assert_eq(ops.params[1], FG_BIT(FG_P));
        cr_assert_eq(ops.params[2], fc2[scale_bias]);
        cr_assert_eq(ops.inputs, FG_BIT(FG_X) | ops.params[0] | ops.params[1] | ops.params[2]);
    }
    const fg_problem tail = problem_of(1, 2, 0);
    fg_op_set ops;
    fg_op_set_init(&tail, &ops);
    cr_assert_eq(ops.inputs, FG_BIT(FG_X) | FG_BIT(FG_P) | FG_BIT(FG_W2) | FG_BIT(FG_B2));
}

/* The boundary as fuser.md words it. */
static int32_t plain_boundary(int32_t mode, uint32_t requires) {
    if (mode == FG_NO_GRAD) {
        return 3;
    }
    if (requires & (FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_B1))) {
        return 0;
    }
    if (requires & FG_BIT(FG_P)) {
        return 1;
    }
    return requires & (FG_BIT(FG_W2) | FG_BIT(FG_B2)) ? 2 : 3;
}

Test(fusion, the_boundary_is_the_smallest_op_that_requires) {
    for (int32_t scale_bias = 0; scale_bias < 2; scale_bias++) {
        const fg_problem problem = problem_of(0, 3, scale_bias);
        fg_op_set ops;
        fg_op_set_init(&problem, &ops);
        for (uint32_t mask = 0; mask < 64; mask++) {
            for (int32_t mode = 0; mode < 2; mode++) {
                cr_assert_eq(fg_op_boundary(&ops, mode, mask), plain_boundary(mode, mask),
                             "mask %#x", mask);
            }
        }
    }
}

Test(fusion, flags_follow_boundary_and_weights) {
    const fg_problem problem = problem_of(0, 3, 0);
    fg_op_set ops;
    fg_op_set_init(&problem, &ops);
    const uint32_t frozen = FG_BIT(FG_B1) | FG_BIT(FG_B2);
    cr_assert_eq(fg_op_flags(&ops, 0, 0, frozen), 1, "a frozen weight needs no input");
    cr_assert_eq(fg_op_flags(&ops, 1, 0, frozen), 3);
    cr_assert_eq(fg_op_flags(&ops, 2, 0, frozen), 1);
    cr_assert_eq(fg_op_flags(&ops, 0, 0, FG_BIT(FG_W1)), 3);
    cr_assert_eq(fg_op_flags(&ops, 0, 1, FG_BIT(FG_W2)), 0);
    cr_assert_eq(fg_op_flags(&ops, 2, 2, FG_BIT(FG_W2)), 3);
    cr_assert_eq(fg_op_flags(&ops, 2, 3, 0), 0);
}

Test(fusion, ops_have_names) {
    cr_assert_str_eq(fg_op_name(FG_OP_FC1), "fc1");
    cr_assert_str_eq(fg_op_name(FG_OP_ACTIVATION), "activation");
    cr_assert_str_eq(fg_op_name(FG_OP_FC2), "fc2");
    cr_assert_str_eq(fg_op_name(3), "?");
    cr_assert_str_eq(fg_op_name(-1), "?");
}
