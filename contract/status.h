#ifndef FG_CONTRACT_STATUS_H
#define FG_CONTRACT_STATUS_H

#include <stddef.h>

/* Every way a call can end: number, name, sentence. Numbers never change. */
#define FG_STATUS_LIST(X)                                                                          \
    X(0, OK, "success")                                                                            \
    X(1, INVALID, "an argument has a value outside its contract")                                  \
    X(2, SHAPE, "a tensor's type, dimensions or strides do not fit the problem")                   \
    X(3, ALIAS, "an output overlaps another tensor")                                               \
    X(4, DEVICE, "a device index does not exist or operands live on different devices")            \
    X(5, DEVICE_LOST, "the device failed; this process cannot go on")                              \
    X(6, UNSUPPORTED, "the implementation does not claim this problem")                            \
    X(7, UNAVAILABLE, "the implementation cannot run on this machine")                             \
    X(8, NO_MEMORY, "memory could not be allocated")                                               \
    X(9, OVERFLOW, "a size does not fit its integer type")                                         \
    X(10, ABI, "the caller and the callee speak different versions")                               \
    X(11, BUILD, "a plan could not be built")                                                      \
    X(12, PARSE, "a text could not be understood")                                                 \
    X(13, IO, "a file, pipe or mapping failed")                                                    \
    X(14, TIMEOUT, "no answer came in time")                                                       \
    X(15, CRASH, "a worker process ended before it answered")                                      \
    X(16, PROTOCOL, "a worker's answer does not follow the protocol")                              \
    X(17, NOT_FOUND, "a name is not known")                                                        \
    X(18, INTERNAL, "an invariant of this program does not hold")

typedef enum fg_status {
#define FG_STATUS_ENUM(number, name, sentence) FG_STATUS_##name = (number),
    FG_STATUS_LIST(FG_STATUS_ENUM)
#undef FG_STATUS_ENUM
} fg_status;

/* Gives the name of a status ("OK", "SHAPE"), or "?" for a number that is none; static storage. */
const char *fg_status_name(fg_status status);

/* Gives the sentence of a status, or one that says the number is unknown; static storage. */
const char *fg_status_sentence(fg_status status);

/* Finds a status by name; returns FG_STATUS_NOT_FOUND and leaves *out for an unknown one. */
fg_status fg_status_from_name(const char *name, fg_status *out);

/* Records what went wrong, printf style, as this thread's message, and returns `status`.
 * The message is cut at 1,023 bytes; the trace starts anew with this call's place.
 * FG_FAIL gives the status itself, so that an analyser of the caller sees a failure. */
fg_status fg_fail_at(fg_status status, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define FG_FAIL(status, ...)                                                                       \
    ((void)fg_fail_at((status), __FILE__, __LINE__, __VA_ARGS__), (fg_status)(status))

/* This thread's last message ("" when there is none); valid until its next failure. */
const char *fg_message(void);

/* Adds one place to this thread's trace and returns `status`; keeps the first 16 places. */
fg_status fg_trace(fg_status status, const char *expression, const char *file, int line);

/* Writes this thread's trace, one "file:line expression" a line, into text; returns its length
 * (as snprintf does). */
size_t fg_trace_text(char *text, size_t size);

/* Forgets this thread's message and trace. */
void fg_message_clear(void);

#define FG_TRY(call)                                                                               \
    do {                                                                                           \
        fg_status fg_try_status = (call);                                                          \
        if (fg_try_status != FG_STATUS_OK) {                                                       \
            (void)fg_trace(fg_try_status, #call, __FILE__, __LINE__);                              \
            return fg_try_status;                                                                  \
        }                                                                                          \
    } while (0)

#endif
