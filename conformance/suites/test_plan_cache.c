#include "conformance/executor/plan_checks.h"
#include "conformance/executor/plan_checks_random.h"
#include "conformance/executor/plan_checks_threads.h"
#include "conformance/suites/exec_fixture.h"
#include "conformance/suites/exec_starve.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define LINE(more) FG_FIXTURE_LINE("plan", more)

/* Runs one check of the table on the fuser and demands that it passes. */
static void passes(const char *backend, const char *name) {
    static fg_exec_fixture fixture;
    cr_assert_eq(fg_exec_fixture_open(backend, LINE("iters=5"), &fixture), 0, "%s", fg_message());
    const fg_plan_check *check = NULL;
    for (int32_t i = 0; fg_plan_check_at(i); i++) {
        if (strcmp(fg_plan_check_at(i)->name, name) == 0) {
            check = fg_plan_check_at(i);
        }
    }
    cr_assert(check, "no check is called %s", name);
    cr_assert_eq(check->run(&fixture.set, check, &fixture.result), 0, "%s", fg_message());
    const fg_check *found = fg_exec_fixture_check(&fixture.result, name);
    cr_assert(found && found->state == FG_CHECK_PASS, "%s on %s: %s", name, backend,
              found ? found->where : "not recorded");
    fg_exec_fixture_close(&fixture);
}

#define CHECK_PASSES(name)                                                                         \
    Test(plan_cache, name) {                                                                       \
        passes("recorder", #name);                                                                 \
    }

CHECK_PASSES(one_mode)
CHECK_PASSES(one_mode_nograd)
CHECK_PASSES(alternating)
CHECK_PASSES(further_boundary)
CHECK_PASSES(recipe_a_then_b)
CHECK_PASSES(recipe_a_b_a)
CHECK_PASSES(recipes_alternate)
CHECK_PASSES(equal_options)
CHECK_PASSES(option_margin)
CHECK_PASSES(option_algo)
CHECK_PASSES(option_format_delayed)
CHECK_PASSES(option_format_current)
CHECK_PASSES(option_power_of_two)
CHECK_PASSES(option_epsilon)
CHECK_PASSES(history_length)
CHECK_PASSES(backward_override)
CHECK_PASSES(pass_later)
CHECK_PASSES(device_property)
CHECK_PASSES(capacity_one)
CHECK_PASSES(identity)
CHECK_PASSES(order_of_events)
CHECK_PASSES(eviction)
CHECK_PASSES(failed_build)
CHECK_PASSES(bad_passes)
CHECK_PASSES(equal_hash)
CHECK_PASSES(devices_streams)
CHECK_PASSES(growth)
CHECK_PASSES(threads)
CHECK_PASSES(forms)

Test(plan_cache, ten_thousand_random_sequences_follow_the_model) {
    static fg_exec_fixture fixture;
    cr_assert_eq(fg_exec_fixture_open("recorder", LINE("seed=20"), &fixture), 0, "%s",
                 fg_message());
    cr_assert_eq(fg_plan_random(&fixture.set, "random", 10000, &fixture.result), 0);
    cr_assert_eq(fixture.result.checks[0].state, FG_CHECK_PASS, "%s",
                 fixture.result.checks[0].where);
    fg_exec_fixture_close(&fixture);
}

Test(plan_cache, checks_without_recipes_pass_on_host) {
    static fg_exec_fixture fixture;
    cr_assert_eq(fg_exec_fixture_open("host", LINE("iters=3"), &fixture), 0, "%s", fg_message());
    int32_t ran = 0;
    cr_assert_eq(fg_plan_checks(&fixture.set, &fixture.result, &ran), 0, "%s", fg_message());
    cr_assert_eq(fixture.result.state, FG_STATE_PASS, "%s", fixture.result.reason);
    cr_assert_geq(ran, 17);
    fg_exec_fixture_close(&fixture);
}

Test(plan_cache, operands_on_two_devices_are_refused_by_name) {
    static fg_exec_fixture fixture;
    cr_assert_eq(fg_exec_fixture_open("host", LINE(""), &fixture), 0, "%s", fg_message());
    const fg_executor_api *api = fixture.env.api;
    fg_exec_data *data = fixture.set.data;
    fg_executor *executor = NULL;
    fg_context *context = NULL;
    fg_recipe recipe = fg_recipe_default(FG_RECIPE_NONE);
    cr_assert_eq(api->create(&fixture.value.problem, &fixture.env.options, &executor), 0);
    fg_exec_data_device(data, 0);
    fg_exec_out_device(fixture.set.out, 0);
    data->inputs[FG_W2].device = 1;
    fg_status status = api->forward(executor, FG_GRAD, &recipe, FG_BIT(FG_X), &data->in,
                                    &fixture.set.out->tensors[FG_INPUTS], NULL, NULL, &context);
    cr_assert_eq(status, FG_STATUS_DEVICE);
    cr_assert_null(context);
    cr_assert(strstr(fg_message(), "w2") && strstr(fg_message(), "device 0") &&
                  strstr(fg_message(), "device 1"),
              "%s", fg_message());
    api->destroy(executor);
    fg_exec_fixture_close(&fixture);
}

static fg_status run_row(fg_exec_fixture *fixture) {
    int32_t ran = 0;
    return fg_plan_checks(&fixture->set, &fixture->result, &ran);
}

Test(plan_cache, no_allocation_may_fail_unnoticed) {
    fg_exec_starve(LINE("seq=3 iters=2"), run_row);
}
