#include "conformance/executor/recompute_checks_moves.h"
#include "conformance/executor/exec_watch.h"
#include "conformance/tensors/data.h"
#include <stdio.h>
#include <string.h>

#define WIDE_WEIGHTS (1 << 22) /* elements of one weight above which moves are fewer */
#define WATCH (FG_WATCH_ALL & ~(uint32_t)FG_WATCH_EVENTS)

static fg_status open_driver(const fg_exec_set *set, fg_driver *driver) {
    FG_TRY(fg_driver_open(set->env, set->data, set->out, set->expected, driver));
    driver->watch = WATCH;
    fg_status status = fg_exec_set_begin(set, driver);
    while (!status && driver->context_count && !driver->failure[0]) {
        status = fg_driver_text(driver, "back");
    }
    if (status) {
        fg_driver_close(driver);
    }
    return status;
}

static fg_status close_driver(const fg_exec_set *set, const char *name, fg_status status,
                              fg_driver *driver, fg_result *result) {
    int32_t missing = 0;
    if (!status) {
        status = fg_watch_counts(driver, &missing);
    }
    status = fg_exec_set_record(set, name, status, driver, missing, result);
    fg_driver_use(driver, set->data, set->out, set->expected);
    fg_driver_close(driver);
    return status;
}

/* At real widths each move takes seconds, and is one that small cases make as well. */
static int wide(const fg_exec_set *set) {
    const fg_problem *problem = &set->value->problem;
    return problem->experts * problem->hidden * problem->inter > WIDE_WEIGHTS;
}

/* The case's tensors and those of `value`, in turn, on one plan. */
static fg_status check_turns(const fg_exec_set *set, const fg_case *value, const char *name,
                             fg_result *result) {
    fg_exec_set other;
    fg_driver driver;
    FG_TRY(fg_exec_set_create(set->env, value, set->suffix, set->value->actions, &other));
    fg_status status = open_driver(set, &driver);
    if (status) {
        fg_exec_set_destroy(&other);
        return status;
    }
    for (int i = 0; i < (wide(set) ? 1 : 2) && !status; i++) {
        fg_driver_use(&driver, set->data, set->out, set->expected);
        status = fg_driver_text(&driver, "grad,nograd");
        fg_driver_use(&driver, other.data, other.out, other.expected);
        status = status ? status : fg_driver_text(&driver, "grad,nograd,back,back");
    }
    status = close_driver(set, name, status, &driver, result);
    fg_exec_set_destroy(&other);
    return status;
}

/* Three rows more, and every expert gets the rows of the next one. */
static fg_case other_rows(const fg_case *value) {
    fg_case moved = *value;
    int64_t experts = value->problem.experts;
    int64_t align = value->problem.segment_align;
    for (int64_t e = 0; e < experts; e++) {
        moved.splits[e] = value->splits[(e + 1) % experts];
    }
    moved.splits[0] += 3;
    moved.rows += 3 + align;
    moved.seed += 2;
    return moved;
}

static fg_status check_devices(const fg_exec_set *set, fg_result *result) {
    fg_driver driver;
    FG_TRY(open_driver(set, &driver));
    fg_status status = fg_driver_text(&driver, "dev:0,grad,back,dev:1,nograd,grad,dev:0,grad,back,"
                                               "back");
    if (driver.failure[0] && driver.status == FG_STATUS_DEVICE) {
        driver.failure[0] = '\0';
        status = FG_FAIL(FG_STATUS_UNSUPPORTED, "the backend has no second device");
    }
    return close_driver(set, "devices", status, &driver, result);
}

/* One input gets new values in place: results must be those of a fresh executor, and not the old
 * ones, which are in `old`. */
static fg_status refill_one(const fg_exec_set *set, int input, fg_exec_out *old, fg_exec_out *fresh,
                            fg_driver *driver) {
    char text[192];
    const char *name = input == FG_DATA_DY ? "dy" : fg_input_name(input);
    FG_TRY(fg_exec_data_refill(set->data, input, set->value->seed + 3));
    FG_TRY(fg_exec_fresh(set->env, set->data, set->value->actions, fresh->has & ~FG_EXEC_Y, fresh));
    if (fg_exec_out_equal(old, fresh, fresh->has, text, sizeof text)) {
        fg_watch_note(driver, FG_FAULT_CONTRACT, "%s refilled: expected new results, got the old",
                      name);
    }
    fg_driver_use(driver, set->data, set->out, fresh);
    FG_TRY(fg_driver_text(driver, "nograd,grad,back"));
    if (driver->failure[0]) {
        snprintf(text, sizeof text, "%s refilled: %.150s", name, driver->failure);
        memcpy(driver->failure, text, sizeof text);
    }
    FG_TRY(fg_exec_data_refill(set->data, input, set->value->seed));
    set->data->value.seed = set->value->seed;
    return FG_STATUS_OK;
}

static fg_status check_refills(const fg_exec_set *set, fg_result *result) {
    fg_exec_out *fresh = NULL;
    fg_driver driver;
    FG_TRY(fg_exec_out_create(set->env, set->value, &fresh));
    fg_status status = open_driver(set, &driver);
    if (status) {
        fg_exec_out_destroy(fresh);
        return status;
    }
    for (int input = 0; input <= FG_DATA_DY && !status && !driver.failure[0]; input++) {
        int has = input == FG_DATA_DY || fg_problem_has_input(&set->value->problem, input);
        if (has && (!wide(set) || input == FG_X || input == FG_W1)) {
            status = refill_one(set, input, set->expected, fresh, &driver);
        }
    }
    int32_t missing = 0;
    fg_watch_own_counts(&driver, &missing);
    status = fg_exec_set_record(set, "fresh_in_place", status, &driver, missing, result);
    fg_driver_use(&driver, set->data, set->out, set->expected);
    fg_driver_close(&driver);
    fg_exec_out_destroy(fresh);
    return status;
}

static fg_status check_earlier(const fg_exec_set *set, fg_result *result) {
    fg_exec_out *later = NULL;
    fg_driver driver;
    FG_TRY(fg_exec_out_create(set->env, set->value, &later));
    fg_status status = open_driver(set, &driver);
    if (status) {
        fg_exec_out_destroy(later);
        return status;
    }
    status = fg_driver_text(&driver, "grad,back");
    fg_driver_use(&driver, set->data, later, set->expected);
    status = status ? status : fg_driver_text(&driver, "nograd,grad,back");
    char text[192];
    uint32_t wanted = driver.requires | FG_EXEC_Y;
    if (!status && (!fg_exec_out_intact(set->out, wanted, text, sizeof text) ||
                    !fg_exec_out_equal(set->expected, set->out, wanted, text, sizeof text))) {
        fg_watch_note(&driver, FG_FAULT_MEMORY, "earlier outputs: %.160s", text);
    }
    status = close_driver(set, "earlier_outputs", status, &driver, result);
    fg_exec_out_destroy(later);
    return status;
}

fg_status fg_recompute_moves(const fg_exec_set *set, fg_result *result) {
    fg_case moved = other_rows(set->value);
    fg_case elsewhere = *set->value;
    elsewhere.seed += 1;
    FG_TRY(check_turns(set, &elsewhere, "new_pointers", result));
    FG_TRY(check_turns(set, &moved, "new_rows", result));
    FG_TRY(check_devices(set, result));
    FG_TRY(check_refills(set, result));
    return check_earlier(set, result);
}
