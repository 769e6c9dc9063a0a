#include "conformance/case/case_parse.h"
#include "conformance/case/case_splits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A line that grows; `length` counts what did not fit too. */
typedef struct text_line {
    char *text;
    size_t size, length;
    int32_t whole; /* defaults too */
} text_line;

__attribute__((format(printf, 2, 3))) static void put(text_line *line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    size_t room = line->length < line->size ? line->size - line->length : 0;
    int length = vsnprintf(room > 0 ? line->text + line->length : NULL, room, format, arguments);
    va_end(arguments);
    line->length += length > 0 ? (size_t)length : 0;
}

size_t fg_case_mask_format(uint32_t mask, uint32_t all, char *list, size_t size) {
    text_line line = {.text = list, .size = size};
    if (mask == all || mask == 0) {
        put(&line, "%s", mask == 0 ? "none" : "all");
        return line.length;
    }
    for (int input = 0; input < FG_INPUTS; input++) {
        if (mask & FG_BIT(input)) {
            put(&line, "%s%s", line.length > 0 ? "," : "", fg_grad_name(input));
        }
    }
    return line.length;
}

/* Value of a key that takes words. */
static int32_t word_value(const fg_case *value, fg_key key) {
    const fg_problem *problem = &value->problem;
    int32_t dtype = problem->dtype;
    switch (key) {
    case FG_KEY_DT:
        return dtype;
    case FG_KEY_PDT:
        return problem->prob_dtype == FG_F32 ? FG_RELATIVE_F32 : FG_RELATIVE_DT;
    case FG_KEY_BDT:
        return problem->bias_dtype == dtype ? FG_RELATIVE_DT : FG_RELATIVE_F32;
    case FG_KEY_WDT:
        return problem->wgrad_dtype == FG_F32 ? FG_RELATIVE_F32 : FG_RELATIVE_DT;
    case FG_KEY_ACT:
        return problem->activation;
    case FG_KEY_RECIPE:
        return value->recipe.kind;
    case FG_KEY_OVERRIDE:
        return value->recipe.override;
    case FG_KEY_ALGO:
        return value->recipe.algo;
    case FG_KEY_FORMAT:
        return value->recipe.format;
    case FG_KEY_IDX:
        return problem->splits_dtype;
    case FG_KEY_HSPLITS:
        return problem->host_splits;
    case FG_KEY_STRIDES:
        return value->padded_strides;
    case FG_KEY_WEIGHTS:
        return problem->weight_form;
    case FG_KEY_WORDER:
        return problem->weight_order;
    case FG_KEY_BIAS:
        return problem->bias;
    case FG_KEY_PROB:
        return problem->prob;
    case FG_KEY_SCALE_BIAS:
        return problem->scale_bias;
    case FG_KEY_BIAS_SCALE:
        return problem->separate_bias_scale;
    case FG_KEY_WGRAD:
        return problem->accumulate;
    case FG_KEY_MODE:
        return (int32_t)value->mode;
    case FG_KEY_DATA:
        return (int32_t)value->data;
    default:
        return 0;
    }
}

static void put_word(text_line *line, const fg_case *value, fg_key key) {
    const fg_key_row *row = fg_key_row_of(key);
    int32_t number = word_value(value, key);
    const fg_key_word *word = fg_key_word_of(row->words, number);
    if (word != NULL && (line->whole || number != row->words[0].value)) {
        put(line, " %s=%s", row->name, word->name);
    }
}

