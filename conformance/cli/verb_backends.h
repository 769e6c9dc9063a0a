#ifndef FG_CONFORMANCE_CLI_VERB_BACKENDS_H
#define FG_CONFORMANCE_CLI_VERB_BACKENDS_H

#include "conformance/cli/options.h"

/* Prints which backends there are, whether they run here, and how they compute; returns the exit
 * code. */
int fg_verb_backends(const fg_options *options);

#endif
