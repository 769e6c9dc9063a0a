#include "conformance/run.h"
#include "conformance/suites/exec_fixture.h"
#include "conformance/suites/program_run.h"
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fg_client *client;
static fg_case value;
static fg_result result;

static void open_client(const char *backend, const char *executor) {
    const fg_client_options options = {.backend = backend, .executor = executor};
    cr_assert_eq(fg_client_open(&options, &client), 0, "%s", fg_message());
}

static fg_status run(const char *line) {
    cr_assert_eq(fg_case_parse(line, &value), 0, "%s", fg_message());
    return fg_run_case(client, &value, &result);
}

static int32_t count_state(int32_t state) {
    int32_t count = 0;
    for (int32_t i = 0; i < result.check_count; i++) {
        count += result.checks[i].state == state;
    }
    return count;
}

Test(run_executor, plan_rows_run_on_recorder_and_on_the_backend) {
    open_client("host", "fuser");
    cr_assert_eq(run(FG_FIXTURE_LINE("plan", "seq=3 iters=4")), 0, "%s", fg_message());
    cr_assert_eq(result.state, FG_STATE_PASS, "%s", result.reason);
    const fg_check *check = fg_exec_fixture_check(&result, "alternating");
    cr_assert(check && check->state == FG_CHECK_PASS);
    check = fg_exec_fixture_check(&result, "alternating@backend");
    cr_assert(check && check->state == FG_CHECK_PASS);
    cr_assert_eq(result.plans_built, 4);
    cr_assert_eq(result.state_resets, 2);
    fg_client_close(client);
}

Test(run_executor, rows_with_recipes_run_on_recorder_alone) {
    open_client("host", "fuser");
    cr_assert_eq(run(FG_FIXTURE_LINE("plan", "seq=5 iters=2")), 0, "%s", fg_message());
    cr_assert_eq(result.state, FG_STATE_PASS, "%s", result.reason);
    cr_assert_eq(result.check_count, 1);
    cr_assert_eq(run(FG_FIXTURE_LINE("plan", "actions=recipe:current,grad,back iters=2")), 0);
    cr_assert_eq(result.check_count, 1);
    cr_assert_eq(result.state, FG_STATE_PASS, "%s", result.reason);
    fg_client_close(client);
}

Test(run_executor, one_slot_executor_fails_with_its_count_table) {
    open_client("host", fg_built("plugins/one_slot_executor.so"));
    cr_assert_eq(run(FG_FIXTURE_LINE("plan", "seq=3 iters=3")), 0, "%s", fg_message());
    cr_assert_eq(result.state, FG_STATE_FAIL);
    cr_assert_eq(result.fault, FG_FAULT_CONTRACT);
    cr_assert_str_eq(result.reason,
                     "alternating: plans built: expected 2, got 6; state resets: expected 1, got "
                     "1; pre-first: expected 1, got 1; kernels outside: expected 2, got 6");
    fg_client_close(client);
}

Test(run_executor, random_failure_gives_actions_that_fail_again) {
    open_client("host", fg_built("plugins/one_slot_executor.so"));
    cr_assert_eq(run(FG_FIXTURE_LINE("plan", "seq=39 iters=1")), 0, "%s", fg_message());
    const char *from = strstr(result.reason, "actions=");
    cr_assert(from, "%s", result.reason);
    char line[FG_CASE_LINE];
    snprintf(line, sizeof line, FG_FIXTURE_LINE("plan", "%.*s iters=1"), (int)strcspn(from, ":"),
             from);
    cr_assert_eq(run(line), 0, "%s: %s", line, fg_message());
    cr_assert_eq(result.state, FG_STATE_FAIL, "%s", line);
    fg_client_close(client);
}

Test(run_executor, boundary_cases_compare_and_count_elements) {
    open_client("host", "fuser");
    cr_assert_eq(run(FG_FIXTURE_LINE("boundary", "want=dw1,dp first=none")), 0);
    cr_assert_eq(result.state, FG_STATE_PASS, "%s", result.reason);
    cr_assert_gt(result.elements_owed, 0);
    cr_assert_eq(result.elements_compared, result.elements_owed);
    cr_assert_eq(count_state(FG_CHECK_NOT_RUN), 2); // only recorder counts saves and memory
    fg_client_close(client);
}

Test(run_executor, shorter_runs_that_a_backend_refuses_run_on_recorder) {
    open_client("host", "fuser");
    cr_assert_eq(run(FG_FIXTURE_LINE("boundary", "want=dx,db2 actions=pass:basic")), 0);
    cr_assert_eq(result.state, FG_STATE_PASS, "%s", result.reason);
    const fg_check *start = fg_exec_fixture_check(&result, "start");
    cr_assert(start && start->state == FG_CHECK_NOT_RUN);
    cr_assert(strstr(start->where, "host"), "%s", start->where);
    const fg_check *gradients = fg_exec_fixture_check(&result, "gradients@recorder");
    cr_assert(gradients && gradients->state == FG_CHECK_PASS);
    fg_client_close(client);
}

Test(run_executor, case_of_which_nothing_runs_is_no_pass) {
    open_client("host", "fuser");
    cr_assert_eq(run(FG_FIXTURE_LINE("plan", "seq=38")), 0, "%s", fg_message());
    cr_assert_eq(result.state, FG_STATE_NOT_SUPPORTED);
    cr_assert_eq(result.declared, 1);
    fg_client_close(client);
}

