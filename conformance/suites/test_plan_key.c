#include "fuser/plan_key.h"
#include <criterion/criterion.h>
#include <string.h>

#define WHOLE FG_BIT(2)

static const fg_traits plain = {.struct_size = sizeof(fg_traits),
                                .base_align = 64,
                                .row_align = 4,
                                .segment_align = 8,
                                .accumulator_digits = 24};

static fg_key_prefix prefix_of(const fg_recipe *recipe, const fg_traits *traits, uint32_t claimed) {
    fg_key_prefix prefix;
    const fg_recipe canonical = fg_recipe_canonical(recipe);
    fg_key_prefix_init(recipe, &canonical, 0, traits, claimed, &prefix);
    fg_plan_key_complete(&prefix.plan, 1, 3);
    return prefix;
}

static int same_plan(const fg_recipe *a, const fg_recipe *b) {
    const fg_key_prefix left = prefix_of(a, &plain, WHOLE), right = prefix_of(b, &plain, WHOLE);
    const int equal = fg_plan_key_equal(&left.plan, &right.plan);
    if (equal) {
        cr_assert_eq(fg_plan_key_hash(&left.plan), fg_plan_key_hash(&right.plan));
    }
    return equal;
}

static int same_state(const fg_recipe *a, const fg_recipe *b) {
    const fg_key_prefix left = prefix_of(a, &plain, WHOLE), right = prefix_of(b, &plain, WHOLE);
    return fg_state_key_equal(&left.state, &right.state);
}

Test(plan_key, equal_options_in_two_objects_are_one_key) {
    for (int kind = 0; kind < FG_RECIPES; kind++) {
        const fg_recipe one = fg_recipe_default((fg_recipe_kind)kind);
        const fg_recipe other = fg_recipe_default((fg_recipe_kind)kind);
        cr_assert(same_plan(&one, &other));
        cr_assert(same_state(&one, &other));
    }
}

Test(plan_key, kinds_are_told_apart) {
    for (int kind = 1; kind < FG_RECIPES; kind++) {
        const fg_recipe one = fg_recipe_default((fg_recipe_kind)kind);
        const fg_recipe other = fg_recipe_default((fg_recipe_kind)(kind - 1));
        cr_assert_not(same_plan(&one, &other));
        cr_assert_not(same_state(&one, &other));
    }
}

Test(plan_key, every_option_of_a_kind_makes_another_key) {
    static const struct {
        fg_recipe_kind kind;
        const char *option, *value;
    } options[] = {{FG_RECIPE_CURRENT, "format", "e4m3"},
                   {FG_RECIPE_CURRENT, "power_of_two", "1"},
                   {FG_RECIPE_CURRENT, "epsilon", "0.5"},
                   {FG_RECIPE_CURRENT, "override", "high_precision"},
                   {FG_RECIPE_CURRENT, "override", "dequantized"},
                   {FG_RECIPE_DELAYED, "format", "e4m3"},
                   {FG_RECIPE_DELAYED, "algo", "most_recent"},
                   {FG_RECIPE_DELAYED, "margin", "1"}};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        const fg_recipe one = fg_recipe_default(options[i].kind);
        fg_recipe other = one;
        cr_assert_eq(fg_recipe_set(&other, options[i].option, options[i].value), FG_STATUS_OK);
        cr_assert_not(same_plan(&one, &other), "%s", options[i].option);
        cr_assert_not(same_state(&one, &other), "%s", options[i].option);
    }
}

Test(plan_key, the_history_length_is_in_the_state_key_alone) {
    const fg_recipe one = fg_recipe_default(FG_RECIPE_DELAYED);
    fg_recipe other = one;
    other.history = 7;
    cr_assert(same_plan(&one, &other));
    cr_assert_not(same_state(&one, &other));
    const fg_key_prefix left = prefix_of(&one, &plain, WHOLE);
    const fg_key_prefix right = prefix_of(&other, &plain, WHOLE);
    cr_assert(fg_state_key_equal(&left.lasting, &right.lasting));
    other.margin = 2;
    const fg_key_prefix third = prefix_of(&other, &plain, WHOLE);
    cr_assert_not(fg_state_key_equal(&left.lasting, &third.lasting));
}

Test(plan_key, a_field_that_the_kind_does_not_use_is_in_no_key) {
    fg_recipe none = fg_recipe_default(FG_RECIPE_NONE), other = none;
    other.margin = 5;
    other.epsilon = 2;
    other.history = 9;
    cr_assert(same_plan(&none, &other));
    cr_assert(same_state(&none, &other));
    fg_recipe current = fg_recipe_default(FG_RECIPE_CURRENT);
    other = current;
    other.margin = 5;
    other.algo = 1;
    cr_assert(same_plan(&current, &other));
    cr_assert(same_state(&current, &other));
}

