#include "conformance/suites/fuser_asserts.h"
#include "fuser/fuser_executor.h"

static fuser_rig rig;
static fg_recipe none;

static void set_up(void) {
    rig_init(&rig, 0);
    none = fg_recipe_default(FG_RECIPE_NONE);
}

static void tear_down(void) {
    must_destroy(&rig);
}

static fg_status pass_act_fc2(void *user, const fg_pass_input *in, fg_run runs[FG_OP_COUNT],
                              int32_t *run_count) {
    (void)user;
    (void)in;
    runs[0] = (fg_run){0, 1};
    runs[1] = (fg_run){1, 2};
    *run_count = 2;
    return FG_STATUS_OK;
}

static fg_status pass_fc1_act(void *user, const fg_pass_input *in, fg_run runs[FG_OP_COUNT],
                              int32_t *run_count) {
    (void)user;
    (void)in;
    runs[0] = (fg_run){0, 2};
    runs[1] = (fg_run){2, 1};
    *run_count = 2;
    return FG_STATUS_OK;
}

/* Every kind of plan: whole, unfused, and each pair of two-entry lists. */
static int set_plan_kind(int kind) {
    static const fg_pass_fn passes[3] = {NULL, pass_act_fc2, pass_fc1_act};
    if (kind > 9) {
        return 0;
    }
    rig.options.unfused = kind > 0;
    must_create(&rig);
    if (kind > 0) {
        int32_t forward = (kind - 1) % 3, back = (kind - 1) / 3;
        if (passes[forward] != NULL) {
            rig.api->register_pass(rig.executor, FG_PASS_FORWARD, passes[forward], NULL);
        }
        if (passes[back] != NULL) {
            rig.api->register_pass(rig.executor, FG_PASS_BACKWARD, passes[back], NULL);
        }
    }
    return 1;
}

Test(fuser, every_mask_and_plan_gives_exactly_the_gradients_asked_for) {
    for (int scale_bias = 0; scale_bias < 3; scale_bias++) {
        for (int kind = 0;; kind++) {
            rig_init(&rig, scale_bias);
            if (!set_plan_kind(kind)) {
                break;
            }
            none = fg_recipe_default(FG_RECIPE_NONE);
            const uint32_t inputs = ALL_INPUTS | (scale_bias == 2 ? FG_BIT(FG_BIAS_P) : 0);
            for (uint32_t mask = 1; mask <= inputs; mask++) {
                fg_context *context = must_forward(&rig, &none, mask);
                check_y(&rig);
                cr_assert_not_null(context);
                must_backward(&rig, context, mask);
                check_grads(&rig, mask);
                rig.api->context_release(rig.executor, context);
            }
            tear_down();
        }
    }
}

Test(fuser, a_backward_may_be_called_again_with_the_same_result, .init = set_up,
     .fini = tear_down) {
    must_create(&rig);
    fg_context *context = must_forward(&rig, &none, ALL_INPUTS);
    for (int i = 0; i < 3; i++) {
        must_backward(&rig, context, ALL_INPUTS);
        check_grads(&rig, ALL_INPUTS);
    }
    rig.api->context_release(rig.executor, context);
}

Test(fuser, accumulate_reaches_weight_gradients_only, .init = set_up, .fini = tear_down) {
    must_create(&rig);
    const uint32_t weights = FG_BIT(FG_W1) | FG_BIT(FG_W2);
    fg_context *context = must_forward(&rig, &none, ALL_INPUTS);
    cr_assert_eq(rig_backward(&rig, context, ALL_INPUTS, weights), FG_STATUS_OK);
    cr_assert_eq(rig_grad(&rig, FG_W1, 0), 100.0f + rig_expected_grad(&rig, FG_W1, 0));
    cr_assert_eq(rig_grad(&rig, FG_W2, 0), 100.0f + rig_expected_grad(&rig, FG_W2, 0));
    cr_assert_eq(rig_grad(&rig, FG_B1, 0), rig_expected_grad(&rig, FG_B1, 0));
    for (int i = 0; i < FG_INPUTS; i++) {
        if (!(weights & FG_BIT(i))) {
            cr_assert_eq(rig_backward(&rig, context, ALL_INPUTS, FG_BIT(i)), FG_STATUS_INVALID);
        }
    }
    rig.api->context_release(rig.executor, context);
}

