#ifndef FG_CONFORMANCE_SUITES_EXEC_FIXTURE_H
#define FG_CONFORMANCE_SUITES_EXEC_FIXTURE_H

/* What suites of the executor share: environments in this process, and small cases. */

#include "conformance/executor/exec_set.h"

/* The fuser, or another executor, on the backend `recorder`, `reference` or `host`. */
fg_status fg_exec_fixture_env(const char *backend, fg_executor_entry_fn executor, fg_exec_env *out);

/* A set of a case line on the fuser over a backend, with expected results; close undoes both. */
typedef struct fg_exec_fixture {
    fg_exec_env env;
    fg_case value;
    fg_exec_set set;
    fg_result result;
} fg_exec_fixture;

fg_status fg_exec_fixture_open(const char *backend, const char *line, fg_exec_fixture *out);
fg_status fg_exec_fixture_open_executor(const char *backend, fg_executor_entry_fn executor,
                                        const char *line, fg_exec_fixture *out);
void fg_exec_fixture_close(fg_exec_fixture *fixture);

/* Three experts, one of them empty; f32, with bias and p. `kind` and `more` are put into the line:
 * "plan ... seq=1". */
#define FG_FIXTURE_LINE(kind, more)                                                                \
    kind " dt=f32 E=3 H=16 F=24 splits=2,0,3 T=6 bias=1 prob=1 data=normal " more

/* The check of that name; NULL when the result has none. */
const fg_check *fg_exec_fixture_check(const fg_result *result, const char *name);

#endif
