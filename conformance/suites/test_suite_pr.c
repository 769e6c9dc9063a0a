/* What the suite pr must hold, counted from its file. */

#include "conformance/case/case_suite.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static fg_case parsed(const char *line) {
    fg_case value;
    cr_assert_eq(fg_case_parse(line, &value), FG_STATUS_OK, "%s: %s", line, fg_message());
    return value;
}

static fg_case_list suite(const char *name) {
    fg_case_list list = {0};
    cr_assert_eq(fg_case_suite(name, &list), FG_STATUS_OK, "%s: %s", name, fg_message());
    return list;
}

static int64_t count_if(const fg_case_list *list, int (*holds)(const fg_case *value)) {
    int64_t count = 0;
    for (int64_t i = 0; i < list->count; i++) {
        count += holds(&list->cases[i]) != 0;
    }
    return count;
}

static int64_t longest(const fg_case *value) {
    int64_t most = 0;
    for (int64_t e = 0; e < value->problem.experts; e++) {
        most = value->splits[e] > most ? value->splits[e] : most;
    }
    return most;
}

static int wide(const fg_case *value) {
    return value->problem.hidden >= 256 && value->problem.inter >= 256;
}

static int large(const fg_case *value) {
    return value->problem.hidden >= 512 && value->problem.inter >= 512 && longest(value) >= 512;
}

static int many_experts(const fg_case *value) {
    return value->problem.experts >= 64;
}

static int wide_normal(const fg_case *value) {
    return wide(value) && value->data == FG_DATA_NORMAL && value->problem.prob;
}

static int by_line(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

Test(suite_pr, holds_enough_cases_that_differ_in_more_than_their_seed) {
    fg_case_list list = suite("pr");
    char **lines = malloc((size_t)list.count * sizeof *lines);
    static char line[FG_CASE_LINE];
    int64_t distinct = 0;
    for (int64_t i = 0; i < list.count; i++) {
        list.cases[i].seed = 0;
        (void)fg_case_format(&list.cases[i], line, sizeof line);
        lines[i] = strdup(line);
    }
    qsort(lines, (size_t)list.count, sizeof *lines, by_line);
    for (int64_t i = 0; i < list.count; i++) {
        distinct += i == 0 || strcmp(lines[i], lines[i - 1]) != 0;
    }
    cr_assert_geq(distinct, 500, "%lld", (long long)distinct);
    for (int64_t i = 0; i < list.count; i++) {
        free(lines[i]);
    }
    free(lines);
    fg_case_list_free(&list);
}

Test(suite_pr, holds_enough_real_widths_rows_and_experts) {
    fg_case_list list = suite("pr");
    cr_assert_geq(count_if(&list, wide), 60, "%lld", (long long)count_if(&list, wide));
    cr_assert_geq(count_if(&list, wide_normal), 30);
    cr_assert_geq(count_if(&list, large), 5, "%lld", (long long)count_if(&list, large));
    cr_assert_geq(count_if(&list, many_experts), 30);
    fg_case_list_free(&list);
}

Test(suite_pr, holds_every_number_of_experts_around_prefix_sums) {
    static const int64_t numbers[] = {1,   2,   3,   63,  64,  65,   127,
                                      128, 129, 255, 256, 257, 1023, 1024};
    fg_case_list list = suite("pr");
    for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++) {
        int64_t found = 0;
        for (int64_t i = 0; i < list.count; i++) {
            found += list.cases[i].problem.experts == numbers[n];
        }
        cr_assert_gt(found, 0, "E = %lld", (long long)numbers[n]);
    }
    fg_case_list_free(&list);
}

Test(suite_pr, holds_every_row_count_from_1_to_130) {
    static int seen[5000];
    fg_case_list list = suite("pr");
    for (int64_t i = 0; i < list.count; i++) {
        for (int64_t e = 0; e < list.cases[i].problem.experts; e++) {
            int64_t rows = list.cases[i].splits[e];
            seen[rows < 5000 ? rows : 0] = 1;
        }
    }
    for (int rows = 1; rows <= 130; rows++) {
        cr_assert(seen[rows], "%d rows", rows);
    }
    cr_assert(seen[255] && seen[256] && seen[257] && seen[4095] && seen[4096] && seen[4097]);
    fg_case_list_free(&list);
}

/* The edge splits that public bug reports name, one list after another. */
Test(suite_pr, holds_the_edge_splits_of_public_reports) {
    static const char *const lines[] = {
        "mlp E=2 H=64 F=192 splits=256,384",
        "mlp E=3 H=72 F=80 splits=128,130,65",
        "mlp E=3 H=72 F=80 splits=5,7,1",
        "mlp E=4 H=40 F=56 splits=8,24,40,56",
        "mlp E=5 H=64 F=48 splits=0,1,63,64,65",
        "mlp E=5 H=64 F=48 splits=0,1,127,128,129",
        "mlp E=5 H=64 F=48 splits=65,64,63,1,0",
        "mlp E=1 H=32 F=24 T=3",
        "mlp E=8 H=256 F=512 splits=0,17,64,65,128,1,0,237",
        "mlp E=4 H=16 F=24 splits=0,0,0,0 T=9",
        "mlp E=4 H=16 F=24 T=0",
        "mlp E=96 H=16 F=16 T=360 splits=even",
    };
    fg_case_list list = suite("pr");
    for (size_t n = 0; n < sizeof lines / sizeof lines[0]; n++) {
        fg_case wanted = parsed(lines[n]);
        int64_t found = 0;
        for (int64_t i = 0; i < list.count; i++) {
            const fg_case *value = &list.cases[i];
            found += value->problem.experts == wanted.problem.experts &&
                     value->rows == wanted.rows && value->problem.inter == wanted.problem.inter &&
                     memcmp(value->splits, wanted.splits, sizeof wanted.splits) == 0;
        }
        cr_assert_gt(found, 0, "%s", lines[n]);
    }
    fg_case_list_free(&list);
}

