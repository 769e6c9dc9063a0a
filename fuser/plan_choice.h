#ifndef FG_FUSER_PLAN_CHOICE_H
#define FG_FUSER_PLAN_CHOICE_H

#include "fuser/fuser.h"

/* What a forward asks for. The device is open, the boundary is this call's. */
typedef struct fg_plan_request {
    int32_t mode; /* FG_NO_GRAD, FG_GRAD */
    uint32_t requires;
    int32_t boundary;
    const fg_recipe *recipe;
    const fg_fuser_device *device;
} fg_plan_request;

/* What a forward runs with: a reference to its plan and one to its recipe state. */
typedef struct fg_plan_choice {
    fg_plan *plan;
    fg_recipe_state *state;
} fg_plan_choice;

/* Goes through the steps state key .. hit or build of one call and enters it as in flight. On
 * success the caller owns the references and must leave the gate; on error it holds and has entered
 * nothing. FG_STATUS_INVALID for a wrong recipe, or as fg_plan_build. */
fg_status fg_plan_choose(fg_fuser *fuser, const fg_plan_request *request, fg_trail *trail,
                         fg_plan_choice *out);

/* What a hit costs, and nothing else: boundary, state key, plan key, look-up; counts as a hit. The
 * serial of the plan's forward list, or 0 when there is no such plan or the recipe is another than
 * the last call's (then nothing changed). */
int64_t fg_plan_peek(fg_fuser *fuser, int32_t device, const fg_recipe *recipe, int32_t mode,
                     uint32_t requires);

#endif
