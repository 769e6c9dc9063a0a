#include "conformance/executor/executor_model.h"
#include <stdio.h>

int32_t fg_model_boundary(int32_t mode, uint32_t requires) {
    static const int32_t op_of[FG_INPUTS] = {
        [FG_X] = FG_OP_FC1,        [FG_W1] = FG_OP_FC1, [FG_B1] = FG_OP_FC1,
        [FG_P] = FG_OP_ACTIVATION, [FG_W2] = FG_OP_FC2, [FG_B2] = FG_OP_FC2,
        [FG_BIAS_P] = FG_OP_FC2,
    };
    int32_t boundary = FG_OP_COUNT;
    for (int i = 0; mode == FG_GRAD && i < FG_INPUTS; i++) {
        if ((requires & FG_BIT(i)) && op_of[i] < boundary) {
            boundary = op_of[i];
        }
    }
    return boundary;
}

/* The recipe with every field that its kind does not use cleared. */
static fg_recipe normal_form(const fg_recipe *recipe) {
    fg_recipe normal = {.struct_size = sizeof normal, .kind = recipe->kind};
    if (recipe->kind == FG_RECIPE_CURRENT) {
        normal.override = recipe->override;
        normal.format = recipe->format;
        normal.power_of_two = recipe->power_of_two;
        normal.epsilon = recipe->epsilon;
    } else if (recipe->kind == FG_RECIPE_DELAYED) {
        normal.override = recipe->override;
        normal.format = recipe->format;
        normal.algo = recipe->algo;
        normal.margin = recipe->margin;
        normal.history = recipe->history;
    }
    return normal;
}

static int equal_fields(const fg_recipe *a, const fg_recipe *b) {
    return a->kind == b->kind && a->override == b->override && a->format == b->format &&
           a->algo == b->algo && a->margin == b->margin && a->power_of_two == b->power_of_two &&
           a->history == b->history && !(a->epsilon < b->epsilon) && !(a->epsilon > b->epsilon);
}

int fg_model_same_recipe(const fg_recipe *a, const fg_recipe *b) {
    fg_recipe normal_a = normal_form(a);
    fg_recipe normal_b = normal_form(b);
    return equal_fields(&normal_a, &normal_b);
}

void fg_model_start(fg_model *model, const fg_problem *problem, int32_t capacity) {
    *model = (fg_model){.capacity = capacity ? capacity : FG_MODEL_PLANS,
                        .expected = {.struct_size = sizeof(fg_counters)}};
    for (int i = 0; i < FG_INPUTS; i++) {
        model->inputs |= fg_problem_has_input(problem, i) ? FG_BIT(i) : 0u;
    }
}

static fg_model_plan *find_plan(fg_model *model, const fg_recipe *recipe, int32_t boundary) {
    for (int32_t i = 0; i < model->count; i++) {
        fg_model_plan *plan = &model->plans[i];
        if (plan->boundary == boundary && plan->passes == model->passes &&
            equal_fields(&plan->recipe, recipe)) {
            return plan;
        }
    }
    return NULL;
}

/* A place for one more plan: a free one, or that of the plan used longest ago. */
static fg_model_plan *take_place(fg_model *model) {
    if (model->count < model->capacity) {
        return &model->plans[model->count++];
    }
    fg_model_plan *oldest = &model->plans[0];
    for (int32_t i = 1; i < model->count; i++) {
        oldest = model->plans[i].used < oldest->used ? &model->plans[i] : oldest;
    }
    model->expected.evictions++;
    return oldest;
}

static void see_recipe(fg_model *model, const fg_recipe *normal, fg_model_call *call) {
    call->first = !model->ever;
    call->reset = !model->ever || !equal_fields(&model->last, normal);
    model->expected.state_resets += call->reset;
    model->expected.pre_first += call->first;
    model->ever = 1;
    model->last = *normal;
}

fg_model_call fg_model_forward(fg_model *model, int32_t mode, const fg_recipe *recipe,
                               uint32_t requires) {
    fg_model_call call = {.mode = mode,
                          .boundary = fg_model_boundary(mode, requires & model->inputs)};
    fg_recipe normal = normal_form(recipe);
    see_recipe(model, &normal, &call);
    normal.history = 0;
    call.plan = find_plan(model, &normal, call.boundary);
    call.hit = call.plan != NULL;
    model->expected.plan_hits += call.hit;
    if (!call.plan && model->failing > 0) {
        model->failing--;
        return call;
    }
    if (!call.plan) {
        call.plan = take_place(model);
        *call.plan =
            (fg_model_plan){.recipe = normal, .boundary = call.boundary, .passes = model->passes};
        model->expected.plans_built++;
    }
    call.plan->used = ++model->clock;
    model->expected.stream_lookups++;
    return call;
}

void fg_model_backward(fg_model *model) {
    model->expected.stream_lookups++;
}

void fg_model_clear(fg_model *model) {
    model->count = 0;
}

void fg_model_pass(fg_model *model) {
    model->passes++;
}

int fg_model_compare(const fg_model *model, const fg_counters *got, char *text, size_t size,
                     int32_t *missing) {
    const fg_counters *want = &model->expected;
    const struct {
        const char *name;
        int64_t want, got;
    } counts[] = {
        {"plans built", want->plans_built, got->plans_built},
        {"plan hits", want->plan_hits, got->plan_hits},
        {"evictions", want->evictions, got->evictions},
        {"state resets", want->state_resets, got->state_resets},
        {"pre-first calls", want->pre_first, got->pre_first},
        {"stream look-ups", want->stream_lookups, got->stream_lookups},
        {"current-device queries", want->current_device_queries, got->current_device_queries},
    };
    *missing = 0;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (counts[i].got == FG_NOT_GIVEN) {
            (*missing)++;
        } else if (counts[i].got != counts[i].want) {
            snprintf(text, size, "%s: expected %lld, got %lld", counts[i].name,
                     (long long)counts[i].want, (long long)counts[i].got);
            return 0;
        }
    }
    return 1;
}
