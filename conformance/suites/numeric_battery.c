#include "conformance/suites/numeric_battery.h"
#include "conformance/suites/backend_fixture.h"
#include "conformance/suites/backend_judge.h"
#include "conformance/suites/backend_threads.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EXPERTS = 4, ROWS = 70 };
static const int64_t some_splits[EXPERTS] = {17, 0, 33, 1};

/* Bits of y and of every gradient of a call. */
typedef struct bits {
    uint64_t of[FG_INPUTS + 1];
} bits;

static bits bits_of(const fg_fixture *f, uint32_t mask) {
    bits all = {{0}};
    for (int i = 0; i < FG_INPUTS; i++) {
        all.of[i] = (mask & FG_BIT(i)) != 0 ? fg_fixture_hash(f, &f->grads[i]) : 0;
    }
    all.of[FG_INPUTS] = fg_fixture_hash(f, &f->y);
    return all;
}

static void same_bits(const bits *a, const bits *b, uint32_t mask, const char *what) {
    for (int i = 0; i < FG_INPUTS; i++) {
        if ((mask & FG_BIT(i)) != 0) {
            cr_assert_eq(a->of[i], b->of[i], "%s: %s", what, fg_grad_name(i));
        }
    }
    cr_assert_eq(a->of[FG_INPUTS], b->of[FG_INPUTS], "%s: y", what);
}

static fg_problem full_problem(int32_t dtype) {
    fg_problem problem = fg_problem_default(EXPERTS, 24, 40);
    problem.dtype = dtype;
    problem.bias = 1;
    problem.scale_bias = 1;
    problem.separate_bias_scale = 1;
    return problem;
}

static void run_and_judge(fg_backend_entry_fn entry, const fg_problem *problem, int64_t rows,
                          const int64_t *splits, int32_t padded) {
    fg_fixture f;
    fg_fixture_open(&f, entry, problem, rows, splits, padded);
    uint32_t all = fg_fixture_all(&f);
    fg_fixture_forward(&f, 1);
    fg_fixture_backward(&f, all, 0);
    fg_fixture_judge(&f, fg_fixture_text(problem), all, 0);
    fg_fixture_close(&f);
}

/* Bias options: none, plain, scaled by p, scaled by a tensor of its own. */
static void set_bias(fg_problem *problem, int kind) {
    problem->bias = kind > 0;
    problem->scale_bias = kind > 1;
    problem->separate_bias_scale = kind > 2;
    problem->prob = kind != 1;
}

void fg_battery_bounds(fg_backend_entry_fn entry) {
    static const int32_t interleaves[] = {0, 1, 8};
    for (int32_t dtype = FG_F32; dtype <= FG_BF16; dtype++) {
        for (int variant = 0; variant < 32; variant++) {
            fg_problem problem = fg_problem_default(EXPERTS, 24, 40);
            problem.dtype = dtype;
            problem.activation = variant % 4 == 3 ? FG_ACT_SRELU : FG_ACT_SWIGLU;
            problem.interleave = problem.activation == FG_ACT_SRELU ? 0 : interleaves[variant % 4];
            set_bias(&problem, variant / 4 % 4);
            int32_t narrow = variant / 16;
            problem.prob_dtype = narrow ? dtype : FG_F32;
            problem.bias_dtype = narrow ? dtype : FG_F32;
            problem.wgrad_dtype = narrow ? dtype : FG_F32;
            problem.segment_align = narrow ? 16 : 1;
            run_and_judge(entry, &problem, narrow ? 112 : ROWS, some_splits, narrow);
        }
    }
}

void fg_battery_empty_experts(fg_backend_entry_fn entry) {
    static const int64_t splits[][EXPERTS] = {{0, 5, 9, 1}, {5, 0, 0, 1}, {5, 9, 1, 0},
                                              {0, 0, 0, 0}, {0, 0, 9, 0}, {1, 1, 1, 1}};
    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
        fg_problem problem = full_problem(FG_BF16);
        run_and_judge(entry, &problem, 20, splits[i], 1);
    }
}

