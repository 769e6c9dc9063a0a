#include "conformance/suites/backend_fixture.h"
#include "conformance/suites/battery_list.h"
#include "contract/alloc.h"
#include "reference/reference_backend.h"
#include <criterion/criterion.h>
#include <string.h>

#define FG_BATTERY_TEST(property, body)                                                            \
    Test(reference_backend, property) {                                                            \
        fg_battery_##body(fg_reference_backend_entry);                                             \
    }
FG_BATTERY_LIST(FG_BATTERY_TEST)

enum { EXPERTS = 3, ROWS = 40 };
static const int64_t some_splits[EXPERTS] = {13, 0, 20};

static fg_problem full_problem(int32_t dtype) {
    fg_problem problem = fg_problem_default(EXPERTS, 24, 40);
    problem.dtype = dtype;
    problem.bias = 1;
    problem.scale_bias = 1;
    problem.interleave = 8;
    problem.segment_align = 2;
    return problem;
}

/* One part of a plan on the tensors of a fixture, through a kernel of its own. */
typedef struct part {
    const fg_backend *backend;
    fg_kernel *kernel;
    fg_problem problem;
    fg_kernel_sizes sizes;
} part;

static part open_part(const fg_fixture *f, int32_t first, int32_t count) {
    fg_recipe none = fg_recipe_default(FG_RECIPE_NONE);
    part p = {.backend = f->backend, .problem = f->problem};
    p.problem.first_op = first;
    p.problem.op_count = count;
    p.sizes.struct_size = sizeof p.sizes;
    cr_assert_eq(f->backend->kernel_create(f->device, &p.problem, &none, &p.kernel), FG_STATUS_OK,
                 "%s", fg_message());
    cr_assert_eq(f->backend->kernel_sizes(p.kernel, f->rows, &p.sizes), FG_STATUS_OK);
    return p;
}

/* Arguments of a part: the whole's, and all intermediates. */
static fg_status part_forward(fg_fixture *f, const part *p) {
    void *scratch = fg_alloc(p->sizes.scratch_forward, FG_ALLOC_GENERAL);
    fg_forward_args args = fg_fixture_forward_args(f, 0);
    fg_fixture_poison(scratch, p->sizes.scratch_forward);
    args.y1 = &f->y1;
    args.h = &f->h;
    args.scratch = scratch;
    fg_status status = f->backend->mlp_forward(p->kernel, &args, NULL);
    fg_free(scratch);
    return status;
}

static fg_status part_backward(fg_fixture *f, const part *p, uint32_t accumulate) {
    void *scratch = fg_alloc(p->sizes.scratch_backward, FG_ALLOC_GENERAL);
    uint32_t mask = fg_problem_run_inputs(&p->problem);
    mask |= p->problem.first_op == FG_OP_ACTIVATION ? FG_MASK_DY1 : 0u;
    mask |= p->problem.first_op == FG_OP_FC2 ? FG_MASK_DH : 0u;
    fg_backward_args args = fg_fixture_backward_args(f, mask, accumulate);
    fg_fixture_poison(scratch, p->sizes.scratch_backward);
    args.y1 = &f->y1;
    args.h = &f->h;
    args.dh = &f->dh;
    args.dy1 = &f->dy1;
    args.saved = NULL;
    args.scratch = scratch;
    fg_status status = f->backend->mlp_backward(p->kernel, &args, NULL);
    fg_free(scratch);
    return status;
}

enum { OUTPUTS = FG_INPUTS + 1 };

static void hash_all(const fg_fixture *f, uint64_t hashes[OUTPUTS]) {
    for (int i = 0; i < FG_INPUTS; i++) {
        hashes[i] = f->grads[i].ndim > 0 ? fg_fixture_hash(f, &f->grads[i]) : 0;
    }
    hashes[FG_INPUTS] = fg_fixture_hash(f, &f->y);
}

/* Runs the parts that begin at `firsts` over poisoned outputs and compares every bit with the
 * whole run's. */
static void compare_plan(fg_fixture *f, const int32_t *firsts, int32_t parts) {
    uint64_t whole[OUTPUTS], plan[OUTPUTS];
    part p[FG_OP_COUNT];
    fg_fixture_forward(f, 1);
    fg_fixture_backward(f, fg_fixture_all(f), 0);
    hash_all(f, whole);
    fg_fixture_poison_outputs(f);
    for (int32_t r = 0; r < parts; r++) {
        int32_t end = r + 1 < parts ? firsts[r + 1] : FG_OP_COUNT;
        p[r] = open_part(f, firsts[r], end - firsts[r]);
        cr_assert_eq(part_forward(f, &p[r]), FG_STATUS_OK, "%s", fg_message());
    }
    uint32_t added = 0; // what FC2 gave to dp, the activation adds to
    for (int32_t r = parts - 1; r >= 0; r--) {
        cr_assert_eq(part_backward(f, &p[r], added), FG_STATUS_OK, "%s", fg_message());
        added |= fg_problem_run_inputs(&p[r].problem) & FG_BIT(FG_P);
        f->backend->kernel_destroy(p[r].kernel);
    }
    hash_all(f, plan);
    for (int i = 0; i < OUTPUTS; i++) {
        cr_assert_eq(plan[i], whole[i], "%s: %s", fg_fixture_text(&f->problem),
                     i < FG_INPUTS ? fg_grad_name(i) : "y");
    }
}

