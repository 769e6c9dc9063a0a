#ifndef FG_CONFORMANCE_EXECUTOR_PASSES_H
#define FG_CONFORMANCE_EXECUTOR_PASSES_H

#include "contract/executor.h"

/* Fusion passes that checks register with an executor, each known by a name, so that a worker can
 * be told which one to use. None has state; `user` is ignored.
 *   identity  leaves the runs as they are
 *   basic     one run for each basic op
 *   fc1_act   FC1 with the activation, FC2 alone
 *   act_fc2   FC1 alone, the activation with FC2
 *   whole     one run of everything
 *   gap       forgets the last basic op (a fault)
 *   overlap   gives the last basic op twice (a fault)
 *   disorder  gives the runs of basic ops last to first (a fault)
 *   refuse    returns FG_STATUS_UNSUPPORTED */

/* Finds a pass; NULL for an unknown name. */
fg_pass_fn fg_pass_from_name(const char *name);

/* Name of a pass of the table; NULL for any other function. */
const char *fg_pass_name(fg_pass_fn pass);

#endif
