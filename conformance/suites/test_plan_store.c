#include "contract/alloc.h"
#include "fuser/plan_cache.h"
#include <criterion/criterion.h>

#define KEYS 40

static fg_plan_key keys[KEYS];
static fg_plan plans[KEYS];
static fg_plan_cache cache;

/* Keys that differ in boundary and version only, so that every one of them is found by its bytes.
 */
static void set_up(void) {
    const fg_recipe none = fg_recipe_default(FG_RECIPE_NONE);
    const fg_traits traits = {.struct_size = sizeof traits, .base_align = 64, .segment_align = 1};
    fg_key_prefix prefix;
    fg_key_prefix_init(&none, &none, 0, &traits, 4, &prefix);
    for (int i = 0; i < KEYS; i++) {
        keys[i] = prefix.plan;
        fg_plan_key_complete(&keys[i], i % 4, (uint64_t)i / 4);
    }
}

static void open_cache(int32_t capacity) {
    cr_assert_eq(fg_plan_cache_init(&cache, capacity), FG_STATUS_OK, "%s", fg_message());
}

static void close_cache(void) {
    fg_plan_cache_clear(&cache);
    fg_plan_cache_release(&cache);
}

Test(plan_store, a_stored_plan_is_found_again_and_no_other, .init = set_up) {
    open_cache(KEYS);
    for (int i = 0; i < KEYS; i++) {
        cr_assert_null(fg_plan_cache_find(&cache, &keys[i]));
        cr_assert_null(fg_plan_cache_insert(&cache, &keys[i], &plans[i]));
        for (int k = 0; k <= i; k++) {
            cr_assert_eq(fg_plan_cache_find(&cache, &keys[k]), &plans[k]);
        }
    }
    close_cache();
}

Test(plan_store, the_least_recently_used_plan_goes_first, .init = set_up) {
    open_cache(3);
    for (int i = 0; i < 3; i++) {
        cr_assert_null(fg_plan_cache_insert(&cache, &keys[i], &plans[i]));
    }
    fg_plan_cache_find(&cache, &keys[0]);
    cr_assert_eq(fg_plan_cache_insert(&cache, &keys[3], &plans[3]), &plans[1]);
    cr_assert_eq(fg_plan_cache_insert(&cache, &keys[4], &plans[4]), &plans[2]);
    cr_assert_eq(fg_plan_cache_insert(&cache, &keys[5], &plans[5]), &plans[0]);
    cr_assert_eq(cache.count, 3);
    for (int i = 0; i < 6; i++) {
        cr_assert_eq(fg_plan_cache_find(&cache, &keys[i]), i < 3 ? NULL : &plans[i]);
    }
    close_cache();
}

Test(plan_store, one_slot_holds_the_last_plan, .init = set_up) {
    open_cache(1);
    for (int i = 0; i < KEYS; i++) {
        cr_assert_eq(fg_plan_cache_insert(&cache, &keys[i], &plans[i]),
                     i > 0 ? &plans[i - 1] : NULL);
        cr_assert_eq(fg_plan_cache_find(&cache, &keys[i]), &plans[i]);
        cr_assert(i == 0 || fg_plan_cache_find(&cache, &keys[i - 1]) == NULL);
    }
    close_cache();
}

Test(plan_store, an_evicted_plan_comes_without_a_chain, .init = set_up) {
    open_cache(1);
    fg_plan_cache_insert(&cache, &keys[0], &plans[0]);
    plans[0].next = &plans[7];
    cr_assert_eq(fg_plan_cache_insert(&cache, &keys[1], &plans[1]), &plans[0]);
    cr_assert_null(plans[0].next);
    close_cache();
}

Test(plan_store, equal_bytes_decide_where_all_hashes_are_equal, .init = set_up) {
    open_cache(KEYS);
    fg_plan_cache_set_equal_hash(&cache, 1);
    for (int i = 0; i < KEYS; i++) {
        cr_assert_null(fg_plan_cache_find(&cache, &keys[i]));
        fg_plan_cache_insert(&cache, &keys[i], &plans[i]);
    }
    for (int i = 0; i < KEYS; i++) {
        cr_assert_eq(fg_plan_cache_find(&cache, &keys[i]), &plans[i]);
    }
    close_cache();
}

Test(plan_store, a_key_lies_where_its_hash_says, .init = set_up) {
    int elsewhere = 0;
    for (int i = 0; i < KEYS; i++) {
        open_cache(64);
        fg_plan_cache_insert(&cache, &keys[i], &plans[i]);
        const uint32_t home = (uint32_t)fg_plan_key_hash(&keys[i]) & cache.slot_mask;
        cr_assert_eq(cache.slots[home], 0);
        fg_plan_cache_set_equal_hash(&cache, 1);
        cr_assert_eq(cache.slots[0], 0);
        cr_assert(home == 0 || cache.slots[home] == -1);
        elsewhere += home != 0;
        close_cache();
    }
    cr_assert_gt(elsewhere, KEYS / 2);
}

