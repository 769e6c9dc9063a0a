#include "conformance/executor/plan_checks_rows.h"
#include "conformance/executor/exec_watch.h"
#include <stdio.h>
#include <string.h>

#define PHASES 3
#define BOTH "nograd,grad,back"

/* What a phase does once, and then as often as the case has iterations. */
typedef struct row_phase {
    const char *once, *repeated;
} row_phase;

/* A row of the scenario table; counts are a + b * iterations. */
typedef struct plan_row {
    fg_plan_check check;
    row_phase phases[PHASES];
    int64_t plans, plans_more;
    int64_t resets, resets_more;
} plan_row;

static fg_status run_row(const fg_exec_set *set, const fg_plan_check *check, fg_result *result);

#define ROW(number, name, recipes)                                                                 \
    { number, name, recipes, run_row }

static const plan_row rows[] = {
    {ROW(1, "one_mode", 0), {{"", "grad,back"}}, 1, 0, 1, 0},
    {ROW(2, "one_mode_nograd", 0), {{"", "nograd"}}, 1, 0, 1, 0},
    {ROW(3, "alternating", 0), {{"", BOTH}}, 2, 0, 1, 0},
    {ROW(4, "further_boundary", 0),
     {{"", "need:all,grad,back,need:w2+b2,grad,back,need:p+w2,grad,back"}},
     3,
     0,
     1,
     0},
    {ROW(5, "recipe_a_then_b", 1),
     {{"recipe:current", BOTH}, {"recipe:delayed", BOTH}},
     4,
     0,
     2,
     0},
    {ROW(6, "recipe_a_b_a", 1),
     {{"recipe:current", BOTH}, {"recipe:delayed", BOTH}, {"recipe:current", BOTH}},
     4,
     0,
     3,
     0},
    {ROW(7, "recipes_alternate", 1),
     {{"", "recipe:current," BOTH ",recipe:delayed," BOTH}},
     4,
     0,
     0,
     2},
    {ROW(8, "equal_options", 1), {{"recipe:current", BOTH}}, 2, 0, 1, 0},
    {ROW(9, "option_margin", 1), {{"recipe:delayed", BOTH}, {"opt:margin:3", BOTH}}, 4, 0, 2, 0},
    {ROW(10, "option_algo", 1),
     {{"recipe:delayed", BOTH}, {"opt:algo:most_recent", BOTH}},
     4,
     0,
     2,
     0},
    {ROW(11, "option_format_delayed", 1),
     {{"recipe:delayed", BOTH}, {"opt:format:e4m3", BOTH}},
     4,
     0,
     2,
     0},
    {ROW(12, "option_format_current", 1),
     {{"recipe:current", BOTH}, {"opt:format:e4m3", BOTH}},
     4,
     0,
     2,
     0},
    {ROW(13, "option_power_of_two", 1),
     {{"recipe:current", BOTH}, {"opt:power_of_two:1", BOTH}},
     4,
     0,
     2,
     0},
    {ROW(14, "option_epsilon", 1),
     {{"recipe:current", BOTH}, {"opt:epsilon:0.25", BOTH}},
     4,
     0,
     2,
     0},
    {ROW(15, "history_length", 1), {{"recipe:delayed", BOTH}, {"hist:16", BOTH}}, 2, 0, 2, 0},
    {ROW(16, "backward_override", 1),
     {{"recipe:current", BOTH},
      {"opt:override:high_precision", BOTH},
      {"opt:override:dequantized", BOTH}},
     6,
     0,
     3,
     0},
    {ROW(17, "pass_later", 0), {{"", BOTH}, {"pass", BOTH}}, 4, 0, 1, 0},
    {ROW(18, "device_property", 0), {{"", BOTH}, {"hook:device_property:7", BOTH}}, 2, 0, 1, 0},
    {ROW(19, "capacity_one", 0), {{"cap:1", BOTH}}, 0, 2, 1, 0},
};

