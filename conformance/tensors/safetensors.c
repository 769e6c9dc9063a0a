#include "conformance/tensors/safetensors.h"

#include "contract/alloc.h"
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_BYTES 8
#define HEADER_MAX 100000000u /* as the format's own library */
#define METADATA "__metadata__"

/* Types of the format; those without one of ours are known and refused by name. */
static const struct {
    const char *name;
    int32_t dtype;
} types[] = {
    {"F64", FG_F64}, {"F32", FG_F32}, {"F16", FG_F16}, {"BF16", FG_BF16}, {"I32", FG_I32},
    {"I64", FG_I64}, {"BOOL", -1},    {"U8", -1},      {"I8", -1},        {"U16", -1},
    {"I16", -1},     {"U32", -1},     {"U64", -1},     {"F8_E4M3", -1},   {"F8_E5M2", -1},
    {"F8_E8M0", -1}, {"F4", -1},      {"F6_E2M3", -1}, {"F6_E3M2", -1},   {"C64", -1},
};

static fg_status read_type(const char *file, const char *tensor, const char *name, fg_dtype *out) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(name, types[i].name) != 0) {
            continue;
        }
        if (types[i].dtype < 0) {
            return FG_FAIL(FG_STATUS_UNSUPPORTED,
                           "%s: tensor '%s' has type %s, which is not read "
                           "here",
                           file, tensor, name);
        }
        *out = (fg_dtype)types[i].dtype;
        return FG_STATUS_OK;
    }
    return FG_FAIL(FG_STATUS_PARSE, "%s: tensor '%s' has unknown type '%s'", file, tensor, name);
}

/* An array of `least` to `most` integers that are not negative. */
static fg_status read_integers(const char *file, const char *tensor, const char *key,
                               const json_t *array, size_t least, size_t most, int64_t *out) {
    size_t n = json_array_size(array);
    if (!json_is_array(array) || n < least || n > most) {
        return FG_FAIL(FG_STATUS_PARSE,
                       "%s: '%s' of tensor '%s' is not an array of %zu to %zu "
                       "integers",
                       file, key, tensor, least, most);
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_integer(item) || json_integer_value(item) < 0) {
            return FG_FAIL(FG_STATUS_PARSE,
                           "%s: '%s' of tensor '%s' has an element that is no "
                           "integer of 0 or more",
                           file, key, tensor);
        }
        out[i] = json_integer_value(item);
    }
    return FG_STATUS_OK;
}

/* Bytes that type and shape ask for. */
static fg_status measure(const char *file, fg_safetensor *tensor, int64_t *bytes) {
    tensor->count = 1;
    for (int32_t i = 0; i < tensor->ndim; i++) {
        if (fg_extent_mul(tensor->count, tensor->dims[i], &tensor->count) != FG_STATUS_OK) {
            return FG_FAIL(FG_STATUS_PARSE, "%s: the shape of tensor '%s' passes 2^63 elements",
                           file, tensor->name);
        }
    }
    int64_t size = (int64_t)fg_dtype_size(tensor->dtype);
    if (fg_extent_mul(tensor->count, size, bytes) != FG_STATUS_OK) {
        return FG_FAIL(FG_STATUS_PARSE, "%s: the shape of tensor '%s' passes 2^63 bytes", file,
                       tensor->name);
    }
    return FG_STATUS_OK;
}

static fg_status check_keys(const char *file, const char *tensor, json_t *entry) {
    const char *key = NULL;
    json_t *item = NULL;
    json_object_foreach(entry, key, item) {
        if (strcmp(key, "dtype") != 0 && strcmp(key, "shape") != 0 &&
            strcmp(key, "data_offsets") != 0) {
            return FG_FAIL(FG_STATUS_PARSE, "%s: tensor '%s' has the unknown key '%s'", file,
                           tensor, key);
        }
    }
    return FG_STATUS_OK;
}

