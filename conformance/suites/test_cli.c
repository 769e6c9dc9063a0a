#include "conformance/suites/program_run.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One program of a test at a time; it is large. */
static fg_program program;

#define RUN(...) fg_program_run(&program, NULL, (const char *const[]){__VA_ARGS__, NULL})

#define SMALL "mlp E=2 H=32 F=32 splits=3,5"

/* Demands an exit code and a word on stderr or stdout. */
static void gave(int code, const char *word) {
    cr_assert_eq(program.code, code, "exit code %d, expected %d\n%s%s", program.code, code,
                 program.text, program.error);
    cr_assert(strstr(program.error, word) != NULL || strstr(program.text, word) != NULL,
              "'%s' is not in:\n%s%s", word, program.text, program.error);
}

Test(cli, a_right_backend_is_conformant) {
    RUN("run", "--case", SMALL);
    gave(0, "verdict: conformant (exit code 0)");
    cr_assert_not_null(strstr(program.text, "1 of 1 cases finished"));
    cr_assert_not_null(strstr(program.text, "self-test:"));
}

Test(cli, output_to_a_pipe_has_no_escapes) {
    RUN("run", "--case", SMALL);
    cr_assert_null(strchr(program.text, '\033'));
    cr_assert_null(strchr(program.text, '\r'));
}

Test(cli, every_verb_has_help_with_an_example) {
    static const char *const verbs[] = {"run", "list", "explain", "bench", "backends"};
    for (size_t v = 0; v < sizeof verbs / sizeof verbs[0]; v++) {
        char example[64];
        (void)snprintf(example, sizeof example, "  fusegate %s", verbs[v]);
        RUN(verbs[v], "--help");
        gave(0, "Example");
        gave(0, example);
    }
    RUN("--help");
    gave(0, "Usage: fusegate VERB");
}

Test(cli, no_verb_is_a_usage_error) {
    cr_assert_eq(fg_program_run(&program, NULL, (const char *const[]){NULL}), 2);
    gave(2, "Usage");
}

