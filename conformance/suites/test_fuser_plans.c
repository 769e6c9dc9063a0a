#include "conformance/suites/fuser_asserts.h"
#include "fuser/fuser.h"

/* The rows of the fuser's table of counts, and what a plan may depend on. */

#define ROUNDS 5

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

/* So many iterations without and with gradients, a new recipe object for each call. */
static void alternate(const fg_recipe *recipe, int rounds) {
    for (int i = 0; i < rounds; i++) {
        fg_recipe object = *recipe;
        must_infer(&rig, &object);
        fg_recipe other = *recipe;
        must_train(&rig, &other, ALL_INPUTS);
    }
}

static fg_status pass_split(void *user, const fg_pass_input *in, fg_run runs[FG_OP_COUNT],
                            int32_t *run_count) {
    (void)user;
    (void)in;
    runs[0] = (fg_run){0, 1};
    runs[1] = (fg_run){1, 2};
    *run_count = 2;
    return FG_STATUS_OK;
}

static fg_status pass_nothing(void *user, const fg_pass_input *in, fg_run runs[FG_OP_COUNT],
                              int32_t *run_count) {
    *(fg_pass_input *)user = *in;
    memcpy(runs, in->runs, sizeof in->runs);
    *run_count = in->run_count;
    return FG_STATUS_OK;
}

Test(fuser_plans, one_gradient_mode_builds_once, .init = open_rig, .fini = close_rig) {
    for (int i = 0; i < ROUNDS; i++) {
        must_train(&rig, &none, ALL_INPUTS);
    }
    check_counts(&rig, 1, 1);
    cr_assert_eq(rig_counters(&rig).plan_hits, ROUNDS - 1);
}

Test(fuser_plans, alternating_modes_build_twice, .init = open_rig, .fini = close_rig) {
    alternate(&none, ROUNDS);
    check_counts(&rig, 2, 1);
    cr_assert_eq(rig_counters(&rig).plan_hits, 2 * ROUNDS - 2);
}

Test(fuser_plans, each_further_boundary_builds_once, .init = open_rig, .fini = close_rig) {
    static const uint32_t masks[] = {FG_BIT(FG_X), FG_BIT(FG_P), FG_BIT(FG_W2)};
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            must_train(&rig, &none, masks[i]);
            check_counts(&rig, round == 0 ? i + 1 : 3, 1);
        }
    }
    must_train(&rig, &none, FG_BIT(FG_W1)); // the same boundary as x
    check_counts(&rig, 3, 1);
}

Test(fuser_plans, two_recipes_in_turn_and_back, .init = open_rig, .fini = close_rig) {
    alternate(&current, ROUNDS);
    check_counts(&rig, 2, 1);
    alternate(&delayed, ROUNDS);
    check_counts(&rig, 4, 2);
    alternate(&current, ROUNDS);
    check_counts(&rig, 4, 3);
}

Test(fuser_plans, recipes_that_alternate_reset_at_each_change, .init = open_rig,
     .fini = close_rig) {
    const fg_recipe *const recipes[] = {&none, &delayed, &current};
    for (int i = 0; i < 12; i++) {
        must_infer(&rig, recipes[i % 3]);
        check_counts(&rig, i < 3 ? i + 1 : 3, i + 1);
    }
}

Test(fuser_plans, more_recipes_than_are_remembered_still_hit, .init = open_rig, .fini = close_rig) {
    for (int round = 0; round < 3; round++) {
        for (int32_t margin = 0; margin < 11; margin++) {
            delayed.margin = margin;
            must_infer(&rig, &delayed);
        }
    }
    check_counts(&rig, 11, 33);
    cr_assert_eq(rig_counters(&rig).plan_hits, 22);
}

Test(fuser_plans, one_option_of_the_same_kind_is_a_plan_per_mode_and_a_reset, .init = open_rig,
     .fini = close_rig) {
    alternate(&current, ROUNDS);
    current.epsilon = 1;
    alternate(&current, ROUNDS);
    check_counts(&rig, 4, 2);
    current.power_of_two = 1;
    alternate(&current, ROUNDS);
    check_counts(&rig, 6, 3);
}

Test(fuser_plans, an_unchanged_recipe_asks_the_backend_nothing, .init = open_rig,
     .fini = close_rig) {
    must_train(&rig, &current, ALL_INPUTS);
    const long long asked = tiny.supports_calls;
    cr_assert_eq(asked, 6, "each run of basic ops once");
    alternate(&current, ROUNDS);
    cr_assert_eq(tiny.supports_calls, asked);
}

