#include "conformance/executor/exec_data.h"
#include "conformance/tensors/data.h"
#include "contract/alloc.h"
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define ALIGN 256
#define GUARD 256
#define GUARD_BYTE 0xA5
#define POISON_BYTE 0xFF /* NaN in every floating type */

/* Adds room for `bytes` at the next aligned offset. */
static fg_status reserve(size_t *end, size_t bytes, size_t *offset) {
    *offset = *end;
    FG_TRY(fg_size_add(*end, bytes, end));
    FG_TRY(fg_size_add(*end, ALIGN - 1, end));
    *end -= *end % ALIGN;
    return FG_STATUS_OK;
}

/* Reserves a tight tensor; its data hold the offset until the block is there. */
static fg_status reserve_tensor(size_t *end, fg_dtype dtype, int32_t ndim, const int64_t *dims,
                                size_t guard, fg_tensor *out, size_t *offset) {
    size_t span = 0;
    size_t whole = 0;
    *out = fg_tensor_tight(NULL, dtype, -1, ndim, dims);
    FG_TRY(fg_tensor_span(out, &span));
    FG_TRY(fg_size_add(span, 2 * guard, &whole));
    FG_TRY(reserve(end, whole, offset));
    *offset += guard;
    return FG_STATUS_OK;
}

/* Offsets of the inputs, then of these. */
enum { PLACE_DY = FG_INPUTS, PLACE_SPLITS, PLACE_HOST, PLACE_BEGIN, PLACES };

static fg_status place_data(fg_exec_data *data, size_t offsets[PLACES]) {
    const fg_problem *problem = &data->value.problem;
    int64_t dims[FG_TENSOR_DIMS] = {0};
    fg_tensor host;
    for (int i = 0; i < FG_INPUTS; i++) {
        if (fg_problem_has_input(problem, i)) {
            int32_t ndim = fg_problem_input_dims(problem, i, data->value.rows, dims);
            FG_TRY(reserve_tensor(&data->bytes, fg_problem_input_dtype(problem, i), ndim, dims, 0,
                                  &data->inputs[i], &offsets[i]));
        }
    }
    dims[0] = data->value.rows;
    dims[1] = problem->hidden;
    FG_TRY(reserve_tensor(&data->bytes, (fg_dtype)problem->dtype, 2, dims, 0, &data->dy,
                          &offsets[PLACE_DY]));
    dims[0] = problem->experts;
    FG_TRY(reserve_tensor(&data->bytes, (fg_dtype)problem->splits_dtype, 1, dims, 0, &data->splits,
                          &offsets[PLACE_SPLITS]));
    FG_TRY(reserve_tensor(&data->bytes, FG_I64, 1, dims, 0, &host, &offsets[PLACE_HOST]));
    dims[0] = problem->experts + 1;
    return reserve_tensor(&data->bytes, FG_I64, 1, dims, 0, &host, &offsets[PLACE_BEGIN]);
}

static void write_splits(fg_exec_data *data, int64_t *host) {
    for (int64_t e = 0; e < data->value.problem.experts; e++) {
        host[e] = data->value.splits[e];
        if (data->splits.dtype == FG_I64) {
            ((int64_t *)data->splits.data)[e] = host[e];
        } else {
            ((int32_t *)data->splits.data)[e] = (int32_t)host[e];
        }
    }
}

static fg_status fill_data(fg_exec_data *data, const size_t offsets[PLACES]) {
    const fg_problem *problem = &data->value.problem;
    unsigned char *base = data->block;
    int64_t *host = (int64_t *)(void *)(base + offsets[PLACE_HOST]); // [E]
    data->begin = (int64_t *)(void *)(base + offsets[PLACE_BEGIN]);  // [E + 1]
    data->splits.data = base + offsets[PLACE_SPLITS];
    data->dy.data = base + offsets[PLACE_DY];
    write_splits(data, host);
    data->in = (fg_inputs){.struct_size = sizeof data->in,
                           .rows = data->value.rows,
                           .splits = &data->splits,
                           .splits_host = problem->host_splits ? host : NULL};
    FG_TRY(fg_segments(problem, data->value.splits, data->value.rows, data->begin));
    for (int i = 0; i < FG_INPUTS; i++) {
        if (fg_problem_has_input(problem, i)) {
            data->inputs[i].data = base + offsets[i];
            data->in.inputs[i] = &data->inputs[i];
            FG_TRY(fg_data_fill(&data->value, data->begin, i, &data->inputs[i]));
        }
    }
    return fg_data_fill(&data->value, data->begin, FG_DATA_DY, &data->dy);
}

