#ifndef FG_CONFORMANCE_CASE_CASE_LIST_H
#define FG_CONFORMANCE_CASE_CASE_LIST_H

#include "conformance/case/case.h"

/* Adds one case to a list; FG_STATUS_NO_MEMORY. */
fg_status fg_case_list_add(fg_case_list *list, const fg_case *value);

/* fg_case_read of a file's content that is in memory already; messages call it `file`. Here and in
 * fg_case_expand, of cases with one repro line the list keeps the first. */
fg_status fg_case_read_text(const char *text, size_t length, const char *file, fg_case_list *list);

#endif
