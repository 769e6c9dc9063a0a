#define XXH_INLINE_ALL
#include "fuser/plan_key.h"
#include <string.h>
#include <xxhash.h>

_Static_assert(sizeof(fg_recipe) == 40, "fg_recipe has no padding, so its fields compare as bytes");

void fg_state_key_lasting(const fg_recipe *recipe, fg_state_key *out) {
    fg_recipe lasting = *recipe;
    lasting.history = fg_recipe_default((fg_recipe_kind)recipe->kind).history;
    *out = (fg_state_key){0};
    fg_recipe_state_bytes(&lasting, (uint8_t *)out->words);
}

/* Whether the keys tell two recipes apart, history length aside. */
static int keys_differ(const fg_recipe *a, const fg_recipe *b) {
    fg_state_key left, right;
    fg_state_key_lasting(a, &left);
    fg_state_key_lasting(b, &right);
    return !fg_state_key_equal(&left, &right);
}

fg_recipe fg_recipe_canonical(const fg_recipe *recipe) {
    const fg_recipe plain = fg_recipe_default((fg_recipe_kind)recipe->kind);
    fg_recipe out = *recipe;
    int32_t *const fields[] = {&out.override, &out.format, &out.algo, &out.margin,
                               &out.power_of_two};
    const int32_t defaults[] = {plain.override, plain.format, plain.algo, plain.margin,
                                plain.power_of_two};
    out.struct_size = sizeof out;
    out.history = plain.history;
    // A field counts exactly when the recipe's own key bytes change with it.
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        int32_t said = *fields[i];
        *fields[i] = defaults[i];
        if (keys_differ(&out, recipe)) {
            *fields[i] = said;
        }
    }
    float epsilon = out.epsilon;
    out.epsilon = plain.epsilon;
    if (keys_differ(&out, recipe)) {
        out.epsilon = epsilon;
    }
    return out;
}

static void put_bytes(void *words, size_t at, uint64_t value, size_t count) {
    uint8_t *bytes = words;
    for (size_t i = 0; i < count; i++) {
        bytes[at + i] = (uint8_t)(value >> (8 * i));
    }
}

void fg_key_prefix_init(const fg_recipe *recipe, const fg_recipe *canonical, int32_t device,
                        const fg_traits *traits, uint32_t claimed, fg_key_prefix *out) {
    *out = (fg_key_prefix){
        .said = *recipe, .device = device, .canonical = *canonical, .claimed = claimed};
    fg_recipe_state_bytes(recipe, (uint8_t *)out->state.words);
    fg_state_key_lasting(recipe, &out->lasting);
    put_bytes(out->plan.words, 1, (uint64_t)canonical->override, 1);
    put_bytes(out->plan.words, 2, (uint64_t)traits->memory, 1);
    put_bytes(out->plan.words, 3, traits->capturable != 0, 1);
    put_bytes(out->plan.words, 4, claimed, 2);
    put_bytes(out->plan.words, 8, (uint32_t)traits->base_align, 4);
    put_bytes(out->plan.words, 12, (uint32_t)traits->segment_align, 4);
    fg_recipe_options_bytes(recipe, (uint8_t *)&out->plan.words[3]);
}

void fg_plan_key_complete(fg_plan_key *key, int32_t boundary, uint64_t version) {
    put_bytes(key->words, 0, (uint64_t)boundary, 1);
    put_bytes(key->words, 16, version, 8);
}

uint64_t fg_plan_key_hash(const fg_plan_key *key) {
    return XXH3_64bits(key->words, sizeof key->words);
}

int fg_plan_key_equal(const fg_plan_key *a, const fg_plan_key *b) {
    return memcmp(a->words, b->words, sizeof a->words) == 0;
}

int fg_state_key_equal(const fg_state_key *a, const fg_state_key *b) {
    return memcmp(a->words, b->words, sizeof a->words) == 0;
}

int fg_recipe_same_fields(const fg_recipe *a, const fg_recipe *b) {
    return memcmp(a, b, sizeof *a) == 0;
}
