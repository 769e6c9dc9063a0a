#ifndef FG_FUSER_FUSER_H
#define FG_FUSER_FUSER_H

#include "fuser/call_gate.h"
#include "fuser/plan_cache.h"
#include "fuser/plan_run.h"
#include "fuser/recipe_state.h"

#define FG_KEY_PREFIXES 4
#define FG_FUSER_EVENTS 12

/* The operation fuser. Everything from `gate` on is guarded by its lock. */
struct fg_executor {
    fg_problem problem;
    fg_op_set ops;
    fg_device_table devices;
    fg_stream (*stream_for)(void *user, int32_t device);
    void *user;

    fg_call_gate gate;
    fg_fusion fusion;
    uint64_t pass_version;
    fg_plan_cache cache;
    fg_key_prefix prefixes[FG_KEY_PREFIXES]; /* of the recipes seen last */
    int32_t prefix_count, prefix_next;
    fg_state_key state_key; /* of the last call */
    fg_recipe_state *state; /* NULL: never used yet */
    int32_t used_before;    /* pre-first has run */
    int64_t next_serial;
    int64_t failing_builds; /* test hook */
    fg_counters counters;   /* kernels_created is counted in `devices` */
    int64_t last_serials[2];
    int32_t last_run_counts[2];
    fg_run last_runs[2][FG_OP_COUNT];
    uint32_t flags[FG_OP_COUNT];
    fg_event events[FG_FUSER_EVENTS];
    int32_t event_count;
    struct fg_context *idle_contexts;
    struct fg_token *idle_tokens;
};

typedef struct fg_executor fg_fuser;

/* Steps of one call, in order. */
typedef struct fg_trail {
    int32_t count;
    fg_event events[FG_FUSER_EVENTS];
} fg_trail;

static inline void fg_trail_add(fg_trail *trail, fg_event event) {
    if (trail->count < FG_FUSER_EVENTS) {
        trail->events[trail->count++] = event;
    }
}

/* Makes a fuser; problem and options are copied, backend and user outlive it. FG_STATUS_INVALID,
 * _NO_MEMORY. */
fg_status fg_fuser_create(const fg_problem *problem, const fg_executor_options *options,
                          fg_fuser **out);

/* Ends a fuser; its contexts and tokens must have been released. NULL is a no-op. */
void fg_fuser_destroy(fg_fuser *fuser);

/* Ends a training step: waits for the calls in flight. */
fg_status fg_fuser_step(fg_fuser *fuser);

/* Adds a fusion pass; every plan key changes. */
fg_status fg_fuser_register_pass(fg_fuser *fuser, int32_t kind, fg_pass_fn pass, void *user);

/* Drops every plan; those that contexts and calls hold stay. */
fg_status fg_fuser_clear(fg_fuser *fuser);

/* Lets go of references, each plan or state being freed with its last one; NULL is a no-op. Called
 * without the lock. */
void fg_fuser_drop(fg_fuser *fuser, fg_plan *plan, fg_recipe_state *state);

/* Test hooks: equal_hash, fail_build, device_property; FG_STATUS_NOT_FOUND for others. */
fg_status fg_fuser_hook(fg_fuser *fuser, const char *name, int64_t value);

#endif
