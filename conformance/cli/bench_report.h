#ifndef FG_CONFORMANCE_CLI_BENCH_REPORT_H
#define FG_CONFORMANCE_CLI_BENCH_REPORT_H

#include "conformance/cli/bench_fuser.h"
#include <jansson.h>
#include <stdio.h>

/* Prints a result of fg_bench_fuser as tables. */
void fg_bench_fuser_print(FILE *out, const fg_bench_fuser_result *result);

/* The same as an object whose reference is the caller's; NULL without memory. */
json_t *fg_bench_fuser_json(const fg_bench_fuser_result *result);

#endif
