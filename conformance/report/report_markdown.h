#ifndef FG_CONFORMANCE_REPORT_REPORT_MARKDOWN_H
#define FG_CONFORMANCE_REPORT_REPORT_MARKDOWN_H

#include "conformance/report/report.h"

/* Writes a report's summary as Markdown. Write errors stay with the stream (ferror). */
fg_status fg_report_markdown(const fg_report *report, FILE *out);

#endif
