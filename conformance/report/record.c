#include "conformance/report/record.h"

#include "conformance/process/protocol.h"
#include "contract/alloc.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

fg_status fg_records_add(fg_records *records, int64_t index, const char *line,
                         const fg_result *result) {
    if (records->count == records->capacity) {
        int64_t capacity = records->capacity == 0 ? 64 : 2 * records->capacity;
        fg_record *items =
            fg_realloc(records->items, (size_t)capacity * sizeof *items, FG_ALLOC_GENERAL);
        if (items == NULL) {
            return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for %lld records", (long long)capacity);
        }
        records->items = items;
        records->capacity = capacity;
    }
    char *copy = fg_strdup(line);
    if (copy == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for a case line");
    }
    records->items[records->count++] = (fg_record){index, copy, *result};
    return FG_STATUS_OK;
}

void fg_records_ending(fg_records *records, const char *text) {
    if (records->endings++ == 0) {
        (void)snprintf(records->ending, sizeof records->ending, "%s", text);
    }
}

void fg_records_free(fg_records *records) {
    for (int64_t i = 0; i < records->count; i++) {
        fg_free(records->items[i].line);
    }
    fg_free(records->items);
    *records = (fg_records){0};
}

static int by_index(const void *a, const void *b) {
    int64_t left = ((const fg_record *)a)->index, right = ((const fg_record *)b)->index;
    return (left > right) - (left < right);
}

void fg_records_sort(fg_records *records) {
    if (records->count > 1) {
        qsort(records->items, (size_t)records->count, sizeof records->items[0], by_index);
    }
}

static const char *const check_words[] = {"not run", "pass", "fail"};

static json_t *json_from_checks(const fg_result *result) {
    json_t *array = json_array();
    int failed = array == NULL;
    for (int32_t c = 0; c < result->check_count; c++) {
        const fg_check *check = &result->checks[c];
        json_t *object = json_object();
        failed |= json_object_set_new(object, "name", fg_json_from_text(check->name));
        failed |=
            json_object_set_new(object, "state", fg_json_from_text(check_words[check->state]));
        failed |= json_object_set_new(object, "ratio", fg_json_from_real(check->ratio));
        failed |= json_object_set_new(object, "where", fg_json_from_text(check->where));
        failed |= json_array_append_new(array, object);
    }
    if (failed) {
        json_decref(array);
        return NULL;
    }
    return array;
}

/* Numbers of a result by name: what the journal keeps beside the verdict. */
typedef struct number {
    const char *name;
    size_t offset;
    int real;
} number;

static const number numbers[] = {
    {"elements_compared", offsetof(fg_result, elements_compared), 0},
    {"elements_owed", offsetof(fg_result, elements_owed), 0},
    {"elements_touched", offsetof(fg_result, elements_touched), 0},
    {"plans_built", offsetof(fg_result, plans_built), 0},
    {"plan_hits", offsetof(fg_result, plan_hits), 0},
    {"state_resets", offsetof(fg_result, state_resets), 0},
    {"seconds", offsetof(fg_result, seconds), 1},
    {"seconds_reference", offsetof(fg_result, seconds_reference), 1},
    {"seconds_backend", offsetof(fg_result, seconds_backend), 1},
};
enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

static int numbers_put(json_t *object, const fg_result *result) {
    int failed = 0;
    for (size_t n = 0; n < NUMBERS; n++) {
        const void *at = (const char *)result + numbers[n].offset;
        json_t *value = numbers[n].real ? fg_json_from_real(*(const double *)at)
                                        : json_integer(*(const int64_t *)at);
        failed |= json_object_set_new(object, numbers[n].name, value);
    }
    return failed;
}

json_t *fg_json_from_record(const fg_record *record, int whole) {
    const fg_result *result = &record->result;
    json_t *object = json_object();
    int failed = object == NULL;
    if (whole) {
        failed |= json_object_set_new(object, "index", json_integer(record->index));
    }
    failed |= json_object_set_new(object, "line", fg_json_from_text(record->line));
    failed |= json_object_set_new(object, "state", fg_json_from_text(fg_state_name(result->state)));
    failed |= json_object_set_new(object, "fault", fg_json_from_text(fg_fault_name(result->fault)));
    failed |= json_object_set_new(object, "declared", json_boolean(result->declared));
    failed |= json_object_set_new(object, "reason", fg_json_from_text(result->reason));
    failed |= json_object_set_new(object, "checks", json_from_checks(result));
    if (whole) {
        failed |= numbers_put(object, result);
    } else {
        failed |= json_object_set_new(object, "seconds", fg_json_from_real(result->seconds));
    }
    if (failed) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static fg_status copy_text(const json_t *object, const char *key, char *out, size_t size) {
    const char *value = NULL;
    FG_TRY(fg_json_string(object, key, &value));
    if (strlen(value) >= size) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "found %zu bytes for '%s', expected below %zu",
                       strlen(value), key, size);
    }
    strcpy(out, value);
    return FG_STATUS_OK;
}

