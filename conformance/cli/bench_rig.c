#include "conformance/cli/bench_rig.h"
#include "conformance/cli/null_backend.h"
#include "fuser/fuser_executor.h"
#include <stdlib.h>
#include <time.h>

#define EXPERTS 8
#define WIDTH 64
#define ROWS 32

static fg_stream stream_for(void *user, int32_t device) {
    (void)device;
    return user;
}

const fg_recipe *fg_bench_recipe(fg_bench_rig *r) {
    fg_recipe *recipe = &r->recipes[r->next_recipe++ % FG_BENCH_RECIPES];
    *recipe = fg_recipe_default(FG_RECIPE_NONE);
    return recipe;
}

fg_status fg_bench_rig_open(int32_t capacity, fg_bench_rig *r) {
    const int64_t experts[1] = {EXPERTS}, rows[2] = {ROWS, WIDTH};
    *r = (fg_bench_rig){.problem = fg_problem_default(EXPERTS, WIDTH, WIDTH)};
    r->problem.bias = 1;
    r->requires = (1u << (FG_B2 + 1)) - 1; // all but a bias scale of its own
    r->in = (fg_inputs){.struct_size = sizeof r->in, .rows = ROWS, .splits = &r->splits};
    r->splits = fg_tensor_tight(r->memory, FG_I32, -1, 1, experts);
    r->y = fg_tensor_tight(r->memory, (fg_dtype)r->problem.dtype, -1, 2, rows);
    for (int i = 0; i < FG_INPUTS; i++) {
        int64_t dims[FG_TENSOR_DIMS] = {0};
        int32_t ndim = fg_problem_input_dims(&r->problem, i, ROWS, dims);
        fg_dtype input = fg_problem_input_dtype(&r->problem, i);
        fg_dtype grad = fg_problem_grad_dtype(&r->problem, i);
        r->inputs[i] = fg_tensor_tight(r->memory, input, -1, ndim, dims);
        r->grads[i] = fg_tensor_tight(r->memory, grad, -1, ndim, dims);
        r->in.inputs[i] = fg_problem_has_input(&r->problem, i) ? &r->inputs[i] : NULL;
        r->grad_pointers[i] = r->requires & FG_BIT(i) ? &r->grads[i] : NULL;
    }
    const fg_executor_options options = {.struct_size = sizeof options,
                                         .capacity = capacity,
                                         .backend = fg_null_backend(),
                                         .stream_for = stream_for,
                                         .user = r};
    FG_TRY(fg_fuser_executor_entry(FG_EXECUTOR_ABI, NULL, &r->api));
    return r->api->create(&r->problem, &options, &r->executor);
}

fg_status fg_bench_iterate(fg_bench_rig *r, int32_t policy, double times[FG_BENCH_PHASES]) {
    fg_context *none = NULL, *context = NULL;
    double start = fg_bench_now();
    if (policy == FG_BENCH_REBUILD) {
        FG_TRY(r->api->clear(r->executor));
    }
    FG_TRY(r->api->forward(r->executor, FG_NO_GRAD, fg_bench_recipe(r), 0, &r->in, &r->y, NULL,
                           NULL, &none));
    double no_grad = fg_bench_now();
    if (policy == FG_BENCH_REBUILD) {
        FG_TRY(r->api->clear(r->executor));
    }
    FG_TRY(r->api->forward(r->executor, FG_GRAD, fg_bench_recipe(r), r->requires, &r->in, &r->y,
                           NULL, NULL, &context));
    double grad = fg_bench_now();
    fg_status status = r->api->backward(r->executor, context, &r->y, r->grad_pointers, 0);
    r->api->context_release(r->executor, context);
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