Test(fuser_plans, the_history_length_is_a_reset_and_no_plan, .init = open_rig, .fini = close_rig) {
    alternate(&delayed, ROUNDS);
    check_counts(&rig, 2, 1);
    for (int i = 0; i < 4; i++) {
        delayed.history = 16 << i;
        alternate(&delayed, ROUNDS);
        check_counts(&rig, 2, 2 + i);
    }
}

Test(fuser_plans, an_override_is_a_plan_per_mode_and_a_reset, .init = open_rig, .fini = close_rig) {
    alternate(&current, ROUNDS);
    current.override = FG_OVERRIDE_HIGH_PRECISION;
    alternate(&current, ROUNDS);
    check_counts(&rig, 4, 2);
    cr_assert_eq(tiny_last(TINY_CREATE, 0)->recipe.override, FG_OVERRIDE_HIGH_PRECISION);
}

Test(fuser_plans, a_pass_registered_later_is_a_plan_per_key_used, .init = open_rig,
     .fini = close_rig) {
    alternate(&none, ROUNDS);
    const int64_t before = rig.api->plan_id(rig.executor, FG_FORWARD);
    cr_assert_eq(rig.api->register_pass(rig.executor, FG_PASS_JOINT, pass_split, NULL),
                 FG_STATUS_OK);
    alternate(&none, ROUNDS);
    check_counts(&rig, 4, 1);
    cr_assert_neq(rig.api->plan_id(rig.executor, FG_FORWARD), before);
    fg_run runs[FG_OP_COUNT];
    cr_assert_eq(rig.api->plan_runs(rig.executor, FG_FORWARD, runs), 2);
    cr_assert_eq(runs[0].count, 1);
    cr_assert_eq(runs[1].count, 2);
}

Test(fuser_plans, a_device_property_that_fusion_does_not_read_changes_nothing, .init = open_rig,
     .fini = close_rig) {
    alternate(&none, ROUNDS);
    for (int i = 0; i < 4; i++) {
        must_hook(&rig, "device_property", 7 + i);
        cr_assert_eq(fg_device_table_slot(&rig.executor->devices, 1)->traits.accumulator_block,
                     7 + i);
        cr_assert_eq(rig.executor->prefix_count, 0, "keys are made anew from the changed traits");
        alternate(&none, ROUNDS);
    }
    check_counts(&rig, 2, 1);
}

Test(fuser_plans, capacity_one_builds_on_each_change, .init = set_up, .fini = close_rig) {
    rig.options.capacity = 1;
    must_create(&rig);
    alternate(&none, ROUNDS);
    check_counts(&rig, 2 * ROUNDS, 1);
    cr_assert_eq(rig_counters(&rig).evictions, 2 * ROUNDS - 1);
    cr_assert_eq(tiny.kernels_alive, 1);
}

Test(fuser_plans, the_default_capacity_is_64, .init = open_rig, .fini = close_rig) {
    for (int32_t margin = 0; margin < 65; margin++) {
        delayed.margin = margin;
        must_infer(&rig, &delayed);
        cr_assert_eq(rig_counters(&rig).evictions, margin == 64);
    }
}

Test(fuser_plans, a_hit_returns_the_identical_lists, .init = open_rig, .fini = close_rig) {
    int64_t ids[2][2];
    for (int round = 0; round < 3; round++) {
        for (int32_t mode = 0; mode < 2; mode++) {
            if (mode == FG_GRAD) {
                must_train(&rig, &none, ALL_INPUTS);
            } else {
                must_infer(&rig, &none);
            }
            for (int32_t direction = 0; direction < 2; direction++) {
                const int64_t id = rig.api->plan_id(rig.executor, direction);
                cr_assert(round == 0 || ids[mode][direction] == id);
                ids[mode][direction] = id;
            }
        }
    }
    cr_assert(ids[0][0] != ids[1][0] && ids[0][1] != ids[1][1] && ids[0][0] != ids[0][1]);
}

Test(fuser_plans, a_serial_number_is_never_given_twice, .init = set_up, .fini = close_rig) {
    rig.options.capacity = 1;
    must_create(&rig);
    cr_assert_eq(rig.api->plan_id(rig.executor, FG_FORWARD), 0);
    cr_assert_eq(rig.api->plan_id(rig.executor, FG_BACKWARD), 0);
    int64_t largest = 0;
    for (int i = 0; i < 20; i++) {
        must_hook(&rig, "fail_build", i % 3 == 0);
        fg_context *context = NULL;
        const fg_status status =
            rig_forward(&rig, &none, i & 1, i & 1 ? FG_BIT(FG_X) : 0, &context);
        rig.api->context_release(rig.executor, context);
        if (status == FG_STATUS_OK) {
            const int64_t forward = rig.api->plan_id(rig.executor, FG_FORWARD);
            const int64_t back = rig.api->plan_id(rig.executor, FG_BACKWARD);
            cr_assert(forward > largest && back > largest && forward != back);
            largest = forward > back ? forward : back;
        }
        rig.api->clear(rig.executor);
    }
}