/* A name where one gives the same rows; else the list. */
static void put_splits(text_line *line, const fg_case *value) {
    int64_t experts = value->problem.experts;
    int64_t named[FG_CASE_EXPERTS];
    for (int i = 0; i < FG_SPLITS_NAMES; i++) {
        const char *name = fg_splits_name(i);
        if (fg_splits_fill(name, experts, value->rows, named) == FG_STATUS_OK &&
            memcmp(named, value->splits, (size_t)experts * sizeof *named) == 0) {
            put(line, " splits=%s T=%" PRId64, name, value->rows);
            return;
        }
    }
    int64_t begin[FG_CASE_EXPERTS + 1];
    for (int64_t e = 0; e < experts; e++) {
        put(line, "%s%" PRId64, e == 0 ? " splits=" : ",", value->splits[e]);
    }
    if (line->whole ||
        fg_segments(&value->problem, value->splits, value->rows, begin) != FG_STATUS_OK ||
        begin[experts] != value->rows) {
        put(line, " T=%" PRId64, value->rows);
    }
}

static void put_masks(text_line *line, const fg_case *value) {
    char list[64];
    uint32_t all = fg_case_gradients(&value->problem);
    int nograd = value->kind == FG_CASE_MLP && value->mode == FG_MODE_NOGRAD;
    if ((line->whole || value->want != all) && !nograd) {
        fg_case_mask_format(value->want, all, list, sizeof list);
        put(line, " want=%s", list);
    }
    if (value->has_first) {
        fg_case_mask_format(value->first, all, list, sizeof list);
        put(line, " first=%s", list);
    }
}

static void put_text(text_line *line, const fg_case *value, fg_key key) {
    const fg_problem *problem = &value->problem;
    const fg_recipe *recipe = &value->recipe;
    fg_recipe plain = fg_recipe_default((fg_recipe_kind)recipe->kind);
    const struct {
        fg_key key;
        int64_t number, absent; /* absent: the value that is left out */
    } numbers[] = {
        {FG_KEY_MARGIN, recipe->margin, plain.margin},
        {FG_KEY_HISTORY, recipe->history, plain.history},
        {FG_KEY_E, problem->experts, 0},
        {FG_KEY_H, problem->hidden, 0},
        {FG_KEY_F, problem->inter, 0},
        {FG_KEY_ALIGN, problem->segment_align, 1},
        {FG_KEY_SEQ, value->sequence, value->kind == FG_CASE_RECOMPUTE},
        {FG_KEY_ITERS, value->iterations, value->kind == FG_CASE_MLP ? 0 : 10},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].key == key && (line->whole || numbers[i].number != numbers[i].absent)) {
            put(line, " %s=%" PRId64, fg_key_row_of(key)->name, numbers[i].number);
        }
    }
    if (key == FG_KEY_SPLITS) {
        put_splits(line, value);
    } else if (key == FG_KEY_LAYOUT && problem->interleave > 0) {
        put(line, " layout=gate%" PRId32, problem->interleave);
    } else if (key == FG_KEY_LAYOUT && line->whole) {
        put(line, " layout=half");
    } else if (key == FG_KEY_WANT) {
        put_masks(line, value);
    } else if (key == FG_KEY_SEED && (line->whole || value->seed != 0)) {
        put(line, " seed=%" PRIu64, value->seed);
    } else if (key == FG_KEY_ZEROS && value->zeros_expected) {
        put(line, " zeros=expected");
    } else if (key == FG_KEY_ACTIONS && value->actions[0] != '\0') {
        put(line, " actions=%s", value->actions);
    }
}

static void put_case(text_line *line, const fg_case *value) {
    put(line, "%s", fg_key_word_of(fg_key_kinds(), (int32_t)value->kind)->name);
    for (fg_key key = 0; key < FG_KEYS; key++) {
        const fg_key_row *row = fg_key_row_of(key);
        if (line->whole && !(row->kinds & FG_BIT(value->kind))) {
            continue;
        }
        if (row->words != NULL) {
            put_word(line, value, key);
        } else {
            put_text(line, value, key);
        }
    }
}

size_t fg_case_format(const fg_case *value, char *line, size_t size) {
    text_line out = {.text = line, .size = size};
    put_case(&out, value);
    return out.length;
}

size_t fg_case_format_whole(const fg_case *value, char *line, size_t size) {
    text_line out = {.text = line, .size = size, .whole = 1};
    put_case(&out, value);
    return out.length;
}
