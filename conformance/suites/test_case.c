/* The case language: text to case and back, splits by name, suites, and bad text. */

#include "conformance/case/case_parse.h"
#include "conformance/case/case_splits.h"
#include "conformance/case/case_suite.h"
#include "conformance/case/case_word.h"
#include "contract/alloc.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static fg_case parsed(const char *line) {
    fg_case value;
    cr_assert_eq(fg_case_parse(line, &value), FG_STATUS_OK, "%s: %s", line, fg_message());
    return value;
}

static fg_case_list expanded(const char *line) {
    fg_case_list list = {0};
    cr_assert_eq(fg_case_expand(line, &list), FG_STATUS_OK, "%s: %s", line, fg_message());
    return list;
}

static fg_case_list suite(const char *name) {
    fg_case_list list = {0};
    cr_assert_eq(fg_case_suite(name, &list), FG_STATUS_OK, "%s: %s", name, fg_message());
    return list;
}

/* The line must be refused with every one of the words in its message. */
static void refused(const char *line, const char *first, const char *second) {
    fg_case_list list = {0};
    cr_assert_eq(fg_case_expand(line, &list), FG_STATUS_PARSE, "%s", line);
    cr_assert(strstr(fg_message(), first) != NULL, "%s: %s lacks '%s'", line, fg_message(), first);
    cr_assert(strstr(fg_message(), second) != NULL, "%s: %s lacks '%s'", line, fg_message(),
              second);
    cr_assert_eq(list.count, 0);
    fg_case_list_free(&list);
}

Test(case_language, reads_the_published_example) {
    fg_case value = parsed("mlp dt=bf16 act=swiglu E=8 H=256 F=512 "
                           "splits=0,17,64,65,128,1,0,237 layout=gate32 bias=1 "
                           "want=dx,dw1,dw2,dp wgrad=accumulate data=exact mode=recompute seed=7");
    const fg_problem *problem = &value.problem;
    static const int64_t splits[8] = {0, 17, 64, 65, 128, 1, 0, 237};
    cr_assert_eq(value.kind, FG_CASE_MLP);
    cr_assert(problem->experts == 8 && problem->hidden == 256 && problem->inter == 512);
    cr_assert(problem->dtype == FG_BF16 && problem->activation == FG_ACT_SWIGLU);
    cr_assert(problem->interleave == 32 && problem->bias == 1 && problem->accumulate == 1);
    cr_assert(memcmp(value.splits, splits, sizeof splits) == 0 && value.rows == 512);
    cr_assert_eq(value.want, FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_W2) | FG_BIT(FG_P));
    cr_assert(value.mode == FG_MODE_RECOMPUTE && value.data == FG_DATA_EXACT && value.seed == 7);
}

Test(case_language, fills_defaults) {
    fg_case value = parsed("mlp E=2 H=16 F=8 splits=3,4");
    const fg_problem *problem = &value.problem;
    cr_assert(problem->dtype == FG_BF16 && problem->prob_dtype == FG_F32);
    cr_assert(problem->bias_dtype == FG_BF16 && problem->wgrad_dtype == FG_F32);
    cr_assert(problem->splits_dtype == FG_I32 && problem->host_splits == 0);
    cr_assert(problem->prob == 1 && problem->bias == 0 && problem->accumulate == 0);
    cr_assert(problem->interleave == 0 && problem->segment_align == 1);
    cr_assert(value.rows == 7 && value.padded_strides == 0 && value.has_first == 0);
    cr_assert_eq(value.want, FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_P) | FG_BIT(FG_W2));
    cr_assert(value.mode == FG_MODE_GRAD && value.data == FG_DATA_EXACT && value.seed == 0);
    cr_assert(value.recipe.kind == FG_RECIPE_NONE && value.iterations == 0);
}

Test(case_language, types_are_relative_to_dt_in_any_order) {
    fg_case value = parsed("mlp bdt=f32 pdt=dt wdt=dt E=1 H=8 F=8 T=3 dt=f16");
    cr_assert(value.problem.bias_dtype == FG_F32 && value.problem.prob_dtype == FG_F16);
    cr_assert(value.problem.wgrad_dtype == FG_F16 && value.problem.dtype == FG_F16);
}