Test(fuser, without_gradients_nothing_is_saved_and_no_context_exists, .init = set_up,
     .fini = tear_down) {
    must_create(&rig);
    must_infer(&rig, &none);
    check_y(&rig);
    cr_assert_null(tiny_last(TINY_FORWARD, 0)->saved);
    fg_context *context = must_forward(&rig, &none, 0); // nothing requires a gradient
    cr_assert_null(context);
    cr_assert_null(tiny_last(TINY_FORWARD, 0)->saved);
}

Test(fuser, unfused_plans_save_only_from_the_boundary_on, .init = set_up, .fini = tear_down) {
    rig.options.unfused = 1;
    must_create(&rig);
    fg_context *context = must_forward(&rig, &none, FG_BIT(FG_W2));
    cr_assert_null(tiny_last(TINY_FORWARD, 2)->saved);
    cr_assert_null(tiny_last(TINY_FORWARD, 1)->saved);
    cr_assert_not_null(tiny_last(TINY_FORWARD, 0)->saved);
    rig.api->context_release(rig.executor, context);
}

Test(fuser, a_kernel_gets_only_the_inputs_of_its_run, .init = set_up, .fini = tear_down) {
    rig.options.unfused = 1;
    must_create(&rig);
    must_infer(&rig, &none);
    cr_assert_eq(tiny_last(TINY_FORWARD, 2)->inputs, FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_B1));
    cr_assert_eq(tiny_last(TINY_FORWARD, 1)->inputs, FG_BIT(FG_P));
    cr_assert_eq(tiny_last(TINY_FORWARD, 0)->inputs, FG_BIT(FG_W2) | FG_BIT(FG_B2));
}

Test(fuser, the_whole_mlp_keeps_its_intermediates_to_itself, .init = set_up, .fini = tear_down) {
    must_create(&rig);
    must_train(&rig, &none, ALL_INPUTS);
    const tiny_call *there = tiny_last(TINY_FORWARD, 0), *back = tiny_last(TINY_BACKWARD, 0);
    cr_assert(!there->has_y1 && !there->has_h);
    cr_assert(!back->has_y1 && !back->has_h && !back->has_dh && !back->has_dy1 && back->has_dy);
}

Test(fuser, the_backward_stops_at_the_boundary, .init = set_up, .fini = tear_down) {
    static const struct {
        uint32_t requires;
        int32_t calls;
    } cases[] = {{FG_BIT(FG_W2), 1},
                 {FG_BIT(FG_B2), 1},
                 {FG_BIT(FG_P), 2},
                 {FG_BIT(FG_W1), 3},
                 {FG_BIT(FG_X), 3}};
    rig.options.unfused = 1;
    must_create(&rig);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fg_context *context = must_forward(&rig, &none, cases[i].requires);
        const int32_t before = tiny_count(TINY_BACKWARD);
        must_backward(&rig, context, cases[i].requires);
        cr_assert_eq(tiny_count(TINY_BACKWARD) - before, cases[i].calls);
        cr_assert_eq(tiny_last(TINY_BACKWARD, 0)->mask & ~FG_BIT(FG_X),
                     cases[i].requires & ~FG_BIT(FG_X), "no gradient past the boundary");
        rig.api->context_release(rig.executor, context);
        tiny.call_count = 0;
    }
}

Test(fuser, a_straddling_entry_is_asked_for_what_is_required, .init = set_up, .fini = tear_down) {
    must_create(&rig);
    for (uint32_t mask = 1; mask <= ALL_INPUTS; mask++) {
        fg_context *context = must_forward(&rig, &none, mask);
        must_backward(&rig, context, mask);
        cr_assert_eq(tiny_last(TINY_BACKWARD, 0)->mask, mask);
        cr_assert_eq(tiny_last(TINY_BACKWARD, 0)->grads, mask);
        rig.api->context_release(rig.executor, context);
    }
}

