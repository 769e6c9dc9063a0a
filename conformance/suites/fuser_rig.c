#include "conformance/suites/fuser_rig.h"
#include "conformance/suites/tiny_backend.h"
#include "fuser/fuser_executor.h"
#include <string.h>

#define GRAD_BEFORE 100.0f

static fg_stream stream_for(void *user, int32_t device) {
    fuser_rig *rig = user;
    rig->stream_calls++;
    rig->stream_device = device;
    rig->stream_number += rig->moving;
    return (fg_stream)(uintptr_t)(4096 + rig->stream_number);
}

static void init_tensor(fuser_rig *rig, fg_tensor *tensor, int slot, int input, fg_dtype dtype) {
    int64_t dims[FG_TENSOR_DIMS] = {0};
    int32_t ndim = fg_problem_input_dims(&rig->problem, input, RIG_ROWS, dims);
    *tensor = fg_tensor_tight(rig->numbers[slot], dtype, 0, ndim, dims);
    for (int i = 0; i < 16; i++) {
        rig->numbers[slot][i] = 1.0f + 0.25f * (float)slot + 0.5f * (float)i;
    }
}

void rig_init(fuser_rig *rig, int32_t scale_bias) {
    tiny_reset();
    *rig = (fuser_rig){.problem = fg_problem_default(1, 2, 2), .split = RIG_ROWS};
    rig->problem.dtype = FG_F32;
    rig->problem.activation = FG_ACT_SRELU;
    rig->problem.bias = 1;
    rig->problem.scale_bias = scale_bias != 0;
    rig->problem.separate_bias_scale = scale_bias == 2;
    rig->options = (fg_executor_options){.struct_size = sizeof rig->options,
                                         .backend = tiny_backend(),
                                         .stream_for = stream_for,
                                         .user = rig};
    rig->in = (fg_inputs){.struct_size = sizeof rig->in, .rows = RIG_ROWS};
    for (int i = 0; i < FG_INPUTS; i++) {
        init_tensor(rig, &rig->inputs[i], i, i, FG_F32);
        init_tensor(rig, &rig->grads[i], FG_INPUT_SLOTS + i, i, FG_F32);
        if (fg_problem_has_input(&rig->problem, i)) {
            rig->in.inputs[i] = &rig->inputs[i];
        }
    }
    const int64_t one[1] = {1};
    rig->splits = fg_tensor_tight(&rig->split, FG_I32, 0, 1, one);
    rig->in.splits = &rig->splits;
    init_tensor(rig, &rig->y, 2 * FG_INPUT_SLOTS, FG_X, FG_F32);
    init_tensor(rig, &rig->dy, 2 * FG_INPUT_SLOTS + 1, FG_X, FG_F32);
}

fg_status rig_create(fuser_rig *rig) {
    FG_TRY(fg_fuser_executor_entry(FG_EXECUTOR_ABI, NULL, &rig->api));
    return rig->api->create(&rig->problem, &rig->options, &rig->executor);
}

void rig_destroy(fuser_rig *rig) {
    rig->api->destroy(rig->executor);
    rig->executor = NULL;
}

fg_status rig_forward(fuser_rig *rig, const fg_recipe *recipe, int32_t mode, uint32_t requires,
                      fg_context **context) {
    return rig->api->forward(rig->executor, mode, recipe, requires, &rig->in, &rig->y, NULL, NULL,
                             context);
}

fg_status rig_backward(fuser_rig *rig, fg_context *context, uint32_t requires,
                       uint32_t accumulate) {
    for (int i = 0; i < FG_INPUTS; i++) {
        rig->grad_pointers[i] = requires & FG_BIT(i) ? &rig->grads[i] : NULL;
        for (int k = 0; k < 16; k++) {
            rig->numbers[FG_INPUT_SLOTS + i][k] = GRAD_BEFORE;
        }
    }
    return rig->api->backward(rig->executor, context, &rig->dy, rig->grad_pointers, accumulate);
}

static float row_value(const fg_tensor *tensor, int64_t t) {
    return *(const float *)fg_tensor_row(tensor, t);
}

float rig_y(const fuser_rig *rig, int64_t t) {
    return row_value(&rig->y, t);
}

float rig_grad(const fuser_rig *rig, int input, int64_t t) {
    return row_value(&rig->grads[input], t);
}

float rig_input(const fuser_rig *rig, int input, int64_t t) {
    return row_value(&rig->inputs[input], t);
}

void rig_move(fuser_rig *rig, int32_t device) {
    for (int i = 0; i < FG_INPUTS; i++) {
        rig->inputs[i].device = device;
        rig->grads[i].device = device;
    }
    rig->splits.device = device;
    rig->y.device = device;
    rig->dy.device = device;
}

fg_counters rig_counters(const fuser_rig *rig) {
    fg_counters counters = {.struct_size = sizeof counters};
    rig->api->counters(rig->executor, &counters);
    return counters;
}

const char *rig_events(const fuser_rig *rig, char text[32]) {
    fg_event events[31];
    int32_t count = rig->api->events(rig->executor, events, 31);
    for (int32_t i = 0; i < count; i++) {
        text[i] = "BSR1PHNTXC"[events[i]];
    }
    text[count] = '\0';
    return text;
}

static float bias_scale(const fuser_rig *rig, int64_t t) {
    if (!rig->problem.scale_bias) {
        return 1;
    }
    return rig_input(rig, rig->problem.separate_bias_scale ? FG_BIAS_P : FG_P, t);
}

static float expected_y1(const fuser_rig *rig, int64_t t) {
    return rig_input(rig, FG_X, t) * rig_input(rig, FG_W1, 0) + rig_input(rig, FG_B1, 0);
}

float rig_expected_y(const fuser_rig *rig, int64_t t) {
    return rig_input(rig, FG_P, t) * expected_y1(rig, t) * rig_input(rig, FG_W2, 0) +
           bias_scale(rig, t) * rig_input(rig, FG_B2, 0);
}

/* One row's part of a gradient. */
static float row_grad(const fuser_rig *rig, int input, int64_t t) {
    const float dy = row_value(&rig->dy, t), p = rig_input(rig, FG_P, t);
    const float dh = dy * rig_input(rig, FG_W2, 0), y1 = expected_y1(rig, t);
    const float b2 = rig_input(rig, FG_B2, 0);
    const int p_scales_bias = rig->problem.scale_bias && !rig->problem.separate_bias_scale;
    const float values[FG_INPUTS] = {[FG_X] = dh * p * rig_input(rig, FG_W1, 0),
                                     [FG_W1] = dh * p * rig_input(rig, FG_X, t),
                                     [FG_B1] = dh * p,
                                     [FG_P] = dh * y1 + (p_scales_bias ? dy * b2 : 0),
                                     [FG_W2] = dy * p * y1,
                                     [FG_B2] = dy * bias_scale(rig, t),
                                     [FG_BIAS_P] = dy * b2};
    return values[input];
}

float rig_expected_grad(const fuser_rig *rig, int input, int64_t t) {
    if (input == FG_X || input == FG_P || input == FG_BIAS_P) {
        return row_grad(rig, input, t);
    }
    float sum = 0;
    for (int64_t row = 0; row < RIG_ROWS; row++) {
        sum += row_grad(rig, input, row);
    }
    return sum;
}
