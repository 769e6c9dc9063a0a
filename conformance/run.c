#include "conformance/run.h"

typedef fg_status (*run_fn)(fg_client *client, const fg_case *value, fg_result *result);

fg_status fg_run_case(fg_client *client, const fg_case *value, fg_result *result) {
    static const run_fn kinds[] = {
        [FG_CASE_MLP] = fg_run_mlp,
        [FG_CASE_PLAN] = fg_run_plan,
        [FG_CASE_BOUNDARY] = fg_run_boundary,
        [FG_CASE_RECOMPUTE] = fg_run_recompute,
    };
    run_fn run = (size_t)value->kind < sizeof kinds / sizeof kinds[0] ? kinds[value->kind] : NULL;
    if (run == NULL) {
        return FG_FAIL(FG_STATUS_UNSUPPORTED, "this kind of case is known, but not built yet");
    }
    return run(client, value, result);
}
