#ifndef FG_CONFORMANCE_PROCESS_PROTOCOL_H
#define FG_CONFORMANCE_PROCESS_PROTOCOL_H

/* The worker protocol, version 1, as both ends speak it: one JSON object a line.
 *   worker's first line  {"protocol":1,"name":..,"kinds":["backend"|"executor"]}
 *   request              {"call":NAME,"id":I, ...}
 *   reply                {"id":I,"status":N,"message":..,"seconds":S,"state":TEXT, ...}
 * A reply has the id of its request (a request without one gets none), so that a line that code
 * under test wrote is told from an answer.
 * Requests come on descriptor 3 of the worker, replies go to its descriptor 4. */

#include "contract/status.h"
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define FG_PROTOCOL 1
enum { FG_PROTOCOL_IN = 3, FG_PROTOCOL_OUT = 4 };

/* Longest line that either end takes, in bytes. */
#define FG_PROTOCOL_LINE ((size_t)16 << 20)

/* Has jansson allocate through fg_alloc; a program calls it once, before its first thread. */
void fg_protocol_use_allocator(void);

/* Text of one object as a line with its newline; free with fg_free. FG_STATUS_NO_MEMORY also when
 * `object` is NULL, so that a failed builder needs no check of its own. */
fg_status fg_protocol_dump(const json_t *object, char **line, size_t *length);

/* Reads one line (no newline) as an object that the caller releases; FG_STATUS_PROTOCOL shows the
 * beginning of what was found. */
fg_status fg_protocol_parse(const char *line, size_t length, json_t **out);

/* Bytes that were read but not yet taken as lines. Zero is the empty one. */
typedef struct fg_line_buffer {
    char *text;
    size_t length, capacity, taken;
} fg_line_buffer;

/* Reads what the descriptor has, once; *ended is set when the other end is gone. A descriptor with
 * nothing to read (EAGAIN) is no error. FG_STATUS_PROTOCOL for a line longer than the limit. */
fg_status fg_line_fill(fg_line_buffer *buffer, int fd, int *ended);

/* The next whole line, without its newline, or NULL; it stays valid until the next fill. */
const char *fg_line_next(fg_line_buffer *buffer, size_t *length);
void fg_line_free(fg_line_buffer *buffer);

/* Typed members of an object; FG_STATUS_PROTOCOL names the member, what was found and expected. */
fg_status fg_json_integer(const json_t *object, const char *key, int64_t *out);
fg_status fg_json_real(const json_t *object, const char *key, double *out);
fg_status fg_json_string(const json_t *object, const char *key, const char **out);

/* A number as JSON; infinities and NaN, which JSON lacks, become the strings "inf", "-inf", "nan".
 */
json_t *fg_json_from_real(double value);

/* A text as JSON. One that is no UTF-8 (a plugin's) has each byte above 0x7f written as \xNN.
 * NULL: no memory, or no text. */
json_t *fg_json_from_text(const char *text);

#endif