Test(fuser, p_with_scale_bias_is_overwritten_once_and_then_added_to) {
    rig_init(&rig, 1);
    none = fg_recipe_default(FG_RECIPE_NONE);
    rig.options.unfused = 1;
    must_create(&rig);
    fg_context *context = must_forward(&rig, &none, FG_BIT(FG_P));
    must_backward(&rig, context, FG_BIT(FG_P));
    cr_assert_eq(tiny_last(TINY_BACKWARD, 1)->mask, FG_BIT(FG_P) | FG_MASK_DH);
    cr_assert_eq(tiny_last(TINY_BACKWARD, 1)->accumulate, 0);
    cr_assert_eq(tiny_last(TINY_BACKWARD, 0)->mask, FG_BIT(FG_P));
    cr_assert_eq(tiny_last(TINY_BACKWARD, 0)->accumulate, FG_BIT(FG_P));
    rig.api->context_release(rig.executor, context);
    tear_down();
}

Test(fuser, a_gradient_missing_or_superfluous_is_named, .init = set_up, .fini = tear_down) {
    must_create(&rig);
    for (int i = 0; i < FG_B2 + 1; i++) {
        fg_context *context = must_forward(&rig, &none, ALL_INPUTS & ~FG_BIT(i));
        cr_assert_eq(rig_backward(&rig, context, ALL_INPUTS, 0), FG_STATUS_INVALID);
        cr_assert(strstr(fg_message(), fg_grad_name(i)), "%s", fg_message());
        rig.api->context_release(rig.executor, context);
        context = must_forward(&rig, &none, ALL_INPUTS);
        cr_assert_eq(rig_backward(&rig, context, ALL_INPUTS & ~FG_BIT(i), 0), FG_STATUS_INVALID);
        cr_assert(strstr(fg_message(), fg_grad_name(i)), "%s", fg_message());
        rig.api->context_release(rig.executor, context);
    }
}

Test(fuser, a_missing_operand_is_named_and_counts_nothing, .init = set_up, .fini = tear_down) {
    must_create(&rig);
    fg_context *context = NULL;
    for (int i = 0; i <= FG_B2; i++) {
        const fg_tensor *kept = rig.in.inputs[i];
        rig.in.inputs[i] = NULL;
        cr_assert_eq(rig_forward(&rig, &none, FG_NO_GRAD, 0, &context), FG_STATUS_INVALID);
        cr_assert(strstr(fg_message(), fg_input_name(i)), "%s", fg_message());
        rig.in.inputs[i] = kept;
    }
    rig.in.splits = NULL;
    cr_assert_eq(rig_forward(&rig, &none, FG_NO_GRAD, 0, &context), FG_STATUS_INVALID);
    rig.in.splits = &rig.splits;
    cr_assert_eq(
        rig.api->forward(rig.executor, FG_NO_GRAD, &none, 0, &rig.in, NULL, NULL, NULL, &context),
        FG_STATUS_INVALID);
    cr_assert_eq(rig_counters(&rig).state_resets, 0);
    cr_assert_eq(rig_counters(&rig).plans_built, 0);
}

Test(fuser, wrong_arguments_are_statuses, .init = set_up, .fini = tear_down) {
    must_create(&rig);
    fg_context *context = NULL;
    cr_assert_eq(rig_forward(&rig, &none, 2, 0, &context), FG_STATUS_INVALID);
    cr_assert_eq(rig_forward(&rig, &none, FG_GRAD, FG_BIT(FG_BIAS_P), &context), FG_STATUS_INVALID);
    cr_assert_eq(rig_forward(&rig, &none, FG_GRAD, FG_BIT(20), &context), FG_STATUS_INVALID);
    cr_assert_eq(rig_forward(&rig, NULL, FG_GRAD, 1, &context), FG_STATUS_ABI);
    cr_assert_eq(rig_forward(&rig, &none, FG_GRAD, 1, NULL), FG_STATUS_INVALID);
    fg_recipe wrong = none;
    wrong.kind = 77;
    cr_assert_eq(rig_forward(&rig, &wrong, FG_GRAD, 1, &context), FG_STATUS_INVALID);
    rig.in.rows = -1;
    cr_assert_eq(rig_forward(&rig, &none, FG_NO_GRAD, 0, &context), FG_STATUS_INVALID);
    rig.in.rows = RIG_ROWS;
    rig.in.struct_size = 8;
    cr_assert_eq(rig_forward(&rig, &none, FG_NO_GRAD, 0, &context), FG_STATUS_ABI);
    cr_assert_eq(rig.api->backward(rig.executor, NULL, &rig.dy, rig.grad_pointers, 0),
                 FG_STATUS_INVALID);
    cr_assert_eq(rig_counters(&rig).state_resets, 0);
}