static void compare_plans(const int32_t *firsts, int32_t parts) {
    for (int32_t variant = 0; variant < 9; variant++) {
        fg_fixture f;
        fg_problem problem = full_problem(FG_F32 + variant % 3);
        problem.activation = variant / 3 == 2 ? FG_ACT_SRELU : FG_ACT_SWIGLU;
        problem.interleave = variant / 3 == 1 ? 8 : 0;
        problem.separate_bias_scale = variant / 3 == 2;
        fg_fixture_open(&f, fg_reference_backend_entry, &problem, ROWS, some_splits,
                        FG_FIXTURE_PADDED);
        compare_plan(&f, firsts, parts);
        fg_fixture_close(&f);
    }
}

Test(reference_backend, three_short_runs_give_the_bits_of_the_whole) {
    compare_plans((const int32_t[]){FG_OP_FC1, FG_OP_ACTIVATION, FG_OP_FC2}, 3);
}

Test(reference_backend, run_0_to_1_and_run_2_give_the_bits_of_the_whole) {
    compare_plans((const int32_t[]){FG_OP_FC1, FG_OP_FC2}, 2);
}

Test(reference_backend, run_0_and_run_1_to_2_give_the_bits_of_the_whole) {
    compare_plans((const int32_t[]){FG_OP_FC1, FG_OP_ACTIVATION}, 2);
}

Test(reference_backend, rounding_points_are_those_of_intermediates_in_memory) {
    fg_fixture f;
    fg_problem problem = full_problem(FG_BF16);
    fg_fixture_open(&f, fg_reference_backend_entry, &problem, ROWS, some_splits, FG_FIXTURE_TIGHT);
    cr_assert_eq(f.traits.rounding, FG_ROUND_Y1_FORWARD | FG_ROUND_HIDDEN | FG_ROUND_Y1_SAVED |
                                        FG_ROUND_HIDDEN_SAVED | FG_ROUND_DHIDDEN | FG_ROUND_DACT |
                                        FG_ROUND_DBIAS);
    fg_fixture_close(&f);
}

Test(reference_backend, every_run_is_claimed) {
    fg_fixture f;
    fg_problem problem = full_problem(FG_BF16);
    fg_recipe none = fg_recipe_default(FG_RECIPE_NONE);
    char reason[FG_REASON_SIZE];
    fg_fixture_open(&f, fg_reference_backend_entry, &problem, ROWS, some_splits, FG_FIXTURE_TIGHT);
    for (problem.first_op = 0; problem.first_op < FG_OP_COUNT; problem.first_op++) {
        for (problem.op_count = 1; problem.first_op + problem.op_count <= FG_OP_COUNT;
             problem.op_count++) {
            cr_assert_eq(f.backend->supports(f.device, &problem, &none, reason), FG_STATUS_OK,
                         "%d, %d: %s", problem.first_op, problem.op_count, fg_message());
        }
    }
    fg_fixture_close(&f);
}

Test(reference_backend, welcome_intermediates_may_be_missing) {
    fg_fixture f;
    fg_problem problem = full_problem(FG_BF16);
    fg_fixture_open(&f, fg_reference_backend_entry, &problem, ROWS, some_splits, FG_FIXTURE_TIGHT);
    for (int32_t first = FG_OP_FC1; first <= FG_OP_ACTIVATION; first++) {
        // Run 0..1 may leave y1 out, run 1..2 h; the results stay.
        const fg_tensor *result = first == FG_OP_FC1 ? &f.h : &f.y;
        part p = open_part(&f, first, 2);
        void *scratch = fg_alloc(p.sizes.scratch_forward, FG_ALLOC_GENERAL);
        fg_forward_args args = fg_fixture_forward_args(&f, 0);
        if (first == FG_OP_ACTIVATION) {
            part before = open_part(&f, FG_OP_FC1, 1);
            cr_assert_eq(part_forward(&f, &before), FG_STATUS_OK);
            f.backend->kernel_destroy(before.kernel);
        }
        cr_assert_eq(part_forward(&f, &p), FG_STATUS_OK);
        uint64_t with = fg_fixture_hash(&f, result);
        fg_fixture_poison(scratch, p.sizes.scratch_forward);
        args.y1 = first == FG_OP_FC1 ? NULL : &f.y1;
        args.h = first == FG_OP_FC1 ? &f.h : NULL;
        args.scratch = scratch;
        fg_fixture_poison_tensor(&f, result);
        cr_assert_eq(f.backend->mlp_forward(p.kernel, &args, NULL), FG_STATUS_OK, "%s",
                     fg_message());
        cr_assert_eq(fg_fixture_hash(&f, result), with, "run %d..%d", first, first + 1);
        fg_free(scratch);
        f.backend->kernel_destroy(p.kernel);
    }
    fg_fixture_close(&f);
}

Test(reference_backend, intermediates_that_a_run_needs_are_named) {
    static const struct {
        int32_t first, count;
        const char *missing;
    } runs[] = {{0, 1, "y1"}, {0, 2, "h"}, {1, 1, "y1"}, {1, 2, "y1"}, {2, 1, "h"}};
    fg_fixture f;
    fg_problem problem = full_problem(FG_BF16);
    fg_fixture_open(&f, fg_reference_backend_entry, &problem, ROWS, some_splits, FG_FIXTURE_TIGHT);
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        part p = open_part(&f, runs[i].first, runs[i].count);
        fg_forward_args args = fg_fixture_forward_args(&f, 0);
        args.y1 = strcmp(runs[i].missing, "y1") == 0 ? NULL : &f.y1;
        args.h = strcmp(runs[i].missing, "h") == 0 ? NULL : &f.h;
        cr_assert_eq(f.backend->mlp_forward(p.kernel, &args, NULL), FG_STATUS_INVALID);
        cr_assert(strstr(fg_message(), runs[i].missing) != NULL, "%s", fg_message());
        f.backend->kernel_destroy(p.kernel);
    }
    fg_fixture_close(&f);
}
