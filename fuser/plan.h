#ifndef FG_FUSER_PLAN_H
#define FG_FUSER_PLAN_H

#include "fuser/device_table.h"
#include "fuser/fusion.h"
#include "fuser/op.h"

/* A run of basic ops that one kernel does, with that kernel on each device where it was used. A run
 * of both lists is one entry. */
typedef struct fg_plan_entry {
    fg_run run;         /* ops of the set */
    fg_problem problem; /* of this run */
    uint32_t inputs;    /* fg_problem_run_inputs: parameters it reads, x only when it reads x */
    _Atomic(fg_kernel *) kernels[FG_DEVICE_SLOTS];
} fg_plan_entry;

typedef struct fg_plan_list {
    int64_t serial;
    int32_t count;
    int32_t entries[FG_OP_COUNT]; /* indices of fg_plan.entries */
} fg_plan_list;

/* Immutable once built, kernels aside, which are made at an entry's first call on a device. Edges
 * are numbered absolutely: 0 x, 1 y1, 2 h, 3 y; edge i is what basic op i reads. */
typedef struct fg_plan {
    int32_t refs;         /* guarded by the fuser's lock */
    struct fg_plan *next; /* chain of plans that a cache dropped */
    int32_t boundary;
    int32_t op_count;
    fg_recipe recipe;      /* canonical */
    fg_plan_list lists[2]; /* FG_FORWARD, FG_BACKWARD */
    int32_t entry_count;
    fg_plan_entry entries[2 * FG_OP_COUNT];
    uint32_t between[2]; /* edges that lie between entries of a list */
    uint32_t kept;       /* edges that a backward of this boundary reads again */
} fg_plan;

/* Edges that a run touches: what it reads, what it writes and what lies inside; none for the whole
 * MLP, which keeps its intermediates in `saved`. */
uint32_t fg_plan_entry_edges(const fg_plan_entry *entry);

/* What a build reads: the key's fields and the table of passes. */
typedef struct fg_plan_spec {
    const fg_problem *problem;
    const fg_op_set *ops;
    const fg_fusion *fusion;
    const fg_device_table *table;
    const fg_fuser_device *device; /* for its traits and for the reason of a refusal */
    const fg_recipe *recipe;       /* canonical */
    uint32_t claimed;
    int32_t boundary;
    int64_t serial; /* of the forward list; the backward list has the next */
} fg_plan_spec;

/* Builds a plan with one reference. FG_STATUS_BUILD: a pass failed, a list does not cover the ops,
 * the whole MLP is in one list only; FG_STATUS_UNSUPPORTED names the run that the backend refuses,
 * with its reason. */
fg_status fg_plan_build(const fg_plan_spec *spec, fg_plan **out);

/* Destroys the kernels and the plan; NULL is a no-op. */
void fg_plan_destroy(fg_plan *plan, const fg_backend *backend);

/* Finds the kernel of an entry on a device, making it at the first call there. Threads may call it
 * at once; a kernel is made once. */
fg_status fg_plan_kernel(fg_plan *plan, int32_t entry, fg_device_table *table,
                         const fg_fuser_device *device, const fg_kernel **out);

#endif