void fg_battery_accumulates(fg_backend_entry_fn entry) {
    uint32_t added = FG_BIT(FG_W1) | FG_BIT(FG_W2) | FG_BIT(FG_P);
    for (int32_t dtype = FG_F32; dtype <= FG_BF16; dtype++) {
        fg_fixture f;
        fg_problem problem = full_problem(dtype);
        problem.accumulate = 1;
        fg_fixture_open(&f, entry, &problem, ROWS, some_splits, FG_FIXTURE_PADDED);
        fg_fixture_forward(&f, 1);
        fg_fixture_backward(&f, fg_fixture_all(&f), added);
        fg_fixture_judge(&f, fg_fixture_text(&problem), fg_fixture_all(&f), added);
        fg_fixture_close(&f);
    }
}

static const int owned[] = {FG_W1, FG_B1, FG_W2, FG_B2};

/* Element k of an expert's own part of a gradient, whatever its dimensions. */
static double expert_element(const fg_tensor *grad, int64_t expert, int64_t k) {
    return grad->ndim == 3 ? fg_fixture_at(grad, expert, k / grad->dims[2], k % grad->dims[2])
                           : fg_fixture_at(grad, expert, k, 0);
}

static int64_t expert_count(const fg_tensor *grad) {
    return fg_tensor_count(grad) / grad->dims[0];
}

void fg_battery_empty_overwrites(fg_backend_entry_fn entry) {
    static const int64_t splits[][EXPERTS] = {
        {0, 9, 5, 1}, {9, 0, 5, 1}, {9, 5, 1, 0}, {0, 0, 0, 0}};
    for (size_t s = 0; s < sizeof splits / sizeof splits[0]; s++) {
        fg_fixture f;
        fg_problem problem = full_problem(FG_BF16);
        fg_fixture_open(&f, entry, &problem, 15, splits[s], FG_FIXTURE_PADDED);
        fg_fixture_forward(&f, 1);
        fg_fixture_backward(&f, fg_fixture_all(&f), 0);
        for (int64_t e = 0; e < EXPERTS; e++) {
            for (int i = 0; splits[s][e] == 0 && i < 4; i++) {
                const fg_tensor *grad = &f.grads[owned[i]];
                for (int64_t k = 0; k < expert_count(grad); k++) {
                    cr_assert(expert_element(grad, e, k) == 0.0, "%s of expert %lld at %lld",
                              fg_grad_name(owned[i]), (long long)e, (long long)k);
                }
            }
        }
        fg_fixture_close(&f);
    }
}

void fg_battery_empty_accumulates(fg_backend_entry_fn entry) {
    fg_fixture f;
    fg_problem problem = full_problem(FG_BF16);
    uint32_t added = FG_BIT(FG_W1) | FG_BIT(FG_W2);
    problem.accumulate = 1;
    fg_fixture_open(&f, entry, &problem, ROWS, some_splits, FG_FIXTURE_TIGHT);
    fg_fixture_forward(&f, 1);
    fg_fixture_backward(&f, fg_fixture_all(&f), added);
    for (int i = FG_W1; i <= FG_W2; i += FG_W2 - FG_W1) {
        const fg_tensor *grad = &f.grads[i];
        fg_tensor before = fg_fixture_before(&f, grad);
        int64_t first = grad->strides[0] * 1; // expert 1 has no rows
        size_t size = fg_dtype_size((fg_dtype)grad->dtype);
        const unsigned char *is = (const unsigned char *)grad->data + (size_t)first * size;
        const unsigned char *was = (const unsigned char *)before.data + (size_t)first * size;
        cr_assert_eq(memcmp(is, was, (size_t)expert_count(grad) * size), 0, "%s", fg_grad_name(i));
    }
    fg_fixture_close(&f);
}

void fg_battery_strays(fg_backend_entry_fn entry) {
    fg_fixture f;
    fg_problem problem = full_problem(FG_BF16);
    problem.segment_align = 8;
    fg_fixture_open(&f, entry, &problem, 90, some_splits, FG_FIXTURE_PADDED);
    fg_fixture_forward(&f, 1);
    cr_assert_eq(fg_fixture_strays(&f, 0, 1), 0, "forward");
    for (int i = 0; i <= FG_INPUTS; i++) {
        uint32_t mask = i < FG_INPUTS ? FG_BIT(i) : fg_fixture_all(&f);
        fg_fixture_backward(&f, mask, 0);
        cr_assert_eq(fg_fixture_strays(&f, mask, 0), 0, "mask 0x%x", mask);
    }
    fg_fixture_close(&f);
}

