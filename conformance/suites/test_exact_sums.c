/* Exact data has one right bit pattern only while no order of summation can round. */

#include "conformance/case/case_suite.h"
#include "conformance/judge/mlp_judge.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { STAGES = 32, LEAST_ROWS = 90 };

/* Largest sum of sizes that 24 digits keep. Terms are multiples of a half, which p may be; dp's are
 * whole, since p is not in them; every term of a gated dx holds a gate, a multiple of 8. */
static double most_of(const fg_problem *problem, const char *stage) {
    int gated = problem->activation == FG_ACT_SWIGLU;
    double unit = strcmp(stage, "dp") == 0 ? 1 : strcmp(stage, "dx") != 0 ? 0.5 : gated ? 4 : 1;
    return 0x1p24 * unit;
}

static void check_expert(const fg_case *value, const fg_oracle *oracle, int64_t expert) {
    fg_bound_stage stages[STAGES];
    int32_t count = fg_oracle_stages(oracle, stages, STAGES);
    cr_assert_gt(count, 0);
    for (int32_t i = 0; i < count; i++) {
        if (stages[i].n > 0) {
            double terms = stages[i].sum / stages[i].gamma;
            char line[FG_CASE_LINE];
            fg_case_format(value, line, sizeof line);
            cr_assert(terms < most_of(&value->problem, stages[i].name),
                      "%s: %s of expert %" PRId64 " sums %g", line, stages[i].name, expert, terms);
        }
    }
}

/* Holds the sums of every expert with many rows against what 24 digits keep; returns how many. */
static int64_t check_case(const fg_case *value) {
    fg_traits traits = {.struct_size = sizeof traits, .base_align = 8, .row_align = 1};
    const fg_kernel_sizes sizes = {.struct_size = sizeof sizes};
    fg_tensors *tensors = NULL;
    cr_assert_eq(fg_tensors_create(value, &traits, &sizes, &tensors), FG_STATUS_OK);
    fg_inputs inputs = {.struct_size = sizeof inputs,
                        .rows = value->rows,
                        .splits = fg_tensors_view(tensors, FG_BUFFER_SPLITS)};
    for (int i = 0; i < FG_INPUTS; i++) {
        inputs.inputs[i] = fg_tensors_view(tensors, FG_BUFFER_INPUT + i);
    }
    const fg_mlp_judgement judgement = {
        .value = value, .traits = &traits, .inputs = &inputs, .tensors = tensors};
    fg_oracle_spec spec;
    fg_oracle *oracle = NULL;
    int64_t checked = 0;
    fg_mlp_spec(&judgement, value->want, &spec);
    spec.bounds = 1;
    spec.stages = 1;
    cr_assert_eq(fg_oracle_create(&spec, &oracle), FG_STATUS_OK);
    for (int64_t e = 0; e < value->problem.experts; e++) {
        if (value->splits[e] >= LEAST_ROWS) {
            cr_assert_eq(fg_oracle_expert(oracle, e), FG_STATUS_OK);
            check_expert(value, oracle, e);
            checked++;
        }
    }
    fg_oracle_destroy(oracle);
    fg_tensors_destroy(tensors);
    return checked;
}

/* Rows around the places where codes get shorter, and far past them. */
Test(exact_sums, no_order_of_summation_rounds_whatever_the_rows) {
    const char *forms[] = {"act=swiglu data=selection", "act=srelu data=selection",
                           "act=swiglu data=exact", "act=srelu data=exact"};
    const int rows[] = {95, 96, 97, 640, 1024, 1025, 3072, 4097};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
            for (int seed = 0; seed < 6; seed++) {
                char line[256];
                fg_case value;
                snprintf(line, sizeof line, "mlp E=2 H=40 F=48 splits=3,%d bias=1 %s seed=%d",
                         rows[r], forms[i], seed);
                cr_assert_eq(fg_case_parse(line, &value), FG_STATUS_OK, "%s", fg_message());
                cr_assert_eq(check_case(&value), 1);
            }
        }
    }
}

Test(exact_sums, no_order_of_summation_rounds_in_the_suite_pr) {
    fg_case_list list = {0};
    int64_t checked = 0;
    cr_assert_eq(fg_case_suite("pr", &list), FG_STATUS_OK);
    for (int64_t i = 0; i < list.count; i++) {
        fg_case *value = &list.cases[i];
        if (value->data != FG_DATA_NORMAL && value->mode != FG_MODE_NOGRAD) {
            for (uint64_t seed = 201; seed <= 202; seed++) {
                value->seed = seed;
                checked += check_case(value);
            }
        }
    }
    cr_assert_gt(checked, 100);
    fg_case_list_free(&list);
}