Test(case_language, nograd_wants_nothing) {
    cr_assert_eq(parsed("mlp E=1 H=8 F=8 T=3 mode=nograd").want, 0);
    cr_assert_neq(parsed("boundary E=1 H=8 F=8 T=3 mode=nograd").want, 0);
    refused("mlp E=1 H=8 F=8 T=3 mode=nograd want=dx", "column 38", "nograd");
}

Test(case_language, aligned_segments_set_the_rows) {
    cr_assert_eq(parsed("mlp E=3 H=8 F=8 splits=1,0,5 align=4").rows, 12);
    cr_assert_eq(parsed("mlp E=3 H=8 F=8 splits=1,0,5 align=4 T=20").rows, 20);
    refused("mlp E=3 H=8 F=8 splits=1,0,5 align=4 T=11", "column 24", "at most T = 11");
}

static void same_again(const fg_case *value) {
    static char line[FG_CASE_LINE], again[FG_CASE_LINE];
    fg_case copy;
    size_t length = fg_case_format(value, line, sizeof line);
    cr_assert_lt(length, sizeof line);
    cr_assert_eq(length, strlen(line));
    cr_assert_eq(fg_case_parse(line, &copy), FG_STATUS_OK, "%s: %s", line, fg_message());
    (void)fg_case_format(&copy, again, sizeof again);
    cr_assert_str_eq(line, again);
    cr_assert(memcmp(value, &copy, sizeof copy) == 0, "%s", line);
}

Test(case_language, repro_lines_of_every_suite_give_the_same_case) {
    cr_assert_str_eq(fg_case_suite_name(0), "pr");
    cr_assert(fg_case_suite_name(3) != NULL);
    for (int i = 0; fg_case_suite_name(i) != NULL; i++) {
        fg_case_list list = suite(fg_case_suite_name(i));
        cr_assert_gt(list.count, 0);
        for (int64_t k = 0; k < list.count; k++) {
            same_again(&list.cases[k]);
        }
        fg_case_list_free(&list);
    }
}

/* One of the words of a list, now and then none. */
static const char *one_of(const char *const *words, int count) {
    return words[rand() % count];
}

Test(case_language, repro_lines_of_random_cases_give_the_same_case) {
    static const char *const keys[][6] = {
        {"", "dt=f16", "dt=f32", "dt=bf16"},
        {"", "pdt=dt", "pdt=f32"},
        {"", "bdt=f32", "bdt=dt"},
        {"", "act=srelu", "act=swiglu"},
        {"", "recipe=current", "recipe=delayed margin=2", "recipe=current override=dequantized"},
        {"T=40", "splits=even T=41", "splits=skew T=90", "splits=1,2,3,0", "splits=0,0,9,1 T=64"},
        {"", "idx=i64", "hsplits=1"},
        {"", "align=2", "align=8 T=200"},
        {"", "strides=padded", "strides=tight"},
        {"bias=1 scale_bias=1", "bias=1", "", "bias=1 scale_bias=1 bias_scale=own"},
        {"", "wgrad=accumulate", "wdt=dt"},
        {"", "want=dx,dw2", "want=none", "want=dp first=dw1", "first=all", "first=none"},
        {"", "mode=recompute"},
        {"", "data=normal", "data=selection"},
        {"", "seed=18446744073709551615", "seed=3 zeros=expected"},
    };
    srand(20);
    int cases = 0;
    for (int i = 0; i < 3000; i++) {
        char line[1024];
        fg_case value;
        int length = snprintf(line, sizeof line, "%s E=4 H=16 F=8",
                              one_of((const char *[]){"mlp", "plan", "boundary", "recompute"}, 4));
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            int choices = 0;
            while (choices < 6 && keys[k][choices] != NULL) {
                choices++;
            }
            length += snprintf(line + length, sizeof line - (size_t)length, " %s",
                               one_of(keys[k], choices));
        }
        // Some combinations contradict themselves, such as T twice.
        if (fg_case_parse(line, &value) == FG_STATUS_OK) {
            same_again(&value);
            cases++;
        }
    }
    cr_assert_gt(cases, 1000);
}

Test(case_language, repro_line_leaves_out_defaults) {
    char line[256];
    fg_case value = parsed("mlp  dt=bf16 act=swiglu layout=half\tE=2 H=16 F=8 splits=3,5 prob=1");
    (void)fg_case_format(&value, line, sizeof line);
    cr_assert_str_eq(line, "mlp E=2 H=16 F=8 splits=3,5");
}