/* Forward and backward of everything on one problem; the fixture is closed again. */
static bits run_bits(fg_backend_entry_fn entry, const fg_problem *problem, int64_t rows,
                     void (*change)(fg_fixture *)) {
    fg_fixture f;
    fg_fixture_open(&f, entry, problem, rows, some_splits, FG_FIXTURE_TIGHT);
    if (change != NULL) {
        change(&f);
    }
    fg_fixture_forward(&f, 1);
    fg_fixture_backward(&f, fg_fixture_all(&f), 0);
    bits all = bits_of(&f, fg_fixture_all(&f));
    fg_fixture_close(&f);
    return all;
}

/* Finite numbers in place of NaN in the padding rows of everything that is read. */
static void fill_padding(fg_fixture *f) {
    const fg_tensor *by_row[] = {&f->inputs[FG_X], &f->inputs[FG_P], &f->inputs[FG_BIAS_P], &f->dy};
    for (size_t i = 0; i < sizeof by_row / sizeof by_row[0]; i++) {
        int64_t cols = by_row[i]->ndim > 1 ? by_row[i]->dims[1] : 1;
        for (int64_t k = 0; k < f->rows * cols; k++) {
            double value = fg_fixture_at(by_row[i], k / cols, k % cols, 0);
            if (value != value) {
                fg_fixture_set(by_row[i], k / cols, k % cols, 0, 3.0);
            }
        }
    }
}

void fg_battery_padding(fg_backend_entry_fn entry) {
    fg_problem problem = full_problem(FG_BF16);
    problem.segment_align = 16;
    bits nan = run_bits(entry, &problem, 112, NULL);
    bits finite = run_bits(entry, &problem, 112, fill_padding);
    same_bits(&nan, &finite, 0x7f, "padding rows");
}

void fg_battery_no_grad(fg_backend_entry_fn entry) {
    for (int32_t dtype = FG_F32; dtype <= FG_BF16; dtype++) {
        fg_fixture f;
        fg_problem problem = full_problem(dtype);
        fg_fixture_open(&f, entry, &problem, ROWS, some_splits, FG_FIXTURE_TIGHT);
        fg_fixture_forward(&f, 1);
        uint64_t with = fg_fixture_hash(&f, &f.y);
        fg_fixture_forward(&f, 0);
        cr_assert_eq(fg_fixture_hash(&f, &f.y), with, "%s", fg_dtype_name((fg_dtype)dtype));
        fg_fixture_close(&f);
    }
}

void fg_battery_masks(fg_backend_entry_fn entry) {
    fg_fixture f;
    fg_problem problem = full_problem(FG_BF16);
    fg_fixture_open(&f, entry, &problem, ROWS, some_splits, FG_FIXTURE_TIGHT);
    fg_fixture_forward(&f, 1);
    fg_fixture_backward(&f, fg_fixture_all(&f), 0);
    bits all = bits_of(&f, fg_fixture_all(&f));
    for (uint32_t mask = 0; mask < FG_BIT(FG_INPUTS); mask++) {
        char what[32];
        fg_fixture_backward(&f, mask, 0);
        bits some = bits_of(&f, mask);
        snprintf(what, sizeof what, "mask 0x%x", mask);
        same_bits(&some, &all, mask, what);
    }
    fg_fixture_close(&f);
}

/* Calls on scratch and saved that hold large finite numbers instead of NaN. */
void fg_battery_scratch(fg_backend_entry_fn entry) {
    fg_fixture f;
    fg_problem problem = full_problem(FG_BF16);
    fg_fixture_open(&f, entry, &problem, ROWS, some_splits, FG_FIXTURE_TIGHT);
    fg_fixture_forward(&f, 1);
    fg_fixture_backward(&f, fg_fixture_all(&f), 0);
    bits first = bits_of(&f, fg_fixture_all(&f));
    memset(f.saved, 0x4b, f.sizes.saved);
    memset(f.scratch_forward, 0x4b, f.sizes.scratch_forward);
    memset(f.scratch_backward, 0x4b, f.sizes.scratch_backward);
    fg_forward_args forward = fg_fixture_forward_args(&f, 1);
    cr_assert_eq(f.backend->mlp_forward(f.kernel, &forward, NULL), FG_STATUS_OK);
    fg_backward_args backward = fg_fixture_backward_args(&f, fg_fixture_all(&f), 0);
    cr_assert_eq(f.backend->mlp_backward(f.kernel, &backward, NULL), FG_STATUS_OK);
    bits second = bits_of(&f, fg_fixture_all(&f));
    same_bits(&first, &second, fg_fixture_all(&f), "scratch");
    fg_fixture_close(&f);
}