Test(fuser_plans, a_failed_build_is_not_kept, .init = open_rig, .fini = close_rig) {
    fg_context *context = NULL;
    must_hook(&rig, "fail_build", 2);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(rig_forward(&rig, &none, FG_NO_GRAD, 0, &context), FG_STATUS_BUILD);
        cr_assert_eq(rig_counters(&rig).plans_built, 0);
    }
    must_infer(&rig, &none);
    check_counts(&rig, 1, 1);
}

Test(fuser_plans, a_refused_run_is_named_with_the_reason, .init = set_up, .fini = close_rig) {
    rig.options.unfused = 1;
    tiny.refused = FG_BIT(3 * FG_OP_ACTIVATION);
    must_create(&rig);
    fg_context *context = NULL;
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(rig_forward(&rig, &none, FG_NO_GRAD, 0, &context), FG_STATUS_UNSUPPORTED);
        cr_assert(strstr(fg_message(), "1..1") && strstr(fg_message(), "activation") &&
                      strstr(fg_message(), "tiny does not do that run"),
                  "%s", fg_message());
    }
    cr_assert_eq(rig_counters(&rig).plans_built, 0);
    cr_assert_eq(rig_counters(&rig).kernels_created, 0);
}

Test(fuser_plans, a_refused_recipe_is_named_with_the_reason, .init = set_up, .fini = close_rig) {
    tiny.refused_recipe = FG_RECIPE_DELAYED;
    must_create(&rig);
    fg_context *context = NULL;
    cr_assert_eq(rig_forward(&rig, &delayed, FG_NO_GRAD, 0, &context), FG_STATUS_UNSUPPORTED);
    cr_assert(strstr(fg_message(), "0..2") && strstr(fg_message(), "delayed") &&
                  strstr(fg_message(), "tiny has no such recipe"),
              "%s", fg_message());
    must_infer(&rig, &none);
    cr_assert_eq(rig_counters(&rig).plans_built, 1);
}

Test(fuser_plans, the_whole_run_is_taken_only_where_it_is_claimed, .init = set_up,
     .fini = close_rig) {
    fg_run runs[FG_OP_COUNT];
    tiny.refused = FG_BIT(2);
    must_create(&rig);
    must_infer(&rig, &none);
    cr_assert_eq(rig.api->plan_runs(rig.executor, FG_FORWARD, runs), 3);
    cr_assert_eq(rig.api->plan_runs(rig.executor, FG_BACKWARD, runs), 3);
}

Test(fuser_plans, the_whole_run_in_one_list_only_fails_the_build, .init = open_rig,
     .fini = close_rig) {
    fg_context *context = NULL;
    rig.api->register_pass(rig.executor, FG_PASS_BACKWARD, pass_split, NULL);
    cr_assert_eq(rig_forward(&rig, &none, FG_GRAD, ALL_INPUTS, &context), FG_STATUS_BUILD);
    cr_assert(strstr(fg_message(), "0..2") && strstr(fg_message(), "0..0 1..2"), "%s",
              fg_message());
    rig.api->register_pass(rig.executor, FG_PASS_FORWARD, pass_split, NULL);
    must_train(&rig, &none, ALL_INPUTS);
    check_counts(&rig, 1, 1);
}

Test(fuser_plans, equal_hashes_change_no_count_and_no_result, .init = open_rig, .fini = close_rig) {
    must_infer(&rig, &none);
    must_hook(&rig, "equal_hash", 1);
    alternate(&none, ROUNDS);
    alternate(&current, ROUNDS);
    must_hook(&rig, "equal_hash", 0);
    alternate(&none, ROUNDS);
    check_counts(&rig, 4, 3);
    check_y(&rig);
    check_grads(&rig, ALL_INPUTS);
}

Test(fuser_plans, clear_drops_every_plan_and_resets_nothing, .init = open_rig, .fini = close_rig) {
    alternate(&none, ROUNDS);
    cr_assert_eq(tiny.kernels_alive, 2);
    cr_assert_eq(rig.api->clear(rig.executor), FG_STATUS_OK);
    cr_assert_eq(tiny.kernels_alive, 0);
    alternate(&none, ROUNDS);
    check_counts(&rig, 4, 1);
    cr_assert_eq(rig_counters(&rig).evictions, 0);
}

