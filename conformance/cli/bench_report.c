#include "conformance/cli/bench_report.h"

static const char *const policy_names[FG_BENCH_POLICIES] = {"plan cache", "one-slot memo",
                                                            "rebuild each call"};
static const char *const policy_keys[FG_BENCH_POLICIES] = {"cache", "one_slot", "rebuild"};
static const char *const phase_keys[FG_BENCH_PHASES] = {"nograd", "grad", "backward"};

static void print_hit(FILE *out, const char *name, fg_bench_time time) {
    fprintf(out, "%-34s %10.1f %10.1f\n", name, time.median, time.least);
}

void fg_bench_fuser_print(FILE *out, const fg_bench_fuser_result *result) {
    fprintf(out, "host time of the fuser, %d iterations, median/least ns\n", result->iterations);
    fprintf(out, "%-18s %16s %16s %16s %9s %9s %7s %7s\n", "", "no-grad forward", "grad forward",
            "backward", "built", "hits", "resets", "evicted");
    for (int32_t policy = 0; policy < FG_BENCH_POLICIES; policy++) {
        const fg_counters *counts = &result->counts[policy];
        fprintf(out, "%-18s", policy_names[policy]);
        for (int32_t phase = 0; phase < FG_BENCH_PHASES; phase++) {
            fprintf(out, " %8.0f/%7.0f", result->phases[policy][phase].median,
                    result->phases[policy][phase].least);
        }
        fprintf(out, " %9lld %9lld %7lld %7lld\n", (long long)counts->plans_built,
                (long long)counts->plan_hits, (long long)counts->state_resets,
                (long long)counts->evictions);
    }
    fprintf(out, "\nchoosing a plan, two boundaries in turn, %-3d batches (ns) %6s %10s\n",
            result->batches, "median", "least");
    print_hit(out, "plan hit, one thread", result->hit);
    print_hit(out, "plan hit, each of two threads", result->hit_two_threads);
    print_hit(out, "one-slot memo", result->one_slot);
    print_hit(out, "rebuild each call", result->rebuild);
}

static json_t *time_json(fg_bench_time time) {
    return json_pack("{s:f, s:f}", "median_ns", time.median, "least_ns", time.least);
}

static json_t *policy_json(const fg_bench_fuser_result *result, int32_t policy) {
    const fg_counters *counts = &result->counts[policy];
    json_t *object =
        json_pack("{s:I, s:I, s:I, s:I, s:I}", "plans_built", (json_int_t)counts->plans_built,
                  "plan_hits", (json_int_t)counts->plan_hits, "state_resets",
                  (json_int_t)counts->state_resets, "evictions", (json_int_t)counts->evictions,
                  "stream_lookups", (json_int_t)counts->stream_lookups);
    for (int32_t phase = 0; phase < FG_BENCH_PHASES; phase++) {
        json_object_set_new(object, phase_keys[phase], time_json(result->phases[policy][phase]));
    }
    return object;
}

json_t *fg_bench_fuser_json(const fg_bench_fuser_result *result) {
    json_t *policies = json_object();
    for (int32_t policy = 0; policy < FG_BENCH_POLICIES; policy++) {
        json_object_set_new(policies, policy_keys[policy], policy_json(result, policy));
    }
    return json_pack("{s:i, s:o, s:{s:i, s:i, s:o, s:o, s:o, s:o}}", "iterations",
                     result->iterations, "policies", policies, "plan_hit", "batches",
                     result->batches, "calls", result->batch, "one_thread", time_json(result->hit),
                     "two_threads", time_json(result->hit_two_threads), "one_slot",
                     time_json(result->one_slot), "rebuild", time_json(result->rebuild));
}
