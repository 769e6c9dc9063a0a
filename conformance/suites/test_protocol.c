#include "conformance/protocol_args.h"
#include "conformance/protocol_args_read.h"
#include "conformance/protocol_fields.h"
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

/* Two mappings that stand for shared memory, here and, by the same paths, in the other process. */
typedef struct both_ends {
    fg_maps here, there;
    _Alignas(64) unsigned char mine[2][4096], theirs[2][4096];
} both_ends;

static void both_open(both_ends *ends) {
    memset(ends, 0, sizeof *ends);
    for (int m = 0; m < 2; m++) {
        const char *path = m == 0 ? "/dev/shm/a" : "/dev/shm/b";
        cr_assert_eq(fg_maps_add(&ends->here, path, ends->mine[m], 4096), FG_STATUS_OK);
        cr_assert_eq(fg_maps_add(&ends->there, path, ends->theirs[m], 4096), FG_STATUS_OK);
    }
}

static void both_close(both_ends *ends) {
    fg_maps_free(&ends->here);
    fg_maps_free(&ends->there);
}

Test(protocol, an_address_becomes_the_same_place_over_there) {
    both_ends ends;
    both_open(&ends);
    for (int m = 0; m < 2; m++) {
        void *back = NULL;
        json_t *place = NULL;
        cr_assert_eq(fg_json_from_address(&ends.here, "p", ends.mine[m] + 96, 4000, &place),
                     FG_STATUS_OK);
        cr_assert_eq(fg_json_to_address(place, &ends.there, "p", 4000, &back), FG_STATUS_OK);
        cr_assert_eq(back, (void *)(ends.theirs[m] + 96));
        cr_assert_eq(fg_json_to_address(place, &ends.there, "p", 4001, &back), FG_STATUS_PROTOCOL,
                     "one byte past the end");
        json_decref(place);
    }
    void *none = ends.mine;
    json_t *null = NULL;
    cr_assert_eq(fg_json_from_address(&ends.here, "p", NULL, 0, &null), FG_STATUS_OK);
    cr_assert_eq(fg_json_to_address(null, &ends.there, "p", 8, &none), FG_STATUS_OK);
    cr_assert_null(none);
    json_decref(null);
    both_close(&ends);
}

Test(protocol, an_address_outside_the_mappings_is_refused) {
    both_ends ends;
    json_t *place = NULL;
    int local = 0;
    both_open(&ends);
    cr_assert_eq(fg_json_from_address(&ends.here, "dw1", &local, 4, &place), FG_STATUS_INVALID);
    cr_assert_not_null(strstr(fg_message(), "dw1"));
    cr_assert_eq(fg_json_from_address(&ends.here, "dw1", ends.mine[1] + 4090, 7, &place),
                 FG_STATUS_INVALID);
    cr_assert_eq(fg_maps_add(&ends.here, "/dev/shm/a", ends.mine[0], 1), FG_STATUS_INVALID);
    fg_maps_remove(&ends.here, "/dev/shm/a");
    cr_assert_eq(fg_json_from_address(&ends.here, "x", ends.mine[0], 1, &place), FG_STATUS_INVALID);
    cr_assert_null(place);
    both_close(&ends);
}

Test(protocol, a_place_that_is_none_is_refused) {
    static const char *const wrong[] = {
        "{\"map\":\"/dev/shm/c\",\"offset\":0}", "{\"map\":\"/dev/shm/a\",\"offset\":-1}",
        "{\"map\":\"/dev/shm/a\",\"offset\":4097}", "{\"map\":\"/dev/shm/a\"}", "{\"offset\":0}"};
    both_ends ends;
    both_open(&ends);
    for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; w++) {
        void *back = NULL;
        json_t *place = NULL;
        cr_assert_eq(fg_protocol_parse(wrong[w], strlen(wrong[w]), &place), FG_STATUS_OK);
        cr_assert_eq(fg_json_to_address(place, &ends.there, "p", 1, &back), FG_STATUS_PROTOCOL,
                     "%s", wrong[w]);
        cr_assert_null(back);
        json_decref(place);
    }
    both_close(&ends);
}

