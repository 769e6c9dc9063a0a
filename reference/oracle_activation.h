#ifndef FG_REFERENCE_ORACLE_ACTIVATION_H
#define FG_REFERENCE_ORACLE_ACTIVATION_H

#include "reference/oracle_state.h"

/* Rounding points as they meet an activation: `act` (gated activations only) rounds f(gate),
 * wherever it is read; `gated` rounds the unscaled activation a = f(gate) linear or, unary, f(x),
 * before it meets p; `hidden` rounds h = p a. In the backward `dprob` rounds D = dh p, `dlinear`
 * each product D u, (D u) f'(g), D f(g). Without p nothing is multiplied and h = a, D = dh. */

/* h [rows, F], values and bounds, from the pre-activation y1 [rows, O1]. Offers stages act, gated
 * and h when `watched`. */
void fg_activation_forward(fg_oracle *oracle, const fg_values *y1, fg_operand *h, int watched);

/* One row of dy1 [O1]: as FC1's gradients read it, and as db1 sums it. */
typedef struct fg_gradient_row {
    fg_values read, summed;
} fg_gradient_row;

/* The backward of row `row` of y1, whose dh [F] comes with its bounds; returns the row's
 * sum_j dh a. */
fg_product_sum fg_activation_backward_row(fg_oracle *oracle, const fg_values *y1, int64_t row,
                                          const fg_values *dh, const fg_gradient_row *out);

#endif
