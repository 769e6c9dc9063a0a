#include "conformance/case/case_list.h"

#include "conformance/case/case_parse.h"
#include "contract/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { ALTERNATIVES_MAX = 1 << 17 };

/* One piece of a line: text as it stands, or one of the alternatives in braces. */
typedef struct piece {
    const char *text;
    size_t length;
} piece;

/* Pieces of which each case takes one. */
typedef struct place {
    int32_t first, choices;
} place;

typedef struct expansion {
    const char *line;
    size_t length; /* of the line */
    piece *pieces;
    place *places;
    int32_t piece_count, piece_capacity, place_count, place_capacity;
    char *text;       /* one expanded line */
    int32_t *columns; /* of its characters in the line */
} expansion;

/* Makes room for one more item of an array. */
static fg_status grow(void **items, int32_t count, int32_t *capacity, size_t size) {
    if (count < *capacity) {
        return FG_STATUS_OK;
    }
    int32_t more = *capacity > 0 ? 2 * *capacity : 16;
    void *grown = fg_realloc(*items, (size_t)more * size, FG_ALLOC_GENERAL);
    if (grown == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory for a case line");
    }
    *items = grown;
    *capacity = more;
    return FG_STATUS_OK;
}

static fg_status add_place(expansion *out) {
    void *places = out->places;
    FG_TRY(grow(&places, out->place_count, &out->place_capacity, sizeof *out->places));
    out->places = places;
    out->places[out->place_count++] = (place){.first = out->piece_count};
    return FG_STATUS_OK;
}

/* Adds a choice of the last place. */
static fg_status add_piece(expansion *out, const char *text, size_t length) {
    void *pieces = out->pieces;
    FG_TRY(grow(&pieces, out->piece_count, &out->piece_capacity, sizeof *out->pieces));
    out->pieces = pieces;
    out->pieces[out->piece_count++] = (piece){text, length};
    out->places[out->place_count - 1].choices += 1;
    return FG_STATUS_OK;
}

static fg_status cut_pieces(expansion *out) {
    for (const char *at = out->line; *at != '\0';) {
        size_t plain = strcspn(at, "{}|");
        if (plain > 0) {
            FG_TRY(add_place(out));
            FG_TRY(add_piece(out, at, plain));
            at += plain;
            continue;
        }
        int column = (int)(at - out->line) + 1;
        const char *end = at + 1 + strcspn(at + 1, "{}");
        if (*at != '{' || *end != '}') {
            return FG_FAIL(FG_STATUS_PARSE,
                           "column %d: found '%c', expected alternatives as {a|b} that end on the "
                           "same line",
                           column, *at);
        }
        FG_TRY(add_place(out));
        do {
            size_t length = strcspn(at + 1, "|}");
            FG_TRY(add_piece(out, at + 1, length));
            at += 1 + length;
        } while (at != end);
        at = end + 1;
    }
    return FG_STATUS_OK;
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
    size_t length = from->length;
    from->columns[length] = (int32_t)length + 1;
    for (int32_t i = from->place_count - 1; i >= 0; i--) {
        const place *at = &from->places[i];
        const piece *part = &from->pieces[at->first + (int32_t)(number % at->choices)];
        number /= at->choices;
        length -= part->length; // filled from the end: parts are never longer than the line
        memcpy(from->text + length, part->text, part->length);
        for (size_t k = 0; k < part->length; k++) {
            from->columns[length + k] = (int32_t)(part->text - from->line) + (int32_t)k + 1;
        }
    }
    fg_case value;
    FG_TRY(fg_case_parse_columns(from->text + length, from->columns + length, &value));
    return fg_case_list_add(list, &value);
}

