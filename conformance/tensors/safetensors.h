#ifndef FG_CONFORMANCE_TENSORS_SAFETENSORS_H
#define FG_CONFORMANCE_TENSORS_SAFETENSORS_H

/* Reader of safetensors files: 8 bytes of header length (little endian), a JSON header that names
 * each tensor's type, shape and place, then the data:
 *
 *   | n: u64 | {"__metadata__": {..}, "NAME": {"dtype", "shape", "data_offsets"}, ..} | data |
 *
 * Nothing in the file is believed: lengths, types, shapes and places must agree with each other and
 * with the file's size, tensors may neither overlap nor leave holes. */

#include "contract/dtype.h"

#define FG_SAFETENSOR_DIMS 8

typedef struct fg_safetensor {
    char *name;
    fg_dtype dtype;
    int32_t ndim;
    int64_t dims[FG_SAFETENSOR_DIMS];
    int64_t count;    /* elements */
    const void *data; /* aligned to its element, within the file's memory */
    int64_t begin;    /* of its bytes, from the start of the data */
    int64_t bytes;
} fg_safetensor;

typedef struct fg_safetensors {
    fg_safetensor *tensors; /* in the order of their data */
    int64_t count;
    struct json_t *metadata; /* object of strings, or NULL */
    void *data;
    int64_t bytes;
} fg_safetensors;

/* Reads a file. FG_STATUS_IO when it cannot be read, FG_STATUS_PARSE when it is not a safetensors
 * file (the message says where), FG_STATUS_UNSUPPORTED for a type that is known but not read here,
 * FG_STATUS_NO_MEMORY. Free the result with fg_safetensors_free. */
fg_status fg_safetensors_read(const char *path, fg_safetensors *out);

/* Reads a file's bytes; `name` is what messages call it. The bytes are copied. */
fg_status fg_safetensors_parse(const char *name, const void *bytes, size_t size,
                               fg_safetensors *out);
void fg_safetensors_free(fg_safetensors *file);

/* The tensor of that name, or NULL. */
const fg_safetensor *fg_safetensors_find(const fg_safetensors *file, const char *name);

/* The text of one key of __metadata__, or NULL. */
const char *fg_safetensors_metadata(const fg_safetensors *file, const char *key);

#endif
