#ifndef FG_CONFORMANCE_REPORT_REPORT_JSON_H
#define FG_CONFORMANCE_REPORT_REPORT_JSON_H

#include "conformance/report/report.h"

/* Writes a report as one JSON object, schema 1. Write errors stay with the stream (ferror). */
fg_status fg_report_json(const fg_report *report, FILE *out);

#endif
