#include "conformance/process/protocol.h"
#include "conformance/report/report.h"
#include "conformance/report/report_json.h"
#include "conformance/report/report_junit.h"
#include "conformance/report/report_markdown.h"
#include "conformance/report/report_terminal.h"
#include "conformance/suites/program_run.h"
#include "contract/alloc.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A run of a few cases, finished with given states. */
typedef struct fixture {
    fg_run_facts facts;
    fg_case_list cases;
    fg_records records;
    fg_report report;
} fixture;

static const char *const lines[] = {
    "mlp E=2 H=32 F=32 splits=1,2",
    "mlp dt=f32 act=srelu E=2 H=32 F=32 splits=1,2",
    "mlp E=2 H=32 F=32 splits=1,2 layout=gate32 bias=1 mode=nograd",
};
enum { LINES = sizeof lines / sizeof lines[0] };

/* Finishes the first cases with these states. */
static void fixture_make(fixture *out, const fg_state *states, int64_t count) {
    memset(out, 0, sizeof *out);
    strcpy(out->facts.suite, "pr");
    strcpy(out->facts.backend, "host");
    strcpy(out->facts.executor, "fuser");
    for (int64_t i = 0; i < LINES; i++) {
        cr_assert_eq(fg_case_expand(lines[i], &out->cases), FG_STATUS_OK, "%s", fg_message());
    }
    for (int64_t i = 0; i < count; i++) {
        fg_result result = {.state = states[i],
                            .declared = 1,
                            .elements_compared = 5,
                            .elements_owed = 6,
                            .seconds = 1,
                            .seconds_reference = 0.25,
                            .seconds_backend = 0.5,
                            .plans_built = 2};
        if (states[i] == FG_STATE_FAIL) {
            result.fault = FG_FAULT_NUMERIC;
            strcpy(result.reason, "bound: <y> & \"dx\"");
        }
        cr_assert_eq(fg_records_add(&out->records, i, lines[i], &result), FG_STATUS_OK);
    }
    out->report = (fg_report){.facts = &out->facts, .cases = &out->cases, .records = &out->records};
}

static void fixture_free(fixture *made) {
    fg_case_list_free(&made->cases);
    fg_records_free(&made->records);
}

static int exit_code(const fixture *made) {
    char why[640];
    fg_tally tally;
    fg_report_tally(&made->report, &tally);
    return fg_report_exit_code(&made->report, &tally, why, sizeof why);
}

Test(report, exit_code_follows_from_the_states) {
    static const struct {
        fg_state states[LINES];
        int64_t count;
        int code;
    } rows[] = {
        {{FG_STATE_PASS, FG_STATE_PASS, FG_STATE_PASS}, 3, 0},
        {{FG_STATE_PASS, FG_STATE_NOT_SUPPORTED, FG_STATE_PASS}, 3, 0},
        {{FG_STATE_PASS, FG_STATE_FAIL, FG_STATE_PASS}, 3, 1},
        {{FG_STATE_RESOURCE, FG_STATE_FAIL, FG_STATE_MISTRUSTED}, 3, 1},
        {{FG_STATE_RESOURCE, FG_STATE_PASS, FG_STATE_MISTRUSTED}, 3, 3},
        {{FG_STATE_PASS, FG_STATE_PASS, FG_STATE_MISTRUSTED}, 3, 4},
        {{FG_STATE_NOT_SUPPORTED, FG_STATE_NOT_SUPPORTED, FG_STATE_NOT_SUPPORTED}, 3, 4},
        {{FG_STATE_PASS, FG_STATE_PASS}, 2, 3},
        {{FG_STATE_FAIL, FG_STATE_PASS}, 2, 3},
        {{FG_STATE_PASS}, 0, 3},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        fixture made;
        fixture_make(&made, rows[r].states, rows[r].count);
        cr_assert_eq(exit_code(&made), rows[r].code, "row %zu gave %d", r, exit_code(&made));
        fixture_free(&made);
    }
}

Test(report, an_undeclared_refusal_is_a_failure) {
    fixture made;
    fixture_make(&made, (fg_state[]){FG_STATE_PASS, FG_STATE_NOT_SUPPORTED, FG_STATE_PASS}, 3);
    made.records.items[1].result.declared = 0;
    cr_assert_eq(exit_code(&made), 1);
    fixture_free(&made);
}

Test(report, nothing_selected_is_vacuous) {
    fixture made;
    fixture_make(&made, NULL, 0);
    made.cases.count = 0;
    cr_assert_eq(exit_code(&made), 4);
    made.cases.count = LINES;
    fixture_free(&made);
}

