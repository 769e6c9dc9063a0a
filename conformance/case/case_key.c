#include "conformance/case/case_key.h"

#include "conformance/case/case_word.h"

#include <string.h>

#define WORDS(...)                                                                                 \
    (const fg_key_word[]) {                                                                        \
        __VA_ARGS__, {                                                                             \
            NULL, 0, 0                                                                             \
        }                                                                                          \
    }

enum {
    EVERY = FG_BIT(FG_CASE_MLP) | FG_BIT(FG_CASE_PLAN) | FG_BIT(FG_CASE_BOUNDARY) |
            FG_BIT(FG_CASE_RECOMPUTE),
    DRIVEN = EVERY & ~FG_BIT(FG_CASE_MLP),
    LATER = 0, /* known, but not built yet */
    BUILT = 1,
};

static const fg_key_row rows[FG_KEYS] = {
    [FG_KEY_DT] = {"dt",
                   WORDS({"bf16", FG_BF16, BUILT}, {"f16", FG_F16, BUILT}, {"f32", FG_F32, BUILT}),
                   EVERY, BUILT},
    [FG_KEY_PDT] = {"pdt", WORDS({"f32", FG_RELATIVE_F32, BUILT}, {"dt", FG_RELATIVE_DT, BUILT}),
                    EVERY, BUILT},
    [FG_KEY_BDT] = {"bdt", WORDS({"dt", FG_RELATIVE_DT, BUILT}, {"f32", FG_RELATIVE_F32, BUILT}),
                    EVERY, BUILT},
    [FG_KEY_WDT] = {"wdt", WORDS({"f32", FG_RELATIVE_F32, BUILT}, {"dt", FG_RELATIVE_DT, BUILT}),
                    EVERY, BUILT},
    [FG_KEY_ACT] = {"act",
                    WORDS({"swiglu", FG_ACT_SWIGLU, BUILT}, {"srelu", FG_ACT_SRELU, BUILT},
                          {"clamped", -1, LATER}, {"situ", -1, LATER}, {"geglu", -1, LATER},
                          {"reglu", -1, LATER}, {"sreglu", -1, LATER}, {"qgeglu", -1, LATER},
                          {"glu", -1, LATER}, {"gelu", -1, LATER}, {"qgelu", -1, LATER},
                          {"relu", -1, LATER}, {"silu", -1, LATER}),
                    EVERY, BUILT},
    [FG_KEY_LIMIT] = {"limit", NULL, EVERY, LATER},
    [FG_KEY_ALPHA] = {"alpha", NULL, EVERY, LATER},
    [FG_KEY_OFFSET] = {"offset", NULL, EVERY, LATER},
    [FG_KEY_BETA1] = {"beta1", NULL, EVERY, LATER},
    [FG_KEY_BETA2] = {"beta2", NULL, EVERY, LATER},
    [FG_KEY_RECIPE] = {"recipe",
                       WORDS({"none", FG_RECIPE_NONE, BUILT}, {"current", FG_RECIPE_CURRENT, BUILT},
                             {"delayed", FG_RECIPE_DELAYED, BUILT}, {"block", -1, LATER},
                             {"mxfp8", -1, LATER}, {"nvfp4", -1, LATER}),
                       EVERY, BUILT},
    [FG_KEY_OVERRIDE] = {"override",
                         WORDS({"none", FG_OVERRIDE_NONE, BUILT},
                               {"high_precision", FG_OVERRIDE_HIGH_PRECISION, BUILT},
                               {"dequantized", FG_OVERRIDE_DEQUANTIZED, BUILT}),
                         EVERY, BUILT},
    [FG_KEY_MARGIN] = {"margin", NULL, EVERY, BUILT},
    [FG_KEY_HISTORY] = {"history", NULL, EVERY, BUILT},
    [FG_KEY_ALGO] = {"algo",
                     WORDS({"max", FG_AMAX_MAX, BUILT},
                           {"most_recent", FG_AMAX_MOST_RECENT, BUILT}),
                     EVERY, BUILT},
    [FG_KEY_FORMAT] = {"format",
                       WORDS({"hybrid", FG_FORMAT_HYBRID, BUILT}, {"e4m3", FG_FORMAT_E4M3, BUILT}),
                       EVERY, BUILT},
    [FG_KEY_E] = {"E", NULL, EVERY, BUILT},
    [FG_KEY_H] = {"H", NULL, EVERY, BUILT},
    [FG_KEY_F] = {"F", NULL, EVERY, BUILT},
    [FG_KEY_SPLITS] = {"splits", NULL, EVERY, BUILT},
    [FG_KEY_T] = {"T", NULL, EVERY, BUILT},
    [FG_KEY_IDX] = {"idx", WORDS({"i32", FG_I32, BUILT}, {"i64", FG_I64, BUILT}), EVERY, BUILT},
    [FG_KEY_HSPLITS] = {"hsplits", WORDS({"0", 0, BUILT}, {"1", 1, BUILT}), EVERY, BUILT},
    [FG_KEY_LAYOUT] = {"layout", NULL, EVERY, BUILT},
    [FG_KEY_ALIGN] = {"align", NULL, EVERY, BUILT},
    [FG_KEY_STRIDES] = {"strides", WORDS({"tight", 0, BUILT}, {"padded", 1, BUILT}), EVERY, BUILT},
    [FG_KEY_WEIGHTS] = {"weights",
                        WORDS({"tensor", FG_WEIGHTS_TENSOR, BUILT},
                              {"pointers", FG_WEIGHTS_POINTERS, LATER}),
                        EVERY, BUILT},
    [FG_KEY_WORDER] = {"worder", WORDS({"oi", FG_WEIGHTS_OI, BUILT}, {"io", FG_WEIGHTS_IO, LATER}),
                       EVERY, BUILT},
    [FG_KEY_BIAS] = {"bias", WORDS({"0", 0, BUILT}, {"1", 1, BUILT}), EVERY, BUILT},
    [FG_KEY_PROB] = {"prob", WORDS({"1", 1, BUILT}, {"0", 0, BUILT}), EVERY, BUILT},
    [FG_KEY_SCALE_BIAS] = {"scale_bias", WORDS({"0", 0, BUILT}, {"1", 1, BUILT}), EVERY, BUILT},
    [FG_KEY_BIAS_SCALE] = {"bias_scale", WORDS({"p", 0, BUILT}, {"own", 1, BUILT}), EVERY, BUILT},
    [FG_KEY_WGRAD] = {"wgrad", WORDS({"overwrite", 0, BUILT}, {"accumulate", 1, BUILT}), EVERY,
                      BUILT},
    [FG_KEY_DELAY] = {"delay", WORDS({"0", 0, BUILT}, {"1", 1, LATER}), EVERY, BUILT},
    [FG_KEY_WANT] = {"want", NULL, EVERY, BUILT},
    [FG_KEY_FIRST] = {"first", NULL, EVERY, BUILT},
    [FG_KEY_MODE] = {"mode",
                     WORDS({"grad", FG_MODE_GRAD, BUILT}, {"nograd", FG_MODE_NOGRAD, BUILT},
                           {"recompute", FG_MODE_RECOMPUTE, BUILT}, {"graph", -1, LATER}),
                     EVERY, BUILT},
    [FG_KEY_DATA] = {"data",
                     WORDS({"exact", FG_DATA_EXACT, BUILT}, {"normal", FG_DATA_NORMAL, BUILT},
                           {"selection", FG_DATA_SELECTION, BUILT}, {"pinned", -1, LATER},
                           {"uniform", -1, LATER}, {"heavy", -1, LATER}, {"special", -1, LATER},
                           {"lastk", -1, LATER}, {"subnormal", -1, LATER}, {"ladder", -1, LATER}),
                     EVERY, BUILT},
    [FG_KEY_SEED] = {"seed", NULL, EVERY, BUILT},
    [FG_KEY_ZEROS] = {"zeros", NULL, EVERY, BUILT},
    [FG_KEY_SEQ] = {"seq", NULL, DRIVEN, BUILT},
    [FG_KEY_ACTIONS] = {"actions", NULL, DRIVEN, BUILT},
    [FG_KEY_ITERS] = {"iters", NULL, DRIVEN, BUILT},
};

