#include "conformance/suites/fuser_asserts.h"

/* Problems that are a part of the MLP: their main input and output stand where x and y stand. */

static fuser_rig rig;
static fg_recipe none;

static void open_run(int32_t first, int32_t count, int32_t unfused) {
    rig_init(&rig, 0);
    none = fg_recipe_default(FG_RECIPE_NONE);
    rig.problem.first_op = first;
    rig.problem.op_count = count;
    rig.options.unfused = unfused;
    must_create(&rig);
}

static float value(int input, int64_t t) {
    return rig_input(&rig, input, t);
}

static float dy(int64_t t) {
    return *(const float *)fg_tensor_row(&rig.dy, t);
}

Test(fuser_runs, activation_and_fc2) {
    const uint32_t mask = FG_BIT(FG_X) | FG_BIT(FG_P) | FG_BIT(FG_W2) | FG_BIT(FG_B2);
    for (int32_t unfused = 0; unfused < 2; unfused++) {
        open_run(FG_OP_ACTIVATION, 2, unfused);
        must_infer(&rig, &none);
        fg_context *context = must_forward(&rig, &none, mask);
        must_backward(&rig, context, mask);
        float dw2 = 0;
        for (int64_t t = 0; t < RIG_ROWS; t++) {
            const float h = value(FG_P, t) * value(FG_X, t), dh = dy(t) * value(FG_W2, 0);
            cr_assert_eq(rig_y(&rig, t), h * value(FG_W2, 0) + value(FG_B2, 0));
            cr_assert_eq(rig_grad(&rig, FG_X, t), dh * value(FG_P, t));
            cr_assert_eq(rig_grad(&rig, FG_P, t), dh * value(FG_X, t));
            dw2 += dy(t) * h;
        }
        cr_assert_eq(rig_grad(&rig, FG_W2, 0), dw2);
        cr_assert_eq(tiny_last(TINY_BACKWARD, 0)->mask & FG_MASK_DY1, FG_MASK_DY1);
        rig.api->context_release(rig.executor, context);
        must_destroy(&rig);
    }
}

Test(fuser_runs, fc1_and_activation) {
    const uint32_t mask = FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_B1) | FG_BIT(FG_P);
    for (int32_t unfused = 0; unfused < 2; unfused++) {
        open_run(FG_OP_FC1, 2, unfused);
        fg_context *context = must_forward(&rig, &none, mask);
        must_backward(&rig, context, mask);
        float dw1 = 0;
        for (int64_t t = 0; t < RIG_ROWS; t++) {
            const float y1 = value(FG_X, t) * value(FG_W1, 0) + value(FG_B1, 0);
            cr_assert_eq(rig_y(&rig, t), value(FG_P, t) * y1);
            cr_assert_eq(rig_grad(&rig, FG_X, t), dy(t) * value(FG_P, t) * value(FG_W1, 0));
            cr_assert_eq(rig_grad(&rig, FG_P, t), dy(t) * y1);
            dw1 += dy(t) * value(FG_P, t) * value(FG_X, t);
        }
        cr_assert_eq(rig_grad(&rig, FG_W1, 0), dw1);
        rig.api->context_release(rig.executor, context);
        must_destroy(&rig);
    }
}

Test(fuser_runs, a_single_op) {
    open_run(FG_OP_ACTIVATION, 1, 0);
    must_train(&rig, &none, FG_BIT(FG_X) | FG_BIT(FG_P));
    for (int64_t t = 0; t < RIG_ROWS; t++) {
        cr_assert_eq(rig_y(&rig, t), value(FG_P, t) * value(FG_X, t));
        cr_assert_eq(rig_grad(&rig, FG_X, t), dy(t) * value(FG_P, t));
        cr_assert_eq(rig_grad(&rig, FG_P, t), dy(t) * value(FG_X, t));
    }
    cr_assert_eq(rig.api->flags(rig.executor, 0), 3);
    cr_assert_eq(rig.api->flags(rig.executor, 1), 0);
    must_destroy(&rig);
}

Test(fuser_runs, the_first_weight_of_the_run_says_where_it_runs) {
    static const struct {
        int32_t first, count, lead;
    } runs[] = {{FG_OP_ACTIVATION, 2, FG_W2}, {FG_OP_ACTIVATION, 1, FG_X}, {FG_OP_FC2, 1, FG_W2}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        open_run(runs[i].first, runs[i].count, 0);
        fg_context *context = NULL;
        rig.inputs[runs[i].lead].device = 1;
        cr_assert_eq(rig_forward(&rig, &none, FG_NO_GRAD, 0, &context), FG_STATUS_DEVICE);
        rig_move(&rig, 1);
        must_infer(&rig, &none);
        cr_assert_eq(rig.stream_device, 1);
        must_destroy(&rig);
    }
}

Test(fuser_runs, a_gradient_of_an_input_outside_the_run_is_refused) {
    open_run(FG_OP_FC2, 1, 0);
    fg_context *context = NULL;
    for (int i = FG_W1; i <= FG_P; i++) {
        cr_assert_eq(rig_forward(&rig, &none, FG_GRAD, FG_BIT(i), &context), FG_STATUS_INVALID);
    }
    must_destroy(&rig);
}