Test(cli, an_unknown_word_suggests_the_nearest) {
    static const struct {
        const char *words[5];
        const char *nearest;
    } rows[] = {
        {{"rnu"}, "'run'"},
        {{"backend"}, "'backends'"},
        {{"run", "--sute", "pr"}, "'--suite'"},
        {{"run", "--repot=x"}, "'--report'"},
        {{"list", "--fliter", "x"}, "'--filter'"},
        {{"run", "--suite", "pt"}, "'pr'"},
        {{"run", "--case", SMALL, "--backend", "hots"}, "'host'"},
        {{"run", "--case", SMALL, "--executor", "fusr"}, "'fuser'"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const char *words[6] = {NULL};
        memcpy(words, rows[r].words, sizeof rows[r].words);
        (void)fg_program_run(&program, NULL, words);
        gave(2, rows[r].nearest);
    }
}

Test(cli, a_flag_that_another_verb_has_is_unknown) {
    RUN("list", "--report", "x");
    gave(2, "unknown flag '--report'");
}

Test(cli, values_of_flags_are_checked) {
    static const char *const rows[][2] = {{"--jobs", "0"},
                                          {"--jobs", "two"},
                                          {"--jobs", "-3"},
                                          {"--timeout", "0"},
                                          {"--timeout", "nan"},
                                          {"--seed", "-1"},
                                          {"--seed", "18446744073709551616"},
                                          {"--seed", "1e3"},
                                          {"--jobs", "99999999999999999999"}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        RUN("run", "--case", SMALL, rows[r][0], rows[r][1]);
        gave(2, rows[r][1]);
    }
    static const char *const empty[] = {"--suite",    "--filter", "--backend",
                                        "--executor", "--report", "--resume"};
    for (size_t e = 0; e < sizeof empty / sizeof empty[0]; e++) {
        RUN("run", empty[e], "");
        gave(2, empty[e]);
        gave(2, "found ''");
        RUN("run", empty[e], "x", empty[e], "y");
        gave(2, "twice, 'x' and 'y'");
    }
    RUN("run", "--case", SMALL, "--case", "mlp E=1");
    gave(2, "twice");
    RUN("run", "--jobs");
    gave(2, "requires an argument");
    RUN("run", "pr");
    gave(2, "'pr'");
    RUN("run", "--suite", "pr", "--case", SMALL);
    gave(2, "expected one of them");
    RUN("explain");
    gave(2, "CASE");
}

Test(cli, what_is_known_but_not_built_says_so) {
    static const char *const rows[][5] = {{"judge"},
                                          {"replay"},
                                          {"merge"},
                                          {"new-backend"},
                                          {"bench"},
                                          {"run", "--shard", "1/2"},
                                          {"run", "--inputs", "x.safetensors"},
                                          {"run", "--waivers", "x"},
                                          {"run", "--suite", "full"},
                                          {"run", "--case", SMALL, "--backend", "exec:python3"},
                                          {"run", "--case", SMALL, "--executor", "exec:x"},
                                          {"run", "--case", SMALL " mode=graph"}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const char *words[6] = {NULL};
        memcpy(words, rows[r], sizeof rows[r]);
        (void)fg_program_run(&program, NULL, words);
        gave(2, "not built yet");
    }
}

Test(cli, a_malformed_case_line_names_column_and_nearest_word) {
    static const struct {
        const char *line, *words[2];
    } rows[] = {
        {"mpl E=2 H=32 F=32 splits=1,1", {"mlp", "1"}},
        {"mlp E=2 H=32 F=32 splits=1,1 bais=1", {"bias", "30"}},
        {"mlp E=2 H=32 F=32 splits=1,1 act=swigul", {"swiglu", "3"}},
        {"mlp E=2 E=3 H=32 F=32 splits=1,1", {"E", "9"}},
        {"mlp E=2 H=32 F=32 splits=1,-1", {"-1", "28"}},
        {"mlp E=2 H=32 F=32 splits=1,1,1", {"splits", "2"}},
        {"mlp E=2 H=32 F=32 splits=5,6 T=10", {"11", "10"}},
        {"mlp E=0 H=32 F=32 splits=1", {"E", "0"}},
        {"mlp E=-2 H=32 F=32 splits=1", {"E", "-2"}},
        {"mlp E=1025 H=32 F=32 splits=even T=4", {"E", "1024"}},
        {"mlp E=2 H=0 F=32 splits=1,1", {"H", "0"}},
        {"mlp E=2 H=-8 F=32 splits=1,1", {"H", "-8"}},
        {"mlp E=2 H=99999999999999999999 F=32 splits=1,1", {"H", "99999999999999999999"}},
        {"mlp E=2 H=32 F=0 splits=1,1", {"F", "0"}},
        {"mlp E=2 H=32 F=4294967296 splits=1,1", {"F", "4294967296"}},
        {"mlp E=2 H=32 splits=1,1", {"F", ""}},
        {"mlp E=2 H=32 F=32 splits=1,1 seed", {"seed", ""}},
        {"", {"mlp", "column 1"}},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        RUN("run", "--case", rows[r].line);
        cr_assert_eq(program.code, 2, "'%s' gave %d", rows[r].line, program.code);
        for (int w = 0; w < 2; w++) {
            cr_assert_not_null(strstr(program.error, rows[r].words[w]), "'%s' is not in: %s",
                               rows[r].words[w], program.error);
        }
    }
}

Test(cli, a_case_file_names_file_and_line) {
    char folder[256], path[300];
    fg_folder_make(folder);
    (void)snprintf(path, sizeof path, "%s/own.case", folder);
    fg_file_write(folder, "own.case", "# two cases\n" SMALL "\n\nmlp E=2 H=x F=32 splits=1,1\n");
    RUN("run", "--suite", path);
    gave(2, "own.case:4");
    fg_file_write(folder, "own.case", "# one case, twice\n" SMALL " seed={1|2}\n");
    RUN("run", "--suite", path);
    gave(0, "2 of 2 cases finished");
    fg_file_write(folder, "own.case", SMALL " seed={1|1}\n" SMALL "  seed=1\n");
    RUN("run", "--suite", path);
    gave(0, "1 of 1 cases finished");
    (void)snprintf(path, sizeof path, "%s/none.case", folder);
    RUN("run", "--suite", path);
    gave(2, "none.case");
    fg_folder_remove(folder);
}

Test(cli, a_plugin_that_does_not_load_is_infrastructure) {
    char folder[256], text[300], lacks[4600];
    fg_folder_make(folder);
    fg_file_write(folder, "text.so", "hello\n");
    (void)snprintf(text, sizeof text, "%s/text.so", folder);
    (void)snprintf(lacks, sizeof lacks, "%s", fg_built("plugins/one_slot_executor.so"));
    RUN("run", "--case", SMALL, "--backend", "./no/such.so");
    gave(3, "No such file");
    RUN("run", "--case", SMALL, "--backend", folder);
    gave(3, "a directory");
    RUN("run", "--case", SMALL, "--backend", text);
    gave(3, "not a loadable library");
    RUN("run", "--case", SMALL, "--backend", lacks);
    gave(3, "no symbol fg_backend_entry");
    RUN("run", "--case", SMALL, "--executor", text);
    gave(3, "expected one that exports fg_executor_entry");
    RUN("run", "--case", SMALL, "--backend", "cuda");
    gave(3, "not built");
    fg_folder_remove(folder);
}

Test(cli, a_report_folder_that_cannot_be_written_is_named) {
    RUN("run", "--case", SMALL, "--report", "/proc/nowhere");
    gave(2, "/proc/nowhere");
    RUN("run", "--case", SMALL, "--report", "/etc/passwd");
    gave(2, "/etc/passwd");
    RUN("run", "--case", SMALL, "--report", "/no/such/folder");
    gave(2, "/no/such/folder");
    cr_assert_str_empty(program.text, "it is noticed before any work: %s", program.text);
    RUN("run", "--resume", "/no/such/folder");
    gave(2, "/no/such/folder holds no run");
}

Test(cli, a_filter_that_matches_nothing_is_vacuous) {
    RUN("run", "--suite", "pr", "--filter", "*E=1048576*");
    gave(4, "nothing was selected");
    RUN("list", "--suite", "pr", "--filter", "*E=1048576*");
    gave(4, "nothing was selected");
}

Test(cli, only_skips_are_vacuous) {
    RUN("run", "--case", SMALL " recipe=current");
    gave(4, "no case was executed");
}

/* The report of a folder; the caller releases it. */
static json_t *report_of(const char *folder) {
    char *text = fg_file_text(folder, "report.json");
    cr_assert_not_null(text, "no report.json in %s", folder);
    json_t *report = json_loads(text, 0, NULL);
    cr_assert_not_null(report, "%s", text);
    free(text);
    return report;
}

static const json_t *case_with(const json_t *report, const char *word) {
    size_t index;
    const json_t *value;
    json_array_foreach(json_object_get(report, "cases"), index, value) {
        if (strstr(json_string_value(json_object_get(value, "line")), word) != NULL) {
            return value;
        }
    }
    cr_assert_fail("no case with %s", word);
    return NULL;
}

static const char *member(const json_t *value, const char *key) {
    return json_string_value(json_object_get(value, key));
}

Test(cli, a_report_says_what_ran_on_what) {
    char folder[256], first[1024];
    fg_folder_make(folder);
    RUN("list");
    (void)snprintf(first, sizeof first, "%.*s", (int)strcspn(program.text, "\n"), program.text);
    RUN("run", "--filter", first, "--report", folder);
    cr_assert_leq(program.code, 1, "%s%s", program.text, program.error);
    json_t *report = report_of(folder);
    cr_assert_str_eq(member(report, "suite"), "pr");
    cr_assert_str_eq(member(report, "backend"), "host");
    cr_assert_str_eq(member(report, "executor"), "fuser");
    cr_assert_eq(strlen(member(json_object_get(report, "binary"), "program")), 32);
    cr_assert_eq(strlen(member(json_object_get(report, "binary"), "backend")), 32);
    cr_assert_str_not_empty(member(json_object_get(report, "host"), "blas_core"));
    cr_assert(json_is_false(json_object_get(report, "partial")));
    cr_assert_eq(json_integer_value(json_object_get(report, "elements")),
                 json_integer_value(json_object_get(report, "elements_owed")));
    cr_assert_gt(json_integer_value(json_object_get(report, "elements")), 0);
    size_t index;
    const json_t *one;
    json_array_foreach(json_object_get(report, "capabilities"), index, one) {
        int quantized = strcmp(member(one, "name"), "recipe=current") == 0 ||
                        strcmp(member(one, "name"), "recipe=delayed") == 0;
        cr_assert_eq(json_is_true(json_object_get(one, "claimed")), !quantized, "%s",
                     member(one, "name"));
    }
    json_decref(report);
    char *junit = fg_file_text(folder, "junit.xml"), *summary = fg_file_text(folder, "summary.md");
    cr_assert_not_null(strstr(junit, "<testcase"));
    cr_assert_not_null(strstr(summary, "# Fusegate"));
    free(junit);
    free(summary);
    fg_folder_remove(folder);
}

/* One run with every misdeed beside cases that are right. */
Test(cli, a_backend_that_misbehaves_gets_that_verdict_and_the_run_goes_on) {
    static const struct {
        const char *line, *state, *fault, *words;
    } rows[] = {
        {"E=2 ", "pass", "", ""},
        {"E=3 ", "fail", "crash", "signal 11"},
        {"E=4 ", "pass", "", ""},
        {"E=5 ", "fail", "crash", "exit code 7"},
        {"E=6 ", "fail", "contract", "standard output"},
        {"E=7 ", "fail", "timeout", "within 1 s"},
        {"E=9 ", "fail", "contract", "flush-to-zero"},
        {"E=10 ", "fail", "crash", "tile 3 lost its way"},
        {"E=11 ", "fail", "crash", "again in a fresh worker"},
        {"E=12 ", "pass", "", ""},
        {"E=13 ", "fail", "contract", "status 15"},
        {"E=14 ", "fail", "contract", "after supports said yes"},
        {"E=15 ", "not-supported", "", "fifteen experts"},
        {"E=16 ", "pass", "", ""},
        {"E=17 ", "fail", "crash", "signal 11"},
        {"E=18 ", "fail", "crash", "supports"},
        {"E=19 ", "pass", "", ""},
        {"E=21 ", "fail", "crash", "kernel_destroy"},
        {"E=22 ", "fail", "contract", "standard output"},
        {"E=23 ", "fail", "timeout", "kernel_destroy"},
        {"E=24 ", "fail", "contract", "line without id"},
        {"E=25 ", "fail", "contract", "saved 1125899906842624"},
        {"E=26 ", "not-supported", "", "caf\\xe9"},
        {"E=27 ", "pass", "", ""},
    };
    char folder[256], suite[300], mark[400], path[4600];
    fg_folder_make(folder);
    (void)snprintf(suite, sizeof suite, "%s/all.case", folder);
    (void)snprintf(mark, sizeof mark, "FUSEGATE_TEST_MARK=%s/mark", folder);
    (void)snprintf(path, sizeof path, "%s", fg_built("plugins/misbehaving.so"));
    fg_file_write(folder, "all.case",
                  "mlp E={2|3|4|5|6|7|9|10|11|12|13|14|15|16|17|18|19|21|22|23|24|25|26|27} H=32 "
                  "F=32 splits=even"
                  " T=38\n");
    (void)fg_program_run(&program, mark,
                         (const char *const[]){"run", "--suite", suite, "--backend", path,
                                               "--timeout", "1", "--report", folder, NULL});
    gave(1, "16 failed");
    json_t *report = report_of(folder);
    cr_assert_eq(json_array_size(json_object_get(report, "cases")), sizeof rows / sizeof rows[0]);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const json_t *value = case_with(report, rows[r].line);
        cr_assert_str_eq(member(value, "state"), rows[r].state, "%s", rows[r].line);
        cr_assert_str_eq(member(value, "fault"), rows[r].fault, "%s", rows[r].line);
        cr_assert_not_null(strstr(member(value, "reason"), rows[r].words), "%s: %s", rows[r].line,
                           member(value, "reason"));
    }
    json_decref(report);
    fg_folder_remove(folder);
}