Test(case_language, the_whole_line_gives_defaults_and_the_same_case) {
    static const char *const names[] = {"pr", "recompute", "boundary", "plan-cache"};
    static char whole[FG_CASE_LINE], line[FG_CASE_LINE], again[FG_CASE_LINE];
    fg_case value = parsed("mlp E=2 H=8 F=8 T=3");
    (void)fg_case_format_whole(&value, whole, sizeof whole);
    cr_assert_str_eq(whole, "mlp dt=bf16 pdt=f32 bdt=dt wdt=f32 act=swiglu recipe=none "
                            "override=none margin=0 history=1024 algo=max format=hybrid E=2 H=8 "
                            "F=8 splits=even T=3 idx=i32 hsplits=0 layout=half align=1 "
                            "strides=tight weights=tensor worder=oi bias=0 prob=1 scale_bias=0 "
                            "bias_scale=p wgrad=overwrite delay=0 want=all mode=grad data=exact "
                            "seed=0");
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        fg_case_list list = suite(names[n]);
        for (int64_t i = 0; i < list.count; i++) {
            (void)fg_case_format_whole(&list.cases[i], whole, sizeof whole);
            (void)fg_case_format(&list.cases[i], line, sizeof line);
            fg_case back =
                list.cases[i].recipe.kind == FG_RECIPE_NONE && list.cases[i].kind == FG_CASE_MLP
                    ? parsed(whole)
                    : list.cases[i];
            (void)fg_case_format(&back, again, sizeof again);
            cr_assert_str_eq(line, again);
            cr_assert_not_null(strstr(whole, " dt="));
        }
        fg_case_list_free(&list);
    }
}

Test(case_language, repro_line_that_does_not_fit_is_cut_and_counted) {
    char line[16];
    fg_case value = parsed("mlp E=2 H=16 F=8 splits=3,5");
    cr_assert_eq(fg_case_format(&value, line, sizeof line), strlen("mlp E=2 H=16 F=8 splits=3,5"));
    cr_assert_str_eq(line, "mlp E=2 H=16 F=");
}

static void check_splits(const char *name, int64_t experts, int64_t rows, const int64_t *expected) {
    int64_t splits[16];
    cr_assert_eq(fg_splits_fill(name, experts, rows, splits), FG_STATUS_OK);
    for (int64_t e = 0; e < experts; e++) {
        cr_assert_eq(splits[e], expected[e], "%s expert %lld: %lld", name, (long long)e,
                     (long long)splits[e]);
    }
}

Test(case_splits, names_are_functions_of_experts_and_rows) {
    check_splits("even", 4, 10, (const int64_t[]){3, 3, 2, 2});
    check_splits("one", 5, 10, (const int64_t[]){0, 0, 10, 0, 0});
    check_splits("sparse", 9, 10, (const int64_t[]){4, 0, 0, 0, 3, 0, 0, 0, 3});
    // Shares 1, 1/2, 1/3, 1/4 of 25/12: 9.6, 4.8, 3.2, 2.4 of 20, the two left to the lowest.
    check_splits("skew", 4, 20, (const int64_t[]){10, 5, 3, 2});
}

Test(case_splits, every_name_gives_every_row_away) {
    static int64_t splits[FG_CASE_EXPERTS];
    for (int i = 0; i < FG_SPLITS_NAMES; i++) {
        for (int64_t experts = 1; experts <= FG_CASE_EXPERTS; experts = experts * 2 + 1) {
            for (int64_t rows = 0; rows < 5000; rows = rows * 3 + 1) {
                int64_t sum = 0;
                cr_assert_eq(fg_splits_fill(fg_splits_name(i), experts, rows, splits), 0);
                for (int64_t e = 0; e < experts; e++) {
                    cr_assert_geq(splits[e], 0);
                    sum += splits[e];
                }
                cr_assert_eq(sum, rows, "%s E=%lld T=%lld", fg_splits_name(i), (long long)experts,
                             (long long)rows);
            }
        }
    }
}

