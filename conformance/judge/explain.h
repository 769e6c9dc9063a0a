#ifndef FG_CONFORMANCE_JUDGE_EXPLAIN_H
#define FG_CONFORMANCE_JUDGE_EXPLAIN_H

#include "conformance/case/case.h"
#include "contract/backend.h"
#include <stdio.h>

/* Prints what a case asks: the problem, the rounding points of `traits`, the planned checks, and
 * the bound of each stage with every term. Runs the oracle, no backend. */
fg_status fg_explain(FILE *out, const fg_case *value, const fg_traits *traits);

#endif
