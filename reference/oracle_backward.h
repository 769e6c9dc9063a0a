#ifndef FG_REFERENCE_ORACLE_BACKWARD_H
#define FG_REFERENCE_ORACLE_BACKWARD_H

#include "reference/oracle_state.h"

/* The wanted gradients of the loaded expert, after its forward and before anything is accumulated:
 *   dh = dy W2,  dy1 = act'(y1, dh p),  dx = dy1 W1,  dW1 = dy1^T x,  db1 = sum dy1,
 *   dW2 = dy^T h,  db2 = sum dy, or sum bias_p dy with scale_bias,
 *   dp = sum_j dh a (+ sum_j dy b2 with scale_bias), and dbp = sum_j dy b2 instead when separate.
 */
void fg_oracle_backward(fg_oracle *oracle);

#endif
