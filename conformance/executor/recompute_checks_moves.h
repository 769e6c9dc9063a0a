#ifndef FG_CONFORMANCE_EXECUTOR_RECOMPUTE_CHECKS_MOVES_H
#define FG_CONFORMANCE_EXECUTOR_RECOMPUTE_CHECKS_MOVES_H

#include "conformance/executor/exec_set.h"

/* Sequence 7: a plan holds no pointer, no T, no splits, no stream, no device. Records
 *   new_pointers      other tensors elsewhere
 *   new_rows          other T and splits
 *   devices           the same tensors on devices 0 and 1 (not-run where there is none)
 *   fresh_in_place    one tensor after the other gets new values where it lies
 *   earlier_outputs   what earlier calls wrote stays as it was */
fg_status fg_recompute_moves(const fg_exec_set *set, fg_result *result);

#endif
