#ifndef FG_CONFORMANCE_CASE_CASE_SUITE_H
#define FG_CONFORMANCE_CASE_CASE_SUITE_H

#include "conformance/case/case.h"

/* Adds every case of a suite that is built into the program (conformance/cases/NAME.case).
 * FG_STATUS_NOT_FOUND for a name that is no suite, with the nearest one, or that is known but not
 * built yet. */
fg_status fg_case_suite(const char *name, fg_case_list *list);

/* Name of built suite number i, NULL past the last. */
const char *fg_case_suite_name(int i);

#endif
