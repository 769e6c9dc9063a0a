#ifndef FG_CONFORMANCE_SUITES_FUSER_ASSERTS_H
#define FG_CONFORMANCE_SUITES_FUSER_ASSERTS_H

/* Calls of a fuser_rig that must succeed, for the Criterion suites of the fuser. */

#include "conformance/suites/fuser_rig.h"
#include "conformance/suites/tiny_backend.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define ALL_INPUTS                                                                                 \
    (FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_B1) | FG_BIT(FG_P) | FG_BIT(FG_W2) | FG_BIT(FG_B2))

/* Creates the executor of a rig. */
static inline void must_create(fuser_rig *rig) {
    cr_assert_eq(rig_create(rig), FG_STATUS_OK, "%s", fg_message());
}

/* Destroys it; every kernel and device must be gone with it. */
static inline void must_destroy(fuser_rig *rig) {
    rig_destroy(rig);
    cr_assert_eq(tiny.kernels_alive, 0);
    cr_assert_eq(tiny.devices_open, 0);
}

static inline void must_infer(fuser_rig *rig, const fg_recipe *recipe) {
    fg_context *context = NULL;
    cr_assert_eq(rig_forward(rig, recipe, FG_NO_GRAD, 0, &context), FG_STATUS_OK, "%s",
                 fg_message());
    cr_assert_null(context);
}

static inline fg_context *must_forward(fuser_rig *rig, const fg_recipe *recipe, uint32_t requires) {
    fg_context *context = NULL;
    cr_assert_eq(rig_forward(rig, recipe, FG_GRAD, requires, &context), FG_STATUS_OK, "%s",
                 fg_message());
    return context;
}

static inline void must_backward(fuser_rig *rig, fg_context *context, uint32_t requires) {
    cr_assert_eq(rig_backward(rig, context, requires, 0), FG_STATUS_OK, "%s", fg_message());
}

/* A forward with gradients, its backward, and the context's end. */
static inline void must_train(fuser_rig *rig, const fg_recipe *recipe, uint32_t requires) {
    fg_context *context = must_forward(rig, recipe, requires);
    must_backward(rig, context, requires);
    rig->api->context_release(rig->executor, context);
}

static inline void must_hook(fuser_rig *rig, const char *name, int64_t value) {
    cr_assert_eq(rig->api->hook(rig->executor, name, value), FG_STATUS_OK, "%s", fg_message());
}

static inline void check_y(const fuser_rig *rig) {
    for (int64_t t = 0; t < RIG_ROWS; t++) {
        cr_assert_eq(rig_y(rig, t), rig_expected_y(rig, t), "row %d", (int)t);
    }
}

/* Every gradient asked for is right, every other tensor is untouched. */
static inline void check_grads(const fuser_rig *rig, uint32_t requires) {
    for (int i = 0; i < FG_INPUTS; i++) {
        const int by_row = i == FG_X || i == FG_P || i == FG_BIAS_P;
        for (int64_t t = 0; t < (by_row ? RIG_ROWS : 1); t++) {
            const float expected = requires & FG_BIT(i) ? rig_expected_grad(rig, i, t) : 100.0f;
            cr_assert_eq(rig_grad(rig, i, t), expected, "%s row %d mask %#x: %g, expected %g",
                         fg_grad_name(i), (int)t, requires, (double)rig_grad(rig, i, t),
                         (double)expected);
        }
    }
}

/* The counts that fuser.md's table speaks of. */
static inline void check_counts(const fuser_rig *rig, int64_t built, int64_t resets) {
    const fg_counters counters = rig_counters(rig);
    cr_assert_eq(counters.plans_built, built, "built %d, expected %d", (int)counters.plans_built,
                 (int)built);
    cr_assert_eq(counters.state_resets, resets, "resets %d, expected %d",
                 (int)counters.state_resets, (int)resets);
    cr_assert_eq(counters.pre_first, 1);
}

#endif
