#ifndef FG_REFERENCE_ORACLE_STAGE_H
#define FG_REFERENCE_ORACLE_STAGE_H

#include "reference/oracle_state.h"

/* Forgets the stages of the expert before. */
void fg_stage_reset(fg_oracle *oracle);

/* Offers one element of a stage and its terms; the one with the largest bound is kept. */
void fg_stage_offer(fg_oracle *oracle, int stage, int64_t row, int64_t col, fg_bounded value,
                    const fg_terms *terms);

/* Says what a stage summed: n products, gamma of their accumulator. */
void fg_stage_sum(fg_oracle *oracle, int stage, int64_t n, double gamma);

/* Tells, at the element kept, what part of the operands' term is due to operands read with few
 * digits. */
void fg_stage_narrow(fg_oracle *oracle, int stage, const fg_product *product);

#endif