static fg_status check_read(const json_t *value, fg_check *out) {
    const char *state = NULL;
    FG_TRY(copy_text(value, "name", out->name, sizeof out->name));
    FG_TRY(copy_text(value, "where", out->where, sizeof out->where));
    FG_TRY(fg_json_real(value, "ratio", &out->ratio));
    FG_TRY(fg_json_string(value, "state", &state));
    for (int32_t s = 0; s < 3; s++) {
        if (strcmp(state, check_words[s]) == 0) {
            out->state = s;
            return FG_STATUS_OK;
        }
    }
    return FG_FAIL(FG_STATUS_PROTOCOL, "found check state '%s', expected pass, fail or not run",
                   state);
}

static fg_status result_read(const json_t *value, fg_result *out) {
    const char *word = NULL;
    const json_t *checks = json_object_get(value, "checks");
    *out = (fg_result){0};
    FG_TRY(fg_json_string(value, "state", &word));
    FG_TRY(fg_state_from_name(word, &out->state));
    FG_TRY(fg_json_string(value, "fault", &word));
    FG_TRY(fg_fault_from_name(word, &out->fault));
    FG_TRY(copy_text(value, "reason", out->reason, sizeof out->reason));
    out->declared = json_is_true(json_object_get(value, "declared"));
    if (json_array_size(checks) > FG_CHECKS) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "found %zu checks, expected at most %d",
                       json_array_size(checks), FG_CHECKS);
    }
    for (size_t c = 0; c < json_array_size(checks); c++) {
        FG_TRY(check_read(json_array_get(checks, c), &out->checks[out->check_count++]));
    }
    for (size_t n = 0; n < NUMBERS; n++) {
        void *at = (char *)out + numbers[n].offset;
        if (numbers[n].real) {
            FG_TRY(fg_json_real(value, numbers[n].name, (double *)at));
        } else {
            FG_TRY(fg_json_integer(value, numbers[n].name, (int64_t *)at));
        }
    }
    return FG_STATUS_OK;
}

fg_status fg_json_to_record(const json_t *value, fg_records *records) {
    const char *line = NULL;
    int64_t index = 0;
    fg_result result;
    FG_TRY(fg_json_integer(value, "index", &index));
    FG_TRY(fg_json_string(value, "line", &line));
    FG_TRY(result_read(value, &result));
    return fg_records_add(records, index, line, &result);
}

typedef struct fact {
    const char *name;
    size_t offset, size;
} fact;

#define FACT(member)                                                                               \
    { #member, offsetof(fg_run_facts, member), sizeof((fg_run_facts *)0)->member }

static const fact facts_text[] = {
    FACT(suite),        FACT(case_line),      FACT(filter),       FACT(backend),
    FACT(executor),     FACT(selection_hash), FACT(program_hash), FACT(worker_hash),
    FACT(backend_hash), FACT(executor_hash),
};
enum { FACTS = sizeof facts_text / sizeof facts_text[0] };

json_t *fg_json_from_seed(uint64_t seed) {
    char digits[24];
    (void)snprintf(digits, sizeof digits, "%llu", (unsigned long long)seed);
    return seed <= INT64_MAX ? json_integer((json_int_t)seed) : json_string(digits);
}

static fg_status seed_read(const json_t *object, uint64_t *out) {
    const char *digits = json_string_value(json_object_get(object, "seed"));
    char *end = NULL;
    int64_t integer = 0;
    if (digits == NULL) {
        FG_TRY(fg_json_integer(object, "seed", &integer));
        *out = (uint64_t)integer;
        return FG_STATUS_OK;
    }
    *out = strtoull(digits, &end, 10);
    return *end == '\0' && end != digits
               ? FG_STATUS_OK
               : FG_FAIL(FG_STATUS_PROTOCOL, "found seed '%s', expected a number", digits);
}

json_t *fg_json_from_facts(const fg_run_facts *facts) {
    json_t *object = json_object();
    int failed = object == NULL;
    for (size_t f = 0; f < FACTS; f++) {
        failed |=
            json_object_set_new(object, facts_text[f].name,
                                fg_json_from_text((const char *)facts + facts_text[f].offset));
    }
    if (facts->seed_given) {
        failed |= json_object_set_new(object, "seed", fg_json_from_seed(facts->seed));
    }
    failed |= json_object_set_new(object, "timeout", fg_json_from_real(facts->timeout));
    failed |= json_object_set_new(object, "cases", json_integer(facts->cases));
    if (failed) {
        json_decref(object);
        return NULL;
    }
    return object;
}

fg_status fg_json_to_facts(const json_t *value, fg_run_facts *out) {
    *out = (fg_run_facts){0};
    for (size_t f = 0; f < FACTS; f++) {
        FG_TRY(copy_text(value, facts_text[f].name, (char *)out + facts_text[f].offset,
                         facts_text[f].size));
    }
    out->seed_given = json_object_get(value, "seed") != NULL;
    if (out->seed_given) {
        FG_TRY(seed_read(value, &out->seed));
    }
    FG_TRY(fg_json_real(value, "timeout", &out->timeout));
    return fg_json_integer(value, "cases", &out->cases);
}
