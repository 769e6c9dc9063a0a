#include "conformance/process/protocol.h"

#include "contract/alloc.h"
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Before each block of jansson's: where it came from. Keeps malloc's alignment. */
typedef union origin {
    int reserve; /* 1: malloc, 0: fg_alloc */
    max_align_t align;
} origin;

/* While jansson reads text it must not see an allocation fail: its string buffer then drops bytes
 * (lex_save ignores strbuffer_append_byte in 2.14) and it runs past the end. A failure is noted
 * here, the block comes from malloc, and the reader gives up once jansson is done. */
static _Thread_local struct { int active, failed; } reading;

static void *json_allocate(size_t bytes) {
    size_t whole = 0;
    if (fg_size_add(bytes, sizeof(origin), &whole) != FG_STATUS_OK) {
        return NULL;
    }
    origin *block = fg_alloc(whole, FG_ALLOC_GENERAL);
    int reserve = block == NULL && reading.active;
    if (reserve) {
        reading.failed = 1;
        block = malloc(whole);
    }
    if (block == NULL) {
        return NULL;
    }
    block->reserve = reserve;
    return block + 1;
}

static void json_release(void *pointer) {
    if (pointer != NULL) {
        origin *block = (origin *)pointer - 1;
        if (block->reserve) {
            free(block);
        } else {
            fg_free(block);
        }
    }
}

void fg_protocol_use_allocator(void) {
    json_set_alloc_funcs(json_allocate, json_release);
}

fg_status fg_protocol_dump(const json_t *object, char **line, size_t *length) {
    const size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(17);
    *line = NULL;
    size_t bytes = object == NULL ? 0 : json_dumpb(object, NULL, 0, flags);
    char *text = bytes == 0 ? NULL : fg_alloc(bytes + 2, FG_ALLOC_GENERAL);
    if (text == NULL || json_dumpb(object, text, bytes, flags) != bytes) {
        fg_free(text);
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for a line of JSON");
    }
    text[bytes] = '\n';
    *line = text;
    *length = bytes + 1;
    return FG_STATUS_OK;
}

fg_status fg_protocol_parse(const char *line, size_t length, json_t **out) {
    json_error_t error;
    *out = NULL;
    reading.active = 1;
    reading.failed = 0;
    json_t *value = json_loadb(line, length, 0, &error);
    reading.active = 0;
    if (reading.failed) {
        json_decref(value);
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory to read a line of %zu bytes", length);
    }
    if (!json_is_object(value)) {
        json_decref(value);
        return FG_FAIL(FG_STATUS_PROTOCOL, "found '%.*s', expected one JSON object in the line",
                       (int)(length < 80 ? length : 80), line);
    }
    *out = value;
    return FG_STATUS_OK;
}

fg_status fg_line_fill(fg_line_buffer *buffer, int fd, int *ended) {
    *ended = 0;
    if (buffer->taken > 0) {
        memmove(buffer->text, buffer->text + buffer->taken, buffer->length - buffer->taken);
        buffer->length -= buffer->taken;
        buffer->taken = 0;
    }
    if (buffer->length == FG_PROTOCOL_LINE) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "found a line longer than %zu bytes",
                       (size_t)FG_PROTOCOL_LINE);
    }
    if (buffer->length == buffer->capacity) {
        size_t capacity = buffer->capacity == 0 ? 16384 : 2 * buffer->capacity;
        char *text = fg_realloc(buffer->text, capacity, FG_ALLOC_GENERAL);
        if (text == NULL) {
            return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for a line of %zu bytes", capacity);
        }
        buffer->text = text;
        buffer->capacity = capacity;
    }
    ssize_t got = read(fd, buffer->text + buffer->length, buffer->capacity - buffer->length);
    if (got > 0) {
        buffer->length += (size_t)got;
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        *ended = 1;
    }
    return FG_STATUS_OK;
}

const char *fg_line_next(fg_line_buffer *buffer, size_t *length) {
    size_t held = buffer->length - buffer->taken;
    if (held == 0) {
        return NULL;
    }
    char *line = buffer->text + buffer->taken;
    char *end = memchr(line, '\n', held);
    if (end == NULL) {
        return NULL;
    }
    *length = (size_t)(end - line);
    buffer->taken += *length + 1;
    return line;
}

void fg_line_free(fg_line_buffer *buffer) {
    fg_free(buffer->text);
    *buffer = (fg_line_buffer){0};
}

static fg_status member_wrong(const json_t *member, const char *key, const char *expected) {
    static const char *const kinds[] = {"an object", "an array", "a string", "an integer",
                                        "a real",    "true",     "false",    "null"};
    return FG_FAIL(FG_STATUS_PROTOCOL, "found %s for '%s', expected %s",
                   member == NULL ? "nothing" : kinds[json_typeof(member)], key, expected);
}

fg_status fg_json_integer(const json_t *object, const char *key, int64_t *out) {
    const json_t *member = json_object_get(object, key);
    if (!json_is_integer(member)) {
        return member_wrong(member, key, "an integer");
    }
    *out = json_integer_value(member);
    return FG_STATUS_OK;
}

fg_status fg_json_real(const json_t *object, const char *key, double *out) {
    const json_t *member = json_object_get(object, key);
    const char *word = json_string_value(member);
    if (json_is_number(member)) {
        *out = json_number_value(member);
    } else if (word != NULL && strcmp(word, "nan") == 0) {
        *out = NAN;
    } else if (word != NULL && strcmp(word, "inf") == 0) {
        *out = INFINITY;
    } else if (word != NULL && strcmp(word, "-inf") == 0) {
        *out = -INFINITY;
    } else {
        return member_wrong(member, key, "a number");
    }
    return FG_STATUS_OK;
}

fg_status fg_json_string(const json_t *object, const char *key, const char **out) {
    const json_t *member = json_object_get(object, key);
    if (!json_is_string(member)) {
        return member_wrong(member, key, "a string");
    }
    *out = json_string_value(member);
    return FG_STATUS_OK;
}

json_t *fg_json_from_text(const char *text) {
    json_t *string = json_string(text);
    size_t length = text != NULL ? strlen(text) : 0;
    char *plain =
        string == NULL && text != NULL ? fg_alloc(4 * length + 1, FG_ALLOC_GENERAL) : NULL;
    if (plain == NULL) {
        return string;
    }
    char *end = plain;
    for (size_t i = 0; i < length; i++) {
        if ((text[i] & 0x80) != 0) {
            end += sprintf(end, "\\x%02x", (unsigned char)text[i]);
        } else {
            *end++ = text[i];
        }
    }
    *end = '\0';
    string = json_string(plain);
    fg_free(plain);
    return string;
}

json_t *fg_json_from_real(double value) {
    if (isnan(value)) {
        return json_string("nan");
    }
    if (isinf(value)) {
        return json_string(value > 0 ? "inf" : "-inf");
    }
    return json_real(value);
}
