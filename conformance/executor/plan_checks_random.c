#include "conformance/executor/plan_checks_random.h"
#include "conformance/executor/exec_watch.h"
#include "conformance/tensors/data_random.h"
#include <stdio.h>
#include <string.h>

#define STREAM_OF_ACTIONS 0x5eau /* a stream of random numbers of its own */

/* Draws numbers one after another. */
typedef struct draws {
    fg_random random;
    uint32_t next;
} draws;

static int32_t below(draws *from, int32_t limit) {
    return (int32_t)(fg_random_word(&from->random, from->next++) % (uint64_t)limit);
}

/* Actions and how often each is drawn; those past the marks need devices or recipes. */
static const struct {
    const char *text;
    int32_t weight;
    int32_t devices, recipes;
} choices[] = {
    {"nograd", 10, 0, 0},
    {"grad", 14, 0, 0},
    {"back", 12, 0, 0},
    {"step", 2, 0, 0},
    {"clear", 1, 0, 0},
    {"pass", 1, 0, 0},
    {"cap:1", 1, 0, 0},
    {"cap:2", 1, 0, 0},
    {"cap:3", 1, 0, 0},
    {"need:all", 2, 0, 0},
    {"need:none", 1, 0, 0},
    {"need:x", 1, 0, 0},
    {"need:w1+b1", 1, 0, 0},
    {"need:p", 2, 0, 0},
    {"need:w2", 2, 0, 0},
    {"need:p+b2", 1, 0, 0},
    {"need:b1+w2", 1, 0, 0},
    {"hook:fail_build:1", 1, 0, 0},
    {"hook:equal_hash:1", 1, 0, 0},
    {"hook:device_property:3", 1, 0, 0},
    {"dev:0", 2, 1, 0},
    {"dev:1", 2, 1, 0},
    {"recipe:none", 2, 0, 1},
    {"recipe:current", 3, 0, 1},
    {"recipe:delayed", 3, 0, 1},
    {"hist:16", 1, 0, 1},
    {"hist:1024", 1, 0, 1},
    {"opt:margin:2", 1, 0, 1},
    {"opt:margin:0", 1, 0, 1},
    {"opt:algo:most_recent", 1, 0, 1},
    {"opt:format:e4m3", 1, 0, 1},
    {"opt:power_of_two:1", 1, 0, 1},
    {"opt:epsilon:0.5", 1, 0, 1},
    {"opt:override:high_precision", 1, 0, 1},
    {"opt:override:dequantized", 1, 0, 1},
};
#define CHOICES ((int32_t)(sizeof choices / sizeof choices[0]))

static int32_t weight_of(int32_t i, int recipes, int devices) {
    int allowed = (recipes || !choices[i].recipes) && (devices || !choices[i].devices);
    return allowed ? choices[i].weight : 0;
}

void fg_random_actions(uint64_t seed, uint64_t index, int recipes, int devices,
                       fg_action actions[FG_RANDOM_ACTIONS], int32_t *count) {
    draws from = {.random = {.seed = seed, .stream = STREAM_OF_ACTIONS, .row = index}};
    int32_t whole = 0;
    for (int32_t i = 0; i < CHOICES; i++) {
        whole += weight_of(i, recipes, devices);
    }
    *count = 1 + below(&from, FG_RANDOM_ACTIONS);
    for (int32_t n = 0; n < *count; n++) {
        int32_t at = below(&from, whole);
        int32_t i = 0;
        while (at >= weight_of(i, recipes, devices)) {
            at -= weight_of(i++, recipes, devices);
        }
        int32_t one = 0;
        fg_actions_parse(choices[i].text, 1, &actions[n], 1, &one); // the table's words are right
    }
}

/* Delayed scaling has no backward override: such a recipe is no input of an executor. */
static int refused_recipe(const fg_driver *driver) {
    return fg_recipe_check(&driver->recipe) != FG_STATUS_OK;
}