fg_status fg_exec_data_create(fg_exec_env *env, const fg_case *value, fg_exec_data **out) {
    size_t offsets[PLACES] = {0};
    fg_exec_data *data = fg_alloc(sizeof *data, FG_ALLOC_GENERAL);
    if (!data) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected %zu bytes", sizeof *data);
    }
    data->env = env;
    data->value = *value;
    fg_status status = place_data(data, offsets);
    if (!status) {
        status = env->memory(env, data->bytes, &data->block);
    }
    if (!status) {
        status = fill_data(data, offsets);
    }
    if (status) {
        fg_exec_data_destroy(data);
        return status;
    }
    *out = data;
    return FG_STATUS_OK;
}

void fg_exec_data_destroy(fg_exec_data *data) {
    if (data) {
        if (data->block) {
            data->env->memory_free(data->env, data->block);
        }
        fg_free(data);
    }
}

fg_status fg_exec_data_refill(fg_exec_data *data, int input, uint64_t seed) {
    const fg_tensor *tensor = input == FG_DATA_DY ? &data->dy : &data->inputs[input];
    if (!tensor->data) {
        return FG_FAIL(FG_STATUS_INVALID, "found input %d, expected one that the problem has",
                       input);
    }
    data->value.seed = seed;
    return fg_data_fill(&data->value, data->begin, input, tensor);
}

void fg_exec_data_device(fg_exec_data *data, int32_t device) {
    for (int i = 0; i < FG_INPUTS; i++) {
        data->inputs[i].device = device;
    }
    data->splits.device = device;
    data->dy.device = device;
}

uint64_t fg_exec_data_hash(const fg_exec_data *data) {
    return XXH3_64bits(data->block, data->bytes);
}

static fg_status place_out(fg_exec_out *out, const fg_problem *problem, int64_t rows,
                           size_t offsets[FG_INPUTS + 1]) {
    int64_t dims[FG_TENSOR_DIMS] = {0};
    for (int i = 0; i < FG_INPUTS; i++) {
        if (fg_problem_has_input(problem, i)) {
            int32_t ndim = fg_problem_input_dims(problem, i, rows, dims);
            FG_TRY(reserve_tensor(&out->bytes, fg_problem_grad_dtype(problem, i), ndim, dims, GUARD,
                                  &out->tensors[i], &offsets[i]));
            out->has |= FG_BIT(i);
        }
    }
    dims[0] = rows;
    dims[1] = problem->hidden;
    out->has |= FG_EXEC_Y;
    return reserve_tensor(&out->bytes, (fg_dtype)problem->dtype, 2, dims, GUARD,
                          &out->tensors[FG_INPUTS], &offsets[FG_INPUTS]);
}

fg_status fg_exec_out_create(fg_exec_env *env, const fg_case *value, fg_exec_out **result) {
    size_t offsets[FG_INPUTS + 1] = {0};
    void *block = NULL;
    fg_exec_out *out = fg_alloc(sizeof *out, FG_ALLOC_GENERAL);
    if (!out) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected %zu bytes", sizeof *out);
    }
    out->env = env;
    fg_status status = place_out(out, &value->problem, value->rows, offsets);
    if (!status) {
        status = env->memory(env, out->bytes, &block);
    }
    if (status) {
        fg_free(out);
        return status;
    }
    out->block = block;
    for (int i = 0; i <= FG_INPUTS; i++) {
        if (out->has & FG_BIT(i)) {
            out->tensors[i].data = out->block + offsets[i];
            fg_tensor_span(&out->tensors[i], &out->spans[i]); // fitted when it was placed
        }
    }
    fg_exec_out_poison(out, out->has, 0);
    *result = out;
    return FG_STATUS_OK;
}

void fg_exec_out_destroy(fg_exec_out *out) {
    if (out) {
        out->env->memory_free(out->env, out->block);
        fg_free(out);
    }
}

void fg_exec_out_device(fg_exec_out *out, int32_t device) {
    for (int i = 0; i <= FG_INPUTS; i++) {
        out->tensors[i].device = device;
    }
}

static void write_small_integers(const fg_tensor *tensor) {
    int64_t count = fg_tensor_count(tensor);
    size_t size = fg_dtype_size((fg_dtype)tensor->dtype);
    for (int64_t i = 0; i < count; i++) {
        double value = (double)(i % 5 - 2);
        fg_dtype_store_f64((fg_dtype)tensor->dtype, &value, 1,
                           (unsigned char *)tensor->data + (size_t)i * size);
    }
}