Test(case_errors, unknown_words_give_column_and_nearest) {
    refused("mlp E=2 H=8 F=8 splitz=1,2", "column 17", "nearest is 'splits'");
    refused("mpl E=2 H=8 F=8 T=1", "column 1", "nearest is 'mlp'");
    refused("mlp E=2 H=8 F=8 T=1 act=swigul", "column 25", "nearest is 'swiglu'");
    refused("mlp E=2 H=8 F=8 T=1 data=exacr", "column 26", "nearest is 'exact'");
    refused("mlp E=2 H=8 F=8 T=1 want=dx,dw3", "column 29", "nearest is 'dw1'");
    refused("mlp E=2 H=8 F=8 T=8 splits=evn", "column 28", "nearest is 'even'");
    refused("mlp E=2 H=8 F=8 T=8 zeros=expacted", "column 27", "nearest is 'expected'");
    refused("plan E=2 H=8 F=8 T=8 actions=grad,bakc", "column 35", "nearest is 'back'");
    refused("mlp E=2 H=8 F=8 T=8 bias", "column 21", "nearest key is 'bias'");
}

Test(case_errors, doubled_keys_give_the_second_column) {
    refused("mlp E=2 H=8 F=8 T=1 E=2", "column 21", "again");
}

Test(case_errors, required_keys_are_asked_for) {
    refused("mlp H=8 F=8 T=1", "'E'", "expected E, H and F");
    refused("mlp E=2 F=8 T=1", "'H'", "expected E, H and F");
    refused("mlp E=2 H=8 T=1", "'F'", "expected E, H and F");
    refused("mlp E=2 H=8 F=8", "neither splits nor T", "expected");
    refused("mlp E=2 H=8 F=8 splits=even", "column 24", "expected T");
    refused("", "column 1", "expected a kind");
}

Test(case_errors, extents_out_of_range_are_refused) {
    static const char *const values[] = {"0", "-1", "1025", "99999999999999999999", "8x", ""};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char line[128];
        (void)snprintf(line, sizeof line, "mlp H=8 F=8 T=1 E=%s", values[i]);
        refused(line, "column 19", "1 to 1024");
        const char *width = i == 2 ? "1048577" : values[i];
        (void)snprintf(line, sizeof line, "mlp E=2 F=8 T=1 H=%s", width);
        refused(line, "column 19", "1 to 1048576");
        (void)snprintf(line, sizeof line, "mlp E=2 H=8 T=1 F=%s", width);
        refused(line, "column 19", "1 to 1048576");
    }
    refused("mlp H=1048576 F=1048576 E=1024 T=1", "column 27", "at most 2^37");
    refused("mlp E=2 H=8 F=8 T=-4", "column 19", "0 to");
    refused("mlp E=2 H=8 F=8 T=1 align=0", "column 27", "1 to 4096");
}

Test(case_errors, splits_are_checked_one_by_one) {
    refused("mlp E=3 H=8 F=8 splits=1,-2,3", "column 26", "'-2' as rows of expert 1");
    refused("mlp E=3 H=8 F=8 splits=1,2", "column 24", "found 2 splits, expected E = 3");
    refused("mlp E=3 H=8 F=8 splits=1,2,3,4", "column 24", "found 4 splits, expected E = 3");
    refused("mlp E=3 H=8 F=8 splits=1,,3", "column 26", "expert 1");
    refused("mlp E=3 H=8 F=8 splits=1,2,3 T=5", "column 24", "at most T = 5");
    refused("mlp E=3 H=8 F=8 splits=1,2,99999999999", "column 28", "expert 2");
    refused("mlp E=3 H=8 F=8 splits=1,2,3x", "column 28", "'3x'");
}

Test(case_errors, contradictions_are_refused) {
    refused("mlp E=1 H=8 F=8 T=1 layout=gate3", "column 28", "divisor of F = 8");
    refused("mlp E=1 H=8 F=8 T=1 layout=gate", "column 28", "half or gateS");
    refused("mlp E=1 H=8 F=8 T=1 layout=gate4 act=srelu", "column 28", "unary");
    refused("mlp E=1 H=8 F=8 T=1 scale_bias=1", "column", "scale_bias");
    refused("mlp E=1 H=8 F=8 T=1 bias_scale=own", "column", "separate_bias_scale");
    refused("mlp E=1 H=8 F=8 T=1 wgrad=accumulate wdt=dt", "column", "expected f32");
    refused("mlp E=1 H=8 F=8 T=1 want=db1", "column 26", "b1 is not among them");
    refused("mlp E=1 H=8 F=8 T=1 recipe=delayed override=dequantized", "column 45", "override");
    refused("mlp E=1 H=8 F=8 T=1 seed=-1", "column 26", "2^64");
    refused("mlp E=1 H=8 F=8 T=1 actions=grad", "column 21", "kind mlp does not take");
    refused("plan E=1 H=8 F=8 T=1 actions=recipe", "column 30", "expected 1");
    refused("plan E=1 H=8 F=8 T=1 actions=opt:margin", "column 30", "expected 2");
}