static void has(const fg_case_list *list, const char *what, int64_t count) {
    cr_assert_geq(count, 2, "%s: %lld of %lld cases", what, (long long)count,
                  (long long)list->count);
}

#define COUNT(list, condition)                                                                     \
    do {                                                                                           \
        int64_t found = 0;                                                                         \
        for (int64_t i = 0; i < (list).count; i++) {                                               \
            const fg_case *c = &(list).cases[i];                                                   \
            found += (condition) != 0;                                                             \
        }                                                                                          \
        has(&(list), #condition, found);                                                           \
    } while (0)

Test(suite_pr, holds_every_value_of_every_key) {
    fg_case_list list = suite("pr");
    COUNT(list, c->problem.dtype == FG_BF16);
    COUNT(list, c->problem.dtype == FG_F16);
    COUNT(list, c->problem.dtype == FG_F32);
    COUNT(list, c->problem.prob_dtype == FG_BF16);
    COUNT(list, c->problem.bias && c->problem.bias_dtype == FG_F32 && c->problem.dtype != FG_F32);
    COUNT(list, c->problem.wgrad_dtype == FG_BF16);
    COUNT(list, c->problem.activation == FG_ACT_SRELU);
    COUNT(list, c->problem.interleave == 1);
    COUNT(list, c->problem.interleave == 8);
    COUNT(list, c->problem.interleave == 32);
    COUNT(list, c->problem.splits_dtype == FG_I64);
    COUNT(list, c->problem.host_splits);
    COUNT(list, c->problem.segment_align > 1);
    COUNT(list, c->padded_strides);
    COUNT(list, c->problem.bias);
    COUNT(list, !c->problem.prob);
    COUNT(list, c->problem.scale_bias && !c->problem.separate_bias_scale);
    COUNT(list, c->problem.separate_bias_scale);
    COUNT(list, c->problem.accumulate);
    COUNT(list, c->has_first);
    COUNT(list, c->want == 0 && c->mode == FG_MODE_GRAD);
    COUNT(list, c->want == FG_BIT(FG_X));
    COUNT(list, c->mode == FG_MODE_NOGRAD);
    COUNT(list, c->mode == FG_MODE_RECOMPUTE);
    COUNT(list, c->data == FG_DATA_EXACT);
    COUNT(list, c->data == FG_DATA_NORMAL);
    COUNT(list, c->data == FG_DATA_SELECTION);
    COUNT(list, c->rows == 0);
    COUNT(list, c->problem.hidden == c->problem.inter);
    COUNT(list, c->problem.hidden == 2 * c->problem.inter);
    COUNT(list, c->rows == c->problem.experts);
    fg_case_list_free(&list);
}

/* Every mask that a tiny problem has, without a bias scale of its own and with one. */
Test(suite_pr, holds_every_mask_of_wanted_gradients) {
    static int seen[2][FG_BIT(FG_INPUTS)];
    fg_case_list list = suite("pr");
    for (int64_t i = 0; i < list.count; i++) {
        const fg_case *value = &list.cases[i];
        if (value->problem.bias && value->problem.prob && value->mode == FG_MODE_GRAD) {
            seen[value->problem.separate_bias_scale != 0][value->want] = 1;
        }
    }
    for (uint32_t mask = 0; mask < FG_BIT(FG_INPUTS); mask++) {
        cr_assert(seen[0][mask] || (mask & FG_BIT(FG_BIAS_P)), "mask %u", mask);
        cr_assert(seen[1][mask], "mask %u with a bias scale of its own", mask);
    }
    fg_case_list_free(&list);
}

/* Rows of a tensor by token in 16 bits on which a trend of its rounding shows. */
static int judges_dp_rounding(const fg_case *value) {
    return value->problem.prob_dtype != FG_F32 && value->data == FG_DATA_NORMAL &&
           (value->want & FG_BIT(FG_P)) && value->rows > 4096;
}

Test(suite_pr, holds_five_cases_at_least_of_what_one_fault_needs) {
    fg_case_list list = suite("pr");
    int64_t long_experts = 0, last_of_many = 0, wide_splits = 0, deep = 0;
    for (int64_t i = 0; i < list.count; i++) {
        const fg_case *value = &list.cases[i];
        int64_t experts = value->problem.experts;
        long_experts += longest(value) >= 4097;
        last_of_many += experts == 1024 && value->splits[experts - 1] > 0;
        wide_splits += value->problem.splits_dtype == FG_I64 && !value->problem.host_splits;
        deep += value->problem.hidden >= 768;
    }
    cr_assert_geq(long_experts, 8);
    cr_assert_geq(last_of_many, 5);
    cr_assert_geq(wide_splits, 8);
    cr_assert_geq(deep, 5);
    cr_assert_geq(count_if(&list, judges_dp_rounding), 5);
    fg_case_list_free(&list);
}
