#ifndef FG_CONFORMANCE_CLI_RUN_SETUP_H
#define FG_CONFORMANCE_CLI_RUN_SETUP_H

/* What `fusegate run` works on before the first case: the selection, the facts of the run, what is
 * there of an earlier one, and what the backend claims. */

#include "conformance/cli/options.h"
#include "conformance/report/journal.h"
#include "conformance/report/report.h"

typedef struct fg_run_setup {
    fg_run_facts facts;
    fg_case_list cases;
    fg_records records;  /* finished; of the earlier run at first */
    unsigned char *done; /* [cases.count] */
    const char *folder;  /* of the report, NULL without */
    fg_journal *journal; /* NULL without a folder */
    fg_report report;
} fg_run_setup;

/* Makes the selection, reads the earlier run for --resume, and tries the backend and executor in a
 * worker. Returns -1 to go on, else the exit code, having said why on stderr. The setup must not
 * move afterwards; free it in every case. */
int fg_run_prepare(const fg_options *options, fg_run_setup *out);
void fg_run_setup_free(fg_run_setup *setup);

#endif
