#include "conformance/suites/backend_fixture.h"
#include "contract/alloc.h"
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(fg_status status, const char *what) {
    if (status != FG_STATUS_OK) {
        fprintf(stderr, "%s: %s, %s\n", what, fg_status_name(status), fg_message());
        abort();
    }
}

void fg_fixture_poison(void *memory, size_t bytes) {
    if (bytes > 0) {
        memset(memory, 0xff, bytes);
    }
}

double fg_fixture_random(fg_fixture *fixture) {
    // SplitMix64 (Steele, Lea and Flood 2014), top 53 bits.
    uint64_t z = fixture->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1.0;
}

static unsigned char *address(const fg_tensor *tensor, int64_t i, int64_t j, int64_t k) {
    int64_t at = i * tensor->strides[0];
    at += tensor->ndim > 1 ? j * tensor->strides[1] : 0;
    at += tensor->ndim > 2 ? k * tensor->strides[2] : 0;
    return (unsigned char *)tensor->data + (size_t)at * fg_dtype_size((fg_dtype)tensor->dtype);
}

double fg_fixture_at(const fg_tensor *tensor, int64_t i, int64_t j, int64_t k) {
    double value = 0.0;
    fg_dtype_load_f64((fg_dtype)tensor->dtype, address(tensor, i, j, k), 1, &value);
    return value;
}

void fg_fixture_set(const fg_tensor *tensor, int64_t i, int64_t j, int64_t k, double value) {
    fg_dtype_store_f64((fg_dtype)tensor->dtype, &value, 1, address(tensor, i, j, k));
}

static fg_tensor make(fg_fixture *f, fg_dtype dtype, int32_t ndim, const int64_t *dims) {
    fg_tensor tensor = fg_tensor_tight(NULL, dtype, 0, ndim, dims);
    if (f->padded && ndim >= 2) {
        tensor.strides[ndim - 2] += 3;
        if (ndim == 3) {
            tensor.strides[0] = dims[1] * tensor.strides[1] + 5;
        }
    }
    fg_fixture_block *block = &f->blocks[f->block_count++];
    must(fg_tensor_span(&tensor, &block->size), "span");
    block->bytes = fg_alloc(block->size, FG_ALLOC_TENSOR);
    block->before = fg_alloc(block->size, FG_ALLOC_TENSOR);
    fg_fixture_poison(block->bytes, block->size);
    tensor.data = block->bytes;
    return tensor;
}

/* Dimensions padded to three: [1, 1, n], [1, rows, cols] keep loops alike. */
static int64_t extent(const fg_tensor *tensor, int32_t i) {
    return i < tensor->ndim ? tensor->dims[i] : 1;
}

/* Whether index i of the first dimension belongs to an expert, for tensors of T rows. */
static int is_real_row(const fg_fixture *f, int64_t row) {
    for (int64_t e = 0; e < f->problem.experts; e++) {
        if (row >= f->begin[e] && row < f->begin[e] + f->count[e]) {
            return 1;
        }
    }
    return 0;
}

static int has_rows(const fg_fixture *f, const fg_tensor *tensor) {
    const fg_tensor *by_row[] = {&f->inputs[FG_X],
                                 &f->inputs[FG_P],
                                 &f->inputs[FG_BIAS_P],
                                 &f->grads[FG_X],
                                 &f->grads[FG_P],
                                 &f->grads[FG_BIAS_P],
                                 &f->y1,
                                 &f->h,
                                 &f->y,
                                 &f->dy,
                                 &f->dh,
                                 &f->dy1};
    for (size_t i = 0; i < sizeof by_row / sizeof by_row[0]; i++) {
        if (by_row[i]->data == tensor->data) {
            return 1;
        }
    }
    return 0;
}

typedef void visit_fn(void *user, const fg_tensor *tensor, int64_t i, int64_t j, int64_t k);

/* Visits the elements that count: all, or those of experts' rows. */
static void visit(const fg_fixture *f, const fg_tensor *tensor, visit_fn *fn, void *user) {
    int by_row = has_rows(f, tensor);
    for (int64_t i = 0; i < extent(tensor, 0); i++) {
        if (by_row && !is_real_row(f, i)) {
            continue;
        }
        for (int64_t j = 0; j < extent(tensor, 1); j++) {
            for (int64_t k = 0; k < extent(tensor, 2); k++) {
                fn(user, tensor, i, j, k);
            }
        }
    }
}

