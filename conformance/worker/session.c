#include "conformance/worker/session.h"

#include "conformance/process/shm.h"
#include "conformance/worker/backend_calls.h"
#include "conformance/worker/executor_calls.h"
#include "conformance/worker/loader.h"
#include "conformance/worker/traits_check.h"
#include "contract/alloc.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

fg_status fg_handles_add(fg_handles *handles, void *item, int64_t *id) {
    if (handles->count == handles->capacity) {
        int64_t capacity = handles->capacity == 0 ? 64 : 2 * handles->capacity;
        void **items =
            fg_realloc(handles->items, (size_t)capacity * sizeof *items, FG_ALLOC_GENERAL);
        if (items == NULL) {
            return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for %lld objects", (long long)capacity);
        }
        handles->items = items;
        handles->capacity = capacity;
    }
    handles->items[handles->count++] = item;
    *id = handles->count;
    return FG_STATUS_OK;
}

fg_status fg_handles_get(const fg_handles *handles, const char *what, int64_t id, void **out) {
    if (id < 1 || id > handles->count || handles->items[id - 1] == NULL) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "found %s %lld, expected one that is there", what,
                       (long long)id);
    }
    *out = handles->items[id - 1];
    return FG_STATUS_OK;
}

void fg_handles_drop(fg_handles *handles, int64_t id) {
    handles->items[id - 1] = NULL;
}

void fg_handles_free(fg_handles *handles) {
    fg_free(handles->items);
    *handles = (fg_handles){0};
}

static void host_log(void *user, const char *text) {
    (void)user;
    (void)fprintf(stderr, "%s\n", text);
}

static int32_t host_current_device(void *user) {
    fg_session *session = user;
    session->current_device_queries++;
    return -1;
}

void fg_session_begin(fg_session *session) {
    session->host = (fg_host){.struct_size = sizeof session->host,
                              .user = session,
                              .log = host_log,
                              .current_device = host_current_device};
    fg_process_state_take(&session->before);
}

static void backend_close(fg_session_backend *backend) {
    for (int32_t d = 0; d < backend->device_count; d++) {
        fg_session_device *device = &backend->devices[d];
        for (int32_t m = 0; m < device->mirrors.count; m++) {
            backend->api.mem_free(device->device, device->mirrors.maps[m].base);
        }
        fg_maps_free(&device->mirrors);
        backend->api.device_close(device->device);
    }
    backend->device_count = 0;
}

void fg_session_end(fg_session *session) {
    fg_executors_destroy(session);
    fg_kernels_destroy(session);
    for (int b = 0; b < FG_SESSION_BACKENDS; b++) {
        backend_close(&session->backends[b]);
    }
    while (session->maps.count > 0) {
        fg_session_unmap(session, session->maps.maps[0].path);
    }
    fg_maps_free(&session->maps);
}

static double seconds_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void fg_session_enter(fg_session *session) {
    session->entered = seconds_now();
}

void fg_session_leave(fg_session *session) {
    char changes[sizeof session->changes];
    session->seconds += seconds_now() - session->entered;
    fg_process_state_restore(&session->before, changes, sizeof changes);
    if (changes[0] != '\0') {
        memcpy(session->changes, changes, sizeof changes);
    }
    /* What the code printed must reach the judge before the reply does. */
    (void)fflush(NULL);
}

fg_status fg_session_backend_of(fg_session *session, const char *what, fg_session_backend **out) {
    if (what[0] == '\0') {
        return FG_FAIL(FG_STATUS_NOT_FOUND, "found an empty name of a backend, expected one");
    }
    for (int b = 0; b < FG_SESSION_BACKENDS; b++) {
        fg_session_backend *backend = &session->backends[b];
        if (strcmp(backend->what, what) == 0) {
            *out = backend;
            return FG_STATUS_OK;
        }
        if (backend->what[0] == '\0') {
            if (strlen(what) >= sizeof backend->what) {
                return FG_FAIL(FG_STATUS_NOT_FOUND, "found a backend name of %zu bytes",
                               strlen(what));
            }
            fg_session_enter(session);
            fg_status status = fg_load_backend(what, &session->host, &backend->api);
            fg_session_leave(session);
            if (status == FG_STATUS_OK) {
                strcpy(backend->what, what);
                *out = backend;
            }
            return status;
        }
    }
    return FG_FAIL(FG_STATUS_INVALID, "found a fifth backend in one worker, expected at most %d",
                   FG_SESSION_BACKENDS);
}

fg_status fg_session_status(const char *who, fg_status status, const char *text) {
    int number = (int)status;
    if (number == FG_STATUS_OK) {
        return status;
    }
    if (number < 0 || number > FG_STATUS_INTERNAL || number == FG_STATUS_TIMEOUT ||
        number == FG_STATUS_CRASH || number == FG_STATUS_PROTOCOL) {
        return FG_FAIL(FG_STATUS_INTERNAL, "%s returned status %d, which no call may return", who,
                       number);
    }
    return FG_FAIL(status, "%s",
                   text != NULL && text[0] != '\0' ? text : fg_status_sentence(status));
}

fg_status fg_session_backend_status(const fg_session_backend *backend,
                                    const fg_session_device *device, fg_status status) {
    const char *text = NULL;
    if (status != FG_STATUS_OK) {
        text = backend->api.last_error(device != NULL ? device->device : NULL);
        text = text != NULL && text[0] != '\0' ? text : fg_message();
    }
    return fg_session_status(backend->what, status, text);
}

fg_status fg_session_device_open(fg_session *session, fg_session_backend *backend, int32_t index,
                                 fg_session_device **out) {
    for (int32_t d = 0; d < backend->device_count; d++) {
        if (backend->devices[d].index == index) {
            *out = &backend->devices[d];
            return FG_STATUS_OK;
        }
    }
    if (backend->device_count == FG_SESSION_DEVICES) {
        return FG_FAIL(FG_STATUS_DEVICE, "found device %d, expected at most %d of them", (int)index,
                       FG_SESSION_DEVICES);
    }
    fg_session_device *device = &backend->devices[backend->device_count];
    *device = (fg_session_device){.index = index};
    fg_session_enter(session);
    fg_status status = backend->api.device_open(index, &device->device);
    fg_session_leave(session);
    FG_TRY(fg_session_backend_status(backend, NULL, status));
    backend->device_count += 1;
    *out = device;
    return FG_STATUS_OK;
}

fg_status fg_session_device_of(fg_session *session, fg_session_backend *backend, int32_t index,
                               fg_session_device **out) {
    fg_session_device *device = NULL;
    FG_TRY(fg_session_device_open(session, backend, index, &device));
    if (!device->known) {
        device->traits = (fg_traits){.struct_size = sizeof device->traits};
        fg_session_enter(session);
        fg_status status = backend->api.traits(device->device, &device->traits);
        fg_session_leave(session);
        FG_TRY(fg_session_backend_status(backend, device, status));
        FG_TRY(fg_traits_check(backend->what, &device->traits));
        device->known = 1;
    }
    *out = device;
    return FG_STATUS_OK;
}