/* W1 and b1 of `to` become those of `from` with their rows in the other layout. */
static void permute_gates(const fg_fixture *from, const fg_fixture *to) {
    for (int64_t j = 0; j < 2 * from->problem.inter; j++) {
        int64_t unit = j / 2;
        int64_t source = j % 2 ? fg_problem_linear_column(&from->problem, unit)
                               : fg_problem_gate_column(&from->problem, unit);
        int64_t target = j % 2 ? fg_problem_linear_column(&to->problem, unit)
                               : fg_problem_gate_column(&to->problem, unit);
        for (int64_t e = 0; e < from->problem.experts; e++) {
            for (int64_t k = 0; k < from->problem.hidden; k++) {
                fg_fixture_set(&to->inputs[FG_W1], e, target, k,
                               fg_fixture_at(&from->inputs[FG_W1], e, source, k));
            }
            fg_fixture_set(&to->inputs[FG_B1], e, target, 0,
                           fg_fixture_at(&from->inputs[FG_B1], e, source, 0));
        }
    }
}

void fg_battery_layouts(fg_backend_entry_fn entry) {
    for (int32_t interleave = 1; interleave <= 40; interleave++) {
        fg_fixture half, blocks;
        fg_problem problem = full_problem(FG_BF16);
        if (problem.inter % interleave != 0) {
            continue;
        }
        fg_fixture_open(&half, entry, &problem, ROWS, some_splits, FG_FIXTURE_TIGHT);
        problem.interleave = interleave;
        fg_fixture_open(&blocks, entry, &problem, ROWS, some_splits, FG_FIXTURE_TIGHT);
        permute_gates(&half, &blocks);
        fg_fixture_forward(&half, 0);
        fg_fixture_forward(&blocks, 0);
        for (int64_t i = 0; i < some_splits[0]; i++) {
            for (int64_t c = 0; c < problem.hidden; c++) {
                double a = fg_fixture_at(&half.y, i, c, 0);
                double b = fg_fixture_at(&blocks.y, i, c, 0);
                // Two orders of one sum: an ulp or two of bf16 at the size of the terms.
                cr_assert(a - b <= 0.05 && b - a <= 0.05, "interleave %d at (%lld, %lld): %g, %g",
                          interleave, (long long)i, (long long)c, a, b);
            }
        }
        fg_fixture_close(&half);
        fg_fixture_close(&blocks);
    }
}

void fg_battery_splits_types(fg_backend_entry_fn entry) {
    fg_problem problem = full_problem(FG_BF16);
    bits narrow = run_bits(entry, &problem, ROWS, NULL);
    problem.splits_dtype = FG_I64;
    bits wide = run_bits(entry, &problem, ROWS, NULL);
    problem.host_splits = 1;
    bits host = run_bits(entry, &problem, ROWS, NULL);
    same_bits(&narrow, &wide, 0x7f, "int64 splits");
    same_bits(&narrow, &host, 0x7f, "host splits");
}

/* NaN in everything that expert 0 has. */
static void spoil_expert_0(fg_fixture *f) {
    for (int64_t row = f->begin[0]; row < f->begin[0] + f->count[0]; row++) {
        fg_fixture_set(&f->inputs[FG_X], row, 0, 0, NAN);
        fg_fixture_set(&f->inputs[FG_P], row, 0, 0, NAN);
        fg_fixture_set(&f->inputs[FG_BIAS_P], row, 0, 0, NAN);
        fg_fixture_set(&f->dy, row, 1, 0, NAN);
    }
    fg_fixture_set(&f->inputs[FG_W1], 0, 1, 1, NAN);
    fg_fixture_set(&f->inputs[FG_W2], 0, 1, 1, NAN);
    fg_fixture_set(&f->inputs[FG_B1], 0, 1, 0, NAN);
    fg_fixture_set(&f->inputs[FG_B2], 0, 1, 0, NAN);
}

