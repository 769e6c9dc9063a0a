#include "conformance/suites/backend_threads.h"
#include "conformance/suites/backend_fixture.h"
#include "contract/alloc.h"
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 20, EXPERTS = 3, ROWS = 40 };

/* One thread's tensors; their kernel is the first job's. */
typedef struct thread_job {
    fg_fixture fixture;
    fg_kernel *own;
    pthread_t thread;
} thread_job;

static void open_job(thread_job *job, fg_backend_entry_fn entry) {
    static const int64_t splits[EXPERTS] = {17, 0, 20};
    fg_problem problem = fg_problem_default(EXPERTS, 24, 40);
    problem.bias = 1;
    fg_fixture_open(&job->fixture, entry, &problem, ROWS, splits, FG_FIXTURE_TIGHT);
    job->own = job->fixture.kernel;
}

static void *run_job(void *user) {
    thread_job *job = user;
    uint32_t all = fg_fixture_all(&job->fixture);
    for (int i = 0; i < ROUNDS; i++) {
        fg_fixture_forward(&job->fixture, 1);
        fg_fixture_backward(&job->fixture, all, 0);
    }
    return NULL;
}

static int64_t differences(const fg_fixture *a, const fg_fixture *b) {
    int64_t count = fg_fixture_hash(a, &a->y) != fg_fixture_hash(b, &b->y);
    for (int i = 0; i < FG_INPUTS; i++) {
        count += a->grads[i].ndim > 0 &&
                 fg_fixture_hash(a, &a->grads[i]) != fg_fixture_hash(b, &b->grads[i]);
    }
    return count;
}

int64_t fg_backend_threads(fg_backend_entry_fn entry) {
    thread_job *jobs = fg_alloc((THREADS + 1) * sizeof *jobs, FG_ALLOC_GENERAL);
    int64_t count = 0;
    for (int i = 0; i <= THREADS; i++) {
        open_job(&jobs[i], entry);
        jobs[i].fixture.kernel = jobs[0].own;
    }
    run_job(&jobs[THREADS]); // alone
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&jobs[i].thread, NULL, run_job, &jobs[i]) != 0) {
            abort();
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(jobs[i].thread, NULL);
        count += differences(&jobs[THREADS].fixture, &jobs[i].fixture);
    }
    for (int i = THREADS; i >= 0; i--) {
        jobs[i].fixture.kernel = jobs[i].own;
        fg_fixture_close(&jobs[i].fixture);
    }
    fg_free(jobs);
    return count;
}
