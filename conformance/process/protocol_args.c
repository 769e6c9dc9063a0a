#include "conformance/process/protocol_args.h"

#include "contract/alloc.h"
#include <string.h>

/* Adds a member that a writer made; takes `value` in every case. */
static fg_status object_add(json_t *object, const char *key, json_t *value) {
    if (value == NULL || json_object_set_new(object, key, value) != 0) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for '%s'", key);
    }
    return FG_STATUS_OK;
}

static json_t *integers(const int64_t *values, int64_t count) {
    json_t *array = json_array();
    int failed = array == NULL;
    for (int64_t i = 0; i < count; i++) {
        failed |= json_array_append_new(array, json_integer(values[i])) != 0;
    }
    if (failed) {
        json_decref(array);
        return NULL;
    }
    return array;
}

static fg_status add_address(json_t *object, const fg_maps *maps, const char *key,
                             const void *address, size_t bytes) {
    json_t *place = NULL;
    FG_TRY(fg_json_from_address(maps, key, address, bytes, &place));
    return object_add(object, key, place);
}

static fg_status add_pointers(json_t *object, const fg_maps *maps, const char *name,
                              const fg_tensor *tensor) {
    json_t *array = json_array();
    FG_TRY(object_add(object, "pointers", array));
    void *const *addresses = tensor->data;
    for (int64_t e = 0; addresses != NULL && e < tensor->dims[0]; e++) {
        json_t *place = NULL;
        FG_TRY(fg_json_from_address(maps, name, addresses[e], 0, &place));
        if (json_array_append_new(array, place) != 0) {
            return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for '%s'", name);
        }
    }
    return FG_STATUS_OK;
}

static fg_status tensor_members(json_t *object, const fg_maps *maps, const char *name,
                                const fg_tensor *tensor) {
    if (fg_dtype_size((fg_dtype)tensor->dtype) == 0 || tensor->ndim < 1 ||
        tensor->ndim > FG_TENSOR_DIMS) {
        return FG_FAIL(FG_STATUS_INVALID,
                       "found type %d and %d dimensions for '%s', expected a type and 1 to 3",
                       (int)tensor->dtype, (int)tensor->ndim, name);
    }
    FG_TRY(object_add(object, "type", json_string(fg_dtype_name((fg_dtype)tensor->dtype))));
    FG_TRY(object_add(object, "shape", integers(tensor->dims, tensor->ndim)));
    FG_TRY(object_add(object, "strides", integers(tensor->strides, tensor->ndim)));
    FG_TRY(object_add(object, "device", json_integer(tensor->device)));
    if (tensor->dtype == FG_POINTER) {
        return add_pointers(object, maps, name, tensor);
    }
    size_t span = 0;
    FG_TRY(fg_tensor_span(tensor, &span));
    json_t *place = NULL;
    FG_TRY(fg_json_from_address(maps, name, tensor->data, span, &place));
    return object_add(object, "at", place);
}

/* Hands the object over when its members were made, else releases it. */
static fg_status object_done(fg_status status, json_t *object, json_t **out) {
    if (status != FG_STATUS_OK) {
        json_decref(object);
        object = NULL;
    }
    *out = object;
    return status;
}

fg_status fg_json_from_tensor(const fg_maps *maps, const char *name, const fg_tensor *tensor,
                              json_t **out) {
    if (tensor == NULL) {
        *out = json_null();
        return FG_STATUS_OK;
    }
    json_t *object = json_object();
    return object_done(tensor_members(object, maps, name, tensor), object, out);
}

static fg_status add_tensor(json_t *object, const fg_maps *maps, const char *key,
                            const fg_tensor *tensor) {
    if (tensor == NULL) {
        return FG_STATUS_OK;
    }
    json_t *value = NULL;
    FG_TRY(fg_json_from_tensor(maps, key, tensor, &value));
    return object_add(object, key, value);
}

