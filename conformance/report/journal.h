#ifndef FG_CONFORMANCE_REPORT_JOURNAL_H
#define FG_CONFORMANCE_REPORT_JOURNAL_H

/* DIR/journal.jsonl: the facts of a run in the first line, then one line for each finished case,
 * written as it finishes, so that a killed run loses at most the cases in hand. */

#include "conformance/report/record.h"

typedef struct fg_journal fg_journal;

/* Starts a journal anew in a folder, which is made when it is not there. FG_STATUS_IO names the
 * path that could not be written. */
fg_status fg_journal_create(const char *folder, const fg_run_facts *facts, fg_journal **out);

/* Reads a journal and goes on with it: what it holds comes in *facts and *records (the caller's to
 * free). A last line that was cut off is dropped, also from the file. FG_STATUS_IO: no journal
 * there; FG_STATUS_PROTOCOL: a line that is none of ours, by number, or a case that comes twice. */
fg_status fg_journal_resume(const char *folder, fg_run_facts *facts, fg_records *records,
                            fg_journal **out);

/* Writes how a worker ended that did not do so in order. One thread at a time. */
fg_status fg_journal_ending(fg_journal *journal, const char *text);

/* Writes one finished case. One thread at a time. */
fg_status fg_journal_append(fg_journal *journal, const fg_record *record);
void fg_journal_close(fg_journal *journal);

#endif