Test(report, an_interrupted_run_is_infrastructure_whatever_it_found) {
    fixture made;
    fixture_make(&made, (fg_state[]){FG_STATE_PASS, FG_STATE_FAIL, FG_STATE_PASS}, 3);
    made.report.interrupted = 1;
    cr_assert_eq(exit_code(&made), 3);
    made.report.interrupted = 0;
    strcpy(made.report.trouble, "no worker");
    cr_assert_eq(exit_code(&made), 3);
    fixture_free(&made);
}

static int32_t capability(const char *name) {
    for (int32_t c = 0; c < fg_capabilities(); c++) {
        if (strcmp(fg_capability_name(c), name) == 0) {
            return c;
        }
    }
    cr_assert_fail("no capability %s", name);
    return -1;
}

Test(report, a_claim_that_no_case_executed_is_vacuous_in_a_whole_suite) {
    fixture made;
    fixture_make(&made, (fg_state[]){FG_STATE_PASS, FG_STATE_PASS, FG_STATE_PASS}, 3);
    made.report.whole_suite = 1;
    made.report.claimed[capability("dt=f32")] = 1;
    cr_assert_eq(exit_code(&made), 0);
    made.report.claimed[capability("dt=f16")] = 1;
    cr_assert_eq(exit_code(&made), 4);
    made.report.whole_suite = 0;
    cr_assert_eq(exit_code(&made), 0, "a part of a suite owes nothing");
    fixture_free(&made);
}

Test(report, a_claim_is_not_executed_by_a_case_that_was_skipped) {
    fixture made;
    fixture_make(&made, (fg_state[]){FG_STATE_PASS, FG_STATE_NOT_SUPPORTED, FG_STATE_PASS}, 3);
    made.report.whole_suite = 1;
    made.report.claimed[capability("dt=f32")] = 1;
    cr_assert_eq(exit_code(&made), 4);
    fixture_free(&made);
}

Test(report, cases_count_for_the_capabilities_they_exercise) {
    fixture made;
    fg_tally tally;
    fixture_make(&made, (fg_state[]){FG_STATE_PASS, FG_STATE_FAIL, FG_STATE_PASS}, 3);
    fg_report_tally(&made.report, &tally);
    static const struct {
        const char *name;
        int64_t pass, fail;
    } rows[] = {{"dt=bf16", 2, 0},       {"dt=f32", 0, 1},      {"act=srelu", 0, 1},
                {"layout=gate32", 1, 0}, {"mode=nograd", 1, 0}, {"mode=grad", 1, 1},
                {"want=y", 2, 1},        {"want=dx", 1, 1},     {"recipe=none", 2, 1},
                {"recipe=current", 0, 0}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const int64_t *states = tally.capability[capability(rows[r].name)];
        cr_assert_eq(states[FG_STATE_PASS], rows[r].pass, "%s", rows[r].name);
        cr_assert_eq(states[FG_STATE_FAIL], rows[r].fail, "%s", rows[r].name);
    }
    cr_assert_eq(tally.elements_compared, 15);
    cr_assert_eq(tally.plans_built, 6);
    fixture_free(&made);
}

Test(report, every_capability_asks_a_problem_that_is_right_and_has_it) {
    for (int32_t c = 0; c < fg_capabilities(); c++) {
        fg_case value = {.kind = FG_CASE_MLP, .want = 0xff};
        fg_capability_ask(c, &value.problem, &value.recipe);
        cr_assert_eq(fg_problem_check(&value.problem), FG_STATUS_OK, "%s: %s",
                     fg_capability_name(c), fg_message());
        cr_assert_eq(fg_recipe_check(&value.recipe), FG_STATUS_OK, "%s", fg_capability_name(c));
        if (strncmp(fg_capability_name(c), "mode=", 5) != 0) {
            cr_assert(fg_capability_in(c, &value), "%s", fg_capability_name(c));
        }
    }
}

/* What a writer writes, to be freed. */
static char *written(fg_status (*write)(const fg_report *, FILE *), const fg_report *report) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert_eq(write(report, out), FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(fclose(out), 0);
    return text;
}

