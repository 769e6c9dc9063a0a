#include "conformance/process/protocol_fields.h"

#include <string.h>

#define FIELD(type, member, kind)                                                                  \
    { #member, offsetof(type, member), FG_FIELD_##kind }
#define STRUCT(type, table, has_size)                                                              \
    { #type, sizeof(type), table, sizeof(table) / sizeof(table)[0], has_size }

static const fg_field problem_fields[] = {
    FIELD(fg_problem, experts, I64),
    FIELD(fg_problem, hidden, I64),
    FIELD(fg_problem, inter, I64),
    FIELD(fg_problem, first_op, I32),
    FIELD(fg_problem, op_count, I32),
    FIELD(fg_problem, activation, I32),
    FIELD(fg_problem, interleave, I32),
    FIELD(fg_problem, limit, F64),
    FIELD(fg_problem, alpha, F64),
    FIELD(fg_problem, offset, F64),
    FIELD(fg_problem, beta1, F64),
    FIELD(fg_problem, beta2, F64),
    FIELD(fg_problem, dtype, I32),
    FIELD(fg_problem, prob_dtype, I32),
    FIELD(fg_problem, bias_dtype, I32),
    FIELD(fg_problem, wgrad_dtype, I32),
    FIELD(fg_problem, splits_dtype, I32),
    FIELD(fg_problem, bias, I32),
    FIELD(fg_problem, prob, I32),
    FIELD(fg_problem, scale_bias, I32),
    FIELD(fg_problem, separate_bias_scale, I32),
    FIELD(fg_problem, weight_form, I32),
    FIELD(fg_problem, weight_order, I32),
    FIELD(fg_problem, accumulate, I32),
    FIELD(fg_problem, host_splits, I32),
    FIELD(fg_problem, segment_align, I64),
};

static const fg_field recipe_fields[] = {
    FIELD(fg_recipe, kind, I32),    FIELD(fg_recipe, override, I32),
    FIELD(fg_recipe, format, I32),  FIELD(fg_recipe, algo, I32),
    FIELD(fg_recipe, margin, I32),  FIELD(fg_recipe, power_of_two, I32),
    FIELD(fg_recipe, history, I32), FIELD(fg_recipe, epsilon, F32),
};

static const fg_field traits_fields[] = {
    FIELD(fg_traits, memory, I32),
    FIELD(fg_traits, deterministic, I32),
    FIELD(fg_traits, row_invariant, I32),
    FIELD(fg_traits, writes_padding, I32),
    FIELD(fg_traits, capturable, I32),
    FIELD(fg_traits, flush_subnormals, I32),
    FIELD(fg_traits, base_align, I32),
    FIELD(fg_traits, row_align, I32),
    FIELD(fg_traits, segment_align, I32),
    FIELD(fg_traits, accumulator_digits, I32),
    FIELD(fg_traits, accumulator_truncates, I32),
    FIELD(fg_traits, accumulator_block, I32),
    FIELD(fg_traits, operand_digits, I32),
    FIELD(fg_traits, rounding, U32),
    FIELD(fg_traits, activation_error, F64),
};

static const fg_field sizes_fields[] = {
    FIELD(fg_kernel_sizes, saved, SIZE),
    FIELD(fg_kernel_sizes, scratch_forward, SIZE),
    FIELD(fg_kernel_sizes, scratch_backward, SIZE),
};

static const fg_field counters_fields[] = {
    FIELD(fg_counters, plans_built, I64),    FIELD(fg_counters, plan_hits, I64),
    FIELD(fg_counters, evictions, I64),      FIELD(fg_counters, state_resets, I64),
    FIELD(fg_counters, pre_first, I64),      FIELD(fg_counters, kernels_created, I64),
    FIELD(fg_counters, stream_lookups, I64), FIELD(fg_counters, current_device_queries, I64),
};

static const fg_field outside_fields[] = {
    FIELD(fg_outside_counts, stream_lookups, I64),
    FIELD(fg_outside_counts, current_device_queries, I64),
    FIELD(fg_outside_counts, kernels_created, I64),
    FIELD(fg_outside_counts, kernels_destroyed, I64),
    FIELD(fg_outside_counts, forwards, I64),
    FIELD(fg_outside_counts, backwards, I64),
    FIELD(fg_outside_counts, last_mask, U32),
    FIELD(fg_outside_counts, saving_forwards, I64),
    FIELD(fg_outside_counts, streams_seen, I64),
    FIELD(fg_outside_counts, last_forward_kernel, I64),
    FIELD(fg_outside_counts, last_backward_kernel, I64),
    FIELD(fg_outside_counts, blocks_live, I64),
};

static const fg_field run_fields[] = {FIELD(fg_run, first, I32), FIELD(fg_run, count, I32)};

const fg_struct_fields fg_problem_fields = STRUCT(fg_problem, problem_fields, 1);
const fg_struct_fields fg_recipe_fields = STRUCT(fg_recipe, recipe_fields, 1);
const fg_struct_fields fg_traits_fields = STRUCT(fg_traits, traits_fields, 1);
const fg_struct_fields fg_kernel_sizes_fields = STRUCT(fg_kernel_sizes, sizes_fields, 1);
const fg_struct_fields fg_counters_fields = STRUCT(fg_counters, counters_fields, 1);
const fg_struct_fields fg_outside_fields = STRUCT(fg_outside_counts, outside_fields, 0);
const fg_struct_fields fg_run_fields = STRUCT(fg_run, run_fields, 0);

static json_t *field_value(const fg_field *field, const void *value) {
    const void *at = (const char *)value + field->offset;
    switch (field->kind) {
    case FG_FIELD_I32:
        return json_integer(*(const int32_t *)at);
    case FG_FIELD_U32:
        return json_integer(*(const uint32_t *)at);
    case FG_FIELD_I64:
        return json_integer(*(const int64_t *)at);
    case FG_FIELD_SIZE:
        return json_integer((json_int_t) * (const size_t *)at);
    case FG_FIELD_F32:
        return fg_json_from_real((double)*(const float *)at);
    case FG_FIELD_F64:
        return fg_json_from_real(*(const double *)at);
    }
    return NULL;
}

json_t *fg_json_from_struct(const fg_struct_fields *fields, const void *value) {
    json_t *object = json_object();
    int failed = object == NULL;
    for (size_t i = 0; i < fields->count; i++) {
        const fg_field *field = &fields->fields[i];
        failed |= json_object_set_new(object, field->name, field_value(field, value)) != 0;
    }
    if (failed) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* Reads an integer member that must lie in [least, most]. */
static fg_status integer_within(const json_t *object, const fg_field *field, int64_t least,
                                int64_t most, int64_t *out) {
    FG_TRY(fg_json_integer(object, field->name, out));
    if (*out < least || *out > most) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "found %lld for '%s', expected %lld to %lld",
                       (long long)*out, field->name, (long long)least, (long long)most);
    }
    return FG_STATUS_OK;
}

static fg_status field_read(const json_t *object, const fg_field *field, void *out) {
    void *at = (char *)out + field->offset;
    int64_t integer = 0;
    double real = 0;
    switch (field->kind) {
    case FG_FIELD_I32:
        FG_TRY(integer_within(object, field, INT32_MIN, INT32_MAX, &integer));
        *(int32_t *)at = (int32_t)integer;
        break;
    case FG_FIELD_U32:
        FG_TRY(integer_within(object, field, 0, UINT32_MAX, &integer));
        *(uint32_t *)at = (uint32_t)integer;
        break;
    case FG_FIELD_I64:
        FG_TRY(fg_json_integer(object, field->name, (int64_t *)at));
        break;
    case FG_FIELD_SIZE:
        FG_TRY(integer_within(object, field, 0, INT64_MAX, &integer));
        *(size_t *)at = (size_t)integer;
        break;
    case FG_FIELD_F32:
        FG_TRY(fg_json_real(object, field->name, &real));
        *(float *)at = (float)real;
        break;
    case FG_FIELD_F64:
        FG_TRY(fg_json_real(object, field->name, (double *)at));
        break;
    }
    return FG_STATUS_OK;
}

fg_status fg_json_to_struct(const json_t *object, const fg_struct_fields *fields, void *out) {
    if (!json_is_object(object)) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "found no %s, expected an object", fields->name);
    }
    memset(out, 0, fields->bytes);
    for (size_t i = 0; i < fields->count; i++) {
        if (json_object_get(object, fields->fields[i].name) != NULL) {
            FG_TRY(field_read(object, &fields->fields[i], out));
        }
    }
    if (fields->sized) {
        memcpy(out, &fields->bytes, sizeof fields->bytes);
    }
    return FG_STATUS_OK;
}
