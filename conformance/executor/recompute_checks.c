#include "conformance/executor/recompute_checks.h"
#include "conformance/executor/exec_judge.h"
#include "conformance/executor/exec_watch.h"
#include "conformance/executor/plan_checks_threads.h"
#include "conformance/executor/recompute_checks_moves.h"
#include <string.h>

#define WATCH (FG_WATCH_ALL & ~(uint32_t)FG_WATCH_EVENTS)

int fg_recompute_needs_recipes(int32_t sequence) {
    return sequence == 3;
}

/* Tensors of another call of the same problem, and what a fresh executor makes of them. */
typedef struct other_call {
    fg_case value;
    fg_exec_set set;
} other_call;

static fg_status open_other(const fg_exec_set *set, other_call *out) {
    out->value = *set->value;
    out->value.seed += 1;
    return fg_exec_set_create(set->env, &out->value, set->suffix, set->value->actions, &out->set);
}

/* One text of actions on the case's tensors or, in a step that begins with '*', on the other
 * call's. */
static fg_status run_steps(const fg_exec_set *set, const fg_exec_set *other,
                           const char *const steps[], fg_driver *driver) {
    for (int i = 0; steps[i]; i++) {
        const fg_exec_set *now = steps[i][0] == '*' ? other : set;
        fg_driver_use(driver, now->data, now->out, now->expected);
        FG_TRY(fg_driver_text(driver, steps[i] + (steps[i][0] == '*')));
    }
    return FG_STATUS_OK;
}

/* Records how steps go on a new executor, repeated as often as the case has iterations. */
static fg_status check_steps(const fg_exec_set *set, const fg_exec_set *other, const char *name,
                             int32_t tokens, const char *const steps[], fg_result *result) {
    fg_driver driver;
    int32_t missing = 0;
    FG_TRY(fg_driver_open(set->env, set->data, set->out, set->expected, &driver));
    driver.watch = WATCH;
    driver.tokens = tokens;
    fg_status status = fg_exec_set_begin(set, &driver);
    while (!status && driver.context_count && !driver.failure[0]) {
        status = fg_driver_text(&driver, "back");
    }
    uint32_t wanted = driver.requires;
    for (int32_t i = 0; i < set->value->iterations && !status; i++) {
        driver.requires = wanted;
        status = run_steps(set, other, steps, &driver);
    }
    if (!status) {
        status = fg_watch_counts(&driver, &missing);
    }
    status = fg_exec_set_record(set, name, status, &driver, missing, result);
    fg_driver_use(&driver, set->data, set->out, set->expected);
    fg_driver_close(&driver);
    return status;
}

static fg_status recompute(const fg_exec_set *set, const fg_exec_set *other, fg_result *result) {
    static const char *const plain[] = {"nograd,grad,back", NULL};
    static const char *const pipelined[] = {"nograd", "*nograd",   "grad",
                                            "*grad",  "back,back", NULL};
    FG_TRY(check_steps(set, other, "recompute", 0, plain, result));
    FG_TRY(check_steps(set, other, "recompute_token", 1, plain, result));
    return check_steps(set, other, "recompute_pipelined", 0, pipelined, result);
}

static fg_status between(const fg_exec_set *set, const fg_exec_set *other, fg_result *result) {
    static const char *const nograd[] = {"grad", "*nograd,nograd", "back", NULL};
    static const char *const masked[] = {"grad", "*need:p+b2,grad", "back,back", NULL};
    FG_TRY(check_steps(set, other, "no_grad_between", 0, nograd, result));
    return check_steps(set, other, "another_mask_between", 0, masked, result);
}

static fg_status recipe_between(const fg_exec_set *set, const fg_exec_set *other,
                                fg_result *result) {
    static const char *const kind[] = {"recipe:current,grad", "*recipe:delayed,grad", "back,back",
                                       NULL};
    static const char *const option[] = {"recipe:delayed,grad", "*opt:margin:2,grad", "back,back",
                                         NULL};
    static const char *const history[] = {"recipe:delayed,grad", "*hist:16,nograd,grad",
                                          "back,back", NULL};
    static const char *const override[] = {"recipe:current,grad",
                                           "*opt:override:high_precision,nograd", "back", NULL};
    FG_TRY(check_steps(set, other, "recipe_between", 0, kind, result));
    FG_TRY(check_steps(set, other, "option_between", 0, option, result));
    FG_TRY(check_steps(set, other, "history_between", 0, history, result));
    return check_steps(set, other, "override_between", 0, override, result);
}

static fg_status plan_gone(const fg_exec_set *set, const fg_exec_set *other, fg_result *result) {
    // cap:1 makes a new executor, which has to be brought to the case's passes again.
    static const char *const cleared[] = {"grad,clear", "*nograd", "back", NULL};
    static const char *const passed[] = {"grad,pass,nograd", "*grad", "back,back", NULL};
    static const char *const evicted[] = {"cap:1,grad,evict", "*nograd", "back,grad,evict,back",
                                          NULL};
    FG_TRY(check_steps(set, other, "plan_cleared", 0, cleared, result));
    FG_TRY(check_steps(set, other, "plan_outdated", 0, passed, result));
    if (set->value->actions[0]) {
        return FG_STATUS_OK;
    }
    return check_steps(set, other, "plan_evicted", 0, evicted, result);
}

