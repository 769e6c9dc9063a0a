#include "conformance/process/protocol_args_read.h"

#include "conformance/process/protocol_args.h"
#include "contract/alloc.h"
#include <string.h>

void fg_call_storage_free(fg_call_storage *storage) {
    for (int32_t i = 0; i < storage->block_count; i++) {
        fg_free(storage->blocks[i]);
    }
    storage->block_count = 0;
}

static fg_status storage_block(fg_call_storage *storage, size_t bytes, void **out) {
    if (storage->block_count == FG_CALL_BLOCKS) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "found more arrays than one call has");
    }
    void *block = fg_alloc(bytes, FG_ALLOC_GENERAL);
    if (block == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for %zu bytes of arguments", bytes);
    }
    storage->blocks[storage->block_count++] = block;
    *out = block;
    return FG_STATUS_OK;
}

/* Reads exactly `count` numbers, none below 0. */
static fg_status integers_read(const json_t *array, const char *name, int64_t count, int64_t *out) {
    if (!json_is_array(array) || (int64_t)json_array_size(array) != count) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "found %zu numbers for '%s', expected %lld",
                       json_array_size(array), name, (long long)count);
    }
    for (int64_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(array, (size_t)i);
        if (!json_is_integer(value)) {
            return FG_FAIL(FG_STATUS_PROTOCOL, "found a value that is no integer in '%s'", name);
        }
        out[i] = json_integer_value(value);
    }
    return FG_STATUS_OK;
}

static fg_status pointers_read(const json_t *array, const char *name, fg_call_storage *storage,
                               fg_tensor *tensor) {
    void *block = NULL;
    int64_t count = tensor->dims[0];
    if (!json_is_array(array) || (int64_t)json_array_size(array) != count) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "found %zu addresses for '%s', expected %lld",
                       json_array_size(array), name, (long long)count);
    }
    FG_TRY(storage_block(storage, (size_t)count * sizeof(void *), &block));
    void **addresses = block;
    for (int64_t e = 0; e < count; e++) {
        FG_TRY(fg_json_to_address(json_array_get(array, (size_t)e), storage->maps, name, 0,
                                  &addresses[e]));
    }
    tensor->data = addresses;
    return FG_STATUS_OK;
}

static fg_status tensor_geometry(const json_t *value, const char *name, fg_tensor *tensor) {
    const char *type = NULL;
    fg_dtype dtype = FG_F32;
    int64_t device = 0;
    const json_t *shape = json_object_get(value, "shape");
    size_t ndim = json_array_size(shape);
    FG_TRY(fg_json_string(value, "type", &type));
    FG_TRY(fg_dtype_from_name(type, &dtype));
    FG_TRY(fg_json_integer(value, "device", &device));
    if (ndim < 1 || ndim > FG_TENSOR_DIMS || device < -1 || device > INT32_MAX) {
        return FG_FAIL(FG_STATUS_PROTOCOL,
                       "found %zu dimensions on device %lld for '%s', expected 1 to 3 and -1 or up",
                       ndim, (long long)device, name);
    }
    *tensor = (fg_tensor){.struct_size = sizeof *tensor,
                          .dtype = (int32_t)dtype,
                          .ndim = (int32_t)ndim,
                          .device = (int32_t)device};
    FG_TRY(integers_read(shape, name, tensor->ndim, tensor->dims));
    FG_TRY(integers_read(json_object_get(value, "strides"), name, tensor->ndim, tensor->strides));
    for (int32_t d = 0; d < tensor->ndim; d++) {
        if (tensor->dims[d] < 0 || tensor->strides[d] < 0) {
            return FG_FAIL(FG_STATUS_PROTOCOL, "found a negative extent or stride in '%s'", name);
        }
    }
    return FG_STATUS_OK;
}

fg_status fg_json_to_tensor(const json_t *value, const char *name, fg_call_storage *storage,
                            const fg_tensor **out) {
    *out = NULL;
    if (value == NULL || json_is_null(value)) {
        return FG_STATUS_OK;
    }
    if (storage->tensor_count == FG_CALL_TENSORS) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "found more tensors than one call has");
    }
    fg_tensor *tensor = &storage->tensors[storage->tensor_count];
    FG_TRY(tensor_geometry(value, name, tensor));
    if (tensor->dtype == FG_POINTER) {
        FG_TRY(pointers_read(json_object_get(value, "pointers"), name, storage, tensor));
    } else {
        size_t span = 0;
        FG_TRY(fg_tensor_span(tensor, &span));
        FG_TRY(fg_json_to_address(json_object_get(value, "at"), storage->maps, name, span,
                                  &tensor->data));
    }
    storage->tensor_count++;
    *out = tensor;
    return FG_STATUS_OK;
}

static fg_status member_tensor(const json_t *object, const char *key, fg_call_storage *storage,
                               const fg_tensor **out) {
    return fg_json_to_tensor(json_object_get(object, key), key, storage, out);
}

