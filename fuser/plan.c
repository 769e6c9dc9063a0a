#include "fuser/plan.h"
#include "contract/alloc.h"
#include <string.h>

static int is_whole_mlp(const fg_plan_entry *entry) {
    return entry->problem.op_count == FG_OP_COUNT;
}

uint32_t fg_plan_entry_edges(const fg_plan_entry *entry) {
    uint32_t edges = 0;
    for (int32_t edge = 0; edge <= entry->problem.op_count && !is_whole_mlp(entry); edge++) {
        edges |= FG_BIT(entry->problem.first_op + edge);
    }
    return edges;
}

/* Index of the entry for a run, added when there is none yet. */
static int32_t entry_of_run(fg_plan *plan, const fg_problem *problem, fg_run run) {
    for (int32_t i = 0; i < plan->entry_count; i++) {
        if (plan->entries[i].run.first == run.first && plan->entries[i].run.count == run.count) {
            return i;
        }
    }
    fg_plan_entry *entry = &plan->entries[plan->entry_count];
    entry->run = run;
    entry->problem = fg_problem_of_run(problem, run.first, run.count);
    entry->inputs = fg_problem_run_inputs(&entry->problem);
    return plan->entry_count++;
}

static void fill_list(fg_plan *plan, int32_t direction, const fg_problem *problem,
                      const fg_run_list *runs, int64_t serial) {
    fg_plan_list *list = &plan->lists[direction];
    list->serial = serial;
    list->count = runs->count;
    for (int32_t i = 0; i < runs->count; i++) {
        list->entries[i] = entry_of_run(plan, problem, runs->runs[i]);
        if (i > 0) {
            plan->between[direction] |= FG_BIT(problem->first_op + runs->runs[i].first);
        }
    }
}

/* Marks the inner edges that the backward's entries from the boundary on touch. */
static void mark_kept(fg_plan *plan, const fg_problem *problem) {
    const fg_plan_list *list = &plan->lists[FG_BACKWARD];
    for (int32_t i = 0; i < list->count; i++) {
        const fg_plan_entry *entry = &plan->entries[list->entries[i]];
        if (entry->run.first + entry->run.count > plan->boundary) {
            plan->kept |= fg_plan_entry_edges(entry);
        }
    }
    plan->kept &= ~(FG_BIT(problem->first_op) | FG_BIT(problem->first_op + problem->op_count));
}

/* The whole MLP keeps its intermediates where only its own backward finds them. */
static fg_status check_joint(const fg_run_list *forward, const fg_run_list *backward) {
    int whole_forward = forward->runs[0].count == FG_OP_COUNT;
    int whole_backward = backward->runs[0].count == FG_OP_COUNT;
    if (whole_forward != whole_backward) {
        char texts[2][64];
        return FG_FAIL(FG_STATUS_BUILD,
                       "found forward runs %s and backward runs %s, expected 0..2 in both or none",
                       fg_run_list_text(forward, texts[0], sizeof texts[0]),
                       fg_run_list_text(backward, texts[1], sizeof texts[1]));
    }
    return FG_STATUS_OK;
}

static fg_status refuse(const fg_plan_spec *spec, fg_run run) {
    char reason[FG_REASON_SIZE] = {0};
    const fg_problem problem = fg_problem_of_run(spec->problem, run.first, run.count);
    const fg_backend *backend = spec->table->backend;
    fg_status status = backend->supports(spec->device->device, &problem, spec->recipe, reason);
    reason[FG_REASON_SIZE - 1] = '\0';
    return FG_FAIL(status != FG_STATUS_OK ? status : FG_STATUS_UNSUPPORTED,
                   "backend %s refuses the run %d..%d (%s to %s) under recipe %s: %s",
                   backend->name, run.first, run.first + run.count - 1,
                   fg_op_name(problem.first_op),
                   fg_op_name(problem.first_op + problem.op_count - 1),
                   fg_recipe_kind_name((fg_recipe_kind)spec->recipe->kind), reason);
}