Test(fuser, wrong_options_are_refused, .init = set_up) {
    const fg_executor_options good = rig.options;
    rig.options.backend = NULL;
    cr_assert_eq(rig_create(&rig), FG_STATUS_INVALID);
    rig.options = good;
    rig.options.stream_for = NULL;
    cr_assert_eq(rig_create(&rig), FG_STATUS_INVALID);
    rig.options = good;
    rig.options.capacity = -1;
    cr_assert_eq(rig_create(&rig), FG_STATUS_INVALID);
    rig.options = good;
    rig.options.struct_size = 8;
    cr_assert_eq(rig_create(&rig), FG_STATUS_ABI);
    rig.options = good;
    rig.problem.hidden = 0;
    cr_assert_eq(rig_create(&rig), FG_STATUS_INVALID);
}

Test(fuser, a_backward_without_dy_or_grads_is_refused, .init = set_up, .fini = tear_down) {
    must_create(&rig);
    fg_context *context = must_forward(&rig, &none, FG_BIT(FG_X));
    cr_assert_eq(rig.api->backward(rig.executor, context, NULL, rig.grad_pointers, 0),
                 FG_STATUS_INVALID);
    cr_assert_eq(rig.api->backward(rig.executor, context, &rig.dy, NULL, 0), FG_STATUS_INVALID);
    rig.api->context_release(rig.executor, context);
}

Test(fuser, another_abi_is_refused) {
    const fg_executor_api *api = NULL;
    cr_assert_eq(fg_fuser_executor_entry(FG_EXECUTOR_ABI + 1, NULL, &api), FG_STATUS_ABI);
    cr_assert_null(api);
}

Test(fuser, an_error_of_traits_or_supports_is_the_calls, .init = set_up, .fini = tear_down) {
    fg_context *context = NULL;
    must_create(&rig);
    tiny.fail_traits = FG_STATUS_UNAVAILABLE;
    cr_assert_eq(rig_forward(&rig, &none, FG_NO_GRAD, 0, &context), FG_STATUS_UNAVAILABLE);
    cr_assert_eq(tiny.devices_open, 0);
    tiny.fail_traits = FG_STATUS_OK;
    tiny.fail_supports = FG_STATUS_DEVICE_LOST;
    cr_assert_eq(rig_forward(&rig, &none, FG_NO_GRAD, 0, &context), FG_STATUS_DEVICE_LOST);
    tiny.fail_supports = FG_STATUS_OK;
    tiny.fail_create = 1;
    cr_assert_eq(rig_forward(&rig, &none, FG_NO_GRAD, 0, &context), FG_STATUS_UNSUPPORTED);
    tiny.fail_create = 0;
    must_infer(&rig, &none);
    check_counts(&rig, 1, 1);
    cr_assert_eq(rig_counters(&rig).kernels_created, 1);
}

Test(fuser, operands_on_two_devices_are_refused_by_name, .init = set_up, .fini = tear_down) {
    must_create(&rig);
    fg_context *context = NULL;
    for (int i = 0; i <= FG_B2; i++) {
        if (i == FG_W1) {
            continue; // the first weight says where the call runs
        }
        rig.inputs[i].device = 1;
        cr_assert_eq(rig_forward(&rig, &none, FG_NO_GRAD, 0, &context), FG_STATUS_DEVICE);
        cr_assert(strstr(fg_message(), fg_input_name(i)) && strstr(fg_message(), "w1") &&
                      strstr(fg_message(), "device 0") && strstr(fg_message(), "device 1"),
                  "%s", fg_message());
        rig.inputs[i].device = 0;
    }
    rig.y.device = 1;
    cr_assert_eq(rig_forward(&rig, &none, FG_NO_GRAD, 0, &context), FG_STATUS_DEVICE);
    rig.y.device = 0;
    context = must_forward(&rig, &none, ALL_INPUTS);
    rig.dy.device = 1;
    cr_assert_eq(rig_backward(&rig, context, ALL_INPUTS, 0), FG_STATUS_DEVICE);
    rig.dy.device = 0;
    rig.grads[FG_W2].device = 1;
    cr_assert_eq(rig_backward(&rig, context, ALL_INPUTS, 0), FG_STATUS_DEVICE);
    rig.api->context_release(rig.executor, context);
}

