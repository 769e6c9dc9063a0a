#include "cuda/cuda_backend.h"

fg_status fg_cuda_backend_entry(uint32_t abi, const fg_host *host, const fg_backend **out) {
    (void)abi;
    (void)host;
    *out = NULL;
    return FG_FAIL(FG_STATUS_UNAVAILABLE, "cuda is not built into this program");
}
