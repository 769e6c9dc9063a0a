#include "reference/scratch_arena.h"
#include "contract/alloc.h"

enum { ROUND_UP = 64 };

fg_arena fg_arena_on(void *base) {
    return (fg_arena){.base = base, .used = 0, .status = FG_STATUS_OK};
}

static fg_status grow(fg_arena *arena, int64_t rows, int64_t cols, size_t size) {
    int64_t count = 0;
    size_t bytes = 0;
    FG_TRY(fg_extent_mul(rows, cols, &count));
    FG_TRY(fg_size_mul((size_t)count, size, &bytes));
    FG_TRY(fg_size_add(bytes, ROUND_UP - 1, &bytes));
    return fg_size_add(arena->used, bytes / ROUND_UP * ROUND_UP, &arena->used);
}

void *fg_arena_take(fg_arena *arena, int64_t rows, int64_t cols, size_t size) {
    size_t begin = arena->used;
    if (arena->status == FG_STATUS_OK) {
        arena->status = grow(arena, rows, cols, size);
    }
    return arena->base == NULL ? NULL : arena->base + begin;
}

float *fg_arena_floats(fg_arena *arena, int64_t rows, int64_t cols) {
    return fg_arena_take(arena, rows, cols, sizeof(float));
}
