#include "fuser/plan_choice.h"

/* With the lock held: what is known of a recipe on a device, or NULL. */
static fg_key_prefix *known_prefix(fg_fuser *fuser, const fg_recipe *recipe, int32_t device) {
    for (int32_t i = 0; i < fuser->prefix_count; i++) {
        fg_key_prefix *prefix = &fuser->prefixes[i];
        if (prefix->device == device && fg_recipe_same_fields(&prefix->said, recipe)) {
            return prefix;
        }
    }
    return NULL;
}

/* With the lock held: whether a call with this state key goes on with the state of the last one. */
static int state_stays(const fg_fuser *fuser, const fg_state_key *key) {
    return fuser->state != NULL && fg_state_key_equal(&fuser->state_key, key);
}

/* With the lock held: finds the plan of a call that needs nothing but a look-up, or NULL. */
static fg_plan *find_hit(fg_fuser *fuser, const fg_recipe *recipe, int32_t device,
                         int32_t boundary) {
    fg_key_prefix *prefix = known_prefix(fuser, recipe, device);
    if (prefix == NULL || fuser->gate.paused || !state_stays(fuser, &prefix->state)) {
        return NULL;
    }
    fg_plan_key_complete(&prefix->plan, boundary, fuser->pass_version);
    fg_plan *plan = fg_plan_cache_find(&fuser->cache, &prefix->plan);
    if (plan != NULL) {
        fuser->counters.plan_hits++;
    }
    return plan;
}

int64_t fg_plan_peek(fg_fuser *fuser, int32_t device, const fg_recipe *recipe, int32_t mode,
                     uint32_t requires) {
    int32_t boundary = fg_op_boundary(&fuser->ops, mode, requires);
    fg_call_gate_lock(&fuser->gate);
    fg_plan *plan = find_hit(fuser, recipe, device, boundary);
    int64_t serial = plan != NULL ? plan->lists[FG_FORWARD].serial : 0;
    fg_call_gate_unlock(&fuser->gate);
    return serial;
}

static fg_status make_prefix(const fg_fuser *fuser, const fg_fuser_device *device,
                             const fg_recipe *recipe, fg_key_prefix *out) {
    uint32_t claimed = 0;
    FG_TRY(fg_recipe_check(recipe));
    const fg_recipe canonical = fg_recipe_canonical(recipe);
    FG_TRY(fg_device_claims(&fuser->devices, device, &fuser->problem, &canonical, &claimed));
    fg_key_prefix_init(recipe, &canonical, device->index, &device->traits, claimed, out);
    return FG_STATUS_OK;
}

/* With the lock held: copies what is known of the recipe, or learns it, letting the lock go. */
static fg_status learn_prefix(fg_fuser *fuser, const fg_fuser_device *device,
                              const fg_recipe *recipe, fg_key_prefix *out) {
    const fg_key_prefix *known = known_prefix(fuser, recipe, device->index);
    if (known != NULL) {
        *out = *known;
        return FG_STATUS_OK;
    }
    fg_call_gate_unlock(&fuser->gate);
    fg_status status = make_prefix(fuser, device, recipe, out);
    fg_call_gate_lock(&fuser->gate);
    if (status == FG_STATUS_OK && known_prefix(fuser, recipe, device->index) == NULL) {
        fuser->prefixes[fuser->prefix_next] = *out;
        fuser->prefix_next = (fuser->prefix_next + 1) % FG_KEY_PREFIXES;
        fuser->prefix_count += fuser->prefix_count < FG_KEY_PREFIXES;
    }
    return status;
}

/* With calls kept out and the lock let go: new state, or the old one with another history length.
 */
static fg_status renew_state(fg_fuser *fuser, const fg_recipe *recipe,
                             const fg_key_prefix *prefix) {
    fg_recipe_state *old = fuser->state, *state = NULL;
    if (old != NULL && fg_state_key_equal(&old->lasting, &prefix->lasting)) {
        return fg_recipe_state_resize(old, recipe->history);
    }
    FG_TRY(fg_recipe_state_create(recipe, &prefix->lasting, &state));
    fuser->state = state;
    fg_fuser_drop(fuser, NULL, old);
    return FG_STATUS_OK;
}

/* With the lock held: waits for calls in flight and resets the recipe state, unless another thread
 * just did that for the same recipe. */
static fg_status reset_state(fg_fuser *fuser, const fg_recipe *recipe, const fg_key_prefix *prefix,
                             fg_trail *trail) {
    fg_status status = FG_STATUS_OK;
    fg_call_gate_pause(&fuser->gate);
    if (!state_stays(fuser, &prefix->state)) {
        fg_call_gate_unlock(&fuser->gate);
        status = renew_state(fuser, recipe, prefix);
        fg_call_gate_lock(&fuser->gate);
        fg_trail_add(trail, FG_EVENT_RESET);
        if (status == FG_STATUS_OK) {
            fuser->state_key = prefix->state;
            fuser->counters.state_resets++;
        }
    }
    fg_call_gate_end_pause(&fuser->gate);
    return status;
}

