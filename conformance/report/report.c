#include "conformance/report/report.h"

#include "conformance/report/report_json.h"
#include "conformance/report/report_junit.h"
#include "conformance/report/report_markdown.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static void tally_add(const fg_report *report, const fg_record *record, fg_tally *out) {
    const fg_result *result = &record->result;
    out->states[result->state] += 1;
    out->undeclared += result->state == FG_STATE_NOT_SUPPORTED && !result->declared;
    out->elements_compared += result->elements_compared;
    out->elements_owed += result->elements_owed;
    out->elements_touched += result->elements_touched;
    out->plans_built += result->plans_built;
    out->plan_hits += result->plan_hits;
    out->state_resets += result->state_resets;
    out->seconds += result->seconds;
    out->seconds_reference += result->seconds_reference;
    out->seconds_backend += result->seconds_backend;
    for (int32_t c = 0; c < fg_capabilities(); c++) {
        if (fg_capability_in(c, &report->cases->cases[record->index])) {
            out->capability[c][result->state] += 1;
        }
    }
}

/* Kind mlp calls the backend itself, the other kinds judge an executor: the claims of a backend are
 * held against suites that have cases of kind mlp. */
static int holds_claims(const fg_report *report) {
    for (int64_t i = 0; report->whole_suite && i < report->cases->count; i++) {
        if (report->cases->cases[i].kind == FG_CASE_MLP) {
            return 1;
        }
    }
    return 0;
}

void fg_report_tally(const fg_report *report, fg_tally *out) {
    *out = (fg_tally){0};
    for (int64_t i = 0; i < report->records->count; i++) {
        tally_add(report, &report->records->items[i], out);
    }
    for (int32_t c = 0; c < fg_capabilities() && holds_claims(report); c++) {
        const int64_t *states = out->capability[c];
        if (report->claimed[c] && states[FG_STATE_PASS] + states[FG_STATE_FAIL] == 0) {
            size_t held = strlen(out->unexecuted_names);
            (void)snprintf(out->unexecuted_names + held, sizeof out->unexecuted_names - held,
                           "%s%s", held > 0 ? ", " : "", fg_capability_name(c));
            out->unexecuted += 1;
        }
    }
}

int fg_report_exit_code(const fg_report *report, const fg_tally *tally, char *why, size_t size) {
    const int64_t *states = tally->states;
    int64_t judged = states[FG_STATE_PASS] + states[FG_STATE_FAIL];
    if (report->trouble[0] != '\0' || report->interrupted ||
        report->records->count < report->cases->count) {
        (void)snprintf(why, size, "%s",
                       report->trouble[0] != '\0' ? report->trouble
                       : report->interrupted      ? "interrupted"
                                                  : "not finished");
        return 3;
    }
    if (states[FG_STATE_FAIL] > 0 || tally->undeclared > 0 || report->records->endings > 0) {
        int length = snprintf(why, size, "%lld failed, %lld not supported without being declared",
                              (long long)states[FG_STATE_FAIL], (long long)tally->undeclared);
        if (report->records->endings > 0 && length > 0 && (size_t)length < size) {
            (void)snprintf(why + length, size - (size_t)length, "; a worker %.500s",
                           report->records->ending);
        }
        return 1;
    }
    if (states[FG_STATE_RESOURCE] > 0) {
        (void)snprintf(why, size, "%lld ran out of memory or lost the device",
                       (long long)states[FG_STATE_RESOURCE]);
        return 3;
    }
    if (report->cases->count == 0) {
        (void)snprintf(why, size, "nothing was selected");
        return 4;
    }
    if (judged == 0) {
        (void)snprintf(why, size, "vacuous: no case was executed");
        return 4;
    }
    if (states[FG_STATE_MISTRUSTED] > 0) {
        (void)snprintf(why, size, "vacuous: %lld mistrusted",
                       (long long)states[FG_STATE_MISTRUSTED]);
        return 4;
    }
    if (tally->unexecuted > 0) {
        (void)snprintf(why, size, "vacuous: claimed but executed by no case: %s",
                       tally->unexecuted_names);
        return 4;
    }
    (void)snprintf(why, size, "conformant");
    return 0;
}

size_t fg_report_repro(const fg_report *report, const char *line, char *text, size_t size) {
    const fg_run_facts *facts = report->facts;
    int executor = facts->executor[0] != '\0' && strncmp(line, "mlp ", 4) != 0;
    return (size_t)snprintf(text, size, "fusegate run --backend %s%s%s --case '%s'", facts->backend,
                            executor ? " --executor " : "", executor ? facts->executor : "", line);
}

/* Writes one file beside its name and renames it, so that a reader never sees half of it. */
static fg_status file_write(const fg_report *report, const char *folder, const char *name,
                            fg_status (*write)(const fg_report *, FILE *)) {
    char path[4096], fresh[4096 + 8];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path) {
        return FG_FAIL(FG_STATUS_IO, "the path of %s in %s is too long", name, folder);
    }
    (void)snprintf(fresh, sizeof fresh, "%s.tmp", path);
    FILE *out = fopen(fresh, "w");
    if (out == NULL) {
        return FG_FAIL(FG_STATUS_IO, "cannot write %s: %s", fresh, strerror(errno));
    }
    fg_status status = write(report, out);
    int failed = ferror(out);
    failed |= fclose(out) != 0;
    if (status == FG_STATUS_OK && (failed || rename(fresh, path) != 0)) {
        status = FG_FAIL(FG_STATUS_IO, "cannot write %s: %s", path, strerror(errno));
    }
    if (status != FG_STATUS_OK) {
        (void)unlink(fresh);
    }
    return status;
}

fg_status fg_report_write(const fg_report *report, const char *folder) {
    FG_TRY(file_write(report, folder, "report.json", fg_report_json));
    FG_TRY(file_write(report, folder, "junit.xml", fg_report_junit));
    return file_write(report, folder, "summary.md", fg_report_markdown);
}
