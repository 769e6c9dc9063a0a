#include "conformance/executor/boundary_checks.h"
#include "conformance/executor/passes.h"
#include "conformance/executor/plan_checks.h"
#include "conformance/executor/recompute_checks.h"
#include "conformance/process/client_call.h"
#include "conformance/suites/exec_fixture.h"
#include "conformance/suites/program_run.h"
#include "contract/alloc.h"

#include <cblas.h>
#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A worker with an executor, and a case on it. */
typedef struct remote {
    fg_client *client;
    fg_exec_env env;
    fg_case value;
    fg_exec_set set;
    fg_result result;
} remote;

static remote at;

static void open_env(const char *backend, const char *executor, int32_t recorder) {
    const fg_client_options options = {.backend = backend, .executor = executor};
    openblas_set_num_threads(1);
    memset(&at, 0, sizeof at);
    cr_assert_eq(fg_client_open(&options, &at.client), FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(fg_exec_env_remote(at.client, recorder, &at.env), FG_STATUS_OK, "%s",
                 fg_message());
}

static void close_env(void) {
    fg_exec_env_close(&at.env);
    fg_client_close(at.client);
}

static void open_case(const char *line) {
    cr_assert_eq(fg_case_parse(line, &at.value), FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(fg_exec_set_create(&at.env, &at.value, "",
                                    at.value.kind == FG_CASE_PLAN ? "" : at.value.actions, &at.set),
                 FG_STATUS_OK, "%s", fg_message());
}

static void close_case(void) {
    fg_exec_set_destroy(&at.set);
}

static void every_check_passes(void) {
    for (int32_t i = 0; i < at.result.check_count; i++) {
        const fg_check *check = &at.result.checks[i];
        cr_assert_neq(check->state, FG_CHECK_FAIL, "%s: %s", check->name, check->where);
    }
    cr_assert_gt(at.result.check_count, 0);
    memset(&at.result, 0, sizeof at.result);
}

Test(client_executor, every_plan_check_holds_through_a_worker) {
    int32_t passed = 0;
    open_env("host", "fuser", 1);
    open_case(FG_FIXTURE_LINE("plan", "iters=3"));
    for (int32_t i = 0; fg_plan_check_at(i) != NULL; i++) {
        const fg_plan_check *check = fg_plan_check_at(i);
        cr_assert_eq(check->run(&at.set, check, &at.result), FG_STATUS_OK, "%s: %s", check->name,
                     fg_message());
        passed += at.result.checks[at.result.check_count - 1].state == FG_CHECK_PASS;
        every_check_passes();
    }
    cr_assert_gt(passed, 20, "%d passed", (int)passed);
    close_case();
    close_env();
}

Test(client_executor, a_naive_executor_is_seen_through_a_worker) {
    int32_t failed = 0;
    open_env("host", fg_built("plugins/one_slot_executor.so"), 1);
    open_case(FG_FIXTURE_LINE("plan", "iters=3"));
    for (int32_t i = 0; fg_plan_check_at(i) != NULL; i++) {
        const fg_plan_check *check = fg_plan_check_at(i);
        if (strcmp(check->name, "alternating") == 0) {
            cr_assert_eq(check->run(&at.set, check, &at.result), FG_STATUS_OK);
            failed += at.result.state == FG_STATE_FAIL;
        }
    }
    cr_assert_eq(failed, 1);
    close_case();
    close_env();
}

Test(client_executor, a_boundary_and_a_recompute_hold_through_a_worker) {
    const char *const backends[] = {"host", "reference", fg_built("plugins/device_memory.so")};
    for (size_t b = 0; b < sizeof backends / sizeof backends[0]; b++) {
        open_env(backends[b], "fuser", 0);
        open_case(FG_FIXTURE_LINE("boundary", "want=dx,dw2,dp"));
        cr_assert_eq(fg_boundary_checks(&at.set, &at.result), FG_STATUS_OK, "%s", fg_message());
        every_check_passes();
        close_case();
        open_case(FG_FIXTURE_LINE("recompute", "seq=1"));
        cr_assert_eq(fg_recompute_checks(&at.set, &at.result), FG_STATUS_OK, "%s", fg_message());
        every_check_passes();
        close_case();
        close_env();
    }
}

static fg_executor *create(void) {
    fg_executor *executor = NULL;
    cr_assert_eq(at.env.api->create(&at.value.problem, &at.env.options, &executor), FG_STATUS_OK,
                 "%s", fg_message());
    return executor;
}

Test(client_executor, two_executors_have_their_own_counts) {
    fg_counters a_counts = {0}, b_counts = {0};
    fg_recipe recipe = fg_recipe_default(FG_RECIPE_NONE);
    fg_context *context = NULL;
    open_env("host", "fuser", 0);
    open_case(FG_FIXTURE_LINE("plan", ""));
    fg_executor *a = create(), *b = create();
    const fg_tensor *y = &at.set.out->tensors[FG_INPUTS];
    cr_assert_eq(
        at.env.api->forward(a, FG_NO_GRAD, &recipe, 0, &at.set.data->in, y, NULL, NULL, &context),
        FG_STATUS_OK, "%s", fg_message());
    cr_assert_null(context);
    cr_assert_eq(at.env.api->counters(a, &a_counts), FG_STATUS_OK);
    cr_assert_eq(at.env.api->counters(b, &b_counts), FG_STATUS_OK);
    cr_assert_eq(a_counts.plans_built, 1);
    cr_assert_eq(b_counts.plans_built, 0);
    cr_assert_eq(a_counts.struct_size, sizeof a_counts);
    at.env.api->destroy(a);
    at.env.api->destroy(b);
    close_case();
    close_env();
}

Test(client_executor, statuses_and_messages_of_the_executor_come_back) {
    fg_recipe recipe = fg_recipe_default(FG_RECIPE_NONE);
    fg_context *context = NULL;
    open_env("host", "fuser", 0);
    open_case(FG_FIXTURE_LINE("plan", ""));
    fg_executor *executor = create();
    const fg_tensor *y = &at.set.out->tensors[FG_INPUTS];
    const fg_tensor *grads[FG_INPUT_SLOTS] = {NULL};
    cr_assert_eq(at.env.api->forward(executor, FG_GRAD, &recipe, FG_BIT(FG_X), &at.set.data->in, y,
                                     NULL, NULL, &context),
                 FG_STATUS_OK, "%s", fg_message());
    cr_assert_not_null(context);
    cr_assert_eq(at.env.api->backward(executor, context, &at.set.data->dy, grads, 0),
                 FG_STATUS_INVALID, "the wanted dx is missing");
    cr_assert_str_not_empty(fg_message());
    at.env.api->context_release(executor, context);
    recipe.kind = 77;
    cr_assert_neq(at.env.api->forward(executor, FG_NO_GRAD, &recipe, 0, &at.set.data->in, y, NULL,
                                      NULL, &context),
                  FG_STATUS_OK);
    at.env.api->destroy(executor);
    close_case();
    close_env();
}

static fg_status nameless(void *user, const fg_pass_input *in, fg_run runs[FG_OP_COUNT],
                          int32_t *run_count) {
    (void)user;
    (void)in;
    (void)runs;
    *run_count = 0;
    return FG_STATUS_OK;
}

Test(client_executor, only_named_passes_can_travel) {
    open_env("host", "fuser", 0);
    open_case(FG_FIXTURE_LINE("plan", ""));
    fg_executor *executor = create();
    cr_assert_eq(
        at.env.api->register_pass(executor, FG_PASS_JOINT, fg_pass_from_name("identity"), NULL),
        FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(at.env.api->register_pass(executor, FG_PASS_JOINT, nameless, NULL),
                 FG_STATUS_INVALID);
    at.env.api->destroy(executor);
    close_case();
    close_env();
}

Test(client_executor, memory_is_zero_aligned_shared_and_used_again) {
    enum { PIECES = 40 };
    void *pieces[PIECES];
    open_env("host", "fuser", 0);
    for (int round = 0; round < 3; round++) {
        for (int p = 0; p < PIECES; p++) {
            size_t bytes = (size_t)(p + 1) * 100000;
            cr_assert_eq(at.env.memory(&at.env, bytes, &pieces[p]), FG_STATUS_OK, "%s",
                         fg_message());
            const unsigned char *piece = pieces[p];
            cr_assert_eq((uintptr_t)piece % 256, 0);
            cr_assert(piece[0] == 0 && piece[bytes / 2] == 0 && piece[bytes - 1] == 0);
            memset(pieces[p], 0xff, bytes);
        }
        for (int p = 0; p < PIECES; p++) {
            at.env.memory_free(&at.env, pieces[p]);
        }
    }
    void *again = NULL;
    cr_assert_eq(at.env.memory(&at.env, 8, &again), FG_STATUS_OK);
    int found = 0;
    for (int p = 0; p < PIECES; p++) {
        found |= again == pieces[p];
    }
    cr_assert(found, "freed memory is not used again");
    cr_assert_neq(at.env.memory(&at.env, SIZE_MAX, &again), FG_STATUS_OK);
    at.env.memory_free(&at.env, NULL);
    close_env();
}

Test(client_executor, needs_an_executor_in_the_worker) {
    open_env("host", "fuser", 0);
    fg_exec_env_close(&at.env);
    fg_client_close(at.client);
    const fg_client_options options = {.backend = "host"};
    cr_assert_eq(fg_client_open(&options, &at.client), FG_STATUS_OK);
    fg_problem problem = fg_problem_default(2, 16, 16);
    fg_executor_options create_options = {.struct_size = sizeof create_options, .user = at.client};
    fg_executor *executor = NULL;
    cr_assert_eq(fg_client_executor()->create(&problem, &create_options, &executor),
                 FG_STATUS_PROTOCOL);
    cr_assert_null(executor);
    fg_client_close(at.client);
}

Test(client_executor, a_dead_worker_is_a_status_of_every_call) {
    fg_counters counts;
    fg_run runs[FG_OP_COUNT];
    open_env("host", "fuser", 0);
    open_case(FG_FIXTURE_LINE("plan", ""));
    fg_executor *executor = create();
    (void)kill((pid_t)fg_client_pid(at.client), SIGKILL);
    cr_assert_eq(at.env.api->counters(executor, &counts), FG_STATUS_CRASH);
    cr_assert_eq(at.env.api->step(executor), FG_STATUS_CRASH);
    cr_assert_eq(at.env.api->clear(executor), FG_STATUS_CRASH);
    cr_assert_eq(at.env.api->plan_id(executor, FG_FORWARD), FG_NOT_GIVEN);
    cr_assert_eq(at.env.api->plan_runs(executor, FG_FORWARD, runs), FG_NOT_GIVEN);
    at.env.api->destroy(executor);
    close_case();
    close_env();
}

Test(client_executor, lists_have_serial_numbers) {
    fg_recipe recipe = fg_recipe_default(FG_RECIPE_NONE);
    fg_context *context = NULL;
    open_env("host", "fuser", 0);
    open_case(FG_FIXTURE_LINE("plan", ""));
    fg_executor *executor = create();
    const fg_tensor *y = &at.set.out->tensors[FG_INPUTS];
    cr_assert_eq(at.env.api->plan_id(executor, FG_FORWARD), 0, "before the first call");
    for (int mode = FG_NO_GRAD; mode <= FG_GRAD; mode++) {
        int64_t before = at.env.api->plan_id(executor, FG_FORWARD);
        cr_assert_eq(at.env.api->forward(executor, mode, &recipe, FG_BIT(FG_X), &at.set.data->in, y,
                                         NULL, NULL, &context),
                     FG_STATUS_OK, "%s", fg_message());
        cr_assert_gt(at.env.api->plan_id(executor, FG_FORWARD), before);
        cr_assert_gt(at.env.api->plan_id(executor, FG_BACKWARD), 0);
        at.env.api->context_release(executor, context);
    }
    at.env.api->destroy(executor);
    close_case();
    close_env();
}

/* A call by hand, which the client's table would not make. */
static fg_status say(const char *call, const char *key, int number) {
    return fg_client_call(
        at.client, json_pack("{s:s, s:i, s:i}", "call", call, "executor", 1, key, number), NULL);
}

/* Of how many executors the worker releases something by its first number, if that is there. */
static int holders(const char *call, const char *key) {
    int found = 0;
    for (int id = 1; id < 8; id++) {
        json_t *request = json_pack("{s:s, s:i, s:i}", "call", call, "executor", id, key, 1);
        fg_status status = fg_client_call(at.client, request, NULL);
        cr_assert(status == FG_STATUS_OK || status == FG_STATUS_PROTOCOL, "%s", fg_message());
        found += status == FG_STATUS_OK;
    }
    return found;
}

Test(client_executor, what_was_released_is_gone_in_the_worker) {
    fg_recipe recipe = fg_recipe_default(FG_RECIPE_NONE);
    fg_context *context = NULL;
    fg_token *token = NULL;
    open_env("host", "fuser", 0);
    open_case(FG_FIXTURE_LINE("plan", ""));
    fg_executor *executor = create();
    const fg_tensor *y = &at.set.out->tensors[FG_INPUTS];
    cr_assert_eq(at.env.api->forward(executor, FG_NO_GRAD, &recipe, 0, &at.set.data->in, y, NULL,
                                     &token, &context),
                 FG_STATUS_OK, "%s", fg_message());
    cr_assert_not_null(token);
    cr_assert_eq(at.env.api->forward(executor, FG_GRAD, &recipe, FG_BIT(FG_X), &at.set.data->in, y,
                                     token, NULL, &context),
                 FG_STATUS_OK, "%s", fg_message());
    at.env.api->token_release(executor, token);
    at.env.api->context_release(executor, context);
    cr_assert_eq(holders("executor_token_release", "token"), 0, "a token is still there");
    cr_assert_eq(holders("executor_context_release", "context"), 0, "a context is still there");
    at.env.api->destroy(executor);
    cr_assert_eq(say("executor_step", "x", 0), FG_STATUS_PROTOCOL);
    close_case();
    close_env();
}

Test(client_executor, an_executor_may_lack_what_is_optional) {
    fg_event events[4];
    fg_run runs[FG_OP_COUNT];
    open_env("host", fg_built("plugins/bare_executor.so"), 0);
    open_case(FG_FIXTURE_LINE("plan", ""));
    cr_assert_null(at.env.api->register_pass);
    cr_assert_null(at.env.api->clear);
    cr_assert_null(at.env.api->plan_runs);
    cr_assert_null(at.env.api->events);
    cr_assert_null(at.env.api->hook);
    fg_executor *executor = create();
    const fg_executor_api *all = fg_client_executor();
    cr_assert_eq(all->clear(executor), FG_STATUS_UNSUPPORTED);
    cr_assert_eq(all->hook(executor, "equal_hash", 1), FG_STATUS_UNSUPPORTED);
    cr_assert_eq(all->register_pass(executor, FG_PASS_JOINT, fg_pass_from_name("identity"), NULL),
                 FG_STATUS_UNSUPPORTED);
    cr_assert_eq(all->plan_runs(executor, FG_FORWARD, runs), FG_NOT_GIVEN);
    cr_assert_eq(all->events(executor, events, 4), FG_NOT_GIVEN);
    at.env.api->destroy(executor);
    close_case();
    close_env();
}

/* Has one executor make a forward on plugins/device_memory.so, and its worker end; gives what the
 * backend noted, to be freed with free(). */
static char *diary_of_a_forward(void) {
    char folder[256], path[300];
    fg_recipe recipe = fg_recipe_default(FG_RECIPE_NONE);
    fg_context *context = NULL;
    fg_folder_make(folder);
    (void)snprintf(path, sizeof path, "%s/diary", folder);
    (void)setenv("FUSEGATE_TEST_DIARY", path, 1);
    open_env(fg_built("plugins/device_memory.so"), "fuser", 0);
    open_case(FG_FIXTURE_LINE("boundary", ""));
    fg_executor *executor = create();
    const fg_tensor *y = &at.set.out->tensors[FG_INPUTS];
    cr_assert_eq(at.env.api->forward(executor, FG_GRAD, &recipe, FG_BIT(FG_X), &at.set.data->in, y,
                                     NULL, NULL, &context),
                 FG_STATUS_OK, "%s", fg_message());
    close_case();
    close_env();
    /* Only this side's handles go: the worker was never told. */
    fg_free(context);
    fg_free(executor);
    char *diary = fg_file_text(folder, "diary");
    cr_assert_not_null(diary);
    fg_folder_remove(folder);
    return diary;
}

/* How many lines of a diary are `line`. */
static int noted(const char *diary, const char *line) {
    size_t length = strlen(line);
    int count = 0;
    for (const char *found = strstr(diary, line); found != NULL; found = strstr(found, line)) {
        int begins = found == diary || found[-1] == '\n';
        found += length;
        count += begins && *found == '\n';
    }
    return count;
}

Test(client_executor, an_orderly_end_takes_executors_and_their_streams_along) {
    char *diary = diary_of_a_forward();
    cr_assert_gt(noted(diary, "stream_create"), 0);
    cr_assert_gt(noted(diary, "kernel_create"), 0);
    cr_assert_eq(noted(diary, "stream_destroy"), noted(diary, "stream_create"));
    cr_assert_eq(noted(diary, "kernel_destroy"), noted(diary, "kernel_create"));
    free(diary);
}

Test(client_executor, every_stream_of_a_call_is_waited_for) {
    char *diary = diary_of_a_forward();
    cr_assert_gt(noted(diary, "stream_sync"), 0);
    cr_assert_eq(noted(diary, "stream_sync"), noted(diary, "stream_create"));
    free(diary);
}
