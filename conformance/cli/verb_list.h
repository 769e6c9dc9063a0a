#ifndef FG_CONFORMANCE_CLI_VERB_LIST_H
#define FG_CONFORMANCE_CLI_VERB_LIST_H

#include "conformance/cli/options.h"

/* Prints the repro line of every case that would run, then counts by capability as comments, so
 * that the output is a case file; returns the exit code. */
int fg_verb_list(const fg_options *options);

#endif
