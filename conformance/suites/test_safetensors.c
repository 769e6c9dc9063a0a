#include "conformance/tensors/safetensors.h"
#include "contract/alloc.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TWO                                                                                        \
    "{\"b\":{\"dtype\":\"I32\",\"shape\":[2],\"data_offsets\":[16,24]},"                           \
    "\"a\":{\"dtype\":\"F64\",\"shape\":[1,2],\"data_offsets\":[0,16]},"                           \
    "\"__metadata__\":{\"who\":\"me\"}}"

/* A file of one header and `data_bytes` bytes that count up from 0. */
typedef struct bytes {
    unsigned char at[8192];
    size_t size;
} bytes;

static void make(bytes *file, const char *header, size_t claimed, size_t data_bytes) {
    size_t length = strlen(header);
    memset(file->at, 0, 8);
    for (int i = 0; i < 8; i++) {
        file->at[i] = (unsigned char)((uint64_t)claimed >> (8 * i));
    }
    memcpy(file->at + 8, header, length);
    for (size_t i = 0; i < data_bytes; i++) {
        file->at[8 + length + i] = (unsigned char)i;
    }
    file->size = 8 + length + data_bytes;
}

Test(safetensors, tensors_come_with_type_shape_and_data) {
    bytes file;
    fg_safetensors read;
    make(&file, TWO, strlen(TWO), 24);
    cr_assert_eq(fg_safetensors_parse("f", file.at, file.size, &read), FG_STATUS_OK, "%s",
                 fg_message());
    cr_assert_eq(read.count, 2);
    cr_assert_str_eq(read.tensors[0].name, "a");
    const fg_safetensor *a = fg_safetensors_find(&read, "a");
    const fg_safetensor *b = fg_safetensors_find(&read, "b");
    cr_assert_eq(a->dtype, FG_F64);
    cr_assert_eq(a->ndim, 2);
    cr_assert_eq(a->dims[0], 1);
    cr_assert_eq(a->dims[1], 2);
    cr_assert_eq(a->count, 2);
    cr_assert_eq(b->dtype, FG_I32);
    cr_assert_eq(memcmp(b->data, "\x10\x11\x12\x13\x14\x15\x16\x17", 8), 0);
    cr_assert_null(fg_safetensors_find(&read, "c"));
    fg_safetensors_free(&read);
}

Test(safetensors, metadata_is_read_by_key) {
    bytes file;
    fg_safetensors read;
    make(&file, TWO, strlen(TWO), 24);
    cr_assert_eq(fg_safetensors_parse("f", file.at, file.size, &read), FG_STATUS_OK);
    cr_assert_str_eq(fg_safetensors_metadata(&read, "who"), "me");
    cr_assert_null(fg_safetensors_metadata(&read, "why"));
    fg_safetensors_free(&read);
    make(&file, "{}", 2, 0);
    cr_assert_eq(fg_safetensors_parse("f", file.at, file.size, &read), FG_STATUS_OK);
    cr_assert_eq(read.count, 0);
    cr_assert_null(fg_safetensors_metadata(&read, "who"));
    fg_safetensors_free(&read);
}

Test(safetensors, scalars_and_empty_tensors_are_tensors) {
    bytes file;
    fg_safetensors read;
    const char *header = "{\"e\":{\"dtype\":\"F32\",\"shape\":[3,0],\"data_offsets\":[0,0]},"
                         "\"s\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[0,2]}}";
    make(&file, header, strlen(header), 2);
    cr_assert_eq(fg_safetensors_parse("f", file.at, file.size, &read), FG_STATUS_OK, "%s",
                 fg_message());
    cr_assert_eq(fg_safetensors_find(&read, "e")->count, 0);
    cr_assert_eq(fg_safetensors_find(&read, "s")->count, 1);
    fg_safetensors_free(&read);
}

#define ENTRY(dtype, shape, offsets)                                                               \
    "{\"t\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

