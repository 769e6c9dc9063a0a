#include "fuser/plan_cache.h"
#include "contract/alloc.h"

#define CAPACITY_MAX (1 << 20)
#define FREE_SLOT (-1)

typedef struct fg_plan_stored {
    fg_plan_key key;
    fg_plan *plan;
    uint64_t used; /* clock of the last use */
} fg_plan_stored;

static void free_slots(fg_plan_cache *cache) {
    for (uint32_t i = 0; i <= cache->slot_mask; i++) {
        cache->slots[i] = FREE_SLOT;
    }
}

fg_status fg_plan_cache_init(fg_plan_cache *cache, int32_t capacity) {
    if (capacity < 1 || capacity > CAPACITY_MAX) {
        return FG_FAIL(FG_STATUS_INVALID, "capacity: found %d, expected 1 to %d plans", capacity,
                       CAPACITY_MAX);
    }
    uint32_t slots = 4;
    while (slots < 2 * (uint32_t)capacity) {
        slots *= 2;
    }
    *cache = (fg_plan_cache){.capacity = capacity, .slot_mask = slots - 1};
    cache->slots = fg_alloc(slots * sizeof *cache->slots, FG_ALLOC_PLAN);
    cache->stored = fg_alloc((size_t)capacity * sizeof *cache->stored, FG_ALLOC_PLAN);
    if (cache->slots == NULL || cache->stored == NULL) {
        fg_plan_cache_release(cache);
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected a table of %d plans",
                       capacity);
    }
    free_slots(cache);
    return FG_STATUS_OK;
}

void fg_plan_cache_release(fg_plan_cache *cache) {
    fg_free(cache->slots);
    fg_free(cache->stored);
    cache->slots = NULL;
    cache->stored = NULL;
}

static uint32_t home_slot(const fg_plan_cache *cache, const fg_plan_key *key) {
    return cache->equal_hash ? 0 : (uint32_t)fg_plan_key_hash(key) & cache->slot_mask;
}

fg_plan *fg_plan_cache_find(fg_plan_cache *cache, const fg_plan_key *key) {
    uint32_t at = home_slot(cache, key);
    for (; cache->slots[at] != FREE_SLOT; at = (at + 1) & cache->slot_mask) {
        fg_plan_stored *stored = &cache->stored[cache->slots[at]];
        if (fg_plan_key_equal(&stored->key, key)) {
            stored->used = ++cache->clock;
            return stored->plan;
        }
    }
    return NULL;
}

/* Files stored plan `index` under its key. */
static void file_stored(fg_plan_cache *cache, int32_t index) {
    uint32_t at = home_slot(cache, &cache->stored[index].key);
    while (cache->slots[at] != FREE_SLOT) {
        at = (at + 1) & cache->slot_mask;
    }
    cache->slots[at] = index;
}

static void file_all(fg_plan_cache *cache) {
    free_slots(cache);
    for (int32_t i = 0; i < cache->count; i++) {
        file_stored(cache, i);
    }
}

static int32_t least_recently_used(const fg_plan_cache *cache) {
    int32_t oldest = 0;
    for (int32_t i = 1; i < cache->count; i++) {
        oldest = cache->stored[i].used < cache->stored[oldest].used ? i : oldest;
    }
    return oldest;
}

fg_plan *fg_plan_cache_insert(fg_plan_cache *cache, const fg_plan_key *key, fg_plan *plan) {
    fg_plan *evicted = NULL;
    int32_t index = cache->count;
    if (cache->count == cache->capacity) {
        index = least_recently_used(cache);
        evicted = cache->stored[index].plan;
        evicted->next = NULL;
    }
    cache->stored[index] = (fg_plan_stored){.key = *key, .plan = plan, .used = ++cache->clock};
    if (evicted != NULL) {
        file_all(cache); // a build costs far more than filing a few keys anew
    } else {
        cache->count++;
        file_stored(cache, index);
    }
    return evicted;
}

fg_plan *fg_plan_cache_clear(fg_plan_cache *cache) {
    fg_plan *chain = NULL;
    for (int32_t i = 0; i < cache->count; i++) {
        cache->stored[i].plan->next = chain;
        chain = cache->stored[i].plan;
    }
    cache->count = 0;
    free_slots(cache);
    return chain;
}

void fg_plan_cache_set_equal_hash(fg_plan_cache *cache, int32_t equal_hash) {
    cache->equal_hash = equal_hash;
    file_all(cache);
}

int fg_plan_cache_is_building(const fg_plan_cache *cache, const fg_plan_key *key) {
    const fg_plan_building *at = cache->building;
    while (at != NULL && !fg_plan_key_equal(at->key, key)) {
        at = at->next;
    }
    return at != NULL;
}

void fg_plan_cache_begin_build(fg_plan_cache *cache, fg_plan_building *building) {
    building->next = cache->building;
    cache->building = building;
}

void fg_plan_cache_end_build(fg_plan_cache *cache, const fg_plan_building *building) {
    fg_plan_building **at = &cache->building;
    while (*at != building) {
        at = &(*at)->next;
    }
    *at = building->next;
}
