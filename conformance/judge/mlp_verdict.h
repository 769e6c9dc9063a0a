#ifndef FG_CONFORMANCE_JUDGE_MLP_VERDICT_H
#define FG_CONFORMANCE_JUDGE_MLP_VERDICT_H

#include "conformance/judge/comparison.h"
#include "conformance/judge/mlp_judge.h"

/* Says what a finished comparison means: the checks exact or bound, which name the output where
 * the fault shows first, with diagnosis, the other wrong outputs and, in the reason of a failure,
 * the terms of its bound; bias, unless numbers are wrong by more than roundings; and whether the
 * evidence suffices. FG_STATUS_NO_MEMORY. */
fg_status fg_mlp_verdict(const fg_mlp_judgement *judgement, const fg_oracle_spec *spec,
                         const fg_comparison *comparison, fg_result *result);

/* Makes a case mistrusted, once, because of what a check of that name found. */
void fg_mlp_mistrust(fg_result *result, const char *name, const char *why);

#endif