const fg_plan_check *fg_plan_row_at(int32_t i) {
    return i >= 0 && (size_t)i < sizeof rows / sizeof rows[0] ? &rows[i].check : NULL;
}

static const plan_row *row_of(const fg_plan_check *check) {
    const plan_row *row = rows;
    while (&row->check != check) {
        row++;
    }
    return row;
}

static fg_status run_phases(fg_driver *driver, const plan_row *row, int32_t iterations) {
    for (int phase = 0; phase < PHASES && row->phases[phase].repeated; phase++) {
        FG_TRY(fg_driver_text(driver, row->phases[phase].once));
        for (int32_t i = 0; i < iterations; i++) {
            FG_TRY(fg_driver_text(driver, row->phases[phase].repeated));
        }
    }
    return FG_STATUS_OK;
}

/* Kernels that the recorder saw made, where every plan has one entry on one device; else
 * FG_NOT_GIVEN. */
static fg_status kernels_outside(fg_driver *driver, int64_t *out) {
    const fg_executor_api *api = driver->env->api;
    fg_outside_counts counts;
    fg_run runs[FG_OP_COUNT];
    *out = FG_NOT_GIVEN;
    FG_TRY(driver->env->outside(driver->env, &counts));
    if (counts.kernels_created != FG_NOT_GIVEN && api->plan_runs &&
        api->plan_runs(driver->executor, FG_FORWARD, runs) == 1 &&
        api->plan_runs(driver->executor, FG_BACKWARD, runs) == 1) {
        *out = counts.kernels_created - driver->before.kernels_created;
    }
    return FG_STATUS_OK;
}

/* Holds the counts against the row; a failure shows every count beside the right one. */
static fg_status judge_row(fg_driver *driver, const plan_row *row, int32_t iterations,
                           int32_t *missing) {
    fg_counters got = {.struct_size = sizeof got};
    fg_watch_status(driver, "counters", driver->env->api->counters(driver->executor, &got));
    int64_t kernels = 0;
    FG_TRY(kernels_outside(driver, &kernels));
    int64_t plans = row->plans + row->plans_more * iterations;
    const struct {
        const char *name;
        int64_t want, got;
    } counts[] = {
        {"plans built", plans, got.plans_built},
        {"state resets", row->resets + row->resets_more * iterations, got.state_resets},
        {"pre-first", 1, got.pre_first},
        {"kernels outside", plans, kernels},
    };
    char text[sizeof driver->failure] = "";
    int wrong = 0;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        size_t length = strlen(text);
        int given = counts[i].got != FG_NOT_GIVEN;
        if (given) {
            snprintf(text + length, sizeof text - length, "%s%s: expected %lld, got %lld",
                     length ? "; " : "", counts[i].name, (long long)counts[i].want,
                     (long long)counts[i].got);
        }
        wrong |= given && counts[i].got != counts[i].want;
        *missing += !given && i < 3;
    }
    if (wrong) {
        fg_watch_note(driver, FG_FAULT_CONTRACT, "%s", text);
    }
    return FG_STATUS_OK;
}

static fg_status run_row(const fg_exec_set *set, const fg_plan_check *check, fg_result *result) {
    const plan_row *row = row_of(check);
    int32_t iterations = set->value->iterations > 0 ? set->value->iterations : 1;
    int32_t missing = 0;
    int32_t also = 0;
    fg_driver driver;
    FG_TRY(fg_driver_open(set->env, set->data, set->out, NULL, &driver));
    driver.watch = 0;
    fg_status status = run_phases(&driver, row, iterations);
    if (!status && !driver.failure[0]) {
        status = judge_row(&driver, row, iterations, &missing);
    }
    if (!status) {
        status = fg_watch_counts(&driver, &also);
    }
    status = fg_exec_set_record(set, check->name, status, &driver, missing + also, result);
    fg_driver_close(&driver);
    return status;
}