typedef struct filling {
    fg_fixture *fixture;
    double scale;
} filling;

static void fill_one(void *user, const fg_tensor *tensor, int64_t i, int64_t j, int64_t k) {
    filling *fill = user;
    fg_fixture_set(tensor, i, j, k, fill->scale * fg_fixture_random(fill->fixture));
}

static void fill(fg_fixture *f, const fg_tensor *tensor, double scale) {
    filling user = {f, scale};
    if (tensor->ndim > 0) {
        visit(f, tensor, fill_one, &user);
    }
}

static void make_inputs(fg_fixture *f) {
    double scale[FG_INPUTS] = {1.0, 2.0 / sqrt((double)f->problem.hidden), 1.0,
                               1.0, 2.0 / sqrt((double)f->problem.inter),  1.0,
                               1.0};
    int64_t dims[FG_TENSOR_DIMS];
    for (int i = 0; i < FG_INPUTS; i++) {
        if (!fg_problem_has_input(&f->problem, i)) {
            continue;
        }
        int32_t ndim = fg_problem_input_dims(&f->problem, i, f->rows, dims);
        f->inputs[i] = make(f, fg_problem_input_dtype(&f->problem, i), ndim, dims);
        f->grads[i] = make(f, fg_problem_grad_dtype(&f->problem, i), ndim, dims);
        f->in.inputs[i] = &f->inputs[i];
        fill(f, &f->inputs[i], scale[i]);
    }
    f->in.struct_size = sizeof f->in;
    f->in.rows = f->rows;
    f->in.splits = &f->splits;
    f->in.splits_host = f->problem.host_splits ? f->count : NULL;
}

static void make_activations(fg_fixture *f) {
    fg_dtype dtype = (fg_dtype)f->problem.dtype;
    int64_t by_hidden[2] = {f->rows, f->problem.hidden};
    int64_t by_inter[2] = {f->rows, f->problem.inter};
    int64_t by_o1[2] = {f->rows, fg_problem_o1(&f->problem)};
    f->y = make(f, dtype, 2, by_hidden);
    f->dy = make(f, dtype, 2, by_hidden);
    f->h = make(f, dtype, 2, by_inter);
    f->dh = make(f, dtype, 2, by_inter);
    f->y1 = make(f, dtype, 2, by_o1);
    f->dy1 = make(f, dtype, 2, by_o1);
    fill(f, &f->dy, 1.0);
}

static void make_splits(fg_fixture *f, const int64_t *splits) {
    f->splits = make(f, (fg_dtype)f->problem.splits_dtype, 1, &f->problem.experts);
    for (int64_t e = 0; e < f->problem.experts; e++) {
        f->count[e] = splits[e];
        if (f->problem.splits_dtype == FG_I32) {
            ((int32_t *)f->splits.data)[e] = (int32_t)splits[e];
        } else {
            ((int64_t *)f->splits.data)[e] = splits[e];
        }
    }
    must(fg_segments(&f->problem, splits, f->rows, f->begin), "segments");
}

void fg_fixture_open(fg_fixture *f, fg_backend_entry_fn entry, const fg_problem *problem,
                     int64_t rows, const int64_t *splits, int32_t padded) {
    static const fg_host host = {.struct_size = sizeof host};
    fg_recipe recipe = fg_recipe_default(FG_RECIPE_NONE);
    openblas_set_num_threads(1);
    memset(f, 0, sizeof *f);
    f->problem = *problem;
    f->rows = rows;
    f->padded = padded;
    f->random = 7;
    f->traits.struct_size = sizeof f->traits;
    f->sizes.struct_size = sizeof f->sizes;
    must(entry(FG_BACKEND_ABI, &host, &f->backend), "entry");
    must(f->backend->device_open(0, &f->device), "device_open");
    must(f->backend->traits(f->device, &f->traits), "traits");
    must(f->backend->kernel_create(f->device, problem, &recipe, &f->kernel), "kernel_create");
    must(f->backend->kernel_sizes(f->kernel, rows, &f->sizes), "kernel_sizes");
    make_splits(f, splits);
    make_inputs(f);
    make_activations(f);
    f->saved = fg_alloc(f->sizes.saved, FG_ALLOC_TENSOR);
    f->scratch_forward = fg_alloc(f->sizes.scratch_forward, FG_ALLOC_TENSOR);
    f->scratch_backward = fg_alloc(f->sizes.scratch_backward, FG_ALLOC_TENSOR);
}

