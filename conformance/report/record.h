#ifndef FG_CONFORMANCE_REPORT_RECORD_H
#define FG_CONFORMANCE_REPORT_RECORD_H

/* Finished cases of a run, and the facts that make two runs the same run, as text of the journal.
 */

#include "conformance/report/result.h"
#include <jansson.h>

/* One finished case: its place in the selection, its repro line and its verdict. */
typedef struct fg_record {
    int64_t index;
    char *line; /* owned */
    fg_result result;
} fg_record;

/* What a run found. A worker that was idle and did not end in order is no case's: the code under
 * test failed as its process ended. */
typedef struct fg_records {
    fg_record *items;
    int64_t count, capacity;
    int64_t endings;  /* such workers */
    char ending[640]; /* how the first of them ended, "" for none */
} fg_records;

/* Adds a record with a copy of the line. FG_STATUS_NO_MEMORY. */
fg_status fg_records_add(fg_records *records, int64_t index, const char *line,
                         const fg_result *result);
void fg_records_ending(fg_records *records, const char *text);
void fg_records_free(fg_records *records);

/* Sorts by place in the selection. */
void fg_records_sort(fg_records *records);

#define FG_FACT_SIZE 512

/* What a run is of. Texts are "" where they do not apply. */
typedef struct fg_run_facts {
    char suite[FG_FACT_SIZE], case_line[8192], filter[FG_FACT_SIZE];
    char backend[4096], executor[4096];
    int32_t seed_given;
    uint64_t seed;
    double timeout;
    int64_t cases;           /* selected */
    char selection_hash[40]; /* of every repro line */
    char program_hash[40], worker_hash[40], backend_hash[40], executor_hash[40];
} fg_run_facts;

/* A record and facts as JSON (NULL: no memory) and back (FG_STATUS_PROTOCOL, FG_STATUS_NO_MEMORY:
 * what did not fit). With `whole`, a record has what only the journal needs: times and counts. */
json_t *fg_json_from_record(const fg_record *record, int whole);
fg_status fg_json_to_record(const json_t *value, fg_records *records);
/* A seed as a JSON integer, or as its digits where it does not fit one; and back. */
json_t *fg_json_from_seed(uint64_t seed);
json_t *fg_json_from_facts(const fg_run_facts *facts);
fg_status fg_json_to_facts(const json_t *value, fg_run_facts *out);

#endif
