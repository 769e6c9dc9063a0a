#ifndef FG_CONFORMANCE_EXECUTOR_EXECUTOR_MODEL_H
#define FG_CONFORMANCE_EXECUTOR_EXECUTOR_MODEL_H

/* What a right executor must count: a set of plan keys with least-recent eviction, and the recipe
 * last seen. It shares no code with any executor and compares recipes field by field. */

#include "contract/executor.h"

#define FG_MODEL_PLANS 64

/* One plan the executor must hold, and the serial numbers it gave for its lists. */
typedef struct fg_model_plan {
    fg_recipe recipe; /* normal form, without history */
    int32_t boundary;
    int32_t passes; /* how many were registered when it was built */
    int64_t used;
    int64_t forward_id, backward_id; /* 0: not seen yet */
} fg_model_plan;

typedef struct fg_model {
    int32_t capacity;
    uint32_t inputs; /* those that the problem has */
    fg_model_plan plans[FG_MODEL_PLANS];
    int32_t count;
    int64_t clock;
    int32_t ever; /* 1 after the first call */
    fg_recipe last;
    int32_t passes;
    int64_t failing; /* builds yet to fail */
    fg_counters expected;
} fg_model;

/* What one forward must do. `plan` points into the model until the next call; NULL: build fails. */
typedef struct fg_model_call {
    int32_t mode, boundary, reset, first, hit;
    fg_model_plan *plan;
} fg_model_call;

/* Starts a model of a new executor with room for `capacity` plans (0: 64) of a whole MLP. */
void fg_model_start(fg_model *model, const fg_problem *problem, int32_t capacity);

/* Accounts for one forward; `requires` as in fg_executor_api.forward. */
fg_model_call fg_model_forward(fg_model *model, int32_t mode, const fg_recipe *recipe,
                               uint32_t requires);

/* Accounts for one backward, `clear`, a registered pass. */
void fg_model_backward(fg_model *model);
void fg_model_clear(fg_model *model);
void fg_model_pass(fg_model *model);

/* First basic op requiring a backward; FG_OP_COUNT when gradients are off or nothing does. */
int32_t fg_model_boundary(int32_t mode, uint32_t requires);

/* Whether two recipes say the same (fields that their kind does not use do not count). */
int fg_model_same_recipe(const fg_recipe *a, const fg_recipe *b);

/* Compares counters with the expected ones: 1 when every given one is right. `text` gets
 * "plans built: expected 2, got 6" of the first wrong one; `missing` how many were not given. */
int fg_model_compare(const fg_model *model, const fg_counters *got, char *text, size_t size,
                     int32_t *missing);

#endif
