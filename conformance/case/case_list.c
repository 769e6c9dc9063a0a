#include "conformance/case/case_list.h"

#include "conformance/case/case_parse.h"
#include "contract/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALTERNATIVES_MAX = 1 << 20 };

/* One piece of a line: text as it stands, or alternatives in braces. */
typedef struct piece {
    const char *text; /* of the alternatives: after the brace */
    size_t length;    /* up to the closing brace for alternatives */
    int32_t choices;  /* 0: text as it stands */
} piece;

typedef struct expansion {
    const char *line;
    piece *pieces;
    int32_t count;
    char *text;       /* one expanded line */
    int32_t *columns; /* of its characters in the line */
} expansion;

static fg_status add_piece(expansion *out, const char *text, size_t length, int32_t choices) {
    piece *grown =
        fg_realloc(out->pieces, (size_t)(out->count + 1) * sizeof *grown, FG_ALLOC_GENERAL);
    if (grown == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory for a case line");
    }
    out->pieces = grown;
    out->pieces[out->count++] = (piece){text, length, choices};
    return FG_STATUS_OK;
}

static fg_status cut_pieces(expansion *out) {
    for (const char *at = out->line; *at != '\0';) {
        size_t plain = strcspn(at, "{}|");
        if (plain > 0) {
            FG_TRY(add_piece(out, at, plain, 0));
            at += plain;
            continue;
        }
        int column = (int)(at - out->line) + 1;
        size_t inside = strcspn(at + 1, "{}");
        if (*at != '{' || at[1 + inside] != '}') {
            return FG_FAIL(FG_STATUS_PARSE,
                           "column %d: found '%c', expected alternatives as {a|b} that end on the "
                           "same line",
                           column, *at);
        }
        int32_t choices = 1;
        for (size_t i = 0; i < inside; i++) {
            choices += at[1 + i] == '|';
        }
        FG_TRY(add_piece(out, at + 1, inside, choices));
        at += inside + 2;
    }
    return FG_STATUS_OK;
}

/* Text of choice number `choice` of a piece. */
static size_t choose(const piece *from, int32_t choice, const char **text) {
    const char *end = from->text + from->length;
    *text = from->text;
    for (; choice > 0; choice--) {
        *text = (const char *)memchr(*text, '|', (size_t)(end - *text)) + 1;
    }
    const char *bar = from->choices > 0 ? memchr(*text, '|', (size_t)(end - *text)) : NULL;
    return (size_t)((bar != NULL ? bar : end) - *text);
}

fg_status fg_case_list_add(fg_case_list *list, const fg_case *value) {
    if (list->count == list->capacity) {
        int64_t capacity = list->capacity > 0 ? 2 * list->capacity : 16;
        fg_case *grown =
            fg_realloc(list->cases, (size_t)capacity * sizeof *grown, FG_ALLOC_GENERAL);
        if (grown == NULL) {
            return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory for %lld cases",
                           (long long)capacity);
        }
        list->cases = grown;
        list->capacity = capacity;
    }
    list->cases[list->count++] = *value;
    return FG_STATUS_OK;
}

/* Adds the case of one combination; `number` counts them, the last alternatives fastest. */
static fg_status add_combination(const expansion *from, int64_t number, fg_case_list *list) {
    size_t length = strlen(from->line);
    from->columns[length] = (int32_t)length + 1;
    for (int32_t i = from->count - 1; i >= 0; i--) {
        const piece *part = &from->pieces[i];
        int32_t choice = part->choices > 0 ? (int32_t)(number % part->choices) : 0;
        number /= part->choices > 0 ? part->choices : 1;
        const char *text = NULL;
        size_t size = choose(part, choice, &text);
        length -= size; // filled from the end: parts are never longer than the line
        memcpy(from->text + length, text, size);
        for (size_t k = 0; k < size; k++) {
            from->columns[length + k] = (int32_t)(text - from->line) + (int32_t)k + 1;
        }
    }
    fg_case value;
    FG_TRY(fg_case_parse_columns(from->text + length, from->columns + length, &value));
    return fg_case_list_add(list, &value);
}

