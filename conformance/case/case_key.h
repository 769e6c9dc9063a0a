#ifndef FG_CONFORMANCE_CASE_CASE_KEY_H
#define FG_CONFORMANCE_CASE_CASE_KEY_H

#include "conformance/case/case.h"

/* Keys of the case language, in the order in which a repro line gives them. */
typedef enum fg_key {
    FG_KEY_DT = 0,
    FG_KEY_PDT,
    FG_KEY_BDT,
    FG_KEY_WDT,
    FG_KEY_ACT,
    FG_KEY_LIMIT,
    FG_KEY_ALPHA,
    FG_KEY_OFFSET,
    FG_KEY_BETA1,
    FG_KEY_BETA2,
    FG_KEY_RECIPE,
    FG_KEY_OVERRIDE,
    FG_KEY_MARGIN,
    FG_KEY_HISTORY,
    FG_KEY_ALGO,
    FG_KEY_FORMAT,
    FG_KEY_E,
    FG_KEY_H,
    FG_KEY_F,
    FG_KEY_SPLITS,
    FG_KEY_T,
    FG_KEY_IDX,
    FG_KEY_HSPLITS,
    FG_KEY_LAYOUT,
    FG_KEY_ALIGN,
    FG_KEY_STRIDES,
    FG_KEY_WEIGHTS,
    FG_KEY_WORDER,
    FG_KEY_BIAS,
    FG_KEY_PROB,
    FG_KEY_SCALE_BIAS,
    FG_KEY_BIAS_SCALE,
    FG_KEY_WGRAD,
    FG_KEY_DELAY,
    FG_KEY_WANT,
    FG_KEY_FIRST,
    FG_KEY_MODE,
    FG_KEY_DATA,
    FG_KEY_SEED,
    FG_KEY_ZEROS,
    FG_KEY_SEQ,
    FG_KEY_ACTIONS,
    FG_KEY_ITERS,
    FG_KEYS,
} fg_key;

/* A value that is a word; what is known to the language but not built yet is refused as such. */
typedef struct fg_key_word {
    const char *name; /* NULL ends a list; the first word is the default */
    int32_t value;
    int32_t built;
} fg_key_word;

typedef struct fg_key_row {
    const char *name;
    const fg_key_word *words; /* NULL: a number, a list or another text */
    uint32_t kinds;           /* FG_BIT of each fg_case_kind that takes the key */
    int32_t built;
} fg_key_row;

/* Types of p, bias and weight gradients are said relative to dt. */
enum { FG_RELATIVE_F32 = 0, FG_RELATIVE_DT = 1 };

/* The row of a key; static storage. */
const fg_key_row *fg_key_row_of(fg_key key);

/* Number of a key by name, FG_KEYS when there is none; the nearest key name to a word. */
fg_key fg_key_find(const char *name);
const char *fg_key_nearest(const char *name);

/* The word of a list with a name, or with a value; NULL when there is none. */
const fg_key_word *fg_key_word_find(const fg_key_word *words, const char *name);
const fg_key_word *fg_key_word_of(const fg_key_word *words, int32_t value);
const char *fg_key_word_nearest(const fg_key_word *words, const char *name);

/* Kinds as words: mlp plan boundary recompute. */
const fg_key_word *fg_key_kinds(void);

#endif
