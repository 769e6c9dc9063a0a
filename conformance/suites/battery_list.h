#ifndef FG_CONFORMANCE_SUITES_BATTERY_LIST_H
#define FG_CONFORMANCE_SUITES_BATTERY_LIST_H

/* Every property that both backends on the simulated devices have: the name of its test, and the
 * function fg_battery_... that checks it. */

#include "conformance/suites/abi_battery.h"
#include "conformance/suites/numeric_battery.h"

#define FG_BATTERY_LIST(X)                                                                         \
    X(random_outputs_lie_within_their_bounds, bounds)                                              \
    X(empty_experts_may_be_anywhere, empty_experts)                                                \
    X(accumulated_gradients_hold_the_old_content_once, accumulates)                                \
    X(empty_expert_overwrites_with_exact_zero, empty_overwrites)                                   \
    X(empty_expert_leaves_what_it_adds_to, empty_accumulates)                                      \
    X(nothing_but_wanted_elements_changes, strays)                                                 \
    X(padding_rows_influence_no_bit, padding)                                                      \
    X(y_has_the_same_bits_with_and_without_gradients, no_grad)                                     \
    X(each_mask_gives_the_bits_of_the_full_one, masks)                                             \
    X(old_scratch_influences_no_bit, scratch)                                                      \
    X(int32_int64_and_host_splits_are_alike, splits_types)                                         \
    X(every_interleave_gives_the_same_y, layouts)                                                  \
    X(nan_stays_inside_its_expert, experts_apart)                                                  \
    X(nan_passes_through_the_activation, nan_passes)                                               \
    X(no_rows_are_a_valid_call, no_rows)                                                           \
    X(one_kernel_serves_many_threads, threads)                                                     \
    X(other_abi_versions_are_refused, abi)                                                         \
    X(what_is_not_computed_is_refused_by_name, refusals)                                           \
    X(structs_of_older_sizes_are_honoured, old_structs)                                            \
    X(wrong_tensors_are_named, tensors)                                                            \
    X(wrong_splits_are_refused, splits)                                                            \
    X(outputs_on_other_tensors_are_refused, aliases)                                               \
    X(impossible_masks_are_refused, mask_bits)                                                     \
    X(missing_buffers_are_named, buffers)                                                          \
    X(row_counts_past_an_int_are_refused, overflow)                                                \
    X(two_devices_exist_and_keep_their_tensors, devices)                                           \
    X(streams_belong_to_their_device, streams)                                                     \
    X(memory_remembers_its_device, memory_devices)                                                 \
    X(fill_and_copies_are_exact, memory)                                                           \
    X(a_delay_lasts, delay)                                                                        \
    X(current_device_is_never_asked_for, current_device)                                           \
    X(calls_allocate_nothing, no_allocation)                                                       \
    X(failed_allocations_come_back, no_memory)                                                     \
    X(everything_is_given_back, gives_back)                                                        \
    X(last_error_is_the_last_message, last_error)

#endif
