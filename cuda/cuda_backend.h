#ifndef FG_CUDA_CUDA_BACKEND_H
#define FG_CUDA_CUDA_BACKEND_H

#include "contract/backend.h"

/* The backend `cuda`. Where it is not built this is FG_STATUS_UNAVAILABLE with the reason as
 * message. Entry as FG_BACKEND_ENTRY. */
fg_status fg_cuda_backend_entry(uint32_t abi, const fg_host *host, const fg_backend **out);

#endif