Test(plan_key, a_canonical_recipe_says_what_the_key_holds_and_no_more) {
    fg_recipe recipe = fg_recipe_default(FG_RECIPE_CURRENT);
    recipe.struct_size = sizeof recipe + 8;
    recipe.margin = 5;
    recipe.history = 3;
    recipe.epsilon = 0.25f;
    recipe.power_of_two = 1;
    recipe.override = FG_OVERRIDE_DEQUANTIZED;
    const fg_recipe canonical = fg_recipe_canonical(&recipe);
    fg_recipe expected = fg_recipe_default(FG_RECIPE_CURRENT);
    expected.epsilon = 0.25f;
    expected.power_of_two = 1;
    expected.override = FG_OVERRIDE_DEQUANTIZED;
    cr_assert(fg_recipe_same_fields(&canonical, &expected));
    cr_assert(same_plan(&recipe, &canonical));
}

Test(plan_key, each_device_property_that_fusion_reads_makes_another_key) {
    const fg_recipe none = fg_recipe_default(FG_RECIPE_NONE);
    const fg_key_prefix base = prefix_of(&none, &plain, WHOLE);
    fg_traits traits[4] = {plain, plain, plain, plain};
    traits[0].memory = FG_MEMORY_DEVICE;
    traits[1].base_align = 128;
    traits[2].segment_align = 16;
    traits[3].capturable = 1;
    for (int i = 0; i < 4; i++) {
        const fg_key_prefix other = prefix_of(&none, &traits[i], WHOLE);
        cr_assert_not(fg_plan_key_equal(&base.plan, &other.plan), "property %d", i);
        cr_assert(fg_state_key_equal(&base.state, &other.state));
    }
    const fg_key_prefix claims = prefix_of(&none, &plain, FG_BIT(8));
    cr_assert_not(fg_plan_key_equal(&base.plan, &claims.plan));
}

Test(plan_key, a_device_property_that_fusion_does_not_read_is_in_no_key) {
    const fg_recipe none = fg_recipe_default(FG_RECIPE_NONE);
    const fg_key_prefix base = prefix_of(&none, &plain, WHOLE);
    fg_traits traits = plain;
    traits.row_align = 64;
    traits.accumulator_digits = 11;
    traits.rounding = 77;
    traits.deterministic = 1;
    const fg_key_prefix other = prefix_of(&none, &traits, WHOLE);
    cr_assert(fg_plan_key_equal(&base.plan, &other.plan));
    cr_assert_eq(fg_plan_key_hash(&base.plan), fg_plan_key_hash(&other.plan));
}

Test(plan_key, boundary_and_version_make_other_keys_with_other_hashes) {
    const fg_recipe none = fg_recipe_default(FG_RECIPE_NONE);
    fg_plan_key keys[16];
    for (int i = 0; i < 16; i++) {
        keys[i] = prefix_of(&none, &plain, WHOLE).plan;
        fg_plan_key_complete(&keys[i], i % 4, (uint64_t)i / 4);
        for (int k = 0; k < i; k++) {
            cr_assert_not(fg_plan_key_equal(&keys[i], &keys[k]));
            cr_assert_neq(fg_plan_key_hash(&keys[i]), fg_plan_key_hash(&keys[k]));
        }
    }
}

Test(plan_key, completing_a_key_again_leaves_no_trace) {
    const fg_recipe none = fg_recipe_default(FG_RECIPE_NONE);
    fg_key_prefix one = prefix_of(&none, &plain, WHOLE), other = one;
    fg_plan_key_complete(&one.plan, 3, 0xffffffffffffffffu);
    fg_plan_key_complete(&one.plan, 1, 3);
    cr_assert(fg_plan_key_equal(&one.plan, &other.plan));
}

Test(plan_key, a_key_holds_no_address_and_no_device_index) {
    const fg_recipe recipe = fg_recipe_default(FG_RECIPE_DELAYED);
    const fg_recipe canonical = fg_recipe_canonical(&recipe);
    static fg_key_prefix first, second;
    memset(&first, 0xaa, sizeof first);
    fg_key_prefix_init(&recipe, &canonical, 0, &plain, WHOLE, &first);
    const fg_recipe copy = recipe;
    fg_key_prefix_init(&copy, &canonical, 1, &plain, WHOLE, &second);
    cr_assert_arr_eq(first.plan.words, second.plan.words, sizeof first.plan.words);
    cr_assert_arr_eq(first.state.words, second.state.words, sizeof first.state.words);
}

Test(plan_key, every_field_of_a_recipe_object_is_compared) {
    const fg_recipe one = fg_recipe_default(FG_RECIPE_DELAYED);
    fg_recipe others[9];
    for (int i = 0; i < 9; i++) {
        others[i] = one;
    }
    others[0].struct_size++;
    others[1].kind++;
    others[2].override++;
    others[3].format++;
    others[4].algo++;
    others[5].margin++;
    others[6].power_of_two++;
    others[7].history++;
    others[8].epsilon++;
    for (int i = 0; i < 9; i++) {
        cr_assert_not(fg_recipe_same_fields(&one, &others[i]), "field %d", i);
    }
    cr_assert(fg_recipe_same_fields(
        &one,
        &(fg_recipe){.struct_size = one.struct_size, .kind = one.kind, .history = one.history}));
}