Test(report, json_has_what_the_product_lists) {
    static const char *const members[] = {
        "schema", "partial", "exit_code", "backend",          "seed",       "host", "binary",
        "counts", "seconds", "elements",  "elements_touched", "plan_cache", "cases"};
    fixture made;
    fixture_make(&made, (fg_state[]){FG_STATE_PASS, FG_STATE_FAIL, FG_STATE_PASS}, 3);
    char *text = written(fg_report_json, &made.report);
    json_t *value = json_loads(text, 0, NULL);
    cr_assert_not_null(value);
    for (size_t m = 0; m < sizeof members / sizeof members[0]; m++) {
        cr_assert_not_null(json_object_get(value, members[m]), "%s", members[m]);
    }
    cr_assert_eq(json_integer_value(json_object_get(value, "exit_code")), 1);
    cr_assert(json_is_false(json_object_get(value, "partial")));
    json_t *counts = json_object_get(value, "counts");
    cr_assert_eq(json_integer_value(json_object_get(counts, "pass")), 2);
    cr_assert_eq(json_integer_value(json_object_get(counts, "fail")), 1);
    json_t *seconds = json_object_get(value, "seconds");
    cr_assert_float_eq(json_real_value(json_object_get(seconds, "harness")), 0.75, 1e-9);
    json_t *one = json_array_get(json_object_get(value, "cases"), 1);
    cr_assert_str_eq(json_string_value(json_object_get(one, "line")), lines[1]);
    cr_assert_str_eq(json_string_value(json_object_get(one, "state")), "fail");
    json_decref(value);
    free(text);
    fixture_free(&made);
}

Test(report, an_unfinished_run_is_partial_with_exit_code_3) {
    fixture made;
    fixture_make(&made, (fg_state[]){FG_STATE_PASS}, 1);
    char *text = written(fg_report_json, &made.report);
    json_t *value = json_loads(text, 0, NULL);
    cr_assert(json_is_true(json_object_get(value, "partial")));
    cr_assert_eq(json_integer_value(json_object_get(value, "exit_code")), 3);
    cr_assert_eq(json_array_size(json_object_get(value, "cases")), 1);
    json_decref(value);
    free(text);
    fixture_free(&made);
}

static char *xml_of(const char *text) {
    char *out_text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&out_text, &size);
    fg_xml_text(text, out);
    cr_assert_eq(fclose(out), 0);
    return out_text;
}

Test(report, xml_text_holds_no_markup_and_no_forbidden_bytes) {
    static const char *const rows[][2] = {
        {"a<b>&\"c\"", "a&lt;b&gt;&amp;&quot;c&quot;"},
        {"tab\there", "tab\there"},
        {"bell\a esc\033[31m", "bell? esc?[31m"},
        {"line\nend", "line&#10;end"},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"bad \xff\xfe \xc3", "bad ?? ?"},
        {"overlong \xc0\xaf", "overlong ??"},
        {"surrogate \xed\xa0\x80", "surrogate ???"},
        {"\xef\xbf\xbf", "???"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        char *text = xml_of(rows[r][0]);
        cr_assert_str_eq(text, rows[r][1]);
        free(text);
    }
}

static int occurrences(const char *text, const char *word) {
    int count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
        count++;
    }
    return count;
}

Test(report, junit_has_one_testcase_each_and_the_reason_of_a_failure) {
    fixture made;
    fixture_make(&made, (fg_state[]){FG_STATE_PASS, FG_STATE_FAIL, FG_STATE_NOT_SUPPORTED}, 3);
    char *text = written(fg_report_junit, &made.report);
    cr_assert_eq(occurrences(text, "<testcase"), 3);
    cr_assert_not_null(strstr(text, "tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""));
    cr_assert_not_null(strstr(text, "<failure type=\"numeric\" message=\"bound: &lt;y&gt; &amp; "
                                    "&quot;dx&quot;\">fusegate run --backend host --case"));
    cr_assert_eq(occurrences(text, "<skipped"), 1);
    cr_assert_eq(occurrences(text, "</testcase>"), 2);
    free(text);
    fixture_free(&made);
}

Test(report, junit_calls_mistrust_and_lost_resources_errors) {
    fixture made;
    fixture_make(&made, (fg_state[]){FG_STATE_MISTRUSTED, FG_STATE_RESOURCE, FG_STATE_PASS}, 3);
    char *text = written(fg_report_junit, &made.report);
    cr_assert_eq(occurrences(text, "<error "), 2);
    cr_assert_not_null(strstr(text, "errors=\"2\""));
    free(text);
    fixture_free(&made);
}

Test(report, markdown_shows_verdict_counts_and_what_failed) {
    fixture made;
    fixture_make(&made, (fg_state[]){FG_STATE_PASS, FG_STATE_FAIL, FG_STATE_PASS}, 3);
    strcpy(made.records.items[1].result.reason, "a|b\nc");
    char *text = written(fg_report_markdown, &made.report);
    cr_assert_not_null(strstr(text, "exit code 1"));
    cr_assert_not_null(strstr(text, "2 pass, 1 fail"));
    cr_assert_not_null(strstr(text, "| fail numeric | a\\|b c | `fusegate run"));
    cr_assert_not_null(strstr(text, lines[1]));
    free(text);
    fixture_free(&made);
}

Test(report, markdown_has_a_row_of_counts_for_each_capability) {
    static const char *const rows[] = {"\n| `dt=bf16` | no | 2 | 0 | 0 | 0 | 0 |\n",
                                       "\n| `dt=f32` | yes | 0 | 1 | 0 | 0 | 0 |\n",
                                       "\n| `want=y` | no | 2 | 1 | 0 | 0 | 0 |\n",
                                       "\n| `recipe=current` | no | 0 | 0 | 0 | 0 | 0 |\n"};
    fixture made;
    fixture_make(&made, (fg_state[]){FG_STATE_PASS, FG_STATE_FAIL, FG_STATE_PASS}, 3);
    made.report.claimed[capability("dt=f32")] = 1;
    char *text = written(fg_report_markdown, &made.report);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        cr_assert_not_null(strstr(text, rows[r]), "%s is not in:\n%s", rows[r], text);
    }
    int32_t count = 0;
    for (const char *at = strstr(text, "\n| `"); at != NULL; at = strstr(at + 1, "\n| `")) {
        count++;
    }
    cr_assert_eq(count, fg_capabilities());
    free(text);
    fixture_free(&made);
}

static char *terminal_of(const fg_report *report, int color) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fg_report_terminal(report, out, color);
    fg_report_case(report, &report->records->items[1], out, color);
    cr_assert_eq(fclose(out), 0);
    return text;
}

