#include "conformance/worker/backend_calls.h"

#include "conformance/process/protocol_fields.h"
#include "conformance/process/shm.h"
#include "conformance/worker/loader.h"
#include "conformance/worker/recorder.h"
#include "contract/alloc.h"
#include <stdio.h>
#include <string.h>

typedef struct held_kernel {
    fg_kernel *kernel;
    fg_session_device *device;
    fg_problem problem;
} held_kernel;

fg_status fg_reply_add(json_t *reply, const char *key, json_t *value) {
    if (value == NULL || json_object_set_new(reply, key, value) != 0) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for '%s' of a reply", key);
    }
    return FG_STATUS_OK;
}

fg_status fg_request_int32(const json_t *request, const char *key, int32_t fallback, int32_t *out) {
    int64_t number = fallback;
    if (json_object_get(request, key) != NULL) {
        FG_TRY(fg_json_integer(request, key, &number));
    }
    if (number < INT32_MIN || number > INT32_MAX) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "found %lld for '%s', expected 32 bits",
                       (long long)number, key);
    }
    *out = (int32_t)number;
    return FG_STATUS_OK;
}

/* The judge's backend; FG_STATUS_PROTOCOL before a load. */
static fg_status loaded(fg_session *session, fg_session_backend **out) {
    if (session->backends[0].what[0] == '\0') {
        return FG_FAIL(FG_STATUS_PROTOCOL, "found a call of a backend before one was loaded");
    }
    *out = &session->backends[0];
    return FG_STATUS_OK;
}

/* The backend that a request names, or the judge's. */
static fg_status request_backend(fg_session *session, const json_t *request,
                                 fg_session_backend **out) {
    const char *what = json_string_value(json_object_get(request, "backend"));
    return what != NULL ? fg_session_backend_of(session, what, out) : loaded(session, out);
}

/* The device that a request names, of the judge's backend or of the one it names. */
static fg_status request_device(fg_session *session, const json_t *request,
                                fg_session_backend **backend, fg_session_device **device) {
    int32_t index = -1;
    FG_TRY(request_backend(session, request, backend));
    FG_TRY(fg_request_int32(request, "device", -1, &index));
    return fg_session_device_of(session, *backend, index, device);
}

static fg_status request_kernel(fg_session *session, const json_t *request, int64_t *id,
                                held_kernel **out) {
    void *item = NULL;
    FG_TRY(fg_json_integer(request, "kernel", id));
    FG_TRY(fg_handles_get(&session->kernels, "kernel", *id, &item));
    *out = item;
    return FG_STATUS_OK;
}

static fg_status call_load(fg_session *session, const json_t *request, json_t *reply) {
    (void)reply;
    fg_session_backend *backend = NULL;
    const char *what = json_string_value(json_object_get(request, "backend"));
    const char *executor = json_string_value(json_object_get(request, "executor"));
    if (what != NULL) {
        FG_TRY(fg_session_backend_of(session, what, &backend));
    }
    if (executor != NULL) {
        fg_session_enter(session);
        fg_status status = fg_load_executor(executor, &session->host, &session->executor);
        fg_session_leave(session);
        FG_TRY(status);
    }
    return FG_STATUS_OK;
}

static fg_status call_share(fg_session *session, const json_t *request, json_t *reply) {
    (void)reply;
    const char *path = NULL;
    int64_t bytes = 0;
    fg_shm shm;
    FG_TRY(fg_json_string(request, "map", &path));
    FG_TRY(fg_json_integer(request, "bytes", &bytes));
    if (bytes <= 0) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "found %lld bytes to share, expected some",
                       (long long)bytes);
    }
    FG_TRY(fg_shm_open(path, (size_t)bytes, &shm));
    fg_status status = fg_maps_add(&session->maps, path, shm.base, shm.bytes);
    if (status != FG_STATUS_OK) {
        fg_shm_close(&shm);
    }
    return status;
}

static fg_status call_unshare(fg_session *session, const json_t *request, json_t *reply) {
    (void)reply;
    const char *path = NULL;
    FG_TRY(fg_json_string(request, "map", &path));
    fg_session_unmap(session, path);
    return FG_STATUS_OK;
}

static fg_status call_outside(fg_session *session, const json_t *request, json_t *reply) {
    (void)request;
    fg_outside_counts counts = {.stream_lookups = session->stream_lookups,
                                .current_device_queries = session->current_device_queries,
                                .kernels_created = FG_NOT_GIVEN,
                                .kernels_destroyed = FG_NOT_GIVEN,
                                .forwards = FG_NOT_GIVEN,
                                .backwards = FG_NOT_GIVEN,
                                .saving_forwards = FG_NOT_GIVEN,
                                .streams_seen = FG_NOT_GIVEN,
                                .last_forward_kernel = FG_NOT_GIVEN,
                                .last_backward_kernel = FG_NOT_GIVEN,
                                .blocks_live = FG_NOT_GIVEN};
    for (int b = 0; b < FG_SESSION_BACKENDS; b++) {
        if (strcmp(session->backends[b].what, "recorder") == 0) {
            fg_recorder_counts(&counts);
        }
    }
    return fg_reply_add(reply, "counts", fg_json_from_struct(&fg_outside_fields, &counts));
}

