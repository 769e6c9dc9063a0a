#include "conformance/process/protocol.h"
#include "conformance/process/protocol_fields.h"
#include "contract/alloc.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const fg_struct_fields *const structs[] = {
    &fg_problem_fields,  &fg_recipe_fields,  &fg_traits_fields, &fg_kernel_sizes_fields,
    &fg_counters_fields, &fg_outside_fields, &fg_run_fields};
enum { STRUCTS = sizeof structs / sizeof structs[0], ROOM = 1024 };

/* Gives field number f a value that no other field has. */
static void field_set(const fg_field *field, int f, void *object) {
    void *at = (char *)object + field->offset;
    switch (field->kind) {
    case FG_FIELD_I32:
        *(int32_t *)at = -7 - f;
        break;
    case FG_FIELD_U32:
        *(uint32_t *)at = UINT32_MAX - (uint32_t)f;
        break;
    case FG_FIELD_I64:
        *(int64_t *)at = INT64_MIN + f;
        break;
    case FG_FIELD_SIZE:
        *(size_t *)at = ((size_t)1 << 40) + (size_t)f;
        break;
    case FG_FIELD_F32:
        *(float *)at = 0.1f + (float)f;
        break;
    case FG_FIELD_F64:
        *(double *)at = 0.1 + f;
        break;
    }
}

/* The struct with every field set as field_set does. */
static void struct_fill(const fg_struct_fields *fields, void *object) {
    memset(object, 0, ROOM);
    cr_assert_leq(fields->bytes, (size_t)ROOM);
    if (fields->sized) {
        memcpy(object, &fields->bytes, sizeof fields->bytes);
    }
    for (size_t f = 0; f < fields->count; f++) {
        field_set(&fields->fields[f], (int)f, object);
    }
}

Test(protocol, every_field_of_every_struct_comes_back) {
    for (size_t s = 0; s < STRUCTS; s++) {
        _Alignas(16) unsigned char sent[ROOM], got[ROOM];
        struct_fill(structs[s], sent);
        memset(got, 0xee, sizeof got);
        json_t *value = fg_json_from_struct(structs[s], sent);
        cr_assert_not_null(value);
        cr_assert_eq(json_object_size(value), structs[s]->count);
        cr_assert_eq(fg_json_to_struct(value, structs[s], got), FG_STATUS_OK, "%s", fg_message());
        cr_assert_eq(memcmp(sent, got, structs[s]->bytes), 0, "%s", structs[s]->name);
        cr_assert_eq(got[structs[s]->bytes], 0xee, "%s: written past its end", structs[s]->name);
        json_decref(value);
    }
}

/* What the tables say of the ABI: a field that they forget would be zero on the other side. */
Test(protocol, tables_cover_every_field_of_the_abi) {
    for (size_t s = 0; s < STRUCTS; s++) {
        unsigned char covered[ROOM] = {0};
        size_t gaps = 0;
        static const size_t sizes[] = {4, 4, 8, 8, 4, 8};
        memset(covered, 1, structs[s]->sized ? sizeof(size_t) : 0);
        for (size_t f = 0; f < structs[s]->count; f++) {
            const fg_field *field = &structs[s]->fields[f];
            memset(covered + field->offset, 1, sizes[field->kind]);
        }
        for (size_t i = 0; i < structs[s]->bytes; i++) {
            gaps += !covered[i];
        }
        /* Only padding before an 8-byte field may be uncovered: less than one word a gap. */
        cr_assert_lt(gaps, (size_t)8, "%s: %zu bytes in no field", structs[s]->name, gaps);
    }
}

Test(protocol, absent_fields_are_zero) {
    fg_problem problem;
    memset(&problem, 0xff, sizeof problem);
    json_t *value = json_pack("{s:i}", "experts", 3);
    cr_assert_eq(fg_json_to_struct(value, &fg_problem_fields, &problem), FG_STATUS_OK);
    cr_assert_eq(problem.experts, 3);
    cr_assert_eq(problem.hidden, 0);
    cr_assert_eq(problem.struct_size, sizeof problem);
    json_decref(value);
}

