#include "conformance/case/action.h"
#include "conformance/case/case_word.h"
#include "conformance/executor/passes.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What follows an action's word. */
enum {
    TAKES_NOTHING,
    TAKES_PASS,
    TAKES_RECIPE,
    TAKES_OPTION,
    TAKES_NUMBER,
    TAKES_MASK,
    TAKES_HOOK
};

static const struct {
    const char *word;
    int takes;
    int64_t least, most;
} kinds[FG_ACTION_KINDS] = {
    [FG_ACTION_NOGRAD] = {"nograd", TAKES_NOTHING, 0, 0},
    [FG_ACTION_GRAD] = {"grad", TAKES_NOTHING, 0, 0},
    [FG_ACTION_BACK] = {"back", TAKES_NOTHING, 0, 0},
    [FG_ACTION_STEP] = {"step", TAKES_NOTHING, 0, 0},
    [FG_ACTION_CLEAR] = {"clear", TAKES_NOTHING, 0, 0},
    [FG_ACTION_EVICT] = {"evict", TAKES_NOTHING, 0, 0},
    [FG_ACTION_PASS] = {"pass", TAKES_PASS, 0, 0},
    [FG_ACTION_RECIPE] = {"recipe", TAKES_RECIPE, 0, 0},
    [FG_ACTION_OPT] = {"opt", TAKES_OPTION, 0, 0},
    [FG_ACTION_HIST] = {"hist", TAKES_NUMBER, 2, 65536},
    [FG_ACTION_DEV] = {"dev", TAKES_NUMBER, -1, 1},
    [FG_ACTION_CAP] = {"cap", TAKES_NUMBER, 0, 64},
    [FG_ACTION_NEED] = {"need", TAKES_MASK, 0, (1 << FG_INPUTS) - 1},
    [FG_ACTION_HOOK] = {"hook", TAKES_HOOK, INT64_MIN, INT64_MAX},
};

static const char *const pass_kinds[] = {"joint", "forward", "backward"};

/* One word between commas: its text, cut into parts at colons, and where it begins. */
typedef struct action_word {
    char text[128];
    char *parts[3];
    int32_t count;
    int32_t column;
} action_word;

static fg_status read_number(const action_word *word, const char *text, int64_t least, int64_t most,
                             int64_t *out) {
    char *end = NULL;
    errno = 0;
    long long number = strtoll(text, &end, 0);
    if (end == text || *end || errno || number < least || number > most) {
        return FG_FAIL(FG_STATUS_PARSE, "column %d: found '%s', expected a number %lld..%lld",
                       word->column, text, (long long)least, (long long)most);
    }
    *out = number;
    return FG_STATUS_OK;
}

static fg_status read_name(const action_word *word, const char *text, char out[FG_ACTION_WORD]) {
    if (strlen(text) >= FG_ACTION_WORD || !*text) {
        return FG_FAIL(FG_STATUS_PARSE, "column %d: found '%s', expected 1 to %d characters",
                       word->column, text, FG_ACTION_WORD - 1);
    }
    strcpy(out, text);
    return FG_STATUS_OK;
}

/* A number, or names of inputs joined by '+'. */
static fg_status read_mask(const action_word *word, char *text, int64_t most, int64_t *out) {
    if (*text >= '0' && *text <= '9') {
        return read_number(word, text, 0, most, out);
    }
    const char *names[FG_INPUTS + 2];
    for (int i = 0; i < FG_INPUTS; i++) {
        names[i] = fg_input_name(i);
    }
    names[FG_INPUTS] = "all";
    names[FG_INPUTS + 1] = "none";
    *out = 0;
    char *rest = NULL;
    for (char *name = strtok_r(text, "+", &rest); name; name = strtok_r(NULL, "+", &rest)) {
        int i = 0;
        while (i < FG_INPUTS + 2 && strcmp(names[i], name) != 0) {
            i++;
        }
        if (i == FG_INPUTS + 2) {
            return FG_FAIL(FG_STATUS_PARSE,
                           "column %d: found input '%s', which is none; nearest is '%s'",
                           word->column, name, fg_word_nearest(name, names, FG_INPUTS + 2));
        }
        *out |= i < FG_INPUTS ? (int64_t)FG_BIT(i) : i == FG_INPUTS ? most : 0;
    }
    return FG_STATUS_OK;
}

static fg_status read_pass(const action_word *word, fg_action *out) {
    char *name = word->count > 1 ? word->parts[1] : NULL;
    char *dot = name ? strchr(name, '.') : NULL;
    if (dot) {
        *dot = '\0';
        int kind = 0;
        while (kind < 3 && strcmp(pass_kinds[kind], name) != 0) {
            kind++;
        }
        if (kind == 3) {
            return FG_FAIL(FG_STATUS_PARSE,
                           "column %d: found kind of pass '%s', which is none; nearest is '%s'",
                           word->column, name, fg_word_nearest(name, pass_kinds, 3));
        }
        out->number = kind;
        name = dot + 1;
    }
    FG_TRY(read_name(word, name ? name : "identity", out->name));
    if (!fg_pass_from_name(out->name)) {
        return FG_FAIL(FG_STATUS_PARSE, "column %d: found pass '%s', expected one like basic",
                       word->column, out->name);
    }
    return FG_STATUS_OK;
}

static fg_status read_recipe(const action_word *word, fg_action *out) {
    fg_recipe_kind kind = FG_RECIPE_NONE;
    FG_TRY(read_name(word, word->parts[1], out->name));
    if (fg_recipe_kind_from_name(out->name, &kind)) {
        return FG_FAIL(FG_STATUS_PARSE,
                       "column %d: found recipe '%s', expected none, current or delayed",
                       word->column, out->name);
    }
    return FG_STATUS_OK;
}