static fg_status call_device_open(fg_session *session, const json_t *request, json_t *reply) {
    (void)reply;
    fg_session_backend *backend = NULL;
    fg_session_device *device = NULL;
    int32_t index = -1;
    FG_TRY(request_backend(session, request, &backend));
    FG_TRY(fg_request_int32(request, "device", -1, &index));
    return fg_session_device_open(session, backend, index, &device);
}

static fg_status call_traits(fg_session *session, const json_t *request, json_t *reply) {
    fg_session_backend *backend = NULL;
    fg_session_device *device = NULL;
    FG_TRY(request_device(session, request, &backend, &device));
    return fg_reply_add(reply, "traits", fg_json_from_struct(&fg_traits_fields, &device->traits));
}

static fg_status request_problem(const json_t *request, fg_problem *problem, fg_recipe *recipe) {
    FG_TRY(fg_json_to_struct(json_object_get(request, "problem"), &fg_problem_fields, problem));
    return fg_json_to_struct(json_object_get(request, "recipe"), &fg_recipe_fields, recipe);
}

static fg_status call_supports(fg_session *session, const json_t *request, json_t *reply) {
    (void)reply;
    fg_session_backend *backend = NULL;
    fg_session_device *device = NULL;
    fg_problem problem;
    fg_recipe recipe;
    char reason[FG_REASON_SIZE + 1] = "";
    FG_TRY(request_device(session, request, &backend, &device));
    FG_TRY(request_problem(request, &problem, &recipe));
    fg_session_enter(session);
    fg_status status = backend->api.supports(device->device, &problem, &recipe, reason);
    fg_session_leave(session);
    reason[FG_REASON_SIZE] = '\0';
    if (status == FG_STATUS_UNSUPPORTED && reason[0] != '\0') {
        return FG_FAIL(status, "%s", reason);
    }
    return fg_session_backend_status(backend, device, status);
}

static fg_status call_kernel_create(fg_session *session, const json_t *request, json_t *reply) {
    fg_session_backend *backend = NULL;
    fg_session_device *device = NULL;
    fg_problem problem;
    fg_recipe recipe;
    int64_t id = 0;
    FG_TRY(request_device(session, request, &backend, &device));
    FG_TRY(request_problem(request, &problem, &recipe));
    held_kernel *held = fg_alloc(sizeof *held, FG_ALLOC_GENERAL);
    if (held == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for a kernel");
    }
    held->device = device;
    held->problem = problem;
    fg_session_enter(session);
    fg_status status = backend->api.kernel_create(device->device, &problem, &recipe, &held->kernel);
    fg_session_leave(session);
    status = fg_session_backend_status(backend, device, status);
    if (status == FG_STATUS_OK) {
        status = fg_handles_add(&session->kernels, held, &id);
        if (status != FG_STATUS_OK) {
            backend->api.kernel_destroy(held->kernel);
        }
    }
    if (status != FG_STATUS_OK) {
        fg_free(held);
        return status;
    }
    return fg_reply_add(reply, "kernel", json_integer(id));
}

static fg_status call_kernel_destroy(fg_session *session, const json_t *request, json_t *reply) {
    (void)reply;
    held_kernel *held = NULL;
    int64_t id = 0;
    FG_TRY(request_kernel(session, request, &id, &held));
    fg_session_enter(session);
    session->backends[0].api.kernel_destroy(held->kernel);
    fg_session_leave(session);
    fg_handles_drop(&session->kernels, id);
    fg_free(held);
    return FG_STATUS_OK;
}

/* Refuses sizes that no call of this problem can need, before anyone tries to have so much: 1 GiB
 * and 64 numbers of 8 bytes for each element of weights and rows. */
static fg_status sizes_check(const fg_problem *problem, int64_t rows,
                             const fg_kernel_sizes *sizes) {
    const double weights = 3.0 * (double)problem->experts * (double)problem->hidden;
    const double elements = weights * (double)problem->inter +
                            (double)rows * (double)(2 * problem->hidden + 3 * problem->inter);
    const double most = 0x1p30 + 512 * elements;
    if (!((double)sizes->saved <= most && (double)sizes->scratch_forward <= most &&
          (double)sizes->scratch_backward <= most)) {
        return FG_FAIL(FG_STATUS_OVERFLOW,
                       "found sizes saved %zu, scratch_forward %zu, scratch_backward %zu of the "
                       "backend, expected at most %.0f bytes each for %lld rows",
                       sizes->saved, sizes->scratch_forward, sizes->scratch_backward, most,
                       (long long)rows);
    }
    return FG_STATUS_OK;
}

static fg_status kernel_sizes(fg_session *session, const held_kernel *held, int64_t rows,
                              fg_kernel_sizes *out) {
    fg_session_backend *backend = &session->backends[0];
    *out = (fg_kernel_sizes){.struct_size = sizeof *out};
    fg_session_enter(session);
    fg_status status = backend->api.kernel_sizes(held->kernel, rows, out);
    fg_session_leave(session);
    FG_TRY(fg_session_backend_status(backend, held->device, status));
    return sizes_check(&held->problem, rows, out);
}