Test(protocol, a_tensor_comes_back_with_its_strides_and_device) {
    both_ends ends;
    both_open(&ends);
    const int64_t dims[3] = {2, 3, 5};
    fg_call_storage storage = {.maps = &ends.there};
    const fg_tensor *back = NULL;
    json_t *value = NULL;
    fg_tensor tensor = fg_tensor_tight(ends.mine[1] + 64, FG_BF16, 1, 3, dims);
    tensor.strides[0] = 40;
    tensor.strides[1] = 8;
    cr_assert_eq(fg_json_from_tensor(&ends.here, "w1", &tensor, &value), FG_STATUS_OK);
    cr_assert_eq(fg_json_to_tensor(value, "w1", &storage, &back), FG_STATUS_OK);
    fg_tensor expected = tensor;
    expected.data = ends.theirs[1] + 64;
    cr_assert_eq(memcmp(back, &expected, sizeof expected), 0);
    json_decref(value);
    fg_call_storage_free(&storage);
    both_close(&ends);
}

Test(protocol, a_tensor_that_passes_its_mapping_is_refused) {
    both_ends ends;
    both_open(&ends);
    const int64_t dims[2] = {32, 32};
    json_t *value = NULL;
    fg_tensor tensor = fg_tensor_tight(ends.mine[0] + 4, FG_F32, -1, 2, dims);
    cr_assert_eq(fg_json_from_tensor(&ends.here, "x", &tensor, &value), FG_STATUS_INVALID);
    tensor.data = ends.mine[0];
    cr_assert_eq(fg_json_from_tensor(&ends.here, "x", &tensor, &value), FG_STATUS_OK);
    static const struct {
        const char *key, *json;
    } changes[] = {{"shape", "[32, 33]"},     {"shape", "[32]"},      {"shape", "[32, -1]"},
                   {"shape", "[1, 1, 1, 1]"}, {"strides", "[33, 1]"}, {"strides", "[-32, 1]"},
                   {"type", "\"f8\""},        {"device", "-2"},       {"device", "\"0\""}};
    for (size_t c = 0; c < sizeof changes / sizeof changes[0]; c++) {
        fg_call_storage storage = {.maps = &ends.there};
        const fg_tensor *back = NULL;
        json_t *wrong = json_copy(value);
        cr_assert_eq(json_object_set_new(wrong, changes[c].key,
                                         json_loads(changes[c].json, JSON_DECODE_ANY, NULL)),
                     0);
        cr_assert_neq(fg_json_to_tensor(wrong, "x", &storage, &back), FG_STATUS_OK, "%s %s",
                      changes[c].key, changes[c].json);
        cr_assert_null(back);
        json_decref(wrong);
        fg_call_storage_free(&storage);
    }
    json_decref(value);
    both_close(&ends);
}

Test(protocol, addresses_of_experts_are_translated_one_by_one) {
    both_ends ends;
    both_open(&ends);
    void *addresses[3] = {ends.mine[0] + 128, ends.mine[1] + 64, ends.mine[0]};
    const int64_t experts = 3;
    fg_call_storage storage = {.maps = &ends.there};
    const fg_tensor *back = NULL;
    json_t *value = NULL;
    fg_tensor tensor = fg_tensor_tight(addresses, FG_POINTER, -1, 1, &experts);
    cr_assert_eq(fg_json_from_tensor(&ends.here, "w1", &tensor, &value), FG_STATUS_OK);
    cr_assert_eq(fg_json_to_tensor(value, "w1", &storage, &back), FG_STATUS_OK);
    void *const *there = back->data;
    cr_assert_eq(there[0], (void *)(ends.theirs[0] + 128));
    cr_assert_eq(there[1], (void *)(ends.theirs[1] + 64));
    cr_assert_eq(there[2], (void *)ends.theirs[0]);
    json_decref(value);
    fg_call_storage_free(&storage);
    both_close(&ends);
}

/* A forward and a backward with something in every place. */
typedef struct whole_call {
    fg_tensor tensors[40];
    int64_t splits[2];
    fg_inputs in;
    fg_quant quant;
    fg_forward_args forward;
    fg_backward_args backward;
} whole_call;

