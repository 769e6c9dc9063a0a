#ifndef FG_CONFORMANCE_REPORT_CAPABILITY_H
#define FG_CONFORMANCE_REPORT_CAPABILITY_H

/* Capabilities: one value of dt, act, layout, recipe, wdt or mode, or one wanted output. A backend
 * claims one when its `supports` says yes to it with first values elsewhere. */

#include "conformance/case/case.h"

/* Number of capabilities, and the name of each ("dt=bf16", "want=dw1"). */
int32_t fg_capabilities(void);
const char *fg_capability_name(int32_t capability);

/* Whether a case exercises a capability. */
int fg_capability_in(int32_t capability, const fg_case *value);

/* Puts the capability into a problem and recipe of first values, to ask `supports` about. */
void fg_capability_ask(int32_t capability, fg_problem *problem, fg_recipe *recipe);

#endif
