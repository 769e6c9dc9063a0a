#include "fuser/call_check.h"

static fg_status check_device(const char *name, const fg_tensor *tensor, const char *first,
                              int32_t device) {
    if (tensor->device != device) {
        return FG_FAIL(FG_STATUS_DEVICE, "found %s on device %d and %s on device %d, expected one",
                       first, device, name, tensor->device);
    }
    return FG_STATUS_OK;
}

/* The input that says on which device a call runs. */
static int32_t leading_input(const fg_op_set *ops) {
    if (ops->inputs & FG_BIT(FG_W1)) {
        return FG_W1;
    }
    return ops->inputs & FG_BIT(FG_W2) ? FG_W2 : FG_X;
}

static fg_status check_inputs(const fg_op_set *ops, const fg_inputs *in) {
    for (int32_t i = 0; i < FG_INPUTS; i++) {
        if ((ops->inputs & FG_BIT(i)) && in->inputs[i] == NULL) {
            return FG_FAIL(FG_STATUS_INVALID, "found no %s, expected a tensor", fg_input_name(i));
        }
    }
    if (in->splits == NULL) {
        return FG_FAIL(FG_STATUS_INVALID, "found no splits, expected a tensor");
    }
    if (in->rows < 0) {
        return FG_FAIL(FG_STATUS_INVALID, "rows: found %lld, expected 0 or more",
                       (long long)in->rows);
    }
    return FG_STATUS_OK;
}

fg_status fg_forward_check(const fg_fuser *fuser, int32_t mode, uint32_t requires,
                           const fg_inputs *in, const fg_tensor *y, int32_t *device) {
    const fg_op_set *ops = &fuser->ops;
    if (mode != FG_NO_GRAD && mode != FG_GRAD) {
        return FG_FAIL(FG_STATUS_INVALID, "mode: found %d, expected 0 or 1", mode);
    }
    if (in == NULL || in->struct_size < sizeof *in) {
        return FG_FAIL(FG_STATUS_ABI, "inputs: found %zu bytes, expected %zu",
                       in != NULL ? in->struct_size : 0, sizeof *in);
    }
    if (requires & ~ops->inputs) {
        return FG_FAIL(FG_STATUS_INVALID,
                       "requires: found bits %#x, expected none but those of the inputs, %#x",
                       requires, ops->inputs);
    }
    if (y == NULL) {
        return FG_FAIL(FG_STATUS_INVALID, "found no y, expected a tensor");
    }
    FG_TRY(check_inputs(ops, in));
    const int32_t lead = leading_input(ops);
    *device = in->inputs[lead]->device;
    for (int32_t i = 0; i < FG_INPUTS; i++) {
        if (ops->inputs & FG_BIT(i)) {
            FG_TRY(check_device(fg_input_name(i), in->inputs[i], fg_input_name(lead), *device));
        }
    }
    FG_TRY(check_device("splits", in->splits, fg_input_name(lead), *device));
    return check_device("y", y, fg_input_name(lead), *device);
}

fg_status fg_backward_check(const fg_fuser *fuser, uint32_t requires, int32_t device,
                            const fg_tensor *dy, const fg_tensor *const grads[FG_INPUT_SLOTS],
                            uint32_t accumulate) {
    const char *lead = fg_input_name(leading_input(&fuser->ops));
    if (dy == NULL || grads == NULL) {
        return FG_FAIL(FG_STATUS_INVALID, "found no %s, expected it", dy == NULL ? "dy" : "grads");
    }
    if (accumulate & ~(FG_BIT(FG_W1) | FG_BIT(FG_W2))) {
        return FG_FAIL(FG_STATUS_INVALID, "accumulate: found bits %#x, expected dw1 and dw2 only",
                       accumulate);
    }
    FG_TRY(check_device("dy", dy, lead, device));
    for (int32_t i = 0; i < FG_INPUT_SLOTS; i++) {
        int wanted = (requires & FG_BIT(i)) != 0;
        if (wanted != (grads[i] != NULL)) {
            return FG_FAIL(FG_STATUS_INVALID, "found %s %s, expected %s", wanted ? "no" : "a",
                           i < FG_INPUTS ? fg_grad_name(i) : "gradient past the last input",
                           wanted ? "one: its input requires a gradient"
                                  : "none: its input requires no gradient");
        }
        if (wanted) {
            FG_TRY(check_device(fg_grad_name(i), grads[i], lead, device));
        }
    }
    return FG_STATUS_OK;
}