static fg_status inputs_members(json_t *object, const fg_maps *maps, const fg_inputs *in) {
    FG_TRY(object_add(object, "rows", json_integer(in->rows)));
    for (int i = 0; i < FG_INPUTS; i++) {
        FG_TRY(add_tensor(object, maps, fg_input_name(i), in->inputs[i]));
    }
    FG_TRY(add_tensor(object, maps, "splits", in->splits));
    if (in->splits_host != NULL && in->splits != NULL) {
        FG_TRY(object_add(object, "splits_host", integers(in->splits_host, in->splits->dims[0])));
    }
    return FG_STATUS_OK;
}

fg_status fg_json_from_inputs(const fg_maps *maps, const fg_inputs *in, json_t **out) {
    json_t *object = json_object();
    return object_done(inputs_members(object, maps, in), object, out);
}

fg_status fg_json_from_grads(const fg_maps *maps, const fg_tensor *const grads[FG_INPUT_SLOTS],
                             json_t **out) {
    json_t *object = json_object();
    fg_status status = object != NULL ? FG_STATUS_OK : FG_FAIL(FG_STATUS_NO_MEMORY, "no memory");
    for (int i = 0; status == FG_STATUS_OK && i < FG_INPUTS; i++) {
        status = add_tensor(object, maps, fg_grad_name(i), grads[i]);
    }
    return object_done(status, object, out);
}

const char *const fg_role_names[FG_ROLES] = {"x", "w1", "h", "w2", "dy", "dy1"};

static fg_status add_quant(json_t *object, const fg_maps *maps, const fg_quant *quant) {
    if (quant == NULL) {
        return FG_STATUS_OK;
    }
    json_t *scales = json_object(), *maxima = json_object();
    fg_status status = object_add(object, "scale", scales);
    fg_status other = object_add(object, "amax", maxima);
    FG_TRY(status);
    FG_TRY(other);
    for (int r = 0; r < FG_ROLES; r++) {
        FG_TRY(add_tensor(scales, maps, fg_role_names[r], quant->scale[r]));
        FG_TRY(add_tensor(maxima, maps, fg_role_names[r], quant->amax[r]));
    }
    return FG_STATUS_OK;
}

static fg_status add_inputs(json_t *object, const fg_maps *maps, const fg_inputs *in) {
    json_t *inputs = NULL;
    FG_TRY(fg_json_from_inputs(maps, in, &inputs));
    return object_add(object, "in", inputs);
}

static fg_status forward_members(json_t *object, const fg_maps *maps, const fg_forward_args *args) {
    FG_TRY(add_inputs(object, maps, args->in));
    FG_TRY(add_tensor(object, maps, "y1", args->y1));
    FG_TRY(add_tensor(object, maps, "h", args->h));
    FG_TRY(add_tensor(object, maps, "y", args->y));
    FG_TRY(add_address(object, maps, "saved", args->saved, 0));
    FG_TRY(add_address(object, maps, "scratch", args->scratch, 0));
    return add_quant(object, maps, args->quant);
}

fg_status fg_json_from_forward(const fg_maps *maps, const fg_forward_args *args, json_t **out) {
    json_t *object = json_object();
    return object_done(forward_members(object, maps, args), object, out);
}

static fg_status backward_members(json_t *object, const fg_maps *maps,
                                  const fg_backward_args *args) {
    FG_TRY(add_inputs(object, maps, args->in));
    FG_TRY(add_tensor(object, maps, "y1", args->y1));
    FG_TRY(add_tensor(object, maps, "h", args->h));
    FG_TRY(add_tensor(object, maps, "dy", args->dy));
    FG_TRY(add_tensor(object, maps, "dh", args->dh));
    FG_TRY(add_tensor(object, maps, "dy1", args->dy1));
    FG_TRY(object_add(object, "mask", json_integer(args->mask)));
    FG_TRY(object_add(object, "accumulate", json_integer(args->accumulate)));
    json_t *grads = NULL;
    FG_TRY(fg_json_from_grads(maps, args->grads, &grads));
    FG_TRY(object_add(object, "grads", grads));
    FG_TRY(add_address(object, maps, "saved", args->saved, 0));
    FG_TRY(add_address(object, maps, "scratch", args->scratch, 0));
    return add_quant(object, maps, args->quant);
}

fg_status fg_json_from_backward(const fg_maps *maps, const fg_backward_args *args, json_t **out) {
    json_t *object = json_object();
    return object_done(backward_members(object, maps, args), object, out);
}
