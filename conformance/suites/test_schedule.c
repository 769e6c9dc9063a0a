#include "conformance/suites/program_run.h"
#include "conformance/suites/schedule_rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

static fg_schedule_rig seen;

static void setup(void) {
    fg_schedule_rig_reset(&seen);
}

static fg_status run(int32_t jobs, const unsigned char *done, int32_t *stopped) {
    return fg_schedule_rig_run(&seen, jobs, done, stopped);
}

TestSuite(schedule, .init = setup);

Test(schedule, runs_every_case_once_at_any_number_of_jobs) {
    for (int32_t jobs = 1; jobs <= 4; jobs += 3) {
        int32_t stopped = 1;
        setup();
        cr_assert_eq(run(jobs, NULL, &stopped), FG_STATUS_OK, "%s", fg_message());
        cr_assert_eq(stopped, 0);
        for (int i = 0; i < FG_RIG_CASES; i++) {
            cr_assert_eq(seen.runs[i], 1, "case %d ran %d times", i, (int)seen.runs[i]);
            cr_assert_eq(seen.finished[i], 1);
        }
    }
}

Test(schedule, leaves_out_what_is_done) {
    unsigned char done[FG_RIG_CASES] = {0};
    int32_t stopped = 0;
    memset(done, 1, 20);
    cr_assert_eq(run(2, done, &stopped), FG_STATUS_OK);
    for (int i = 0; i < FG_RIG_CASES; i++) {
        cr_assert_eq(seen.runs[i], i >= 20);
    }
}

Test(schedule, one_worker_serves_case_after_case_until_it_dies) {
    int32_t stopped = 0;
    cr_assert_eq(run(1, NULL, &stopped), FG_STATUS_OK);
    cr_assert_eq(seen.pids[0][0], seen.pids[4][0], "the same worker until case 4");
    cr_assert_neq(seen.pids[4][0], seen.pids[5][0], "a fresh one after it");
    cr_assert_eq(seen.pids[5][0], seen.pids[FG_RIG_CASES - 1][0]);
    cr_assert_eq(seen.results[4].state, FG_STATE_FAIL);
    cr_assert_eq(seen.results[4].fault, FG_FAULT_CRASH);
    cr_assert_eq(seen.results[5].state, FG_STATE_PASS);
}

Test(schedule, a_resource_end_runs_once_more_in_a_fresh_worker) {
    int32_t stopped = 0;
    seen.resource_runs = 1;
    cr_assert_eq(run(1, NULL, &stopped), FG_STATUS_OK);
    cr_assert_eq(seen.runs[5], 2);
    cr_assert_neq(seen.pids[5][0], seen.pids[5][1]);
    cr_assert_eq(seen.results[5].state, FG_STATE_PASS);
    cr_assert_eq(seen.finished[5], 1);
}

Test(schedule, a_resource_end_that_repeats_is_a_crash) {
    int32_t stopped = 0;
    seen.resource_runs = 9;
    cr_assert_eq(run(1, NULL, &stopped), FG_STATUS_OK);
    cr_assert_eq(seen.runs[5], 2);
    cr_assert_eq(seen.results[5].state, FG_STATE_FAIL);
    cr_assert_eq(seen.results[5].fault, FG_FAULT_CRASH);
    cr_assert_not_null(strstr(seen.results[5].reason, "no memory on the device"));
}

Test(schedule, trouble_of_the_judge_costs_one_case_and_blames_nobody) {
    int32_t stopped = 0;
    seen.own_trouble = FG_STATUS_NO_MEMORY;
    cr_assert_eq(run(2, NULL, &stopped), FG_STATUS_OK);
    cr_assert_eq(seen.runs[7], 1);
    cr_assert_eq(seen.results[7].state, FG_STATE_RESOURCE);
    cr_assert_not_null(strstr(seen.results[7].reason, "no room for the judge"));
    cr_assert_eq(seen.finished[FG_RIG_CASES - 1], 1, "the run goes on");
}

Test(schedule, a_stop_ends_cases_in_hand_without_a_verdict) {
    int32_t stopped = 0;
    seen.stop = eventfd(0, EFD_CLOEXEC);
    cr_assert_eq(run(2, NULL, &stopped), FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(stopped, 1);
    cr_assert_eq(seen.finished[9], 0);
    cr_assert_eq(seen.runs[FG_RIG_CASES - 1], 0, "nothing new is begun");
    cr_assert_eq(seen.finished[0], 1, "what was finished stays");
}

Test(schedule, a_worker_that_crashes_at_its_end_is_told) {
    int32_t stopped = 0;
    cr_assert_eq(run(2, NULL, &stopped), FG_STATUS_OK, "%s", fg_message());
    cr_assert_str_empty(seen.ended);
    (void)setenv("FUSEGATE_TEST_EXIT", "crash", 1);
    setup();
    seen.backend = fg_built("plugins/misbehaving.so");
    cr_assert_eq(run(2, NULL, &stopped), FG_STATUS_OK, "%s", fg_message());
    cr_assert_not_null(strstr(seen.ended, "signal 11"), "%s", seen.ended);
    cr_assert_eq(seen.results[FG_RIG_CASES - 1].state, FG_STATE_PASS);
}

Test(schedule, a_backend_that_prints_while_loading_ends_the_run) {
    int32_t stopped = 0;
    (void)setenv("FUSEGATE_TEST_LOAD", "print", 1);
    seen.backend = fg_built("plugins/misbehaving.so");
    cr_assert_eq(run(1, NULL, &stopped), FG_STATUS_PROTOCOL);
    cr_assert_not_null(strstr(fg_message(), "while loading"), "%s", fg_message());
    cr_assert_eq(seen.runs[0], 0);
}

Test(schedule, a_refused_result_ends_the_run_with_its_message) {
    int32_t stopped = 0;
    seen.refuse = 1;
    cr_assert_eq(run(1, NULL, &stopped), FG_STATUS_IO);
    cr_assert_not_null(strstr(fg_message(), "the disk is full"));
    cr_assert_eq(seen.runs[FG_RIG_CASES - 1], 0);
}

Test(schedule, no_worker_ends_the_run) {
    int32_t stopped = 0;
    seen.backend = "hots";
    cr_assert_eq(run(3, NULL, &stopped), FG_STATUS_NOT_FOUND);
    cr_assert_not_null(strstr(fg_message(), "hots"));
    cr_assert_eq(seen.runs[0], 0);
}
