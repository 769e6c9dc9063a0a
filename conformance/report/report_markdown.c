#include "conformance/report/report_markdown.h"

/* A table cell: line breaks and bars would end it, other control bytes steer a terminal. */
static void cell(const char *text, FILE *out) {
    for (; *text != '\0'; text++) {
        if (*text == '|') {
            (void)fputs("\\|", out);
        } else {
            (void)fputc(*text >= 0 && *text < ' ' ? ' ' : *text, out);
        }
    }
}

static void write_capabilities(const fg_report *report, const fg_tally *tally, FILE *out) {
    (void)fputs("| capability | claimed | pass | fail | not supported | mistrusted | resource |\n"
                "|---|---|---:|---:|---:|---:|---:|\n",
                out);
    for (int32_t c = 0; c < fg_capabilities(); c++) {
        const int64_t *states = tally->capability[c];
        (void)fprintf(out, "| `%s` | %s |", fg_capability_name(c),
                      report->claimed[c] ? "yes" : "no");
        for (int s = 0; s < FG_STATES; s++) {
            (void)fprintf(out, " %lld |", (long long)states[s]);
        }
        (void)fputc('\n', out);
    }
}

static void write_findings(const fg_report *report, FILE *out) {
    int found = 0;
    for (int64_t i = 0; i < report->records->count; i++) {
        const fg_record *record = &report->records->items[i];
        const fg_result *result = &record->result;
        char repro[FG_CASE_LINE + 4096 + 128];
        if (result->state == FG_STATE_PASS ||
            (result->state == FG_STATE_NOT_SUPPORTED && result->declared)) {
            continue;
        }
        if (found++ == 0) {
            (void)fputs("\n## What did not pass\n\n| state | reason | repro |\n|---|---|---|\n",
                        out);
        }
        (void)fg_report_repro(report, record->line, repro, sizeof repro);
        (void)fprintf(out, "| %s %s | ", fg_state_name(result->state),
                      fg_fault_name(result->fault));
        cell(result->reason, out);
        (void)fputs(" | `", out);
        cell(repro, out);
        (void)fputs("` |\n", out);
    }
}

fg_status fg_report_markdown(const fg_report *report, FILE *out) {
    char why[640];
    fg_tally tally;
    fg_report_tally(report, &tally);
    int code = fg_report_exit_code(report, &tally, why, sizeof why);
    (void)fputs("# Fusegate: ", out);
    cell(why, out);
    (void)fprintf(out, " (exit code %d)\n\nBackend `%s`, executor `%s`, %s `%s`.\n\n", code,
                  report->facts->backend, report->facts->executor,
                  report->facts->suite[0] != '\0' ? "suite" : "case",
                  report->facts->suite[0] != '\0' ? report->facts->suite
                                                  : report->facts->case_line);
    (void)fprintf(out, "%lld of %lld cases finished:", (long long)report->records->count,
                  (long long)report->cases->count);
    for (int s = 0; s < FG_STATES; s++) {
        (void)fprintf(out, "%s %lld %s", s > 0 ? "," : "", (long long)tally.states[s],
                      fg_state_name((fg_state)s));
    }
    (void)fprintf(out,
                  ".\n\nElements compared: %lld of %lld owed. Seconds: %.2f in all, reference %.2f,"
                  " backend %.2f, harness %.2f. Plans built %lld, hits %lld, resets %lld.\n\n",
                  (long long)tally.elements_compared, (long long)tally.elements_owed, tally.seconds,
                  tally.seconds_reference, tally.seconds_backend,
                  tally.seconds - tally.seconds_reference - tally.seconds_backend,
                  (long long)tally.plans_built, (long long)tally.plan_hits,
                  (long long)tally.state_resets);
    if (report->records->endings > 0) {
        (void)fprintf(out, "Workers that did not end in order: %lld; the first ",
                      (long long)report->records->endings);
        cell(report->records->ending, out);
        (void)fputs(".\n\n", out);
    }
    write_capabilities(report, &tally, out);
    write_findings(report, out);
    return FG_STATUS_OK;
}
