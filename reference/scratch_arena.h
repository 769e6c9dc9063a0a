#ifndef FG_REFERENCE_SCRATCH_ARENA_H
#define FG_REFERENCE_SCRATCH_ARENA_H

#include "contract/status.h"
#include <stdint.h>

/* Cuts a caller's scratch into buffers, one after another. With base NULL it only adds up the
 * bytes, so that one function both sizes and lays out a scratch. A size that overflows is
 * remembered in `status`. */
typedef struct fg_arena {
    unsigned char *base;
    size_t used;
    fg_status status;
} fg_arena;

fg_arena fg_arena_on(void *base);

/* Buffer of rows * cols elements of `size` bytes, rounded up to 64 bytes; NULL when sizing. */
void *fg_arena_take(fg_arena *arena, int64_t rows, int64_t cols, size_t size);

/* The same of float32. */
float *fg_arena_floats(fg_arena *arena, int64_t rows, int64_t cols);

#endif
