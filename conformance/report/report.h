#ifndef FG_CONFORMANCE_REPORT_REPORT_H
#define FG_CONFORMANCE_REPORT_REPORT_H

/* What a run found, from its journal's records to the exit code and the files of --report. */

#include "conformance/report/capability.h"
#include "conformance/report/record.h"
#include <stdio.h>

#define FG_REPORT_CAPABILITIES 32

/* A run's facts, its cases and what is finished of them; nothing here is owned. */
typedef struct fg_report {
    const fg_run_facts *facts;
    const fg_case_list *cases; /* the selection */
    const fg_records *records; /* sorted; record.index is a place in the selection */
    int32_t whole_suite;       /* a named suite, nothing left out: claims must be executed */
    int32_t claimed[FG_REPORT_CAPABILITIES]; /* by capability: 1 claimed, 0 not or not known */
    int32_t interrupted;                     /* by a signal or by trouble of this side */
    char trouble[1024];                      /* "" or what this side could not do */
    double wall;                             /* seconds of this run */
    char cpu[128], blas[256], blas_core[64], device[64];
} fg_report;

/* Sums over the records. */
typedef struct fg_tally {
    int64_t states[FG_STATES];
    int64_t undeclared; /* not-supported that the backend had not declared */
    int64_t capability[FG_REPORT_CAPABILITIES][FG_STATES];
    int64_t elements_compared, elements_owed, elements_touched;
    int64_t plans_built, plan_hits, state_resets;
    double seconds, seconds_reference, seconds_backend;
    int32_t unexecuted; /* claimed capabilities that no case executed, in a whole suite */
    char unexecuted_names[512];
} fg_tally;

void fg_report_tally(const fg_report *report, fg_tally *out);

/* The exit code (1 failure, 3 infrastructure or interrupted, 4 vacuous, 0 conformant) and, in
 * words, what decided. A report of an unfinished run is 3. */
int fg_report_exit_code(const fg_report *report, const fg_tally *tally, char *why, size_t size);

/* The repro command of a case line, quoted for a shell. Returns its length as snprintf does. */
size_t fg_report_repro(const fg_report *report, const char *line, char *text, size_t size);

/* Writes report.json, junit.xml and summary.md into a folder that is there, each in one step.
 * FG_STATUS_IO names the file. */
fg_status fg_report_write(const fg_report *report, const char *folder);

#endif
