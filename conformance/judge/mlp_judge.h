#ifndef FG_CONFORMANCE_JUDGE_MLP_JUDGE_H
#define FG_CONFORMANCE_JUDGE_MLP_JUDGE_H

#include "conformance/report/result.h"
#include "conformance/tensors/tensors.h"
#include "reference/oracle.h"

/* One buffer that is to be held against one output of the oracle. */
typedef struct fg_mlp_target {
    int output, buffer;
} fg_mlp_target;

enum { FG_MLP_TARGETS = 2 * FG_OUTPUTS };

/* Outputs of one round of calls, where the oracle's spec is the case's. */
typedef struct fg_mlp_judgement {
    const fg_case *value;
    const fg_traits *traits;
    const fg_inputs *inputs;
    fg_tensors *tensors;
    fg_mlp_target targets[FG_MLP_TARGETS];
    int32_t target_count;
} fg_mlp_judgement;

/* What the oracle computes from for gradients of `mask`. */
void fg_mlp_spec(const fg_mlp_judgement *judgement, uint32_t mask, fg_oracle_spec *out);

/* Holds every target against the oracle, expert by expert, and adds the checks exact, bound and
 * bias to the result; the case is mistrusted when a naive loop contradicts the oracle, exact data
 * is not neutral, or the evidence is too thin. FG_STATUS_NO_MEMORY and the oracle's own troubles
 * come back. */
fg_status fg_mlp_judge(const fg_mlp_judgement *judgement, uint32_t mask, fg_result *result);

#endif
