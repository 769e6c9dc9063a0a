#ifndef FG_CONFORMANCE_EXECUTOR_PLAN_CHECKS_FORMS_H
#define FG_CONFORMANCE_EXECUTOR_PLAN_CHECKS_FORMS_H

#include "conformance/executor/exec_set.h"

/* Plans of one, two and three entries, the same forward and backward or not, each with every
 * boundary inside and between its entries, with values held against a fresh executor's of the same
 * entries. Records one check; not-run where no pass can be registered or the backend refuses the
 * shorter runs. */
fg_status fg_plan_forms(const fg_exec_set *set, const char *name, fg_result *result);

#endif
