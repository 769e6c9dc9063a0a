#ifndef FG_CONFORMANCE_MUTANTS_FUSER_MUTANT_H
#define FG_CONFORMANCE_MUTANTS_FUSER_MUTANT_H

/* Planted faults of an executor. Each is the fuser's own objects, linked into a plugin with one or
 * two functions replaced (ld --wrap): the plugin differs from the fuser by its fault only. */

#include "conformance/mutants/fault.h"
#include "fuser/fuser_call.h"
#include "fuser/fuser_executor.h"
#include "fuser/plan_choice.h"

/* FG_EXECUTOR_ENTRY of every one of these plugins. */
fg_status fg_executor_entry(uint32_t abi, const fg_host *host, const fg_executor_api **out)
    __attribute__((visibility("default")));

#endif