void fg_fixture_close(fg_fixture *f) {
    for (int32_t i = 0; i < f->block_count; i++) {
        fg_free(f->blocks[i].bytes);
        fg_free(f->blocks[i].before);
    }
    fg_free(f->saved);
    fg_free(f->scratch_forward);
    fg_free(f->scratch_backward);
    f->backend->kernel_destroy(f->kernel);
    f->backend->device_close(f->device);
}

uint32_t fg_fixture_all(const fg_fixture *f) {
    uint32_t extra = f->problem.first_op == FG_OP_ACTIVATION ? FG_MASK_DY1 : 0u;
    extra |= f->problem.first_op == FG_OP_FC2 ? FG_MASK_DH : 0u;
    return fg_problem_run_inputs(&f->problem) | extra;
}

fg_forward_args fg_fixture_forward_args(fg_fixture *f, int gradients) {
    int whole = f->problem.op_count == FG_OP_COUNT;
    return (fg_forward_args){
        .struct_size = sizeof(fg_forward_args),
        .in = &f->in,
        .y1 = whole ? NULL : &f->y1,
        .h = whole ? NULL : &f->h,
        .y = &f->y,
        .saved = gradients ? f->saved : NULL,
        .scratch = f->scratch_forward,
    };
}

fg_backward_args fg_fixture_backward_args(fg_fixture *f, uint32_t mask, uint32_t accumulate) {
    int whole = f->problem.op_count == FG_OP_COUNT;
    fg_backward_args args = {
        .struct_size = sizeof args,
        .in = &f->in,
        .y1 = whole ? NULL : &f->y1,
        .h = whole ? NULL : &f->h,
        .dy = &f->dy,
        .dh = whole ? NULL : &f->dh,
        .dy1 = whole ? NULL : &f->dy1,
        .mask = mask,
        .accumulate = accumulate,
        .saved = f->saved,
        .scratch = f->scratch_backward,
    };
    for (int i = 0; i < FG_INPUTS; i++) {
        args.grads[i] = f->grads[i].ndim > 0 ? &f->grads[i] : NULL;
    }
    return args;
}

static fg_fixture_block *block_of(fg_fixture *f, const fg_tensor *tensor) {
    for (int32_t i = 0; i < f->block_count; i++) {
        if (f->blocks[i].bytes == tensor->data) {
            return &f->blocks[i];
        }
    }
    return NULL;
}

void fg_fixture_poison_tensor(fg_fixture *f, const fg_tensor *tensor) {
    fg_fixture_block *block = block_of(f, tensor);
    fg_fixture_poison(block->bytes, block->size);
}

void fg_fixture_poison_outputs(fg_fixture *f) {
    const fg_tensor *outputs[] = {&f->y, &f->y1, &f->h, &f->dy1, &f->dh};
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
        fg_fixture_poison_tensor(f, outputs[i]);
    }
    for (int i = 0; i < FG_INPUTS; i++) {
        if (f->grads[i].ndim > 0) {
            fg_fixture_poison_tensor(f, &f->grads[i]);
        }
    }
}

static void remember(fg_fixture *f) {
    for (int32_t i = 0; i < f->block_count; i++) {
        memcpy(f->blocks[i].before, f->blocks[i].bytes, f->blocks[i].size);
    }
}

void fg_fixture_forward(fg_fixture *f, int gradients) {
    fg_fixture_poison_tensor(f, &f->y);
    if (f->problem.first_op == FG_OP_FC1) {
        fg_fixture_poison_tensor(f, &f->y1);
    }
    if (f->problem.first_op <= FG_OP_ACTIVATION) {
        fg_fixture_poison_tensor(f, &f->h);
    }
    fg_fixture_poison(f->scratch_forward, f->sizes.scratch_forward);
    if (gradients) {
        fg_fixture_poison(f->saved, f->sizes.saved);
    }
    remember(f);
    fg_forward_args args = fg_fixture_forward_args(f, gradients);
    must(f->backend->mlp_forward(f->kernel, &args, NULL), "mlp_forward");
}