/* One tensor's entry of the header, held against the bytes that the file has. */
static fg_status read_entry(const char *file, json_t *entry, fg_safetensors *out,
                            fg_safetensor *tensor) {
    const json_t *type = json_object_get(entry, "dtype");
    const json_t *shape = json_object_get(entry, "shape");
    const json_t *offsets = json_object_get(entry, "data_offsets");
    int64_t place[2] = {0};
    int64_t bytes = 0;
    if (!json_is_object(entry) || !json_is_string(type)) {
        return FG_FAIL(FG_STATUS_PARSE, "%s: tensor '%s' has no type", file, tensor->name);
    }
    FG_TRY(check_keys(file, tensor->name, entry));
    FG_TRY(read_type(file, tensor->name, json_string_value(type), &tensor->dtype));
    FG_TRY(read_integers(file, tensor->name, "shape", shape, 0, FG_SAFETENSOR_DIMS, tensor->dims));
    FG_TRY(read_integers(file, tensor->name, "data_offsets", offsets, 2, 2, place));
    tensor->ndim = (int32_t)json_array_size(shape);
    FG_TRY(measure(file, tensor, &bytes));
    if (place[0] > place[1] || place[1] > out->bytes) {
        return FG_FAIL(FG_STATUS_PARSE, "%s: tensor '%s' lies at bytes %lld to %lld of %lld", file,
                       tensor->name, (long long)place[0], (long long)place[1],
                       (long long)out->bytes);
    }
    if (place[1] - place[0] != bytes) {
        return FG_FAIL(FG_STATUS_PARSE, "%s: tensor '%s' takes %lld bytes, its shape asks for %lld",
                       file, tensor->name, (long long)(place[1] - place[0]), (long long)bytes);
    }
    if (place[0] % (int64_t)fg_dtype_size(tensor->dtype) != 0) {
        return FG_FAIL(FG_STATUS_PARSE, "%s: tensor '%s' begins at byte %lld, which is not aligned",
                       file, tensor->name, (long long)place[0]);
    }
    tensor->begin = place[0];
    tensor->bytes = bytes;
    tensor->data = (const char *)out->data + place[0];
    return FG_STATUS_OK;
}

static int by_place(const void *a, const void *b) {
    const fg_safetensor *left = a;
    const fg_safetensor *right = b;
    if (left->begin != right->begin) {
        return left->begin < right->begin ? -1 : 1;
    }
    return (left->bytes > right->bytes) - (left->bytes < right->bytes);
}

/* The tensors, in order, must cover the data once. */
static fg_status check_cover(const char *file, const fg_safetensors *out) {
    int64_t end = 0;
    for (int64_t i = 0; i < out->count; i++) {
        const fg_safetensor *tensor = &out->tensors[i];
        if (tensor->begin != end) {
            return FG_FAIL(FG_STATUS_PARSE, "%s: tensor '%s' begins at byte %lld, %s %lld", file,
                           tensor->name, (long long)tensor->begin,
                           tensor->begin < end ? "inside another that ends at"
                                               : "after a hole from",
                           (long long)end);
        }
        end += tensor->bytes;
    }
    if (end != out->bytes) {
        return FG_FAIL(FG_STATUS_PARSE, "%s: %lld bytes of data, tensors end at %lld", file,
                       (long long)out->bytes, (long long)end);
    }
    return FG_STATUS_OK;
}

static fg_status read_metadata(const char *file, json_t *header, fg_safetensors *out) {
    json_t *metadata = json_object_get(header, METADATA);
    const char *key = NULL;
    json_t *item = NULL;
    if (metadata == NULL) {
        return FG_STATUS_OK;
    }
    if (!json_is_object(metadata)) {
        return FG_FAIL(FG_STATUS_PARSE, "%s: " METADATA " is not an object", file);
    }
    json_object_foreach(metadata, key, item) {
        if (!json_is_string(item)) {
            return FG_FAIL(FG_STATUS_PARSE, "%s: " METADATA " key '%s' is not a string", file, key);
        }
    }
    out->metadata = json_incref(metadata);
    return FG_STATUS_OK;
}

static fg_status read_header(const char *file, json_t *header, fg_safetensors *out) {
    const char *key = NULL;
    json_t *entry = NULL;
    FG_TRY(read_metadata(file, header, out));
    size_t most = json_object_size(header);
    out->tensors = fg_alloc((most + 1) * sizeof *out->tensors, FG_ALLOC_GENERAL);
    if (out->tensors == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "%s: no memory for %zu tensors", file, most);
    }
    json_object_foreach(header, key, entry) {
        if (strcmp(key, METADATA) == 0) {
            continue;
        }
        fg_safetensor *tensor = &out->tensors[out->count];
        tensor->name = fg_strdup(key);
        if (tensor->name == NULL) {
            return FG_FAIL(FG_STATUS_NO_MEMORY, "%s: no memory for a name", file);
        }
        out->count++;
        FG_TRY(read_entry(file, entry, out, tensor));
    }
    qsort(out->tensors, (size_t)out->count, sizeof *out->tensors, by_place);
    return check_cover(file, out);
}