Test(report, terminal_says_what_was_compared_and_the_verdict) {
    fixture made;
    fixture_make(&made, (fg_state[]){FG_STATE_PASS, FG_STATE_FAIL, FG_STATE_PASS}, 3);
    char *plain = terminal_of(&made.report, 0), *colored = terminal_of(&made.report, 1);
    cr_assert_not_null(strstr(plain, "elements compared 15 of 18 owed"));
    cr_assert_not_null(strstr(plain, "(exit code 1)"));
    cr_assert_not_null(strstr(plain, "fail (numeric): bound"));
    cr_assert_null(strchr(plain, '\033'));
    cr_assert_not_null(strchr(colored, '\033'));
    free(plain);
    free(colored);
    fixture_free(&made);
}

/* The numbers of the terminal's row that begins with a name; returns what it has as claimed. */
static const char *row_of(const char *text, const char *name, int64_t states[FG_STATES]) {
    static char claimed[9];
    char start[32];
    (void)snprintf(start, sizeof start, "\n%-16s ", name);
    const char *row = strstr(text, start);
    cr_assert_not_null(row, "no row of %s in:\n%s", name, text);
    row += strlen(start);
    (void)snprintf(claimed, sizeof claimed, "%.8s", row);
    char *at = (char *)(size_t)row + 8;
    for (int s = 0; s < FG_STATES; s++) {
        const char *before = at;
        states[s] = strtoll(before, &at, 10);
        cr_assert_neq(at, before, "%s has %d numbers", name, s);
    }
    cr_assert_eq(*at, '\n', "%s goes on: %s", name, at);
    return claimed + strspn(claimed, " ");
}

Test(report, terminal_has_a_row_of_counts_for_each_capability) {
    fixture made;
    fg_tally tally;
    int64_t states[FG_STATES];
    fixture_make(&made, (fg_state[]){FG_STATE_PASS, FG_STATE_FAIL, FG_STATE_PASS}, 3);
    made.report.claimed[capability("dt=f16")] = 1;
    made.report.claimed[capability("dt=f32")] = 0;
    fg_report_tally(&made.report, &tally);
    char *text = terminal_of(&made.report, 0);
    for (int32_t c = 0; c < fg_capabilities(); c++) {
        const char *name = fg_capability_name(c);
        cr_assert_str_eq(row_of(text, name, states), made.report.claimed[c] ? "yes" : "no", "%s",
                         name);
        cr_assert_arr_eq(states, tally.capability[c], sizeof states, "%s", name);
    }
    cr_assert_str_empty(row_of(text, "all cases", states));
    cr_assert_eq(states[FG_STATE_PASS], 2);
    cr_assert_eq(states[FG_STATE_FAIL], 1);
    free(text);
    fixture_free(&made);
}

