#include "conformance/cli/run_setup.h"

#include "conformance/cli/machine.h"
#include "conformance/cli/selection.h"
#include "conformance/process/client.h"
#include "conformance/process/client_process.h"
#include "contract/alloc.h"
#include <stdio.h>
#include <string.h>

/* Sets a fact from a flag. In a resumed run the fact is there already and the flag must agree. */
static int fact_set(char *fact, size_t size, const char *flag, const char *given,
                    const char *fallback, int resumed) {
    if (resumed && given != NULL && strcmp(given, fact) != 0) {
        (void)fprintf(stderr,
                      "fusegate: the run to resume has --%s '%s', found '%s', expected the same\n",
                      flag, fact, given);
        return -1;
    }
    if (!resumed) {
        const char *value = given != NULL ? given : fallback;
        if (strlen(value) >= size) {
            (void)fprintf(stderr, "fusegate: --%s is longer than %zu bytes\n", flag, size - 1);
            return -1;
        }
        strcpy(fact, value);
    }
    return 0;
}

static int facts_set(const fg_options *options, fg_run_facts *facts, int resumed) {
    const char *suite = options->case_line != NULL ? "" : "pr";
    if (options->suite != NULL && options->case_line != NULL) {
        (void)fprintf(stderr, "fusegate: found --suite and --case, expected one of them\n");
        return -1;
    }
    if (resumed && options->seed_given && (!facts->seed_given || facts->seed != options->seed)) {
        (void)fprintf(stderr, "fusegate: the run to resume has another --seed than %llu\n",
                      (unsigned long long)options->seed);
        return -1;
    }
    if (!resumed) {
        facts->seed_given = options->seed_given;
        facts->seed = options->seed;
    }
    if (options->timeout > 0 || !resumed) {
        facts->timeout = options->timeout > 0 ? options->timeout : 60;
    }
    return fact_set(facts->suite, sizeof facts->suite, "suite", options->suite, suite, resumed) ||
           fact_set(facts->case_line, sizeof facts->case_line, "case", options->case_line, "",
                    resumed) ||
           fact_set(facts->filter, sizeof facts->filter, "filter", options->filter, "", resumed) ||
           fact_set(facts->backend, sizeof facts->backend, "backend", options->backend, "host",
                    resumed) ||
           fact_set(facts->executor, sizeof facts->executor, "executor", options->executor, "fuser",
                    resumed);
}

/* exec:CMD belongs to a later issue of the design. */
static int known_not_built(const char *flag, const char *what) {
    if (strncmp(what, "exec:", 5) != 0) {
        return 0;
    }
    (void)fprintf(stderr, "fusegate: --%s exec:CMD is known, but not built yet\n", flag);
    return -1;
}

static void code_hash(const char *what, const char *worker, char hash[40]) {
    fg_file_hash(strchr(what, '/') != NULL || strstr(what, ".so") != NULL ? what : worker, hash);
}

static fg_status hashes_make(const fg_run_setup *setup, fg_run_facts *out) {
    char worker[4096];
    FG_TRY(fg_process_worker_path(worker, sizeof worker));
    fg_file_hash("/proc/self/exe", out->program_hash);
    fg_file_hash(worker, out->worker_hash);
    code_hash(setup->facts.backend, worker, out->backend_hash);
    code_hash(setup->facts.executor, worker, out->executor_hash);
    fg_selection_hash(&setup->cases, out->selection_hash);
    return FG_STATUS_OK;
}

/* Takes the hashes, or in a resumed run holds them against those of the earlier one. */
static int hashes_set(fg_run_setup *setup, int resumed) {
    fg_run_facts now = {0};
    fg_run_facts *facts = &setup->facts;
    if (hashes_make(setup, &now) != FG_STATUS_OK) {
        return fg_exit_message(FG_EXIT_INFRASTRUCTURE);
    }
    const struct {
        const char *name;
        char *held, *found;
    } pairs[] = {{"selection of cases", facts->selection_hash, now.selection_hash},
                 {"fusegate program", facts->program_hash, now.program_hash},
                 {"worker program", facts->worker_hash, now.worker_hash},
                 {"backend", facts->backend_hash, now.backend_hash},
                 {"executor", facts->executor_hash, now.executor_hash}};
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
        if (resumed && strcmp(pairs[p].held, pairs[p].found) != 0) {
            (void)fprintf(stderr, "fusegate: cannot resume: the %s is not the one of that run\n",
                          pairs[p].name);
            return FG_EXIT_USAGE;
        }
        memmove(pairs[p].held, pairs[p].found, strlen(pairs[p].found) + 1);
    }
    facts->cases = setup->cases.count;
    return -1;
}