void fg_fixture_backward(fg_fixture *f, uint32_t mask, uint32_t accumulate) {
    for (int i = 0; i < FG_INPUTS; i++) {
        if (f->grads[i].ndim > 0) {
            fg_fixture_poison_tensor(f, &f->grads[i]);
            if ((accumulate & FG_BIT(i)) != 0) {
                fill(f, &f->grads[i], 1.0);
            }
        }
    }
    if ((mask & FG_MASK_DY1) != 0) {
        fg_fixture_poison_tensor(f, &f->dy1);
    }
    if ((mask & FG_MASK_DH) != 0) {
        fg_fixture_poison_tensor(f, &f->dh);
    }
    fg_fixture_poison(f->scratch_backward, f->sizes.scratch_backward);
    remember(f);
    fg_backward_args args = fg_fixture_backward_args(f, mask, accumulate);
    must(f->backend->mlp_backward(f->kernel, &args, NULL), "mlp_backward");
}

static void hash_one(void *user, const fg_tensor *tensor, int64_t i, int64_t j, int64_t k) {
    uint64_t *hash = user;
    const unsigned char *at = address(tensor, i, j, k);
    for (size_t b = 0; b < fg_dtype_size((fg_dtype)tensor->dtype); b++) {
        *hash = (*hash ^ at[b]) * 0x100000001b3u; // FNV-1a
    }
}

uint64_t fg_fixture_hash(const fg_fixture *f, const fg_tensor *tensor) {
    uint64_t hash = 0xcbf29ce484222325u;
    visit(f, tensor, hash_one, &hash);
    return hash;
}

/* Puts back what an element held before, so that only strays differ. */
static void restore_one(void *user, const fg_tensor *tensor, int64_t i, int64_t j, int64_t k) {
    const fg_fixture_block *block = user;
    unsigned char *at = address(tensor, i, j, k);
    memcpy(at, block->before + (at - block->bytes), fg_dtype_size((fg_dtype)tensor->dtype));
}

/* The tensors a call may write, NULL elsewhere; returns how many places there are. */
static int list_written(const fg_fixture *f, uint32_t mask, int forward,
                        const fg_tensor *list[FG_INPUTS + 3]) {
    int count = 0;
    if (forward) {
        list[count++] = &f->y;
        list[count++] = f->problem.first_op == FG_OP_FC1 ? &f->y1 : NULL;
        list[count++] = f->problem.first_op <= FG_OP_ACTIVATION ? &f->h : NULL;
        return count;
    }
    for (int i = 0; i < FG_INPUTS; i++) {
        list[count++] = (mask & FG_BIT(i)) != 0 ? &f->grads[i] : NULL;
    }
    list[count++] = (mask & FG_MASK_DY1) != 0 ? &f->dy1 : NULL;
    list[count++] = (mask & FG_MASK_DH) != 0 ? &f->dh : NULL;
    return count;
}

int64_t fg_fixture_strays(fg_fixture *f, uint32_t mask, int forward) {
    const fg_tensor *written[FG_INPUTS + 3];
    int count = list_written(f, mask, forward, written);
    int64_t strays = 0;
    for (int32_t b = 0; b < f->block_count; b++) {
        fg_fixture_block *block = &f->blocks[b];
        unsigned char *after = fg_alloc(block->size, FG_ALLOC_GENERAL);
        memcpy(after, block->bytes, block->size);
        for (int i = 0; i < count; i++) {
            if (written[i] != NULL && written[i]->data == block->bytes) {
                visit(f, written[i], restore_one, block);
            }
        }
        for (size_t i = 0; i < block->size; i++) {
            strays += block->bytes[i] != block->before[i];
        }
        memcpy(block->bytes, after, block->size);
        fg_free(after);
    }
    return strays;
}

fg_tensor fg_fixture_before(fg_fixture *f, const fg_tensor *tensor) {
    fg_tensor before = *tensor;
    if (tensor->ndim > 0) {
        before.data = block_of(f, tensor)->before;
    }
    return before;
}

const char *fg_fixture_text(const fg_problem *p) {
    static char text[256];
    snprintf(text, sizeof text,
             "dt=%s pdt=%s bdt=%s wdt=%s act=%s interleave=%d bias=%d prob=%d scale_bias=%d own=%d "
             "align=%lld",
             fg_dtype_name((fg_dtype)p->dtype), fg_dtype_name((fg_dtype)p->prob_dtype),
             fg_dtype_name((fg_dtype)p->bias_dtype), fg_dtype_name((fg_dtype)p->wgrad_dtype),
             fg_activation_name((fg_activation)p->activation), p->interleave, p->bias, p->prob,
             p->scale_bias, p->separate_bias_scale, (long long)p->segment_align);
    return text;
}
