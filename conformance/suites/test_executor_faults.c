#include "conformance/executor/boundary_checks.h"
#include "conformance/executor/plan_checks.h"
#include "conformance/executor/recompute_checks.h"
#include "conformance/suites/exec_fixture.h"
#include "conformance/suites/faulty_executor.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* A fault, the case that it runs in, the check that must fail, and what that must say. */
typedef struct fault_row {
    fg_faulty fault;
    const char *line, *check, *says;
} fault_row;

#define PLAN(more) FG_FIXTURE_LINE("plan", "iters=3 " more)
#define BOUNDARY(more) FG_FIXTURE_LINE("boundary", more)
#define RECOMPUTE(more) FG_FIXTURE_LINE("recompute", "iters=2 " more)

static fg_exec_fixture fixture;

/* Runs a case whose expected results come from the right fuser on an executor with a fault. */
static void run_faulty(fg_faulty fault, const char *line) {
    int32_t ran = 0;
    fg_status status = FG_STATUS_OK;
    fg_faulty_choose(fault == FG_FAULTY_NO_FUNCTIONS ? fault : FG_FAULTY_NOTHING);
    cr_assert_eq(
        fg_exec_fixture_open_executor("recorder", fg_faulty_executor_entry, line, &fixture), 0,
        "%s: %s", line, fg_message());
    fg_faulty_choose(fault);
    switch (fixture.value.kind) {
    case FG_CASE_PLAN:
        status = fg_plan_checks(&fixture.set, &fixture.result, &ran);
        break;
    case FG_CASE_BOUNDARY:
        status = fg_boundary_checks(&fixture.set, &fixture.result);
        break;
    default:
        status = fg_recompute_checks(&fixture.set, &fixture.result);
    }
    cr_assert_eq(status, 0, "%s: %s", line, fg_message());
    fg_exec_fixture_close(&fixture);
    fg_faulty_choose(FG_FAULTY_NOTHING);
}

static void noticed(const fault_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        run_faulty(rows[i].fault, rows[i].line);
        const fg_check *check = fg_exec_fixture_check(&fixture.result, rows[i].check);
        cr_assert(check, "row %zu: no check %s", i, rows[i].check);
        cr_assert_eq(check->state, FG_CHECK_FAIL, "row %zu: %s passes", i, rows[i].check);
        cr_assert(strstr(check->where, rows[i].says), "row %zu: %s", i, check->where);
        cr_assert_eq(fixture.result.state, FG_STATE_FAIL);
    }
}
#define NOTICED(rows) noticed(rows, sizeof(rows) / sizeof(rows)[0])

Test(executor_faults, wrong_counts_are_noticed) {
    static const fault_row rows[] = {
        {FG_FAULTY_BUILT, PLAN("seq=3"), "alternating", "plans built: expected 2, got 3"},
        {FG_FAULTY_RESETS, PLAN("seq=3"), "alternating", "state resets: expected 1, got 2"},
        {FG_FAULTY_EVICTIONS, PLAN("seq=19"), "capacity_one", "evictions: expected 5, got 6"},
        {FG_FAULTY_KERNELS, PLAN("seq=1"), "one_mode",
         "kernels created: the executor says 2, counted outside 1"},
        {FG_FAULTY_BUILT, PLAN("seq=32"), "eviction", "plans built: expected 1, got 2"},
        {FG_FAULTY_BUILT, PLAN("seq=35"), "equal_hash", "plans built"},
        {FG_FAULTY_BUILT, PLAN("seq=38"), "threads", "plans built: expected 4, got 5"},
        {FG_FAULTY_BUILT, PLAN("seq=40"), "forms", "plans built"},
        {FG_FAULTY_BUILT, BOUNDARY("want=dx"), "boundary", "plans built: expected 1, got 2"},
        {FG_FAULTY_RESETS, RECOMPUTE("seq=6"), "train_evaluate", "state resets"},
        {FG_FAULTY_BUILT, PLAN("actions=grad,back"), "actions", "plans built: expected 1, got 2"},
    };
    NOTICED(rows);
}

