#ifndef FG_CONFORMANCE_JUDGE_DIAGNOSIS_H
#define FG_CONFORMANCE_JUDGE_DIAGNOSIS_H

#include "conformance/judge/comparison.h"
#include "conformance/tensors/tensors.h"

/* Says in words what a wrong element looks like; "" when it looks like nothing known. */
void fg_diagnosis_words(const fg_case *value, const fg_tensors *tensors, int output,
                        const fg_finding *finding, char *text, size_t size);

#endif