Test(report, repro_command_names_backend_and_executor_where_it_matters) {
    char text[512];
    fixture made;
    fixture_make(&made, NULL, 0);
    (void)fg_report_repro(&made.report, "mlp E=1", text, sizeof text);
    cr_assert_str_eq(text, "fusegate run --backend host --case 'mlp E=1'");
    (void)fg_report_repro(&made.report, "plan E=1", text, sizeof text);
    cr_assert_str_eq(text, "fusegate run --backend host --executor fuser --case 'plan E=1'");
    fixture_free(&made);
}

Test(report, files_appear_whole_or_not_at_all) {
    static const char *const names[] = {"report.json", "junit.xml", "summary.md"};
    char folder[256];
    fixture made;
    fixture_make(&made, (fg_state[]){FG_STATE_PASS, FG_STATE_FAIL, FG_STATE_PASS}, 3);
    fg_folder_make(folder);
    cr_assert_eq(fg_report_write(&made.report, folder), FG_STATUS_OK, "%s", fg_message());
    for (size_t n = 0; n < 3; n++) {
        char *text = fg_file_text(folder, names[n]);
        cr_assert(text != NULL && strlen(text) > 100, "%s", names[n]);
        free(text);
    }
    fg_folder_remove(folder);
    cr_assert_eq(fg_report_write(&made.report, folder), FG_STATUS_IO);
    cr_assert_not_null(strstr(fg_message(), folder));
    fixture_free(&made);
}

Test(report, any_allocation_of_the_json_may_fail) {
    fixture made;
    FILE *out = fopen("/dev/null", "we");
    fg_protocol_use_allocator();
    fixture_make(&made, (fg_state[]){FG_STATE_PASS, FG_STATE_FAIL, FG_STATE_PASS}, 3);
    int64_t before = fg_alloc_calls();
    cr_assert_eq(fg_report_json(&made.report, out), FG_STATUS_OK);
    int64_t calls = fg_alloc_calls() - before;
    size_t live = fg_alloc_live_total();
    int64_t failed = 0;
    for (int64_t n = 1; n <= calls; n++) {
        fg_alloc_fail_at(n);
        fg_status status = fg_report_json(&made.report, out);
        /* Text that could not be copied once is copied again as plain text. */
        cr_assert(status == FG_STATUS_NO_MEMORY || status == FG_STATUS_IO || status == FG_STATUS_OK,
                  "allocation %lld: %s", (long long)n, fg_message());
        failed += status != FG_STATUS_OK;
        cr_assert_eq(fg_alloc_live_total(), live, "allocation %lld leaks", (long long)n);
    }
    fg_alloc_fail_at(0);
    cr_assert_gt(failed, calls / 2);
    (void)fclose(out);
    fixture_free(&made);
}

Test(report, a_worker_that_did_not_end_in_order_is_a_failure_everywhere) {
    fixture made;
    fixture_make(&made, (fg_state[]){FG_STATE_PASS, FG_STATE_PASS, FG_STATE_PASS}, 3);
    cr_assert_eq(exit_code(&made), 0);
    fg_records_ending(&made.records, "ended with <signal 11>");
    fg_records_ending(&made.records, "ended late");
    cr_assert_eq(exit_code(&made), 1);
    char *json = written(fg_report_json, &made.report);
    cr_assert_not_null(strstr(json, "\"worker\": \"ended with <signal 11>\""), "%s", json);
    char *junit = written(fg_report_junit, &made.report);
    cr_assert_not_null(strstr(junit, "tests=\"4\" failures=\"1\""), "%s", junit);
    cr_assert_not_null(strstr(junit, "message=\"ended with &lt;signal 11&gt;\""), "%s", junit);
    cr_assert_eq(occurrences(junit, "<testcase"), 4);
    char *markdown = written(fg_report_markdown, &made.report);
    cr_assert_not_null(strstr(markdown, "did not end in order: 2; the first ended with"), "%s",
                       markdown);
    free(json);
    free(junit);
    free(markdown);
    fixture_free(&made);
}

Test(report, a_reason_cannot_steer_a_terminal) {
    fixture made;
    char text[512] = "";
    fixture_make(&made, (fg_state[]){FG_STATE_FAIL}, 1);
    strcpy(made.records.items[0].result.reason, "a\x1b[2Jb\ac");
    FILE *out = fmemopen(text, sizeof text, "w");
    fg_report_case(&made.report, &made.records.items[0], out, 0);
    (void)fclose(out);
    cr_assert_not_null(strstr(text, "a\\x1b[2Jb\\x07c\n"), "%s", text);
    char *markdown = written(fg_report_markdown, &made.report);
    cr_assert_not_null(strstr(markdown, "a [2Jb c"), "%s", markdown);
    free(markdown);
    fixture_free(&made);
}
