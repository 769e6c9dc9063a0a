#include "contract/recipe.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HISTORY_MAX 65536
#define MARGIN_MAX 64

static const char *const kinds[] = {"none", "current", "delayed", NULL};
static const char *const overrides[] = {"none", "high_precision", "dequantized", NULL};
static const char *const algos[] = {"max", "most_recent", NULL};
static const char *const format_names[] = {"hybrid", "e4m3", NULL};

fg_recipe fg_recipe_default(fg_recipe_kind kind) {
    return (fg_recipe){.struct_size = sizeof(fg_recipe), .kind = (int32_t)kind, .history = 1024};
}

static fg_status check_range(const char *name, int64_t found, int64_t least, int64_t most) {
    if (found < least || found > most) {
        return FG_FAIL(FG_STATUS_INVALID, "recipe %s: found %lld, expected %lld to %lld", name,
                       (long long)found, (long long)least, (long long)most);
    }
    return FG_STATUS_OK;
}

fg_status fg_recipe_check(const fg_recipe *recipe) {
    if (recipe->struct_size < sizeof *recipe) {
        return FG_FAIL(FG_STATUS_ABI, "recipe: found a struct of %zu bytes, expected %zu",
                       recipe->struct_size, sizeof *recipe);
    }
    FG_TRY(check_range("kind", recipe->kind, 0, FG_RECIPES - 1));
    FG_TRY(check_range("override", recipe->override, 0, FG_OVERRIDE_DEQUANTIZED));
    if (recipe->kind == FG_RECIPE_NONE) {
        return check_range("override with recipe none", recipe->override, 0, 0);
    }
    FG_TRY(check_range("format", recipe->format, 0, FG_FORMAT_E4M3));
    if (recipe->kind == FG_RECIPE_CURRENT) {
        FG_TRY(check_range("power_of_two", recipe->power_of_two, 0, 1));
        if (!(recipe->epsilon >= 0) || !isfinite(recipe->epsilon)) {
            return FG_FAIL(FG_STATUS_INVALID, "recipe epsilon: found %g, expected finite and >= 0",
                           (double)recipe->epsilon);
        }
        return FG_STATUS_OK;
    }
    FG_TRY(check_range("override with recipe delayed", recipe->override, 0, 0));
    FG_TRY(check_range("algo", recipe->algo, 0, FG_AMAX_MOST_RECENT));
    FG_TRY(check_range("margin", recipe->margin, 0, MARGIN_MAX));
    return check_range("history", recipe->history, 2, HISTORY_MAX);
}

/* Index of a name in a list that ends with NULL, or the list's length. */
static int32_t find_name(const char *const *list, const char *name) {
    int32_t i = 0;
    while (list[i] != NULL && strcmp(list[i], name) != 0) {
        i++;
    }
    return i;
}

const char *fg_recipe_kind_name(fg_recipe_kind kind) {
    return (unsigned)kind < FG_RECIPES ? kinds[kind] : "?";
}

fg_status fg_recipe_kind_from_name(const char *name, fg_recipe_kind *out) {
    int32_t i = find_name(kinds, name);
    if (kinds[i] == NULL) {
        return FG_FAIL(FG_STATUS_NOT_FOUND, "found recipe '%s', expected none, current or delayed",
                       name);
    }
    *out = (fg_recipe_kind)i;
    return FG_STATUS_OK;
}

static fg_status set_name(const char *option, const char *const *list, const char *value,
                          int32_t *out) {
    int32_t i = find_name(list, value);
    if (list[i] == NULL) {
        return FG_FAIL(FG_STATUS_INVALID, "recipe %s: found '%s', expected %s, %s%s", option, value,
                       list[0], list[1], list[2] != NULL ? " or dequantized" : "");
    }
    *out = i;
    return FG_STATUS_OK;
}

static fg_status set_number(const char *option, const char *value, int32_t *out) {
    char *end = NULL;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (end == value || *end != '\0' || errno != 0 || number < INT32_MIN || number > INT32_MAX) {
        return FG_FAIL(FG_STATUS_INVALID, "recipe %s: found '%s', expected a whole number", option,
                       value);
    }
    *out = (int32_t)number;
    return FG_STATUS_OK;
}

static fg_status set_epsilon(const char *value, float *out) {
    char *end = NULL;
    float number = strtof(value, &end);
    if (end == value || *end != '\0') {
        return FG_FAIL(FG_STATUS_INVALID, "recipe epsilon: found '%s', expected a number", value);
    }
    *out = number;
    return FG_STATUS_OK;
}

fg_status fg_recipe_set(fg_recipe *recipe, const char *option, const char *value) {
    const struct {
        const char *name;
        const char *const *list; /* NULL: a number */
        int32_t *field;
    } options[] = {
        {"override", overrides, &recipe->override},
        {"format", format_names, &recipe->format},
        {"algo", algos, &recipe->algo},
        {"margin", NULL, &recipe->margin},
        {"history", NULL, &recipe->history},
        {"power_of_two", NULL, &recipe->power_of_two},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (strcmp(option, options[i].name) == 0) {
            return options[i].list != NULL
                       ? set_name(option, options[i].list, value, options[i].field)
                       : set_number(option, value, options[i].field);
        }
    }
    if (strcmp(option, "epsilon") == 0) {
        return set_epsilon(value, &recipe->epsilon);
    }
    return FG_FAIL(FG_STATUS_NOT_FOUND,
                   "found recipe option '%s', expected override, format, algo, margin, history, "
                   "power_of_two or epsilon",
                   option);
}

static size_t put32(uint8_t *to, uint32_t value) {
    for (int i = 0; i < 4; i++) {
        to[i] = (uint8_t)(value >> (8 * i));
    }
    return 4;
}

size_t fg_recipe_options_bytes(const fg_recipe *recipe, uint8_t bytes[FG_RECIPE_BYTES]) {
    size_t n = 0;
    bytes[n++] = (uint8_t)recipe->kind;
    if (recipe->kind == FG_RECIPE_CURRENT) {
        uint32_t epsilon = 0;
        float value = recipe->epsilon + 0.0f; // -0 says the same as 0
        memcpy(&epsilon, &value, sizeof epsilon);
        bytes[n++] = (uint8_t)recipe->format;
        bytes[n++] = (uint8_t)recipe->power_of_two;
        n += put32(bytes + n, epsilon);
    } else if (recipe->kind == FG_RECIPE_DELAYED) {
        bytes[n++] = (uint8_t)recipe->format;
        bytes[n++] = (uint8_t)recipe->algo;
        n += put32(bytes + n, (uint32_t)recipe->margin);
    }
    return n;
}

size_t fg_recipe_state_bytes(const fg_recipe *recipe, uint8_t bytes[FG_RECIPE_BYTES]) {
    size_t n = fg_recipe_options_bytes(recipe, bytes);
    if (recipe->kind == FG_RECIPE_NONE) {
        return n;
    }
    bytes[n++] = (uint8_t)recipe->override;
    if (recipe->kind == FG_RECIPE_DELAYED) {
        n += put32(bytes + n, (uint32_t)recipe->history);
    }
    return n;
}
