#include "conformance/executor/executor_model.h"
#include "conformance/executor/plan_checks_random.h"
#include "conformance/suites/exec_fixture.h"
#include "fuser/fuser_executor.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static fg_model model;

static void start(int32_t capacity) {
    fg_problem problem = fg_problem_default(2, 8, 8);
    problem.bias = 1;
    fg_model_start(&model, &problem, capacity);
}

static fg_model_call forward(int32_t mode, const fg_recipe *recipe, uint32_t requires) {
    return fg_model_forward(&model, mode, recipe, requires);
}

Test(model, boundary_is_the_first_op_that_asks) {
    cr_assert_eq(fg_model_boundary(FG_NO_GRAD, 0x7f), FG_OP_COUNT);
    cr_assert_eq(fg_model_boundary(FG_GRAD, 0), FG_OP_COUNT);
    static const int32_t op_of[FG_INPUTS] = {0, 0, 0, 1, 2, 2, 2};
    for (uint32_t mask = 1; mask < FG_BIT(FG_INPUTS); mask++) {
        int32_t first = FG_OP_COUNT;
        for (int i = FG_INPUTS - 1; i >= 0; i--) {
            first = mask & FG_BIT(i) ? op_of[i] : first;
        }
        cr_assert_eq(fg_model_boundary(FG_GRAD, mask), first, "mask 0x%x", mask);
    }
}

Test(model, fields_that_a_kind_does_not_use_do_not_count) {
    fg_recipe a = fg_recipe_default(FG_RECIPE_CURRENT);
    fg_recipe b = a;
    b.margin = 3;
    b.algo = FG_AMAX_MOST_RECENT;
    b.history = 7;
    cr_assert(fg_model_same_recipe(&a, &b));
    b.epsilon = 0.5f;
    cr_assert_not(fg_model_same_recipe(&a, &b));
}

Test(model, every_used_option_counts) {
    static const struct {
        fg_recipe_kind kind;
        const char *option, *value;
    } options[] = {
        {FG_RECIPE_CURRENT, "override", "dequantized"},
        {FG_RECIPE_CURRENT, "format", "e4m3"},
        {FG_RECIPE_CURRENT, "power_of_two", "1"},
        {FG_RECIPE_CURRENT, "epsilon", "1"},
        {FG_RECIPE_DELAYED, "format", "e4m3"},
        {FG_RECIPE_DELAYED, "algo", "most_recent"},
        {FG_RECIPE_DELAYED, "margin", "1"},
        {FG_RECIPE_DELAYED, "history", "2"},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        fg_recipe a = fg_recipe_default(options[i].kind);
        fg_recipe b = a;
        cr_assert_eq(fg_recipe_set(&b, options[i].option, options[i].value), 0);
        cr_assert_not(fg_model_same_recipe(&a, &b), "%s", options[i].option);
    }
}

Test(model, returning_recipe_hits_and_resets) {
    fg_recipe a = fg_recipe_default(FG_RECIPE_CURRENT);
    fg_recipe b = fg_recipe_default(FG_RECIPE_DELAYED);
    start(0);
    cr_assert(forward(FG_GRAD, &a, 1).reset);
    cr_assert_not(forward(FG_GRAD, &b, 1).hit);
    fg_model_call again = forward(FG_GRAD, &a, 1);
    cr_assert(again.hit);
    cr_assert(again.reset);
    cr_assert_eq(model.expected.plans_built, 2);
    cr_assert_eq(model.expected.state_resets, 3);
    cr_assert_eq(model.expected.pre_first, 1);
}

Test(model, history_resets_without_a_new_plan) {
    fg_recipe a = fg_recipe_default(FG_RECIPE_DELAYED);
    start(0);
    forward(FG_GRAD, &a, 1);
    a.history = 16;
    fg_model_call call = forward(FG_GRAD, &a, 1);
    cr_assert(call.hit);
    cr_assert(call.reset);
}

