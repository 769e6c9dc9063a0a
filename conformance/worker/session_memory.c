#include "conformance/worker/session.h"

#include <sys/mman.h>

/* Has a copy of each mapping in device memory. */
static fg_status mirrors_complete(const fg_session *session, const fg_session_backend *backend,
                                  fg_session_device *device) {
    for (int32_t m = 0; m < session->maps.count; m++) {
        const fg_map *map = &session->maps.maps[m];
        void *base = NULL;
        if (fg_maps_of_path(&device->mirrors, map->path) != NULL) {
            continue;
        }
        fg_status status = backend->api.mem_alloc(device->device, map->bytes, &base);
        FG_TRY(fg_session_backend_status(backend, device, status));
        status = fg_maps_add(&device->mirrors, map->path, base, map->bytes);
        if (status != FG_STATUS_OK) {
            backend->api.mem_free(device->device, base);
            return status;
        }
    }
    return FG_STATUS_OK;
}

/* Copies every mirror one way on a stream of its own, and waits for it. */
static fg_status mirrors_copy(const fg_session *session, const fg_session_backend *backend,
                              const fg_session_device *device, int in) {
    fg_stream stream = NULL;
    fg_status status = backend->api.stream_create(device->device, &stream);
    FG_TRY(fg_session_backend_status(backend, device, status));
    for (int32_t m = 0; status == FG_STATUS_OK && m < device->mirrors.count; m++) {
        const fg_map *mirror = &device->mirrors.maps[m];
        const fg_map *map = fg_maps_of_path(&session->maps, mirror->path);
        status =
            in ? backend->api.copy_in(device->device, mirror->base, map->base, map->bytes, stream)
               : backend->api.copy_out(device->device, map->base, mirror->base, map->bytes, stream);
    }
    if (status == FG_STATUS_OK) {
        status = backend->api.stream_sync(device->device, stream);
    }
    status = fg_session_backend_status(backend, device, status);
    backend->api.stream_destroy(device->device, stream);
    return status;
}

fg_status fg_session_maps_in(fg_session *session, fg_session_backend *backend,
                             fg_session_device *device, const fg_maps **out) {
    if (device->traits.memory == FG_MEMORY_HOST) {
        *out = &session->maps;
        return FG_STATUS_OK;
    }
    FG_TRY(mirrors_complete(session, backend, device));
    FG_TRY(mirrors_copy(session, backend, device, 1));
    *out = &device->mirrors;
    return FG_STATUS_OK;
}

static fg_status address_in(const fg_session_backend *backend, fg_session_device *device,
                            fg_stream stream, fg_tensor *tensor) {
    void *copy = NULL;
    size_t bytes = (size_t)tensor->dims[0] * sizeof(void *);
    fg_status status = backend->api.mem_alloc(device->device, bytes, &copy);
    FG_TRY(fg_session_backend_status(backend, device, status));
    device->addresses[device->address_count++] = copy;
    status = backend->api.copy_in(device->device, copy, tensor->data, bytes, stream);
    tensor->data = copy;
    return fg_session_backend_status(backend, device, status);
}

fg_status fg_session_addresses_in(fg_session_backend *backend, fg_session_device *device,
                                  fg_call_storage *storage) {
    fg_stream stream = NULL;
    if (device->traits.memory == FG_MEMORY_HOST) {
        return FG_STATUS_OK;
    }
    fg_status status = backend->api.stream_create(device->device, &stream);
    FG_TRY(fg_session_backend_status(backend, device, status));
    for (int32_t t = 0; status == FG_STATUS_OK && t < storage->tensor_count; t++) {
        if (storage->tensors[t].dtype == FG_POINTER) {
            status = address_in(backend, device, stream, &storage->tensors[t]);
        }
    }
    if (status == FG_STATUS_OK) {
        status = backend->api.stream_sync(device->device, stream);
        status = fg_session_backend_status(backend, device, status);
    }
    backend->api.stream_destroy(device->device, stream);
    return status;
}

fg_status fg_session_maps_out(fg_session *session, fg_session_backend *backend,
                              fg_session_device *device) {
    if (device->traits.memory == FG_MEMORY_HOST) {
        return FG_STATUS_OK;
    }
    while (device->address_count > 0) {
        backend->api.mem_free(device->device, device->addresses[--device->address_count]);
    }
    return mirrors_copy(session, backend, device, 0);
}

void fg_session_unmap(fg_session *session, const char *path) {
    for (int b = 0; b < FG_SESSION_BACKENDS; b++) {
        fg_session_backend *backend = &session->backends[b];
        for (int32_t d = 0; d < backend->device_count; d++) {
            fg_session_device *device = &backend->devices[d];
            const fg_map *mirror = fg_maps_of_path(&device->mirrors, path);
            if (mirror != NULL) {
                backend->api.mem_free(device->device, mirror->base);
                fg_maps_remove(&device->mirrors, path);
            }
        }
    }
    const fg_map *map = fg_maps_of_path(&session->maps, path);
    if (map != NULL) {
        (void)munmap(map->base, map->bytes);
        fg_maps_remove(&session->maps, map->path);
    }
}
