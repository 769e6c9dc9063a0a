#include "fuser/plan_run.h"
#include "fuser/call_memory.h"
#include <string.h>

/* The run of a call through one list: its memory and what each entry is given. */
typedef struct walk {
    const fg_plan_call *call;
    int32_t direction;
    fg_layout layout;
    fg_buffer *buffer;
    fg_tensor edges[FG_EDGES]; /* inner edges, or their gradients, made for this call only */
    size_t offsets[FG_EDGES];
    uint32_t made; /* which of them */
    const fg_kernel *kernels[FG_OP_COUNT];
    fg_kernel_sizes sizes[FG_OP_COUNT];
    size_t scratch;
} walk;

static fg_plan_entry *entry_of(const walk *w, int32_t i) {
    fg_plan *plan = w->call->plan;
    return &plan->entries[plan->lists[w->direction].entries[i]];
}

/* Whether an entry holds an op from the boundary on. */
static int requires_gradient(const walk *w, int32_t i) {
    const fg_run *run = &entry_of(w, i)->run;
    return run->first + run->count > w->call->plan->boundary;
}

/* Finds kernels and sizes of the entries that the walk calls, and the largest scratch. */
static fg_status find_kernels(walk *w) {
    const fg_plan_call *call = w->call;
    const fg_plan_list *list = &call->plan->lists[w->direction];
    size_t largest = 0;
    for (int32_t i = 0; i < list->count; i++) {
        if (w->direction == FG_BACKWARD && !requires_gradient(w, i)) {
            continue;
        }
        FG_TRY(fg_plan_kernel(call->plan, list->entries[i], call->table, call->device,
                              &w->kernels[i]));
        w->sizes[i].struct_size = sizeof w->sizes[i];
        FG_TRY(call->table->backend->kernel_sizes(w->kernels[i], call->in->rows, &w->sizes[i]));
        size_t scratch =
            w->direction == FG_FORWARD ? w->sizes[i].scratch_forward : w->sizes[i].scratch_backward;
        largest = scratch > largest ? scratch : largest;
    }
    return fg_layout_add(&w->layout, largest, &w->scratch);
}

static fg_status add_edges(fg_layout *layout, const fg_plan_call *call, uint32_t edges,
                           fg_tensor tensors[FG_EDGES], size_t offsets[FG_EDGES]) {
    for (int32_t edge = 0; edge < FG_EDGES; edge++) {
        if (edges & FG_BIT(edge)) {
            FG_TRY(fg_layout_add_edge(layout, call->problem, call->device, edge, call->in->rows,
                                      &tensors[edge], &offsets[edge]));
        }
    }
    return FG_STATUS_OK;
}

static void place_edges(const fg_buffer *buffer, uint32_t edges, fg_tensor tensors[FG_EDGES],
                        const size_t offsets[FG_EDGES]) {
    for (int32_t edge = 0; edge < FG_EDGES; edge++) {
        if (edges & FG_BIT(edge)) {
            tensors[edge].data = (char *)buffer->data + offsets[edge];
        }
    }
}

/* Makes the memory of this call only: scratch and the inner edges `made`. */
static fg_status begin_walk(walk *w, const fg_plan_call *call, int32_t direction, uint32_t made) {
    *w = (walk){.call = call,
                .direction = direction,
                .layout = fg_layout_begin(call->device),
                .made = made};
    FG_TRY(find_kernels(w));
    FG_TRY(add_edges(&w->layout, call, made, w->edges, w->offsets));
    FG_TRY(fg_buffer_take(&call->device->pool, w->layout.bytes, call->stream, &w->buffer));
    place_edges(w->buffer, made, w->edges, w->offsets);
    return FG_STATUS_OK;
}

static void end_walk(const walk *w) {
    fg_buffer_give(&w->call->device->pool, w->buffer, w->call->stream);
}

