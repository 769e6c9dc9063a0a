#ifndef FG_CONTRACT_ALLOC_H
#define FG_CONTRACT_ALLOC_H

#include "contract/status.h"
#include <stddef.h>
#include <stdint.h>

/* What an allocation is for; bytes are counted by tag. */
typedef enum fg_alloc_tag {
    FG_ALLOC_GENERAL = 0,
    FG_ALLOC_TENSOR = 1, /* inputs and outputs of a case */
    FG_ALLOC_DEVICE = 2, /* what a host backend's mem_alloc gives */
    FG_ALLOC_Y1 = 3,     /* whole or partial pre-activations inside a backend */
    FG_ALLOC_HIDDEN = 4, /* whole or partial h inside a backend */
    FG_ALLOC_ORACLE = 5,
    FG_ALLOC_PLAN = 6, /* plans, keys and recipe state */
    FG_ALLOC_TAGS = 7,
} fg_alloc_tag;

/* Allocates zeroed memory, aligned to 64 bytes; NULL when there is none or the fault hook fires.
 * Zero bytes give a valid pointer. Threads may call it at once; counts are atomic. */
void *fg_alloc(size_t bytes, fg_alloc_tag tag);

/* Grows or shrinks what fg_alloc gave, keeping the content; new bytes are zero. On NULL the old
 * block is untouched. A NULL pointer allocates. */
void *fg_realloc(void *pointer, size_t bytes, fg_alloc_tag tag);

/* Frees what fg_alloc gave; NULL is a no-op. */
void fg_free(void *pointer);

/* Copies a string; NULL as fg_alloc. */
char *fg_strdup(const char *text);

/* Makes the n-th allocation from now (1 = the next) and only that one fail; 0 turns it off. */
void fg_alloc_fail_at(int64_t n);

/* Number of allocations made since the process started, failed ones included. */
int64_t fg_alloc_calls(void);

/* Bytes held now, the largest held at once since the last reset, and both over all tags. */
size_t fg_alloc_live(fg_alloc_tag tag);
size_t fg_alloc_peak(fg_alloc_tag tag);
size_t fg_alloc_live_total(void);
void fg_alloc_peak_reset(void);

/* Multiplies or adds sizes; FG_STATUS_OVERFLOW leaves *out. Negative operands are refused. */
fg_status fg_size_mul(size_t a, size_t b, size_t *out);
fg_status fg_size_add(size_t a, size_t b, size_t *out);
fg_status fg_extent_mul(int64_t a, int64_t b, int64_t *out);
fg_status fg_extent_add(int64_t a, int64_t b, int64_t *out);

#endif
