#include "conformance/executor/recompute_checks.h"
#include "conformance/suites/exec_fixture.h"
#include "conformance/suites/exec_starve.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static fg_exec_fixture fixture;

/* Runs a sequence and demands that each of its checks passes; those named may not run. */
static void run_line(const char *backend, const char *line, const char *not_run) {
    cr_assert_eq(fg_exec_fixture_open(backend, line, &fixture), 0, "%s", fg_message());
    cr_assert_eq(fg_recompute_checks(&fixture.set, &fixture.result), 0, "%s", fg_message());
    cr_assert_geq(fixture.result.check_count, 3);
    for (int32_t i = 0; i < fixture.result.check_count; i++) {
        const fg_check *check = &fixture.result.checks[i];
        int may_not_run = not_run && strcmp(check->name, not_run) == 0;
        cr_assert(check->state == FG_CHECK_PASS || may_not_run, "%s of '%s' on %s: %s", check->name,
                  line, backend, check->where);
    }
    fg_exec_fixture_close(&fixture);
}

static void small_shapes(const char *backend, int32_t sequence) {
    static const char *const more[] = {
        "", "want=dw2,db2", "want=dx,dp first=none", "want=dw1,db1 first=dw2", "want=dp first=all",
    };
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        char line[FG_CASE_LINE];
        snprintf(line, sizeof line, FG_FIXTURE_LINE("recompute", "iters=3 seq=%d %s"), sequence,
                 more[i]);
        run_line(backend, line, NULL);
    }
}

/* A sequence over plans of two and three entries, and with main gradients that are added to. */
static void other_forms(int32_t sequence) {
    static const char *const more[] = {"actions=pass:fc1_act", "actions=pass:act_fc2",
                                       "actions=pass:basic", "wgrad=accumulate",
                                       "actions=pass:basic wgrad=accumulate"};
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        char line[FG_CASE_LINE];
        snprintf(line, sizeof line, FG_FIXTURE_LINE("recompute", "iters=2 seq=%d %s"), sequence,
                 more[i]);
        run_line("recorder", line, NULL);
    }
}

#define SEQUENCE(name, number)                                                                     \
    Test(recompute, name##_on_recorder) {                                                          \
        small_shapes("recorder", number);                                                          \
    }                                                                                              \
    Test(recompute, name##_over_several_entries) {                                                 \
        other_forms(number);                                                                       \
    }

SEQUENCE(forward_twice_then_backward, 1)
SEQUENCE(another_forward_in_between, 2)
SEQUENCE(recipe_reset_in_between, 3)
SEQUENCE(plan_gone_in_between, 4)
SEQUENCE(evaluation_between_steps, 6)
SEQUENCE(operands_move_on_one_plan, 7)
SEQUENCE(executors_shared_by_threads, 8)

Test(recompute, sequences_hold_on_host) {
    for (int32_t sequence = 1; sequence <= 8; sequence++) {
        if (sequence != 5 && !fg_recompute_needs_recipes(sequence)) {
            small_shapes("host", sequence);
        }
    }
}

Test(recompute, sequences_hold_in_sixteen_bits) {
    for (int32_t sequence = 1; sequence <= 8; sequence++) {
        char line[FG_CASE_LINE];
        if (sequence != 5) {
            snprintf(line, sizeof line,
                     "recompute dt=bf16 E=4 H=32 F=64 splits=5,0,1,9 T=18 bias=1 prob=1 iters=1 "
                     "data=normal seq=%d",
                     sequence);
            run_line("recorder", line, NULL);
        }
    }
}

static fg_status run_recompute(fg_exec_fixture *starved) {
    return fg_recompute_checks(&starved->set, &starved->result);
}

Test(recompute, no_allocation_may_fail_unnoticed) {
    for (int32_t sequence = 1; sequence <= 7; sequence++) {
        char line[FG_CASE_LINE];
        if (sequence != 5) {
            snprintf(line, sizeof line, FG_FIXTURE_LINE("recompute", "iters=1 seq=%d"), sequence);
            fg_exec_starve(line, run_recompute);
        }
    }
}

Test(recompute, sequences_hold_at_olmoe_widths) {
    static const int32_t some[] = {1, 2, 4};
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        char line[FG_CASE_LINE];
        snprintf(line, sizeof line,
                 "recompute dt=bf16 wdt=dt E=8 H=2048 F=1024 splits=2,0,1,3,0,1,0,2 T=9 iters=1 "
                 "data=normal seq=%d",
                 some[i]);
        run_line("host", line, NULL);
    }
}
