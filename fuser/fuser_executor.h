#ifndef FG_FUSER_FUSER_EXECUTOR_H
#define FG_FUSER_FUSER_EXECUTOR_H

#include "contract/executor.h"

/* The executor `fuser`: this project's operation fuser with its plan cache, behind the executor
 * ABI. Entry as FG_EXECUTOR_ENTRY. */
fg_status fg_fuser_executor_entry(uint32_t abi, const fg_host *host, const fg_executor_api **out);

#endif