fg_status fg_json_to_inputs(const json_t *value, fg_call_storage *storage) {
    fg_inputs *in = &storage->in;
    *in = (fg_inputs){.struct_size = sizeof *in};
    FG_TRY(fg_json_integer(value, "rows", &in->rows));
    for (int i = 0; i < FG_INPUTS; i++) {
        FG_TRY(member_tensor(value, fg_input_name(i), storage, &in->inputs[i]));
    }
    FG_TRY(member_tensor(value, "splits", storage, &in->splits));
    const json_t *splits = json_object_get(value, "splits_host");
    if (splits != NULL) {
        void *block = NULL;
        int64_t count = (int64_t)json_array_size(splits);
        FG_TRY(storage_block(storage, (size_t)count * sizeof(int64_t), &block));
        FG_TRY(integers_read(splits, "splits_host", count, block));
        in->splits_host = block;
    }
    return FG_STATUS_OK;
}

fg_status fg_json_to_grads(const json_t *value, fg_call_storage *storage,
                           const fg_tensor *grads[FG_INPUT_SLOTS]) {
    for (int i = 0; i < FG_INPUTS; i++) {
        FG_TRY(member_tensor(value, fg_grad_name(i), storage, &grads[i]));
    }
    return FG_STATUS_OK;
}

static fg_status quant_read(const json_t *value, fg_call_storage *storage, const fg_quant **out) {
    const json_t *scales = json_object_get(value, "scale"),
                 *maxima = json_object_get(value, "amax");
    *out = NULL;
    if (scales == NULL && maxima == NULL) {
        return FG_STATUS_OK;
    }
    storage->quant = (fg_quant){.struct_size = sizeof storage->quant};
    for (int r = 0; r < FG_ROLES; r++) {
        FG_TRY(member_tensor(scales, fg_role_names[r], storage, &storage->quant.scale[r]));
        FG_TRY(member_tensor(maxima, fg_role_names[r], storage, &storage->quant.amax[r]));
    }
    *out = &storage->quant;
    return FG_STATUS_OK;
}

fg_status fg_json_to_forward(const json_t *value, size_t saved_bytes, size_t scratch_bytes,
                             fg_call_storage *storage) {
    fg_forward_args *args = &storage->forward;
    *args = (fg_forward_args){.struct_size = sizeof *args, .in = &storage->in};
    FG_TRY(fg_json_to_inputs(json_object_get(value, "in"), storage));
    FG_TRY(member_tensor(value, "y1", storage, &args->y1));
    FG_TRY(member_tensor(value, "h", storage, &args->h));
    FG_TRY(member_tensor(value, "y", storage, &args->y));
    FG_TRY(fg_json_to_address(json_object_get(value, "saved"), storage->maps, "saved", saved_bytes,
                              &args->saved));
    FG_TRY(fg_json_to_address(json_object_get(value, "scratch"), storage->maps, "scratch",
                              scratch_bytes, &args->scratch));
    return quant_read(value, storage, &args->quant);
}

/* Reads a mask of 32 bits. */
static fg_status mask_read(const json_t *value, const char *key, uint32_t *out) {
    int64_t mask = 0;
    FG_TRY(fg_json_integer(value, key, &mask));
    if (mask < 0 || mask > UINT32_MAX) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "found %lld for '%s', expected 32 bits", (long long)mask,
                       key);
    }
    *out = (uint32_t)mask;
    return FG_STATUS_OK;
}

fg_status fg_json_to_backward(const json_t *value, size_t saved_bytes, size_t scratch_bytes,
                              fg_call_storage *storage) {
    fg_backward_args *args = &storage->backward;
    void *saved = NULL;
    *args = (fg_backward_args){.struct_size = sizeof *args, .in = &storage->in};
    FG_TRY(fg_json_to_inputs(json_object_get(value, "in"), storage));
    FG_TRY(member_tensor(value, "y1", storage, &args->y1));
    FG_TRY(member_tensor(value, "h", storage, &args->h));
    FG_TRY(member_tensor(value, "dy", storage, &args->dy));
    FG_TRY(member_tensor(value, "dh", storage, &args->dh));
    FG_TRY(member_tensor(value, "dy1", storage, &args->dy1));
    FG_TRY(mask_read(value, "mask", &args->mask));
    FG_TRY(mask_read(value, "accumulate", &args->accumulate));
    FG_TRY(fg_json_to_grads(json_object_get(value, "grads"), storage, args->grads));
    FG_TRY(fg_json_to_address(json_object_get(value, "saved"), storage->maps, "saved", saved_bytes,
                              &saved));
    args->saved = saved;
    FG_TRY(fg_json_to_address(json_object_get(value, "scratch"), storage->maps, "scratch",
                              scratch_bytes, &args->scratch));
    return quant_read(value, storage, &args->quant);
}
