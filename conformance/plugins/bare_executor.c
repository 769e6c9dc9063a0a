/* The fuser without any optional function: what an executor may lack. */

#include "fuser/fuser_executor.h"

static fg_executor_api bare;

fg_status fg_executor_entry(uint32_t abi, const fg_host *host, const fg_executor_api **out);

fg_status fg_executor_entry(uint32_t abi, const fg_host *host, const fg_executor_api **out) {
    const fg_executor_api *whole = NULL;
    FG_TRY(fg_fuser_executor_entry(abi, host, &whole));
    bare = *whole;
    bare.name = "bare_executor";
    bare.register_pass = NULL;
    bare.clear = NULL;
    bare.plan_runs = NULL;
    bare.events = NULL;
    bare.hook = NULL;
    *out = &bare;
    return FG_STATUS_OK;
}
