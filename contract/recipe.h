#ifndef FG_CONTRACT_RECIPE_H
#define FG_CONTRACT_RECIPE_H

#include "contract/status.h"
#include <stddef.h>
#include <stdint.h>

/* Quantization recipes; numbers never change. */
typedef enum fg_recipe_kind {
    FG_RECIPE_NONE = 0,
    FG_RECIPE_CURRENT = 1, /* one scale per tensor and expert from the tensor's own amax */
    FG_RECIPE_DELAYED = 2, /* scales from a history of amax */
    FG_RECIPES = 3,
} fg_recipe_kind;

typedef enum fg_recipe_override {
    FG_OVERRIDE_NONE = 0,
    FG_OVERRIDE_HIGH_PRECISION = 1,
    FG_OVERRIDE_DEQUANTIZED = 2,
} fg_recipe_override;

typedef enum fg_recipe_algo { FG_AMAX_MAX = 0, FG_AMAX_MOST_RECENT = 1 } fg_recipe_algo;
typedef enum fg_recipe_format { FG_FORMAT_HYBRID = 0, FG_FORMAT_E4M3 = 1 } fg_recipe_format;

/* Tensors a recipe quantizes. */
enum {
    FG_ROLE_X = 0,
    FG_ROLE_W1 = 1,
    FG_ROLE_H = 2,
    FG_ROLE_W2 = 3,
    FG_ROLE_DY = 4,
    FG_ROLE_DY1 = 5,
    FG_ROLES = 6,
    FG_ROLE_SLOTS = 8,
};

/* What a recipe says; fields that a kind does not use do not count (recipe none has no options).
 * Frameworks make a new one every iteration: identity is in the values, never in the address. */
typedef struct fg_recipe {
    size_t struct_size;
    int32_t kind;         /* fg_recipe_kind */
    int32_t override;     /* fg_recipe_override; delayed allows none only */
    int32_t format;       /* fg_recipe_format; current, delayed */
    int32_t algo;         /* fg_recipe_algo; delayed */
    int32_t margin;       /* delayed: scale is divided by 2^margin; 0..64 */
    int32_t power_of_two; /* current: scales are powers of two */
    int32_t history;      /* delayed: amax history length, 2..65536, 1024 by default */
    float epsilon;        /* current: amax below it counts as it; finite, >= 0 */
} fg_recipe;

/* A recipe of a kind with that kind's defaults. */
fg_recipe fg_recipe_default(fg_recipe_kind kind);

/* Checks every field; FG_STATUS_INVALID names the field, what was found and what is expected. */
fg_status fg_recipe_check(const fg_recipe *recipe);

const char *fg_recipe_kind_name(fg_recipe_kind kind);
fg_status fg_recipe_kind_from_name(const char *name, fg_recipe_kind *out);

/* Sets one option by its name in the case language (margin, history, algo, format, override,
 * power_of_two, epsilon) from text; FG_STATUS_NOT_FOUND or FG_STATUS_INVALID with a message. */
fg_status fg_recipe_set(fg_recipe *recipe, const char *option, const char *value);

#define FG_RECIPE_BYTES 32

/* Canonical bytes, little endian, no padding, the same for equal options in any object.
 * options: kind and every option except history and override (the recipe's part of a plan key);
 * state: kind, every option, history and override (the state key). Return the length. */
size_t fg_recipe_options_bytes(const fg_recipe *recipe, uint8_t bytes[FG_RECIPE_BYTES]);
size_t fg_recipe_state_bytes(const fg_recipe *recipe, uint8_t bytes[FG_RECIPE_BYTES]);

#endif