Test(fuser_plans, a_context_keeps_its_plan_after_eviction_and_clear, .init = set_up,
     .fini = close_rig) {
    rig.options.capacity = 1;
    must_create(&rig);
    fg_context *context = must_forward(&rig, &none, ALL_INPUTS);
    const int64_t id = rig.api->plan_id(rig.executor, FG_BACKWARD);
    must_infer(&rig, &none);
    rig.api->clear(rig.executor);
    must_infer(&rig, &current);
    cr_assert_eq(tiny.kernels_alive, 2, "the context's and the newest");
    must_backward(&rig, context, ALL_INPUTS);
    check_grads(&rig, ALL_INPUTS);
    cr_assert_eq(rig.api->plan_id(rig.executor, FG_BACKWARD), id);
    rig.api->context_release(rig.executor, context);
    cr_assert_eq(tiny.kernels_alive, 1);
}

Test(fuser_plans, an_unknown_hook_is_named, .init = open_rig, .fini = close_rig) {
    cr_assert_eq(rig.api->hook(rig.executor, "no_such_hook", 1), FG_STATUS_NOT_FOUND);
    cr_assert(strstr(fg_message(), "no_such_hook"));
}

Test(fuser_plans, a_pass_sees_what_the_key_holds_and_nothing_else, .init = open_rig,
     .fini = close_rig) {
    fg_pass_input seen = {0};
    rig.api->register_pass(rig.executor, FG_PASS_JOINT, pass_nothing, &seen);
    tiny.traits.rounding = 77;
    must_train(&rig, &delayed, FG_BIT(FG_P));
    cr_assert_eq(seen.boundary, 1);
    cr_assert_eq(seen.run_count, 1, "after the built-in pass");
    cr_assert_eq(seen.claimed, 0x5fu, "runs 0..0 0..1 0..2, 1..1 1..2, 2..2");
    cr_assert_eq(seen.traits.base_align, tiny.traits.base_align);
    cr_assert_eq(seen.traits.segment_align, tiny.traits.segment_align);
    cr_assert_eq(seen.traits.row_align, 0);
    cr_assert_eq(seen.traits.rounding, 0);
    cr_assert_eq(seen.traits.deterministic, 0);
    must_infer(&rig, &delayed);
    cr_assert_eq(seen.boundary, 3);
}

static int32_t seen_history = -1, seen_margin = -1;

static fg_status pass_recipe(void *user, const fg_pass_input *in, fg_run runs[FG_OP_COUNT],
                             int32_t *run_count) {
    seen_history = in->recipe->history;
    seen_margin = in->recipe->margin;
    return pass_nothing(user, in, runs, run_count);
}

Test(fuser_plans, a_pass_sees_no_history_and_no_unused_option, .init = open_rig,
     .fini = close_rig) {
    fg_pass_input seen;
    rig.api->register_pass(rig.executor, FG_PASS_JOINT, pass_recipe, &seen);
    delayed.margin = 3;
    must_infer(&rig, &delayed);
    cr_assert_eq(seen_history, 0);
    cr_assert_eq(seen_margin, 3);
    none.margin = 9; // says nothing: recipe none has no options
    must_infer(&rig, &none);
    cr_assert_eq(seen_margin, 0);
}

Test(fuser_plans, a_kernel_is_made_for_the_entries_that_a_call_uses, .init = set_up,
     .fini = close_rig) {
    rig.options.unfused = 1;
    must_create(&rig);
    rig.api->register_pass(rig.executor, FG_PASS_BACKWARD, pass_split, NULL);
    must_infer(&rig, &none);
    cr_assert_eq(rig_counters(&rig).kernels_created, 3);
    must_train(&rig, &none, ALL_INPUTS);
    cr_assert_eq(rig_counters(&rig).kernels_created, 7, "1..2 is of the backward list alone");
    must_train(&rig, &none, ALL_INPUTS);
    cr_assert_eq(rig_counters(&rig).kernels_created, 7);
}

Test(fuser_plans, counters_fill_no_more_than_the_callers_struct, .init = open_rig,
     .fini = close_rig) {
    fg_counters counters;
    memset(&counters, 0x55, sizeof counters);
    counters.struct_size = offsetof(fg_counters, evictions);
    const int64_t untouched = counters.evictions;
    must_infer(&rig, &none);
    cr_assert_eq(rig.api->counters(rig.executor, &counters), FG_STATUS_OK);
    cr_assert_eq(counters.plans_built, 1);
    cr_assert_eq(counters.evictions, untouched);
    counters.struct_size = 0;
    cr_assert_eq(rig.api->counters(rig.executor, &counters), FG_STATUS_ABI);
}
