/* The scheduler's threads and their workers, for the thread sanitizer. */

#include "conformance/suites/schedule_rig.h"
#include <stdio.h>
#include <sys/eventfd.h>

static fg_schedule_rig rig;

static int finished(void) {
    int count = 0;
    for (int i = 0; i < FG_RIG_CASES; i++) {
        count += rig.finished[i];
    }
    return count;
}

static int report(const char *what, int wrong) {
    (void)printf("%s schedule: %s, %d of %d cases finished\n", wrong ? "FAILED" : "ok", what,
                 finished(), FG_RIG_CASES);
    return wrong;
}

int main(void) {
    int32_t stopped = 0;
    int failures = 0;
    fg_schedule_rig_reset(&rig);
    rig.resource_runs = 1;
    fg_status status = fg_schedule_rig_run(&rig, 4, NULL, &stopped);
    failures += report("four jobs, a dead worker, a second try",
                       status != FG_STATUS_OK || stopped || finished() != FG_RIG_CASES);
    fg_schedule_rig_reset(&rig);
    rig.stop = eventfd(0, EFD_CLOEXEC);
    status = fg_schedule_rig_run(&rig, 3, NULL, &stopped);
    failures += report("a stop with cases in hand",
                       status != FG_STATUS_OK || !stopped || rig.finished[9] != 0);
    return failures;
}
