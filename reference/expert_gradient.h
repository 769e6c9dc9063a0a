#ifndef FG_REFERENCE_EXPERT_GRADIENT_H
#define FG_REFERENCE_EXPERT_GRADIENT_H

/* Gradients of one expert that need no tiles, shared by the float32 backends. */

#include "reference/backend_args.h"

/* The gradients of an expert without rows: zero where they are overwritten, else left alone. */
void fg_expert_gradient_empty(const fg_call *call, int64_t expert);

/* The part of b2 in the backward, `tile` rows at a time: db2 is stored, the gradient of b2's scale
 * is stored as dbp or, where p is that scale, added to dp [rows of the expert].
 * dy [tile, H], scale [tile] and line [2, H] are scratch. */
void fg_expert_gradient_b2(const fg_call *call, int64_t expert, int64_t tile, float *dy,
                           float *scale, float *line, float *dp);

#endif