static const fg_tensor *next_tensor(whole_call *call, both_ends *ends, int *count) {
    const int64_t dims[1] = {2};
    fg_tensor *tensor = &call->tensors[*count];
    *tensor = fg_tensor_tight(ends->mine[0] + 16 * *count, FG_F32, -1, 1, dims);
    *count += 1;
    return tensor;
}

static void whole_call_make(whole_call *call, both_ends *ends) {
    int count = 0;
    memset(call, 0, sizeof *call);
    call->splits[0] = 5;
    call->in = (fg_inputs){.struct_size = sizeof call->in, .rows = 7, .splits_host = call->splits};
    call->forward = (fg_forward_args){.struct_size = sizeof call->forward, .in = &call->in};
    call->backward = (fg_backward_args){.struct_size = sizeof call->backward,
                                        .in = &call->in,
                                        .mask = 0x81u,
                                        .accumulate = 0x12u,
                                        .saved = ends->mine[1] + 64,
                                        .scratch = ends->mine[1] + 512};
    for (int i = 0; i < FG_INPUTS; i++) {
        call->in.inputs[i] = next_tensor(call, ends, &count);
        call->backward.grads[i] = next_tensor(call, ends, &count);
    }
    call->in.splits = next_tensor(call, ends, &count);
    call->quant.struct_size = sizeof call->quant;
    call->quant.scale[FG_ROLE_W2] = next_tensor(call, ends, &count);
    call->quant.amax[FG_ROLE_DY] = next_tensor(call, ends, &count);
    call->forward.y1 = call->backward.y1 = next_tensor(call, ends, &count);
    call->forward.h = call->backward.h = next_tensor(call, ends, &count);
    call->forward.y = next_tensor(call, ends, &count);
    call->backward.dy = next_tensor(call, ends, &count);
    call->backward.dh = next_tensor(call, ends, &count);
    call->backward.dy1 = next_tensor(call, ends, &count);
    call->forward.saved = ends->mine[1] + 64;
    call->forward.scratch = ends->mine[1] + 512;
    call->forward.quant = call->backward.quant = &call->quant;
}

static void same_place(const both_ends *ends, const fg_tensor *sent, const fg_tensor *got) {
    cr_assert_not_null(got);
    cr_assert_eq((unsigned char *)got->data - ends->theirs[0],
                 (unsigned char *)sent->data - ends->mine[0]);
}

Test(protocol, every_argument_of_a_forward_comes_back) {
    both_ends ends;
    whole_call call;
    json_t *value = NULL;
    both_open(&ends);
    whole_call_make(&call, &ends);
    fg_call_storage storage = {.maps = &ends.there};
    cr_assert_eq(fg_json_from_forward(&ends.here, &call.forward, &value), FG_STATUS_OK);
    cr_assert_eq(fg_json_to_forward(value, 64, 64, &storage), FG_STATUS_OK, "%s", fg_message());
    const fg_forward_args *got = &storage.forward;
    cr_assert_eq(got->struct_size, sizeof *got);
    cr_assert_eq(got->in->rows, 7);
    cr_assert_eq(got->in->splits_host[0], 5);
    for (int i = 0; i < FG_INPUTS; i++) {
        same_place(&ends, call.in.inputs[i], got->in->inputs[i]);
    }
    same_place(&ends, call.in.splits, got->in->splits);
    same_place(&ends, call.forward.y1, got->y1);
    same_place(&ends, call.forward.h, got->h);
    same_place(&ends, call.forward.y, got->y);
    same_place(&ends, call.quant.scale[FG_ROLE_W2], got->quant->scale[FG_ROLE_W2]);
    same_place(&ends, call.quant.amax[FG_ROLE_DY], got->quant->amax[FG_ROLE_DY]);
    cr_assert_null(got->quant->scale[FG_ROLE_X]);
    cr_assert_eq(got->saved, (void *)(ends.theirs[1] + 64));
    cr_assert_eq(got->scratch, (void *)(ends.theirs[1] + 512));
    json_decref(value);
    fg_call_storage_free(&storage);
    both_close(&ends);
}

