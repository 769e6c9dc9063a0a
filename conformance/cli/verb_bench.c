#include "conformance/cli/verb_bench.h"

#include "conformance/cli/bench_report.h"
#include <stdio.h>

enum { ITERATIONS = 1000 };

int fg_verb_bench(const fg_options *options) {
    fg_bench_fuser_result result;
    if (!options->fuser) {
        (void)fprintf(stderr, "fusegate: bench without --fuser is known, but not built yet\n");
        return FG_EXIT_USAGE;
    }
    if (fg_bench_fuser(ITERATIONS, &result) != FG_STATUS_OK) {
        return fg_exit_message(FG_EXIT_INFRASTRUCTURE);
    }
    fg_bench_fuser_print(stdout, &result);
    return FG_EXIT_OK;
}
