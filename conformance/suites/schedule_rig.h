#ifndef FG_CONFORMANCE_SUITES_SCHEDULE_RIG_H
#define FG_CONFORMANCE_SUITES_SCHEDULE_RIG_H

/* A schedule of real workers with a pretended judge, whose cases kill their worker, run out of
 * memory or ask for the stop. Without Criterion, so that a plain program under the thread sanitizer
 * can run it too. */

#include "conformance/schedule.h"
#include <stdatomic.h>

enum { FG_RIG_CASES = 24 };

/* What the judge does, and what it and the receiver saw. One rig runs at a time. */
typedef struct fg_schedule_rig {
    int32_t resource_runs; /* how often case 5 ends as resource */
    fg_status own_trouble; /* of case 7 */
    int32_t refuse;        /* the receiver refuses case 3 */
    char ended[256];       /* how a worker ended out of order, "" for none */
    int stop;              /* eventfd that case 9 writes to, or -1 */
    const char *backend;
    atomic_int runs[FG_RIG_CASES], finished[FG_RIG_CASES];
    int32_t pids[FG_RIG_CASES][2]; /* of the workers of the first two runs */
    fg_result results[FG_RIG_CASES];
    fg_case cases[FG_RIG_CASES];
} fg_schedule_rig;

/* Makes a rig without mischief but that of case 4, which kills its worker. */
void fg_schedule_rig_reset(fg_schedule_rig *rig);

/* Runs its cases on so many jobs; `done` as in fg_schedule. */
fg_status fg_schedule_rig_run(fg_schedule_rig *rig, int32_t jobs, const unsigned char *done,
                              int32_t *stopped);

#endif
