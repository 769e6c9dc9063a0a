#ifndef FG_CONFORMANCE_CLI_VERB_RUN_H
#define FG_CONFORMANCE_CLI_VERB_RUN_H

#include "conformance/cli/options.h"

/* Runs cases and gives a verdict; returns the command's exit code. */
int fg_verb_run(const fg_options *options);

#endif
