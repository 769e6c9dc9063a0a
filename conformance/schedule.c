#include "conformance/schedule.h"

#include "conformance/process/client_process.h"
#include "contract/alloc.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

typedef struct board board;

/* One thread and its worker. */
typedef struct job {
    board *board;
    pthread_t thread;
    int started;
    fg_client *client;
    pid_t pid; /* of a worker that may be killed, 0: none; under the board's lock */
} job;

/* What the jobs share. */
struct board {
    const fg_schedule *schedule;
    atomic_llong next;
    atomic_int stopping;
    pthread_mutex_t lock;
    fg_status status; /* first trouble of any job */
    char message[1024];
    int32_t running; /* jobs that have not ended */
    int ended;       /* eventfd: the last job has ended */
    job *jobs;
};

static void board_trouble(board *all, fg_status status) {
    (void)pthread_mutex_lock(&all->lock);
    if (all->status == FG_STATUS_OK) {
        all->status = status;
        (void)snprintf(all->message, sizeof all->message, "%s", fg_message());
    }
    (void)pthread_mutex_unlock(&all->lock);
    atomic_store(&all->stopping, 1);
}

static void worker_close(job *mine) {
    (void)pthread_mutex_lock(&mine->board->lock);
    mine->pid = 0;
    (void)pthread_mutex_unlock(&mine->board->lock);
    fg_client_close(mine->client);
    mine->client = NULL;
}

/* Ends a worker that nobody has given up, and tells when that goes wrong. */
static void worker_finish(job *mine) {
    board *all = mine->board;
    if (mine->client == NULL || atomic_load(&all->stopping)) {
        return;
    }
    fg_status status = fg_client_finish(mine->client);
    if (status == FG_STATUS_OK) {
        return;
    }
    fg_status taken = FG_STATUS_OK;
    (void)pthread_mutex_lock(&all->lock);
    /* A stop has killed it meanwhile. */
    if (!atomic_load(&all->stopping) && all->schedule->ended != NULL) {
        taken = all->schedule->ended(all->schedule->user, fg_message());
    }
    (void)pthread_mutex_unlock(&all->lock);
    if (taken != FG_STATUS_OK) {
        board_trouble(all, taken);
    }
}

static fg_status worker_ready(job *mine) {
    if (mine->client != NULL && fg_client_alive(mine->client)) {
        return FG_STATUS_OK;
    }
    worker_close(mine);
    FG_TRY(fg_client_open(&mine->board->schedule->client, &mine->client));
    FG_TRY(fg_client_quiet(mine->client, "while loading"));
    (void)pthread_mutex_lock(&mine->board->lock);
    mine->pid = (pid_t)fg_client_pid(mine->client);
    (void)pthread_mutex_unlock(&mine->board->lock);
    return FG_STATUS_OK;
}

/* What the worker did beside its answers and no judge asked about. */
static void leftovers_judge(fg_client *client, fg_result *result) {
    fg_status status = fg_client_quiet(client, "in this case");
    if (status != FG_STATUS_OK && result->state != FG_STATE_RESOURCE) {
        fg_result_check(result, "contract", FG_CHECK_FAIL, 0, FG_FAULT_CONTRACT, "%s",
                        fg_message());
    }
}

/* Runs a case on the job's worker. Trouble of this side while judging (no memory for the tensors,
 * say) costs the case its verdict, not the run its end. */
static fg_status run_once(job *mine, const fg_case *value, fg_result *result, int *own_trouble) {
    *result = (fg_result){0};
    FG_TRY(worker_ready(mine));
    double before = fg_seconds_now();
    fg_status status = mine->board->schedule->run(mine->client, value, result);
    *own_trouble = status != FG_STATUS_OK;
    if (*own_trouble) {
        *result = (fg_result){.state = FG_STATE_RESOURCE};
        (void)snprintf(result->reason, sizeof result->reason, "the judge could not go on: %.400s",
                       fg_message());
    }
    result->seconds = fg_seconds_now() - before;
    if (!fg_client_alive(mine->client)) {
        /* The process is gone: its number may soon be another's. */
        worker_close(mine);
    } else {
        leftovers_judge(mine->client, result);
    }
    return FG_STATUS_OK;
}

