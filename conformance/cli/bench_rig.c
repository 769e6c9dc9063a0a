#include "conformance/cli/bench_rig.h"
#include "conformance/cli/null_backend.h"
#include "fuser/fuser_executor.h"
#include <stdlib.h>
#include <time.h>

#define EXPERTS 8
#define WIDTH 64
#define ROWS 32

static fg_stream stream_for(void *user, int32_t device) {
    (void)user;
    (void)device;
    return NULL;
}

const fg_recipe *fg_bench_recipe(fg_bench_rig *rig) {
    fg_recipe *recipe = &rig->recipes[rig->next_recipe++ % FG_BENCH_RECIPES];
    *recipe = fg_recipe_default(FG_RECIPE_NONE);
    return recipe;
}

fg_status fg_bench_rig_open(int32_t capacity, fg_bench_rig *rig) {
    const int64_t experts[1] = {EXPERTS}, rows[2] = {ROWS, WIDTH};
    *rig = (fg_bench_rig){.problem = fg_problem_default(EXPERTS, WIDTH, WIDTH)};
    rig->problem.bias = 1;
    rig->requires = (1u << (FG_B2 + 1)) - 1; // all but a bias scale of its own
    rig->in = (fg_inputs){.struct_size = sizeof rig->in, .rows = ROWS, .splits = &rig->splits};
    rig->splits = fg_tensor_tight(rig->memory, FG_I32, -1, 1, experts);
    rig->y = fg_tensor_tight(rig->memory, (fg_dtype)rig->problem.dtype, -1, 2, rows);
    for (int i = 0; i < FG_INPUTS; i++) {
        int64_t dims[FG_TENSOR_DIMS] = {0};
        int32_t ndim = fg_problem_input_dims(&rig->problem, i, ROWS, dims);
        fg_dtype input = fg_problem_input_dtype(&rig->problem, i);
        fg_dtype grad = fg_problem_grad_dtype(&rig->problem, i);
        rig->inputs[i] = fg_tensor_tight(rig->memory, input, -1, ndim, dims);
        rig->grads[i] = fg_tensor_tight(rig->memory, grad, -1, ndim, dims);
        rig->in.inputs[i] = fg_problem_has_input(&rig->problem, i) ? &rig->inputs[i] : NULL;
        rig->grad_pointers[i] = rig->requires & FG_BIT(i) ? &rig->grads[i] : NULL;
    }
    const fg_executor_options options = {.struct_size = sizeof options,
                                         .capacity = capacity,
                                         .backend = fg_null_backend(),
                                         .stream_for = stream_for};
    FG_TRY(fg_fuser_executor_entry(FG_EXECUTOR_ABI, NULL, &rig->api));
    return rig->api->create(&rig->problem, &options, &rig->executor);
}

fg_status fg_bench_iterate(fg_bench_rig *rig, int32_t policy, double times[FG_BENCH_PHASES]) {
    fg_context *none = NULL, *context = NULL;
    double start = fg_bench_now();
    if (policy == FG_BENCH_REBUILD) {
        FG_TRY(rig->api->clear(rig->executor));
    }
    FG_TRY(rig->api->forward(rig->executor, FG_NO_GRAD, fg_bench_recipe(rig), 0, &rig->in, &rig->y,
                             NULL, NULL, &none));
    double no_grad = fg_bench_now();
    if (policy == FG_BENCH_REBUILD) {
        FG_TRY(rig->api->clear(rig->executor));
    }
    FG_TRY(rig->api->forward(rig->executor, FG_GRAD, fg_bench_recipe(rig), rig->requires, &rig->in,
                             &rig->y, NULL, NULL, &context));
    double grad = fg_bench_now();
    fg_status status = rig->api->backward(rig->executor, context, &rig->y, rig->grad_pointers, 0);
    rig->api->context_release(rig->executor, context);
    times[FG_BENCH_NO_GRAD] = no_grad - start;
    times[FG_BENCH_GRAD] = grad - no_grad;
    times[FG_BENCH_BACKWARD] = fg_bench_now() - grad;
    return status;
}

double fg_bench_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare_times(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

fg_bench_time fg_bench_summary(double *times, int32_t count) {
    qsort(times, (size_t)count, sizeof *times, compare_times);
    return (fg_bench_time){.median = times[count / 2], .least = times[0]};
}