static fg_status copy_data(const char *file, const char *bytes, size_t size, fg_safetensors *out) {
    out->data = fg_alloc(size, FG_ALLOC_GENERAL);
    if (out->data == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "%s: no memory for %zu bytes", file, size);
    }
    memcpy(out->data, bytes, size);
    out->bytes = (int64_t)size;
    return FG_STATUS_OK;
}

fg_status fg_safetensors_parse(const char *name, const void *bytes, size_t size,
                               fg_safetensors *out) {
    const unsigned char *from = bytes;
    uint64_t length = 0;
    fg_safetensors file = {0};
    if (size < LENGTH_BYTES) {
        return FG_FAIL(FG_STATUS_PARSE, "%s: found %zu bytes, expected %d of header length", name,
                       size, LENGTH_BYTES);
    }
    for (int i = 0; i < LENGTH_BYTES; i++) {
        length |= (uint64_t)from[i] << (8 * i);
    }
    if (length > HEADER_MAX || length > size - LENGTH_BYTES) {
        return FG_FAIL(FG_STATUS_PARSE, "%s: the header claims %llu bytes, the file has %zu more",
                       name, (unsigned long long)length, size - LENGTH_BYTES);
    }
    json_error_t error;
    const char *text = (const char *)bytes + LENGTH_BYTES;
    if (length == 0 || text[0] != '{') {
        return FG_FAIL(FG_STATUS_PARSE, "%s: the header does not begin with '{'", name);
    }
    json_t *header = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, &error);
    if (header == NULL) {
        return FG_FAIL(FG_STATUS_PARSE, "%s: the header is not a JSON object: %s", name,
                       error.text);
    }
    fg_status status = copy_data(name, text + length, size - LENGTH_BYTES - (size_t)length, &file);
    if (status == FG_STATUS_OK) {
        status = read_header(name, header, &file);
    }
    json_decref(header);
    if (status != FG_STATUS_OK) {
        fg_safetensors_free(&file);
        return status;
    }
    *out = file;
    return FG_STATUS_OK;
}

/* The whole of a file; the caller frees it. */
static fg_status read_all(FILE *stream, const char *path, char **out, size_t *size) {
    size_t room = 1 << 16;
    size_t held = 0;
    char *bytes = fg_alloc(room, FG_ALLOC_GENERAL);
    while (bytes != NULL) {
        held += fread(bytes + held, 1, room - held, stream);
        if (held < room) {
            break;
        }
        char *grown = fg_realloc(bytes, room *= 2, FG_ALLOC_GENERAL);
        if (grown == NULL) {
            fg_free(bytes);
        }
        bytes = grown;
    }
    if (bytes == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "%s: no memory for the file", path);
    }
    if (ferror(stream)) {
        fg_free(bytes);
        return FG_FAIL(FG_STATUS_IO, "%s: %s", path, strerror(errno));
    }
    *out = bytes;
    *size = held;
    return FG_STATUS_OK;
}

fg_status fg_safetensors_read(const char *path, fg_safetensors *out) {
    char *bytes = NULL;
    size_t size = 0;
    FILE *stream = fopen(path, "rb");
    if (stream == NULL) {
        return FG_FAIL(FG_STATUS_IO, "%s: %s", path, strerror(errno));
    }
    fg_status status = read_all(stream, path, &bytes, &size);
    fclose(stream);
    if (status != FG_STATUS_OK) {
        return status;
    }
    status = fg_safetensors_parse(path, bytes, size, out);
    fg_free(bytes);
    return status;
}

void fg_safetensors_free(fg_safetensors *file) {
    for (int64_t i = 0; i < file->count; i++) {
        fg_free(file->tensors[i].name);
    }
    fg_free(file->tensors);
    fg_free(file->data);
    json_decref(file->metadata);
    *file = (fg_safetensors){0};
}

const fg_safetensor *fg_safetensors_find(const fg_safetensors *file, const char *name) {
    for (int64_t i = 0; i < file->count; i++) {
        if (strcmp(file->tensors[i].name, name) == 0) {
            return &file->tensors[i];
        }
    }
    return NULL;
}

const char *fg_safetensors_metadata(const fg_safetensors *file, const char *key) {
    return json_string_value(json_object_get(file->metadata, key));
}
