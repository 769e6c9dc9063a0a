#include "conformance/case/action.h"
#include "conformance/clock.h"
#include "conformance/executor/boundary_checks.h"
#include "conformance/executor/plan_checks.h"
#include "conformance/executor/recompute_checks.h"
#include "conformance/run.h"
#include <stdio.h>
#include <string.h>

#define SMALL_WEIGHTS (1 << 20) /* elements */

/* Checks of one kind of case, on one environment. */
typedef fg_status (*checks_fn)(const fg_exec_set *set, fg_result *result);

/* Whether a fresh executor's failure says that the backend does not claim the runs asked for. */
static int unclaimed(const fg_case *value, fg_status status) {
    return status == FG_STATUS_UNSUPPORTED ||
           (status == FG_STATUS_BUILD && value->kind != FG_CASE_PLAN && value->actions[0]);
}

/* Runs checks on the client's backend, or on `recorder`. */
static fg_status run_on(fg_client *client, const fg_case *value, int32_t recorder,
                        const char *suffix, checks_fn checks, fg_result *result) {
    fg_exec_env env = {0};
    fg_exec_set set;
    fg_status status = fg_exec_env_remote(client, recorder, &env);
    if (status) {
        fg_result_check(result, "start", FG_CHECK_FAIL, 0, fg_exec_fault(status), "%s",
                        fg_message());
        return fg_exec_own_trouble(status) ? status : FG_STATUS_OK;
    }
    status = fg_exec_set_create(&env, value, suffix,
                                value->kind == FG_CASE_PLAN ? "" : value->actions, &set);
    if (!status) {
        status = checks(&set, result);
        fg_exec_set_destroy(&set);
    } else if (unclaimed(value, status)) {
        set = (fg_exec_set){.suffix = suffix};
        fg_exec_set_check(&set, "start", FG_CHECK_NOT_RUN, FG_FAULT_NONE, fg_message(), result);
        status = FG_STATUS_OK;
    } else if (!fg_exec_own_trouble(status)) {
        set = (fg_exec_set){.suffix = suffix};
        fg_exec_set_check(&set, "start", FG_CHECK_FAIL, fg_exec_fault(status), fg_message(),
                          result);
        status = FG_STATUS_OK;
    }
    fg_exec_env_close(&env);
    return status;
}

/* A case of which no check could run is not-supported, never a pass. */
static void settle(fg_result *result) {
    int32_t ran = 0;
    for (int32_t i = 0; i < result->check_count; i++) {
        ran += result->checks[i].state != FG_CHECK_NOT_RUN;
    }
    if (!ran) {
        result->state = FG_STATE_NOT_SUPPORTED;
        result->declared = 1;
        snprintf(result->reason, sizeof result->reason, "no check could run: %.400s",
                 result->check_count ? result->checks[0].where : "none was asked for");
    }
}

/* Runs checks on the two backends in an order that puts the one without a suffix first. */
static fg_status run_both(fg_client *client, const fg_case *value, int recorder_first, int both,
                          checks_fn checks, fg_result *result) {
    double began = fg_clock_seconds();
    memset(result, 0, sizeof *result);
    (void)fg_client_seconds(client);
    fg_status status = run_on(client, value, recorder_first, "", checks, result);
    if (!status && both && fg_client_alive(client)) {
        status = run_on(client, value, !recorder_first, recorder_first ? "@backend" : "@recorder",
                        checks, result);
    }
    settle(result);
    result->seconds_backend = fg_client_seconds(client);
    result->seconds = fg_clock_seconds() - began;
    return status;
}

static fg_status plan_checks(const fg_exec_set *set, fg_result *result) {
    int32_t ran = 0;
    return fg_plan_checks(set, result, &ran);
}

/* Whether a plan case uses recipes that a backend need not take. */
static int needs_recipes(const fg_case *value) {
    fg_action actions[FG_ACTIONS];
    int32_t count = 0;
    int needs = 0;
    if (fg_actions_parse(value->actions, 1, actions, FG_ACTIONS, &count)) {
        return 1;
    }
    for (int32_t i = 0; i < count; i++) {
        needs |= actions[i].kind == FG_ACTION_RECIPE;
    }
    for (int32_t i = 0; fg_plan_check_at(i); i++) {
        const fg_plan_check *check = fg_plan_check_at(i);
        needs |= !count && check->number == value->sequence && check->recipes;
    }
    return needs;
}

/* Counts need the recorder; what it shows must hold on the backend too. */
fg_status fg_run_plan(fg_client *client, const fg_case *value, fg_result *result) {
    return run_both(client, value, 1, !needs_recipes(value), plan_checks, result);
}

fg_status fg_run_boundary(fg_client *client, const fg_case *value, fg_result *result) {
    return run_both(client, value, 0, 1, fg_boundary_checks, result);
}

/* Small cases run on `recorder` too, which sees the kernels that a backward uses. */
fg_status fg_run_recompute(fg_client *client, const fg_case *value, fg_result *result) {
    const fg_problem *problem = &value->problem;
    int recorder = fg_recompute_needs_recipes(value->sequence);
    int small = problem->experts * problem->hidden * problem->inter <= SMALL_WEIGHTS;
    return run_both(client, value, recorder, !recorder && (small || value->actions[0]),
                    fg_recompute_checks, result);
}
