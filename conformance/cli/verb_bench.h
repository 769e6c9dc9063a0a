#ifndef FG_CONFORMANCE_CLI_VERB_BENCH_H
#define FG_CONFORMANCE_CLI_VERB_BENCH_H

#include "conformance/cli/options.h"

/* Measures the host time of the fuser beside its baselines; returns the exit code. */
int fg_verb_bench(const fg_options *options);

#endif
