#ifndef FG_CONFORMANCE_CLI_BENCH_HITS_H
#define FG_CONFORMANCE_CLI_BENCH_HITS_H

#include "conformance/cli/bench_fuser.h"

/* Measures what choosing a plan costs while two boundaries alternate: a hit by one and by two
 * threads, a one-slot memo, a rebuild on each call. Fills these fields of *out; as many batches as
 * out->iterations, at most 1,000. */
fg_status fg_bench_hits(fg_bench_fuser_result *out);

#endif
