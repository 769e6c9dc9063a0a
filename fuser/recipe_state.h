#ifndef FG_FUSER_RECIPE_STATE_H
#define FG_FUSER_RECIPE_STATE_H

#include "fuser/device_table.h"
#include "fuser/plan_key.h"

/* Quantizer state of the ops under one recipe: a scale for each role and the history of its amax
 * (delayed scaling only; the other recipes keep none). Contexts and tokens refer to it: `refs` is
 * guarded by the fuser's lock, and so is `history_length`. */
typedef struct fg_recipe_state {
    int32_t refs;
    int32_t kind;           /* fg_recipe_kind */
    fg_state_key lasting;   /* state key without the history length */
    int32_t history_length; /* 0 without a history */
    float scale[FG_ROLES];
    float *history[FG_ROLES];                       /* [history_length] */
    _Atomic(void *) device_memory[FG_DEVICE_SLOTS]; /* scale and amax of each role */
} fg_recipe_state;

/* Views of a state's device memory for one call. */
typedef struct fg_quant_views {
    fg_quant quant;
    fg_tensor scale[FG_ROLES], amax[FG_ROLES];
} fg_quant_views;

/* Makes new state with one reference: scales 1, history zero. */
fg_status fg_recipe_state_create(const fg_recipe *recipe, const fg_state_key *lasting,
                                 fg_recipe_state **out);

/* Frees a state that nothing refers to any more; NULL is a no-op. */
void fg_recipe_state_destroy(fg_recipe_state *state, const fg_device_table *table);

/* Changes the history length: keeps the oldest slots or adds zeros at the end; scales stay.
 * FG_STATUS_NO_MEMORY leaves the length. */
fg_status fg_recipe_state_resize(fg_recipe_state *state, int32_t history_length);

/* Gives the scales for one call on a device, and with `record` the places for its amax. *out is
 * NULL for recipe none. The first call on a device copies the scales there and waits for that. */
fg_status fg_recipe_state_quant(fg_recipe_state *state, fg_device_table *table,
                                const fg_fuser_device *device, fg_stream stream, int32_t record,
                                fg_quant_views *views, const fg_quant **out);

#endif