Test(model, plan_used_longest_ago_goes_first) {
    fg_recipe none = fg_recipe_default(FG_RECIPE_NONE);
    start(2);
    forward(FG_GRAD, &none, FG_BIT(FG_X));
    forward(FG_GRAD, &none, FG_BIT(FG_W2));
    forward(FG_GRAD, &none, FG_BIT(FG_X));
    forward(FG_GRAD, &none, FG_BIT(FG_P));
    cr_assert(forward(FG_GRAD, &none, FG_BIT(FG_X)).hit);
    cr_assert_not(forward(FG_GRAD, &none, FG_BIT(FG_W2)).hit);
    cr_assert_eq(model.expected.evictions, 2);
}

Test(model, failed_build_leaves_nothing) {
    fg_recipe none = fg_recipe_default(FG_RECIPE_NONE);
    start(0);
    model.failing = 1;
    cr_assert_null(forward(FG_GRAD, &none, 1).plan);
    cr_assert_not(forward(FG_GRAD, &none, 1).hit);
    cr_assert_eq(model.expected.plans_built, 1);
}

Test(model, comparison_names_the_first_wrong_count) {
    fg_recipe none = fg_recipe_default(FG_RECIPE_NONE);
    char text[192];
    int32_t missing = 0;
    start(0);
    forward(FG_GRAD, &none, 1);
    forward(FG_GRAD, &none, 1);
    fg_counters got = model.expected;
    cr_assert(fg_model_compare(&model, &got, text, sizeof text, &missing));
    got.plans_built = 6;
    cr_assert_not(fg_model_compare(&model, &got, text, sizeof text, &missing));
    cr_assert_str_eq(text, "plans built: expected 1, got 6");
    got.plans_built = FG_NOT_GIVEN;
    cr_assert(fg_model_compare(&model, &got, text, sizeof text, &missing));
    cr_assert_eq(missing, 1);
}

Test(model, actions_survive_their_text) {
    const char *text = "nograd,grad,back,step,clear,evict,pass:forward.fc1_act,recipe:delayed,"
                       "opt:margin:2,hist:16,dev:-1,cap:3,need:19,hook:equal_hash:1";
    fg_action actions[FG_ACTIONS];
    char back[FG_CASE_LINE];
    int32_t count = 0;
    cr_assert_eq(fg_actions_parse(text, 1, actions, FG_ACTIONS, &count), 0, "%s", fg_message());
    cr_assert_eq(count, 14);
    cr_assert_eq(fg_actions_format(actions, count, back, sizeof back), strlen(text));
    cr_assert_str_eq(back, text);
}

Test(model, masks_are_numbers_or_names) {
    fg_action action;
    int32_t count = 0;
    cr_assert_eq(fg_actions_parse("need:x+w1+b2", 1, &action, 1, &count), 0);
    cr_assert_eq(action.number, FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_B2));
    cr_assert_eq(fg_actions_parse("need:none", 1, &action, 1, &count), 0);
    cr_assert_eq(action.number, 0);
}

Test(model, bad_actions_say_where_and_what) {
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"grad,nogrd", "column 6: found action 'nogrd', which is none; nearest is 'nograd'"},
        {"need:w3", "column 1: found input 'w3', which is none; nearest is 'w1'"},
        {"hist:1", "column 1: found '1', expected a number 2..65536"},
        {"cap:x", "column 1: found 'x', expected a number 0..64"},
        {"grad:1", "column 1: found 1 parts after 'grad', expected 0"},
        {"opt:margin", "column 1: found 1 parts after 'opt', expected 2"},
        {"opt:colour:2", "column 1: found recipe option 'colour'"},
        {"recipe:mxfp8", "column 1: found recipe 'mxfp8', expected none, current or delayed"},
        {"back,pass:fc3", "column 6: found pass 'fc3'"},
        {"pass:sideways.basic", "column 1: found kind of pass 'sideways'"},
        {"grad,,back", "column 6: found action ''"},
        {"hook:a:1:2", "column 1: found ':2', expected ','"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        fg_action actions[4];
        int32_t count = 0;
        cr_assert_eq(fg_actions_parse(bad[i].text, 1, actions, 4, &count), FG_STATUS_PARSE, "%s",
                     bad[i].text);
        cr_assert(strstr(fg_message(), bad[i].says), "%s: %s", bad[i].text, fg_message());
    }
    fg_action one;
    int32_t count = 0;
    cr_assert_eq(fg_actions_parse("grad,back", 1, &one, 1, &count), FG_STATUS_PARSE);
}

