#ifndef FG_REFERENCE_REFERENCE_BACKWARD_H
#define FG_REFERENCE_REFERENCE_BACKWARD_H

#include "reference/backend_args.h"

/* Bytes of scratch for T rows. */
fg_status fg_reference_backward_bytes(const fg_problem *problem, int64_t rows, size_t *out);

/* The wanted gradients of any run of basic ops, one op after another; a whole run reads y1 and h
 * from saved. Bits do not depend on which others are wanted. */
void fg_reference_backward(const fg_call *call, const void *saved, void *scratch);

#endif
