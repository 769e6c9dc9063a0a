#ifndef FG_REFERENCE_HOST_BACKWARD_H
#define FG_REFERENCE_HOST_BACKWARD_H

#include "reference/backend_args.h"

/* Bytes of scratch for T rows: tiles, and float32 sums of dx [T, H] and dp [T]. */
fg_status fg_host_backward_bytes(const fg_problem *problem, int64_t rows, size_t *out);

/* The wanted gradients of a whole run from saved y1 [T, O1]. Each is summed in float32 and rounded
 * once; bits do not depend on which others are wanted. */
void fg_host_backward(const fg_call *call, const void *saved, void *scratch);

#endif
