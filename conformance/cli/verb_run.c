#include "conformance/cli/verb_run.h"

#include "conformance/cli/machine.h"
#include "conformance/cli/run_setup.h"
#include "conformance/judge/self_test.h"
#include "conformance/process/client_process.h"
#include "conformance/report/report_terminal.h"
#include "conformance/run.h"
#include "conformance/schedule.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define PARTIAL_SECONDS 2.0

/* A run while it goes on. */
typedef struct progress {
    fg_run_setup *setup;
    double began, written; /* when the run began, when the partial report was last written */
    int color, terminal;
} progress;

static void progress_line(const progress *at) {
    if (at->terminal) {
        (void)printf("\r\033[K%lld of %lld cases", (long long)at->setup->records.count,
                     (long long)at->setup->cases.count);
        (void)fflush(stdout);
    }
}

static void progress_clear(const progress *at) {
    if (at->terminal) {
        (void)fputs("\r\033[K", stdout);
    }
}

static fg_status partial_write(progress *at) {
    fg_report *report = &at->setup->report;
    report->wall = fg_seconds_now() - at->began;
    at->written = fg_seconds_now();
    return at->setup->folder != NULL ? fg_report_write(report, at->setup->folder) : FG_STATUS_OK;
}

/* Takes one finished case: record, journal, terminal, and now and then the partial report. */
static fg_status case_finished(void *user, int64_t index, const fg_result *result) {
    progress *at = user;
    fg_run_setup *setup = at->setup;
    char line[FG_CASE_LINE];
    (void)fg_case_format(&setup->cases.cases[index], line, sizeof line);
    FG_TRY(fg_records_add(&setup->records, index, line, result));
    const fg_record *record = &setup->records.items[setup->records.count - 1];
    if (setup->journal != NULL) {
        FG_TRY(fg_journal_append(setup->journal, record));
    }
    if (result->state != FG_STATE_PASS &&
        !(result->state == FG_STATE_NOT_SUPPORTED && result->declared)) {
        progress_clear(at);
        fg_report_case(&setup->report, record, stdout, at->color);
        (void)fflush(stdout);
    }
    progress_line(at);
    if (fg_seconds_now() - at->written > PARTIAL_SECONDS) {
        return partial_write(at);
    }
    return FG_STATUS_OK;
}

/* Takes how a worker ended that did not do so in order. */
static fg_status worker_ended(void *user, const char *how) {
    progress *at = user;
    fg_records_ending(&at->setup->records, how);
    progress_clear(at);
    (void)printf("worker: %s\n", how);
    return at->setup->journal != NULL ? fg_journal_ending(at->setup->journal, how) : FG_STATUS_OK;
}

/* Judges the judge. */
static int self_test(void) {
    int64_t checks = 0;
    double began = fg_seconds_now();
    if (fg_self_test(&checks) != FG_STATUS_OK) {
        (void)fprintf(stderr, "fusegate: self-test failed: %s\n", fg_message());
        return FG_EXIT_INFRASTRUCTURE;
    }
    (void)printf("self-test: %lld checks in %.2f s\n", (long long)checks, fg_seconds_now() - began);
    return -1;
}

/* Starts the files of a report; a folder that cannot be written is the user's to mend. */
static int report_start(progress *at) {
    fg_run_setup *setup = at->setup;
    if (setup->folder == NULL) {
        return -1;
    }
    if (setup->journal == NULL &&
        fg_journal_create(setup->folder, &setup->facts, &setup->journal) != FG_STATUS_OK) {
        return fg_exit_message(FG_EXIT_USAGE);
    }
    return partial_write(at) == FG_STATUS_OK ? -1 : fg_exit_message(FG_EXIT_USAGE);
}

/* Where the handler tells of a signal. A mask and a signalfd would do without, but OpenBLAS starts
 * threads before main, which no mask of ours reaches. */
static int stop_fd = -1;

static void stop_tell(int number) {
    (void)number;
    (void)eventfd_write(stop_fd, 1);
}

/* A descriptor that becomes readable at Ctrl-C and termination; a second one ends the program at
 * once. Signals that were ignored when the program started stay so. */
static int stop_open(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction tell = {.sa_handler = stop_tell, .sa_flags = (int)SA_RESETHAND};
    stop_fd = eventfd(0, EFD_CLOEXEC);
    for (size_t i = 0; stop_fd >= 0 && i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction before;
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            (void)sigaction(numbers[i], &tell, NULL);
        }
    }
    return stop_fd;
}

static void cases_run(progress *at, int32_t jobs, int stop) {
    fg_run_setup *setup = at->setup;
    int32_t stopped = 0;
    const fg_schedule schedule = {.cases = &setup->cases,
                                  .done = setup->done,
                                  .jobs = jobs < setup->cases.count ? jobs
                                                                    : (int32_t)setup->cases.count,
                                  .client = {.backend = setup->facts.backend,
                                             .executor = setup->facts.executor,
                                             .timeout = setup->facts.timeout},
                                  .run = fg_run_case,
                                  .finished = case_finished,
                                  .ended = worker_ended,
                                  .user = at,
                                  .stop = stop};
    fg_status status = fg_schedule_run(&schedule, &stopped);
    progress_clear(at);
    if (status != FG_STATUS_OK) {
        (void)snprintf(setup->report.trouble, sizeof setup->report.trouble, "%s", fg_message());
    }
    setup->report.interrupted = stopped;
}

static int report_finish(progress *at) {
    fg_run_setup *setup = at->setup;
    char why[640];
    fg_tally tally;
    fg_records_sort(&setup->records);
    fg_status status = partial_write(at);
    fg_report_terminal(&setup->report, stdout, at->color);
    if (status != FG_STATUS_OK) {
        return fg_exit_message(FG_EXIT_INFRASTRUCTURE);
    }
    if (setup->folder != NULL) {
        (void)printf("report in %s\n", setup->folder);
    }
    fg_report_tally(&setup->report, &tally);
    return fg_report_exit_code(&setup->report, &tally, why, sizeof why);
}

static int run_prepared(const fg_options *options, fg_run_setup *setup) {
    int terminal = isatty(STDOUT_FILENO);
    progress at = {.setup = setup,
                   .began = fg_seconds_now(),
                   .terminal = terminal,
                   .color = terminal && getenv("NO_COLOR") == NULL};
    int32_t jobs = options->jobs > 0 ? options->jobs : fg_machine_cores();
    int code = report_start(&at);
    if (code < 0) {
        code = self_test();
    }
    if (code >= 0) {
        return code;
    }
    int stop = stop_open();
    if (stop < 0) {
        (void)FG_FAIL(FG_STATUS_IO, "cannot watch for signals");
        return fg_exit_message(FG_EXIT_INFRASTRUCTURE);
    }
    if (setup->cases.count > 0) {
        cases_run(&at, jobs, stop);
    }
    return report_finish(&at);
}

int fg_verb_run(const fg_options *options) {
    fg_run_setup setup;
    int code = fg_run_prepare(options, &setup);
    if (code < 0) {
        code = run_prepared(options, &setup);
    }
    fg_run_setup_free(&setup);
    return code;
}
