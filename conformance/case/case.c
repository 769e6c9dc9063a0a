#include "conformance/case/case.h"

#include "conformance/case/case_parse.h"
#include "conformance/case/case_splits.h"
#include "contract/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHT_MAX (INT64_C(1) << 37) /* elements of W1 over all experts */

enum { DEFAULT_ITERATIONS = 10, ROWS_MAX = 1 << 24 };

/* Turns this thread's message into one that says where in the line it belongs. */
static fg_status at_column(int column) {
    char message[256];
    strncpy(message, fg_message(), sizeof message - 1);
    message[sizeof message - 1] = '\0';
    return FG_FAIL(FG_STATUS_PARSE, "column %d: %s", column, message);
}

static fg_status read_number(const fg_case_text *text, fg_key key, int64_t least, int64_t most,
                             int64_t absent, int64_t *out) {
    const char *value = text->value[key];
    *out = absent;
    if (value == NULL) {
        return FG_STATUS_OK;
    }
    char *end = NULL;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (end == value || *end != '\0' || errno != 0 || number < least || number > most) {
        return FG_FAIL(FG_STATUS_PARSE, "column %d: found %s=%s, expected a number of %lld to %lld",
                       fg_case_text_column(text, value), fg_key_row_of(key)->name, value,
                       (long long)least, (long long)most);
    }
    *out = number;
    return FG_STATUS_OK;
}

static fg_status read_required(const fg_case_text *text, fg_key key, int64_t most, int64_t *out) {
    if (text->value[key] == NULL) {
        return FG_FAIL(FG_STATUS_PARSE, "column 1: found no key '%s', expected E, H and F",
                       fg_key_row_of(key)->name);
    }
    return read_number(text, key, 1, most, 0, out);
}

static fg_status read_layout(const fg_case_text *text, fg_problem *problem) {
    const char *value = text->value[FG_KEY_LAYOUT];
    if (value == NULL || strcmp(value, "half") == 0) {
        return FG_STATUS_OK;
    }
    char *end = NULL;
    long long width = strncmp(value, "gate", 4) == 0 ? strtoll(value + 4, &end, 10) : 0;
    if (width < 1 || *end != '\0' || width > problem->inter || problem->inter % width != 0) {
        return FG_FAIL(FG_STATUS_PARSE,
                       "column %d: found layout=%s, expected half or gateS with S a divisor of "
                       "F = %lld; nearest is '%s'",
                       fg_case_text_column(text, value), value, (long long)problem->inter,
                       value[0] == 'g' ? "gate32" : "half");
    }
    if (!fg_activation_gated((fg_activation)problem->activation)) {
        return FG_FAIL(FG_STATUS_PARSE,
                       "column %d: found layout=%s, expected half with %s, which "
                       "is unary",
                       fg_case_text_column(text, value), value,
                       fg_activation_name((fg_activation)problem->activation));
    }
    problem->interleave = (int32_t)width;
    return FG_STATUS_OK;
}

static int32_t relative_type(const fg_case_text *text, fg_key key) {
    return text->word[key]->value == FG_RELATIVE_F32 ? FG_F32 : text->word[FG_KEY_DT]->value;
}

/* Each extent may be right and their product absurd. */
static fg_status check_weights(const fg_case_text *text, const fg_problem *problem) {
    int64_t elements = 0;
    fg_status status =
        fg_extent_mul(problem->experts * problem->hidden, fg_problem_o1(problem), &elements);
    if (status != FG_STATUS_OK || elements > WEIGHT_MAX) {
        return FG_FAIL(FG_STATUS_PARSE,
                       "column %d: found E=%lld H=%lld F=%lld, expected weights of at most 2^37 "
                       "elements",
                       fg_case_text_column(text, text->value[FG_KEY_E]),
                       (long long)problem->experts, (long long)problem->hidden,
                       (long long)problem->inter);
    }
    return FG_STATUS_OK;
}

static fg_status resolve_problem(const fg_case_text *text, fg_problem *problem) {
    int64_t experts = 0, hidden = 0, inter = 0;
    FG_TRY(read_required(text, FG_KEY_E, FG_CASE_EXPERTS, &experts));
    FG_TRY(read_required(text, FG_KEY_H, 1 << 20, &hidden));
    FG_TRY(read_required(text, FG_KEY_F, 1 << 20, &inter));
    *problem = fg_problem_default(experts, hidden, inter);
    problem->dtype = text->word[FG_KEY_DT]->value;
    problem->prob_dtype = relative_type(text, FG_KEY_PDT);
    problem->bias_dtype = relative_type(text, FG_KEY_BDT);
    problem->wgrad_dtype = relative_type(text, FG_KEY_WDT);
    problem->activation = text->word[FG_KEY_ACT]->value;
    problem->splits_dtype = text->word[FG_KEY_IDX]->value;
    problem->host_splits = text->word[FG_KEY_HSPLITS]->value;
    problem->weight_form = text->word[FG_KEY_WEIGHTS]->value;
    problem->weight_order = text->word[FG_KEY_WORDER]->value;
    problem->bias = text->word[FG_KEY_BIAS]->value;
    problem->prob = text->word[FG_KEY_PROB]->value;
    problem->scale_bias = text->word[FG_KEY_SCALE_BIAS]->value;
    problem->separate_bias_scale = text->word[FG_KEY_BIAS_SCALE]->value;
    problem->accumulate = text->word[FG_KEY_WGRAD]->value;
    FG_TRY(read_number(text, FG_KEY_ALIGN, 1, 4096, 1, &problem->segment_align));
    FG_TRY(read_layout(text, problem));
    if (fg_problem_check(problem) != FG_STATUS_OK) {
        return at_column(1);
    }
    return check_weights(text, problem);
}

