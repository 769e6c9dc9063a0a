#ifndef FG_CONFORMANCE_SUITES_NUMERIC_BATTERY_H
#define FG_CONFORMANCE_SUITES_NUMERIC_BATTERY_H

/* What the numbers of any right backend satisfy; one property each, for suites to call. A backend
 * that breaks it ends the test. */

#include "contract/backend.h"

/* Every output of random data within the oracle's bound, over types, activations, layouts, biases
 * and strides. */
void fg_battery_bounds(fg_backend_entry_fn entry);

/* The same with experts without rows in every place. */
void fg_battery_empty_experts(fg_backend_entry_fn entry);

/* Added gradients hold the old content once. */
void fg_battery_accumulates(fg_backend_entry_fn entry);

/* An expert without rows: exact zeros over poison, and untouched bits when adding. */
void fg_battery_empty_overwrites(fg_backend_entry_fn entry);
void fg_battery_empty_accumulates(fg_backend_entry_fn entry);

/* No byte changes outside the rows of experts and the wanted gradients. */
void fg_battery_strays(fg_backend_entry_fn entry);

/* Bits do not depend on: padding rows, gradients being on, which gradients are wanted, what scratch
 * held, the type of splits. */
void fg_battery_padding(fg_backend_entry_fn entry);
void fg_battery_no_grad(fg_backend_entry_fn entry);
void fg_battery_masks(fg_backend_entry_fn entry);
void fg_battery_scratch(fg_backend_entry_fn entry);
void fg_battery_splits_types(fg_backend_entry_fn entry);

/* Every layout of gate and linear columns gives the same y, but for the order of sums. */
void fg_battery_layouts(fg_backend_entry_fn entry);

/* NaN in one expert's rows and weights reaches no other expert. */
void fg_battery_experts_apart(fg_backend_entry_fn entry);

/* NaN in a gate column comes out as NaN in y, for every activation. */
void fg_battery_nan_passes(fg_backend_entry_fn entry);

/* No rows at all, with null pointers wherever a tensor or buffer is empty. */
void fg_battery_no_rows(fg_backend_entry_fn entry);

/* One kernel used by several threads gives each the bits of a single one. */
void fg_battery_threads(fg_backend_entry_fn entry);

#endif
