#include "conformance/executor/exec_judge.h"
#include "conformance/executor/passes.h"
#include "conformance/suites/exec_fixture.h"
#include "conformance/tensors/data.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static fg_exec_fixture fixture;

static void open_line(const char *line) {
    cr_assert_eq(fg_exec_fixture_open("recorder", line, &fixture), 0, "%s", fg_message());
}

/* Runs a named pass on runs of all three ops; returns its status. */
static fg_status run_pass(const char *name, fg_run runs[FG_OP_COUNT], int32_t *count) {
    const fg_pass_input in = {
        .struct_size = sizeof in, .boundary = 0, .run_count = 2, .runs = {{0, 1}, {1, 2}}};
    fg_pass_fn pass = fg_pass_from_name(name);
    cr_assert(pass, "%s", name);
    cr_assert_str_eq(fg_pass_name(pass), name);
    memset(runs, 0xff, FG_OP_COUNT * sizeof *runs);
    *count = -1;
    return pass(NULL, &in, runs, count);
}

Test(exec_parts, passes_write_the_runs_that_their_names_say) {
    static const struct {
        const char *name;
        int32_t count;
        fg_run runs[FG_OP_COUNT];
    } rows[] = {
        {"identity", 2, {{0, 1}, {1, 2}}},
        {"basic", 3, {{0, 1}, {1, 1}, {2, 1}}},
        {"fc1_act", 2, {{0, 2}, {2, 1}}},
        {"act_fc2", 2, {{0, 1}, {1, 2}}},
        {"whole", 1, {{0, 3}}},
        {"gap", 2, {{0, 1}, {1, 1}}},
        {"overlap", 2, {{0, 2}, {1, 2}}},
        {"disorder", 3, {{2, 1}, {1, 1}, {0, 1}}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_run runs[FG_OP_COUNT];
        int32_t count = 0;
        cr_assert_eq(run_pass(rows[i].name, runs, &count), 0);
        cr_assert_eq(count, rows[i].count, "%s: %d runs", rows[i].name, count);
        cr_assert_arr_eq(runs, rows[i].runs, (size_t)count * sizeof *runs, "%s", rows[i].name);
    }
}

Test(exec_parts, refusing_pass_and_unknown_names_say_so) {
    fg_run runs[FG_OP_COUNT];
    int32_t count = 0;
    cr_assert_eq(run_pass("refuse", runs, &count), FG_STATUS_UNSUPPORTED);
    cr_assert_null(fg_pass_from_name("fast"));
    cr_assert_null(fg_pass_name(NULL));
}

Test(exec_parts, accumulated_gradients_are_those_of_weights) {
    fg_problem problem = fg_problem_default(2, 8, 8);
    uint32_t all = FG_BIT(FG_INPUTS) - 1u;
    cr_assert_eq(fg_exec_accumulate(&problem, all), 0);
    problem.accumulate = 1;
    cr_assert_eq(fg_exec_accumulate(&problem, all), FG_BIT(FG_W1) | FG_BIT(FG_W2));
    cr_assert_eq(fg_exec_accumulate(&problem, FG_BIT(FG_X) | FG_BIT(FG_W2)), FG_BIT(FG_W2));
}

Test(exec_parts, statuses_of_calls_and_of_this_side_are_told_apart) {
    cr_assert_eq(fg_exec_fault(FG_STATUS_CRASH), FG_FAULT_CRASH);
    cr_assert_eq(fg_exec_fault(FG_STATUS_TIMEOUT), FG_FAULT_TIMEOUT);
    cr_assert_eq(fg_exec_fault(FG_STATUS_SHAPE), FG_FAULT_CONTRACT);
    fg_exec_env env = {0};
    cr_assert(fg_exec_own_trouble(&env, FG_STATUS_NO_MEMORY));
    cr_assert(fg_exec_own_trouble(&env, FG_STATUS_INVALID));
    cr_assert_not(fg_exec_own_trouble(&env, FG_STATUS_OK));
    env.refused.status = FG_STATUS_NO_MEMORY;
    cr_assert_not(fg_exec_own_trouble(&env, FG_STATUS_NO_MEMORY));
    cr_assert(fg_exec_own_trouble(&env, FG_STATUS_INVALID));
}

Test(exec_parts, lacks_of_an_executor_are_no_failure_yet) {
    fg_result result = {0};
    cr_assert_not(fg_exec_set_resource(FG_STATUS_IO, "a text", &result));
    cr_assert_eq(result.state, FG_STATE_PASS);
    cr_assert(fg_exec_set_resource(FG_STATUS_DEVICE_LOST, "a text", &result));
    cr_assert_eq(result.state, FG_STATE_RESOURCE);
    cr_assert_str_eq(result.reason, "a text");
    result.state = FG_STATE_FAIL;
    cr_assert(fg_exec_set_resource(FG_STATUS_NO_MEMORY, "a text", &result));
    cr_assert_eq(result.state, FG_STATE_FAIL);
}

Test(exec_parts, poison_is_nan_but_where_gradients_are_added) {
    open_line(FG_FIXTURE_LINE("boundary", "wgrad=accumulate"));
    fg_exec_out *out = fixture.set.out;
    const float *dw1 = out->tensors[FG_W1].data;
    const float *dx = out->tensors[FG_X].data;
    fg_exec_out_poison(out, out->has, FG_BIT(FG_W1));
    cr_assert(isnan(dx[0]) && isnan(dx[7]));
    for (int i = 0; i < 10; i++) {
        cr_assert_eq(dw1[i], (float)(i % 5 - 2));
    }
    cr_assert(isnan(*(const float *)out->tensors[FG_W2].data));
    fg_exec_fixture_close(&fixture);
}

Test(exec_parts, added_gradients_contain_what_was_there) {
    float alone = 0;
    open_line(FG_FIXTURE_LINE("boundary", ""));
    alone = ((const float *)fixture.set.expected->tensors[FG_W1].data)[0];
    fg_exec_fixture_close(&fixture);
    open_line(FG_FIXTURE_LINE("boundary", "wgrad=accumulate"));
    float added = ((const float *)fixture.set.expected->tensors[FG_W1].data)[0];
    cr_assert_float_eq(added, alone - 2.0f, 1e-5, "%g and %g", (double)added, (double)alone);
    fg_exec_fixture_close(&fixture);
}

Test(exec_parts, elements_that_are_poison_on_one_side_are_told_as_such) {
    char text[192] = "";
    open_line(FG_FIXTURE_LINE("boundary", ""));
    fg_exec_out *out = fixture.set.out, *expected = fixture.set.expected;
    fg_exec_out_poison(out, out->has, 0);
    cr_assert_not(fg_exec_out_equal(expected, out, FG_EXEC_Y, text, sizeof text));
    cr_assert(strstr(text, "y[0]: expected ") && strstr(text, "got nothing written"), "%s", text);
    cr_assert_not(fg_exec_out_equal(out, expected, FG_EXEC_Y, text, sizeof text));
    cr_assert(strstr(text, "y[0]: must stay untouched, got "), "%s", text);
    fg_exec_fixture_close(&fixture);
}

Test(exec_parts, refilled_inputs_change_and_come_back) {
    open_line(FG_FIXTURE_LINE("boundary", "seed=5"));
    fg_exec_data *data = fixture.set.data;
    uint64_t before = fg_exec_data_hash(data);
    for (int input = 0; input <= FG_DATA_DY; input++) {
        if (input == FG_BIAS_P) {
            cr_assert_eq(fg_exec_data_refill(data, input, 6), FG_STATUS_INVALID);
            continue;
        }
        cr_assert_eq(fg_exec_data_refill(data, input, 6), 0);
        cr_assert_neq(fg_exec_data_hash(data), before, "input %d", input);
        cr_assert_eq(fg_exec_data_refill(data, input, 5), 0);
        cr_assert_eq(fg_exec_data_hash(data), before, "input %d", input);
    }
    fg_exec_fixture_close(&fixture);
}

Test(exec_parts, tensors_say_on_which_device_they_are) {
    open_line(FG_FIXTURE_LINE("boundary", ""));
    fg_exec_data_device(fixture.set.data, 1);
    fg_exec_out_device(fixture.set.out, 1);
    cr_assert_eq(fixture.set.data->inputs[FG_W1].device, 1);
    cr_assert_eq(fixture.set.data->in.inputs[FG_X]->device, 1);
    cr_assert_eq(fixture.set.data->splits.device, 1);
    cr_assert_eq(fixture.set.data->dy.device, 1);
    cr_assert_eq(fixture.set.out->tensors[FG_INPUTS].device, 1);
    cr_assert_eq(fixture.set.out->tensors[FG_W2].device, 1);
    fg_exec_fixture_close(&fixture);
}

Test(exec_parts, splits_follow_their_type) {
    open_line("boundary dt=f32 E=3 H=16 F=24 splits=2,0,3 T=6 idx=i64 hsplits=1 data=normal");
    const fg_exec_data *data = fixture.set.data;
    const int64_t *splits = data->splits.data; // [E]
    cr_assert_eq(data->splits.dtype, FG_I64);
    cr_assert(splits[0] == 2 && splits[1] == 0 && splits[2] == 3);
    cr_assert_not_null(data->in.splits_host);
    cr_assert_eq(data->in.splits_host[2], 3);
    cr_assert(data->begin[0] == 0 && data->begin[3] == 5);
    fg_exec_fixture_close(&fixture);
}

Test(exec_parts, judging_counts_every_element_and_names_the_worst) {
    char text[192] = "";
    int good = 0;
    open_line(FG_FIXTURE_LINE("boundary", ""));
    fg_exec_out *expected = fixture.set.expected;
    cr_assert_eq(fg_exec_judge(fixture.set.data, &fixture.env.traits, expected, expected->has,
                               &fixture.result, &good, text, sizeof text),
                 0, "%s", fg_message());
    cr_assert(good, "%s", text);
    // y and dx of 5 rows, dp, and three experts' weights and biases.
    int64_t owed = 2 * 5 * 16 + 5 + 3 * (48 * 16 + 48 + 16 * 24 + 16);
    cr_assert_eq(fixture.result.elements_owed, owed);
    cr_assert_eq(fixture.result.elements_compared, owed);
    cr_assert_gt(fixture.result.seconds_reference, 0);
    ((float *)expected->tensors[FG_P].data)[1] += 1.0f;
    cr_assert_eq(fg_exec_judge(fixture.set.data, &fixture.env.traits, expected, FG_BIT(FG_P),
                               &fixture.result, &good, text, sizeof text),
                 0);
    cr_assert_not(good);
    cr_assert(strstr(text, "dp"), "%s", text);
    fg_exec_fixture_close(&fixture);
}

Test(exec_parts, environment_counts_and_closes) {
    fg_outside_counts counts = {0};
    open_line(FG_FIXTURE_LINE("boundary", ""));
    fg_exec_env *env = &fixture.env;
    cr_assert_eq(env->outside(env, &counts), 0);
    int64_t lookups = counts.stream_lookups;
    fg_stream a = env->options.stream_for(env->options.user, 0);
    fg_stream b = env->options.stream_for(env->options.user, 0);
    cr_assert(a && b && a != b);
    cr_assert_null(env->options.stream_for(env->options.user, 7));
    (void)env->options.host->current_device(env->options.host->user);
    env->options.host->log(env->options.host->user, "a line");
    cr_assert_eq(env->outside(env, &counts), 0);
    cr_assert_eq(counts.stream_lookups - lookups, 3);
    cr_assert_eq(counts.current_device_queries, 1);
    void *memory = NULL;
    cr_assert_eq(env->memory(env, 1000, &memory), 0);
    cr_assert_eq((uintptr_t)memory % 256, 0);
    cr_assert_eq(((unsigned char *)memory)[999], 0);
    env->memory_free(env, memory);
    env->memory_free(env, NULL);
    fg_exec_fixture_close(&fixture);
    cr_assert_null(fixture.env.state);
    fg_exec_env_close(&fixture.env);
}

Test(exec_parts, another_backend_counts_no_kernels) {
    fg_outside_counts counts = {0};
    cr_assert_eq(fg_exec_fixture_open("host", FG_FIXTURE_LINE("boundary", ""), &fixture), 0);
    cr_assert_eq(fixture.env.outside(&fixture.env, &counts), 0);
    cr_assert_eq(counts.kernels_created, FG_NOT_GIVEN);
    cr_assert_eq(counts.backwards, FG_NOT_GIVEN);
    cr_assert_eq(counts.last_forward_kernel, FG_NOT_GIVEN);
    cr_assert_gt(counts.stream_lookups, 0);
    fg_exec_fixture_close(&fixture);
}