static fg_status read_split_list(const fg_case_text *text, fg_case *out) {
    const char *at = text->value[FG_KEY_SPLITS];
    int64_t experts = out->problem.experts, count = 0;
    for (;; at++) {
        char *end = NULL;
        errno = 0;
        long long rows = strtoll(at, &end, 10);
        if (end == at || (*end != ',' && *end != '\0') || errno != 0 || rows < 0 ||
            rows > ROWS_MAX) {
            return FG_FAIL(FG_STATUS_PARSE,
                           "column %d: found '%.*s' as rows of expert %lld, expected a number of "
                           "0 to %d",
                           fg_case_text_column(text, at), (int)strcspn(at, ","), at,
                           (long long)count, ROWS_MAX);
        }
        if (count < experts) {
            out->splits[count] = rows;
        }
        count++;
        at = end;
        if (*at == '\0') {
            break;
        }
    }
    if (count != experts) {
        return FG_FAIL(FG_STATUS_PARSE, "column %d: found %lld splits, expected E = %lld",
                       fg_case_text_column(text, text->value[FG_KEY_SPLITS]), (long long)count,
                       (long long)experts);
    }
    return FG_STATUS_OK;
}

static fg_status read_split_name(const fg_case_text *text, const char *name, fg_case *out) {
    const char *names[FG_SPLITS_NAMES];
    int known = 0;
    for (int i = 0; i < FG_SPLITS_NAMES; i++) {
        names[i] = fg_splits_name(i);
        known |= strcmp(name, names[i]) == 0;
    }
    fg_key_word words[FG_SPLITS_NAMES + 1] = {0};
    for (int i = 0; i < FG_SPLITS_NAMES; i++) {
        words[i].name = names[i];
    }
    if (!known) {
        return FG_FAIL(FG_STATUS_PARSE,
                       "column %d: found splits=%s, expected a list or even, skew, "
                       "one, sparse; nearest is '%s'",
                       fg_case_text_column(text, name), name, fg_key_word_nearest(words, name));
    }
    if (text->value[FG_KEY_T] == NULL) {
        return FG_FAIL(FG_STATUS_PARSE, "column %d: found splits=%s without T, expected T too",
                       fg_case_text_column(text, name), name);
    }
    return fg_splits_fill(name, out->problem.experts, out->rows, out->splits);
}

static fg_status resolve_splits(const fg_case_text *text, fg_case *out) {
    const char *splits = text->value[FG_KEY_SPLITS];
    FG_TRY(read_number(text, FG_KEY_T, 0, ROWS_MAX, ROWS_MAX, &out->rows));
    if (splits == NULL) {
        if (text->value[FG_KEY_T] == NULL) {
            return FG_FAIL(FG_STATUS_PARSE, "column 1: found neither splits nor T, expected splits "
                                            "or T (even)");
        }
        FG_TRY(fg_splits_fill("even", out->problem.experts, out->rows, out->splits));
        splits = text->value[FG_KEY_T];
    } else if (strchr("0123456789-+,", splits[0]) != NULL) {
        FG_TRY(read_split_list(text, out));
    } else {
        FG_TRY(read_split_name(text, splits, out));
    }
    int64_t begin[FG_CASE_EXPERTS + 1];
    if (fg_segments(&out->problem, out->splits, out->rows, begin) != FG_STATUS_OK) {
        return at_column(fg_case_text_column(text, splits));
    }
    if (text->value[FG_KEY_T] == NULL) {
        out->rows = begin[out->problem.experts];
    }
    return FG_STATUS_OK;
}

static fg_status resolve_recipe(const fg_case_text *text, fg_recipe *recipe) {
    *recipe = fg_recipe_default((fg_recipe_kind)text->word[FG_KEY_RECIPE]->value);
    int64_t margin = 0, history = 0;
    FG_TRY(read_number(text, FG_KEY_MARGIN, 0, 64, recipe->margin, &margin));
    FG_TRY(read_number(text, FG_KEY_HISTORY, 2, 65536, recipe->history, &history));
    recipe->margin = (int32_t)margin;
    recipe->history = (int32_t)history;
    recipe->override = text->word[FG_KEY_OVERRIDE]->value;
    recipe->algo = text->word[FG_KEY_ALGO]->value;
    recipe->format = text->word[FG_KEY_FORMAT]->value;
    if (fg_recipe_check(recipe) != FG_STATUS_OK) {
        const char *place = text->value[FG_KEY_OVERRIDE];
        return at_column(fg_case_text_column(text, place != NULL ? place : text->copy));
    }
    return FG_STATUS_OK;
}

