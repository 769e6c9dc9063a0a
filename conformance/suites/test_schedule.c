#include "conformance/protocol.h"
#include "conformance/schedule.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { CASES = 24 };

/* What the pretended judge saw and what the schedule handed on. */
static struct {
    atomic_int runs[CASES], finished[CASES];
    fg_result results[CASES];
    atomic_int resource_runs; /* how often case 5 ends as resource */
    int32_t pids[CASES][2];
    fg_case cases[CASES];
    int stop;
    fg_status own_trouble; /* of case 7 */
    int refuse;            /* the receiver refuses case 3 */
} seen;

static int64_t index_of(const fg_case *value) {
    return (int64_t)value->seed;
}

/* A judge of one case: some kill their worker, some end as resource, one asks for the stop. */
static fg_status judge(fg_client *client, const fg_case *value, fg_result *result) {
    int64_t index = index_of(value);
    int run = atomic_fetch_add(&seen.runs[index], 1);
    fg_traits traits;
    if (run < 2) {
        seen.pids[index][run] = fg_client_pid(client);
    }
    if (index == 4) {
        (void)kill((pid_t)fg_client_pid(client), SIGKILL);
        (void)fg_client_traits(client, -1, &traits);
        fg_result_check(result, "calls", FG_CHECK_FAIL, 0, FG_FAULT_CRASH, "%s", fg_message());
        return FG_STATUS_OK;
    }
    if (index == 5 && run < atomic_load(&seen.resource_runs)) {
        result->state = FG_STATE_RESOURCE;
        (void)snprintf(result->reason, sizeof result->reason, "no memory on the device");
        return FG_STATUS_OK;
    }
    if (index == 7 && seen.own_trouble != FG_STATUS_OK) {
        return FG_FAIL(seen.own_trouble, "no room for the judge");
    }
    if (index == 9 && seen.stop >= 0) {
        (void)eventfd_write(seen.stop, 1);
        /* The stop kills this worker; the case in hand gets no verdict. */
        while (fg_client_traits(client, -1, &traits) == FG_STATUS_OK) {
            (void)usleep(1000);
        }
    }
    return fg_client_traits(client, -1, &traits);
}

static fg_status receive(void *user, int64_t index, const fg_result *result) {
    (void)user;
    if (seen.refuse && index == 3) {
        return FG_FAIL(FG_STATUS_IO, "the disk is full");
    }
    atomic_fetch_add(&seen.finished[index], 1);
    seen.results[index] = *result;
    return FG_STATUS_OK;
}

static fg_status run(int32_t jobs, const unsigned char *done, int32_t *stopped) {
    fg_case_list list = {.cases = seen.cases, .count = CASES, .capacity = CASES};
    const fg_schedule schedule = {.cases = &list,
                                  .done = done,
                                  .jobs = jobs,
                                  .client = {.backend = "host"},
                                  .run = judge,
                                  .finished = receive,
                                  .stop = seen.stop};
    for (int64_t i = 0; i < CASES; i++) {
        seen.cases[i].seed = (uint64_t)i;
    }
    return fg_schedule_run(&schedule, stopped);
}

static void setup(void) {
    memset(&seen, 0, sizeof seen);
    seen.stop = -1;
}

TestSuite(schedule, .init = setup);

Test(schedule, runs_every_case_once_at_any_number_of_jobs) {
    for (int32_t jobs = 1; jobs <= 4; jobs += 3) {
        int32_t stopped = 1;
        setup();
        cr_assert_eq(run(jobs, NULL, &stopped), FG_STATUS_OK, "%s", fg_message());
        cr_assert_eq(stopped, 0);
        for (int i = 0; i < CASES; i++) {
            cr_assert_eq(seen.runs[i], 1, "case %d ran %d times", i, (int)seen.runs[i]);
            cr_assert_eq(seen.finished[i], 1);
        }
    }
}

Test(schedule, leaves_out_what_is_done) {
    unsigned char done[CASES] = {0};
    int32_t stopped = 0;
    memset(done, 1, 20);
    cr_assert_eq(run(2, done, &stopped), FG_STATUS_OK);
    for (int i = 0; i < CASES; i++) {
        cr_assert_eq(seen.runs[i], i >= 20);
    }
}

Test(schedule, one_worker_serves_case_after_case_until_it_dies) {
    int32_t stopped = 0;
    cr_assert_eq(run(1, NULL, &stopped), FG_STATUS_OK);
    cr_assert_eq(seen.pids[0][0], seen.pids[4][0], "the same worker until case 4");
    cr_assert_neq(seen.pids[4][0], seen.pids[5][0], "a fresh one after it");
    cr_assert_eq(seen.pids[5][0], seen.pids[CASES - 1][0]);
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
    cr_assert_eq(seen.finished[CASES - 1], 1, "the run goes on");
}

Test(schedule, a_stop_ends_cases_in_hand_without_a_verdict) {
    int32_t stopped = 0;
    seen.stop = eventfd(0, EFD_CLOEXEC);
    cr_assert_eq(run(2, NULL, &stopped), FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(stopped, 1);
    cr_assert_eq(seen.finished[9], 0);
    cr_assert_eq(seen.runs[CASES - 1], 0, "nothing new is begun");
    cr_assert_eq(seen.finished[0], 1, "what was finished stays");
}

Test(schedule, a_refused_result_ends_the_run_with_its_message) {
    int32_t stopped = 0;
    seen.refuse = 1;
    cr_assert_eq(run(1, NULL, &stopped), FG_STATUS_IO);
    cr_assert_not_null(strstr(fg_message(), "the disk is full"));
    cr_assert_eq(seen.runs[CASES - 1], 0);
}

Test(schedule, no_worker_ends_the_run) {
    int32_t stopped = 0;
    fg_case_list list = {.cases = seen.cases, .count = CASES, .capacity = CASES};
    const fg_schedule schedule = {.cases = &list,
                                  .jobs = 3,
                                  .client = {.backend = "hots"},
                                  .run = judge,
                                  .finished = receive,
                                  .stop = -1};
    cr_assert_eq(fg_schedule_run(&schedule, &stopped), FG_STATUS_NOT_FOUND);
    cr_assert_not_null(strstr(fg_message(), "hots"));
    cr_assert_eq(seen.runs[0], 0);
}
