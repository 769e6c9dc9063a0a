/* The threads of the executor checks as a plain program, for the thread sanitizer: Criterion's own
 * process does not run under it. */
#include "conformance/executor/plan_checks_threads.h"
#include "conformance/executor/recompute_checks.h"
#include "conformance/suites/exec_fixture.h"
#include <stdio.h>

static int run(const char *backend, const char *line) {
    static fg_exec_fixture fixture;
    fg_status status = fg_exec_fixture_open(backend, line, &fixture);
    if (!status) {
        status = fixture.value.kind == FG_CASE_PLAN
                     ? fg_plan_threads(&fixture.set, "threads", 40, &fixture.result)
                     : fg_recompute_checks(&fixture.set, &fixture.result);
        fg_exec_fixture_close(&fixture);
    }
    int passed = !status && fixture.result.check_count && fixture.result.state == FG_STATE_PASS;
    printf("%s fuser on %s: %s %s\n", passed ? "ok" : "FAILED", backend,
           fixture.value.kind == FG_CASE_PLAN ? "threads share a plan cache"
                                              : "threads and executors share weights",
           status ? fg_message() : fixture.result.reason);
    return passed;
}

int main(void) {
    int passed = run("recorder", FG_FIXTURE_LINE("plan", ""));
    passed &= run("host", FG_FIXTURE_LINE("plan", ""));
    passed &= run("recorder", FG_FIXTURE_LINE("recompute", "seq=8 iters=5"));
    passed &= run("host", FG_FIXTURE_LINE("recompute", "seq=8 iters=5 wgrad=accumulate"));
    return passed ? 0 : 1;
}
