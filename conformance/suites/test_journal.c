#include "conformance/process/protocol.h"
#include "conformance/report/journal.h"
#include "conformance/suites/program_run.h"
#include "contract/alloc.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static fg_run_facts facts_make(void) {
    fg_run_facts facts = {.seed_given = 1, .seed = 41, .timeout = 2.5, .cases = 3};
    strcpy(facts.suite, "pr");
    strcpy(facts.filter, "*E=8*");
    strcpy(facts.backend, "./a \"quoted\".so");
    strcpy(facts.executor, "fuser");
    strcpy(facts.selection_hash, "00ff");
    strcpy(facts.program_hash, "11ff");
    strcpy(facts.worker_hash, "22ff");
    strcpy(facts.backend_hash, "33ff");
    strcpy(facts.executor_hash, "44ff");
    return facts;
}

static fg_result result_make(int64_t n) {
    fg_result result = {.state = FG_STATE_FAIL,
                        .fault = FG_FAULT_NUMERIC,
                        .declared = 1,
                        .elements_compared = 10 + n,
                        .elements_owed = 20 + n,
                        .elements_touched = 30 + n,
                        .seconds = 0.5,
                        .seconds_reference = 0.25,
                        .seconds_backend = 0.125,
                        .plans_built = 2,
                        .plan_hits = 3,
                        .state_resets = 4};
    strcpy(result.reason, "y: got NaN\n\"expected\" 1");
    result.check_count = 2;
    result.checks[0] = (fg_check){"bound", FG_CHECK_FAIL, INFINITY, "dw1[3]"};
    result.checks[1] = (fg_check){"bias", FG_CHECK_NOT_RUN, 0, ""};
    return result;
}

/* A journal of `count` cases in a fresh folder. */
static void journal_make(char folder[256], int64_t count) {
    fg_run_facts facts = facts_make();
    fg_journal *journal = NULL;
    fg_folder_make(folder);
    cr_assert_eq(fg_journal_create(folder, &facts, &journal), FG_STATUS_OK, "%s", fg_message());
    for (int64_t i = 0; i < count; i++) {
        char line[] = "mlp E=2 H=32 F=32 splits=1,2";
        fg_record record = {.index = 2 - i, .line = line, .result = result_make(i)};
        cr_assert_eq(fg_journal_append(journal, &record), FG_STATUS_OK);
    }
    fg_journal_close(journal);
}

/* Appends bytes to a folder's journal. */
static void journal_add(const char *folder, const char *text) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/journal.jsonl", folder);
    int fd = open(path, O_WRONLY | O_APPEND);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
}

static fg_status resume(const char *folder, fg_run_facts *facts, fg_records *records) {
    fg_journal *journal = NULL;
    fg_status status = fg_journal_resume(folder, facts, records, &journal);
    fg_journal_close(journal);
    return status;
}