Test(case_errors, known_but_not_built_says_so) {
    static const char *const lines[] = {
        "act=geglu", "act=situ",    "recipe=mxfp8", "recipe=nvfp4",   "weights=pointers",
        "worder=io", "delay=1",     "mode=graph",   "data=pinned",    "data=ladder",
        "limit=7",   "alpha=1.702", "beta1=4",      "data=subnormal", "recipe=block",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char line[128];
        (void)snprintf(line, sizeof line, "mlp E=1 H=8 F=8 T=1 %s", lines[i]);
        refused(line, "column 2", "known, but not built yet");
    }
    refused("recompute E=1 H=8 F=8 T=1 seq=5", "column 31", "known, but not built yet");
}

Test(case_expand, alternatives_multiply_the_last_fastest) {
    fg_case_list list =
        expanded("mlp E=2 H={8|16} F=8 splits={1,2|even T=5|0,0} act={swiglu|srelu}");
    static const int64_t rows[3] = {3, 5, 0};
    cr_assert_eq(list.count, 12);
    for (int64_t i = 0; i < list.count; i++) {
        const fg_case *value = &list.cases[i];
        cr_assert_eq(value->problem.hidden, i < 6 ? 8 : 16);
        cr_assert_eq(value->rows, rows[i / 2 % 3]);
        cr_assert_eq(value->problem.activation, i % 2);
    }
    fg_case_list_free(&list);
}

Test(case_expand, none_before_a_list_takes_every_subset) {
    fg_case_list list = expanded("mlp E=1 H=8 F=8 T=1 want=none{,dx|}{,dw1|}{,dp|}");
    uint32_t seen = 0;
    cr_assert_eq(list.count, 8);
    for (int64_t i = 0; i < list.count; i++) {
        uint32_t want = list.cases[i].want;
        cr_assert_eq(want & ~(FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_P)), 0);
        seen |= 1u << want;
    }
    cr_assert_eq(seen,
                 1u << 0 | 1u << 1 | 1u << 2 | 1u << 3 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 11);
    fg_case_list_free(&list);
    refused("mlp E=1 H=8 F=8 T=1 want=dx,,dw1", "column", "nearest");
}

Test(case_expand, columns_are_those_of_the_line_as_written) {
    refused("mlp E={1|2} H=8 F=8 T={4|5} act={swiglu|swiglo}", "column 41", "'swiglu'");
    refused("mlp E={1|1025} H=8 F=8 T=4", "column 10", "E=1025");
}

Test(case_expand, too_many_alternatives_are_refused) {
    refused("mlp E={1|2|3|4} H={1|2|3|4|5|6|7|8} F={1|2|3|4|5|6|7|8} T={1|2|3|4|5|6|7|8} "
            "seed={1|2|3|4|5|6|7|8} align={1|2|4|8|16|32|64|128} bias={0|1} prob={0|1}",
            "column 1", "more than 131072 combinations");
}

Test(case_expand, braces_must_close) {
    refused("mlp E={1|2 H=8 F=8 T=4", "column 7", "expected alternatives");
    refused("mlp E=1} H=8 F=8 T=4", "column 8", "expected alternatives");
    refused("mlp E={1{2}} H=8 F=8 T=4", "column 7", "expected alternatives");
}

Test(case_expand, a_failing_line_adds_nothing) {
    fg_case_list list = expanded("mlp E=1 H=8 F=8 T=4");
    cr_assert_eq(fg_case_expand("mlp E={1|0} H=8 F=8 T=4", &list), FG_STATUS_PARSE);
    cr_assert_eq(list.count, 1);
    fg_case_list_free(&list);
}

/* Reads a file with a text; the list's status and message are the caller's to judge. */
static fg_status read_text(const char *text, fg_case_list *list) {
    char path[] = "/tmp/fg-case-XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    fg_status status = fg_case_read(path, list);
    unlink(path);
    return status;
}

