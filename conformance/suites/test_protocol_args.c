#include "conformance/process/protocol_args.h"
#include "conformance/process/protocol_args_read.h"
#include "contract/alloc.h"

#include <criterion/criterion.h>
#include <string.h>

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

Test(protocol_args, an_address_becomes_the_same_place_over_there) {
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

Test(protocol_args, an_address_outside_the_mappings_is_refused) {
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

Test(protocol_args, a_place_that_is_none_is_refused) {
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

Test(protocol_args, a_tensor_comes_back_with_its_strides_and_device) {
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

Test(protocol_args, a_tensor_that_passes_its_mapping_is_refused) {
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

Test(protocol_args, addresses_of_experts_are_translated_one_by_one) {
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

Test(protocol_args, every_argument_of_a_forward_comes_back) {
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

Test(protocol_args, every_argument_of_a_backward_comes_back) {
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

Test(protocol_args, buffers_too_small_for_the_kernel_are_refused) {
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

Test(protocol_args, any_allocation_may_fail) {
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