/* Makes the memory that outlives the forward: `saved` of the entries that save, and kept edges. */
static fg_status begin_kept(const walk *w, fg_kept *kept) {
    const fg_plan_call *call = w->call;
    fg_layout layout = fg_layout_begin(call->device);
    size_t saved[FG_OP_COUNT] = {0}, edges[FG_EDGES] = {0};
    const int32_t count = call->plan->lists[FG_FORWARD].count;
    for (int32_t i = 0; i < count; i++) {
        if (requires_gradient(w, i)) {
            FG_TRY(fg_layout_add(&layout, w->sizes[i].saved, &saved[i]));
        }
    }
    FG_TRY(add_edges(&layout, call, call->plan->kept, kept->edges, edges));
    FG_TRY(fg_buffer_take(&call->device->pool, layout.bytes, call->stream, &kept->buffer));
    place_edges(kept->buffer, call->plan->kept, kept->edges, edges);
    for (int32_t i = 0; i < count; i++) {
        kept->saved[i] = requires_gradient(w, i) ? (char *)kept->buffer->data + saved[i] : NULL;
    }
    return FG_STATUS_OK;
}

/* The call's inputs, only those that an entry reads. */
static fg_inputs inputs_of(const fg_plan_call *call, const fg_plan_entry *entry) {
    fg_inputs in = *call->in;
    for (int32_t i = 0; i < FG_INPUT_SLOTS; i++) {
        if (!(entry->inputs & FG_BIT(i))) {
            in.inputs[i] = NULL;
        }
    }
    return in;
}

/* One edge as a kernel is given it: NULL where the entry does not touch it or nobody made it. */
static const fg_tensor *given(const fg_plan_entry *entry, const fg_tensor *const edges[FG_EDGES],
                              int32_t edge) {
    return fg_plan_entry_edges(entry) & FG_BIT(edge) ? edges[edge] : NULL;
}

/* The forward's tensors by edge: main input, what was kept, what this call made, output. */
static void forward_edges(const fg_plan_call *call, const fg_tensor kept[FG_EDGES],
                          const walk *made, const fg_tensor *y, const fg_tensor *edges[FG_EDGES]) {
    const int32_t first = call->problem->first_op;
    for (int32_t edge = 0; edge < FG_EDGES; edge++) {
        int has_kept = kept != NULL && kept[edge].data != NULL;
        edges[edge] = has_kept ? &kept[edge] : NULL;
        if (!has_kept && made != NULL && (made->made & FG_BIT(edge))) {
            edges[edge] = &made->edges[edge];
        }
    }
    edges[first] = call->in->inputs[FG_X];
    edges[first + call->problem->op_count] = y;
}

static fg_status run_forward(const walk *w, const fg_tensor *y, fg_kept *kept) {
    const fg_plan_call *call = w->call;
    const fg_tensor *edges[FG_EDGES] = {0};
    forward_edges(call, kept != NULL ? kept->edges : NULL, w, y, edges);
    for (int32_t i = 0; i < call->plan->lists[FG_FORWARD].count; i++) {
        const fg_plan_entry *entry = entry_of(w, i);
        const fg_inputs in = inputs_of(call, entry);
        const int32_t end = entry->problem.first_op + entry->problem.op_count;
        const fg_forward_args args = {.struct_size = sizeof args,
                                      .in = &in,
                                      .y1 = given(entry, edges, 1),
                                      .h = given(entry, edges, 2),
                                      .y = end == FG_OP_COUNT ? y : NULL,
                                      .saved = kept != NULL ? kept->saved[i] : NULL,
                                      .scratch = (char *)w->buffer->data + w->scratch,
                                      .quant = call->quant};
        FG_TRY(call->table->backend->mlp_forward(w->kernels[i], &args, call->stream));
        if (kept != NULL && args.saved != NULL) {
            kept->kernels[i] = w->kernels[i];
        }
    }
    return FG_STATUS_OK;
}

fg_status fg_plan_forward(const fg_plan_call *call, const fg_tensor *y, fg_kept *kept) {
    walk w = {0};
    const uint32_t kept_edges = kept != NULL ? call->plan->kept : 0;
    fg_status status =
        begin_walk(&w, call, FG_FORWARD, call->plan->between[FG_FORWARD] & ~kept_edges);
    if (status == FG_STATUS_OK && kept != NULL) {
        status = begin_kept(&w, kept);
    }
    if (status == FG_STATUS_OK) {
        status = run_forward(&w, y, kept);
    }
    if (status != FG_STATUS_OK && kept != NULL) {
        fg_kept_release(kept, call->table->backend, call->device, call->stream);
    }
    if (w.buffer != NULL) {
        end_walk(&w);
    }
    return status;
}

