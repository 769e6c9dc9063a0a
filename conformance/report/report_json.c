#include "conformance/report/report_json.h"

#include "conformance/process/protocol.h"

enum { REPORT_SCHEMA = 1 };

static json_t *json_from_counts(const fg_tally *tally) {
    json_t *object = json_object();
    int failed = object == NULL;
    for (int s = 0; s < FG_STATES; s++) {
        failed |=
            json_object_set_new(object, fg_state_name((fg_state)s), json_integer(tally->states[s]));
    }
    /* States that no part of this program gives yet count zero, so that readers find them. */
    failed |= json_object_set_new(object, "waived", json_integer(0));
    failed |= json_object_set_new(object, "unexpected-pass", json_integer(0));
    if (failed) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *json_from_capabilities(const fg_report *report, const fg_tally *tally) {
    json_t *array = json_array();
    int failed = array == NULL;
    for (int32_t c = 0; c < fg_capabilities(); c++) {
        const int64_t *states = tally->capability[c];
        failed |= json_array_append_new(
            array, json_pack("{s:s, s:b, s:I, s:I, s:I}", "name", fg_capability_name(c), "claimed",
                             report->claimed[c], "pass", (json_int_t)states[FG_STATE_PASS], "fail",
                             (json_int_t)states[FG_STATE_FAIL], "not-supported",
                             (json_int_t)states[FG_STATE_NOT_SUPPORTED]));
    }
    if (failed) {
        json_decref(array);
        return NULL;
    }
    return array;
}

static json_t *json_from_cases(const fg_records *records) {
    json_t *array = json_array();
    int failed = array == NULL;
    for (int64_t i = 0; i < records->count; i++) {
        failed |= json_array_append_new(array, fg_json_from_record(&records->items[i], 0));
    }
    if (failed) {
        json_decref(array);
        return NULL;
    }
    return array;
}

/* Facts of the run, the machine and the programs. */
static int put_facts(json_t *object, const fg_report *report) {
    const fg_run_facts *facts = report->facts;
    int failed = json_object_set_new(object, "suite", json_string(facts->suite));
    failed |= json_object_set_new(object, "backend", json_string(facts->backend));
    failed |= json_object_set_new(object, "executor", json_string(facts->executor));
    failed |= json_object_set_new(object, "seed",
                                  facts->seed_given ? fg_json_from_seed(facts->seed) : json_null());
    failed |= json_object_set_new(object, "host",
                                  json_pack("{s:s, s:s, s:s, s:s}", "cpu", report->cpu, "blas",
                                            report->blas, "blas_core", report->blas_core, "device",
                                            report->device));
    failed |= json_object_set_new(object, "binary",
                                  json_pack("{s:s, s:s, s:s, s:s}", "program", facts->program_hash,
                                            "worker", facts->worker_hash, "backend",
                                            facts->backend_hash, "executor", facts->executor_hash));
    return failed;
}

static int put_sums(json_t *object, const fg_report *report, const fg_tally *tally) {
    double harness = tally->seconds - tally->seconds_reference - tally->seconds_backend;
    int failed = json_object_set_new(object, "counts", json_from_counts(tally));
    failed |= json_object_set_new(object, "seconds",
                                  json_pack("{s:f, s:f, s:f, s:f, s:f}", "total", tally->seconds,
                                            "reference", tally->seconds_reference, "backend",
                                            tally->seconds_backend, "harness", harness, "wall",
                                            report->wall));
    failed |= json_object_set_new(object, "elements", json_integer(tally->elements_compared));
    failed |= json_object_set_new(object, "elements_owed", json_integer(tally->elements_owed));
    failed |=
        json_object_set_new(object, "elements_touched", json_integer(tally->elements_touched));
    failed |= json_object_set_new(
        object, "plan_cache",
        json_pack("{s:I, s:I, s:I}", "built", (json_int_t)tally->plans_built, "hits",
                  (json_int_t)tally->plan_hits, "resets", (json_int_t)tally->state_resets));
    return failed;
}

static int write_piece(const char *text, size_t length, void *out) {
    return fwrite(text, 1, length, out) == length ? 0 : -1;
}

fg_status fg_report_json(const fg_report *report, FILE *out) {
    char why[640];
    fg_tally tally;
    fg_report_tally(report, &tally);
    int code = fg_report_exit_code(report, &tally, why, sizeof why);
    int partial = report->records->count < report->cases->count || report->interrupted;
    json_t *object = json_object();
    int failed = json_object_set_new(object, "schema", json_integer(REPORT_SCHEMA));
    failed |= json_object_set_new(object, "partial", json_boolean(partial));
    failed |= json_object_set_new(object, "exit_code", json_integer(code));
    failed |= json_object_set_new(object, "verdict", fg_json_from_text(why));
    failed |= json_object_set_new(object, "selected", json_integer(report->cases->count));
    failed |= json_object_set_new(object, "worker", fg_json_from_text(report->records->ending));
    failed |= put_facts(object, report);
    failed |= put_sums(object, report, &tally);
    failed |= json_object_set_new(object, "capabilities", json_from_capabilities(report, &tally));
    failed |= json_object_set_new(object, "cases", json_from_cases(report->records));
    fg_status status = FG_STATUS_OK;
    if (failed) {
        status = FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for report.json");
    } else if (json_dump_callback(object, write_piece, out,
                                  JSON_INDENT(1) | JSON_REAL_PRECISION(9)) != 0) {
        status = FG_FAIL(FG_STATUS_IO, "cannot write report.json");
    }
    (void)fputc('\n', out);
    json_decref(object);
    return status;
}
