#ifndef FG_CONFORMANCE_REPORT_RESULT_H
#define FG_CONFORMANCE_REPORT_RESULT_H

#include "contract/status.h"
#include <stdint.h>

/* How a case ended. */
typedef enum fg_state {
    FG_STATE_PASS = 0,
    FG_STATE_FAIL = 1,
    FG_STATE_NOT_SUPPORTED = 2,
    FG_STATE_MISTRUSTED = 3,
    FG_STATE_RESOURCE = 4,
    FG_STATES = 5,
} fg_state;

/* Kind of a failure. */
typedef enum fg_fault {
    FG_FAULT_NONE = 0,
    FG_FAULT_NUMERIC = 1,
    FG_FAULT_MEMORY = 2,
    FG_FAULT_DETERMINISM = 3,
    FG_FAULT_CONTRACT = 4,
    FG_FAULT_CRASH = 5,
    FG_FAULT_TIMEOUT = 6,
    FG_FAULTS = 7,
} fg_fault;

const char *fg_state_name(fg_state state); /* "pass" "fail" "not-supported" ... */
const char *fg_fault_name(fg_fault fault); /* "" "numeric" "memory" ... */
fg_status fg_state_from_name(const char *name, fg_state *out);
fg_status fg_fault_from_name(const char *name, fg_fault *out);

enum { FG_CHECK_NOT_RUN = 0, FG_CHECK_PASS = 1, FG_CHECK_FAIL = 2 };

#define FG_CHECKS 40

/* One named check: memory, exact, bound, bias, determinism, counts, ... */
typedef struct fg_check {
    char name[32];
    int32_t state;   /* FG_CHECK_* */
    double ratio;    /* worst error over tolerance, 0 where the check has none */
    char where[320]; /* place and numbers of the worst element or the first failure */
} fg_check;

typedef struct fg_result {
    fg_state state;
    fg_fault fault;
    int32_t declared; /* not-supported: `supports` said no */
    char reason[512];
    fg_check checks[FG_CHECKS];
    int32_t check_count;
    int64_t elements_compared, elements_owed, elements_touched;
    double seconds, seconds_reference, seconds_backend; /* harness is the rest */
    int64_t plans_built, plan_hits, state_resets;
} fg_result;

/* Records one check: a failing one makes the result fail with `fault` unless it already failed
 * (the first failure keeps reason and fault). `where` is printf style. */
void fg_result_check(fg_result *result, const char *name, int32_t state, double ratio,
                     fg_fault fault, const char *where, ...) __attribute__((format(printf, 6, 7)));

#endif
