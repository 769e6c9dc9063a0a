#include "conformance/cli/bench_fuser.h"
#include "conformance/cli/bench_hits.h"
#include "conformance/cli/bench_rig.h"
#include "contract/alloc.h"

static fg_status iterate_all(fg_bench_rig *r, int32_t policy, double *times,
                             fg_bench_fuser_result *out) {
    double one[FG_BENCH_PHASES];
    const int32_t count = out->iterations;
    for (int32_t i = -count / 10; i < count; i++) { // the first tenth warms up
        FG_TRY(fg_bench_iterate(r, policy, one));
        for (int32_t phase = 0; phase < FG_BENCH_PHASES && i >= 0; phase++) {
            times[phase * count + i] = one[phase];
        }
    }
    for (int32_t phase = 0; phase < FG_BENCH_PHASES; phase++) {
        out->phases[policy][phase] = fg_bench_summary(times + phase * count, count);
    }
    out->counts[policy].struct_size = sizeof out->counts[policy];
    return r->api->counters(r->executor, &out->counts[policy]);
}

static fg_status measure_policy(int32_t policy, fg_bench_fuser_result *out) {
    fg_bench_rig r;
    double *times =
        fg_alloc(FG_BENCH_PHASES * (size_t)out->iterations * sizeof *times, FG_ALLOC_GENERAL);
    if (times == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected that of %d iterations",
                       out->iterations);
    }
    fg_status status = fg_bench_rig_open(policy == FG_BENCH_ONE_SLOT ? 1 : 0, &r);
    if (status == FG_STATUS_OK) {
        status = iterate_all(&r, policy, times, out);
        r.api->destroy(r.executor);
    }
    fg_free(times);
    return status;
}

fg_status fg_bench_fuser(int32_t iterations, fg_bench_fuser_result *out) {
    if (iterations < 1 || iterations > 1000000) {
        return FG_FAIL(FG_STATUS_INVALID, "iterations: found %d, expected 1 to 1000000",
                       iterations);
    }
    *out = (fg_bench_fuser_result){.iterations = iterations};
    for (int32_t policy = 0; policy < FG_BENCH_POLICIES; policy++) {
        FG_TRY(measure_policy(policy, out));
    }
    return fg_bench_hits(out);
}
