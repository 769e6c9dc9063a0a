#include "conformance/suites/schedule_rig.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The rig of the run in hand: a judge gets no pointer of its own. */
static fg_schedule_rig *rig_now;

/* A judge of one case. */
static fg_status judge(fg_client *client, const fg_case *value, fg_result *result) {
    fg_schedule_rig *rig = rig_now;
    int64_t index = (int64_t)value->seed;
    int run = atomic_fetch_add(&rig->runs[index], 1);
    fg_traits traits;
    if (run < 2) {
        rig->pids[index][run] = fg_client_pid(client);
    }
    if (index == 4) {
        (void)kill((pid_t)fg_client_pid(client), SIGKILL);
        (void)fg_client_traits(client, -1, &traits);
        fg_result_check(result, "calls", FG_CHECK_FAIL, 0, FG_FAULT_CRASH, "%s", fg_message());
        return FG_STATUS_OK;
    }
    if (index == 5 && run < rig->resource_runs) {
        result->state = FG_STATE_RESOURCE;
        (void)snprintf(result->reason, sizeof result->reason, "no memory on the device");
        return FG_STATUS_OK;
    }
    if (index == 7 && rig->own_trouble != FG_STATUS_OK) {
        return FG_FAIL(rig->own_trouble, "no room for the judge");
    }
    if (index == 9 && rig->stop >= 0) {
        (void)eventfd_write(rig->stop, 1);
        /* The stop kills this worker; the case in hand gets no verdict. */
        while (fg_client_traits(client, -1, &traits) == FG_STATUS_OK) {
            (void)usleep(1000);
        }
    }
    return fg_client_traits(client, -1, &traits);
}

static fg_status receive(void *user, int64_t index, const fg_result *result) {
    fg_schedule_rig *rig = user;
    if (rig->refuse && index == 3) {
        return FG_FAIL(FG_STATUS_IO, "the disk is full");
    }
    atomic_fetch_add(&rig->finished[index], 1);
    rig->results[index] = *result;
    return FG_STATUS_OK;
}

static fg_status receive_end(void *user, const char *how) {
    fg_schedule_rig *rig = user;
    (void)snprintf(rig->ended, sizeof rig->ended, "%s", how);
    return FG_STATUS_OK;
}

void fg_schedule_rig_reset(fg_schedule_rig *rig) {
    memset(rig, 0, sizeof *rig);
    rig->stop = -1;
    rig->backend = "host";
    for (int64_t i = 0; i < FG_RIG_CASES; i++) {
        rig->cases[i].seed = (uint64_t)i;
    }
}

fg_status fg_schedule_rig_run(fg_schedule_rig *rig, int32_t jobs, const unsigned char *done,
                              int32_t *stopped) {
    fg_case_list list = {.cases = rig->cases, .count = FG_RIG_CASES, .capacity = FG_RIG_CASES};
    const fg_schedule schedule = {.cases = &list,
                                  .done = done,
                                  .jobs = jobs,
                                  .client = {.backend = rig->backend},
                                  .run = judge,
                                  .finished = receive,
                                  .ended = receive_end,
                                  .user = rig,
                                  .stop = rig->stop};
    rig_now = rig;
    return fg_schedule_run(&schedule, stopped);
}
