#include "conformance/suites/fuser_threads.h"
#include "conformance/suites/fuser_rig.h"
#include "conformance/suites/tiny_backend.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 200
#define ALL_INPUTS (FG_BIT(FG_B2 + 1) - 1u)
#define STREAMS 3

/* One thread: tensors of its own, the first one's executor. */
typedef struct worker {
    fuser_rig rig;
    fg_recipe recipes[2]; /* in turn */
    int32_t no_grad;      /* each round begins with a no-grad forward */
    int32_t rounds;
    int32_t failures; /* forwards that gave FG_STATUS_BUILD */
    const char *wrong;
    pthread_t thread;
} worker;

static worker workers[THREADS];
static atomic_int streams, running;

static fg_stream stream_for(void *user, int32_t device) {
    (void)user;
    (void)device;
    return (fg_stream)(uintptr_t)(4096 + atomic_fetch_add(&streams, 1) % STREAMS);
}

static const char *check_results(const fuser_rig *rig) {
    for (int64_t t = 0; t < RIG_ROWS; t++) {
        if (!(rig_y(rig, t) == rig_expected_y(rig, t))) {
            return "a row of y is wrong";
        }
    }
    for (int i = 0; i <= FG_B2; i++) {
        if (!(rig_grad(rig, i, 0) == rig_expected_grad(rig, i, 0))) {
            return "a gradient is wrong";
        }
    }
    return NULL;
}

static const char *train(worker *w, const fg_recipe *recipe) {
    fuser_rig *rig = &w->rig;
    fg_context *context = NULL;
    fg_status status = FG_STATUS_OK;
    if (w->no_grad) {
        status = rig_forward(rig, recipe, FG_NO_GRAD, 0, &context);
    }
    if (status == FG_STATUS_OK) {
        status = rig_forward(rig, recipe, FG_GRAD, ALL_INPUTS, &context);
    }
    if (status == FG_STATUS_BUILD) {
        w->failures++;
        return NULL;
    }
    if (status != FG_STATUS_OK || context == NULL) {
        return "a forward failed";
    }
    if (rig_backward(rig, context, ALL_INPUTS, 0) != FG_STATUS_OK) {
        return "a backward failed";
    }
    rig->api->context_release(rig->executor, context);
    return check_results(rig);
}

static void *run_worker(void *argument) {
    worker *w = argument;
    atomic_fetch_add(&running, 1);
    while (atomic_load(&running) < THREADS) {
        usleep(100);
    }
    for (int32_t i = 0; i < w->rounds && w->wrong == NULL; i++) {
        const fg_recipe object = w->recipes[i & 1];
        w->wrong = train(w, &object);
    }
    return NULL;
}

/* Sets up workers of recipe none that share the first one's executor. */
static const char *open_workers(int32_t rounds) {
    atomic_store(&running, 0);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.no_grad = 1, .rounds = rounds};
        rig_init(&workers[i].rig, 0);
        workers[i].rig.numbers[FG_W1][0] += (float)i;
        workers[i].recipes[0] = workers[i].recipes[1] = fg_recipe_default(FG_RECIPE_NONE);
    }
    workers[0].rig.options.stream_for = stream_for;
    if (rig_create(&workers[0].rig) != FG_STATUS_OK) {
        return "no executor";
    }
    for (int i = 1; i < THREADS; i++) {
        workers[i].rig.api = workers[0].rig.api;
        workers[i].rig.executor = workers[0].rig.executor;
    }
    return NULL;
}

static void start_workers(void) {
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]) != 0) {
            workers[i].wrong = "no thread";
            atomic_fetch_add(&running, 1);
            workers[i].rounds = -1;
        }
    }
}

static const char *join_workers(void) {
    const char *wrong = NULL;
    for (int i = 0; i < THREADS; i++) {
        if (workers[i].rounds >= 0) {
            pthread_join(workers[i].thread, NULL);
        }
        wrong = workers[i].wrong != NULL ? workers[i].wrong : wrong;
    }
    return wrong;
}

static const char *close_workers(const char *wrong) {
    rig_destroy(&workers[0].rig);
    if (wrong == NULL && tiny.kernels_alive != 0) {
        wrong = "a kernel outlives the fuser";
    }
    return wrong;
}

const char *threads_share_a_recipe(void) {
    const char *wrong = open_workers(ROUNDS);
    if (wrong != NULL) {
        return wrong;
    }
    start_workers();
    wrong = join_workers();
    const fg_counters counts = rig_counters(&workers[0].rig);
    const int64_t forwards = 2 * THREADS * ROUNDS;
    if (wrong == NULL &&
        (counts.plans_built != 2 || counts.plan_hits != forwards - 2 || counts.state_resets != 1 ||
         counts.pre_first != 1 || counts.kernels_created != 2 ||
         counts.stream_lookups != forwards + THREADS * ROUNDS)) {
        wrong = "counts are not exact";
    }
    return close_workers(wrong);
}

static atomic_int slow_passes;

/* Takes long enough for every thread to miss meanwhile. */
static fg_status pass_slow(void *user, const fg_pass_input *in, fg_run runs[FG_OP_COUNT],
                           int32_t *run_count) {
    (void)user;
    atomic_fetch_add(&slow_passes, 1);
    usleep(20000);
    memcpy(runs, in->runs, sizeof in->runs);
    *run_count = in->run_count;
    return FG_STATUS_OK;
}

