#include "conformance/case/case_parse.h"

#include "conformance/case/action.h"
#include "conformance/case/case_word.h"

#include <string.h>

static const char blanks[] = " \t\r\n";

int fg_case_text_column(const fg_case_text *text, const char *place) {
    ptrdiff_t at = place - text->copy;
    return text->columns != NULL ? text->columns[at] : (int)at + 1;
}

static fg_status cut_kind(fg_case_text *text, const char *word) {
    const fg_key_word *kind = fg_key_word_find(fg_key_kinds(), word);
    if (kind == NULL) {
        return FG_FAIL(FG_STATUS_PARSE,
                       "column %d: found kind '%s', expected mlp, plan, boundary or recompute; "
                       "nearest is '%s'",
                       fg_case_text_column(text, word), word,
                       fg_key_word_nearest(fg_key_kinds(), word));
    }
    text->kind = (fg_case_kind)kind->value;
    return FG_STATUS_OK;
}

static fg_status cut_word(fg_case_text *text, fg_key key) {
    const fg_key_row *row = fg_key_row_of(key);
    const char *value = text->value[key];
    const fg_key_word *word = fg_key_word_find(row->words, value);
    if (word == NULL) {
        return FG_FAIL(FG_STATUS_PARSE,
                       "column %d: found %s=%s, which is no value of %s; nearest is "
                       "'%s'",
                       fg_case_text_column(text, value), row->name, value, row->name,
                       fg_key_word_nearest(row->words, value));
    }
    if (!word->built) {
        return FG_FAIL(FG_STATUS_PARSE, "column %d: %s=%s is known, but not built yet",
                       fg_case_text_column(text, value), row->name, value);
    }
    text->word[key] = word;
    return FG_STATUS_OK;
}

static fg_status cut_key(fg_case_text *text, char *token) {
    int column = fg_case_text_column(text, token);
    char *equal = strchr(token, '=');
    if (equal == NULL) {
        return FG_FAIL(FG_STATUS_PARSE,
                       "column %d: found '%s', expected key=value; nearest key is "
                       "'%s'",
                       column, token, fg_key_nearest(token));
    }
    *equal = '\0';
    fg_key key = fg_key_find(token);
    if (key == FG_KEYS) {
        return FG_FAIL(FG_STATUS_PARSE, "column %d: found key '%s', which is none; nearest is '%s'",
                       column, token, fg_key_nearest(token));
    }
    const fg_key_row *row = fg_key_row_of(key);
    if (text->value[key] != NULL) {
        return FG_FAIL(FG_STATUS_PARSE, "column %d: found key '%s' again, expected it once", column,
                       token);
    }
    if (!row->built) {
        return FG_FAIL(FG_STATUS_PARSE, "column %d: key '%s' is known, but not built yet", column,
                       token);
    }
    if (!(row->kinds & FG_BIT(text->kind))) {
        return FG_FAIL(FG_STATUS_PARSE, "column %d: found key '%s', which kind %s does not take",
                       column, token, fg_key_word_of(fg_key_kinds(), (int32_t)text->kind)->name);
    }
    text->value[key] = equal + 1;
    return row->words != NULL ? cut_word(text, key) : FG_STATUS_OK;
}

fg_status fg_case_text_cut(char *copy, const int32_t *columns, fg_case_text *out) {
    *out = (fg_case_text){.copy = copy, .columns = columns};
    for (fg_key key = 0; key < FG_KEYS; key++) {
        out->word[key] = fg_key_row_of(key)->words;
    }
    char *rest = NULL;
    char *token = strtok_r(copy, blanks, &rest);
    if (token == NULL) {
        return FG_FAIL(FG_STATUS_PARSE, "column 1: found nothing, expected a kind: mlp, plan, "
                                        "boundary or recompute");
    }
    FG_TRY(cut_kind(out, token));
    while ((token = strtok_r(NULL, blanks, &rest)) != NULL) {
        FG_TRY(cut_key(out, token));
    }
    return FG_STATUS_OK;
}

uint32_t fg_case_gradients(const fg_problem *problem) {
    uint32_t mask = 0;
    for (int input = 0; input < FG_INPUTS; input++) {
        if (fg_problem_has_input(problem, input)) {
            mask |= FG_BIT(input);
        }
    }
    return mask;
}

static fg_status mask_item(const fg_case_text *text, const char *item, uint32_t all,
                           uint32_t *out) {
    const char *names[FG_INPUTS];
    if (strcmp(item, "none") == 0) {
        return FG_STATUS_OK;
    }
    for (int input = 0; input < FG_INPUTS; input++) {
        names[input] = fg_grad_name(input);
        if (strcmp(item, names[input]) == 0) {
            if (!(all & FG_BIT(input))) {
                return FG_FAIL(FG_STATUS_PARSE,
                               "column %d: found %s, expected a gradient of an input that the "
                               "problem has (%s is not among them)",
                               fg_case_text_column(text, item), item, fg_input_name(input));
            }
            *out |= FG_BIT(input);
            return FG_STATUS_OK;
        }
    }
    return FG_FAIL(FG_STATUS_PARSE,
                   "column %d: found '%s', expected all, none or a list of dx dw1 "
                   "db1 dp dw2 db2 dbp; nearest is '%s'",
                   fg_case_text_column(text, item), item, fg_word_nearest(item, names, FG_INPUTS));
}

fg_status fg_case_mask_parse(const fg_case_text *text, char *list, uint32_t all, uint32_t *out) {
    *out = 0;
    if (strcmp(list, "all") == 0) {
        *out = all;
        return FG_STATUS_OK;
    }
    for (char *item = list; item != NULL;) {
        char *comma = strchr(item, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        FG_TRY(mask_item(text, item, all, out));
        item = comma != NULL ? comma + 1 : NULL;
    }
    return FG_STATUS_OK;
}

fg_status fg_case_actions_check(const fg_case_text *text, const char *actions) {
    fg_action list[FG_ACTIONS];
    int32_t count = 0;
    return fg_actions_parse(actions, fg_case_text_column(text, actions), list, FG_ACTIONS, &count);
}
