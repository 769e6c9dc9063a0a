#include "conformance/report/report_junit.h"

#include <string.h>

/* Length of the UTF-8 sequence that begins here and that XML 1.0 allows, 0 when there is none. */
static int allowed_sequence(const unsigned char *at) {
    static const struct {
        unsigned int mask, lead, least;
        int length;
    } forms[] = {{0x80, 0x00, 0, 1},
                 {0xe0, 0xc0, 0x80, 2},
                 {0xf0, 0xe0, 0x800, 3},
                 {0xf8, 0xf0, 0x10000, 4}};
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        if ((at[0] & forms[f].mask) != forms[f].lead) {
            continue;
        }
        unsigned int code = at[0] & (~forms[f].mask & 0xff);
        for (int i = 1; i < forms[f].length; i++) {
            if ((at[i] & 0xc0) != 0x80) {
                return 0;
            }
            code = code << 6 | (at[i] & 0x3f);
        }
        int control = code < 0x20 && code != '\t' && code != '\n' && code != '\r';
        int forbidden = (code >= 0xd800 && code < 0xe000) || code == 0xfffe || code == 0xffff;
        return control || forbidden || code < forms[f].least || code > 0x10ffff ? 0
                                                                                : forms[f].length;
    }
    return 0;
}

void fg_xml_text(const char *text, FILE *out) {
    const unsigned char *at = (const unsigned char *)text;
    while (*at != '\0') {
        int length = allowed_sequence(at);
        const char *entity = *at == '<'    ? "&lt;"
                             : *at == '>'  ? "&gt;"
                             : *at == '&'  ? "&amp;"
                             : *at == '"'  ? "&quot;"
                             : *at == '\n' ? "&#10;"
                                           : NULL;
        if (length == 0) {
            (void)fputc('?', out);
        } else if (entity != NULL) {
            (void)fputs(entity, out);
        } else {
            (void)fwrite(at, 1, (size_t)length, out);
        }
        at += length == 0 ? 1 : length;
    }
}

static void attribute(const char *name, const char *value, FILE *out) {
    (void)fprintf(out, " %s=\"", name);
    fg_xml_text(value, out);
    (void)fputc('"', out);
}

/* Element of a case that did not pass, NULL for one that did. */
static const char *element(const fg_result *result) {
    switch (result->state) {
    case FG_STATE_PASS:
        return NULL;
    case FG_STATE_FAIL:
        return "failure";
    case FG_STATE_NOT_SUPPORTED:
        return result->declared ? "skipped" : "failure";
    default:
        return "error";
    }
}

static void write_case(const fg_report *report, const fg_record *record, FILE *out) {
    const fg_result *result = &record->result;
    const char *name = element(result);
    char repro[FG_CASE_LINE + 4096 + 128], class[32];
    (void)snprintf(class, sizeof class, "fusegate.%.*s", (int)strcspn(record->line, " "),
                   record->line);
    (void)fputs("  <testcase", out);
    attribute("classname", class, out);
    attribute("name", record->line, out);
    (void)fprintf(out, " time=\"%.6f\"", result->seconds);
    if (name == NULL) {
        (void)fputs("/>\n", out);
        return;
    }
    (void)fprintf(out, ">\n    <%s", name);
    attribute("type",
              result->state == FG_STATE_FAIL ? fg_fault_name(result->fault)
                                             : fg_state_name(result->state),
              out);
    attribute("message", result->reason, out);
    (void)fputc('>', out);
    (void)fg_report_repro(report, record->line, repro, sizeof repro);
    fg_xml_text(repro, out);
    (void)fprintf(out, "</%s>\n  </testcase>\n", name);
}

/* A worker that did not end in order, as a test of its own. */
static void write_ending(const fg_records *records, FILE *out) {
    (void)fputs("  <testcase classname=\"fusegate.worker\" name=\"ends in order\">\n"
                "    <failure type=\"crash\"",
                out);
    attribute("message", records->ending, out);
    (void)fprintf(out, ">%lld of the run's workers</failure>\n  </testcase>\n",
                  (long long)records->endings);
}

fg_status fg_report_junit(const fg_report *report, FILE *out) {
    fg_tally tally;
    fg_report_tally(report, &tally);
    int64_t errors = tally.states[FG_STATE_MISTRUSTED] + tally.states[FG_STATE_RESOURCE];
    int ending = report->records->endings > 0;
    int64_t failures = tally.states[FG_STATE_FAIL] + tally.undeclared + ending;
    int64_t skipped = tally.states[FG_STATE_NOT_SUPPORTED] - tally.undeclared;
    (void)fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite", out);
    attribute("name", report->facts->suite[0] != '\0' ? report->facts->suite : "case", out);
    (void)fprintf(out,
                  " tests=\"%lld\" failures=\"%lld\" errors=\"%lld\" skipped=\"%lld\""
                  " time=\"%.6f\">\n",
                  (long long)report->records->count + ending, (long long)failures,
                  (long long)errors, (long long)skipped, tally.seconds);
    for (int64_t i = 0; i < report->records->count; i++) {
        write_case(report, &report->records->items[i], out);
    }
    if (ending) {
        write_ending(report->records, out);
    }
    (void)fputs("</testsuite>\n", out);
    return FG_STATUS_OK;
}
