#include "reference/oracle_memory.h"

#include "contract/alloc.h"
#include <sys/mman.h>

/* What the kernel can map in one piece; the first touch of an array is a good part of its cost. */
#define HUGE_PAGE (UINT64_C(2) << 20)

/* Lays out arrays of an oracle, or adds up their bytes. */
typedef void layout_fn(fg_oracle *oracle, fg_arena *arena);

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static double *take(fg_arena *arena, int64_t rows, int64_t cols) {
    return fg_arena_take(arena, rows, cols, sizeof(double));
}

static fg_values take_values(fg_arena *arena, int64_t rows, int64_t cols) {
    fg_values values = {.v = take(arena, rows, cols)};
    values.d = take(arena, rows, cols);
    return values;
}

static void lay_out_geometry(fg_oracle *oracle, fg_arena *arena) {
    int64_t experts = oracle->spec.problem->experts;
    oracle->splits = fg_arena_take(arena, experts, 1, sizeof(int64_t));
    oracle->begin = fg_arena_take(arena, experts + 1, 1, sizeof(int64_t));
    oracle->gate_column = fg_arena_take(arena, oracle->inter, 1, sizeof(int64_t));
    oracle->linear_column = fg_arena_take(arena, oracle->inter, 1, sizeof(int64_t));
}

