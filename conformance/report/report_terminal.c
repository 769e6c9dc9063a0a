#include "conformance/report/report_terminal.h"

#define RED "\033[31m"
#define GREEN "\033[32m"
#define PLAIN "\033[0m"

static void paint(FILE *out, int color, const char *sequence) {
    if (color) {
        (void)fputs(sequence, out);
    }
}

/* Prints a plugin's text: what would steer a terminal is written out. */
static void print_plain(const char *text, FILE *out) {
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f) {
            (void)fprintf(out, "\\x%02x", byte);
        } else {
            (void)fputc(byte, out);
        }
    }
}

void fg_report_case(const fg_report *report, const fg_record *record, FILE *out, int color) {
    char repro[FG_CASE_LINE + 4096 + 128];
    const fg_result *result = &record->result;
    const char *fault = fg_fault_name(result->fault);
    paint(out, color, RED);
    (void)fprintf(out, "%s%s%s%s", fg_state_name(result->state), fault[0] != '\0' ? " (" : "",
                  fault, fault[0] != '\0' ? ")" : "");
    paint(out, color, PLAIN);
    (void)fg_report_repro(report, record->line, repro, sizeof repro);
    (void)fputs(": ", out);
    print_plain(result->reason, out);
    (void)fprintf(out, "\n    %s\n", repro);
}

static void write_row(const char *name, const char *claimed, const int64_t *states, FILE *out) {
    (void)fprintf(out, "%-16s %8s", name, claimed);
    for (int s = 0; s < FG_STATES; s++) {
        (void)fprintf(out, " %14lld", (long long)states[s]);
    }
    (void)fputc('\n', out);
}

static void write_table(const fg_report *report, const fg_tally *tally, FILE *out) {
    (void)fprintf(out, "\n%-16s %8s", "capability", "claimed");
    for (int s = 0; s < FG_STATES; s++) {
        (void)fprintf(out, " %14s", fg_state_name((fg_state)s));
    }
    (void)fputc('\n', out);
    for (int32_t c = 0; c < fg_capabilities(); c++) {
        write_row(fg_capability_name(c), report->claimed[c] ? "yes" : "no", tally->capability[c],
                  out);
    }
    write_row("all cases", "", tally->states, out);
}

void fg_report_terminal(const fg_report *report, FILE *out, int color) {
    char why[640];
    fg_tally tally;
    fg_report_tally(report, &tally);
    int code = fg_report_exit_code(report, &tally, why, sizeof why);
    write_table(report, &tally, out);
    (void)fprintf(out, "\n%lld of %lld cases finished in %.2f s\n",
                  (long long)report->records->count, (long long)report->cases->count, report->wall);
    (void)fprintf(out, "elements compared %lld of %lld owed\n", (long long)tally.elements_compared,
                  (long long)tally.elements_owed);
    (void)fprintf(out, "seconds over all jobs %.2f: reference %.2f, backend %.2f, harness %.2f",
                  tally.seconds, tally.seconds_reference, tally.seconds_backend,
                  tally.seconds - tally.seconds_reference - tally.seconds_backend);
    if (tally.elements_touched > 0) {
        double harness = tally.seconds - tally.seconds_reference - tally.seconds_backend;
        (void)fprintf(out, " (%.1f ns for each element touched)",
                      1e9 * harness / (double)tally.elements_touched);
    }
    (void)fprintf(out, "\nplans built %lld, hits %lld, state resets %lld\n",
                  (long long)tally.plans_built, (long long)tally.plan_hits,
                  (long long)tally.state_resets);
    paint(out, color, code == 0 ? GREEN : RED);
    (void)fprintf(out, "verdict: %s (exit code %d)", why, code);
    paint(out, color, PLAIN);
    (void)fputc('\n', out);
}
