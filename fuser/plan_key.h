#ifndef FG_FUSER_PLAN_KEY_H
#define FG_FUSER_PLAN_KEY_H

#include "contract/executor.h"

#define FG_PLAN_KEY_WORDS 7

/* Canonical bytes of a plan key, in words so that they compare at once:
 *   word 0     from its low byte: boundary, override, memory, capturable, claimed runs (2 bytes)
 *   word 1     base_align, segment_align
 *   word 2     version of the registered passes
 *   words 3-6  recipe options (FG_RECIPE_BYTES, zero padded)
 * No pointer, number of rows, split, stream or device index is in it. */
typedef struct fg_plan_key {
    uint64_t words[FG_PLAN_KEY_WORDS];
    uint64_t seed; /* XXH3 of the words while boundary and version were 0: the hash begins there */
} fg_plan_key;

/* Canonical bytes of a state key, zero padded. */
typedef struct fg_state_key {
    uint64_t words[FG_RECIPE_BYTES / 8];
} fg_state_key;

/* All that a recipe and a device decide of both keys; kept for the recipes seen last, so that an
 * unchanged recipe costs one comparison. */
typedef struct fg_key_prefix {
    fg_recipe said;      /* the recipe as the caller wrote it */
    int32_t device;      /* index */
    fg_recipe canonical; /* what the plan key says; what it does not is at its default */
    uint32_t claimed;    /* runs of basic ops that the backend does under it */
    fg_state_key state;
    fg_state_key lasting; /* state key without the history length */
    fg_plan_key plan;     /* boundary and version still 0 */
} fg_key_prefix;

/* Recipe with every field at its default that the plan key does not hold (an option that the kind
 * does not use, the history length). */
fg_recipe fg_recipe_canonical(const fg_recipe *recipe);

/* Fills a prefix for a checked recipe on a device of these traits and claims. */
void fg_key_prefix_init(const fg_recipe *recipe, const fg_recipe *canonical, int32_t device,
                        const fg_traits *traits, uint32_t claimed, fg_key_prefix *out);

/* State key of a recipe without its history length. */
void fg_state_key_lasting(const fg_recipe *recipe, fg_state_key *out);

/* Completes a prefix's plan key for one call: that is all of it that changes from call to call. */
void fg_plan_key_complete(fg_plan_key *key, int32_t boundary, uint64_t version);

/* Hash of every word; equal keys hash alike. */
uint64_t fg_plan_key_hash(const fg_plan_key *key);
int fg_plan_key_equal(const fg_plan_key *a, const fg_plan_key *b);
int fg_state_key_equal(const fg_state_key *a, const fg_state_key *b);

/* Whether two recipe objects hold the same fields (not: the same keys). */
int fg_recipe_same_fields(const fg_recipe *a, const fg_recipe *b);

#endif