/* Marks what the earlier run finished. */
static int done_mark(fg_run_setup *setup) {
    setup->done = fg_alloc((size_t)setup->cases.count, FG_ALLOC_GENERAL);
    if (setup->done == NULL) {
        (void)FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for %lld cases",
                      (long long)setup->cases.count);
        return fg_exit_message(FG_EXIT_INFRASTRUCTURE);
    }
    for (int64_t i = 0; i < setup->records.count; i++) {
        int64_t index = setup->records.items[i].index;
        if (index < 0 || index >= setup->cases.count) {
            (void)fprintf(stderr, "fusegate: cannot resume: found case %lld of %lld\n",
                          (long long)index, (long long)setup->cases.count);
            return FG_EXIT_USAGE;
        }
        setup->done[index] = 1;
    }
    return -1;
}

/* Asks which capabilities the backend claims. */
static fg_status claims_ask(fg_client *client, fg_report *report) {
    for (int32_t c = 0; c < fg_capabilities(); c++) {
        fg_problem problem;
        fg_recipe recipe;
        char reason[FG_REASON_SIZE];
        fg_capability_ask(c, &problem, &recipe);
        fg_status status = fg_client_supports(client, -1, &problem, &recipe, reason);
        report->claimed[c] = status == FG_STATUS_OK;
        if (!fg_client_alive(client)) {
            return status;
        }
    }
    return FG_STATUS_OK;
}

/* Has a worker load what is under test, so that a wrong name ends the run before it begins. */
static int backend_try(fg_run_setup *setup) {
    fg_client *client = NULL;
    const fg_client_options options = {.backend = setup->facts.backend,
                                       .executor = setup->facts.executor,
                                       .timeout = setup->facts.timeout};
    fg_status status = fg_client_open(&options, &client);
    if (status != FG_STATUS_OK) {
        return fg_exit_message(fg_exit_of_status(status));
    }
    fg_traits traits;
    status = fg_client_quiet(client, "while loading");
    status = status != FG_STATUS_OK ? status : fg_client_traits(client, -1, &traits);
    status = status != FG_STATUS_OK ? status : claims_ask(client, &setup->report);
    fg_client_close(client);
    return status == FG_STATUS_OK ? -1 : fg_exit_message(FG_EXIT_INFRASTRUCTURE);
}

static void report_begin(fg_run_setup *setup) {
    fg_report *report = &setup->report;
    report->facts = &setup->facts;
    report->cases = &setup->cases;
    report->records = &setup->records;
    /* A file is the user's own choice of cases and owes nothing else. */
    report->whole_suite = setup->facts.suite[0] != '\0' && setup->facts.filter[0] == '\0' &&
                          !fg_selection_is_file(setup->facts.suite);
    fg_machine_describe(report);
}

int fg_run_prepare(const fg_options *options, fg_run_setup *out) {
    int resumed = options->resume != NULL, code;
    *out = (fg_run_setup){.folder = resumed ? options->resume : options->report};
    if (resumed && options->report != NULL && strcmp(options->report, options->resume) != 0) {
        (void)fprintf(stderr, "fusegate: --resume writes into its own folder, found --report %s\n",
                      options->report);
        return FG_EXIT_USAGE;
    }
    if (resumed && fg_journal_resume(options->resume, &out->facts, &out->records, &out->journal) !=
                       FG_STATUS_OK) {
        return fg_exit_message(FG_EXIT_USAGE);
    }
    if (facts_set(options, &out->facts, resumed) != 0 ||
        known_not_built("backend", out->facts.backend) != 0 ||
        known_not_built("executor", out->facts.executor) != 0) {
        return FG_EXIT_USAGE;
    }
    const fg_selection_request request = {out->facts.suite, out->facts.case_line, out->facts.filter,
                                          out->facts.seed_given, out->facts.seed};
    if (fg_selection_make(&request, &out->cases) != FG_STATUS_OK) {
        return fg_exit_message(FG_EXIT_USAGE);
    }
    if ((code = hashes_set(out, resumed)) >= 0 || (code = done_mark(out)) >= 0) {
        return code;
    }
    report_begin(out);
    return backend_try(out);
}

void fg_run_setup_free(fg_run_setup *setup) {
    fg_journal_close(setup->journal);
    fg_records_free(&setup->records);
    fg_case_list_free(&setup->cases);
    fg_free(setup->done);
}