static fg_status resolve_masks(const fg_case_text *text, fg_case *out) {
    uint32_t all = fg_case_gradients(&out->problem);
    int nograd = out->kind == FG_CASE_MLP && out->mode == FG_MODE_NOGRAD;
    out->want = nograd ? 0 : all;
    char *want = text->value[FG_KEY_WANT], *first = text->value[FG_KEY_FIRST];
    if (want != NULL) {
        FG_TRY(fg_case_mask_parse(text, want, all, &out->want));
    }
    if (first != NULL) {
        out->has_first = 1;
        FG_TRY(fg_case_mask_parse(text, first, all, &out->first));
    }
    if (nograd && (out->want != 0 || first != NULL)) {
        return FG_FAIL(FG_STATUS_PARSE,
                       "column %d: found gradients wanted with mode=nograd, expected none",
                       fg_case_text_column(text, out->want != 0 ? want : first));
    }
    return FG_STATUS_OK;
}

static fg_status resolve_seed(const fg_case_text *text, fg_case *out) {
    const char *seed = text->value[FG_KEY_SEED], *zeros = text->value[FG_KEY_ZEROS];
    if (seed != NULL) {
        char *end = NULL;
        errno = 0;
        out->seed = strtoull(seed, &end, 10);
        if (end == seed || *end != '\0' || errno != 0 || seed[0] == '-') {
            return FG_FAIL(FG_STATUS_PARSE,
                           "column %d: found seed=%s, expected a number of 0 to 2^64 - 1",
                           fg_case_text_column(text, seed), seed);
        }
    }
    if (zeros != NULL && strcmp(zeros, "expected") != 0) {
        return FG_FAIL(FG_STATUS_PARSE,
                       "column %d: found zeros=%s, expected zeros=expected; nearest is 'expected'",
                       fg_case_text_column(text, zeros), zeros);
    }
    out->zeros_expected = zeros != NULL;
    return FG_STATUS_OK;
}

static fg_status resolve_sequence(const fg_case_text *text, fg_case *out) {
    int64_t sequence = 0, iterations = 0;
    int recompute = out->kind == FG_CASE_RECOMPUTE;
    FG_TRY(read_number(text, FG_KEY_SEQ, 1, recompute ? 8 : 99, recompute, &sequence));
    FG_TRY(read_number(text, FG_KEY_ITERS, 1, 1000000,
                       out->kind == FG_CASE_MLP ? 0 : DEFAULT_ITERATIONS, &iterations));
    out->sequence = (int32_t)sequence;
    out->iterations = (int32_t)iterations;
    const char *actions = text->value[FG_KEY_ACTIONS];
    if (recompute && sequence == 5) {
        return FG_FAIL(FG_STATUS_PARSE, "column %d: seq=5 is known, but not built yet",
                       fg_case_text_column(text, text->value[FG_KEY_SEQ]));
    }
    if (actions != NULL) {
        if (strlen(actions) >= sizeof out->actions) {
            return FG_FAIL(
                FG_STATUS_PARSE, "column %d: found actions of %zu characters, expected at most %zu",
                fg_case_text_column(text, actions), strlen(actions), sizeof out->actions - 1);
        }
        FG_TRY(fg_case_actions_check(text, actions));
        strcpy(out->actions, actions);
    }
    return FG_STATUS_OK;
}

fg_status fg_case_text_resolve(const fg_case_text *text, fg_case *out) {
    memset(out, 0, sizeof *out);
    out->kind = text->kind;
    out->padded_strides = text->word[FG_KEY_STRIDES]->value;
    out->mode = (fg_case_mode)text->word[FG_KEY_MODE]->value;
    out->data = (fg_case_data)text->word[FG_KEY_DATA]->value;
    FG_TRY(resolve_problem(text, &out->problem));
    FG_TRY(resolve_splits(text, out));
    FG_TRY(resolve_recipe(text, &out->recipe));
    FG_TRY(resolve_masks(text, out));
    FG_TRY(resolve_seed(text, out));
    return resolve_sequence(text, out);
}

fg_status fg_case_parse_columns(const char *line, const int32_t *columns, fg_case *out) {
    char *copy = fg_strdup(line);
    if (copy == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory for a case line of %zu characters",
                       strlen(line));
    }
    fg_case_text text;
    fg_status status = fg_case_text_cut(copy, columns, &text);
    if (status == FG_STATUS_OK) {
        status = fg_case_text_resolve(&text, out);
    }
    fg_free(copy);
    return status;
}

fg_status fg_case_parse(const char *line, fg_case *out) {
    return fg_case_parse_columns(line, NULL, out);
}