Test(protocol, every_argument_of_a_backward_comes_back) {
    both_ends ends;
    whole_call call;
    json_t *value = NULL;
    both_open(&ends);
    whole_call_make(&call, &ends);
    fg_call_storage storage = {.maps = &ends.there};
    cr_assert_eq(fg_json_from_backward(&ends.here, &call.backward, &value), FG_STATUS_OK);
    cr_assert_eq(fg_json_to_backward(value, 64, 64, &storage), FG_STATUS_OK, "%s", fg_message());
    const fg_backward_args *got = &storage.backward;
    cr_assert_eq(got->mask, 0x81u);
    cr_assert_eq(got->accumulate, 0x12u);
    for (int i = 0; i < FG_INPUTS; i++) {
        same_place(&ends, call.in.inputs[i], got->in->inputs[i]);
        same_place(&ends, call.backward.grads[i], got->grads[i]);
    }
    same_place(&ends, call.backward.dy, got->dy);
    same_place(&ends, call.backward.dh, got->dh);
    same_place(&ends, call.backward.dy1, got->dy1);
    cr_assert_eq(got->saved, (const void *)(ends.theirs[1] + 64));
    cr_assert_eq(got->scratch, (void *)(ends.theirs[1] + 512));
    json_decref(value);
    fg_call_storage_free(&storage);
    both_close(&ends);
}

Test(protocol, buffers_too_small_for_the_kernel_are_refused) {
    both_ends ends;
    whole_call call;
    json_t *value = NULL;
    both_open(&ends);
    whole_call_make(&call, &ends);
    cr_assert_eq(fg_json_from_backward(&ends.here, &call.backward, &value), FG_STATUS_OK);
    fg_call_storage saved = {.maps = &ends.there}, scratch = {.maps = &ends.there};
    cr_assert_eq(fg_json_to_backward(value, 4096, 0, &saved), FG_STATUS_PROTOCOL);
    cr_assert_not_null(strstr(fg_message(), "saved"));
    cr_assert_eq(fg_json_to_backward(value, 0, 4096, &scratch), FG_STATUS_PROTOCOL);
    cr_assert_not_null(strstr(fg_message(), "scratch"));
    json_decref(value);
    fg_call_storage_free(&saved);
    fg_call_storage_free(&scratch);
    both_close(&ends);
}

/* Writes a call as a line and reads it again. */
static fg_status there_and_back(both_ends *ends, const whole_call *call) {
    json_t *value = NULL, *read = NULL;
    char *line = NULL;
    size_t length = 0;
    fg_call_storage storage = {.maps = &ends->there};
    fg_status status = fg_json_from_backward(&ends->here, &call->backward, &value);
    if (status == FG_STATUS_OK) {
        status = fg_protocol_dump(value, &line, &length);
    }
    if (status == FG_STATUS_OK) {
        status = fg_protocol_parse(line, length - 1, &read);
    }
    if (status == FG_STATUS_OK) {
        status = fg_json_to_backward(read, 0, 0, &storage);
    }
    json_decref(value);
    json_decref(read);
    fg_free(line);
    fg_call_storage_free(&storage);
    return status;
}

Test(protocol, any_allocation_may_fail) {
    both_ends ends;
    whole_call call;
    fg_protocol_use_allocator();
    both_open(&ends);
    whole_call_make(&call, &ends);
    int64_t before = fg_alloc_calls();
    cr_assert_eq(there_and_back(&ends, &call), FG_STATUS_OK);
    int64_t calls = fg_alloc_calls() - before;
    cr_assert_gt(calls, 50);
    size_t live = fg_alloc_live_total();
    for (int64_t n = 1; n <= calls; n++) {
        fg_alloc_fail_at(n);
        cr_assert_eq(there_and_back(&ends, &call), FG_STATUS_NO_MEMORY, "allocation %lld of %lld",
                     (long long)n, (long long)calls);
        cr_assert_eq(fg_alloc_live_total(), live, "allocation %lld leaks", (long long)n);
    }
    fg_alloc_fail_at(0);
    both_close(&ends);
}
