#ifndef FG_FUSER_CALL_CHECK_H
#define FG_FUSER_CALL_CHECK_H

#include "fuser/fuser.h"

/* Checks a forward's arguments before anything is counted and gives the device index of the first
 * weight (of the main input where the run has none). FG_STATUS_INVALID, _DEVICE. */
fg_status fg_forward_check(const fg_fuser *fuser, int32_t mode, uint32_t requires,
                           const fg_inputs *in, const fg_tensor *y, int32_t *device);

/* Checks that a backward's gradients are there exactly for `requires`, and on the device. */
fg_status fg_backward_check(const fg_fuser *fuser, uint32_t requires, int32_t device,
                            const fg_tensor *dy, const fg_tensor *const grads[FG_INPUT_SLOTS],
                            uint32_t accumulate);

#endif
