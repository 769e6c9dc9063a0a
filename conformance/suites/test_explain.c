/* What `explain` prints, read back. */

#include "conformance/judge/explain.h"
#include "contract/alloc.h"
#include "reference/oracle.h"
#include <cblas.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static fg_traits traits_of(uint32_t rounding) {
    return (fg_traits){.struct_size = sizeof(fg_traits),
                       .deterministic = 1,
                       .base_align = 8,
                       .row_align = 2,
                       .segment_align = 1,
                       .accumulator_digits = 24,
                       .accumulator_block = 1,
                       .operand_digits = 24,
                       .rounding = rounding,
                       .activation_error = 8};
}

/* The whole text, to be freed. */
static char *explained(const char *line, uint32_t rounding) {
    fg_case value;
    fg_traits traits = traits_of(rounding);
    char *text = NULL;
    size_t size = 0;
    openblas_set_num_threads(1);
    cr_assert_eq(fg_case_parse(line, &value), FG_STATUS_OK, "%s", fg_message());
    FILE *out = open_memstream(&text, &size);
    cr_assert_eq(fg_explain(out, &value, &traits), FG_STATUS_OK, "%s", fg_message());
    (void)fclose(out);
    return text;
}

static void says(const char *text, const char *words) {
    cr_assert(strstr(text, words) != NULL, "'%s' is missing in:\n%s", words, text);
}

#define LINE "mlp E=4 H=24 F=16 splits=3,0,20,5 T=30 bias=1"

Test(explain, begins_with_the_repro_line_and_the_problem) {
    char *text = explained(LINE " dt=bf16", 0);
    cr_assert_eq(strncmp(text, LINE "\n", strlen(LINE "\n")), 0, "%s", text);
    says(text, "E = 4 experts, H = 24, F = 16, O1 = 32 (swiglu)");
    says(text, "T = 30 rows: 28 of experts, 2 of padding");
    says(text, "largest expert 20 rows, 1 experts without any");
    says(text, "types: I/O bf16, p f32, bias bf16, weight gradients f32, splits i32");
    free(text);
}

Test(explain, lists_the_rounding_points_that_are_declared_and_no_other) {
    static const char *const names[] = {
        "y1_forward",   "bias_after", "act",   "gated",   "prob", "hidden",       "y1_saved",
        "hidden_saved", "dhidden",    "dprob", "dlinear", "dact", "dbias_rounded"};
    for (int flag = 0; flag < 13; flag++) {
        char *text = explained(LINE, 1u << flag);
        const char *from = strstr(text, "rounding points"), *to = strstr(text, "the rest stays");
        int listed = 0;
        for (int i = 0; i < 13; i++) {
            char start[32];
            (void)snprintf(start, sizeof start, "\n  %s ", names[i]);
            const char *found = strstr(from, start);
            listed += found != NULL && found < to;
            cr_assert((found != NULL && found < to) == (i == flag), "%s", names[i]);
        }
        cr_assert_eq(listed, 1);
        free(text);
    }
}

Test(explain, plans_the_checks_of_the_data) {
    char *exact = explained(LINE, 0), *normal = explained(LINE " data=normal want=dx,dp", 0);
    says(exact, "exact ");
    cr_assert(strstr(exact, "bias           mean") == NULL);
    says(exact, "gradients: all");
    says(normal, "bound          every element");
    says(normal, "bias           mean");
    says(normal, "gradients: dx,dp");
    free(exact);
    free(normal);
}

Test(explain, prints_every_term_of_every_stage) {
    static const char *const stages[] = {"y1",  "act", "h",   "y",   "dh",  "dp",
                                         "dy1", "dx",  "dw1", "db1", "dw2", "db2"};
    char *text = explained(LINE " data=normal", FG_ROUND_HIDDEN | FG_ROUND_Y1_SAVED);
    says(text, "expert 2 (20 rows)");
    const char *table = strstr(text, "bound of each stage");
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        char start[16];
        (void)snprintf(start, sizeof start, "\n  %s ", stages[i]);
        const char *at = strstr(table, start);
        cr_assert(at != NULL, "%s", stages[i]);
        double term[12]; // n, gamma, row, column, v, six terms, d(v)
        at += strlen(start);
        for (int k = 0; k < 12; k++) {
            char *end = NULL;
            term[k] = strtod(at, &end);
            cr_assert(end != at, "%s lacks number %d", stages[i], k);
            at = end;
        }
        double sum = 0;
        for (int k = 5; k < 11; k++) {
            sum += term[k];
        }
        double d = term[11];
        cr_assert(d > 0 && sum >= 0.98 * d && sum <= 1.02 * d, "%s: %g of %g", stages[i], sum, d);
    }
    free(text);
}

Test(explain, gamma_is_that_of_the_accumulator) {
    fg_traits traits = traits_of(0);
    char *text = explained("mlp dt=f32 E=1 H=64 F=16 T=4 data=normal", 0), gamma[32];
    (void)snprintf(gamma, sizeof gamma, "64  %.2e", fg_gamma(&traits, 64));
    says(text, gamma);
    free(text);
}

Test(explain, takes_every_kind_and_mode) {
    static const char *const lines[] = {
        "mlp E=2 H=8 F=8 T=4 mode=nograd", "mlp act=srelu E=2 H=8 F=8 T=4 wgrad=accumulate",
        "mlp E=2 H=8 F=8 T=0", "plan E=2 H=8 F=8 T=4", "recompute E=2 H=8 F=8 T=4 seq=2"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char *text = explained(lines[i], 0);
        says(text, "bound of each stage");
        cr_assert_eq(strstr(text, "planned checks") != NULL, i < 3);
        free(text);
    }
    cr_assert_eq(fg_alloc_live_total(), 0);
}

Test(explain, every_failing_allocation_comes_back) {
    fg_case value;
    fg_traits traits = traits_of(0);
    int failed = 0;
    cr_assert_eq(fg_case_parse(LINE, &value), FG_STATUS_OK);
    for (int64_t n = 1;; n++) {
        FILE *out = fopen("/dev/null", "w");
        fg_alloc_fail_at(n);
        fg_status status = fg_explain(out, &value, &traits);
        fg_alloc_fail_at(0);
        (void)fclose(out);
        cr_assert_eq(fg_alloc_live_total(), 0, "allocation %lld leaks", (long long)n);
        if (status == FG_STATUS_OK) {
            break;
        }
        cr_assert_eq(status, FG_STATUS_NO_MEMORY);
        failed++;
    }
    cr_assert_geq(failed, 5);
}