Test(executor_faults, launches_are_counted_outside) {
    static const fault_row rows[] = {
        {FG_FAULTY_LOOKUPS, PLAN("seq=36"), "devices_streams",
         "stream look-ups: expected 24, got 40 outside"},
        {FG_FAULTY_ASKS, PLAN("seq=36"), "devices_streams",
         "current-device queries: expected 0, got"},
        {FG_FAULTY_STREAM, PLAN("seq=36"), "devices_streams", "streams used: expected"},
        {FG_FAULTY_GROWS, PLAN("seq=37"), "growth", "bytes held: expected"},
        {FG_FAULTY_HOLDS, PLAN("seq=37"), "growth", "blocks held: expected"},
        {FG_FAULTY_HOLDS, BOUNDARY("want=dx"), "released", "alive after destroy: expected"},
    };
    NOTICED(rows);
}

Test(executor_faults, lists_events_and_entries_are_compared) {
    static const fault_row rows[] = {
        {FG_FAULTY_FORWARD_LIST, PLAN("seq=30"), "identity", "forward list of a hit"},
        {FG_FAULTY_BACKWARD_LIST, PLAN("seq=30"), "identity", "backward list of a hit"},
        {FG_FAULTY_SAME_LISTS, PLAN("seq=30"), "identity",
         "forward list of a new plan: expected a new number, got 5 again"},
        {FG_FAULTY_SAME_LISTS, RECOMPUTE("seq=1 first=none"), "recompute", "of a new plan"},
        {FG_FAULTY_NO_LISTS, PLAN("seq=30"), "identity", "expected a number above 0, got 0"},
        {FG_FAULTY_ONE_LIST, PLAN("seq=40"), "forms",
         "backward list: expected another than the forward list of other entries"},
        {FG_FAULTY_EVENTS, PLAN("seq=31"), "order_of_events",
         "event 0: expected boundary, got state key"},
        {FG_FAULTY_LAST_EVENT, PLAN("seq=31"), "order_of_events", "expected execute, got none"},
        {FG_FAULTY_RUNS, PLAN("seq=40"), "forms", "entries forward: expected 1, got 2"},
    };
    NOTICED(rows);
}

Test(executor_faults, builds_that_must_fail_are_demanded) {
    static const fault_row rows[] = {
        {FG_FAULTY_FAIL_HOOK, PLAN("seq=33"), "failed_build", "forward: expected BUILD, got OK"},
        {FG_FAULTY_PASSES, PLAN("seq=34"), "bad_passes", "pass gap, call 0: expected a refusal"},
        {FG_FAULTY_DEVICES, PLAN("seq=36"), "devices_streams", "expected DEVICE, got OK"},
    };
    NOTICED(rows);
}

Test(executor_faults, flags_and_contexts_follow_the_boundary) {
    static const fault_row rows[] = {
        {FG_FAULTY_FLAGS, BOUNDARY("want=dx mode=nograd"), "boundary",
         "flags of op 0 after a no-grad call"},
        {FG_FAULTY_BOUNDARY, BOUNDARY("want=dw2"), "boundary",
         "boundary 2: expected requires_grad 0 of op 0, got 1"},
        {FG_FAULTY_NO_CONTEXT, BOUNDARY("want=dw2"), "boundary", "context: expected one, got none"},
    };
    NOTICED(rows);
}

Test(executor_faults, wrong_bits_are_noticed_wherever_they_are) {
    static const fault_row rows[] = {
        {FG_FAULTY_Y, PLAN("seq=30"), "identity", "y[0]: expected"},
        {FG_FAULTY_Y, BOUNDARY("want=dx"), "gradients", "y[0]: expected"},
        {FG_FAULTY_Y, PLAN("seq=38"), "threads", "y[0]: expected"},
        {FG_FAULTY_Y_BEFORE, BOUNDARY("want=dx"), "gradients",
         "y: expected its guard untouched, "
         "got a write before it"},
        {FG_FAULTY_Y_AFTER, BOUNDARY("want=dx"), "gradients", "got a write after it"},
        {FG_FAULTY_GRADIENT, BOUNDARY("want=dx,dp"), "gradients", "dp[0]: expected"},
        {FG_FAULTY_GRADIENT, BOUNDARY("want=dx,dp"), "repeat", "dp[0]: expected"},
        {FG_FAULTY_GRADIENT, RECOMPUTE("seq=1"), "recompute", "db2[0]: expected"},
        {FG_FAULTY_AGAIN, BOUNDARY("want=dx"), "backward_again", "dx[0]: expected"},
        {FG_FAULTY_UNASKED, BOUNDARY("want=dx"), "gradients", "dw1: expected no write, got one"},
    };
    NOTICED(rows);
}