Test(fuser, a_device_that_does_not_exist_is_named, .init = set_up, .fini = tear_down) {
    must_create(&rig);
    fg_context *context = NULL;
    static const int32_t wrong[] = {2, 30, 31, 1000, -2};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        rig_move(&rig, wrong[i]);
        cr_assert_eq(rig_forward(&rig, &none, FG_NO_GRAD, 0, &context), FG_STATUS_DEVICE);
        char number[16];
        snprintf(number, sizeof number, "%d", wrong[i]);
        cr_assert(strstr(fg_message(), number), "%s", fg_message());
    }
}

Test(fuser, one_plan_runs_on_every_device_with_a_kernel_each, .init = set_up, .fini = tear_down) {
    must_create(&rig);
    for (int round = 0; round < 2; round++) {
        for (int32_t device = -1; device <= 1; device++) {
            rig_move(&rig, device);
            must_infer(&rig, &none);
            check_y(&rig);
            cr_assert_eq(tiny_last(TINY_FORWARD, 0)->device, device);
            cr_assert_eq(rig.stream_device, device);
        }
    }
    cr_assert_eq(rig_counters(&rig).plans_built, 1);
    cr_assert_eq(rig_counters(&rig).kernels_created, 3);
    cr_assert_eq(tiny_count(TINY_CREATE), 3);
}

Test(fuser, the_stream_is_looked_up_once_per_call_and_used, .init = set_up, .fini = tear_down) {
    rig.moving = 1;
    rig.options.unfused = 1;
    must_create(&rig);
    for (int i = 0; i < 4; i++) {
        fg_context *context = must_forward(&rig, &none, ALL_INPUTS);
        const int32_t number = rig.stream_number;
        cr_assert_eq(tiny_last(TINY_FORWARD, 0)->stream, (fg_stream)(uintptr_t)(4096 + number));
        must_backward(&rig, context, ALL_INPUTS);
        cr_assert_eq(tiny_last(TINY_BACKWARD, 2)->stream,
                     (fg_stream)(uintptr_t)(4096 + number + 1));
        rig.api->context_release(rig.executor, context);
    }
    cr_assert_eq(rig.stream_calls, 8);
    cr_assert_eq(rig_counters(&rig).stream_lookups, 8);
    cr_assert_eq(rig_counters(&rig).current_device_queries, 0);
}

Test(fuser, events_come_in_the_stated_order, .init = set_up, .fini = tear_down) {
    char text[32];
    must_create(&rig);
    fg_recipe delayed = fg_recipe_default(FG_RECIPE_DELAYED);
    must_infer(&rig, &none);
    cr_assert_str_eq(rig_events(&rig, text), "BSR1PNTX");
    fg_context *context = must_forward(&rig, &none, 1);
    cr_assert_str_eq(rig_events(&rig, text), "BSPNTXC");
    must_backward(&rig, context, 1);
    cr_assert_str_eq(rig_events(&rig, text), "TX");
    rig.api->context_release(rig.executor, context);
    must_infer(&rig, &none);
    cr_assert_str_eq(rig_events(&rig, text), "BSPHTX");
    must_infer(&rig, &delayed);
    cr_assert_str_eq(rig_events(&rig, text), "BSRPNTX");
    must_infer(&rig, &none);
    cr_assert_str_eq(rig_events(&rig, text), "BSRPHTX");
    cr_assert_eq(rig.api->events(rig.executor, (fg_event[2]){0}, 2), 7);
}