Test(journal, facts_and_cases_come_back) {
    char folder[256];
    fg_run_facts facts, expected = facts_make();
    fg_records records;
    journal_make(folder, 2);
    memset(&facts, 0xff, sizeof facts);
    cr_assert_eq(resume(folder, &facts, &records), FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(memcmp(&facts, &expected, sizeof facts), 0);
    cr_assert_eq(records.count, 2);
    for (int64_t i = 0; i < 2; i++) {
        fg_result result = result_make(i);
        cr_assert_eq(records.items[i].index, 2 - i);
        cr_assert_str_eq(records.items[i].line, "mlp E=2 H=32 F=32 splits=1,2");
        cr_assert_eq(memcmp(&records.items[i].result, &result, sizeof result), 0);
    }
    fg_records_sort(&records);
    cr_assert_eq(records.items[0].index, 1);
    fg_records_free(&records);
    fg_folder_remove(folder);
}

Test(journal, a_line_cut_off_by_a_kill_is_dropped_for_good) {
    char folder[256];
    fg_run_facts facts;
    fg_records records;
    journal_make(folder, 1);
    journal_add(folder, "{\"index\":0,\"line\":\"mlp E");
    cr_assert_eq(resume(folder, &facts, &records), FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(records.count, 1);
    fg_records_free(&records);
    fg_journal *journal = NULL;
    char line[] = "mlp";
    fg_record record = {.index = 0, .line = line, .result = result_make(0)};
    cr_assert_eq(fg_journal_resume(folder, &facts, &records, &journal), FG_STATUS_OK);
    cr_assert_eq(fg_journal_append(journal, &record), FG_STATUS_OK);
    fg_journal_close(journal);
    fg_records_free(&records);
    cr_assert_eq(resume(folder, &facts, &records), FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(records.count, 2);
    fg_records_free(&records);
    fg_folder_remove(folder);
}

Test(journal, a_line_that_is_none_of_ours_is_named_by_number) {
    static const char *const wrong[] = {
        "hello\n", "{}\n", "{\"index\":0,\"line\":\"x\",\"state\":\"fine\",\"fault\":\"\"}\n",
        "{\"index\":0,\"line\":\"x\",\"state\":\"pass\",\"fault\":\"odd\"}\n"};
    for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; w++) {
        char folder[256];
        fg_run_facts facts;
        fg_records records;
        journal_make(folder, 1);
        journal_add(folder, wrong[w]);
        cr_assert_neq(resume(folder, &facts, &records), FG_STATUS_OK, "%s", wrong[w]);
        cr_assert_not_null(strstr(fg_message(), "journal.jsonl:3"), "%s", fg_message());
        cr_assert_eq(records.count, 0);
        fg_folder_remove(folder);
    }
}

Test(journal, a_worker_that_did_not_end_in_order_comes_back) {
    char folder[256];
    fg_run_facts facts;
    fg_records records;
    fg_journal *journal = NULL;
    journal_make(folder, 1);
    cr_assert_eq(fg_journal_resume(folder, &facts, &records, &journal), FG_STATUS_OK);
    cr_assert_eq(records.endings, 0);
    cr_assert_eq(fg_journal_ending(journal, "ended with signal 11 \xff"), FG_STATUS_OK);
    cr_assert_eq(fg_journal_ending(journal, "ended late"), FG_STATUS_OK);
    fg_journal_close(journal);
    fg_records_free(&records);
    cr_assert_eq(resume(folder, &facts, &records), FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(records.count, 1);
    cr_assert_eq(records.endings, 2);
    cr_assert_str_eq(records.ending, "ended with signal 11 \\xff");
    fg_records_free(&records);
    fg_folder_remove(folder);
}

Test(journal, a_seed_of_64_bits_comes_back) {
    static const uint64_t seeds[] = {0, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    for (size_t s = 0; s < sizeof seeds / sizeof seeds[0]; s++) {
        fg_run_facts facts = facts_make(), back;
        facts.seed = seeds[s];
        json_t *value = fg_json_from_facts(&facts);
        cr_assert_eq(fg_json_to_facts(value, &back), FG_STATUS_OK, "%s", fg_message());
        cr_assert_eq(back.seed, seeds[s]);
        json_object_set_new(value, "seed", json_string("1x"));
        cr_assert_eq(fg_json_to_facts(value, &back), FG_STATUS_PROTOCOL);
        json_decref(value);
    }
}

Test(journal, a_folder_without_a_run_says_so) {
    char folder[256];
    fg_run_facts facts;
    fg_records records;
    fg_folder_make(folder);
    cr_assert_eq(resume(folder, &facts, &records), FG_STATUS_IO);
    cr_assert_not_null(strstr(fg_message(), "holds no run"), "%s", fg_message());
    cr_assert_not_null(strstr(fg_message(), folder), "%s", fg_message());
    fg_folder_remove(folder);
}

Test(journal, a_case_that_comes_twice_is_refused) {
    char folder[256];
    fg_run_facts facts;
    fg_records records;
    journal_make(folder, 1);
    char *text = fg_file_text(folder, "journal.jsonl");
    journal_add(folder, strchr(text, '\n') + 1);
    free(text);
    cr_assert_eq(resume(folder, &facts, &records), FG_STATUS_PROTOCOL);
    cr_assert_not_null(strstr(fg_message(), "twice"), "%s", fg_message());
    fg_folder_remove(folder);
}

Test(journal, another_schema_is_refused) {
    char folder[256];
    fg_run_facts facts;
    fg_records records;
    fg_folder_make(folder);
    fg_file_write(folder, "journal.jsonl", "{\"journal\":2,\"run\":{}}\n");
    cr_assert_eq(resume(folder, &facts, &records), FG_STATUS_PROTOCOL);
    cr_assert_not_null(strstr(fg_message(), "schema 2"), "%s", fg_message());
    fg_file_write(folder, "journal.jsonl", "");
    cr_assert_eq(resume(folder, &facts, &records), FG_STATUS_PROTOCOL, "an empty journal");
    fg_folder_remove(folder);
}

Test(journal, a_folder_that_cannot_be_written_is_named) {
    fg_run_facts facts = facts_make();
    fg_records records;
    fg_journal *journal = NULL;
    cr_assert_eq(fg_journal_create("/proc/nowhere", &facts, &journal), FG_STATUS_IO);
    cr_assert_not_null(strstr(fg_message(), "/proc/nowhere"));
    cr_assert_eq(fg_journal_create("/etc/passwd", &facts, &journal), FG_STATUS_IO);
    cr_assert_eq(resume("/proc/nowhere", &facts, &records), FG_STATUS_IO);
    cr_assert_not_null(strstr(fg_message(), "/proc/nowhere"));
    cr_assert_null(journal);
}

Test(journal, starting_anew_forgets_the_earlier_run) {
    char folder[256];
    fg_run_facts facts = facts_make();
    fg_records records;
    fg_journal *journal = NULL;
    journal_make(folder, 2);
    cr_assert_eq(fg_journal_create(folder, &facts, &journal), FG_STATUS_OK);
    fg_journal_close(journal);
    cr_assert_eq(resume(folder, &facts, &records), FG_STATUS_OK);
    cr_assert_eq(records.count, 0);
    fg_folder_remove(folder);
}

Test(journal, text_that_is_no_utf8_is_kept_readable) {
    char line[] = "mlp";
    fg_record record = {.line = line, .result = result_make(0)};
    fg_records records = {0};
    strcpy(record.result.reason, "byte \xff and cut \xe2\x82");
    json_t *value = fg_json_from_record(&record, 1);
    cr_assert_not_null(value);
    cr_assert_eq(fg_json_to_record(value, &records), FG_STATUS_OK);
    cr_assert_str_eq(records.items[0].result.reason, "byte \\xff and cut \\xe2\\x82");
    json_decref(value);
    fg_records_free(&records);
}

static fg_status write_and_read(const char *folder) {
    fg_run_facts facts = facts_make();
    fg_records records = {0};
    fg_journal *journal = NULL;
    char line[] = "mlp E=2";
    fg_record record = {.line = line, .result = result_make(0)};
    fg_status status = fg_journal_create(folder, &facts, &journal);
    if (status == FG_STATUS_OK) {
        status = fg_journal_append(journal, &record);
        fg_journal_close(journal);
    }
    if (status == FG_STATUS_OK) {
        status = resume(folder, &facts, &records);
    }
    if (status == FG_STATUS_OK) {
        fg_records_free(&records);
    }
    return status;
}

Test(journal, any_allocation_may_fail) {
    char folder[256];
    fg_protocol_use_allocator();
    fg_folder_make(folder);
    int64_t before = fg_alloc_calls();
    cr_assert_eq(write_and_read(folder), FG_STATUS_OK, "%s", fg_message());
    int64_t calls = fg_alloc_calls() - before;
    cr_assert_gt(calls, 50);
    size_t live = fg_alloc_live_total();
    int64_t failed = 0;
    for (int64_t n = 1; n <= calls; n++) {
        fg_alloc_fail_at(n);
        fg_status status = write_and_read(folder);
        /* Text that could not be copied once is copied again as plain text. */
        cr_assert(status == FG_STATUS_NO_MEMORY || status == FG_STATUS_OK, "allocation %lld: %s",
                  (long long)n, fg_message());
        failed += status == FG_STATUS_NO_MEMORY;
        cr_assert_eq(fg_alloc_live_total(), live, "allocation %lld leaks", (long long)n);
    }
    fg_alloc_fail_at(0);
    cr_assert_gt(failed, calls / 2);
    fg_folder_remove(folder);
}
