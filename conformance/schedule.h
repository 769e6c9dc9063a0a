#ifndef FG_CONFORMANCE_SCHEDULE_H
#define FG_CONFORMANCE_SCHEDULE_H

/* Runs cases on workers, several at a time: one thread with one worker for each job. A worker that
 * died is replaced for the next case. What a worker printed or changed in a case and nobody asked
 * about fails that case; at loading, it ends the run. No case runs twice, but one that ends as
 * `resource` (device lost, out of memory): once more in a fresh worker, and if that ends so too it
 * has failed. */

#include "conformance/case/case.h"
#include "conformance/process/client.h"
#include "conformance/report/result.h"

typedef struct fg_schedule {
    const fg_case_list *cases;
    const unsigned char *done; /* [cases->count] 1: skip; NULL: none */
    int32_t jobs;              /* 1 or more */
    fg_client_options client;
    /* Judges one case on one worker: fg_run_case. */
    fg_status (*run)(fg_client *client, const fg_case *value, fg_result *result);
    /* Takes a finished case; one call at a time, from any thread. A status ends the run. */
    fg_status (*finished)(void *user, int64_t index, const fg_result *result);
    /* Takes how a worker ended that did not do so in order; as `finished`. NULL: nobody asks. */
    fg_status (*ended)(void *user, const char *how);
    void *user;
    /* A descriptor that becomes readable when the run shall stop, or -1. Cases in hand
     * are then given up: their workers are killed, and no verdict of theirs is taken. */
    int stop;
} fg_schedule;

/* Returns when every case is finished, the stop came (*stopped is set), or something failed on this
 * side: no worker can be started, no memory, `finished` refused. */
fg_status fg_schedule_run(const fg_schedule *schedule, int32_t *stopped);

#endif