/* Gradients that one backward entry is asked for. */
static uint32_t entry_mask(const fg_plan_call *call, const fg_plan_entry *entry,
                           uint32_t requires) {
    static const uint32_t main_inputs[FG_OP_COUNT] = {FG_BIT(FG_X), FG_MASK_DY1, FG_MASK_DH};
    const uint32_t main_input = main_inputs[entry->problem.first_op];
    const int wants_main = entry->run.first == 0 ? (requires & FG_BIT(FG_X)) != 0
                                                 : entry->run.first > call->plan->boundary;
    return (requires & entry->inputs & ~FG_BIT(FG_X)) | (wants_main ? main_input : 0);
}

/* What the same entry's forward saved; an entry of the backward list alone has nothing. */
static const void *saved_of(const fg_plan *plan, const fg_kept *kept, int32_t entry) {
    const fg_plan_list *list = &plan->lists[FG_FORWARD];
    for (int32_t i = 0; i < list->count; i++) {
        if (list->entries[i] == entry) {
            return kept->saved[i];
        }
    }
    return NULL;
}

static fg_status run_backward(const walk *w, const fg_kept *kept,
                              const fg_plan_gradients *gradients) {
    const fg_plan_call *call = w->call;
    const int32_t first = call->problem->first_op;
    const fg_tensor *edges[FG_EDGES] = {0}, *edge_grads[FG_EDGES] = {0};
    uint32_t written = 0; // p has a part from FC2 and one from the activation: the second is added
    forward_edges(call, kept->edges, NULL, NULL, edges);
    for (int32_t edge = 0; edge < FG_EDGES; edge++) {
        edge_grads[edge] = w->made & FG_BIT(edge) ? &w->edges[edge] : NULL;
    }
    edge_grads[first] = gradients->requires & FG_BIT(FG_X) ? gradients->grads[FG_X] : NULL;
    edge_grads[first + call->problem->op_count] = gradients->output;
    for (int32_t i = call->plan->lists[FG_BACKWARD].count - 1; i >= 0; i--) {
        if (!requires_gradient(w, i)) {
            break;
        }
        const fg_plan_entry *entry = entry_of(w, i);
        const fg_inputs in = inputs_of(call, entry);
        const uint32_t mask = entry_mask(call, entry, gradients->requires);
        const int32_t end = entry->problem.first_op + entry->problem.op_count;
        fg_backward_args args = {
            .struct_size = sizeof args,
            .in = &in,
            .y1 = given(entry, edges, 1),
            .h = given(entry, edges, 2),
            .dy = end == FG_OP_COUNT ? gradients->output : NULL,
            .dh = given(entry, edge_grads, 2),
            .dy1 = given(entry, edge_grads, 1),
            .mask = mask,
            .accumulate = (gradients->accumulate | written) & mask,
            .saved = saved_of(call->plan, kept, call->plan->lists[FG_BACKWARD].entries[i]),
            .scratch = (char *)w->buffer->data + w->scratch,
            .quant = call->quant};
        for (int32_t g = 0; g < FG_INPUTS; g++) {
            args.grads[g] = mask & FG_BIT(g) ? gradients->grads[g] : NULL;
        }
        FG_TRY(call->table->backend->mlp_backward(w->kernels[i], &args, call->stream));
        written |= mask;
    }
    return FG_STATUS_OK;
}

/* Edges whose gradient one entry hands to the one before it. */
static uint32_t gradient_edges(const fg_plan_call *call) {
    uint32_t below = FG_BIT(call->problem->first_op + call->plan->boundary + 1) - 1u;
    return call->plan->between[FG_BACKWARD] & ~below;
}

fg_status fg_plan_backward(const fg_plan_call *call, const fg_kept *kept,
                           const fg_plan_gradients *gradients) {
    walk w = {0};
    fg_status status = begin_walk(&w, call, FG_BACKWARD, gradient_edges(call));
    if (status == FG_STATUS_OK) {
        status = run_backward(&w, kept, gradients);
    }
    if (w.buffer != NULL) {
        end_walk(&w);
    }
    return status;
}

void fg_kept_release(fg_kept *kept, const fg_backend *backend, fg_fuser_device *device,
                     fg_stream stream) {
    for (int32_t i = 0; i < FG_OP_COUNT; i++) {
        if (kept->kernels[i] != NULL && backend->saved_release != NULL) {
            backend->saved_release(kept->kernels[i], kept->saved[i]);
        }
    }
    fg_buffer_give(&device->pool, kept->buffer, stream);
    *kept = (fg_kept){0};
}