/* Headers that lie about 16 bytes of data, and what the message must say. */
static const struct {
    const char *header, *says;
} lies[] = {
    {"", "begin with '{'"},
    {" {}", "begin with '{'"},
    {"[]", "begin with '{'"},
    {"{\"t\":", "not a JSON object"},
    {"{\"t\":1,\"t\":1}", "duplicate"},
    {"{\"t\":7}", "no type"},
    {"{\"t\":{\"shape\":[2],\"data_offsets\":[0,16]}}", "no type"},
    {ENTRY("7", "[2]", "[0,16]"), "no type"},
    {ENTRY("\"F65\"", "[2]", "[0,16]"), "unknown type 'F65'"},
    {ENTRY("\"f64\"", "[2]", "[0,16]"), "unknown type 'f64'"},
    {ENTRY("\"F64\"", "2", "[0,16]"), "'shape' of tensor 't'"},
    {ENTRY("\"F64\"", "[-2]", "[0,16]"), "no integer of 0 or more"},
    {ENTRY("\"F64\"", "[2.0]", "[0,16]"), "no integer of 0 or more"},
    {ENTRY("\"F64\"", "[1,1,1,1,1,1,1,1,2]", "[0,16]"), "array of 0 to 8"},
    {ENTRY("\"F64\"", "[2]", "[0,16,16]"), "array of 2 to 2"},
    {ENTRY("\"F64\"", "[2]", "[0]"), "array of 2 to 2"},
    {ENTRY("\"F64\"", "[2]", "[16,0]"), "lies at bytes 16 to 0"},
    {ENTRY("\"F64\"", "[3]", "[0,24]"), "lies at bytes 0 to 24 of 16"},
    {ENTRY("\"F64\"", "[1]", "[0,16]"), "its shape asks for 8"},
    {ENTRY("\"F32\"", "[2]", "[0,16]"), "its shape asks for 8"},
    {ENTRY("\"F64\"", "[1]", "[4,12]"), "not aligned"},
    {ENTRY("\"F64\"", "[1]", "[0,8]"), "16 bytes of data, tensors end at 8"},
    {ENTRY("\"F64\"", "[1]", "[8,16]"), "after a hole from 0"},
    {ENTRY("\"F64\"", "[4294967296,4294967296]", "[0,16]"), "passes 2^63"},
    {ENTRY("\"F64\"", "[4611686018427387904]", "[0,16]"), "passes 2^63 bytes"},
    {ENTRY("\"F64\"", "[99999999999999999999]", "[0,16]"), "not a JSON object"},
    {"{\"t\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16],\"x\":1}}",
     "unknown key 'x'"},
    {"{\"__metadata__\":[]}", "__metadata__ is not an object"},
    {"{\"__metadata__\":{\"n\":1}}", "key 'n' is not a string"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16]},"
     "\"b\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[8,16]}}",
     "inside another that ends at 16"},
};

Test(safetensors, headers_that_lie_are_refused_with_the_place) {
    size_t before = fg_alloc_live_total();
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        bytes file;
        fg_safetensors read;
        make(&file, lies[i].header, strlen(lies[i].header), 16);
        cr_assert_eq(fg_safetensors_parse("FILE", file.at, file.size, &read), FG_STATUS_PARSE, "%s",
                     lies[i].header);
        cr_assert_not_null(strstr(fg_message(), lies[i].says), "%s: %s", lies[i].header,
                           fg_message());
        cr_assert_not_null(strstr(fg_message(), "FILE"));
    }
    cr_assert_eq(fg_alloc_live_total(), before);
}

Test(safetensors, types_that_are_not_read_are_refused_by_name) {
    bytes file;
    fg_safetensors read;
    make(&file, ENTRY("\"F8_E4M3\"", "[16]", "[0,16]"),
         strlen(ENTRY("\"F8_E4M3\"", "[16]", "[0,16]")), 16);
    cr_assert_eq(fg_safetensors_parse("f", file.at, file.size, &read), FG_STATUS_UNSUPPORTED);
    cr_assert_not_null(strstr(fg_message(), "F8_E4M3"));
}