static fg_status add_combinations(expansion *from, fg_case_list *list) {
    FG_TRY(cut_pieces(from));
    int64_t total = 1;
    for (int32_t i = 0; i < from->count; i++) {
        total *= from->pieces[i].choices > 0 ? from->pieces[i].choices : 1;
        if (total > ALTERNATIVES_MAX) {
            return FG_FAIL(FG_STATUS_PARSE, "column 1: found more than %d combinations",
                           ALTERNATIVES_MAX);
        }
    }
    for (int64_t number = 0; number < total; number++) {
        FG_TRY(add_combination(from, number, list));
    }
    return FG_STATUS_OK;
}

fg_status fg_case_expand(const char *line, fg_case_list *list) {
    size_t length = strlen(line) + 1;
    expansion from = {.line = line};
    from.text = fg_alloc(length, FG_ALLOC_GENERAL);
    from.columns = fg_alloc(length * sizeof *from.columns, FG_ALLOC_GENERAL);
    int64_t before = list->count;
    fg_status status = from.text != NULL && from.columns != NULL
                           ? add_combinations(&from, list)
                           : FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory for a case line");
    if (status != FG_STATUS_OK) {
        list->count = before;
    }
    fg_free(from.pieces);
    fg_free(from.text);
    fg_free(from.columns);
    return status;
}

/* Adds a line of a file unless it is blank or a comment. */
static fg_status add_line(char *line, const char *file, int64_t number, fg_case_list *list) {
    char *comment = strchr(line, '#');
    if (comment != NULL) {
        *comment = '\0';
    }
    if (line[strspn(line, " \t\r\n")] == '\0') {
        return FG_STATUS_OK;
    }
    fg_status status = fg_case_expand(line, list);
    if (status != FG_STATUS_OK) {
        char message[512];
        strncpy(message, fg_message(), sizeof message - 1);
        message[sizeof message - 1] = '\0';
        return FG_FAIL(status, "%s:%lld: %s", file, (long long)number, message);
    }
    return FG_STATUS_OK;
}

fg_status fg_case_read_text(const char *text, size_t length, const char *file, fg_case_list *list) {
    char *copy = fg_alloc(length + 1, FG_ALLOC_GENERAL);
    if (copy == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory for %s", file);
    }
    memcpy(copy, text, length);
    fg_status status = FG_STATUS_OK;
    int64_t number = 1;
    for (char *line = copy; line != NULL && status == FG_STATUS_OK; number++) {
        char *end = strchr(line, '\n');
        if (end != NULL) {
            *end = '\0';
        }
        status = add_line(line, file, number, list);
        line = end != NULL ? end + 1 : NULL;
    }
    fg_free(copy);
    return status;
}

static fg_status read_file(FILE *file, const char *path, char **text, size_t *length) {
    size_t capacity = 1 << 16;
    *length = 0;
    *text = NULL;
    for (;;) {
        char *grown = fg_realloc(*text, capacity, FG_ALLOC_GENERAL);
        if (grown == NULL) {
            return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory for %s", path);
        }
        *text = grown;
        *length += fread(*text + *length, 1, capacity - *length, file);
        if (*length < capacity) {
            break;
        }
        capacity *= 2;
    }
    return ferror(file) ? FG_FAIL(FG_STATUS_IO, "%s: %s", path, strerror(errno)) : FG_STATUS_OK;
}

fg_status fg_case_read(const char *path, fg_case_list *list) {
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return FG_FAIL(FG_STATUS_IO, "%s: %s", path, strerror(errno));
    }
    char *text = NULL;
    size_t length = 0;
    fg_status status = read_file(file, path, &text, &length);
    fclose(file);
    if (status == FG_STATUS_OK) {
        status = fg_case_read_text(text, length, path, list);
    }
    fg_free(text);
    return status;
}

void fg_case_list_free(fg_case_list *list) {
    fg_free(list->cases);
    *list = (fg_case_list){0};
}
