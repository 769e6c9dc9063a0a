#include "conformance/executor/plan_checks_threads.h"
#include "contract/alloc.h"
#include <pthread.h>
#include <stdio.h>

#define THREADS 6
#define KEYS 4 /* boundaries 0, 1, 2 and none */

/* Where threads wait until all of them are there: 0 wait, 1 go, -1 give up. */
typedef struct gate {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    int state;
} gate;

/* What one thread works with; all share executor, data and expected results. */
typedef struct worker {
    const fg_exec_set *set;
    fg_executor *executor;
    gate *start;
    fg_exec_out *out;
    int32_t rounds;
    pthread_t thread;
    char failure[192];
} worker;

static void call_once(worker *self, uint32_t requires) {
    const fg_executor_api *api = self->set->env->api;
    const fg_exec_data *data = self->set->data;
    const fg_tensor *grads[FG_INPUT_SLOTS];
    fg_recipe recipe = fg_recipe_default(FG_RECIPE_NONE);
    fg_context *context = NULL;
    uint32_t accumulate = fg_exec_accumulate(&data->value.problem, requires);
    fg_exec_out_poison(self->out, self->out->has, accumulate);
    fg_status status =
        api->forward(self->executor, requires ? FG_GRAD : FG_NO_GRAD, &recipe, requires, &data->in,
                     &self->out->tensors[FG_INPUTS], NULL, NULL, &context);
    if (!status && context) {
        fg_exec_out_grads(self->out, requires, grads);
        status = api->backward(self->executor, context, &data->dy, grads, accumulate);
    }
    if (context) {
        api->context_release(self->executor, context);
    }
    if (status) {
        snprintf(self->failure, sizeof self->failure, "expected OK, got %s: %s",
                 fg_status_name(status), fg_message());
    } else {
        fg_exec_out_equal(self->set->expected, self->out, requires | FG_EXEC_Y, self->failure,
                          sizeof self->failure);
    }
}

static int wait_at(gate *start) {
    pthread_mutex_lock(&start->lock);
    while (!start->state) {
        pthread_cond_wait(&start->opened, &start->lock);
    }
    int state = start->state;
    pthread_mutex_unlock(&start->lock);
    return state > 0;
}

static void open_gate(gate *start, int state) {
    pthread_mutex_lock(&start->lock);
    start->state = state;
    pthread_cond_broadcast(&start->opened);
    pthread_mutex_unlock(&start->lock);
}

static void *work(void *user) {
    worker *self = user;
    if (!wait_at(self->start)) {
        return NULL;
    }
    uint32_t all = self->out->has & ~FG_EXEC_Y;
    const uint32_t requires[KEYS] = {all, all & FG_BIT(FG_P), all & FG_BIT(FG_W2), 0};
    for (int32_t round = 0; round < self->rounds && !self->failure[0]; round++) {
        call_once(self, requires[round % KEYS]);
    }
    return NULL;
}

/* Keys that differ among those of `work`: without p, its boundary is that of no gradients. */
static int32_t distinct_keys(const fg_exec_set *set, int32_t rounds) {
    int32_t keys = rounds < KEYS ? rounds : KEYS;
    int without_p = !(set->out->has & FG_BIT(FG_P));
    return rounds >= KEYS && without_p ? keys - 1 : keys;
}

static int32_t judge_counts(const fg_exec_set *set, fg_executor *executor, int32_t rounds,
                            char *text, size_t size) {
    fg_problem problem = set->value->problem;
    fg_counters counters = {.struct_size = sizeof counters};
    fg_model model;
    fg_model_start(&model, &problem, 0);
    int64_t calls = (int64_t)THREADS * rounds;
    int32_t missing = 0;
    model.expected.plans_built = distinct_keys(set, rounds);
    model.expected.plan_hits = calls - model.expected.plans_built;
    model.expected.state_resets = 1;
    model.expected.pre_first = 1;
    // Backwards look up a stream too: all rounds but those without gradients.
    int64_t idle = rounds / KEYS + (distinct_keys(set, rounds) < KEYS ? (rounds + 2) / KEYS : 0);
    model.expected.stream_lookups = 2 * calls - THREADS * idle;
    if (set->env->api->counters(executor, &counters)) {
        snprintf(text, size, "counters: %s", fg_message());
    } else {
        fg_model_compare(&model, &counters, text, size, &missing);
    }
    return missing;
}

static fg_status run_threads(worker workers[THREADS], gate *start) {
    int32_t started = 0;
    while (started < THREADS &&
           !pthread_create(&workers[started].thread, NULL, work, &workers[started])) {
        started++;
    }
    open_gate(start, started == THREADS ? 1 : -1);
    for (int32_t i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    return started == THREADS
               ? FG_STATUS_OK
               : FG_FAIL(FG_STATUS_NO_MEMORY, "found %d threads, expected %d", started, THREADS);
}

static fg_status share_executor(const fg_exec_set *set, fg_executor *executor,
                                worker workers[THREADS], int32_t rounds, int32_t *missing,
                                char *text, size_t size) {
    gate start = {.lock = PTHREAD_MUTEX_INITIALIZER, .opened = PTHREAD_COND_INITIALIZER};
    fg_status status = FG_STATUS_OK;
    for (int32_t i = 0; i < THREADS && !status; i++) {
        workers[i].set = set;
        workers[i].executor = executor;
        workers[i].start = &start;
        workers[i].rounds = rounds;
        status = fg_exec_out_create(set->env, set->value, &workers[i].out);
    }
    if (!status) {
        status = run_threads(workers, &start);
    }
    if (!status) {
        *missing = judge_counts(set, executor, rounds, text, size);
    }
    for (int32_t i = 0; i < THREADS; i++) {
        if (workers[i].failure[0]) {
            snprintf(text, size, "thread %d: %.150s", i, workers[i].failure);
        }
        fg_exec_out_destroy(workers[i].out);
    }
    pthread_cond_destroy(&start.opened);
    pthread_mutex_destroy(&start.lock);
    return status;
}

fg_status fg_plan_threads(const fg_exec_set *set, const char *name, int32_t rounds,
                          fg_result *result) {
    const fg_executor_api *api = set->env->api;
    char text[192] = "";
    int32_t missing = 0;
    fg_executor *executor = NULL;
    if (!set->env->parallel) {
        fg_exec_set_check(set, name, FG_CHECK_NOT_RUN, FG_FAULT_NONE,
                          "calls reach this executor one at a time", result);
        return FG_STATUS_OK;
    }
    fg_status status = api->create(&set->value->problem, &set->env->options, &executor);
    if (status) {
        fg_exec_set_check(set, name, FG_CHECK_FAIL, fg_exec_fault(status), fg_message(), result);
        return FG_STATUS_OK;
    }
    worker *workers = fg_alloc(THREADS * sizeof *workers, FG_ALLOC_GENERAL);
    status = workers ? share_executor(set, executor, workers, rounds, &missing, text, sizeof text)
                     : FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected %zu bytes",
                               THREADS * sizeof *workers);
    fg_free(workers);
    api->destroy(executor);
    FG_TRY(status);
    int untaken = missing && set->value->kind == FG_CASE_PLAN;
    fg_exec_set_uncounted(set, missing, result);
    fg_exec_set_check(set, name,
                      text[0]   ? FG_CHECK_FAIL
                      : untaken ? FG_CHECK_NOT_RUN
                                : FG_CHECK_PASS,
                      text[0] ? FG_FAULT_CONTRACT : FG_FAULT_NONE, text, result);
    return FG_STATUS_OK;
}
