#include "conformance/mutants/fuser_mutant.h"

fg_status fg_executor_entry(uint32_t abi, const fg_host *host, const fg_executor_api **out) {
    return fg_fuser_executor_entry(abi, host, out);
}
