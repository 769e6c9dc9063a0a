#include "conformance/suites/backend_judge.h"
#include "reference/oracle.h"
#include <criterion/criterion.h>
#include <math.h>

/* One output of one expert beside what the backend wrote. */
static void judge_output(const fg_fixture *f, const char *what, int64_t expert, int output,
                         const fg_expected *expected) {
    const fg_tensor *got = output == FG_OUT_Y ? &f->y : &f->grads[output];
    int by_expert = output != FG_OUT_Y && output != FG_X && output != FG_P && output != FG_BIAS_P;
    for (int64_t i = 0; i < expected->rows * expected->cols; i++) {
        int64_t row = i / expected->cols;
        int64_t col = i % expected->cols;
        double value = expected->value[i];
        double bound = expected->bound[i];
        double tolerance = bound + fg_dtype_ulp((fg_dtype)got->dtype, fabs(value) + bound) / 2;
        double found = got->ndim == 3 ? fg_fixture_at(got, expert, row, col)
                       : by_expert    ? fg_fixture_at(got, expert, col, 0)
                                      : fg_fixture_at(got, expected->first_row + row, col, 0);
        double error = fabs(found - value);
        cr_assert(error <= tolerance,
                  "%s: %s of expert %lld at (%lld, %lld): %.9g, expected %.9g, "
                  "error %.3g, allowed %.3g",
                  what, fg_output_name(output), (long long)expert, (long long)row, (long long)col,
                  found, value, error, tolerance);
    }
}

void fg_fixture_judge(fg_fixture *f, const char *what, uint32_t mask, uint32_t accumulate) {
    fg_oracle_spec spec = {
        .problem = &f->problem,
        .traits = &f->traits,
        .in = &f->in,
        .dy = &f->dy,
        .mask = mask,
        .accumulate = accumulate,
        .bounds = 1,
    };
    fg_tensor before[FG_INPUTS];
    for (int i = 0; i < FG_INPUTS; i++) {
        before[i] = fg_fixture_before(f, &f->grads[i]);
        spec.grads_before[i] = before[i].ndim > 0 ? &before[i] : NULL;
    }
    fg_oracle *oracle = NULL;
    cr_assert_eq(fg_oracle_create(&spec, &oracle), FG_STATUS_OK, "%s: %s", what, fg_message());
    for (int64_t e = 0; e < f->problem.experts; e++) {
        cr_assert_eq(fg_oracle_expert(oracle, e), FG_STATUS_OK, "%s: %s", what, fg_message());
        for (int output = 0; output < FG_OUTPUTS; output++) {
            fg_expected expected = fg_oracle_expected(oracle, output);
            judge_output(f, what, e, output, &expected);
        }
    }
    fg_oracle_destroy(oracle);
}
