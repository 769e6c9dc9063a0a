#ifndef FG_CONFORMANCE_EXECUTOR_EXEC_JUDGE_H
#define FG_CONFORMANCE_EXECUTOR_EXEC_JUDGE_H

#include "conformance/executor/exec_data.h"
#include "conformance/report/result.h"

/* Holds outputs of a mask against the oracle and adds the elements compared to the result; 1 in
 * *good when each lies within its bound, else `text` names the worst. FG_STATUS_NO_MEMORY and what
 * the oracle returns. */
fg_status fg_exec_judge(const fg_exec_data *data, const fg_traits *traits, const fg_exec_out *got,
                        uint32_t mask, fg_result *result, int *good, char *text, size_t size);

#endif
