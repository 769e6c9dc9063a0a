#ifndef FG_CONFORMANCE_CLI_VERB_EXPLAIN_H
#define FG_CONFORMANCE_CLI_VERB_EXPLAIN_H

#include "conformance/cli/options.h"

/* Prints what one case asks and how its bound comes about; returns the exit code. */
int fg_verb_explain(const fg_options *options);

#endif
