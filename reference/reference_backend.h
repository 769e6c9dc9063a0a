#ifndef FG_REFERENCE_REFERENCE_BACKEND_H
#define FG_REFERENCE_REFERENCE_BACKEND_H

#include "contract/backend.h"

/* The backend `reference`: unfused float32 on OpenBLAS, one expert after another; claims every run
 * of basic ops, recipe none. Entry as FG_BACKEND_ENTRY. */
fg_status fg_reference_backend_entry(uint32_t abi, const fg_host *host, const fg_backend **out);

#endif
