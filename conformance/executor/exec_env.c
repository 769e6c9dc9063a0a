#include "conformance/executor/exec_env.h"
#include "contract/alloc.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define DEVICE_SLOTS 3 /* devices -1, 0, 1 */
#define STREAMS 1024   /* a look-up makes a new stream, which lives for 1023 more of them */
#define MEMORY_ALIGN 256

typedef struct local_device {
    fg_device *device;
    fg_stream streams[STREAMS];
} local_device;

typedef struct local_state {
    const fg_backend *backend;
    void (*counts)(fg_outside_counts *out);
    pthread_mutex_t lock; /* of devices and lookups */
    local_device devices[DEVICE_SLOTS];
    int64_t lookups;
    int64_t queries_before;
    fg_status stream_status; /* of the last stream that could not be made */
} local_state;

/* The host of every local environment: backends and executors may keep its address for good. */
static atomic_llong device_queries;

static void host_log(void *user, const char *text) {
    (void)user;
    (void)text;
}

static int32_t host_current_device(void *user) {
    (void)user;
    atomic_fetch_add(&device_queries, 1);
    return -1;
}

static const fg_host local_host = {
    .struct_size = sizeof(fg_host),
    .log = host_log,
    .current_device = host_current_device,
};

/* The caller holds the lock. NULL when the device does not exist. */
static fg_stream stream_of(local_state *state, int32_t index) {
    if (index < -1 || index >= DEVICE_SLOTS - 1) {
        return NULL;
    }
    local_device *slot = &state->devices[index + 1];
    if (!slot->device) {
        fg_status status = state->backend->device_open(index, &slot->device);
        if (status) {
            state->stream_status = status;
            slot->device = NULL;
            return NULL;
        }
    }
    fg_stream *stream = &slot->streams[state->lookups % STREAMS];
    if (*stream) {
        state->backend->stream_destroy(slot->device, *stream);
    }
    fg_status status = state->backend->stream_create(slot->device, stream);
    if (status) {
        state->stream_status = status;
        *stream = NULL;
    }
    return *stream;
}

static fg_stream stream_for(void *user, int32_t index) {
    local_state *state = user;
    pthread_mutex_lock(&state->lock);
    state->lookups++;
    fg_stream stream = stream_of(state, index);
    pthread_mutex_unlock(&state->lock);
    return stream;
}

static fg_status local_memory(fg_exec_env *env, size_t bytes, void **out) {
    (void)env;
    size_t whole = 0;
    FG_TRY(fg_size_add(bytes, 2 * MEMORY_ALIGN, &whole));
    unsigned char *block = fg_alloc(whole, FG_ALLOC_TENSOR);
    if (!block) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected %zu bytes", whole);
    }
    // The block's own address lies just before what is handed out.
    uintptr_t at = ((uintptr_t)block + 2 * MEMORY_ALIGN - 1) / MEMORY_ALIGN * MEMORY_ALIGN;
    unsigned char *given = (unsigned char *)at;
    memcpy(given - sizeof block, &block, sizeof block);
    *out = given;
    return FG_STATUS_OK;
}

static void local_memory_free(fg_exec_env *env, void *pointer) {
    (void)env;
    if (pointer) {
        unsigned char *block = NULL;
        memcpy(&block, (unsigned char *)pointer - sizeof block, sizeof block);
        fg_free(block);
    }
}

void fg_exec_env_uncounted(fg_outside_counts *counts) {
    counts->kernels_created = FG_NOT_GIVEN;
    counts->kernels_destroyed = FG_NOT_GIVEN;
    counts->forwards = FG_NOT_GIVEN;
    counts->backwards = FG_NOT_GIVEN;
    counts->last_mask = 0;
    counts->saving_forwards = FG_NOT_GIVEN;
    counts->streams_seen = FG_NOT_GIVEN;
    counts->last_forward_kernel = FG_NOT_GIVEN;
    counts->last_backward_kernel = FG_NOT_GIVEN;
    counts->blocks_live = FG_NOT_GIVEN;
}

static fg_status local_outside(fg_exec_env *env, fg_outside_counts *out) {
    local_state *state = env->state;
    fg_exec_env_uncounted(out);
    pthread_mutex_lock(&state->lock);
    out->stream_lookups = state->lookups;
    fg_status status = state->stream_status;
    pthread_mutex_unlock(&state->lock);
    out->current_device_queries = atomic_load(&device_queries) - state->queries_before;
    if (state->counts) {
        state->counts(out);
    }
    // stream_for has no way to say it.
    return status ? FG_FAIL(status, "found no stream, expected a new one") : FG_STATUS_OK;
}

static fg_status read_traits(const fg_backend *backend, fg_traits *out) {
    fg_device *device = NULL;
    FG_TRY(backend->device_open(-1, &device));
    *out = (fg_traits){.struct_size = sizeof *out};
    fg_status status = backend->traits(device, out);
    backend->device_close(device);
    return status;
}

static void local_close(fg_exec_env *env) {
    local_state *state = env->state;
    for (int i = 0; i < DEVICE_SLOTS; i++) {
        local_device *slot = &state->devices[i];
        for (int s = 0; slot->device && s < STREAMS; s++) {
            if (slot->streams[s]) {
                state->backend->stream_destroy(slot->device, slot->streams[s]);
            }
        }
        if (slot->device) {
            state->backend->device_close(slot->device);
        }
    }
    pthread_mutex_destroy(&state->lock);
    fg_free(state);
}

fg_status fg_exec_env_local(fg_executor_entry_fn executor, fg_backend_entry_fn backend,
                            fg_exec_env *out) {
    const fg_executor_api *api = NULL;
    const fg_backend *table = NULL;
    fg_traits traits = {0};
    FG_TRY(executor(FG_EXECUTOR_ABI, &local_host, &api));
    FG_TRY(backend(FG_BACKEND_ABI, &local_host, &table));
    FG_TRY(read_traits(table, &traits));
    local_state *state = fg_alloc(sizeof *state, FG_ALLOC_GENERAL);
    if (!state) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected %zu bytes", sizeof *state);
    }
    state->backend = table;
    state->queries_before = atomic_load(&device_queries);
    if (pthread_mutex_init(&state->lock, NULL)) {
        fg_free(state);
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no mutex, expected one");
    }
    *out = (fg_exec_env){.api = api,
                         .options = {.struct_size = sizeof(fg_executor_options),
                                     .host = &local_host,
                                     .backend = table,
                                     .stream_for = stream_for,
                                     .user = state},
                         .traits = traits,
                         .parallel = 1,
                         .memory = local_memory,
                         .memory_free = local_memory_free,
                         .outside = local_outside,
                         .close = local_close,
                         .state = state};
    return FG_STATUS_OK;
}

void fg_exec_env_counted(fg_exec_env *env, void (*counts)(fg_outside_counts *out)) {
    local_state *state = env->state;
    state->counts = counts;
    env->every_recipe = 1;
}

void fg_exec_env_close(fg_exec_env *env) {
    if (env->state) {
        env->close(env);
        *env = (fg_exec_env){0};
    }
}
