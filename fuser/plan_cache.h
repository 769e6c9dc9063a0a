#ifndef FG_FUSER_PLAN_CACHE_H
#define FG_FUSER_PLAN_CACHE_H

#include "fuser/plan.h"
#include "fuser/plan_key.h"

/* One build under way; it lives on its builder's stack. */
typedef struct fg_plan_building {
    const fg_plan_key *key;
    struct fg_plan_building *next;
} fg_plan_building;

/* Plans by key: bounded, the least recently used goes first, one reference each. The hash finds,
 * equal bytes decide. Every function is called with the fuser's lock held. */
typedef struct fg_plan_cache {
    int32_t capacity, count;
    int32_t equal_hash; /* test hook: every key hashes alike */
    uint32_t slot_mask;
    int32_t *slots;                /* open addressing: index of a stored plan, -1 when free */
    struct fg_plan_stored *stored; /* [capacity] */
    uint64_t clock;
    fg_plan_building *building;
} fg_plan_cache;

/* Makes an empty cache of 1 to 2^20 plans; FG_STATUS_INVALID, _NO_MEMORY. */
fg_status fg_plan_cache_init(fg_plan_cache *cache, int32_t capacity);

/* Frees the tables of a cleared cache. */
void fg_plan_cache_release(fg_plan_cache *cache);

/* Finds a plan and marks it as used now; NULL when there is none. */
fg_plan *fg_plan_cache_find(fg_plan_cache *cache, const fg_plan_key *key);

/* Stores a plan under a key that is not there, taking over its reference. Returns the plan that had
 * to go, whose reference is now the caller's, or NULL. */
fg_plan *fg_plan_cache_insert(fg_plan_cache *cache, const fg_plan_key *key, fg_plan *plan);

/* Empties the cache and returns its plans, chained by `next`, references included. */
fg_plan *fg_plan_cache_clear(fg_plan_cache *cache);

/* Makes every key hash alike, or not, the stored ones included. */
void fg_plan_cache_set_equal_hash(fg_plan_cache *cache, int32_t equal_hash);

/* Single flight: whether some thread builds this key, and the beginning and end of a build. */
int fg_plan_cache_is_building(const fg_plan_cache *cache, const fg_plan_key *key);
void fg_plan_cache_begin_build(fg_plan_cache *cache, fg_plan_building *building);
void fg_plan_cache_end_build(fg_plan_cache *cache, const fg_plan_building *building);

#endif
