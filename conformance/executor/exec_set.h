#ifndef FG_CONFORMANCE_EXECUTOR_EXEC_SET_H
#define FG_CONFORMANCE_EXECUTOR_EXEC_SET_H

/* What the checks of one case share: its tensors, and the results of a fresh executor. */

#include "conformance/case/case.h"
#include "conformance/executor/exec_driver.h"

typedef struct fg_exec_set {
    fg_exec_env *env;
    const fg_case *value;
    const char *suffix; /* of check names: "" or "@backend" */
    fg_exec_data *data;
    fg_exec_out *out, *expected; /* expected: y and every gradient, recipe none */
} fg_exec_set;

/* Makes tensors for a case and runs a new executor that did the actions of `setup` first for
 * `expected` (setup NULL: none).
 * FG_STATUS_UNSUPPORTED for memory that this side cannot see; the executor's own status when its
 * first call fails. */
fg_status fg_exec_set_create(fg_exec_env *env, const fg_case *value, const char *suffix,
                             const char *setup, fg_exec_set *out);
void fg_exec_set_destroy(fg_exec_set *set);

/* Brings a new driver to a boundary or recompute case's call: does the case's actions (unwatched),
 * a forward with gradients before a case without them (so that there are flags to keep), the call
 * of `first`, and asks for `want`. */
fg_status fg_exec_set_begin(const fg_exec_set *set, fg_driver *driver);

/* Records how a check ended: a failing one when `driver` notes a failure, not-run when `status` is
 * FG_STATUS_UNSUPPORTED, else a pass (not-run for a plan case whose counts were missing); an
 * executor without memory or a device makes the case `resource`. Adds the executor's plan counts
 * and the elements compared to the result, and a row for missing counts. Returns statuses that mean
 * this side's trouble. */
fg_status fg_exec_set_record(const fg_exec_set *set, const char *name, fg_status status,
                             const fg_driver *driver, int32_t missing, fg_result *result);

/* Records a check that failed, passed or did not run, with the set's suffix. */
void fg_exec_set_check(const fg_exec_set *set, const char *name, int32_t state, fg_fault fault,
                       const char *where, fg_result *result);

/* Records that an executor did not give some counts: check `counts` does not run, and a plan case
 * is mistrusted. Nothing for `missing` 0. */
void fg_exec_set_uncounted(const fg_exec_set *set, int32_t missing, fg_result *result);

/* Makes a case mistrusted that has not failed. */
void fg_exec_set_mistrust(fg_result *result, const char *why);

/* Makes a case `resource` that has not failed, when a status of an executor says that memory or a
 * device is missing; 0 for other statuses. */
int fg_exec_set_resource(fg_status status, const char *text, fg_result *result);

/* Whether a status of a function above the executor ABI is this side's own trouble, with which no
 * verdict can be given, and not the answer of an executor that env->refused tells of. */
int fg_exec_own_trouble(const fg_exec_env *env, fg_status status);

#endif