Test(executor_faults, inputs_and_refusals_are_watched) {
    static const fault_row rows[] = {
        {FG_FAULTY_ACCEPTS, BOUNDARY("want=dx"), "refusals",
         "dx left out: expected INVALID, got OK"},
        {FG_FAULTY_ACCEPTS, BOUNDARY("want=none first=dw2"), "refusals", "given unasked"},
        {FG_FAULTY_INPUT, BOUNDARY("want=dx"), "inputs", "got a write"},
        {FG_FAULTY_INPUT, RECOMPUTE("seq=1"), "inputs", "got a write"},
    };
    NOTICED(rows);
}

Test(executor_faults, what_a_plan_may_not_hold_is_noticed) {
    static const fault_row rows[] = {
        {FG_FAULTY_STALE, RECOMPUTE("seq=7"), "fresh_in_place", "refilled"},
        {FG_FAULTY_POINTERS, RECOMPUTE("seq=7"), "new_pointers", "expected"},
        {FG_FAULTY_EARLIER, RECOMPUTE("seq=7"), "earlier_outputs", "earlier outputs: y[0]"},
        {FG_FAULTY_OTHER_EXECUTOR, RECOMPUTE("seq=8"), "two_executors", "another executor"},
        {FG_FAULTY_Y, RECOMPUTE("seq=7"), "devices", "y[0]: expected"},
        {FG_FAULTY_Y, RECOMPUTE("seq=7"), "new_rows", "y[0]: expected"},
    };
    NOTICED(rows);
}

Test(executor_faults, every_sequence_compares_bits) {
    static const fault_row rows[] = {
        {FG_FAULTY_GRADIENT, RECOMPUTE("seq=1"), "recompute_token", "[0]: expected"},
        {FG_FAULTY_GRADIENT, RECOMPUTE("seq=1"), "recompute_pipelined", "[0]: expected"},
        {FG_FAULTY_GRADIENT, RECOMPUTE("seq=2"), "no_grad_between", "[0]: expected"},
        {FG_FAULTY_GRADIENT, RECOMPUTE("seq=2"), "another_mask_between", "[0]: expected"},
        {FG_FAULTY_GRADIENT, RECOMPUTE("seq=3"), "recipe_between", "[0]: expected"},
        {FG_FAULTY_GRADIENT, RECOMPUTE("seq=3"), "override_between", "[0]: expected"},
        {FG_FAULTY_GRADIENT, RECOMPUTE("seq=4"), "plan_cleared", "[0]: expected"},
        {FG_FAULTY_GRADIENT, RECOMPUTE("seq=4"), "plan_evicted", "[0]: expected"},
        {FG_FAULTY_GRADIENT, RECOMPUTE("seq=6"), "train_evaluate_delayed", "[0]: expected"},
        {FG_FAULTY_GRADIENT, RECOMPUTE("seq=8"), "threads", "[0]: expected"},
    };
    NOTICED(rows);
}

Test(executor_faults, dead_and_silent_executors_have_their_kind) {
    run_faulty(FG_FAULTY_DEAD, PLAN("seq=1"));
    cr_assert_eq(fixture.result.fault, FG_FAULT_CRASH, "%s", fixture.result.reason);
    run_faulty(FG_FAULTY_LATE, PLAN("seq=1"));
    cr_assert_eq(fixture.result.fault, FG_FAULT_TIMEOUT, "%s", fixture.result.reason);
    run_faulty(FG_FAULTY_Y, PLAN("seq=30"));
    cr_assert_eq(fixture.result.fault, FG_FAULT_NUMERIC, "%s", fixture.result.reason);
    run_faulty(FG_FAULTY_Y_AFTER, PLAN("seq=30"));
    cr_assert_eq(fixture.result.fault, FG_FAULT_MEMORY, "%s", fixture.result.reason);
}

