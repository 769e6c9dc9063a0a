#include "conformance/suites/oracle_case.h"
#include "conformance/tensors/safetensors.h"
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Suites run in the repository's root. */
#define FOLDER "fixtures/"
#define TOLERANCE 1e-12

/* One golden file as the oracle takes it. */
typedef struct golden {
    fg_safetensors file;
    fg_problem problem;
    fg_traits traits;
    fg_tensor inputs[FG_INPUT_SLOTS], before[FG_INPUT_SLOTS], dy, splits;
    fg_inputs in;
    fg_oracle_spec spec;
} golden;

static json_t *manifest_files(json_t **manifest) {
    json_error_t error;
    *manifest = json_load_file(FOLDER "MANIFEST.json", JSON_REJECT_DUPLICATES, &error);
    cr_assert_not_null(*manifest, "%s", error.text);
    json_t *files = json_object_get(*manifest, "files");
    cr_assert_eq(json_array_size(files), 15);
    return files;
}

static const char *text_of(const json_t *entry, const char *key) {
    const char *text = json_string_value(json_object_get(entry, key));
    cr_assert_not_null(text, "the manifest lacks %s", key);
    return text;
}

static void path_of(const json_t *entry, char path[256]) {
    snprintf(path, 256, FOLDER "%s", text_of(entry, "file"));
}

Test(golden, every_file_is_the_one_that_the_manifest_names) {
    json_t *manifest = NULL;
    json_t *files = manifest_files(&manifest);
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *entry = json_array_get(files, i);
        static char bytes[1 << 20];
        char path[256];
        char sum[32];
        path_of(entry, path);
        FILE *stream = fopen(path, "rb");
        cr_assert_not_null(stream, "%s", path);
        size_t size = fread(bytes, 1, sizeof bytes, stream);
        fclose(stream);
        snprintf(sum, sizeof sum, "%016llx", (unsigned long long)XXH64(bytes, size, 0));
        cr_assert_eq(json_integer_value(json_object_get(entry, "bytes")), (json_int_t)size);
        cr_assert_str_eq(sum, text_of(entry, "xxh64"), "%s", path);
        bytes[size / 2] = (char)(bytes[size / 2] ^ 1);
        snprintf(sum, sizeof sum, "%016llx", (unsigned long long)XXH64(bytes, size, 0));
        cr_assert_str_neq(sum, text_of(entry, "xxh64"));
    }
    json_decref(manifest);
}

Test(golden, the_manifest_says_who_made_each_file_with_what_and_why) {
    json_t *manifest = NULL;
    json_t *files = manifest_files(&manifest);
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *entry = json_array_get(files, i);
        cr_assert_str_eq(text_of(entry, "who"), FOLDER "make_golden.py");
        cr_assert_not_null(strstr(text_of(entry, "with"), "NumPy"));
        cr_assert_gt(strlen(text_of(entry, "why")), 10u);
        cr_assert_eq(strlen(text_of(entry, "sha256")), 64u);
    }
    json_decref(manifest);
}

static int32_t number_of(const golden *value, const char *key) {
    const char *text = fg_safetensors_metadata(&value->file, key);
    cr_assert_not_null(text, "no %s", key);
    return (int32_t)strtol(text, NULL, 10);
}

static const fg_safetensor *tensor_of(const golden *value, const char *name) {
    const fg_safetensor *tensor = fg_safetensors_find(&value->file, name);
    cr_assert_not_null(tensor, "no %s", name);
    return tensor;
}

static fg_tensor view(const golden *value, const char *name, fg_dtype dtype) {
    const fg_safetensor *tensor = tensor_of(value, name);
    cr_assert_eq(tensor->dtype, dtype);
    return fg_tensor_tight((void *)(uintptr_t)tensor->data, dtype, -1, tensor->ndim, tensor->dims);
}

static void read_problem(golden *out) {
    fg_problem problem = fg_oracle_case_problem_f64(
        number_of(out, "experts"), number_of(out, "hidden"), number_of(out, "inter"));
    fg_activation activation = FG_ACT_SWIGLU;
    cr_assert_eq(fg_activation_from_name(fg_safetensors_metadata(&out->file, "act"), &activation),
                 FG_STATUS_OK);
    problem.activation = (int32_t)activation;
    problem.interleave = number_of(out, "interleave");
    problem.bias = number_of(out, "bias");
    problem.prob = number_of(out, "prob");
    problem.scale_bias = number_of(out, "scale_bias");
    problem.separate_bias_scale = number_of(out, "separate_bias_scale");
    problem.segment_align = number_of(out, "segment_align");
    problem.accumulate = number_of(out, "accumulate");
    problem.splits_dtype = FG_I64;
    out->problem = problem;
}