static fg_status check_claims(const fg_plan_spec *spec, const fg_run_list *list) {
    for (int32_t i = 0; i < list->count; i++) {
        if (!(spec->claimed & fg_run_claim(list->runs[i]))) {
            return refuse(spec, list->runs[i]);
        }
    }
    return FG_STATUS_OK;
}

/* Works out both lists and checks them. */
static fg_status choose_runs(const fg_plan_spec *spec, fg_run_list *forward,
                             fg_run_list *backward) {
    const fg_traits *traits = &spec->device->traits;
    fg_recipe recipe = *spec->recipe;
    recipe.history = 0;
    const fg_pass_input input = {.struct_size = sizeof input,
                                 .problem = spec->problem,
                                 .recipe = &recipe,
                                 .boundary = spec->boundary,
                                 .claimed = spec->claimed,
                                 .traits = {.struct_size = sizeof input.traits,
                                            .memory = traits->memory,
                                            .capturable = traits->capturable != 0,
                                            .base_align = traits->base_align,
                                            .segment_align = traits->segment_align}};
    if (spec->claimed == 0) { // the reason for the whole says more than the one for its first op
        return refuse(spec, (fg_run){0, spec->ops->count});
    }
    FG_TRY(fg_fusion_apply(spec->fusion, &input, spec->ops->count, forward, backward));
    FG_TRY(check_joint(forward, backward));
    FG_TRY(check_claims(spec, forward));
    return check_claims(spec, backward);
}

fg_status fg_plan_build(const fg_plan_spec *spec, fg_plan **out) {
    fg_run_list forward = {0}, backward = {0};
    FG_TRY(choose_runs(spec, &forward, &backward));
    fg_plan *plan = fg_alloc(sizeof *plan, FG_ALLOC_PLAN);
    if (plan == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected %zu bytes", sizeof *plan);
    }
    plan->refs = 1;
    plan->boundary = spec->boundary;
    plan->op_count = spec->ops->count;
    plan->recipe = *spec->recipe;
    fill_list(plan, FG_FORWARD, spec->problem, &forward, spec->serial);
    fill_list(plan, FG_BACKWARD, spec->problem, &backward, spec->serial + 1);
    mark_kept(plan, spec->problem);
    *out = plan;
    return FG_STATUS_OK;
}

void fg_plan_destroy(fg_plan *plan, const fg_backend *backend) {
    if (plan == NULL) {
        return;
    }
    for (int32_t i = 0; i < plan->entry_count; i++) {
        for (int32_t slot = 0; slot < FG_DEVICE_SLOTS; slot++) {
            fg_kernel *kernel = atomic_load(&plan->entries[i].kernels[slot]);
            if (kernel != NULL) {
                backend->kernel_destroy(kernel);
            }
        }
    }
    fg_free(plan);
}

fg_status fg_plan_kernel(fg_plan *plan, int32_t entry, fg_device_table *table,
                         const fg_fuser_device *device, const fg_kernel **out) {
    _Atomic(fg_kernel *) *slot = &plan->entries[entry].kernels[device->index + 1];
    fg_kernel *kernel = atomic_load_explicit(slot, memory_order_acquire);
    fg_status status = FG_STATUS_OK;
    if (kernel == NULL) {
        pthread_mutex_lock(&table->mutex);
        kernel = atomic_load_explicit(slot, memory_order_acquire);
        if (kernel == NULL) {
            status = table->backend->kernel_create(device->device, &plan->entries[entry].problem,
                                                   &plan->recipe, &kernel);
            if (status == FG_STATUS_OK) {
                atomic_fetch_add(&table->kernels_created, 1);
                atomic_store_explicit(slot, kernel, memory_order_release);
            }
        }
        pthread_mutex_unlock(&table->mutex);
    }
    *out = kernel;
    return status == FG_STATUS_OK ? status : fg_trace(status, "kernel_create", __FILE__, __LINE__);
}
