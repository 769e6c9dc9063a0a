#include "contract/recipe.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

typedef size_t (*bytes_fn)(const fg_recipe *, uint8_t[FG_RECIPE_BYTES]);

static int same(bytes_fn bytes, const fg_recipe *a, const fg_recipe *b) {
    uint8_t first[FG_RECIPE_BYTES];
    uint8_t second[FG_RECIPE_BYTES];
    size_t n = bytes(a, first);
    return n == bytes(b, second) && memcmp(first, second, n) == 0;
}

Test(recipe, defaults_are_valid) {
    for (int kind = 0; kind < FG_RECIPES; kind++) {
        fg_recipe recipe = fg_recipe_default((fg_recipe_kind)kind);
        cr_assert_eq(fg_recipe_check(&recipe), FG_STATUS_OK);
        cr_assert_eq(recipe.history, 1024);
    }
}

/* Every option of a kind, with a value other than the default. */
static const struct {
    fg_recipe_kind kind;
    const char *option, *value;
    int in_options; /* counts in the options bytes too, not only in the state's */
} options[] = {
    {FG_RECIPE_CURRENT, "format", "e4m3", 1},
    {FG_RECIPE_CURRENT, "power_of_two", "1", 1},
    {FG_RECIPE_CURRENT, "epsilon", "0.5", 1},
    {FG_RECIPE_CURRENT, "override", "high_precision", 0},
    {FG_RECIPE_CURRENT, "override", "dequantized", 0},
    {FG_RECIPE_DELAYED, "format", "e4m3", 1},
    {FG_RECIPE_DELAYED, "algo", "most_recent", 1},
    {FG_RECIPE_DELAYED, "margin", "3", 1},
    {FG_RECIPE_DELAYED, "history", "16", 0},
};

Test(recipe, every_option_changes_its_keys) {
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        fg_recipe plain = fg_recipe_default(options[i].kind);
        fg_recipe other = plain;
        cr_assert_eq(fg_recipe_set(&other, options[i].option, options[i].value), FG_STATUS_OK);
        cr_assert_eq(fg_recipe_check(&other), FG_STATUS_OK);
        cr_assert_not(same(fg_recipe_state_bytes, &plain, &other), "%s", options[i].option);
        cr_assert_eq(same(fg_recipe_options_bytes, &plain, &other), !options[i].in_options);
    }
}

Test(recipe, equal_options_in_another_object_give_equal_keys) {
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        fg_recipe a;
        fg_recipe b;
        memset(&a, 0x55, sizeof a); // padding differs, the options do not
        memset(&b, 0xaa, sizeof b);
        a = fg_recipe_default(options[i].kind);
        b = fg_recipe_default(options[i].kind);
        cr_assert_eq(fg_recipe_set(&a, options[i].option, options[i].value), FG_STATUS_OK);
        cr_assert_eq(fg_recipe_set(&b, options[i].option, options[i].value), FG_STATUS_OK);
        cr_assert(same(fg_recipe_state_bytes, &a, &b));
        cr_assert(same(fg_recipe_options_bytes, &a, &b));
    }
}

Test(recipe, fields_that_a_kind_does_not_use_do_not_count) {
    fg_recipe none = fg_recipe_default(FG_RECIPE_NONE);
    fg_recipe other = none;
    other.margin = 3;
    other.history = 7;
    other.format = 1;
    cr_assert(same(fg_recipe_state_bytes, &none, &other));
    fg_recipe current = fg_recipe_default(FG_RECIPE_CURRENT);
    other = current;
    other.history = 7;
    other.algo = 1;
    cr_assert(same(fg_recipe_state_bytes, &current, &other));
    other.epsilon = -0.0f;
    cr_assert(same(fg_recipe_state_bytes, &current, &other));
}

Test(recipe, kinds_never_share_a_key) {
    for (int a = 0; a < FG_RECIPES; a++) {
        for (int b = 0; b < FG_RECIPES; b++) {
            fg_recipe first = fg_recipe_default((fg_recipe_kind)a);
            fg_recipe second = fg_recipe_default((fg_recipe_kind)b);
            cr_assert_eq(same(fg_recipe_options_bytes, &first, &second), a == b);
            cr_assert_eq(same(fg_recipe_state_bytes, &first, &second), a == b);
        }
    }
}

Test(recipe, bad_options_are_refused_by_name) {
    const struct {
        fg_recipe_kind kind;
        const char *option, *value;
    } rows[] = {
        {FG_RECIPE_DELAYED, "history", "1"},
        {FG_RECIPE_DELAYED, "margin", "-1"},
        {FG_RECIPE_DELAYED, "override", "dequantized"},
        {FG_RECIPE_DELAYED, "history", "65537"},
        {FG_RECIPE_CURRENT, "power_of_two", "2"},
        {FG_RECIPE_CURRENT, "epsilon", "nan"},
        {FG_RECIPE_CURRENT, "epsilon", "-1"},
        {FG_RECIPE_NONE, "override", "high_precision"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_recipe recipe = fg_recipe_default(rows[i].kind);
        cr_assert_eq(fg_recipe_set(&recipe, rows[i].option, rows[i].value), FG_STATUS_OK);
        cr_assert_eq(fg_recipe_check(&recipe), FG_STATUS_INVALID);
        cr_assert(strstr(fg_message(), rows[i].option) != NULL, "'%s'", fg_message());
    }
}

Test(recipe, values_that_do_not_parse_are_refused) {
    fg_recipe recipe = fg_recipe_default(FG_RECIPE_DELAYED);
    const char *const rows[][2] = {
        {"margin", "two"},          {"history", "12x"},   {"algo", "min"},
        {"format", "e3"},           {"epsilon", "small"}, {"margin", ""},
        {"history", "99999999999"}, {"override", "e4m3"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_recipe before = recipe;
        cr_assert_eq(fg_recipe_set(&recipe, rows[i][0], rows[i][1]), FG_STATUS_INVALID);
        cr_assert(same(fg_recipe_state_bytes, &before, &recipe));
    }
    cr_assert_eq(fg_recipe_set(&recipe, "marge", "1"), FG_STATUS_NOT_FOUND);
    cr_assert(strstr(fg_message(), "marge") != NULL);
}

Test(recipe, kind_names_round_trip) {
    for (int kind = 0; kind < FG_RECIPES; kind++) {
        fg_recipe_kind found = FG_RECIPES;
        const char *name = fg_recipe_kind_name((fg_recipe_kind)kind);
        cr_assert_eq(fg_recipe_kind_from_name(name, &found), FG_STATUS_OK);
        cr_assert_eq((int)found, kind);
    }
    fg_recipe_kind found = FG_RECIPE_NONE;
    cr_assert_eq(fg_recipe_kind_from_name("curent", &found), FG_STATUS_NOT_FOUND);
    cr_assert_str_eq(fg_recipe_kind_name((fg_recipe_kind)9), "?");
}

Test(recipe, an_old_struct_or_unknown_kind_is_refused) {
    fg_recipe recipe = fg_recipe_default(FG_RECIPE_NONE);
    recipe.kind = FG_RECIPES;
    cr_assert_eq(fg_recipe_check(&recipe), FG_STATUS_INVALID);
    recipe.struct_size = 4;
    cr_assert_eq(fg_recipe_check(&recipe), FG_STATUS_ABI);
}
