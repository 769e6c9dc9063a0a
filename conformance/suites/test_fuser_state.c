#include "conformance/suites/fuser_asserts.h"
#include "contract/alloc.h"
#include "fuser/fuser.h"

/* Recipe state: when it is made, kept and handed to kernels, and what tokens and contexts hold. */

static fuser_rig rig;
static fg_recipe none, delayed, current;

static void set_up(void) {
    rig_init(&rig, 0);
    none = fg_recipe_default(FG_RECIPE_NONE);
    delayed = fg_recipe_default(FG_RECIPE_DELAYED);
    current = fg_recipe_default(FG_RECIPE_CURRENT);
}

static void open_rig(void) {
    set_up();
    must_create(&rig);
}

static void close_rig(void) {
    must_destroy(&rig);
}

static fg_recipe_state *state_of_rig(void) {
    return rig.executor->state;
}

static fg_status forward_with(int32_t mode, const fg_recipe *recipe, const fg_token *in,
                              fg_token **out, fg_context **context) {
    return rig.api->forward(rig.executor, mode, recipe, mode == FG_GRAD ? ALL_INPUTS : 0, &rig.in,
                            &rig.y, in, out, context);
}

static fg_token *must_token(const fg_recipe *recipe) {
    fg_token *token = NULL;
    fg_context *context = NULL;
    cr_assert_eq(forward_with(FG_NO_GRAD, recipe, NULL, &token, &context), FG_STATUS_OK, "%s",
                 fg_message());
    cr_assert_not_null(token);
    return token;
}

Test(fuser_state, the_first_call_without_a_recipe_is_a_reset, .init = open_rig, .fini = close_rig) {
    cr_assert_null(state_of_rig());
    must_infer(&rig, &none);
    must_infer(&rig, &none);
    cr_assert_eq(rig_counters(&rig).state_resets, 1);
    cr_assert_not_null(state_of_rig());
}

Test(fuser_state, choosing_another_plan_keeps_the_state, .init = open_rig, .fini = close_rig) {
    must_infer(&rig, &delayed);
    const fg_recipe_state *state = state_of_rig();
    must_train(&rig, &delayed, ALL_INPUTS);
    must_train(&rig, &delayed, FG_BIT(FG_W2));
    rig.api->clear(rig.executor);
    must_infer(&rig, &delayed);
    cr_assert_eq(state_of_rig(), state);
}

Test(fuser_state, a_reset_makes_new_state, .init = open_rig, .fini = close_rig) {
    must_infer(&rig, &delayed);
    state_of_rig()->scale[FG_ROLE_X] = 8;
    state_of_rig()->history[FG_ROLE_X][0] = 5;
    delayed.margin = 1;
    must_infer(&rig, &delayed);
    cr_assert_eq(state_of_rig()->scale[FG_ROLE_X], 1);
    cr_assert_eq(state_of_rig()->history[FG_ROLE_X][0], 0);
    cr_assert_eq(state_of_rig()->history_length, 1024);
}

Test(fuser_state, another_history_length_keeps_scales_and_history, .init = open_rig,
     .fini = close_rig) {
    must_infer(&rig, &delayed);
    fg_recipe_state *state = state_of_rig();
    state->scale[FG_ROLE_W1] = 8;
    for (int i = 0; i < 1024; i++) {
        state->history[FG_ROLE_W1][i] = (float)(1 + i);
    }
    static const int32_t lengths[] = {4, 1500, 2, 8, 1024};
    int32_t kept = 1024; // slots that still hold what was there at first
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        delayed.history = lengths[i];
        kept = lengths[i] < kept ? lengths[i] : kept;
        must_infer(&rig, &delayed);
        cr_assert_eq(state_of_rig(), state);
        cr_assert_eq(state->history_length, lengths[i]);
        cr_assert_eq(state->scale[FG_ROLE_W1], 8);
        for (int32_t slot = 0; slot < lengths[i]; slot++) {
            cr_assert_eq(state->history[FG_ROLE_W1][slot], slot < kept ? (float)(1 + slot) : 0.0f,
                         "slot %d of %d", slot, lengths[i]);
        }
    }
    cr_assert_eq(rig_counters(&rig).state_resets, 6);
}

Test(fuser_state, only_the_delayed_recipe_hands_scales_to_kernels, .init = open_rig,
     .fini = close_rig) {
    must_infer(&rig, &none);
    cr_assert_eq(tiny_last(TINY_FORWARD, 0)->scale, 0);
    must_infer(&rig, &current);
    cr_assert_eq(tiny_last(TINY_FORWARD, 0)->scale, 0);
    must_infer(&rig, &delayed);
    cr_assert_eq(tiny_last(TINY_FORWARD, 0)->scale, 1);
}

