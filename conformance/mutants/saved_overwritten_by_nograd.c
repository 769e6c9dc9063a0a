/* Planted fault: a forward without gradients writes into what the last one with gradients saved. */
#include "conformance/mutants/fuser_mutant.h"

/* The right backend, one that stands before it, and what its last saving forward saved. */
static struct {
    const fg_backend *right;
    fg_backend before;
    void *saved;
    size_t bytes;
} saving;

static fg_status forward(const fg_kernel *kernel, const fg_forward_args *args, fg_stream stream) {
    fg_forward_args again = *args;
    fg_kernel_sizes sizes = {.struct_size = sizeof sizes};
    FG_TRY(saving.right->kernel_sizes(kernel, args->in->rows, &sizes));
    if (args->saved) {
        saving.saved = args->saved;
        saving.bytes = sizes.saved;
    } else if (saving.saved && sizes.saved <= saving.bytes) {
        again.saved = saving.saved;
    }
    return saving.right->mlp_forward(kernel, &again, stream);
}

static void free_memory(fg_device *device, void *pointer) {
    if (pointer == saving.saved) {
        saving.saved = NULL;
    }
    saving.right->mem_free(device, pointer);
}

fg_status fg_right_fuser_create(const fg_problem *problem, const fg_executor_options *options,
                                fg_fuser **out) FG_REAL("fg_fuser_create");
fg_status fg_faulty_fuser_create(const fg_problem *problem, const fg_executor_options *options,
                                 fg_fuser **out) FG_FAULTY("fg_fuser_create");

fg_status fg_faulty_fuser_create(const fg_problem *problem, const fg_executor_options *options,
                                 fg_fuser **out) {
    fg_executor_options changed = *options;
    saving.right = options->backend;
    saving.before = *options->backend;
    saving.before.mlp_forward = forward;
    saving.before.mem_free = free_memory;
    changed.backend = &saving.before;
    return fg_right_fuser_create(problem, &changed, out);
}
