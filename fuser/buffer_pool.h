#ifndef FG_FUSER_BUFFER_POOL_H
#define FG_FUSER_BUFFER_POOL_H

#include "contract/backend.h"
#include <pthread.h>

/* Device memory of one device that calls borrow; its content is whatever was there. */
typedef struct fg_buffer {
    void *data;
    size_t bytes;
    fg_stream stream; /* whose work used it last */
    struct fg_buffer *next;
} fg_buffer;

/* Idle buffers, latest first. A buffer goes only to calls on the stream that used it last, since
 * that work may still run. Calls that repeat on one stream soon allocate nothing: never more
 * buffers than were in use at once, save while their sizes still change. */
typedef struct fg_buffer_pool {
    const fg_backend *backend;
    fg_device *device;
    pthread_mutex_t mutex;
    fg_buffer *idle;
    int32_t idle_count;
} fg_buffer_pool;

fg_status fg_buffer_pool_init(fg_buffer_pool *pool, const fg_backend *backend, fg_device *device);

/* Frees the idle buffers; every buffer must have been given back. */
void fg_buffer_pool_release(fg_buffer_pool *pool);

/* Borrows at least `bytes`; FG_STATUS_NO_MEMORY or what the backend says. */
fg_status fg_buffer_take(fg_buffer_pool *pool, size_t bytes, fg_stream stream, fg_buffer **out);

/* Gives a buffer back after its last use on `stream` was asked for; NULL is a no-op. */
void fg_buffer_give(fg_buffer_pool *pool, fg_buffer *buffer, fg_stream stream);

#endif
