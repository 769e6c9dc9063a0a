#ifndef FG_CONFORMANCE_TENSORS_FRESH_H
#define FG_CONFORMANCE_TENSORS_FRESH_H

#include "conformance/tensors/tensors.h"

/* Other values of x (FG_BUFFER_OTHER_X, normal of another seed whatever the case's data), for a
 * forward that is given them in x's own place. */

/* Why a case has none: words, or NULL when it has them. */
const char *fg_fresh_missing(const fg_case *value);

/* Fills FG_BUFFER_OTHER_X; FG_STATUS_NO_MEMORY. */
fg_status fg_fresh_fill(fg_tensors *tensors);

/* Swaps the elements of x and of the other x, padding rows too; guards and gaps stay. */
void fg_fresh_swap(fg_tensors *tensors);

#endif
