#include "conformance/executor/exec_env.h"

#include "conformance/process/client_call.h"
#include "contract/alloc.h"
#include <pthread.h>
#include <string.h>

/* Memory that both processes see comes in chunks: a new mapping for every tensor would cost a call
 * and several system calls each time. The kernel zeroes a whole chunk, so the first is small. */
#define CHUNK_LEAST ((size_t)256 << 10)
#define CHUNK_MOST ((size_t)16 << 20)
#define MEMORY_ALIGN ((size_t)256)

typedef struct chunk {
    fg_shm shm;
    size_t used;
    int64_t live; /* pieces handed out and not yet freed; at 0 the chunk is empty again */
    struct chunk *next;
} chunk;

typedef struct remote_state {
    fg_client *client;
    fg_backend named; /* only the name counts, see fg_client_executor */
    fg_executor_api api;
    pthread_mutex_t lock; /* of the chunks */
    chunk *chunks;
} remote_state;

static fg_status chunk_add(remote_state *state, size_t bytes, chunk **out) {
    chunk *added = fg_alloc(sizeof *added, FG_ALLOC_GENERAL);
    if (added == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for a chunk");
    }
    size_t next = state->chunks != NULL ? 2 * state->chunks->shm.bytes : CHUNK_LEAST;
    next = next > CHUNK_MOST ? CHUNK_MOST : next;
    fg_status status = fg_shm_create(bytes > next ? bytes : next, &added->shm);
    if (status == FG_STATUS_OK) {
        status = fg_client_share(state->client, &added->shm);
    }
    if (status != FG_STATUS_OK) {
        fg_shm_close(&added->shm);
        fg_free(added);
        return status;
    }
    added->next = state->chunks;
    state->chunks = added;
    *out = added;
    return FG_STATUS_OK;
}

static fg_status memory_take(remote_state *state, size_t bytes, void **out) {
    chunk *at = state->chunks;
    while (at != NULL && at->shm.bytes - at->used < bytes) {
        at = at->next;
    }
    if (at == NULL) {
        FG_TRY(chunk_add(state, bytes, &at));
    }
    *out = memset(at->shm.base + at->used, 0, bytes);
    at->used += bytes;
    at->live += 1;
    return FG_STATUS_OK;
}

static fg_status remote_memory(fg_exec_env *env, size_t bytes, void **out) {
    remote_state *state = env->state;
    size_t whole = 0;
    *out = NULL;
    FG_TRY(fg_size_add(bytes, MEMORY_ALIGN, &whole));
    whole = whole / MEMORY_ALIGN * MEMORY_ALIGN;
    (void)pthread_mutex_lock(&state->lock);
    fg_status status = memory_take(state, whole, out);
    (void)pthread_mutex_unlock(&state->lock);
    return status;
}

static void remote_memory_free(fg_exec_env *env, void *pointer) {
    remote_state *state = env->state;
    const unsigned char *at = pointer;
    (void)pthread_mutex_lock(&state->lock);
    for (chunk *c = state->chunks; pointer != NULL && c != NULL; c = c->next) {
        if (at >= c->shm.base && at < c->shm.base + c->shm.bytes) {
            c->live -= 1;
            c->used = c->live == 0 ? 0 : c->used;
            break;
        }
    }
    (void)pthread_mutex_unlock(&state->lock);
}

static fg_status remote_outside(fg_exec_env *env, fg_outside_counts *out) {
    remote_state *state = env->state;
    FG_TRY(fg_client_outside(state->client, out));
    if (!env->every_recipe) {
        fg_exec_env_uncounted(out);
    }
    return FG_STATUS_OK;
}

static void remote_close(fg_exec_env *env) {
    remote_state *state = env->state;
    while (state->chunks != NULL) {
        chunk *first = state->chunks;
        state->chunks = first->next;
        (void)fg_client_unshare(state->client, &first->shm);
        fg_shm_close(&first->shm);
        fg_free(first);
    }
    (void)pthread_mutex_destroy(&state->lock);
    fg_free(state);
}

/* Leaves out the optional functions that the worker's executor does not have. */
static fg_status functions_read(remote_state *state) {
    json_t *reply = NULL;
    fg_executor_api *api = &state->api;
    *api = *fg_client_executor();
    FG_TRY(fg_client_call(state->client, fg_client_request("executor_functions"), &reply));
    if (!json_is_true(json_object_get(reply, "register_pass"))) {
        api->register_pass = NULL;
    }
    if (!json_is_true(json_object_get(reply, "clear"))) {
        api->clear = NULL;
    }
    if (!json_is_true(json_object_get(reply, "plan_runs"))) {
        api->plan_runs = NULL;
    }
    if (!json_is_true(json_object_get(reply, "events"))) {
        api->events = NULL;
    }
    if (!json_is_true(json_object_get(reply, "hook"))) {
        api->hook = NULL;
    }
    json_decref(reply);
    return FG_STATUS_OK;
}

static fg_status traits_read(remote_state *state, int32_t recorder, fg_traits *out) {
    json_t *reply = NULL;
    int failed = 0;
    json_t *request = fg_client_request("traits");
    fg_client_put(request, "device", json_integer(-1), &failed);
    if (recorder) {
        fg_client_put(request, "backend", json_string(state->named.name), &failed);
    }
    FG_TRY(fg_client_call(state->client, fg_client_whole(request, failed), &reply));
    return fg_client_reply_struct(reply, "traits", &fg_traits_fields, out);
}

fg_status fg_exec_env_claims(fg_exec_env *env, const fg_problem *problem, const fg_recipe *recipe) {
    remote_state *state = env->state;
    int failed = 0;
    json_t *request = fg_client_request("supports");
    fg_client_put(request, "device", json_integer(-1), &failed);
    fg_client_put(request, "problem", fg_json_from_struct(&fg_problem_fields, problem), &failed);
    fg_client_put(request, "recipe", fg_json_from_struct(&fg_recipe_fields, recipe), &failed);
    if (env->options.backend != NULL) {
        fg_client_put(request, "backend", json_string(env->options.backend->name), &failed);
    }
    return fg_client_call(state->client, fg_client_whole(request, failed), NULL);
}

fg_status fg_exec_env_remote(fg_client *client, int32_t recorder, fg_exec_env *out) {
    fg_traits traits = {0};
    remote_state *state = fg_alloc(sizeof *state, FG_ALLOC_GENERAL);
    *out = (fg_exec_env){0};
    if (state == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for an environment");
    }
    state->client = client;
    state->named = (fg_backend){.struct_size = sizeof state->named, .name = "recorder"};
    fg_status status = functions_read(state);
    if (status == FG_STATUS_OK) {
        status = traits_read(state, recorder, &traits);
    }
    if (status != FG_STATUS_OK) {
        fg_free(state);
        return status;
    }
    /* What this side hands out is host memory; the worker copies it for a device. */
    traits.memory = FG_MEMORY_HOST;
    (void)pthread_mutex_init(&state->lock, NULL);
    *out = (fg_exec_env){.api = &state->api,
                         .options = {.struct_size = sizeof(fg_executor_options),
                                     .backend = recorder ? &state->named : NULL,
                                     .user = client},
                         .traits = traits,
                         .every_recipe = recorder,
                         .memory = remote_memory,
                         .memory_free = remote_memory_free,
                         .outside = remote_outside,
                         .close = remote_close,
                         .state = state};
    return FG_STATUS_OK;
}
