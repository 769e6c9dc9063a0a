#ifndef FG_CONFORMANCE_CLI_BENCH_FUSER_H
#define FG_CONFORMANCE_CLI_BENCH_FUSER_H

#include "contract/executor.h"

/* Host time of the fuser itself: its kernels do nothing. */

enum { FG_BENCH_CACHE = 0, FG_BENCH_ONE_SLOT = 1, FG_BENCH_REBUILD = 2, FG_BENCH_POLICIES = 3 };
enum { FG_BENCH_NO_GRAD = 0, FG_BENCH_GRAD = 1, FG_BENCH_BACKWARD = 2, FG_BENCH_PHASES = 3 };

typedef struct fg_bench_time {
    double median, least; /* ns */
} fg_bench_time;

typedef struct fg_bench_fuser_result {
    int32_t iterations;
    fg_bench_time phases[FG_BENCH_POLICIES][FG_BENCH_PHASES];
    fg_counters counts[FG_BENCH_POLICIES]; /* of all iterations, warm-up included */
    int32_t batches, batch;                /* plan hits: so many batches of so many calls */
    fg_bench_time hit;             /* one plan hit, alternating two boundaries, one thread */
    fg_bench_time hit_two_threads; /* for each of two threads at once, on processors of their own; 0
where there is one */
    fg_bench_time one_slot, rebuild; /* choosing a plan under the same alternation */
} fg_bench_fuser_result;

/* Measures: `iterations` times no-grad forward, grad forward, backward on a small shape, with the
 * plan cache, with a memo of one plan and with a rebuild on each call; then the cost of a plan hit
 * alone, key bytes included. Every call gets a new recipe object. A second or two. */
fg_status fg_bench_fuser(int32_t iterations, fg_bench_fuser_result *out);

#endif