Test(fuser_state, only_calls_with_gradients_record_amax, .init = open_rig, .fini = close_rig) {
    must_infer(&rig, &delayed);
    cr_assert_not(tiny_last(TINY_FORWARD, 0)->records);
    must_train(&rig, &delayed, ALL_INPUTS);
    cr_assert(tiny_last(TINY_FORWARD, 0)->records);
    cr_assert(tiny_last(TINY_BACKWARD, 0)->records);
}

Test(fuser_state, a_backward_uses_its_forwards_state, .init = open_rig, .fini = close_rig) {
    must_infer(&rig, &delayed);
    state_of_rig()->scale[FG_ROLE_X] = 8; // before the first call on this device copies it
    rig_move(&rig, 1);
    fg_context *context = must_forward(&rig, &delayed, ALL_INPUTS);
    cr_assert_eq(tiny_last(TINY_FORWARD, 0)->scale, 8);
    must_infer(&rig, &none);
    delayed.margin = 2;
    must_infer(&rig, &delayed);
    cr_assert_eq(tiny_last(TINY_FORWARD, 0)->scale, 1);
    must_backward(&rig, context, ALL_INPUTS);
    cr_assert_eq(tiny_last(TINY_BACKWARD, 0)->scale, 8);
    cr_assert_eq(tiny_last(TINY_BACKWARD, 0)->recipe.margin, 0);
    check_grads(&rig, ALL_INPUTS);
    rig.api->context_release(rig.executor, context);
}

Test(fuser_state, a_token_brings_the_scales_of_its_forward, .init = open_rig, .fini = close_rig) {
    must_infer(&rig, &delayed);
    state_of_rig()->scale[FG_ROLE_X] = 8;
    rig_move(&rig, 1);
    fg_token *token = must_token(&delayed);
    must_infer(&rig, &none); // a reset in between
    fg_context *context = NULL;
    cr_assert_eq(forward_with(FG_GRAD, &delayed, token, NULL, &context), FG_STATUS_OK);
    cr_assert_eq(tiny_last(TINY_FORWARD, 0)->scale, 8);
    rig.api->token_release(rig.executor, token);
    must_backward(&rig, context, ALL_INPUTS);
    cr_assert_eq(tiny_last(TINY_BACKWARD, 0)->scale, 8);
    rig.api->context_release(rig.executor, context);
    must_infer(&rig, &delayed);
    cr_assert_eq(tiny_last(TINY_FORWARD, 0)->scale, 1, "the token's scales are no later call's");
}

Test(fuser_state, a_token_of_other_options_is_refused, .init = open_rig, .fini = close_rig) {
    fg_token *token = must_token(&delayed);
    fg_context *context = NULL;
    delayed.history = 16; // the length alone does not matter
    cr_assert_eq(forward_with(FG_NO_GRAD, &delayed, token, NULL, &context), FG_STATUS_OK);
    delayed.margin = 1;
    const int64_t resets = rig_counters(&rig).state_resets;
    cr_assert_eq(forward_with(FG_GRAD, &delayed, token, NULL, &context), FG_STATUS_INVALID);
    cr_assert_eq(forward_with(FG_GRAD, &none, token, NULL, &context), FG_STATUS_INVALID);
    cr_assert_eq(rig_counters(&rig).state_resets, resets);
    rig.api->token_release(rig.executor, token);
}

Test(fuser_state, a_forward_with_gradients_gives_no_token, .init = open_rig, .fini = close_rig) {
    fg_token *token = (fg_token *)&rig;
    fg_context *context = NULL;
    cr_assert_eq(forward_with(FG_GRAD, &delayed, NULL, &token, &context), FG_STATUS_OK);
    cr_assert_null(token);
    rig.api->context_release(rig.executor, context);
}

Test(fuser_state, flags_are_those_of_the_last_forward_with_gradients, .init = open_rig,
     .fini = close_rig) {
    fg_context *context = must_forward(&rig, &none, FG_BIT(FG_P));
    for (int round = 0; round < 2; round++) {
        cr_assert_eq(rig.api->flags(rig.executor, 0), 0);
        cr_assert_eq(rig.api->flags(rig.executor, 1), 3);
        cr_assert_eq(rig.api->flags(rig.executor, 2), 1);
        must_infer(&rig, &none); // touches none of them
    }
    must_train(&rig, &none, ALL_INPUTS);
    cr_assert_eq(rig.api->flags(rig.executor, 0), 3);
    cr_assert_eq(rig.api->flags(rig.executor, 3), 0);
    cr_assert_eq(rig.api->flags(rig.executor, -1), 0);
    rig.api->context_release(rig.executor, context);
}