const char *threads_build_a_plan_once(void) {
    const char *wrong = open_workers(1);
    if (wrong != NULL) {
        return wrong;
    }
    atomic_store(&slow_passes, 0);
    workers[0].rig.api->register_pass(workers[0].rig.executor, FG_PASS_JOINT, pass_slow, NULL);
    start_workers();
    wrong = join_workers();
    if (wrong == NULL &&
        (atomic_load(&slow_passes) != 2 || rig_counters(&workers[0].rig).plans_built != 2)) {
        wrong = "a plan was built more than once";
    }
    return close_workers(wrong);
}

const char *threads_survive_failing_builds(void) {
    const char *wrong = open_workers(3);
    if (wrong != NULL) {
        return wrong;
    }
    fuser_rig *rig = &workers[0].rig;
    rig->api->register_pass(rig->executor, FG_PASS_JOINT, pass_slow, NULL);
    rig->api->hook(rig->executor, "fail_build", 5);
    start_workers();
    wrong = join_workers();
    int32_t failures = 0;
    for (int i = 0; i < THREADS; i++) {
        failures += workers[i].failures;
    }
    if (wrong == NULL && (failures != 5 || rig_counters(rig).plans_built != 2)) {
        wrong = "a failed build ended another number of calls than one";
    }
    return close_workers(wrong);
}

const char *threads_change_recipes(void) {
    const char *wrong = open_workers(ROUNDS);
    if (wrong != NULL) {
        return wrong;
    }
    for (int i = 0; i < THREADS; i++) {
        workers[i].recipes[i & 1] = fg_recipe_default(FG_RECIPE_DELAYED);
    }
    start_workers();
    wrong = join_workers();
    const fg_counters counts = rig_counters(&workers[0].rig);
    if (wrong == NULL && (counts.plans_built != 4 || counts.pre_first != 1 ||
                          counts.plan_hits != 2 * THREADS * ROUNDS - 4 ||
                          counts.state_resets > counts.plan_hits + 4)) {
        wrong = "counts are not exact";
    }
    return close_workers(wrong);
}

static void *run_disturber(void *argument) {
    fuser_rig *rig = argument;
    for (int i = 0; i < ROUNDS; i++) {
        rig->api->step(rig->executor);
        if (i % 4 == 0) {
            rig->api->clear(rig->executor);
        }
        if (i % 50 == 0) {
            rig->api->register_pass(rig->executor, FG_PASS_FORWARD, pass_slow, NULL);
        }
        rig_counters(rig);
        rig->api->plan_id(rig->executor, FG_BACKWARD);
        rig->api->flags(rig->executor, 1);
    }
    return NULL;
}

const char *threads_step_and_clear(void) {
    const char *wrong = open_workers(ROUNDS / 4);
    pthread_t disturber;
    if (wrong != NULL) {
        return wrong;
    }
    start_workers();
    if (pthread_create(&disturber, NULL, run_disturber, &workers[0].rig) != 0) {
        wrong = "no thread";
    } else {
        pthread_join(disturber, NULL);
    }
    const char *of_workers = join_workers();
    return close_workers(wrong != NULL ? wrong : of_workers);
}

static atomic_int in_kernel, held, stepped;

/* Keeps a kernel running until it is let go. */
static void hold_kernel(void) {
    atomic_store(&in_kernel, 1);
    while (atomic_load(&held)) {
        usleep(100);
    }
}

static void *run_step(void *argument) {
    fuser_rig *rig = argument;
    rig->api->step(rig->executor);
    atomic_store(&stepped, 1);
    return NULL;
}

static void *run_once(void *argument) {
    worker *w = argument;
    w->wrong = train(w, &w->recipes[0]);
    return NULL;
}

/* With one call held in its kernel: what must not have happened, and happens once it is let go. */
static const char *watch_held_call(void) {
    fuser_rig *rig = &workers[0].rig;
    pthread_t step;
    const char *wrong = NULL;
    while (!atomic_load(&in_kernel)) {
        usleep(100);
    }
    int failed = pthread_create(&workers[1].thread, NULL, run_once, &workers[1]) != 0 ||
                 pthread_create(&step, NULL, run_step, rig) != 0;
    usleep(50000);
    if (rig_counters(rig).state_resets != 1) {
        wrong = "a reset came while a call was in flight";
    } else if (atomic_load(&stepped)) {
        wrong = "a step ended while a call was in flight";
    }
    atomic_store(&held, 0);
    if (failed) {
        return "no thread";
    }
    pthread_join(workers[1].thread, NULL);
    pthread_join(step, NULL);
    return wrong;
}

const char *step_and_reset_wait_for_calls_in_flight(void) {
    const char *wrong = open_workers(1);
    if (wrong != NULL) {
        return wrong;
    }
    atomic_store(&in_kernel, 0);
    atomic_store(&held, 1);
    atomic_store(&stepped, 0);
    workers[1].recipes[0] = fg_recipe_default(FG_RECIPE_DELAYED);
    tiny.in_forward = hold_kernel;
    if (pthread_create(&workers[0].thread, NULL, run_once, &workers[0]) != 0) {
        return close_workers("no thread");
    }
    wrong = watch_held_call();
    pthread_join(workers[0].thread, NULL);
    for (int i = 0; i < 2; i++) {
        wrong = workers[i].wrong != NULL ? workers[i].wrong : wrong;
    }
    if (wrong == NULL && rig_counters(&workers[0].rig).state_resets < 2) {
        wrong = "a reset never came";
    }
    return close_workers(wrong);
}
