#ifndef FG_CONFORMANCE_REPORT_REPORT_TERMINAL_H
#define FG_CONFORMANCE_REPORT_REPORT_TERMINAL_H

#include "conformance/report/report.h"

/* Writes the verdict for people: table by capability, times, exit code; `color` allows escape
 * sequences. */
void fg_report_terminal(const fg_report *report, FILE *out, int color);

/* Writes one case that did not pass, with the command that runs it again. */
void fg_report_case(const fg_report *report, const fg_record *record, FILE *out, int color);

#endif