Test(fuser_state, a_step_resets_nothing, .init = open_rig, .fini = close_rig) {
    must_train(&rig, &delayed, ALL_INPUTS);
    const fg_recipe_state *state = state_of_rig();
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(rig.api->step(rig.executor), FG_STATUS_OK);
        must_train(&rig, &delayed, ALL_INPUTS);
    }
    check_counts(&rig, 1, 1);
    cr_assert_eq(state_of_rig(), state);
}

Test(fuser_state, a_wrong_recipe_leaves_everything, .init = open_rig, .fini = close_rig) {
    must_infer(&rig, &delayed);
    const fg_recipe_state *state = state_of_rig();
    fg_recipe wrong = delayed;
    wrong.history = 1;
    fg_context *context = NULL;
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(rig_forward(&rig, &wrong, FG_NO_GRAD, 0, &context), FG_STATUS_INVALID);
    }
    must_infer(&rig, &delayed);
    check_counts(&rig, 1, 1);
    cr_assert_eq(state_of_rig(), state);
}

Test(fuser_state, a_forward_that_fails_keeps_nothing, .init = set_up, .fini = close_rig) {
    rig.options.unfused = 1;
    must_create(&rig);
    must_train(&rig, &none, ALL_INPUTS);
    const size_t before = fg_alloc_live_total();
    fg_context *context = NULL;
    for (int32_t op = 0; op < FG_OP_COUNT; op++) {
        tiny.fail_forward_at = op;
        const int32_t released = tiny_count(TINY_RELEASE);
        cr_assert_eq(rig_forward(&rig, &none, FG_GRAD, ALL_INPUTS, &context), FG_STATUS_INTERNAL);
        cr_assert_null(context);
        cr_assert_eq(tiny_count(TINY_RELEASE) - released, op, "what had saved is released");
        tiny.call_count = 0;
    }
    tiny.fail_forward_at = -1;
    must_train(&rig, &none, ALL_INPUTS);
    cr_assert_eq(fg_alloc_live_total(), before);
}

Test(fuser_state, a_backward_that_fails_may_be_tried_again, .init = set_up, .fini = close_rig) {
    rig.options.unfused = 1;
    must_create(&rig);
    fg_context *context = must_forward(&rig, &none, ALL_INPUTS);
    tiny.fail_backward_at = FG_OP_ACTIVATION;
    cr_assert_eq(rig_backward(&rig, context, ALL_INPUTS, 0), FG_STATUS_INTERNAL);
    tiny.fail_backward_at = -1;
    must_backward(&rig, context, ALL_INPUTS);
    check_grads(&rig, ALL_INPUTS);
    rig.api->context_release(rig.executor, context);
}

Test(fuser_state, saved_is_released_once_for_each_forward_with_gradients, .init = open_rig,
     .fini = close_rig) {
    must_infer(&rig, &none);
    cr_assert_eq(tiny_count(TINY_RELEASE), 0);
    fg_context *context = must_forward(&rig, &none, FG_BIT(FG_W2));
    const void *saved = tiny_last(TINY_FORWARD, 0)->saved;
    must_backward(&rig, context, FG_BIT(FG_W2));
    must_backward(&rig, context, FG_BIT(FG_W2));
    cr_assert_eq(tiny_last(TINY_BACKWARD, 0)->saved, saved);
    rig.api->context_release(rig.executor, context);
    cr_assert_eq(tiny_count(TINY_RELEASE), 1);
    cr_assert_eq(tiny_last(TINY_RELEASE, 0)->saved, saved);
}

Test(fuser_state, a_context_does_not_look_at_the_callers_views, .init = open_rig,
     .fini = close_rig) {
    fg_context *context = must_forward(&rig, &none, ALL_INPUTS);
    const fg_inputs kept = rig.in;
    const fg_tensor views[2] = {rig.inputs[FG_X], rig.splits};
    memset(&rig.in, 0, sizeof rig.in);
    memset(&rig.inputs[FG_X], 0, sizeof rig.inputs[FG_X]);
    memset(&rig.splits, 0, sizeof rig.splits);
    must_backward(&rig, context, ALL_INPUTS);
    rig.in = kept;
    rig.inputs[FG_X] = views[0];
    rig.splits = views[1];
    check_grads(&rig, ALL_INPUTS);
    rig.api->context_release(rig.executor, context);
}