static void lay_out_operands(fg_oracle *oracle, fg_arena *arena) {
    int64_t rows = oracle->rows_max;
    int64_t h = oracle->hidden;
    int64_t f = oracle->inter;
    int64_t o1 = oracle->columns;
    int32_t stored = oracle->io.digits;
    int32_t wide = oracle->io.exact ? stored : 24;
    int32_t hidden = fg_oracle_rounds(oracle, FG_ROUND_HIDDEN) ? stored : wide;
    int32_t dact = fg_oracle_rounds(oracle, FG_ROUND_DACT | FG_ROUND_DLINEAR) ? stored : wide;
    int narrow = oracle->arithmetic.narrow > 0;
    const struct {
        fg_operand *operand;
        int64_t rows, cols;
        int32_t digits;
        int wanted, inexact, square;
    } table[] = {
        {&oracle->x, rows, h, stored, 1, 0, fg_oracle_wants(oracle, FG_W1)},
        {&oracle->w1, o1, h, stored, 1, 0, fg_oracle_wants(oracle, FG_X)},
        {&oracle->w2, h, f, stored, 1, 0, 1},
        {&oracle->dy, rows, h, stored, oracle->spec.mask != 0, 0, fg_oracle_wants(oracle, FG_W2)},
        {&oracle->h, rows, f, hidden, 1, 1, 0},
        {&oracle->dy1, rows, o1, dact, (oracle->needs & FG_NEED_DH) != 0, 1, 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const fg_operand_form form = {
            .rows = table[i].rows,
            .cols = table[i].cols,
            .digits = table[i].digits,
            .inexact = table[i].inexact,
            .bounds = oracle->spec.bounds,
            .square = narrow || table[i].square,
        };
        if (table[i].wanted) {
            *table[i].operand = fg_operand_cut(&form, &oracle->arithmetic, arena);
        }
    }
}

static void point_operand(fg_operand *operand, fg_values values) {
    operand->v = values.v;
    operand->d = values.d;
}

static void lay_out_intermediates(fg_oracle *oracle, fg_arena *arena) {
    int64_t rows = oracle->rows_max;
    int64_t o1 = oracle->columns;
    int64_t widest = larger(o1, oracle->hidden);
    oracle->b1 = take(arena, o1, 1);
    oracle->b2 = take(arena, oracle->hidden, 1);
    oracle->p = take(arena, rows, 1);
    oracle->bias_p = take(arena, rows, 1);
    oracle->y1 = take_values(arena, rows, o1);
    point_operand(&oracle->dy1, oracle->y1);
    point_operand(&oracle->h, take_values(arena, rows, oracle->inter));
    oracle->sum_columns = fg_arena_take(arena, widest, 1, sizeof(fg_product_sum));
    if (oracle->needs & FG_NEED_DH) {
        oracle->dh = take(arena, rows, oracle->inter);
        oracle->dh_row = take_values(arena, oracle->inter, 1);
        oracle->dy1_row = take_values(arena, o1, 1);
    }
}

/* Outputs, what they held before, and the largest product's sums. */
static void lay_out_outputs(fg_oracle *oracle, fg_arena *arena) {
    int64_t most = oracle->rows_max * larger(oracle->columns, oracle->hidden);
    int64_t most_before = 0;
    oracle->rows = oracle->rows_max;
    for (int output = 0; output < FG_OUTPUTS; output++) {
        fg_expected shape = fg_oracle_expected(oracle, output);
        oracle->out[output] = take_values(arena, shape.rows, shape.cols);
        most = larger(most, shape.rows * shape.cols);
        if (output < FG_INPUTS && (oracle->spec.accumulate & FG_BIT(output))) {
            most_before = larger(most_before, shape.rows * shape.cols);
        }
    }
    oracle->before = take(arena, most_before, 1);
    if (oracle->spec.bounds) {
        oracle->sums.sum = fg_arena_floats(arena, most, 1);
        oracle->sums.spread = fg_arena_floats(arena, most, 1);
    }
}

static void lay_out_arrays(fg_oracle *oracle, fg_arena *arena) {
    lay_out_operands(oracle, arena);
    lay_out_intermediates(oracle, arena);
    lay_out_outputs(oracle, arena);
}

/* Asks for large pages where they fit; a kernel without them changes nothing but time. */
static void prefer_huge_pages(void *block, size_t bytes) {
    uintptr_t first = ((uintptr_t)block + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    uintptr_t end = ((uintptr_t)block + bytes) / HUGE_PAGE * HUGE_PAGE;
    if (end > first) {
        (void)madvise((char *)block + (first - (uintptr_t)block), end - first, MADV_HUGEPAGE);
    }
}

/* Measures a layout, allocates it, and lays it out. */
static fg_status lay_out(fg_oracle *oracle, layout_fn *layout, void **block) {
    fg_arena arena = fg_arena_on(NULL);
    layout(oracle, &arena);
    FG_TRY(arena.status);
    *block = fg_alloc(arena.used, FG_ALLOC_ORACLE);
    if (*block == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "the oracle could not get %zu bytes", arena.used);
    }
    prefer_huge_pages(*block, arena.used);
    arena = fg_arena_on(*block);
    layout(oracle, &arena);
    return arena.status;
}

static fg_status fill_geometry(fg_oracle *oracle) {
    const fg_problem *problem = oracle->spec.problem;
    fg_splits_read(problem, oracle->spec.in->splits->data, oracle->splits);
    FG_TRY(fg_segments(problem, oracle->splits, oracle->spec.in->rows, oracle->begin));
    for (int64_t e = 0; e < problem->experts; e++) {
        oracle->rows_max = larger(oracle->rows_max, oracle->splits[e]);
    }
    int gated = fg_activation_gated((fg_activation)problem->activation);
    for (int64_t j = 0; j < problem->inter; j++) {
        oracle->gate_column[j] = fg_problem_gate_column(problem, j);
        oracle->linear_column[j] = gated ? fg_problem_linear_column(problem, j) : j;
    }
    return FG_STATUS_OK;
}

/* What the mask and the declared rounding points ask for. */
static void decide_needs(fg_oracle *oracle) {
    uint32_t before_fc2 = FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_B1) | FG_BIT(FG_P);
    int forward = fg_oracle_rounds(oracle, FG_ROUND_Y1_FORWARD);
    int saved = fg_oracle_rounds(oracle, FG_ROUND_Y1_SAVED);
    if (oracle->spec.mask & before_fc2) {
        oracle->needs |= FG_NEED_DH;
    }
    if (fg_oracle_wants(oracle, FG_W2) && forward != saved &&
        !fg_oracle_rounds(oracle, FG_ROUND_HIDDEN_SAVED)) {
        oracle->needs |= FG_NEED_H_AGAIN;
    }
}

fg_status fg_oracle_memory_create(fg_oracle *oracle) {
    const fg_oracle_spec *spec = &oracle->spec;
    oracle->hidden = spec->problem->hidden;
    oracle->inter = spec->problem->inter;
    oracle->columns = fg_problem_o1(spec->problem);
    oracle->arithmetic = fg_arithmetic_make(spec->traits, spec->bounds);
    oracle->io = fg_rounder_make((fg_dtype)spec->problem->dtype);
    oracle->rounding = oracle->io.exact ? 0 : spec->traits->rounding;
    decide_needs(oracle);
    FG_TRY(lay_out(oracle, lay_out_geometry, &oracle->geometry));
    FG_TRY(fill_geometry(oracle));
    return lay_out(oracle, lay_out_arrays, &oracle->arrays);
}

void fg_oracle_memory_free(fg_oracle *oracle) {
    fg_free(oracle->geometry);
    fg_free(oracle->arrays);
}