Test(cli, a_failure_prints_the_command_that_repeats_it) {
    char path[4600], repro[5000];
    (void)snprintf(path, sizeof path, "%s", fg_built("plugins/misbehaving.so"));
    RUN("run", "--case", "mlp E=3 H=32 F=32 splits=1,2,3", "--backend", path);
    (void)snprintf(repro, sizeof repro,
                   "fusegate run --backend %s --case 'mlp E=3 H=32 F=32 splits=1,2,3'", path);
    gave(1, repro);
}

Test(cli, number_of_jobs_changes_no_verdict) {
    char one[256], three[256];
    fg_folder_make(one);
    fg_folder_make(three);
    RUN("run", "--case", "mlp E={2|4} H=32 F={32|64} splits=even T={6|9} data={exact|normal}",
        "--jobs", "1", "--report", one);
    cr_assert_leq(program.code, 1);
    RUN("run", "--case", "mlp E={2|4} H=32 F={32|64} splits=even T={6|9} data={exact|normal}",
        "--jobs", "3", "--report", three);
    json_t *a = report_of(one), *b = report_of(three);
    cr_assert(json_equal(json_object_get(a, "counts"), json_object_get(b, "counts")));
    for (size_t i = 0; i < 16; i++) {
        const json_t *left = json_array_get(json_object_get(a, "cases"), i);
        const json_t *right = json_array_get(json_object_get(b, "cases"), i);
        cr_assert_str_eq(member(left, "line"), member(right, "line"));
        cr_assert(json_equal(json_object_get(left, "checks"), json_object_get(right, "checks")),
                  "%s", member(left, "line"));
    }
    json_decref(a);
    json_decref(b);
    fg_folder_remove(one);
    fg_folder_remove(three);
}

