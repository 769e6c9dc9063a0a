#ifndef FG_CONFORMANCE_CASE_CASE_PARSE_H
#define FG_CONFORMANCE_CASE_CASE_PARSE_H

#include "conformance/case/case_key.h"

/* A case line cut into its values. */
typedef struct fg_case_text {
    char *copy;             /* of the line, cut at spaces and equal signs */
    const int32_t *columns; /* column of each character, 1 for the first; NULL: its place */
    fg_case_kind kind;
    char *value[FG_KEYS];             /* text of each key; NULL: not given */
    const fg_key_word *word[FG_KEYS]; /* for keys that take words, defaults filled in */
} fg_case_text;

/* Cuts a line into kind, keys and words, and checks each word. `copy` is the line in memory that
 * may be changed and outlives `out`. FG_STATUS_PARSE with column and nearest word. */
fg_status fg_case_text_cut(char *copy, const int32_t *columns, fg_case_text *out);

/* Column of a place in the text's copy. */
int fg_case_text_column(const fg_case_text *text, const char *place);

/* Fills a case from a cut line; checks every number. FG_STATUS_PARSE. */
fg_status fg_case_text_resolve(const fg_case_text *text, fg_case *out);

/* A list of gradients of the problem and of "none", or "all", as a mask; and the other way round,
 * as snprintf does. */
fg_status fg_case_mask_parse(const fg_case_text *text, char *list, uint32_t all, uint32_t *out);
size_t fg_case_mask_format(uint32_t mask, uint32_t all, char *list, size_t size);

/* Every gradient that a problem has. */
uint32_t fg_case_gradients(const fg_problem *problem);

/* Checks a comma list of actions (plan, boundary). */
fg_status fg_case_actions_check(const fg_case_text *text, const char *actions);

/* fg_case_parse of text whose characters stand at given columns of a file's line. */
fg_status fg_case_parse_columns(const char *line, const int32_t *columns, fg_case *out);

#endif
