#include "contract/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TRACE_PLACES 16
#define MESSAGE_SIZE 1024

typedef struct place {
    const char *expression, *file;
    int line;
} place;

static _Thread_local char message[MESSAGE_SIZE];
static _Thread_local place places[TRACE_PLACES];
static _Thread_local int place_count;

static const struct {
    const char *name, *sentence;
} statuses[] = {
#define FG_STATUS_ROW(number, name, sentence) [number] = {#name, sentence},
    FG_STATUS_LIST(FG_STATUS_ROW)
#undef FG_STATUS_ROW
};
#define STATUS_COUNT (sizeof statuses / sizeof statuses[0])

const char *fg_status_name(fg_status status) {
    return (size_t)status < STATUS_COUNT ? statuses[status].name : "?";
}

const char *fg_status_sentence(fg_status status) {
    return (size_t)status < STATUS_COUNT ? statuses[status].sentence
                                         : "a status number that this version does not know";
}

fg_status fg_status_from_name(const char *name, fg_status *out) {
    for (size_t i = 0; i < STATUS_COUNT; i++) {
        if (strcmp(name, statuses[i].name) == 0) {
            *out = (fg_status)i;
            return FG_STATUS_OK;
        }
    }
    return FG_FAIL(FG_STATUS_NOT_FOUND, "found status '%s', expected one of the list", name);
}

fg_status fg_fail_at(fg_status status, const char *file, int line, const char *format, ...) {
    // The old message may be among the arguments, so the new one is made beside it.
    char text[MESSAGE_SIZE];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    memcpy(message, text, sizeof message);
    place_count = 0;
    return fg_trace(status, message, file, line);
}

const char *fg_message(void) {
    return message;
}

fg_status fg_trace(fg_status status, const char *expression, const char *file, int line) {
    if (place_count < TRACE_PLACES) {
        places[place_count++] = (place){expression, file, line};
    }
    return status;
}

size_t fg_trace_text(char *text, size_t size) {
    size_t length = 0;
    if (size > 0) {
        text[0] = '\0';
    }
    for (int i = 0; i < place_count; i++) {
        int n = snprintf(length < size ? text + length : NULL, length < size ? size - length : 0,
                         "%s:%d %s\n", places[i].file, places[i].line, places[i].expression);
        length += (size_t)n;
    }
    return length;
}

void fg_message_clear(void) {
    message[0] = '\0';
    place_count = 0;
}