static fg_status add_combinations(expansion *from, fg_case_list *list) {
    FG_TRY(cut_pieces(from));
    int64_t total = 1;
    for (int32_t i = 0; i < from->place_count; i++) {
        total *= from->places[i].choices;
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

/* Adds every case of a line, also those that the list has already. */
static fg_status line_expand(const char *line, fg_case_list *list) {
    size_t length = strlen(line);
    expansion from = {.line = line, .length = length};
    from.text = fg_alloc(length + 1, FG_ALLOC_GENERAL);
    from.columns = fg_alloc((length + 1) * sizeof *from.columns, FG_ALLOC_GENERAL);
    int64_t before = list->count;
    fg_status status = from.text != NULL && from.columns != NULL
                           ? add_combinations(&from, list)
                           : FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory for a case line");
    if (status != FG_STATUS_OK) {
        list->count = before;
    }
    fg_free(from.pieces);
    fg_free(from.places);
    fg_free(from.text);
    fg_free(from.columns);
    return status;
}

/* The repro line of a case, hashed. One that is too long for a line equals no other: 0. */
static int line_hash(const fg_case *value, XXH128_hash_t *out) {
    char line[FG_CASE_LINE];
    size_t length = fg_case_format(value, line, sizeof line);
    *out = XXH3_128bits(line, length < sizeof line ? length : 0);
    return length < sizeof line;
}

/* Whether a hash is new to an open table of a power of two places; takes it in. */
static int hash_take(XXH128_hash_t *table, size_t places, XXH128_hash_t hash) {
    const XXH128_hash_t none = {0, 0};
    size_t at = (size_t)hash.low64 & (places - 1);
    for (; !XXH128_isEqual(table[at], none); at = (at + 1) & (places - 1)) {
        if (XXH128_isEqual(table[at], hash)) {
            return 0;
        }
    }
    table[at] = hash;
    return 1;
}

/* Keeps the first of equal cases. */
static fg_status drop_doubles(fg_case_list *list) {
    size_t places = 16;
    while (places < 2 * (size_t)list->count) {
        places *= 2;
    }
    XXH128_hash_t *table = fg_alloc(places * sizeof *table, FG_ALLOC_GENERAL);
    if (table == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory for %lld cases",
                       (long long)list->count);
    }
    int64_t kept = 0;
    for (int64_t i = 0; i < list->count; i++) {
        XXH128_hash_t hash;
        if (!line_hash(&list->cases[i], &hash) || hash_take(table, places, hash)) {
            if (kept != i) {
                list->cases[kept] = list->cases[i];
            }
            kept++;
        }
    }
    list->count = kept;
    fg_free(table);
    return FG_STATUS_OK;
}

fg_status fg_case_expand(const char *line, fg_case_list *list) {
    int64_t before = list->count;
    FG_TRY(line_expand(line, list));
    fg_status status = drop_doubles(list);
    list->count = status == FG_STATUS_OK ? list->count : before;
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
    fg_status status = line_expand(line, list);
    if (status != FG_STATUS_OK) {
        char message[512];
        strncpy(message, fg_message(), sizeof message - 1);
        message[sizeof message - 1] = '\0';
        return FG_FAIL(status, "%s:%lld: %s", file, (long long)number, message);
    }
    return FG_STATUS_OK;
}

/* A line would end at a zero byte and the rest of it be lost. */
static fg_status check_zeros(const char *text, size_t length, const char *file) {
    const char *zero = memchr(text, '\0', length);
    if (zero == NULL) {
        return FG_STATUS_OK;
    }
    int64_t number = 1, column = 1;
    for (const char *at = text; at != zero; at++) {
        column = *at == '\n' ? 1 : column + 1;
        number += *at == '\n';
    }
    return FG_FAIL(FG_STATUS_PARSE, "%s:%lld: column %lld: found a zero byte, expected text", file,
                   (long long)number, (long long)column);
}

fg_status fg_case_read_text(const char *text, size_t length, const char *file, fg_case_list *list) {
    FG_TRY(check_zeros(text, length, file));
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
    return status == FG_STATUS_OK ? drop_doubles(list) : status;
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