/* The fuser, but for a margin that it never hears of. */
static const fg_executor_api *right;
static fg_executor_api forgetful;

static fg_status forget_margin(fg_executor *executor, int32_t mode, const fg_recipe *recipe,
                               uint32_t requires, const fg_inputs *inputs, const fg_tensor *y,
                               const fg_token *token_in, fg_token **token_out,
                               fg_context **context) {
    fg_recipe forgotten = *recipe;
    forgotten.margin = 0;
    return right->forward(executor, mode, &forgotten, requires, inputs, y, token_in, token_out,
                          context);
}

static fg_status forgetful_entry(uint32_t abi, const fg_host *host, const fg_executor_api **out) {
    FG_TRY(fg_fuser_executor_entry(abi, host, &right));
    forgetful = *right;
    forgetful.forward = forget_margin;
    *out = &forgetful;
    return FG_STATUS_OK;
}

Test(model, seeded_fault_shrinks_to_six_actions_or_fewer) {
    static fg_exec_fixture fixture;
    fg_action actions[FG_ACTIONS];
    fg_random_end end;
    char text[FG_CASE_LINE];
    int32_t found = 0;
    cr_assert_eq(fg_exec_fixture_open_executor("recorder", forgetful_entry,
                                               FG_FIXTURE_LINE("plan", ""), &fixture),
                 0, "%s", fg_message());
    for (uint64_t i = 0; i < 400; i++) {
        int32_t count = 0;
        fg_random_actions(11, i, 1, 1, actions, &count);
        cr_assert_eq(fg_random_try(&fixture.set, actions, count, &end), 0);
        if (end.failure[0]) {
            cr_assert_eq(fg_random_shrink(&fixture.set, actions, &count), 0);
            cr_assert_eq(fg_random_try(&fixture.set, actions, count, &end), 0);
            fg_actions_format(actions, count, text, sizeof text);
            cr_assert(end.failure[0], "shrunk sequence no longer fails: %s", text);
            cr_assert_leq(count, 6, "%s", text);
            cr_assert(strstr(text, "margin"), "%s", text);
            found++;
        }
    }
    cr_assert_geq(found, 3);
    fg_exec_fixture_close(&fixture);
}

Test(model, random_check_reports_the_shortest_sequence) {
    static fg_exec_fixture fixture;
    cr_assert_eq(fg_exec_fixture_open_executor("recorder", forgetful_entry,
                                               FG_FIXTURE_LINE("plan", "seed=11"), &fixture),
                 0, "%s", fg_message());
    cr_assert_eq(fg_plan_random(&fixture.set, "random", 400, &fixture.result), 0);
    cr_assert_eq(fixture.result.state, FG_STATE_FAIL);
    cr_assert(strstr(fixture.result.reason, "opt:margin:2"), "%s", fixture.result.reason);
    fg_exec_fixture_close(&fixture);
}

Test(model, random_sequences_are_the_same_for_a_seed) {
    fg_action a[FG_ACTIONS];
    fg_action b[FG_ACTIONS];
    int32_t count = 0;
    int32_t again = 0;
    int32_t longest = 0;
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    for (uint64_t i = 0; i < 300; i++) {
        fg_random_actions(5, i, 1, 1, a, &count);
        fg_random_actions(5, i, 1, 1, b, &again);
        cr_assert_eq(count, again);
        cr_assert_arr_eq(a, b, (size_t)count * sizeof *a);
        longest = count > longest ? count : longest;
    }
    cr_assert_eq(longest, FG_RANDOM_ACTIONS);
}
