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

/* Whether the backend claims what a case asks of it: the whole MLP, every shorter run when there
 * are passes, and the recipes of its actions. */
static fg_status claims(fg_exec_env *env, const fg_case *value) {
    fg_action actions[FG_ACTIONS];
    int32_t count = 0;
    fg_recipe recipe = fg_recipe_default(FG_RECIPE_NONE);
    fg_problem run = value->problem;
    FG_TRY(fg_actions_parse(value->actions, 1, actions, FG_ACTIONS, &count));
    FG_TRY(fg_exec_env_claims(env, &run, &recipe));
    for (int32_t i = 0; i < count; i++) {
        fg_recipe_kind kind = FG_RECIPE_NONE;
        if (actions[i].kind == FG_ACTION_RECIPE) {
            FG_TRY(fg_recipe_kind_from_name(actions[i].name, &kind));
            recipe = fg_recipe_default(kind);
            FG_TRY(fg_exec_env_claims(env, &value->problem, &recipe));
        }
        int runs = actions[i].kind == FG_ACTION_PASS ? FG_OP_COUNT * FG_OP_COUNT : 0;
        recipe = fg_recipe_default(FG_RECIPE_NONE);
        for (int32_t r = 0; r < runs; r++) {
            run.first_op = r / FG_OP_COUNT;
            run.op_count = 1 + r % FG_OP_COUNT;
            if (run.first_op + run.op_count <= FG_OP_COUNT) {
                FG_TRY(fg_exec_env_claims(env, &run, &recipe));
            }
        }
    }
    return FG_STATUS_OK;
}

/* Whether a fresh executor may have failed like this: it does not claim the problem, or its backend
 * does not claim what it was asked for. */
static int unclaimed(fg_exec_env *env, const fg_case *value) {
    const fg_exec_refusal *refused = &env->refused;
    if (refused->status == FG_STATUS_UNSUPPORTED && !refused->created) {
        return 1;
    }
    return (refused->status == FG_STATUS_UNSUPPORTED || refused->status == FG_STATUS_BUILD) &&
           claims(env, value) == FG_STATUS_UNSUPPORTED;
}

/* Says what it means that checks ended with a status, or that the worker is gone. */
static fg_status judge_end(fg_client *client, fg_exec_env *env, const fg_case *value,
                           const char *suffix, fg_status status, fg_result *result) {
    const fg_exec_set set = {.suffix = suffix};
    fg_outside_counts counts;
    if (!fg_client_alive(client)) {
        status = fg_client_outside(client, &counts); // how it ended
        if (status == FG_STATUS_NO_MEMORY) {
            return status; // of this side, for its answer
        }
        fg_exec_set_check(&set, "calls", FG_CHECK_FAIL, fg_exec_fault(status), fg_message(),
                          result);
        return FG_STATUS_OK;
    }
    if (!status || fg_exec_own_trouble(env, status)) {
        return status;
    }
    if (unclaimed(env, value)) {
        fg_exec_set_check(&set, "start", FG_CHECK_NOT_RUN, FG_FAULT_NONE, env->refused.text,
                          result);
    } else if (!fg_exec_set_resource(status, env->refused.text, result)) {
        fg_exec_set_check(&set, "start", FG_CHECK_FAIL, env->refused.fault, env->refused.text,
                          result);
    }
    return FG_STATUS_OK;
}

/* Runs checks on the client's backend, or on `recorder`. */
static fg_status run_on(fg_client *client, const fg_case *value, int32_t recorder,
                        const char *suffix, checks_fn checks, fg_result *result) {
    fg_exec_env env = {0};
    fg_exec_set set;
    fg_status status = fg_exec_env_remote(client, recorder, &env);
    if (status) {
        return judge_end(client, &env, value, suffix, status, result);
    }
    if (env.traits.memory != FG_MEMORY_HOST) {
        set = (fg_exec_set){.suffix = suffix};
        fg_exec_set_check(&set, "start", FG_CHECK_NOT_RUN, FG_FAULT_NONE,
                          "found device memory, expected host memory", result);
    } else {
        status = fg_exec_set_create(&env, value, suffix,
                                    value->kind == FG_CASE_PLAN ? "" : value->actions, &set);
        if (!status) {
            status = checks(&set, result);
            fg_exec_set_destroy(&set);
        }
    }
    status = judge_end(client, &env, value, suffix, status, result);
    fg_exec_env_close(&env);
    if (fg_client_alive(client) && fg_client_quiet(client, "calls of the executor")) {
        set = (fg_exec_set){.suffix = suffix};
        fg_exec_set_check(&set, "contract", FG_CHECK_FAIL, FG_FAULT_CONTRACT, fg_message(), result);
    }
    return status;
}

/* A case of which no check could run is not-supported, never a pass. */
static void settle(fg_result *result) {
    int32_t ran = 0;
    for (int32_t i = 0; i < result->check_count; i++) {
        ran += result->checks[i].state != FG_CHECK_NOT_RUN;
    }
    if (!ran && result->state == FG_STATE_PASS) {
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
