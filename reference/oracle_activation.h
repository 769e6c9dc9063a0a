#ifndef FG_REFERENCE_ORACLE_ACTIVATION_H
#define FG_REFERENCE_ORACLE_ACTIVATION_H

#include "reference/oracle_state.h"

/* Rounding points as they meet an activation: `act` (gated activations only) rounds f(gate),
 * wherever it is read; `gated` rounds the unscaled activation a = f(gate) linear or, unary, f(x),
 * before it meets p; `hidden` rounds h = p a. In the backward `dprob` rounds D = dh p, `dlinear`
 * each product D u, (D u) f'(g), D f(g). Without p nothing is multiplied and h = a, D = dh. */

/* Fills h [rows, F], values and bounds, from the pre-activation y1, read rounded by the rounding
 * point `reader` (Y1_FORWARD or Y1_SAVED). Offers stages act, gated and h when `watched`. */
void fg_activation_forward(fg_oracle *oracle, uint32_t reader, int watched);

/* The backward of row `row`, whose dh [F] comes with its bounds: dy1 takes y1's place, column for
 * column; `summed` [O1] is dy1 as db1 sums it. Fills h's row anew where dW2 takes
 * the backward's. Returns the
 * row's sum_j dh a. Offers stages dprob and dy1 when the spec asks for stages. */
fg_product_sum fg_activation_backward_row(fg_oracle *oracle, int64_t row, const fg_values *dh,
                                          const fg_values *summed);

#endif