fg_status fg_random_try(const fg_exec_set *set, const fg_action *actions, int32_t count,
                        fg_random_end *end) {
    fg_driver driver;
    *end = (fg_random_end){0};
    FG_TRY(fg_driver_open(set->env, set->data, set->out, set->expected, &driver));
    fg_status status = FG_STATUS_OK;
    for (int32_t i = 0; i < count && !status; i++) {
        fg_recipe before = driver.recipe;
        status = fg_driver_do(&driver, &actions[i]);
        if (refused_recipe(&driver)) {
            driver.recipe = before;
        }
        status = status == FG_STATUS_UNSUPPORTED ? FG_STATUS_OK : status;
    }
    if (!status) {
        status = fg_watch_counts(&driver, &end->missing);
    }
    memcpy(end->failure, driver.failure, sizeof driver.failure);
    end->fault = driver.fault;
    end->compared = driver.compared;
    end->owed = driver.owed;
    fg_driver_close(&driver);
    return status;
}

static fg_status fails(const fg_exec_set *set, const fg_action *actions, int32_t count, int *out) {
    fg_random_end end;
    FG_TRY(fg_random_try(set, actions, count, &end));
    *out = end.failure[0] != '\0';
    return FG_STATUS_OK;
}

fg_status fg_random_shrink(const fg_exec_set *set, fg_action *actions, int32_t *count) {
    fg_action shorter[FG_ACTIONS];
    for (int32_t part = *count / 2 > 0 ? *count / 2 : 1; part > 0;) {
        int dropped = 0;
        for (int32_t from = 0; from<*count && * count> 1;) {
            int32_t length = from + part < *count ? part : *count - from;
            int failing = 0;
            memcpy(shorter, actions, (size_t)from * sizeof *actions);
            memcpy(shorter + from, actions + from + length,
                   (size_t)(*count - from - length) * sizeof *actions);
            if (length < *count) {
                FG_TRY(fails(set, shorter, *count - length, &failing));
            }
            if (failing) {
                *count -= length;
                memcpy(actions, shorter, (size_t)*count * sizeof *actions);
                dropped = 1;
            } else {
                from += length;
            }
        }
        // A pass that dropped something may have made other parts droppable.
        part = dropped && part <= *count / 2 ? part : part / 2;
    }
    return FG_STATUS_OK;
}

static fg_status report_shortest(const fg_exec_set *set, const char *name, const fg_action *actions,
                                 int32_t count, const fg_random_end *end, fg_result *result) {
    fg_action shorter[FG_ACTIONS];
    fg_random_end again;
    int32_t length = count;
    char text[512];
    char where[192];
    memcpy(shorter, actions, (size_t)count * sizeof *actions);
    FG_TRY(fg_random_shrink(set, shorter, &length));
    FG_TRY(fg_random_try(set, shorter, length, &again));
    int repeats = again.failure[0] != '\0';
    const fg_random_end *told = repeats ? &again : end;
    fg_actions_format(repeats ? shorter : actions, repeats ? length : count, text, sizeof text);
    snprintf(where, sizeof where, "%sactions=%.*s: %.80s",
             repeats ? "" : "not every time: ", repeats ? 100 : 84, text, told->failure);
    fg_exec_set_check(set, name, FG_CHECK_FAIL, told->fault, where, result);
    return FG_STATUS_OK;
}

fg_status fg_plan_random(const fg_exec_set *set, const char *name, int64_t count,
                         fg_result *result) {
    fg_action actions[FG_ACTIONS];
    fg_random_end end = {0};
    int32_t missing = 0;
    char where[64];
    for (int64_t i = 0; i < count; i++) {
        int32_t length = 0;
        fg_random_actions(set->value->seed, (uint64_t)i, set->env->every_recipe,
                          set->env->every_recipe, actions, &length);
        FG_TRY(fg_random_try(set, actions, length, &end));
        result->elements_compared += end.compared;
        result->elements_owed += end.owed;
        missing = end.missing > missing ? end.missing : missing;
        if (end.failure[0]) {
            return report_shortest(set, name, actions, length, &end, result);
        }
    }
    snprintf(where, sizeof where, "%lld sequences%s", (long long)count,
             missing ? ", counts are not given" : "");
    fg_exec_set_uncounted(set, missing, result);
    fg_exec_set_check(set, name, missing ? FG_CHECK_NOT_RUN : FG_CHECK_PASS, FG_FAULT_NONE, where,
                      result);
    return FG_STATUS_OK;
}