Test(run_executor, dead_worker_is_a_crash) {
    static const char *const lines[] = {
        FG_FIXTURE_LINE("plan", "seq=3"),
        FG_FIXTURE_LINE("boundary", "want=dx"),
        FG_FIXTURE_LINE("recompute", "seq=2"),
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        open_client("host", "fuser");
        cr_assert_eq(kill(fg_client_pid(client), SIGKILL), 0);
        cr_assert_eq(run(lines[i]), 0, "%s", fg_message());
        cr_assert_eq(result.state, FG_STATE_FAIL, "%s", lines[i]);
        cr_assert_eq(result.fault, FG_FAULT_CRASH, "%s: %s", lines[i], result.reason);
        fg_client_close(client);
    }
}

/* Runs a case on an executor with a trouble of its own. */
static void run_troubled(const char *trouble, const char *line) {
    const fg_client_options options = {
        .backend = "host", .executor = fg_built("plugins/troubled_executor.so"), .timeout = 1};
    cr_assert_eq(setenv("FUSEGATE_TEST_TROUBLE", trouble, 1), 0);
    cr_assert_eq(fg_client_open(&options, &client), 0, "%s", fg_message());
    memset(&result, 0, sizeof result);
    cr_assert_eq(run(line), 0, "%s, %s: %s", trouble, line, fg_message());
    fg_client_close(client);
}

static const char *const kinds[] = {
    FG_FIXTURE_LINE("plan", "seq=30"),
    FG_FIXTURE_LINE("boundary", "want=dx"),
    FG_FIXTURE_LINE("recompute", "seq=2 iters=1"),
};
#define KINDS (sizeof kinds / sizeof kinds[0])

Test(run_executor, what_an_executor_does_to_its_process_is_noticed) {
    for (size_t i = 0; i < KINDS; i++) {
        run_troubled("", kinds[i]);
        cr_assert_eq(result.state, FG_STATE_PASS, "%s", result.reason);
        run_troubled("prints", kinds[i]);
        cr_assert_eq(result.fault, FG_FAULT_CONTRACT, "%s", result.reason);
        cr_assert(strstr(result.reason, "bytes written to standard output"), "%s", result.reason);
        run_troubled("moves", kinds[i]);
        cr_assert_eq(result.fault, FG_FAULT_CONTRACT, "%s", result.reason);
        cr_assert(strstr(result.reason, "left the process changed: working directory"), "%s",
                  result.reason);
    }
}

Test(run_executor, workers_that_end_anywhere_fail_the_case) {
    for (size_t i = 0; i < KINDS; i++) {
        run_troubled("dies", kinds[i]);
        cr_assert_eq(result.state, FG_STATE_FAIL, "%s", kinds[i]);
        cr_assert_eq(result.fault, FG_FAULT_CRASH, "%s", result.reason);
    }
    run_troubled("hangs", FG_FIXTURE_LINE("plan", "seq=31"));
    cr_assert_eq(result.state, FG_STATE_FAIL);
    cr_assert_eq(result.fault, FG_FAULT_TIMEOUT, "%s", result.reason);
}

Test(run_executor, answers_of_an_executor_are_not_the_judges_trouble) {
    for (size_t i = 0; i < KINDS; i++) {
        run_troubled("lacks memory", kinds[i]);
        cr_assert_eq(result.state, FG_STATE_RESOURCE, "%s: %s", kinds[i], result.reason);
        run_troubled("refuses", kinds[i]);
        cr_assert_eq(result.state, FG_STATE_FAIL, "%s", kinds[i]);
        cr_assert_eq(result.fault, FG_FAULT_CONTRACT, "%s", result.reason);
        run_troubled("claims nothing", kinds[i]);
        cr_assert_eq(result.state, FG_STATE_NOT_SUPPORTED, "%s", kinds[i]);
    }
    run_troubled("builds nothing", FG_FIXTURE_LINE("boundary", "want=dx actions=pass:basic"));
    cr_assert_eq(result.state, FG_STATE_FAIL, "recorder claims every run");
}

Test(run_executor, recompute_sequences_run_where_they_can) {
    open_client("host", "fuser");
    for (int32_t sequence = 1; sequence <= 8; sequence++) {
        char line[FG_CASE_LINE];
        if (sequence != 5) {
            snprintf(line, sizeof line, FG_FIXTURE_LINE("recompute", "iters=2 seq=%d"), sequence);
            cr_assert_eq(run(line), 0, "%s", fg_message());
            cr_assert_eq(result.state, FG_STATE_PASS, "%s: %s", line, result.reason);
            cr_assert_geq(count_state(FG_CHECK_PASS), 4, "%s", line);
        }
    }
    fg_client_close(client);
}

Test(run_executor, eviction_that_cannot_be_is_refused) {
    open_client("host", "fuser");
    cr_assert_eq(run(FG_FIXTURE_LINE("plan", "actions=cap:8,grad,evict iters=1")),
                 FG_STATUS_INVALID);
    cr_assert(strstr(fg_message(), "found capacity 8, expected 1 to 3"), "%s", fg_message());
    fg_client_close(client);
}