/* Runs a case, twice where the first end was about resources of the code under test. */
static fg_status run_case(job *mine, const fg_case *value, fg_result *result) {
    int own_trouble = 0;
    FG_TRY(run_once(mine, value, result, &own_trouble));
    if (result->state != FG_STATE_RESOURCE || own_trouble || atomic_load(&mine->board->stopping)) {
        return FG_STATUS_OK;
    }
    char first[sizeof result->reason];
    memcpy(first, result->reason, sizeof first);
    worker_finish(mine);
    worker_close(mine);
    FG_TRY(run_once(mine, value, result, &own_trouble));
    if (result->state == FG_STATE_RESOURCE && !own_trouble) {
        result->state = FG_STATE_FAIL;
        result->fault = FG_FAULT_CRASH;
        (void)snprintf(result->reason, sizeof result->reason, "again in a fresh worker: %.400s",
                       first);
        worker_close(mine);
    }
    return FG_STATUS_OK;
}

static fg_status finish(board *all, int64_t index, const fg_result *result) {
    fg_status status = FG_STATUS_OK;
    (void)pthread_mutex_lock(&all->lock);
    if (!atomic_load(&all->stopping)) {
        status = all->schedule->finished(all->schedule->user, index, result);
    }
    (void)pthread_mutex_unlock(&all->lock);
    return status;
}

static void *job_main(void *argument) {
    job *mine = argument;
    board *all = mine->board;
    const fg_schedule *schedule = all->schedule;
    int64_t index;
    while (!atomic_load(&all->stopping) &&
           (index = atomic_fetch_add(&all->next, 1)) < schedule->cases->count) {
        fg_result result;
        if (schedule->done != NULL && schedule->done[index]) {
            continue;
        }
        fg_status status = run_case(mine, &schedule->cases->cases[index], &result);
        if (status == FG_STATUS_OK) {
            status = finish(all, index, &result);
        }
        if (status != FG_STATUS_OK) {
            board_trouble(all, status);
        }
    }
    worker_finish(mine);
    worker_close(mine);
    (void)pthread_mutex_lock(&all->lock);
    all->running -= 1;
    if (all->running == 0) {
        (void)eventfd_write(all->ended, 1);
    }
    (void)pthread_mutex_unlock(&all->lock);
    return NULL;
}

/* Ends the cases in hand: their workers, and with them the calls that wait for an answer. */
static void workers_kill(board *all, int32_t jobs) {
    (void)pthread_mutex_lock(&all->lock);
    atomic_store(&all->stopping, 1);
    for (int32_t j = 0; j < jobs; j++) {
        if (all->jobs[j].pid > 0) {
            (void)kill(all->jobs[j].pid, SIGKILL);
        }
    }
    (void)pthread_mutex_unlock(&all->lock);
}

/* Waits for the last job or the stop. */
static void board_wait(board *all, int32_t started, int32_t *stopped) {
    struct pollfd fds[2] = {{all->ended, POLLIN, 0}, {all->schedule->stop, POLLIN, 0}};
    while (started > 0) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR) {
            break;
        }
        if ((fds[1].revents & POLLIN) != 0) {
            *stopped = 1;
            workers_kill(all, started);
            break;
        }
        if ((fds[0].revents & POLLIN) != 0) {
            break;
        }
    }
}

static fg_status jobs_run(board *all, int32_t *stopped) {
    int32_t jobs = all->schedule->jobs, started = 0;
    all->running = jobs;
    for (; started < jobs; started++) {
        all->jobs[started].board = all;
        if (pthread_create(&all->jobs[started].thread, NULL, job_main, &all->jobs[started]) != 0) {
            break;
        }
    }
    (void)pthread_mutex_lock(&all->lock);
    all->running -= jobs - started;
    if (all->running == 0) {
        (void)eventfd_write(all->ended, 1);
    }
    (void)pthread_mutex_unlock(&all->lock);
    board_wait(all, started, stopped);
    for (int32_t j = 0; j < started; j++) {
        (void)pthread_join(all->jobs[j].thread, NULL);
    }
    if (started == 0) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "cannot start a thread");
    }
    if (all->status != FG_STATUS_OK) {
        return FG_FAIL(all->status, "%s", all->message);
    }
    return FG_STATUS_OK;
}

fg_status fg_schedule_run(const fg_schedule *schedule, int32_t *stopped) {
    board all = {.schedule = schedule};
    *stopped = 0;
    all.ended = eventfd(0, EFD_CLOEXEC);
    if (all.ended < 0) {
        return FG_FAIL(FG_STATUS_IO, "cannot make an eventfd: %s", strerror(errno));
    }
    all.jobs = fg_alloc((size_t)schedule->jobs * sizeof(job), FG_ALLOC_GENERAL);
    fg_status status = FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for %d jobs", (int)schedule->jobs);
    if (all.jobs != NULL) {
        (void)pthread_mutex_init(&all.lock, NULL);
        status = jobs_run(&all, stopped);
        (void)pthread_mutex_destroy(&all.lock);
    }
    fg_free(all.jobs);
    (void)close(all.ended);
    return status;
}
