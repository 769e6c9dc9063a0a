#ifndef FG_REFERENCE_FLOAT_ACTIVATION_H
#define FG_REFERENCE_FLOAT_ACTIVATION_H

#include "contract/problem.h"

/* Activations of one row in float32, value and derivative, no rounding but float32's own. A unary
 * activation reads `gate` only. NaN passes through. Formulas: SwiGLU g s(g) u, squared ReLU
 * max(g, 0)^2 (derivative 0 at 0). */

/* a [n] = act(gate [n], linear [n]), not multiplied by p. */
void fg_float_activation(int32_t activation, int64_t n, const float *gate, const float *linear,
                         float *a);

/* dgate [n], dlinear [n] (gated only) from d [n], the gradient of `a`; dgate may be `gate` and
 * dlinear may be `linear`. */
void fg_float_activation_backward(int32_t activation, int64_t n, const float *gate,
                                  const float *linear, const float *d, float *dgate,
                                  float *dlinear);

#endif
