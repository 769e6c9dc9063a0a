#ifndef FG_CONFORMANCE_CLI_BENCH_RIG_H
#define FG_CONFORMANCE_CLI_BENCH_RIG_H

#include "conformance/cli/bench_fuser.h"

#define FG_BENCH_RECIPES 64

/* A fuser on kernels that do nothing, and views of tensors that nobody reads. Recipes are objects
 * at different addresses, each written anew for its call. A copy shares the executor. */
typedef struct fg_bench_rig {
    const fg_executor_api *api;
    fg_executor *executor;
    fg_problem problem;
    fg_inputs in;
    fg_tensor inputs[FG_INPUT_SLOTS], grads[FG_INPUT_SLOTS], splits, y;
    const fg_tensor *grad_pointers[FG_INPUT_SLOTS];
    uint32_t requires;
    fg_recipe recipes[FG_BENCH_RECIPES];
    int64_t next_recipe;
    char memory[64];
} fg_bench_rig;

/* Sets up an executor of this capacity (0: the default), where it lies; api->destroy ends it. */
fg_status fg_bench_rig_open(int32_t capacity, fg_bench_rig *rig);

/* A new object that says recipe none. */
const fg_recipe *fg_bench_recipe(fg_bench_rig *rig);

/* One iteration of training with recompute: no-grad forward, grad forward, backward; times in ns.
 */
fg_status fg_bench_iterate(fg_bench_rig *rig, int32_t policy, double times[FG_BENCH_PHASES]);

/* Time now, in ns. */
double fg_bench_now(void);

/* Sorts times and reads median and least. */
fg_bench_time fg_bench_summary(double *times, int32_t count);

#endif