Test(protocol, a_field_of_another_type_or_range_is_named) {
    static const struct {
        const char *text, *name;
    } wrong[] = {{"{\"experts\":\"3\"}", "experts"},
                 {"{\"hidden\":1.5}", "hidden"},
                 {"{\"dtype\":4294967296}", "dtype"},
                 {"{\"bias\":null}", "bias"},
                 {"{\"limit\":\"much\"}", "limit"}};
    for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; w++) {
        fg_problem problem;
        json_t *value = NULL;
        cr_assert_eq(fg_protocol_parse(wrong[w].text, strlen(wrong[w].text), &value), FG_STATUS_OK);
        cr_assert_eq(fg_json_to_struct(value, &fg_problem_fields, &problem), FG_STATUS_PROTOCOL);
        cr_assert_not_null(strstr(fg_message(), wrong[w].name), "%s", fg_message());
        json_decref(value);
    }
    fg_traits traits;
    json_t *negative = json_pack("{s:i}", "rounding", -1);
    cr_assert_eq(fg_json_to_struct(negative, &fg_traits_fields, &traits), FG_STATUS_PROTOCOL);
    json_decref(negative);
    cr_assert_eq(fg_json_to_struct(NULL, &fg_traits_fields, &traits), FG_STATUS_PROTOCOL);
}

Test(protocol, reals_that_json_lacks_come_back) {
    const double values[] = {INFINITY, -INFINITY, 0.1, 1e-310, -0.0, 1.7976931348623157e308};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        double back = 0;
        char *line = NULL;
        size_t length = 0;
        json_t *object = json_object(), *read = NULL;
        cr_assert_eq(json_object_set_new(object, "v", fg_json_from_real(values[i])), 0);
        cr_assert_eq(fg_protocol_dump(object, &line, &length), FG_STATUS_OK);
        cr_assert_eq(fg_protocol_parse(line, length - 1, &read), FG_STATUS_OK);
        cr_assert_eq(fg_json_real(read, "v", &back), FG_STATUS_OK);
        cr_assert_eq(memcmp(&back, &values[i], sizeof back), 0, "%g became %g", values[i], back);
        fg_free(line);
        json_decref(object);
        json_decref(read);
    }
    double nan = 0;
    json_t *object = json_pack("{s:o}", "v", fg_json_from_real(NAN));
    cr_assert_eq(fg_json_real(object, "v", &nan), FG_STATUS_OK);
    cr_assert(isnan(nan));
    json_decref(object);
}

Test(protocol, what_is_no_object_is_refused_and_shown) {
    static const char *const lines[] = {"", "hello", "[1]", "{\"a\":", "{} {}", "3"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        json_t *value = NULL;
        cr_assert_eq(fg_protocol_parse(lines[i], strlen(lines[i]), &value), FG_STATUS_PROTOCOL);
        cr_assert_null(value);
        cr_assert_not_null(strstr(fg_message(), lines[i]), "%s", fg_message());
    }
}

Test(protocol, lines_are_put_together_from_pieces) {
    fg_line_buffer buffer = {0};
    int fds[2], ended = 0;
    size_t length = 0;
    const char *line;
    cr_assert_eq(pipe(fds), 0);
    cr_assert_eq(write(fds[1], "{\"a\":", 5), 5);
    cr_assert_eq(fg_line_fill(&buffer, fds[0], &ended), FG_STATUS_OK);
    cr_assert_null(fg_line_next(&buffer, &length));
    cr_assert_eq(write(fds[1], "1}\n{}\n{", 7), 7);
    cr_assert_eq(fg_line_fill(&buffer, fds[0], &ended), FG_STATUS_OK);
    line = fg_line_next(&buffer, &length);
    cr_assert(line != NULL && length == 7 && strncmp(line, "{\"a\":1}", 7) == 0);
    line = fg_line_next(&buffer, &length);
    cr_assert(line != NULL && length == 2 && strncmp(line, "{}", 2) == 0);
    cr_assert_null(fg_line_next(&buffer, &length));
    cr_assert_eq(write(fds[1], "}\n", 2), 2);
    (void)close(fds[1]);
    cr_assert_eq(fg_line_fill(&buffer, fds[0], &ended), FG_STATUS_OK);
    cr_assert_not(ended);
    line = fg_line_next(&buffer, &length);
    cr_assert(line != NULL && length == 2 && strncmp(line, "{}", 2) == 0);
    cr_assert_eq(fg_line_fill(&buffer, fds[0], &ended), FG_STATUS_OK);
    cr_assert(ended);
    fg_line_free(&buffer);
    (void)close(fds[0]);
}

Test(protocol, a_line_without_end_is_refused) {
    fg_line_buffer buffer = {0};
    fg_status status = FG_STATUS_OK;
    int fd = open("/dev/zero", O_RDONLY), ended = 0;
    for (int i = 0; i < 10000 && status == FG_STATUS_OK; i++) {
        status = fg_line_fill(&buffer, fd, &ended);
    }
    cr_assert_eq(status, FG_STATUS_PROTOCOL);
    cr_assert_leq(buffer.capacity, 2 * FG_PROTOCOL_LINE);
    fg_line_free(&buffer);
    (void)close(fd);
}
