#include "conformance/executor/plan_checks_forms.h"
#include "conformance/executor/exec_watch.h"

/* Passes, and how many entries they must make in each list. */
static const struct {
    const char *setup;
    int32_t forward, backward;
} forms[] = {
    {"", 1, 1},
    {"pass:fc1_act", 2, 2},
    {"pass:act_fc2", 2, 2},
    {"pass:basic", 3, 3},
    {"pass:basic,pass:forward.fc1_act", 2, 3},
    {"pass:basic,pass:backward.act_fc2", 3, 2},
};

static void check_entries(fg_driver *driver, int32_t forward, int32_t backward) {
    const fg_executor_api *api = driver->env->api;
    fg_run runs[FG_OP_COUNT];
    int32_t got = api->plan_runs(driver->executor, FG_FORWARD, runs);
    if (got != forward) {
        fg_watch_note(driver, FG_FAULT_CONTRACT, "entries forward: expected %d, got %d", forward,
                      got);
    }
    got = api->plan_runs(driver->executor, FG_BACKWARD, runs);
    if (got != backward) {
        fg_watch_note(driver, FG_FAULT_CONTRACT, "entries backward: expected %d, got %d", backward,
                      got);
    }
}

/* One form with boundaries 0, 1, 2 and none, twice over. */
static fg_status run_form(const fg_exec_set *set, const char *setup, int32_t forward,
                          int32_t backward, fg_driver *driver, int32_t *missing) {
    driver->watch = FG_WATCH_ALL;
    FG_TRY(fg_driver_text(driver, setup));
    driver->expected_off = 0;
    for (int i = 0; i < 2; i++) {
        FG_TRY(fg_driver_text(driver, "need:all,nograd,grad,need:w2,grad,need:p,grad,back,back,"
                                      "back,need:w1+b2,grad,need:b1+p,grad,need:none,grad,back,"
                                      "back"));
        if (!driver->failure[0] && set->env->api->plan_runs) {
            check_entries(driver, forward, backward);
        }
    }
    return fg_watch_counts(driver, missing);
}

/* What a fresh executor's failure with a form means: a build that fails says that the backend
 * refuses the run, which `recorder` never does. */
static fg_status refused_form(const fg_exec_env *env, const char *setup, fg_status status,
                              fg_driver *driver) {
    if (fg_exec_own_trouble(env, status)) {
        return status;
    }
    int run = status == FG_STATUS_BUILD || status == FG_STATUS_UNSUPPORTED;
    if (run && setup[0] && !env->every_recipe) {
        return FG_FAIL(FG_STATUS_UNSUPPORTED, "%s", env->refused.text);
    }
    driver->status = status;
    fg_watch_note(driver, env->refused.fault, "%s", env->refused.text);
    return FG_STATUS_OK;
}

fg_status fg_plan_forms(const fg_exec_set *set, const char *name, fg_result *result) {
    fg_status status = set->env->api->register_pass
                           ? FG_STATUS_OK
                           : FG_FAIL(FG_STATUS_UNSUPPORTED, "found no register_pass, expected one");
    fg_driver driver = {0};
    int32_t missing = 0;
    int64_t compared = 0; // by the drivers before
    int64_t owed = 0;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0] && !status && !driver.failure[0]; i++) {
        compared += driver.compared;
        owed += driver.owed;
        driver = (fg_driver){0};
        status = fg_exec_fresh(set->env, set->data, forms[i].setup, set->out->has & ~FG_EXEC_Y,
                               set->expected);
        if (status) {
            status = refused_form(set->env, forms[i].setup, status, &driver);
            break;
        }
        FG_TRY(fg_driver_open(set->env, set->data, set->out, set->expected, &driver));
        status =
            run_form(set, forms[i].setup, forms[i].forward, forms[i].backward, &driver, &missing);
        fg_driver_close(&driver);
    }
    driver.compared += compared;
    driver.owed += owed;
    // Later checks expect the results of one entry again.
    FG_TRY(fg_exec_fresh(set->env, set->data, "", set->out->has & ~FG_EXEC_Y, set->expected));
    return fg_exec_set_record(set, name, status, &driver, missing, result);
}
