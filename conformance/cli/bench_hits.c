#include "conformance/cli/bench_hits.h"
#include "conformance/cli/bench_rig.h"
#include "contract/alloc.h"
#include "fuser/plan_choice.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#define BATCHES_MAX 1000
#define HITS 10000 /* calls of a batch of plan hits */
#define BUILDS 100 /* calls of a batch that builds */

/* One batch of plan hits that alternate two boundaries; gives ns for each. */
static double time_hits(fg_bench_rig *r, int64_t *misses) {
    double start = fg_bench_now();
    for (int32_t i = 0; i < HITS; i++) {
        *misses += fg_plan_peek(r->executor, -1, fg_bench_recipe(r), i & 1, r->requires) == 0;
    }
    return (fg_bench_now() - start) / HITS;
}

/* Both plans of the alternation are there afterwards. */
static fg_status warm_up(fg_bench_rig *r) {
    double times[FG_BENCH_PHASES];
    return fg_bench_iterate(r, FG_BENCH_CACHE, times);
}

/* A thread's share of the measurement; it has recipes of its own and shares the executor. */
typedef struct hit_thread {
    fg_bench_rig r;
    double times[BATCHES_MAX];
    int32_t batches;
    int64_t misses;
    atomic_int *arrived; /* threads at the start of a batch, or NULL for one thread alone */
} hit_thread;

static void *run_hits(void *argument) {
    hit_thread *thread = argument;
    for (int32_t i = 0; i < thread->batches; i++) {
        // Batches begin together: a thread that runs while the other sleeps meets no contention.
        for (int at = thread->arrived != NULL ? atomic_fetch_add(thread->arrived, 1) + 1
                                              : 2 * i + 2;
             at < 2 * i + 2; at = atomic_load(thread->arrived)) {
            sched_yield();
        }
        thread->times[i] = time_hits(&thread->r, &thread->misses);
    }
    return NULL;
}

/* Starts a thread on the n-th processor that this process may use. */
static int start_on(int32_t n, hit_thread *thread, pthread_t *out) {
    cpu_set_t allowed, one;
    pthread_attr_t attributes;
    size_t cpu = 0;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return -1;
    }
    while (cpu < CPU_SETSIZE && (!CPU_ISSET(cpu, &allowed) || n-- > 0)) {
        cpu++;
    }
    if (cpu == CPU_SETSIZE) {
        return -1;
    }
    CPU_SET(cpu, &one);
    if (pthread_attr_init(&attributes) != 0) {
        return -1;
    }
    int failed = pthread_attr_setaffinity_np(&attributes, sizeof one, &one) != 0 ||
                 pthread_create(out, &attributes, run_hits, thread) != 0;
    pthread_attr_destroy(&attributes);
    return failed ? -1 : 0;
}

/* On two processors at once; where there is only one the time stays 0. */
static void two_threads(hit_thread threads[2], fg_bench_time *out) {
    pthread_t first, second;
    atomic_int arrived = 0;
    threads[1].r = threads[0].r;
    memset(threads[0].times, 0, sizeof threads[0].times);
    threads[0].arrived = threads[1].arrived = &arrived;
    if (start_on(1, &threads[1], &second) != 0) {
        return;
    }
    int alone = start_on(0, &threads[0], &first) != 0;
    if (alone) {
        atomic_fetch_add(&arrived, threads[1].batches); // lets the second one finish
    }
    pthread_join(second, NULL);
    if (alone) {
        return;
    }
    pthread_join(first, NULL);
    fg_bench_time times[2] = {fg_bench_summary(threads[0].times, threads[0].batches),
                              fg_bench_summary(threads[1].times, threads[1].batches)};
    *out = times[times[1].median > times[0].median];
}

