#include "conformance/executor/boundary_checks.h"
#include "conformance/suites/exec_fixture.h"
#include "conformance/suites/exec_starve.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define MASKS 64

/* Passes that make the plans of one, two and three entries. */
static const char *const forms[] = {"", "pass:fc1_act", "pass:act_fc2", "pass:basic"};
#define FORMS (sizeof forms / sizeof forms[0])

/* How the call before went: not at all, without gradients, or with a mask. */
typedef struct call_before {
    int32_t has;
    uint32_t mask;
} call_before;

static fg_exec_fixture fixture;

static void open_form(const char *backend, const char *actions) {
    char line[FG_CASE_LINE];
    snprintf(line, sizeof line, FG_FIXTURE_LINE("boundary", "%s%s"), actions[0] ? "actions=" : "",
             actions);
    cr_assert_eq(fg_exec_fixture_open(backend, line, &fixture), 0, "%s on %s: %s", actions, backend,
                 fg_message());
}

/* Demands that every check of the fixture's case passes, but those that ask the recorder may not
 * run on another backend. */
static void check_case(int recorder) {
    memset(&fixture.result, 0, sizeof fixture.result);
    cr_assert_eq(fg_boundary_checks(&fixture.set, &fixture.result), 0, "%s", fg_message());
    for (int32_t i = 0; i < fixture.result.check_count; i++) {
        const fg_check *check = &fixture.result.checks[i];
        int may_not_run = !recorder && (strcmp(check->name, "saved") == 0 ||
                                        strcmp(check->name, "released") == 0);
        cr_assert(check->state == FG_CHECK_PASS || may_not_run,
                  "%s: want 0x%x first %d 0x%x mode %d: %s", check->name, fixture.value.want,
                  fixture.value.has_first, fixture.value.first, (int)fixture.value.mode,
                  check->where);
    }
}

/* Every mask of x, w1, b1, p, w2, b2 as a call of `mode` after `before`, over every form. */
static void every_mask(fg_case_mode mode, call_before before) {
    for (size_t form = 0; form < FORMS; form++) {
        open_form("recorder", forms[form]);
        for (uint32_t mask = 0; mask < MASKS; mask++) {
            fixture.value.want = mask;
            fixture.value.mode = mode;
            fixture.value.has_first = before.has;
            fixture.value.first = before.mask;
            check_case(1);
        }
        fg_exec_fixture_close(&fixture);
    }
}

Test(boundary, every_mask_gives_exactly_its_gradients) {
    every_mask(FG_MODE_GRAD, (call_before){0, 0});
}

Test(boundary, every_mask_holds_after_a_no_grad_call) {
    every_mask(FG_MODE_GRAD, (call_before){1, 0});
}

Test(boundary, every_mask_holds_after_a_call_for_all) {
    every_mask(FG_MODE_GRAD, (call_before){1, MASKS - 1});
}

Test(boundary, every_mask_holds_after_a_call_for_b2) {
    every_mask(FG_MODE_GRAD, (call_before){1, FG_BIT(FG_B2)});
}

Test(boundary, no_mask_matters_without_gradients) {
    every_mask(FG_MODE_NOGRAD, (call_before){0, 0});
}

Test(boundary, no_mask_matters_without_gradients_after_a_call_for_p) {
    every_mask(FG_MODE_NOGRAD, (call_before){1, FG_BIT(FG_P)});
}

Test(boundary, every_mask_holds_on_host) {
    open_form("host", "");
    for (uint32_t mask = 0; mask < MASKS; mask++) {
        fixture.value.want = mask;
        check_case(0);
    }
    fg_exec_fixture_close(&fixture);
}

Test(boundary, frozen_weights_are_ordinary_cases) {
    static const uint32_t masks[] = {
        FG_BIT(FG_W2) | FG_BIT(FG_B2),                // FC1 frozen
        FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_B1), // FC2 frozen
        FG_BIT(FG_X) | FG_BIT(FG_P) | FG_BIT(FG_W2),  // FC1 frozen, x not
        FG_BIT(FG_X),                                 // both frozen
        FG_BIT(FG_W1) | FG_BIT(FG_B1) | FG_BIT(FG_P), // FC2 and x frozen
    };
    for (size_t form = 0; form < FORMS; form++) {
        open_form("recorder", forms[form]);
        for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
            fixture.value.want = masks[i];
            check_case(1);
        }
        fg_exec_fixture_close(&fixture);
    }
}

static fg_status run_boundary(fg_exec_fixture *starved) {
    return fg_boundary_checks(&starved->set, &starved->result);
}

Test(boundary, no_allocation_may_fail_unnoticed) {
    fg_exec_starve(FG_FIXTURE_LINE("boundary", "want=dx,dw2 first=all"), run_boundary);
}
