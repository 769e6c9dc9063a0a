#include "conformance/suites/exec_fixture.h"
#include "conformance/worker/recorder.h"
#include "fuser/fuser_executor.h"
#include "reference/host_backend.h"
#include "reference/reference_backend.h"
#include <cblas.h>
#include <string.h>

fg_status fg_exec_fixture_env(const char *backend, fg_executor_entry_fn executor,
                              fg_exec_env *out) {
    static const struct {
        const char *name;
        fg_backend_entry_fn entry;
    } backends[] = {
        {"recorder", fg_recorder_backend_entry},
        {"reference", fg_reference_backend_entry},
        {"host", fg_host_backend_entry},
    };
    openblas_set_num_threads(1);
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++) {
        if (strcmp(backends[i].name, backend) == 0) {
            FG_TRY(fg_exec_env_local(executor, backends[i].entry, out));
            if (i == 0) {
                fg_exec_env_counted(out, fg_recorder_counts);
            }
            return FG_STATUS_OK;
        }
    }
    return FG_FAIL(FG_STATUS_NOT_FOUND, "found backend '%s', expected a known one", backend);
}

fg_status fg_exec_fixture_open_executor(const char *backend, fg_executor_entry_fn executor,
                                        const char *line, fg_exec_fixture *out) {
    memset(out, 0, sizeof *out);
    FG_TRY(fg_case_parse(line, &out->value));
    FG_TRY(fg_exec_fixture_env(backend, executor, &out->env));
    fg_status status =
        fg_exec_set_create(&out->env, &out->value, "",
                           out->value.kind == FG_CASE_PLAN ? "" : out->value.actions, &out->set);
    if (status) {
        fg_exec_env_close(&out->env);
    }
    return status;
}

fg_status fg_exec_fixture_open(const char *backend, const char *line, fg_exec_fixture *out) {
    return fg_exec_fixture_open_executor(backend, fg_fuser_executor_entry, line, out);
}

void fg_exec_fixture_close(fg_exec_fixture *fixture) {
    fg_exec_set_destroy(&fixture->set);
    fg_exec_env_close(&fixture->env);
}

const fg_check *fg_exec_fixture_check(const fg_result *result, const char *name) {
    for (int32_t i = 0; i < result->check_count; i++) {
        if (strcmp(result->checks[i].name, name) == 0) {
            return &result->checks[i];
        }
    }
    return NULL;
}
