#ifndef FG_CONFORMANCE_CLI_SELECTION_H
#define FG_CONFORMANCE_CLI_SELECTION_H

#include "conformance/case/case.h"

/* Which cases a verb works on; texts are "" where they do not apply. */
typedef struct fg_selection_request {
    const char *suite;     /* a name, or a file when it has a slash or ends in .case */
    const char *case_line; /* where suite is "" */
    const char *filter;    /* shell pattern on the repro line, or on the line with every key */
    int32_t seed_given;
    uint64_t seed;
} fg_selection_request;

/* Adds the cases asked for, in order. FG_STATUS_PARSE, _NOT_FOUND, _IO, _INVALID with a message for
 * the user. */
fg_status fg_selection_make(const fg_selection_request *request, fg_case_list *out);

/* Whether a suite is a file of case lines, not a name. */
int fg_selection_is_file(const char *suite);

/* Hash of every repro line, in hexadecimal. */
void fg_selection_hash(const fg_case_list *cases, char hash[40]);

/* Hash of a file's content; "" when it cannot be read. */
void fg_file_hash(const char *path, char hash[40]);

#endif