void fg_battery_experts_apart(fg_backend_entry_fn entry) {
    fg_fixture clean, spoilt;
    fg_problem problem = full_problem(FG_BF16);
    fg_fixture_open(&clean, entry, &problem, ROWS, some_splits, FG_FIXTURE_TIGHT);
    fg_fixture_open(&spoilt, entry, &problem, ROWS, some_splits, FG_FIXTURE_TIGHT);
    spoil_expert_0(&spoilt);
    fg_fixture *both[] = {&clean, &spoilt};
    for (int i = 0; i < 2; i++) {
        fg_fixture_forward(both[i], 1);
        fg_fixture_backward(both[i], fg_fixture_all(both[i]), 0);
        // What is left after expert 0 is taken away must be alike.
        both[i]->begin[0] = 0;
        both[i]->count[0] = 0;
    }
    const int by_row[] = {FG_X, FG_P, FG_BIAS_P};
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(fg_fixture_hash(&clean, &clean.grads[by_row[i]]),
                     fg_fixture_hash(&spoilt, &spoilt.grads[by_row[i]]), "%s",
                     fg_grad_name(by_row[i]));
    }
    for (int i = 0; i < 4; i++) {
        for (int64_t e = 1; e < EXPERTS; e++) {
            const fg_tensor *grad = &clean.grads[owned[i]];
            for (int64_t k = 0; k < expert_count(grad); k++) {
                cr_assert(expert_element(grad, e, k) ==
                              expert_element(&spoilt.grads[owned[i]], e, k),
                          "%s of expert %lld", fg_grad_name(owned[i]), (long long)e);
            }
        }
    }
    cr_assert_eq(fg_fixture_hash(&clean, &clean.y), fg_fixture_hash(&spoilt, &spoilt.y), "y");
    fg_fixture_close(&clean);
    fg_fixture_close(&spoilt);
}

void fg_battery_nan_passes(fg_backend_entry_fn entry) {
    for (int32_t activation = 0; activation < FG_ACTIVATIONS; activation++) {
        fg_fixture f;
        fg_problem problem = full_problem(FG_BF16);
        problem.activation = activation;
        fg_fixture_open(&f, entry, &problem, ROWS, some_splits, FG_FIXTURE_TIGHT);
        fg_fixture_set(&f.inputs[FG_B1], 2, fg_problem_gate_column(&problem, 7), 0, NAN);
        fg_fixture_forward(&f, 0);
        double y = fg_fixture_at(&f.y, f.begin[2], 0, 0);
        cr_assert(y != y, "%s: %g", fg_activation_name((fg_activation)activation), y);
        fg_fixture_close(&f);
    }
}

void fg_battery_no_rows(fg_backend_entry_fn entry) {
    static const int64_t none[EXPERTS] = {0};
    fg_fixture f;
    fg_problem problem = full_problem(FG_BF16);
    fg_fixture_open(&f, entry, &problem, 0, none, FG_FIXTURE_TIGHT);
    fg_tensor *empty[] = {&f.inputs[FG_X], &f.inputs[FG_P], &f.inputs[FG_BIAS_P], &f.dy, &f.y,
                          &f.grads[FG_X],  &f.grads[FG_P],  &f.grads[FG_BIAS_P]};
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        empty[i]->data = NULL;
    }
    fg_forward_args forward = fg_fixture_forward_args(&f, 1);
    fg_backward_args backward = fg_fixture_backward_args(&f, fg_fixture_all(&f), 0);
    forward.saved = forward.scratch = backward.scratch = NULL;
    backward.saved = NULL;
    cr_assert_eq(f.backend->mlp_forward(f.kernel, &forward, NULL), FG_STATUS_OK, "%s",
                 fg_message());
    cr_assert_eq(f.backend->mlp_backward(f.kernel, &backward, NULL), FG_STATUS_OK, "%s",
                 fg_message());
    for (int i = 0; i < 4; i++) {
        const fg_tensor *grad = &f.grads[owned[i]];
        for (int64_t k = 0; k < expert_count(grad); k++) {
            cr_assert(expert_element(grad, EXPERTS - 1, k) == 0.0, "%s", fg_grad_name(owned[i]));
        }
    }
    fg_fixture_close(&f);
}

void fg_battery_threads(fg_backend_entry_fn entry) {
    cr_assert_eq(fg_backend_threads(entry), 0);
}