/* With the lock held: builds, letting the lock go, and stores the plan with two references, one of
 * them the caller's. */
static fg_status build(fg_fuser *fuser, const fg_plan_request *request, const fg_key_prefix *prefix,
                       fg_plan **out) {
    fg_plan_building building = {.key = &prefix->plan};
    fg_plan *plan = NULL, *evicted = NULL;
    fg_fusion fusion = fuser->fusion;
    const fg_plan_spec spec = {.problem = &fuser->problem,
                               .ops = &fuser->ops,
                               .fusion = &fusion,
                               .table = &fuser->devices,
                               .device = request->device,
                               .recipe = &prefix->canonical,
                               .claimed = prefix->claimed,
                               .boundary = request->boundary,
                               .serial = fuser->next_serial};
    const int fails = fuser->failing_builds > 0;
    fuser->failing_builds -= fails;
    fuser->next_serial += 2;
    fg_plan_cache_begin_build(&fuser->cache, &building);
    fg_call_gate_unlock(&fuser->gate);
    fg_status status = fails ? FG_FAIL(FG_STATUS_BUILD, "the test hook fail_build fails this build")
                             : fg_plan_build(&spec, &plan);
    fg_call_gate_lock(&fuser->gate);
    fg_plan_cache_end_build(&fuser->cache, &building);
    if (status == FG_STATUS_OK) {
        plan->refs = 2;
        evicted = fg_plan_cache_insert(&fuser->cache, &prefix->plan, plan);
        fuser->counters.plans_built++;
        fuser->counters.evictions += evicted != NULL;
    }
    fg_call_gate_wake(&fuser->gate);
    fg_call_gate_unlock(&fuser->gate);
    fg_fuser_drop(fuser, evicted, NULL);
    fg_call_gate_lock(&fuser->gate);
    *out = plan;
    return status;
}

/* With the lock held and the call in flight: the plan key and what it finds. */
static fg_status hit_or_build(fg_fuser *fuser, const fg_plan_request *request,
                              fg_key_prefix *prefix, fg_trail *trail, fg_plan **out) {
    for (;;) {
        // Made again after a wait: a pass may have been registered meanwhile.
        fg_plan_key_complete(&prefix->plan, request->boundary, fuser->pass_version);
        fg_plan *plan = fg_plan_cache_find(&fuser->cache, &prefix->plan);
        if (plan != NULL) {
            plan->refs++;
            fuser->counters.plan_hits++;
            fg_trail_add(trail, FG_EVENT_HIT);
            *out = plan;
            return FG_STATUS_OK;
        }
        if (!fg_plan_cache_is_building(&fuser->cache, &prefix->plan)) {
            fg_trail_add(trail, FG_EVENT_BUILD);
            return build(fuser, request, prefix, out);
        }
        fg_call_gate_sleep(&fuser->gate);
    }
}

/* With the lock held: a call that needs more than a look-up. */
static fg_status choose_at_length(fg_fuser *fuser, const fg_plan_request *request, fg_trail *trail,
                                  fg_plan_choice *out) {
    fg_key_prefix prefix;
    FG_TRY(learn_prefix(fuser, request->device, request->recipe, &prefix));
    while (fuser->gate.paused) {
        fg_call_gate_sleep(&fuser->gate);
    }
    fg_trail_add(trail, FG_EVENT_STATE_KEY);
    if (!state_stays(fuser, &prefix.state)) {
        FG_TRY(reset_state(fuser, request->recipe, &prefix, trail));
    }
    if (!fuser->used_before) {
        fuser->used_before = 1;
        fuser->counters.pre_first++;
        fg_trail_add(trail, FG_EVENT_PRE_FIRST);
    }
    fuser->gate.in_flight++;
    fuser->state->refs++;
    out->state = fuser->state;
    fg_trail_add(trail, FG_EVENT_PLAN_KEY);
    fg_status status = hit_or_build(fuser, request, &prefix, trail, &out->plan);
    if (status != FG_STATUS_OK) {
        fg_call_gate_leave(&fuser->gate);
        out->state->refs--; // never the last: `fuser->state` changes only with no call in flight
    }
    return status;
}

fg_status fg_plan_choose(fg_fuser *fuser, const fg_plan_request *request, fg_trail *trail,
                         fg_plan_choice *out) {
    fg_trail_add(trail, FG_EVENT_BOUNDARY);
    fg_call_gate_lock(&fuser->gate);
    fg_plan *plan = find_hit(fuser, request->recipe, request->device->index, request->boundary);
    if (plan != NULL) {
        plan->refs++;
        fuser->state->refs++;
        fuser->gate.in_flight++;
        *out = (fg_plan_choice){.plan = plan, .state = fuser->state};
        fg_call_gate_unlock(&fuser->gate);
        fg_trail_add(trail, FG_EVENT_STATE_KEY);
        fg_trail_add(trail, FG_EVENT_PLAN_KEY);
        fg_trail_add(trail, FG_EVENT_HIT);
        return FG_STATUS_OK;
    }
    fg_status status = choose_at_length(fuser, request, trail, out);
    fg_call_gate_unlock(&fuser->gate);
    return status;
}
