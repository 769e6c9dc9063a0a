#include "conformance/suites/exec_starve.h"
#include "contract/alloc.h"
#include <criterion/criterion.h>

void fg_exec_starve(const char *line, fg_status (*run)(fg_exec_fixture *fixture)) {
    static fg_exec_fixture fixture;
    size_t before = fg_alloc_live_total();
    int64_t n = 0;
    for (int clean = 0; !clean;) {
        int64_t calls = fg_alloc_calls();
        fg_alloc_fail_at(++n);
        fg_status status = fg_exec_fixture_open("recorder", line, &fixture);
        if (!status) {
            status = run(&fixture);
            fg_exec_fixture_close(&fixture);
        }
        clean = fg_alloc_calls() - calls < n;
        fg_alloc_fail_at(0);
        cr_assert_eq(fg_alloc_live_total(), before, "allocation %lld failed: bytes are lost",
                     (long long)n);
        int noticed = status != FG_STATUS_OK || fixture.result.state != FG_STATE_PASS;
        cr_assert_eq(noticed, !clean, "allocation %lld: status %s, %s", (long long)n,
                     fg_status_name(status), fixture.result.reason);
    }
    cr_assert_gt(n, 20);
}
