#include "fuser/recipe_state.h"
#include "contract/alloc.h"
#include <string.h>

static void free_host(fg_recipe_state *state) {
    for (int role = 0; role < FG_ROLES; role++) {
        fg_free(state->history[role]);
    }
    fg_free(state);
}

fg_status fg_recipe_state_create(const fg_recipe *recipe, const fg_state_key *lasting,
                                 fg_recipe_state **out) {
    fg_recipe_state *state = fg_alloc(sizeof *state, FG_ALLOC_PLAN);
    if (state == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected %zu bytes", sizeof *state);
    }
    state->refs = 1;
    state->kind = recipe->kind;
    state->lasting = *lasting;
    for (int role = 0; role < FG_ROLES; role++) {
        state->scale[role] = 1.0f;
    }
    if (recipe->kind == FG_RECIPE_DELAYED) {
        fg_status status = fg_recipe_state_resize(state, recipe->history);
        if (status != FG_STATUS_OK) {
            free_host(state);
            return status;
        }
    }
    *out = state;
    return FG_STATUS_OK;
}

void fg_recipe_state_destroy(fg_recipe_state *state, const fg_device_table *table) {
    if (state == NULL) {
        return;
    }
    for (int32_t slot = 0; slot < FG_DEVICE_SLOTS; slot++) {
        void *memory = atomic_load_explicit(&state->device_memory[slot], memory_order_acquire);
        if (memory != NULL) {
            table->backend->mem_free(fg_device_table_slot(table, slot)->device, memory);
        }
    }
    free_host(state);
}

fg_status fg_recipe_state_resize(fg_recipe_state *state, int32_t history_length) {
    size_t kept = (size_t)state->history_length, wanted = (size_t)history_length;
    for (int role = 0; role < FG_ROLES && wanted > kept; role++) {
        size_t bytes = wanted * sizeof(float);
        float *history = fg_realloc(state->history[role], bytes, FG_ALLOC_PLAN);
        if (history == NULL) {
            return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected %zu bytes", bytes);
        }
        // A shorter length cut the history without giving memory back: what lies there is old.
        memset(history + kept, 0, bytes - kept * sizeof(float));
        state->history[role] = history;
    }
    state->history_length = history_length;
    return FG_STATUS_OK;
}

/* Bytes between values on a device: each is a tensor of its own, so each begins aligned. */
static size_t value_pitch(const fg_fuser_device *device) {
    size_t align = (size_t)device->traits.base_align;
    return align > sizeof(float) ? align : sizeof(float);
}

/* Makes a state's device memory: scale of role r at 2r, its amax at 2r + 1, in pitches. */
static fg_status make_memory(const fg_recipe_state *state, const fg_backend *backend,
                             const fg_fuser_device *device, fg_stream stream, void **out) {
    size_t pitch = value_pitch(device);
    size_t bytes = 2 * FG_ROLES * pitch;
    void *memory = NULL;
    char *host = fg_alloc(bytes, FG_ALLOC_GENERAL);
    if (host == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected %zu bytes", bytes);
    }
    for (size_t role = 0; role < FG_ROLES; role++) {
        memcpy(host + 2 * role * pitch, &state->scale[role], sizeof(float));
    }
    fg_status status = backend->mem_alloc(device->device, bytes, &memory);
    if (status == FG_STATUS_OK) {
        status = backend->copy_in(device->device, memory, host, bytes, stream);
        fg_status synced = backend->stream_sync(device->device, stream);
        status = status != FG_STATUS_OK ? status : synced;
        if (status != FG_STATUS_OK) {
            backend->mem_free(device->device, memory);
        }
    }
    fg_free(host);
    *out = memory;
    return status;
}

static fg_status device_memory(fg_recipe_state *state, fg_device_table *table,
                               const fg_fuser_device *device, fg_stream stream, char **out) {
    _Atomic(void *) *slot = &state->device_memory[device->index + 1];
    void *memory = atomic_load_explicit(slot, memory_order_acquire);
    fg_status status = FG_STATUS_OK;
    if (memory == NULL) {
        pthread_mutex_lock(&table->mutex);
        memory = atomic_load_explicit(slot, memory_order_acquire);
        if (memory == NULL) {
            status = make_memory(state, table->backend, device, stream, &memory);
        }
        if (status == FG_STATUS_OK) {
            atomic_store_explicit(slot, memory, memory_order_release);
        }
        pthread_mutex_unlock(&table->mutex);
    }
    *out = memory;
    return status;
}

fg_status fg_recipe_state_quant(fg_recipe_state *state, fg_device_table *table,
                                const fg_fuser_device *device, fg_stream stream, int32_t record,
                                fg_quant_views *views, const fg_quant **out) {
    *out = NULL;
    if (state->kind == FG_RECIPE_NONE) {
        return FG_STATUS_OK;
    }
    *views = (fg_quant_views){.quant.struct_size = sizeof views->quant};
    if (state->kind == FG_RECIPE_DELAYED) {
        const int64_t one[1] = {1};
        size_t pitch = value_pitch(device);
        char *memory = NULL;
        FG_TRY(device_memory(state, table, device, stream, &memory));
        for (size_t role = 0; role < FG_ROLES; role++) {
            char *scale = memory + 2 * role * pitch;
            views->scale[role] = fg_tensor_tight(scale, FG_F32, device->index, 1, one);
            views->amax[role] = fg_tensor_tight(scale + pitch, FG_F32, device->index, 1, one);
            views->quant.scale[role] = &views->scale[role];
            views->quant.amax[role] = record ? &views->amax[role] : NULL;
        }
    }
    *out = &views->quant;
    return FG_STATUS_OK;
}
