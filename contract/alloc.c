#include "contract/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64

/* Stands right before what fg_alloc returns. */
typedef struct header {
    void *block; /* what calloc gave */
    size_t bytes;
    fg_alloc_tag tag;
} header;

static atomic_int_least64_t calls;
static atomic_int_least64_t fail_in; /* 0: off; n: the n-th call from now fails */
static atomic_size_t live[FG_ALLOC_TAGS];
static atomic_size_t peak[FG_ALLOC_TAGS];

static int countdown_fires(void) {
    int_least64_t n = atomic_load(&fail_in);
    while (n > 0) {
        if (atomic_compare_exchange_weak(&fail_in, &n, n - 1)) {
            return n == 1;
        }
    }
    return 0;
}

static header *header_of(void *pointer) {
    return (header *)pointer - 1;
}

static void count_live(fg_alloc_tag tag, size_t bytes) {
    size_t now = atomic_fetch_add(&live[tag], bytes) + bytes;
    size_t top = atomic_load(&peak[tag]);
    while (now > top && !atomic_compare_exchange_weak(&peak[tag], &top, now)) {
    }
}

void *fg_alloc(size_t bytes, fg_alloc_tag tag) {
    atomic_fetch_add(&calls, 1);
    size_t total = 0;
    if (countdown_fires() ||
        fg_size_add(bytes, sizeof(header) + ALIGNMENT, &total) != FG_STATUS_OK) {
        return NULL;
    }
    char *block = calloc(1, total);
    if (block == NULL) {
        return NULL;
    }
    uintptr_t first = (uintptr_t)block + sizeof(header);
    char *pointer = block + sizeof(header) + (ALIGNMENT - first % ALIGNMENT) % ALIGNMENT;
    *header_of(pointer) = (header){block, bytes, tag};
    count_live(tag, bytes);
    return pointer;
}

void *fg_realloc(void *pointer, size_t bytes, fg_alloc_tag tag) {
    void *grown = fg_alloc(bytes, tag);
    if (grown != NULL && pointer != NULL) {
        size_t old = header_of(pointer)->bytes;
        memcpy(grown, pointer, old < bytes ? old : bytes);
        fg_free(pointer);
    }
    return grown;
}

void fg_free(void *pointer) {
    if (pointer == NULL) {
        return;
    }
    header *h = header_of(pointer);
    atomic_fetch_sub(&live[h->tag], h->bytes);
    free(h->block);
}

char *fg_strdup(const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = fg_alloc(bytes, FG_ALLOC_GENERAL);
    if (copy != NULL) {
        memcpy(copy, text, bytes);
    }
    return copy;
}

void fg_alloc_fail_at(int64_t n) {
    atomic_store(&fail_in, n);
}

int64_t fg_alloc_calls(void) {
    return atomic_load(&calls);
}

size_t fg_alloc_live(fg_alloc_tag tag) {
    return atomic_load(&live[tag]);
}

size_t fg_alloc_peak(fg_alloc_tag tag) {
    return atomic_load(&peak[tag]);
}

size_t fg_alloc_live_total(void) {
    size_t total = 0;
    for (int tag = 0; tag < FG_ALLOC_TAGS; tag++) {
        total += atomic_load(&live[tag]);
    }
    return total;
}

void fg_alloc_peak_reset(void) {
    for (int tag = 0; tag < FG_ALLOC_TAGS; tag++) {
        atomic_store(&peak[tag], atomic_load(&live[tag]));
    }
}

fg_status fg_size_mul(size_t a, size_t b, size_t *out) {
    size_t product = 0;
    if (__builtin_mul_overflow(a, b, &product)) {
        return FG_FAIL(FG_STATUS_OVERFLOW, "%zu times %zu does not fit a size", a, b);
    }
    *out = product;
    return FG_STATUS_OK;
}

fg_status fg_size_add(size_t a, size_t b, size_t *out) {
    size_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) {
        return FG_FAIL(FG_STATUS_OVERFLOW, "%zu plus %zu does not fit a size", a, b);
    }
    *out = sum;
    return FG_STATUS_OK;
}

fg_status fg_extent_mul(int64_t a, int64_t b, int64_t *out) {
    int64_t product = 0;
    if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product)) {
        return FG_FAIL(FG_STATUS_OVERFLOW, "%lld times %lld is no extent", (long long)a,
                       (long long)b);
    }
    *out = product;
    return FG_STATUS_OK;
}

fg_status fg_extent_add(int64_t a, int64_t b, int64_t *out) {
    int64_t sum = 0;
    if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum)) {
        return FG_FAIL(FG_STATUS_OVERFLOW, "%lld plus %lld is no extent", (long long)a,
                       (long long)b);
    }
    *out = sum;
    return FG_STATUS_OK;
}
