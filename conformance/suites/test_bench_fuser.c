#include "conformance/cli/bench_fuser.h"
#include "conformance/cli/bench_report.h"
#include "conformance/cli/null_backend.h"
#include "contract/alloc.h"
#include <criterion/criterion.h>
#include <sched.h>
#include <string.h>

/* What the measurement counts and reports; never how long anything took. */

#define ITERATIONS 20
#define WARM_UP 2
#define CALLS (2 * (ITERATIONS + WARM_UP))

static fg_bench_fuser_result result;

static void measure(void) {
    cr_assert_eq(fg_bench_fuser(ITERATIONS, &result), FG_STATUS_OK, "%s", fg_message());
}

Test(bench_fuser, each_policy_builds_what_it_must, .init = measure) {
    static const int64_t built[FG_BENCH_POLICIES] = {2, CALLS, CALLS};
    static const int64_t evictions[FG_BENCH_POLICIES] = {0, CALLS - 1, 0};
    for (int policy = 0; policy < FG_BENCH_POLICIES; policy++) {
        const fg_counters *counts = &result.counts[policy];
        cr_assert_eq(counts->plans_built, built[policy]);
        cr_assert_eq(counts->plan_hits, CALLS - built[policy]);
        cr_assert_eq(counts->evictions, evictions[policy]);
        cr_assert_eq(counts->state_resets, 1);
        cr_assert_eq(counts->stream_lookups, CALLS + CALLS / 2);
        cr_assert_eq(counts->current_device_queries, 0);
    }
}

Test(bench_fuser, every_time_is_measured, .init = measure) {
    for (int policy = 0; policy < FG_BENCH_POLICIES; policy++) {
        for (int phase = 0; phase < FG_BENCH_PHASES; phase++) {
            const fg_bench_time time = result.phases[policy][phase];
            cr_assert(time.least > 0 && time.least <= time.median);
        }
    }
    cr_assert(result.hit.least > 0 && result.hit.least <= result.hit.median);
    cr_assert(result.one_slot.least > 0 && result.one_slot.least <= result.one_slot.median);
    cr_assert(result.rebuild.least > 0 && result.rebuild.least <= result.rebuild.median);
    cpu_set_t allowed;
    cr_assert_eq(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    cr_assert_eq(result.hit_two_threads.least > 0, CPU_COUNT(&allowed) > 1);
    cr_assert(result.hit_two_threads.least <= result.hit_two_threads.median);
    cr_assert_eq(result.batches, ITERATIONS);
    cr_assert_eq(result.batch, 10000);
}

Test(bench_fuser, a_number_of_iterations_outside_its_range_is_refused) {
    static const int32_t wrong[] = {0, -1, 1000001, INT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_assert_eq(fg_bench_fuser(wrong[i], &result), FG_STATUS_INVALID);
    }
}

Test(bench_fuser, a_failed_allocation_is_a_status_and_leaks_nothing) {
    const size_t before = fg_alloc_live_total();
    for (int64_t n = 1; n < 30; n++) {
        fg_alloc_fail_at(n);
        cr_assert_eq(fg_bench_fuser(1, &result), FG_STATUS_NO_MEMORY, "allocation %d", (int)n);
        fg_alloc_fail_at(0);
        cr_assert_eq(fg_alloc_live_total(), before, "allocation %d", (int)n);
    }
}

Test(bench_fuser, the_tables_hold_every_number, .init = measure) {
    char text[4096] = {0};
    static const char *const words[] = {"plan cache",      "one-slot memo", "rebuild each call",
                                        "no-grad forward", "grad forward",  "backward",
                                        "two threads",     "built",         "resets"};
    FILE *out = fmemopen(text, sizeof text - 1, "w");
    cr_assert_not_null(out);
    result.hit.median = 12345.6;
    result.phases[FG_BENCH_REBUILD][FG_BENCH_BACKWARD].median = 654321;
    fg_bench_fuser_print(out, &result);
    fclose(out);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        cr_assert(strstr(text, words[i]), "%s in\n%s", words[i], text);
    }
    cr_assert(strstr(text, "12345.6") && strstr(text, "654321"), "%s", text);
}

Test(bench_fuser, the_object_holds_every_number, .init = measure) {
    json_t *object = fg_bench_fuser_json(&result);
    cr_assert_not_null(object);
    int iterations = 0, batches = 0;
    double nograd = 0, hit = 0;
    json_int_t built = 0, evictions = 0;
    cr_assert_eq(json_unpack(object, "{s:i, s:{s:{s:{s:F}}, s:{s:I, s:I}}, s:{s:i, s:{s:F}}}",
                             "iterations", &iterations, "policies", "cache", "nograd", "median_ns",
                             &nograd, "one_slot", "plans_built", &built, "evictions", &evictions,
                             "plan_hit", "batches", &batches, "one_thread", "least_ns", &hit),
                 0);
    cr_assert_eq(iterations, ITERATIONS);
    cr_assert_eq(batches, ITERATIONS);
    cr_assert_eq(nograd, result.phases[FG_BENCH_CACHE][FG_BENCH_NO_GRAD].median);
    cr_assert_eq(built, CALLS);
    cr_assert_eq(evictions, CALLS - 1);
    cr_assert_eq(hit, result.hit.least);
    json_decref(object);
}

Test(bench_fuser, the_null_backend_has_devices_traits_and_memory) {
    const fg_backend *backend = fg_null_backend();
    fg_device *device = NULL;
    fg_traits traits = {0};
    void *memory = NULL;
    cr_assert_eq(backend->device_open(8, &device), FG_STATUS_DEVICE);
    cr_assert_eq(backend->device_open(-2, &device), FG_STATUS_DEVICE);
    cr_assert_eq(backend->device_open(-1, &device), FG_STATUS_OK);
    cr_assert_not_null(device);
    cr_assert_eq(backend->traits(device, &traits), FG_STATUS_OK);
    cr_assert_eq(traits.base_align, 64);
    const fg_problem problem = fg_problem_default(8, 64, 64);
    const fg_recipe none = fg_recipe_default(FG_RECIPE_NONE);
    fg_kernel *kernel = NULL;
    fg_kernel_sizes sizes = {.struct_size = sizeof sizes};
    cr_assert_eq(backend->kernel_create(device, &problem, &none, &kernel), FG_STATUS_OK);
    cr_assert_not_null(kernel);
    cr_assert_eq(backend->kernel_sizes(kernel, 32, &sizes), FG_STATUS_OK);
    cr_assert(sizes.saved > 0 && sizes.scratch_forward > 0 && sizes.scratch_backward > 0);
    backend->kernel_destroy(kernel);
    cr_assert_eq(backend->mem_alloc(device, 100, &memory), FG_STATUS_OK);
    cr_assert_not_null(memory);
    backend->mem_free(device, memory);
    cr_assert_eq(fg_alloc_live(FG_ALLOC_DEVICE), 0);
    backend->device_close(device);
}
