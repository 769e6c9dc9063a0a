/* The fuser with a memo of its last plan only, which is what frameworks did: right results, a
 * rebuild on every change of mode. Only the capacity of its cache differs. */

#include "fuser/fuser_executor.h"

static const fg_executor_api *whole; /* the fuser's functions, set by the entry */
static fg_executor_api one_slot;

static fg_status create(const fg_problem *problem, const fg_executor_options *options,
                        fg_executor **out) {
    fg_executor_options narrow = *options;
    narrow.capacity = 1;
    return whole->create(problem, &narrow, out);
}

fg_status fg_executor_entry(uint32_t abi, const fg_host *host, const fg_executor_api **out);

fg_status fg_executor_entry(uint32_t abi, const fg_host *host, const fg_executor_api **out) {
    FG_TRY(fg_fuser_executor_entry(abi, host, &whole));
    one_slot = *whole;
    one_slot.name = "one_slot_executor";
    one_slot.create = create;
    *out = &one_slot;
    return FG_STATUS_OK;
}