/* Demands that a check of a case did not run, and that nothing failed. */
static void not_run(fg_faulty fault, const char *line, const char *name) {
    run_faulty(fault, line);
    const fg_check *check = fg_exec_fixture_check(&fixture.result, name);
    cr_assert(check && check->state == FG_CHECK_NOT_RUN, "%s: %s", name,
              check ? check->where : "no such check");
    cr_assert_neq(fixture.result.state, FG_STATE_FAIL, "%s", fixture.result.reason);
}

Test(executor_faults, counts_that_are_not_given_are_no_pass) {
    not_run(FG_FAULTY_NOT_GIVEN, PLAN("seq=3"), "alternating");
    not_run(FG_FAULTY_NOT_GIVEN, PLAN("seq=30"), "identity");
    not_run(FG_FAULTY_NOT_GIVEN, PLAN("seq=32"), "eviction");
    for (int32_t sequence = 38; sequence <= 40; sequence++) {
        static const char *const names[] = {"threads", "random", "forms"};
        char line[FG_CASE_LINE];
        snprintf(line, sizeof line, PLAN("seq=%d"), sequence);
        not_run(FG_FAULTY_NOT_GIVEN, line, names[sequence - 38]);
        cr_assert_eq(fixture.result.state, FG_STATE_MISTRUSTED, "%s", names[sequence - 38]);
        cr_assert_str_eq(fixture.result.reason, "counters not given");
    }
    not_run(FG_FAULTY_NOT_GIVEN, PLAN("seq=34"), "bad_passes");
}

Test(executor_faults, counts_that_are_not_given_have_a_row_of_their_own) {
    static const char *const lines[] = {BOUNDARY("want=dx"), RECOMPUTE("seq=1"), RECOMPUTE("seq=7"),
                                        RECOMPUTE("seq=8"), PLAN("seq=3")};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        not_run(FG_FAULTY_NOT_GIVEN, lines[i], "counts");
        run_faulty(FG_FAULTY_NOTHING, lines[i]);
        cr_assert_null(fg_exec_fixture_check(&fixture.result, "counts"));
        cr_assert_eq(fixture.result.state, FG_STATE_PASS);
    }
}

Test(executor_faults, plan_cases_without_a_forward_prove_nothing) {
    not_run(FG_FAULTY_NOTHING, PLAN("actions=back,clear,step"), "actions");
    cr_assert_eq(fixture.result.state, FG_STATE_MISTRUSTED);
    cr_assert_str_eq(fixture.result.reason, "vacuous: no forward was made");
}

Test(executor_faults, right_executors_pass_after_actions_that_build_plans) {
    static const char *const lines[] = {
        BOUNDARY("actions=grad"), BOUNDARY("actions=nograd,grad,back mode=nograd"),
        RECOMPUTE("seq=1 actions=grad"), RECOMPUTE("seq=7 actions=nograd,grad,back")};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        run_faulty(FG_FAULTY_NOTHING, lines[i]);
        cr_assert_eq(fixture.result.state, FG_STATE_PASS, "%s: %s", lines[i],
                     fixture.result.reason);
    }
}

Test(executor_faults, failures_that_do_not_repeat_say_so) {
    run_faulty(FG_FAULTY_ONCE, PLAN("seq=39"));
    const fg_check *check = fg_exec_fixture_check(&fixture.result, "random");
    cr_assert(check && check->state == FG_CHECK_FAIL);
    cr_assert_eq(fixture.result.fault, FG_FAULT_NUMERIC);
    cr_assert(strstr(check->where, "not every time: actions="), "%s", check->where);
    cr_assert(strstr(check->where, "y[0]: expected"), "%s", check->where);
}

Test(executor_faults, an_executor_without_memory_lacks_a_resource) {
    run_faulty(FG_FAULTY_LACKS, PLAN("seq=3"));
    cr_assert_eq(fixture.result.state, FG_STATE_RESOURCE);
    cr_assert(strstr(fixture.result.reason, "no memory for a backward"), "%s",
              fixture.result.reason);
}