Test(plan_store, stored_plans_survive_another_hash, .init = set_up) {
    open_cache(KEYS);
    for (int i = 0; i < 20; i++) {
        fg_plan_cache_insert(&cache, &keys[i], &plans[i]);
    }
    for (int32_t equal = 1; equal >= 0; equal--) {
        fg_plan_cache_set_equal_hash(&cache, equal);
        for (int i = 0; i < KEYS; i++) {
            cr_assert_eq(fg_plan_cache_find(&cache, &keys[i]), i < 20 ? &plans[i] : NULL);
        }
    }
    close_cache();
}

Test(plan_store, clear_gives_every_plan_once_and_leaves_nothing, .init = set_up) {
    open_cache(KEYS);
    for (int i = 0; i < 10; i++) {
        fg_plan_cache_insert(&cache, &keys[i], &plans[i]);
    }
    int seen[KEYS] = {0}, count = 0;
    for (fg_plan *plan = fg_plan_cache_clear(&cache); plan != NULL; plan = plan->next) {
        cr_assert_lt(count++, 10);
        seen[plan - plans]++;
    }
    cr_assert_eq(count, 10);
    for (int i = 0; i < 10; i++) {
        cr_assert_eq(seen[i], 1);
        cr_assert_null(fg_plan_cache_find(&cache, &keys[i]));
    }
    fg_plan_cache_insert(&cache, &keys[3], &plans[3]);
    cr_assert_eq(fg_plan_cache_find(&cache, &keys[3]), &plans[3]);
    close_cache();
}

Test(plan_store, a_capacity_outside_its_range_is_refused) {
    static const int32_t wrong[] = {0, -1, (1 << 20) + 1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_assert_eq(fg_plan_cache_init(&cache, wrong[i]), FG_STATUS_INVALID);
    }
    open_cache(1 << 20);
    close_cache();
}

Test(plan_store, a_failed_allocation_is_a_status_and_leaks_nothing) {
    const size_t before = fg_alloc_live_total();
    for (int64_t n = 1; n <= 2; n++) {
        fg_alloc_fail_at(n);
        cr_assert_eq(fg_plan_cache_init(&cache, 5), FG_STATUS_NO_MEMORY);
        cr_assert_eq(fg_alloc_live_total(), before);
    }
    fg_alloc_fail_at(0);
}

Test(plan_store, builds_under_way_are_known_by_key, .init = set_up) {
    open_cache(4);
    const fg_plan_key copies[3] = {keys[0], keys[1], keys[2]};
    fg_plan_building builds[3];
    for (int i = 0; i < 3; i++) {
        builds[i] = (fg_plan_building){.key = &copies[i]};
        cr_assert_not(fg_plan_cache_is_building(&cache, &keys[i]));
        fg_plan_cache_begin_build(&cache, &builds[i]);
        cr_assert(fg_plan_cache_is_building(&cache, &keys[i]));
    }
    static const int order[] = {1, 2, 0}; // from the middle, the front, the end
    for (int i = 0; i < 3; i++) {
        fg_plan_cache_end_build(&cache, &builds[order[i]]);
        cr_assert_not(fg_plan_cache_is_building(&cache, &keys[order[i]]));
    }
    cr_assert_null(cache.building);
    close_cache();
}

/* A list of the stored keys, most recently used first, as the model. */
static int touch(int *model, int count, int key) {
    int at = 0;
    while (at < count && model[at] != key) {
        at++;
    }
    const int found = at < count;
    for (; at > 0; at--) {
        model[at] = model[at - 1];
    }
    model[0] = key;
    return found;
}

Test(plan_store, random_use_agrees_with_a_list, .init = set_up) {
    for (int32_t capacity = 1; capacity < 12; capacity++) {
        int model[KEYS + 1] = {0}, count = 0;
        uint32_t random = 12345;
        open_cache(capacity);
        for (int i = 0; i < 4000; i++) {
            random = random * 1664525u + 1013904223u;
            const int key = (int)(random >> 16) % 16;
            const int known = touch(model, count, key);
            fg_plan *found = fg_plan_cache_find(&cache, &keys[key]);
            cr_assert_eq(found, known ? &plans[key] : NULL);
            if (!known) {
                fg_plan *evicted = fg_plan_cache_insert(&cache, &keys[key], &plans[key]);
                cr_assert_eq(evicted, count == capacity ? &plans[model[count]] : NULL);
                count += count < capacity;
            }
            cr_assert_eq(cache.count, count);
        }
        close_cache();
    }
}