Test(cli, a_seed_replaces_that_of_every_case) {
    RUN("list", "--case", "mlp E=2 H=32 F=32 splits=1,2 seed={1|2|3}", "--seed", "77");
    cr_assert_eq(program.code, 0);
    int count = 0;
    for (const char *at = program.text; (at = strstr(at, "seed=77\n")) != NULL; at++) {
        count++;
    }
    cr_assert_eq(count, 3, "%s", program.text);
}

Test(cli, a_seed_has_the_range_of_a_case_lines) {
    char folder[256];
    fg_folder_make(folder);
    RUN("run", "--case", SMALL, "--seed", "18446744073709551615", "--report", folder);
    cr_assert_eq(program.code, 0, "%s%s", program.text, program.error);
    json_t *report = report_of(folder);
    cr_assert_str_eq(member(report, "seed"), "18446744073709551615");
    (void)case_with(report, "seed=18446744073709551615");
    json_decref(report);
    RUN("run", "--resume", folder, "--seed", "18446744073709551615");
    gave(0, "conformant");
    RUN("run", "--resume", folder, "--seed", "18446744073709551614");
    gave(2, "another --seed");
    fg_folder_remove(folder);
}

/* The whole process may fail where no case is in hand. */
Test(cli, a_backend_that_fails_as_its_process_ends_fails_the_run) {
    static const char *const rows[][2] = {
        {"FUSEGATE_TEST_EXIT=crash", "a worker ended with signal 11"},
        {"FUSEGATE_TEST_EXIT=hang", "a worker did not end within 2 s"},
        {"FUSEGATE_TEST_EXIT=print", "a worker wrote 26 bytes to standard output"}};
    char folder[256], path[4600];
    fg_folder_make(folder);
    (void)snprintf(path, sizeof path, "%s", fg_built("plugins/misbehaving.so"));
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        (void)fg_program_run(&program, rows[r][0],
                             (const char *const[]){"run", "--case", SMALL, "--backend", path,
                                                   "--timeout", "1", "--report", folder, NULL});
        gave(1, rows[r][1]);
        json_t *report = report_of(folder);
        cr_assert_eq(json_integer_value(json_object_get(report, "exit_code")), 1);
        cr_assert_not_null(strstr(member(report, "worker"), rows[r][1] + strlen("a worker ")), "%s",
                           member(report, "worker"));
        json_decref(report);
        RUN("run", "--resume", folder);
        gave(1, rows[r][1]);
    }
    fg_folder_remove(folder);
}