Test(executor_faults, compared_bits_are_counted) {
    run_faulty(FG_FAULTY_NOTHING, FG_FIXTURE_LINE("plan", "iters=2 actions=nograd,grad,back"));
    // y of six rows twice, then dx, dp, and three experts' weights and biases.
    int64_t y = 6 * 16;
    cr_assert_eq(fixture.result.elements_owed,
                 2 * (2 * y + y + 6 + 3 * (48 * 16 + 48 + 16 * 24 + 16)));
    cr_assert_eq(fixture.result.elements_compared, fixture.result.elements_owed);
    run_faulty(FG_FAULTY_NOTHING, PLAN("seq=39"));
    cr_assert_gt(fixture.result.elements_owed, 0);
    cr_assert_eq(fixture.result.elements_compared, fixture.result.elements_owed);
    run_faulty(FG_FAULTY_GRADIENT, PLAN("seq=30"));
    cr_assert_lt(fixture.result.elements_compared, fixture.result.elements_owed);
}

Test(executor_faults, functions_that_are_not_there_are_no_pass) {
    not_run(FG_FAULTY_NO_FUNCTIONS, PLAN("seq=17"), "pass_later");
    not_run(FG_FAULTY_NO_FUNCTIONS, PLAN("seq=31"), "order_of_events");
    not_run(FG_FAULTY_NO_FUNCTIONS, PLAN("seq=32"), "eviction");
    not_run(FG_FAULTY_NO_FUNCTIONS, PLAN("seq=34"), "bad_passes");
    not_run(FG_FAULTY_NO_FUNCTIONS, PLAN("seq=40"), "forms");
    not_run(FG_FAULTY_NO_HOOK, PLAN("seq=18"), "device_property");
    not_run(FG_FAULTY_NO_HOOK, PLAN("seq=33"), "failed_build");
}

/* Outside counts that tell of something else than the executor does. */
static fg_status (*right_outside)(fg_exec_env *env, fg_outside_counts *out);
static int64_t asked;
static int64_t lie_saving, lie_kernel;
static uint32_t lie_mask;

static fg_status outside(fg_exec_env *env, fg_outside_counts *out) {
    FG_TRY(right_outside(env, out));
    out->saving_forwards += lie_saving * ++asked;
    out->last_backward_kernel += lie_kernel;
    out->last_mask ^= lie_mask;
    return FG_STATUS_OK;
}

static const fg_check *run_lying(const char *line, const char *name) {
    cr_assert_eq(fg_exec_fixture_open("recorder", line, &fixture), 0, "%s", fg_message());
    right_outside = fixture.env.outside;
    fixture.env.outside = outside;
    cr_assert_eq(fg_boundary_checks(&fixture.set, &fixture.result), 0, "%s", fg_message());
    const fg_check *check = fg_exec_fixture_check(&fixture.result, name);
    fg_exec_fixture_close(&fixture);
    return check;
}

Test(executor_faults, masks_kernels_and_saves_are_taken_from_outside) {
    lie_mask = FG_BIT(FG_W1);
    const fg_check *check = run_lying(BOUNDARY("want=dx"), "gradients");
    cr_assert(strstr(check->where, "mask of the kernels: expected 0x1, got 0x3"), "%s",
              check->where);
    lie_mask = 0;
    lie_kernel = 1;
    check = run_lying(BOUNDARY("want=dx"), "gradients");
    cr_assert(strstr(check->where, "kernel of a backward: expected its forward's"), "%s",
              check->where);
    lie_kernel = 0;
    lie_saving = 1;
    check = run_lying(BOUNDARY("want=none"), "saved");
    cr_assert(strstr(check->where, "forwards that save: expected 0, got 1"), "%s", check->where);
}

Test(executor_faults, wrong_expectations_do_not_hold_against_the_oracle) {
    cr_assert_eq(fg_exec_fixture_open("recorder", BOUNDARY("want=dx"), &fixture), 0, "%s",
                 fg_message());
    memset(fixture.set.expected->tensors[FG_X].data, 0, 64);
    cr_assert_eq(fg_boundary_checks(&fixture.set, &fixture.result), 0, "%s", fg_message());
    const fg_check *check = fg_exec_fixture_check(&fixture.result, "bound");
    cr_assert(check && check->state == FG_CHECK_FAIL);
    cr_assert(strstr(check->where, "dx"), "%s", check->where);
    fg_exec_fixture_close(&fixture);
}
