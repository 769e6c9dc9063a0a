#ifndef FG_REFERENCE_ORACLE_FORWARD_H
#define FG_REFERENCE_ORACLE_FORWARD_H

#include "reference/oracle_state.h"

/* y of the loaded expert, and on the way y1 and h:
 *   y1 = x W1^T + b1,  h = p act(y1),  y = h W2^T + b2 or + bias_p b2. */
void fg_oracle_forward(fg_oracle *oracle);

/* A product whose element (i, j) gets `bias`[j] times `scale`[i] (NULL: no bias; NULL: 1).
 * bias_after rounds before the bias is added and, where there are readers, again. `readers` names
 * the rounding points by which the result is read later; 0 for an output. */
typedef struct fg_linear {
    fg_product product;
    const double *bias, *scale;
    uint32_t readers;
    int32_t stage;
} fg_linear;

/* Computes it into `out`; the gamma and range of its accumulator are filled in here. */
void fg_linear_compute(fg_oracle *oracle, const fg_linear *linear, const fg_values *out);

#endif
