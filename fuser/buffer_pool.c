#include "fuser/buffer_pool.h"
#include "contract/alloc.h"

#define IDLE_MAX 16

fg_status fg_buffer_pool_init(fg_buffer_pool *pool, const fg_backend *backend, fg_device *device) {
    *pool = (fg_buffer_pool){.backend = backend, .device = device};
    if (pthread_mutex_init(&pool->mutex, NULL) != 0) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no mutex, expected one");
    }
    return FG_STATUS_OK;
}

static void destroy_buffer(fg_buffer_pool *pool, fg_buffer *buffer) {
    pool->backend->mem_free(pool->device, buffer->data);
    fg_free(buffer);
}

void fg_buffer_pool_release(fg_buffer_pool *pool) {
    while (pool->idle != NULL) {
        fg_buffer *buffer = pool->idle;
        pool->idle = buffer->next;
        destroy_buffer(pool, buffer);
    }
    pthread_mutex_destroy(&pool->mutex);
}

/* Takes the smallest idle buffer of the stream that is large enough, or NULL. */
static fg_buffer *take_idle(fg_buffer_pool *pool, size_t bytes, fg_stream stream) {
    fg_buffer **best = NULL;
    for (fg_buffer **at = &pool->idle; *at != NULL; at = &(*at)->next) {
        if ((*at)->stream == stream && (*at)->bytes >= bytes &&
            (best == NULL || (*at)->bytes < (*best)->bytes)) {
            best = at;
        }
    }
    if (best == NULL) {
        return NULL;
    }
    fg_buffer *buffer = *best;
    *best = buffer->next;
    pool->idle_count--;
    return buffer;
}

fg_status fg_buffer_take(fg_buffer_pool *pool, size_t bytes, fg_stream stream, fg_buffer **out) {
    pthread_mutex_lock(&pool->mutex);
    fg_buffer *buffer = take_idle(pool, bytes, stream);
    pthread_mutex_unlock(&pool->mutex);
    if (buffer == NULL) {
        buffer = fg_alloc(sizeof *buffer, FG_ALLOC_GENERAL);
        if (buffer == NULL) {
            return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected %zu bytes",
                           sizeof *buffer);
        }
        fg_status status = pool->backend->mem_alloc(pool->device, bytes, &buffer->data);
        if (status != FG_STATUS_OK) {
            fg_free(buffer);
            return fg_trace(status, "mem_alloc", __FILE__, __LINE__);
        }
        buffer->bytes = bytes;
    }
    *out = buffer;
    return FG_STATUS_OK;
}

/* Cuts the oldest idle buffer off when there are too many, or gives NULL. */
static fg_buffer *cut_oldest(fg_buffer_pool *pool) {
    if (pool->idle_count <= IDLE_MAX) {
        return NULL;
    }
    fg_buffer **at = &pool->idle;
    while ((*at)->next != NULL) {
        at = &(*at)->next;
    }
    fg_buffer *oldest = *at;
    *at = NULL;
    pool->idle_count--;
    return oldest;
}

void fg_buffer_give(fg_buffer_pool *pool, fg_buffer *buffer, fg_stream stream) {
    if (buffer == NULL) {
        return;
    }
    buffer->stream = stream;
    pthread_mutex_lock(&pool->mutex);
    buffer->next = pool->idle;
    pool->idle = buffer;
    pool->idle_count++;
    fg_buffer *oldest = cut_oldest(pool);
    pthread_mutex_unlock(&pool->mutex);
    if (oldest != NULL) {
        destroy_buffer(pool, oldest);
    }
}