static fg_status measure_hits(hit_thread threads[2], fg_bench_fuser_result *out) {
    FG_TRY(fg_bench_rig_open(0, &threads[0].r));
    fg_status status = warm_up(&threads[0].r);
    if (status == FG_STATUS_OK) {
        run_hits(&threads[0]);
        out->hit = fg_bench_summary(threads[0].times, threads[0].batches);
        two_threads(threads, &out->hit_two_threads);
    }
    threads[0].r.api->destroy(threads[0].r.executor);
    if (status == FG_STATUS_OK && threads[0].misses + threads[1].misses != 0) {
        status = FG_FAIL(FG_STATUS_INTERNAL, "found %lld look-ups without a plan, expected none",
                         (long long)(threads[0].misses + threads[1].misses));
    }
    return status;
}

/* Chooses a plan as a forward does, without running it. */
static fg_status choose(fg_bench_rig *r, int32_t mode) {
    fg_fuser *fuser = r->executor;
    fg_trail trail = {0};
    fg_plan_choice choice = {0};
    fg_plan_request request = {.mode = mode, .requires = r->requires, .recipe = fg_bench_recipe(r)};
    fg_fuser_device *device = NULL;
    FG_TRY(fg_device_table_get(&fuser->devices, -1, &device));
    request.device = device;
    request.boundary = fg_op_boundary(&fuser->ops, mode, r->requires);
    FG_TRY(fg_plan_choose(fuser, &request, &trail, &choice));
    fg_call_gate_lock(&fuser->gate);
    fg_call_gate_leave(&fuser->gate);
    fg_call_gate_unlock(&fuser->gate);
    fg_fuser_drop(fuser, choice.plan, choice.state);
    return FG_STATUS_OK;
}

static fg_status time_builds(fg_bench_rig *r, int32_t policy, int32_t batches, double *times) {
    for (int32_t batch = 0; batch < batches; batch++) {
        double start = fg_bench_now();
        for (int32_t i = 0; i < BUILDS; i++) {
            if (policy == FG_BENCH_REBUILD) {
                FG_TRY(r->api->clear(r->executor));
            }
            FG_TRY(choose(r, i & 1));
        }
        times[batch] = (fg_bench_now() - start) / BUILDS;
    }
    return FG_STATUS_OK;
}

static fg_status measure_builds(int32_t policy, hit_thread *thread, fg_bench_time *out) {
    fg_counters counts = {.struct_size = sizeof counts};
    const int64_t expected = (int64_t)thread->batches * BUILDS;
    FG_TRY(fg_bench_rig_open(policy == FG_BENCH_ONE_SLOT ? 1 : 0, &thread->r));
    fg_status status = time_builds(&thread->r, policy, thread->batches, thread->times);
    if (status == FG_STATUS_OK) {
        status = thread->r.api->counters(thread->r.executor, &counts);
    }
    thread->r.api->destroy(thread->r.executor);
    if (status == FG_STATUS_OK && counts.plans_built != expected) {
        status = FG_FAIL(FG_STATUS_INTERNAL, "found %lld builds, expected %lld",
                         (long long)counts.plans_built, (long long)expected);
    }
    if (status == FG_STATUS_OK) {
        *out = fg_bench_summary(thread->times, thread->batches);
    }
    return status;
}

fg_status fg_bench_hits(fg_bench_fuser_result *out) {
    out->batches = out->iterations < BATCHES_MAX ? out->iterations : BATCHES_MAX;
    out->batch = HITS;
    hit_thread *threads = fg_alloc(2 * sizeof *threads, FG_ALLOC_GENERAL);
    if (threads == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected that of two threads");
    }
    threads[0].batches = threads[1].batches = out->batches;
    fg_status status = measure_hits(threads, out);
    if (status == FG_STATUS_OK) {
        status = measure_builds(FG_BENCH_ONE_SLOT, threads, &out->one_slot);
    }
    if (status == FG_STATUS_OK) {
        status = measure_builds(FG_BENCH_REBUILD, threads, &out->rebuild);
    }
    fg_free(threads);
    return status;
}
