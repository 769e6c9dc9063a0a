#ifndef FG_REFERENCE_HOST_BACKEND_H
#define FG_REFERENCE_HOST_BACKEND_H

#include "contract/backend.h"

/* The backend `host`: the whole MLP fused tile by tile on OpenBLAS, no full intermediate without
 * gradients, two simulated devices (0 and 1; -1 is 0), recipe none. Entry as FG_BACKEND_ENTRY. */
fg_status fg_host_backend_entry(uint32_t abi, const fg_host *host, const fg_backend **out);

#endif