/* A filter sees defaults, and a key's name whole: pdt=f32 is the default of every case. */
Test(cli, a_filter_is_held_against_defaults_too) {
    static const struct {
        const char *filter;
        int bf16, f32;
    } filters[] = {{"*dt=bf16*", 1, 0},           {"*dt=f32*", 0, 1},   {"*pdt=f32*", 1, 1},
                   {"*act=swiglu*E=3*", 1, 1},    {"*E=3*", 1, 1},      {"*E=4*", 0, 0},
                   {"mlp dt=bf16 *seed=0", 1, 0}, {"*scale=own*", 0, 0}};
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        RUN("list", "--case", "mlp dt={bf16|f32} E=3 H=16 F=16 T=8", "--filter", filters[i].filter);
        cr_assert_eq(strstr(program.text, "mlp E=3") != NULL, filters[i].bf16, "%s:\n%s",
                     filters[i].filter, program.text);
        cr_assert_eq(strstr(program.text, "mlp dt=f32") != NULL, filters[i].f32, "%s:\n%s",
                     filters[i].filter, program.text);
    }
}

Test(cli, list_prints_a_case_file_with_counts) {
    char folder[256], path[300], first[65536];
    fg_folder_make(folder);
    RUN("list", "--suite", "pr", "--filter", "*dt=f32*data=normal*");
    gave(0, "dt=f32");
    (void)snprintf(first, sizeof first, "%s", program.text);
    fg_file_write(folder, "again.case", first);
    (void)snprintf(path, sizeof path, "%s/again.case", folder);
    RUN("list", "--suite", path);
    cr_assert_eq(program.code, 0, "%s", program.error);
    cr_assert_str_eq(program.text, first);
    fg_folder_remove(folder);
}

Test(cli, explain_prints_the_bound_of_a_case) {
    RUN("explain", "mlp E=2 H=32 F=32 splits=3,5 data=normal");
    gave(0, "dw1");
    RUN("explain", "mlp E=2 H=32 F=32 splts=3,5");
    gave(2, "splits");
    RUN("explain", "mlp E=2 H=32 F=32 splits=3,5", "--backend", "hots");
    gave(2, "'host'");
}

Test(cli, backends_says_what_is_here_and_why_not) {
    RUN("backends");
    gave(0, "not available: cuda: its entry refused: cuda is not built");
    static const char *const here[] = {"host ", "reference ", "recorder ", "rounds hidden"};
    for (size_t h = 0; h < sizeof here / sizeof here[0]; h++) {
        gave(0, here[h]);
    }
}

Test(cli, bench_measures_the_fuser_beside_its_baselines) {
    RUN("bench", "--fuser");
    gave(0, "one-slot");
    gave(0, "rebuild");
}