static fg_status call_kernel_sizes(fg_session *session, const json_t *request, json_t *reply) {
    held_kernel *held = NULL;
    int64_t id = 0, rows = 0;
    fg_kernel_sizes sizes;
    FG_TRY(request_kernel(session, request, &id, &held));
    FG_TRY(fg_json_integer(request, "rows", &rows));
    FG_TRY(kernel_sizes(session, held, rows, &sizes));
    return fg_reply_add(reply, "sizes", fg_json_from_struct(&fg_kernel_sizes_fields, &sizes));
}

/* Runs a forward or backward whose arguments were read, on a stream of its own, and waits. */
static fg_status kernel_run(fg_session *session, const held_kernel *held,
                            const fg_call_storage *storage, int backward) {
    fg_session_backend *backend = &session->backends[0];
    fg_session_device *device = held->device;
    fg_stream stream = NULL;
    fg_status status = backend->api.stream_create(device->device, &stream);
    FG_TRY(fg_session_backend_status(backend, device, status));
    fg_session_enter(session);
    status = backward ? backend->api.mlp_backward(held->kernel, &storage->backward, stream)
                      : backend->api.mlp_forward(held->kernel, &storage->forward, stream);
    status = fg_session_backend_status(backend, device, status);
    fg_status later = backend->api.stream_sync(device->device, stream);
    if (status == FG_STATUS_OK) {
        status = fg_session_backend_status(backend, device, later);
    }
    fg_session_leave(session);
    backend->api.stream_destroy(device->device, stream);
    return status;
}

static fg_status kernel_call(fg_session *session, const json_t *request, fg_call_storage *storage,
                             int backward) {
    held_kernel *held = NULL;
    int64_t id = 0, rows = 0;
    fg_kernel_sizes sizes;
    fg_session_backend *backend = &session->backends[0];
    const json_t *args = json_object_get(request, "args");
    FG_TRY(request_kernel(session, request, &id, &held));
    FG_TRY(fg_json_integer(json_object_get(args, "in"), "rows", &rows));
    FG_TRY(kernel_sizes(session, held, rows, &sizes));
    FG_TRY(fg_session_maps_in(session, backend, held->device, &storage->maps));
    FG_TRY(backward ? fg_json_to_backward(args, sizes.saved, sizes.scratch_backward, storage)
                    : fg_json_to_forward(args, sizes.saved, sizes.scratch_forward, storage));
    FG_TRY(fg_session_addresses_in(backend, held->device, storage));
    fg_status status = kernel_run(session, held, storage, backward);
    fg_status copied = fg_session_maps_out(session, backend, held->device);
    return status != FG_STATUS_OK ? status : copied;
}

static fg_status call_forward(fg_session *session, const json_t *request, json_t *reply) {
    (void)reply;
    fg_call_storage storage = {0};
    fg_status status = kernel_call(session, request, &storage, 0);
    fg_call_storage_free(&storage);
    return status;
}

static fg_status call_backward(fg_session *session, const json_t *request, json_t *reply) {
    (void)reply;
    fg_call_storage storage = {0};
    fg_status status = kernel_call(session, request, &storage, 1);
    fg_call_storage_free(&storage);
    return status;
}

static fg_status call_saved_release(fg_session *session, const json_t *request, json_t *reply) {
    (void)reply;
    held_kernel *held = NULL;
    int64_t id = 0;
    void *saved = NULL;
    FG_TRY(request_kernel(session, request, &id, &held));
    const fg_maps *maps =
        held->device->traits.memory == FG_MEMORY_HOST ? &session->maps : &held->device->mirrors;
    FG_TRY(fg_json_to_address(json_object_get(request, "saved"), maps, "saved", 0, &saved));
    if (session->backends[0].api.saved_release != NULL) {
        fg_session_enter(session);
        session->backends[0].api.saved_release(held->kernel, saved);
        fg_session_leave(session);
    }
    return FG_STATUS_OK;
}

const fg_worker_call fg_backend_calls[] = {
    {"load", call_load},
    {"share", call_share},
    {"unshare", call_unshare},
    {"outside", call_outside},
    {"device_open", call_device_open},
    {"traits", call_traits},
    {"supports", call_supports},
    {"kernel_create", call_kernel_create},
    {"kernel_destroy", call_kernel_destroy},
    {"kernel_sizes", call_kernel_sizes},
    {"mlp_forward", call_forward},
    {"mlp_backward", call_backward},
    {"saved_release", call_saved_release},
    {NULL, NULL},
};

void fg_kernels_destroy(fg_session *session) {
    for (int64_t k = 0; k < session->kernels.count; k++) {
        held_kernel *held = session->kernels.items[k];
        if (held != NULL) {
            session->backends[0].api.kernel_destroy(held->kernel);
            fg_free(held);
        }
    }
    fg_handles_free(&session->kernels);
}
