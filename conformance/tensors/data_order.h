#ifndef FG_CONFORMANCE_TENSORS_DATA_ORDER_H
#define FG_CONFORMANCE_TENSORS_DATA_ORDER_H

#include "conformance/tensors/data.h"

/* An order of the hidden coordinates of one expert's weight: place i holds coordinate
 * (scale i + offset) mod n. Different for each expert and weight, and never its own inverse when
 * n > 2, so that a transposed weight shows. */
typedef struct fg_data_order {
    int64_t n, scale, offset;
} fg_data_order;

fg_data_order fg_data_order_of(const fg_data_spot *spot, int weight);
int64_t fg_data_order_at(const fg_data_order *order, int64_t place);

/* One choice of an expert, the same for every tensor that asks: 0 .. limit - 1. */
int64_t fg_data_choice(const fg_data_spot *spot, uint32_t purpose, int64_t limit);

#endif
