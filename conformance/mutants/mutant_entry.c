/* The entry of every faulty backend: that of `host`. */

#include "reference/host_backend.h"

fg_status fg_backend_entry(uint32_t abi, const fg_host *host, const fg_backend **out)
    __attribute__((visibility("default")));

fg_status fg_backend_entry(uint32_t abi, const fg_host *host, const fg_backend **out) {
    return fg_host_backend_entry(abi, host, out);
}
