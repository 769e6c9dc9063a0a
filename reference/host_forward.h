#ifndef FG_REFERENCE_HOST_FORWARD_H
#define FG_REFERENCE_HOST_FORWARD_H

#include "reference/backend_args.h"

/* Bytes of scratch for T rows: tiles only, the same for any T of at least one row block. */
fg_status fg_host_forward_bytes(const fg_problem *problem, int64_t rows, size_t *out);

/* y of a whole run, tile by tile; y1 in the I/O type goes to saved [T, O1] unless NULL. The tiles,
 * and so the bits of y, are the same with and without `saved`. */
void fg_host_forward(const fg_call *call, void *saved, void *scratch);

#endif
