#define XXH_INLINE_ALL
#include "fuser/plan_key.h"
#include <xxhash.h>

_Static_assert(sizeof(fg_recipe) == 40, "fg_recipe_same_fields and _canonical list every field");

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

void fg_key_prefix_init(const fg_recipe *recipe, const fg_recipe *canonical, int32_t device,
                        const fg_traits *traits, uint32_t claimed, fg_key_prefix *out) {
    *out = (fg_key_prefix){
        .said = *recipe, .device = device, .canonical = *canonical, .claimed = claimed};
    fg_recipe_state_bytes(recipe, (uint8_t *)out->state.words);
    fg_state_key_lasting(recipe, &out->lasting);
    out->plan.words[0] = (uint64_t)(uint8_t)canonical->override << 8 |
                         (uint64_t)(uint8_t)traits->memory << 16 |
                         (uint64_t)(traits->capturable != 0) << 24 | (uint64_t)claimed << 32;
    out->plan.words[1] = (uint32_t)traits->base_align | (uint64_t)(uint32_t)traits->segment_align
                                                            << 32;
    fg_recipe_options_bytes(recipe, (uint8_t *)&out->plan.words[3]);
    out->plan.seed = XXH3_64bits(out->plan.words, sizeof out->plan.words);
}

void fg_plan_key_complete(fg_plan_key *key, int32_t boundary, uint64_t version) {
    // Whole words: a byte written just before the hash reads its word would stall that read.
    key->words[0] = (key->words[0] & ~(uint64_t)0xff) | (uint64_t)(uint8_t)boundary;
    key->words[2] = version;
}

uint64_t fg_plan_key_hash(const fg_plan_key *key) {
    // Odd factors: keys of one prefix differ in the low bits that pick a slot.
    return key->seed + (key->words[0] & 0xff) * UINT64_C(0x9e3779b97f4a7c15) +
           key->words[2] * UINT64_C(0xc2b2ae3d27d4eb4f);
}

static int words_equal(const uint64_t *a, const uint64_t *b, int count) {
    int i = 0;
    while (i < count && a[i] == b[i]) {
        i++;
    }
    return i == count;
}

int fg_plan_key_equal(const fg_plan_key *a, const fg_plan_key *b) {
    return words_equal(a->words, b->words, FG_PLAN_KEY_WORDS);
}

int fg_state_key_equal(const fg_state_key *a, const fg_state_key *b) {
    return words_equal(a->words, b->words, FG_RECIPE_BYTES / 8);
}

int fg_recipe_same_fields(const fg_recipe *a, const fg_recipe *b) {
    return a->struct_size == b->struct_size && a->kind == b->kind && a->override == b->override &&
           a->format == b->format && a->algo == b->algo && a->margin == b->margin &&
           a->power_of_two == b->power_of_two && a->history == b->history &&
           a->epsilon == b->epsilon;
}
