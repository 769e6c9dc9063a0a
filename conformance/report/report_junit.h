#ifndef FG_CONFORMANCE_REPORT_REPORT_JUNIT_H
#define FG_CONFORMANCE_REPORT_REPORT_JUNIT_H

#include "conformance/report/report.h"

/* Writes a report as JUnit XML: a case is a testcase, not-supported is skipped, mistrusted and
 * resource are errors. Write errors stay with the stream (ferror). */
fg_status fg_report_junit(const fg_report *report, FILE *out);

/* Writes text as XML character data: markup escaped, what XML 1.0 does not allow and bytes that are
 * no UTF-8 replaced by '?'. */
void fg_xml_text(const char *text, FILE *out);

#endif