static fg_status read_option(const action_word *word, fg_action *out) {
    fg_recipe recipe = fg_recipe_default(FG_RECIPE_DELAYED);
    FG_TRY(read_name(word, word->parts[1], out->name));
    FG_TRY(read_name(word, word->parts[2], out->value));
    if (fg_recipe_set(&recipe, out->name, out->value)) {
        char why[192];
        snprintf(why, sizeof why, "%s", fg_message());
        return FG_FAIL(FG_STATUS_PARSE, "column %d: %s", word->column, why);
    }
    return FG_STATUS_OK;
}

static fg_status find_kind(const action_word *word, fg_action_kind *out) {
    const char *words[FG_ACTION_KINDS];
    for (int i = 0; i < FG_ACTION_KINDS; i++) {
        words[i] = kinds[i].word;
        if (strcmp(words[i], word->parts[0]) == 0) {
            *out = (fg_action_kind)i;
            return FG_STATUS_OK;
        }
    }
    return FG_FAIL(FG_STATUS_PARSE, "column %d: found action '%s', which is none; nearest is '%s'",
                   word->column, word->parts[0],
                   fg_word_nearest(word->parts[0], words, FG_ACTION_KINDS));
}

static fg_status read_action(const action_word *word, fg_action *out) {
    static const int32_t parts[] = {
        [TAKES_NOTHING] = 1, [TAKES_PASS] = 2, [TAKES_RECIPE] = 2, [TAKES_OPTION] = 3,
        [TAKES_NUMBER] = 2,  [TAKES_MASK] = 2, [TAKES_HOOK] = 3};
    *out = (fg_action){.kind = FG_ACTION_NOGRAD};
    FG_TRY(find_kind(word, &out->kind));
    int takes = kinds[out->kind].takes;
    int64_t least = kinds[out->kind].least;
    int64_t most = kinds[out->kind].most;
    if (word->count != parts[takes] && !(takes == TAKES_PASS && word->count == 1)) {
        return FG_FAIL(FG_STATUS_PARSE, "column %d: found %d parts after '%s', expected %d",
                       word->column, word->count - 1, word->parts[0], parts[takes] - 1);
    }
    switch (takes) {
    case TAKES_PASS:
        return read_pass(word, out);
    case TAKES_RECIPE:
        return read_recipe(word, out);
    case TAKES_OPTION:
        return read_option(word, out);
    case TAKES_NUMBER:
        return read_number(word, word->parts[1], least, most, &out->number);
    case TAKES_MASK:
        return read_mask(word, word->parts[1], most, &out->number);
    case TAKES_HOOK:
        FG_TRY(read_name(word, word->parts[1], out->name));
        return read_number(word, word->parts[2], least, most, &out->number);
    default:
        return FG_STATUS_OK;
    }
}

/* Cuts the word that begins at `from` out of the text. */
static fg_status cut_word(const char *from, size_t length, int32_t column, action_word *out) {
    *out = (action_word){.column = column};
    if (length >= sizeof out->text) {
        return FG_FAIL(FG_STATUS_PARSE, "column %d: found %zu characters, expected fewer than %zu",
                       column, length, sizeof out->text);
    }
    memcpy(out->text, from, length);
    char *at = out->text;
    for (out->count = 0; at && out->count < 3; out->count++) {
        out->parts[out->count] = at;
        at = strchr(at, ':');
        if (at) {
            *at++ = '\0';
        }
    }
    if (at) {
        return FG_FAIL(FG_STATUS_PARSE, "column %d: found ':%s', expected ','", column, at);
    }
    return FG_STATUS_OK;
}

fg_status fg_actions_parse(const char *text, int32_t column, fg_action *out, int32_t capacity,
                           int32_t *count) {
    *count = 0;
    for (const char *from = text; *text && from;) {
        const char *comma = strchr(from, ',');
        size_t length = comma ? (size_t)(comma - from) : strlen(from);
        int32_t at = column + (int32_t)(from - text);
        if (*count == capacity) {
            return FG_FAIL(FG_STATUS_PARSE, "column %d: found more than %d actions", at, capacity);
        }
        action_word word;
        FG_TRY(cut_word(from, length, at, &word));
        FG_TRY(read_action(&word, &out[*count]));
        (*count)++;
        from = comma ? comma + 1 : NULL;
    }
    return FG_STATUS_OK;
}

static int format_action(const fg_action *action, char *text, size_t size) {
    const char *word = kinds[action->kind].word;
    switch (kinds[action->kind].takes) {
    case TAKES_PASS:
        return snprintf(text, size, "%s:%s.%s", word, pass_kinds[action->number], action->name);
    case TAKES_RECIPE:
        return snprintf(text, size, "%s:%s", word, action->name);
    case TAKES_OPTION:
        return snprintf(text, size, "%s:%s:%s", word, action->name, action->value);
    case TAKES_NUMBER:
    case TAKES_MASK:
        return snprintf(text, size, "%s:%lld", word, (long long)action->number);
    case TAKES_HOOK:
        return snprintf(text, size, "%s:%s:%lld", word, action->name, (long long)action->number);
    default:
        return snprintf(text, size, "%s", word);
    }
}

size_t fg_actions_format(const fg_action *actions, int32_t count, char *text, size_t size) {
    size_t length = 0;
    if (size) {
        *text = '\0';
    }
    for (int32_t i = 0; i < count; i++) {
        char word[96];
        int n = snprintf(word, sizeof word, "%s", i ? "," : "");
        n += format_action(&actions[i], word + n, sizeof word - (size_t)n);
        if (length < size) {
            snprintf(text + length, size - length, "%s", word);
        }
        length += (size_t)n;
    }
    return length;
}