static fg_status evaluate(const fg_exec_set *set, const fg_exec_set *other, fg_result *result) {
    static const char *const plain[] = {
        "grad,back,step,grad", "*nograd,nograd", "back,step", "*nograd", "grad,back,step", NULL};
    static const char *const delayed[] = {"recipe:delayed,grad,back,step,grad",
                                          "*nograd,nograd",
                                          "back,step",
                                          "*nograd",
                                          "grad,back,step",
                                          NULL};
    FG_TRY(check_steps(set, other, "train_evaluate", 0, plain, result));
    return set->env->every_recipe
               ? check_steps(set, other, "train_evaluate_delayed", 0, delayed, result)
               : FG_STATUS_OK;
}

/* Two executors on the same weights, their calls mixed; one goes while the other has work. */
static fg_status two_executors(const fg_exec_set *set, fg_result *result) {
    fg_driver one;
    fg_driver two;
    FG_TRY(fg_driver_open(set->env, set->data, set->out, set->expected, &one));
    fg_status status = fg_driver_open(set->env, set->data, set->out, set->expected, &two);
    if (status) {
        fg_driver_close(&one);
        return status;
    }
    one.watch = WATCH & ~(uint32_t)FG_WATCH_OUTSIDE;
    two.watch = one.watch;
    status = fg_exec_set_begin(set, &one);
    for (int i = 0; i < 3 && !status; i++) {
        status = fg_driver_text(&one, "nograd,grad");
        status = status ? status : fg_driver_text(&two, "need:w2+p,grad,nograd");
        status = status ? status : fg_driver_text(&one, "back");
        status = status ? status : fg_driver_text(&two, i < 2 ? "back" : "grad");
    }
    int32_t missing = 0;
    fg_watch_own_counts(&two, &missing);
    fg_driver_close(&two);
    status = status ? status : fg_driver_text(&one, "grad,back,back");
    one.compared += two.compared;
    one.owed += two.owed;
    if (two.failure[0] && !one.failure[0]) {
        one.status = two.status;
        memcpy(one.failure, two.failure, sizeof one.failure);
        one.fault = two.fault;
    }
    status = fg_exec_set_record(set, "two_executors", status, &one, missing, result);
    fg_driver_close(&one);
    return status;
}

static fg_status shared(const fg_exec_set *set, const fg_exec_set *other, fg_result *result) {
    (void)other; // NULL
    FG_TRY(two_executors(set, result));
    if (set->value->actions[0]) {
        return FG_STATUS_OK;
    }
    return fg_plan_threads(set, "threads", 4 * set->value->iterations, result);
}

static fg_status moves(const fg_exec_set *set, const fg_exec_set *other, fg_result *result) {
    (void)other; // NULL
    return fg_recompute_moves(set, result);
}

static const struct {
    int32_t sequence;
    int32_t other; // 1: needs the tensors of another call
    fg_status (*run)(const fg_exec_set *set, const fg_exec_set *other, fg_result *result);
} sequences[] = {
    {1, 1, recompute}, {2, 1, between}, {3, 1, recipe_between}, {4, 1, plan_gone},
    {6, 1, evaluate},  {7, 0, moves},   {8, 0, shared},
};

static fg_status check_bound(const fg_exec_set *set, fg_result *result) {
    char text[192] = "";
    int good = 0;
    FG_TRY(fg_exec_judge(set->data, &set->env->traits, set->expected, set->expected->has, result,
                         &good, text, sizeof text));
    fg_exec_set_check(set, "bound", good ? FG_CHECK_PASS : FG_CHECK_FAIL, FG_FAULT_NUMERIC,
                      good ? "" : text, result);
    return FG_STATUS_OK;
}

fg_status fg_recompute_checks(const fg_exec_set *set, fg_result *result) {
    other_call other = {0};
    uint64_t hash = fg_exec_data_hash(set->data);
    FG_TRY(check_bound(set, result));
    for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++) {
        if (sequences[i].sequence == set->value->sequence) {
            if (sequences[i].other) {
                FG_TRY(open_other(set, &other));
            }
            fg_status status =
                sequences[i].run(set, sequences[i].other ? &other.set : NULL, result);
            fg_exec_set_destroy(&other.set);
            FG_TRY(status);
        }
    }
    int same = fg_exec_data_hash(set->data) == hash;
    fg_exec_set_check(set, "inputs", same ? FG_CHECK_PASS : FG_CHECK_FAIL, FG_FAULT_MEMORY,
                      same ? "" : "expected inputs unchanged, got a write", result);
    return FG_STATUS_OK;
}