static const fg_key_word kinds[] = {
    {"mlp", FG_CASE_MLP, BUILT},
    {"plan", FG_CASE_PLAN, BUILT},
    {"boundary", FG_CASE_BOUNDARY, BUILT},
    {"recompute", FG_CASE_RECOMPUTE, BUILT},
    {NULL, 0, 0},
};

const fg_key_word *fg_key_kinds(void) {
    return kinds;
}

const fg_key_row *fg_key_row_of(fg_key key) {
    return &rows[key];
}

fg_key fg_key_find(const char *name) {
    fg_key key = 0;
    while (key < FG_KEYS && strcmp(rows[key].name, name) != 0) {
        key++;
    }
    return key;
}

const char *fg_key_nearest(const char *name) {
    const char *names[FG_KEYS];
    for (int i = 0; i < FG_KEYS; i++) {
        names[i] = rows[i].name;
    }
    return fg_word_nearest(name, names, FG_KEYS);
}

const fg_key_word *fg_key_word_find(const fg_key_word *words, const char *name) {
    for (; words->name != NULL; words++) {
        if (strcmp(words->name, name) == 0) {
            return words;
        }
    }
    return NULL;
}

const fg_key_word *fg_key_word_of(const fg_key_word *words, int32_t value) {
    for (; words->name != NULL; words++) {
        if (words->value == value && words->built) {
            return words;
        }
    }
    return NULL;
}

const char *fg_key_word_nearest(const fg_key_word *words, const char *name) {
    const char *names[32];
    size_t count = 0;
    for (; words->name != NULL && count < 32; words++) {
        names[count++] = words->name;
    }
    return fg_word_nearest(name, names, count);
}