void fg_exec_out_poison(fg_exec_out *out, uint32_t mask, uint32_t accumulate) {
    for (int i = 0; i <= FG_INPUTS; i++) {
        if (!(out->has & FG_BIT(i))) {
            continue;
        }
        unsigned char *data = out->tensors[i].data;
        memset(data - GUARD, GUARD_BYTE, GUARD);
        memset(data + out->spans[i], GUARD_BYTE, GUARD);
        if (mask & accumulate & FG_BIT(i)) {
            write_small_integers(&out->tensors[i]);
        } else if (mask & FG_BIT(i)) {
            memset(data, POISON_BYTE, out->spans[i]);
        }
    }
}

static const char *name_of(int i) {
    return i == FG_INPUTS ? "y" : fg_grad_name(i);
}

/* Offset of the first byte that is not `byte`, or `bytes`. */
static size_t first_other(const unsigned char *data, unsigned char byte, size_t bytes) {
    size_t at = 0;
    // All equal when the first is right and each is like the one before it.
    if (bytes && data[0] == byte && memcmp(data, data + 1, bytes - 1) == 0) {
        return bytes;
    }
    while (at < bytes && data[at] == byte) {
        at++;
    }
    return at;
}

int fg_exec_out_intact(const fg_exec_out *out, uint32_t written, char *text, size_t size) {
    for (int i = 0; i <= FG_INPUTS; i++) {
        if (!(out->has & FG_BIT(i))) {
            continue;
        }
        const unsigned char *data = out->tensors[i].data;
        size_t span = out->spans[i];
        if (first_other(data - GUARD, GUARD_BYTE, GUARD) < GUARD) {
            snprintf(text, size, "%s: expected its guard untouched, got a write before it",
                     name_of(i));
            return 0;
        }
        if (first_other(data + span, GUARD_BYTE, GUARD) < GUARD) {
            snprintf(text, size, "%s: expected its guard untouched, got a write after it",
                     name_of(i));
            return 0;
        }
        size_t at = written & FG_BIT(i) ? span : first_other(data, POISON_BYTE, span);
        if (at < span) {
            snprintf(text, size, "%s: expected no write, got one at byte %zu", name_of(i), at);
            return 0;
        }
    }
    return 1;
}

static int differ(const fg_tensor *expected, const fg_tensor *got, const char *name, char *text,
                  size_t size) {
    size_t element = fg_dtype_size((fg_dtype)got->dtype);
    const unsigned char *a = expected->data;
    const unsigned char *b = got->data;
    int64_t at = 0;
    while (memcmp(a, b, element) == 0) {
        a += element;
        b += element;
        at++;
    }
    double values[2];
    fg_dtype_load_f64((fg_dtype)expected->dtype, a, 1, &values[0]);
    fg_dtype_load_f64((fg_dtype)got->dtype, b, 1, &values[1]);
    if (first_other(a, POISON_BYTE, element) == element) {
        snprintf(text, size, "%s[%lld]: must stay untouched, got %.9g", name, (long long)at,
                 values[1]);
        return 0;
    }
    if (first_other(b, POISON_BYTE, element) == element) {
        snprintf(text, size, "%s[%lld]: expected %.9g, got nothing written", name, (long long)at,
                 values[0]);
        return 0;
    }
    snprintf(text, size, "%s[%lld]: expected %.9g, got %.9g", name, (long long)at, values[0],
             values[1]);
    return 0;
}

int fg_exec_out_equal(const fg_exec_out *expected, const fg_exec_out *got, uint32_t mask,
                      char *text, size_t size) {
    for (int i = 0; i <= FG_INPUTS; i++) {
        if ((mask & got->has & FG_BIT(i)) &&
            memcmp(expected->tensors[i].data, got->tensors[i].data, got->spans[i]) != 0) {
            return differ(&expected->tensors[i], &got->tensors[i], name_of(i), text, size);
        }
    }
    return 1;
}

void fg_exec_out_grads(const fg_exec_out *out, uint32_t mask,
                       const fg_tensor *grads[FG_INPUT_SLOTS]) {
    for (int i = 0; i < FG_INPUT_SLOTS; i++) {
        int wanted = i < FG_INPUTS && (mask & out->has & FG_BIT(i));
        grads[i] = wanted ? &out->tensors[i] : NULL;
    }
}