Test(safetensors, a_file_cut_anywhere_is_refused) {
    bytes file;
    fg_safetensors read;
    make(&file, TWO, strlen(TWO), 24);
    for (size_t size = 0; size < file.size; size++) {
        cr_assert_eq(fg_safetensors_parse("f", file.at, size, &read), FG_STATUS_PARSE, "%zu", size);
    }
    file.at[file.size] = 0;
    cr_assert_eq(fg_safetensors_parse("f", file.at, file.size + 1, &read), FG_STATUS_PARSE);
}

Test(safetensors, a_header_length_past_the_file_is_refused) {
    static const uint64_t claims[] = {3, 1000, UINT64_C(100000001), UINT64_MAX, UINT64_MAX - 7};
    for (int i = 0; i < 5; i++) {
        bytes file;
        fg_safetensors read;
        make(&file, "{}", (size_t)claims[i], 0);
        cr_assert_eq(fg_safetensors_parse("f", file.at, file.size, &read), FG_STATUS_PARSE);
        cr_assert_not_null(strstr(fg_message(), "the header claims"));
    }
}

Test(safetensors, files_are_read_whole) {
    char path[] = "/tmp/fg_safetensors_XXXXXX";
    int descriptor = mkstemp(path);
    cr_assert_geq(descriptor, 0);
    const char *header = ENTRY("\"F64\"", "[40000]", "[0,320000]");
    FILE *stream = fdopen(descriptor, "wb");
    uint64_t length = strlen(header);
    fwrite(&length, sizeof length, 1, stream);
    fwrite(header, 1, (size_t)length, stream);
    for (int i = 0; i < 40000; i++) {
        double v = i;
        fwrite(&v, sizeof v, 1, stream);
    }
    fclose(stream);
    fg_safetensors read;
    cr_assert_eq(fg_safetensors_read(path, &read), FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(((const double *)read.tensors[0].data)[39999], 39999);
    fg_safetensors_free(&read);
    unlink(path);
}

Test(safetensors, a_path_that_is_no_file_is_an_io_error) {
    fg_safetensors read;
    cr_assert_eq(fg_safetensors_read("/nonexistent/file", &read), FG_STATUS_IO);
    cr_assert_not_null(strstr(fg_message(), "/nonexistent/file"));
    cr_assert_eq(fg_safetensors_read("/tmp", &read), FG_STATUS_IO);
}

Test(safetensors, every_allocation_that_fails_is_a_status_without_a_leak) {
    bytes file;
    make(&file, TWO, strlen(TWO), 24);
    size_t before = fg_alloc_live_total();
    fg_status status = FG_STATUS_NO_MEMORY;
    int64_t n = 0;
    while (status != FG_STATUS_OK) {
        fg_safetensors read = {0};
        fg_alloc_fail_at(++n);
        status = fg_safetensors_parse("f", file.at, file.size, &read);
        fg_alloc_fail_at(0);
        cr_assert(status == FG_STATUS_OK || status == FG_STATUS_NO_MEMORY);
        fg_safetensors_free(&read);
        cr_assert_eq(fg_alloc_live_total(), before);
    }
    cr_assert_eq(n, 5);
}

Test(safetensors, every_allocation_that_fails_while_reading_a_file_is_a_status) {
    char path[] = "/tmp/fg_safetensors_XXXXXX";
    int descriptor = mkstemp(path);
    cr_assert_geq(descriptor, 0);
    FILE *stream = fdopen(descriptor, "wb");
    bytes file;
    make(&file, TWO, strlen(TWO), 24);
    fwrite(file.at, 1, file.size, stream);
    for (int i = 0; i < 100000; i++) {
        fputc(0, stream);
    }
    fclose(stream);
    size_t before = fg_alloc_live_total();
    for (int64_t n = 1; n <= 3; n++) { // the first block, its growth, and what parsing takes
        fg_safetensors read;
        fg_alloc_fail_at(n);
        fg_status status = fg_safetensors_read(path, &read);
        fg_alloc_fail_at(0);
        cr_assert_eq(status, FG_STATUS_NO_MEMORY);
        cr_assert_eq(fg_alloc_live_total(), before);
    }
    unlink(path);
}