static void open_golden(const char *path, golden *out) {
    *out = (golden){.traits = fg_oracle_case_traits(0x1fff)};
    cr_assert_eq(fg_safetensors_read(path, &out->file), FG_STATUS_OK, "%s", fg_message());
    read_problem(out);
    out->dy = view(out, "dy", FG_F64);
    out->splits = view(out, "splits", FG_I64);
    out->in = (fg_inputs){.struct_size = sizeof out->in, .splits = &out->splits};
    out->in.rows = out->dy.dims[0];
    out->spec = (fg_oracle_spec){.problem = &out->problem,
                                 .traits = &out->traits,
                                 .in = &out->in,
                                 .dy = &out->dy,
                                 .mask = fg_oracle_case_mask(&out->problem)};
    for (int i = 0; i < FG_INPUTS; i++) {
        if (fg_problem_has_input(&out->problem, i)) {
            out->inputs[i] = view(out, fg_input_name(i), FG_F64);
            out->in.inputs[i] = &out->inputs[i];
        }
    }
    if (out->problem.accumulate) {
        out->before[FG_W1] = view(out, "dw1_before", FG_F64);
        out->before[FG_W2] = view(out, "dw2_before", FG_F64);
        out->spec.accumulate = FG_BIT(FG_W1) | FG_BIT(FG_W2);
        out->spec.grads_before[FG_W1] = &out->before[FG_W1];
        out->spec.grads_before[FG_W2] = &out->before[FG_W2];
    }
}

/* Compares one output of every expert; experts follow each other in the file without padding. */
static void compare_output(const char *path, const golden *value, fg_oracle *oracle, int output) {
    const fg_safetensor *tensor = tensor_of(value, fg_output_name(output));
    const double *want = tensor->data;
    double largest = 0;
    int64_t compared = 0;
    for (int64_t k = 0; k < tensor->count; k++) {
        largest = fmax(largest, fabs(want[k]));
    }
    for (int64_t e = 0; e < value->problem.experts; e++) {
        cr_assert_eq(fg_oracle_expert(oracle, e), FG_STATUS_OK, "%s", fg_message());
        fg_expected got = fg_oracle_expected(oracle, output);
        for (int64_t k = 0; k < got.rows * got.cols; k++, compared++) {
            cr_assert_lt(compared, tensor->count, "%s: %s has too few elements", path,
                         tensor->name);
            cr_assert(fabs(got.value[k] - want[compared]) <= TOLERANCE * largest,
                      "%s: expert %lld %s[%lld] is %.17g, expected %.17g", path, (long long)e,
                      tensor->name, (long long)k, got.value[k], want[compared]);
        }
    }
    cr_assert_eq(compared, tensor->count, "%s: %lld of %lld elements of %s", path,
                 (long long)compared, (long long)tensor->count, tensor->name);
}

Test(golden, the_oracle_agrees_with_the_independent_program_in_every_element) {
    json_t *manifest = NULL;
    json_t *files = manifest_files(&manifest);
    for (size_t i = 0; i < json_array_size(files); i++) {
        golden value;
        fg_oracle *oracle = NULL;
        char path[256];
        path_of(json_array_get(files, i), path);
        open_golden(path, &value);
        cr_assert_eq(fg_oracle_create(&value.spec, &oracle), FG_STATUS_OK, "%s: %s", path,
                     fg_message());
        int64_t outputs = 0;
        for (int output = 0; output < FG_OUTPUTS; output++) {
            if (output == FG_OUT_Y || fg_problem_has_input(&value.problem, output)) {
                compare_output(path, &value, oracle, output);
                outputs++;
            }
        }
        int64_t inputs = value.file.count - outputs;
        cr_assert_eq(inputs, outputs + 1 + 2 * value.problem.accumulate,
                     "%s: %lld outputs compared of %lld tensors", path, (long long)outputs,
                     (long long)value.file.count);
        fg_oracle_destroy(oracle);
        fg_safetensors_free(&value.file);
    }
    json_decref(manifest);
}

Test(golden, experts_without_rows_are_exactly_zero_in_file_and_oracle) {
    golden value;
    fg_oracle *oracle = NULL;
    open_golden(FOLDER "golden/empty_experts.safetensors", &value);
    cr_assert_eq(fg_oracle_create(&value.spec, &oracle), FG_STATUS_OK);
    const int outputs[] = {FG_W1, FG_B1, FG_W2, FG_B2};
    const int64_t *splits = tensor_of(&value, "splits")->data;
    int64_t zeros = 0;
    for (int i = 0; i < 4; i++) {
        const double *want = tensor_of(&value, fg_output_name(outputs[i]))->data;
        for (int64_t e = 0; e < value.problem.experts; e++) {
            cr_assert_eq(fg_oracle_expert(oracle, e), FG_STATUS_OK);
            fg_expected got = fg_oracle_expected(oracle, outputs[i]);
            for (int64_t k = 0; splits[e] == 0 && k < got.rows * got.cols; k++, zeros++) {
                cr_assert_eq(got.value[k], 0);
                cr_assert_eq(want[e * got.rows * got.cols + k], 0);
            }
        }
    }
    cr_assert_gt(zeros, 500);
    fg_oracle_destroy(oracle);
    fg_safetensors_free(&value.file);
}

Test(golden, padding_rows_of_the_files_hold_nan) {
    golden value;
    open_golden(FOLDER "golden/padding_align32.safetensors", &value);
    const fg_tensor *tensors[] = {&value.inputs[FG_X], &value.inputs[FG_P],
                                  &value.inputs[FG_BIAS_P], &value.dy};
    for (int i = 0; i < 4; i++) {
        int64_t nans = 0;
        for (int64_t k = 0; k < fg_tensor_count(tensors[i]); k++) {
            nans += isnan(fg_oracle_case_get(tensors[i], k));
        }
        int64_t rows = value.in.rows - 34;
        cr_assert_eq(nans, rows * fg_tensor_count(tensors[i]) / value.in.rows);
    }
    fg_safetensors_free(&value.file);
}
