#include "conformance/report/result.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const states[FG_STATES] = {
    [FG_STATE_PASS] = "pass",
    [FG_STATE_FAIL] = "fail",
    [FG_STATE_NOT_SUPPORTED] = "not-supported",
    [FG_STATE_MISTRUSTED] = "mistrusted",
    [FG_STATE_RESOURCE] = "resource",
};

static const char *const faults[FG_FAULTS] = {
    [FG_FAULT_NONE] = "",
    [FG_FAULT_NUMERIC] = "numeric",
    [FG_FAULT_MEMORY] = "memory",
    [FG_FAULT_DETERMINISM] = "determinism",
    [FG_FAULT_CONTRACT] = "contract",
    [FG_FAULT_CRASH] = "crash",
    [FG_FAULT_TIMEOUT] = "timeout",
};

const char *fg_state_name(fg_state state) {
    return (unsigned)state < FG_STATES ? states[state] : "?";
}

const char *fg_fault_name(fg_fault fault) {
    return (unsigned)fault < FG_FAULTS ? faults[fault] : "?";
}

fg_status fg_state_from_name(const char *name, fg_state *out) {
    for (int i = 0; i < FG_STATES; i++) {
        if (strcmp(name, states[i]) == 0) {
            *out = (fg_state)i;
            return FG_STATUS_OK;
        }
    }
    return FG_FAIL(FG_STATUS_NOT_FOUND, "found state '%s', expected a state of a case", name);
}

fg_status fg_fault_from_name(const char *name, fg_fault *out) {
    for (int i = 0; i < FG_FAULTS; i++) {
        if (strcmp(name, faults[i]) == 0) {
            *out = (fg_fault)i;
            return FG_STATUS_OK;
        }
    }
    return FG_FAIL(FG_STATUS_NOT_FOUND, "found fault '%s', expected a kind of failure", name);
}

void fg_result_check(fg_result *result, const char *name, int32_t state, double ratio,
                     fg_fault fault, const char *where, ...) {
    char place[sizeof result->checks[0].where] = "";
    va_list arguments;
    va_start(arguments, where);
    vsnprintf(place, sizeof place, where, arguments);
    va_end(arguments);
    if (result->check_count < FG_CHECKS) {
        fg_check *check = &result->checks[result->check_count++];
        *check = (fg_check){.state = state, .ratio = ratio};
        strncpy(check->name, name, sizeof check->name - 1);
        memcpy(check->where, place, sizeof place);
    }
    if (state == FG_CHECK_FAIL && result->state != FG_STATE_FAIL) {
        result->state = FG_STATE_FAIL;
        result->fault = fault;
        snprintf(result->reason, sizeof result->reason, "%s: %s", name, place);
    }
}