Test(case_file, takes_comments_and_blank_lines) {
    fg_case_list list = {0};
    cr_assert_eq(read_text("# a comment\n\n  \nmlp E=1 H=8 F=8 T={1|2} # and one\n"
                           "mlp E=1 H=8 F=16 T=1",
                           &list),
                 FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(list.count, 3);
    cr_assert_eq(list.cases[2].problem.inter, 16);
    fg_case_list_free(&list);
}

Test(case_file, errors_name_file_and_line) {
    fg_case_list list = {0};
    cr_assert_eq(read_text("\n\nmlp E=1 H=8 F=8 T=1\nmlp E=1 H=8 F=8 Z=1\n", &list),
                 FG_STATUS_PARSE);
    cr_assert(strstr(fg_message(), ":4: column 17") != NULL, "%s", fg_message());
    cr_assert(strstr(fg_message(), "/tmp/fg-case-") != NULL, "%s", fg_message());
    fg_case_list_free(&list);
}

Test(case_file, equal_lines_are_taken_once) {
    fg_case_list list = {0};
    cr_assert_eq(
        read_text("mlp E=1 H=8 F=8 T=4\nmlp E=1 H=8 F=8 T=5\nmlp H=8 E=1 F=8 T=4 bias=0\n", &list),
        FG_STATUS_OK);
    cr_assert_eq(list.count, 2);
    cr_assert_eq(list.cases[1].rows, 5);
    fg_case_list_free(&list);
}

Test(case_file, a_missing_file_is_an_io_error) {
    fg_case_list list = {0};
    cr_assert_eq(fg_case_read("/nowhere/x.case", &list), FG_STATUS_IO);
    cr_assert(strstr(fg_message(), "/nowhere/x.case") != NULL);
}

Test(case_file, a_long_file_is_read_whole) {
    enum { LINES = 6000 };
    char *text = malloc((size_t)LINES * 40);
    size_t length = 0;
    for (int i = 0; i < LINES; i++) {
        length += (size_t)sprintf(text + length, "mlp E=1 H=8 F=8 T=1 seed=%d\n", i);
    }
    fg_case_list list = {0};
    cr_assert_eq(read_text(text, &list), FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(list.count, LINES);
    fg_case_list_free(&list);
    free(text);
}

Test(case_suite, unknown_names_give_the_nearest) {
    fg_case_list list = {0};
    cr_assert_eq(fg_case_suite("recomptue", &list), FG_STATUS_NOT_FOUND);
    cr_assert(strstr(fg_message(), "nearest is 'recompute'") != NULL, "%s", fg_message());
    cr_assert_eq(fg_case_suite("scale", &list), FG_STATUS_NOT_FOUND);
    cr_assert(strstr(fg_message(), "known, but not built yet") != NULL, "%s", fg_message());
}

Test(case_word, distance_counts_edits) {
    cr_assert_eq(fg_word_distance("splits", "splits"), 0);
    cr_assert_eq(fg_word_distance("split", "splits"), 1);
    cr_assert_eq(fg_word_distance("spilts", "splits"), 1);
    cr_assert_eq(fg_word_distance("kitten", "sitting"), 3);
    cr_assert_eq(fg_word_distance("", "abc"), 3);
}

Test(case_word, nearest_is_the_first_of_the_smallest) {
    static const char *const words[] = {"alpha", "beta1", "beta2"};
    cr_assert_str_eq(fg_word_nearest("beta", words, 3), "beta1");
    cr_assert_str_eq(fg_word_nearest("alhpa", words, 3), "alpha");
    cr_assert_null(fg_word_nearest("x", words, 0));
}

Test(case_memory, every_failing_allocation_comes_back) {
    size_t live = fg_alloc_live_total();
    int failed = 0;
    for (int64_t n = 1;; n++) {
        fg_case_list list = {0};
        fg_alloc_fail_at(n);
        fg_status status = fg_case_expand("mlp E=1 H={8|16} F=8 T={1|2}", &list);
        fg_alloc_fail_at(0);
        fg_case_list_free(&list);
        cr_assert_eq(fg_alloc_live_total(), live, "allocation %lld leaks", (long long)n);
        if (status == FG_STATUS_OK) {
            break;
        }
        cr_assert_eq(status, FG_STATUS_NO_MEMORY);
        failed++;
    }
    cr_assert_geq(failed, 5);
}
