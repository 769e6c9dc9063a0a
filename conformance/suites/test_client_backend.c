#include "conformance/process/client.h"
#include "conformance/suites/program_run.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXPERTS = 3, ROWS = 8, WIDTH = 32, BYTES = 1 << 20 };

/* One problem with its tensors in a shared mapping. */
typedef struct bench {
    fg_client *client;
    fg_problem problem;
    fg_shm shm;
    size_t used;
    int64_t kernel;
    fg_tensor inputs[FG_INPUTS], grads[FG_INPUTS], splits, y, dy;
    fg_inputs in;
    void *saved, *scratch;
} bench;

static void *take(bench *at, size_t bytes) {
    void *place = at->shm.base + at->used;
    at->used += (bytes + 255) / 256 * 256;
    cr_assert_leq(at->used, at->shm.bytes);
    return place;
}

static fg_tensor tensor_make(bench *at, fg_dtype dtype, int32_t ndim, const int64_t *dims) {
    size_t span = 0;
    fg_tensor tensor = fg_tensor_tight(NULL, dtype, -1, ndim, dims);
    cr_assert_eq(fg_tensor_span(&tensor, &span), FG_STATUS_OK);
    tensor.data = take(at, span);
    for (int64_t i = 0; dtype == FG_F32 && i < fg_tensor_count(&tensor); i++) {
        ((float *)tensor.data)[i] = (float)((i * 37 + ndim * 11) % 23 - 11) / 8;
    }
    return tensor;
}

/* Turns a weight, or its gradient, into a tensor of addresses of the same experts. */
static void by_pointers(bench *at, fg_tensor *tensor) {
    const int64_t experts = EXPERTS;
    void **addresses = take(at, EXPERTS * sizeof(void *));
    for (int64_t e = 0; e < EXPERTS; e++) {
        addresses[e] = fg_tensor_row(tensor, e);
    }
    *tensor = fg_tensor_tight(addresses, FG_POINTER, -1, 1, &experts);
}

static void bench_open(bench *at, const char *backend, fg_weight_form form) {
    const fg_client_options options = {.backend = backend};
    const fg_recipe recipe = fg_recipe_default(FG_RECIPE_NONE);
    const int64_t experts = EXPERTS, y_dims[2] = {ROWS, WIDTH};
    const int32_t splits[EXPERTS] = {3, 0, 5};
    fg_kernel_sizes sizes;
    memset(at, 0, sizeof *at);
    cr_assert_eq(fg_client_open(&options, &at->client), FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(fg_shm_create(BYTES, &at->shm), FG_STATUS_OK);
    at->problem = fg_problem_default(EXPERTS, WIDTH, WIDTH);
    at->problem.dtype = at->problem.bias_dtype = FG_F32;
    at->problem.weight_form = (int32_t)form;
    at->in = (fg_inputs){.struct_size = sizeof at->in, .rows = ROWS, .splits = &at->splits};
    for (int i = 0; i < FG_INPUTS; i++) {
        int64_t dims[FG_TENSOR_DIMS];
        int32_t ndim = fg_problem_input_dims(&at->problem, i, ROWS, dims);
        if (fg_problem_has_input(&at->problem, i)) {
            at->inputs[i] = tensor_make(at, FG_F32, ndim, dims);
            at->grads[i] = tensor_make(at, FG_F32, ndim, dims);
            at->in.inputs[i] = &at->inputs[i];
        }
    }
    at->splits = tensor_make(at, FG_I32, 1, &experts);
    memcpy(at->splits.data, splits, sizeof splits);
    at->y = tensor_make(at, FG_F32, 2, y_dims);
    at->dy = tensor_make(at, FG_F32, 2, y_dims);
    cr_assert_eq(fg_client_share(at->client, &at->shm), FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(fg_client_kernel_create(at->client, -1, &at->problem, &recipe, &at->kernel),
                 FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(fg_client_kernel_sizes(at->client, at->kernel, ROWS, &sizes), FG_STATUS_OK);
    at->saved = take(at, sizes.saved);
    at->scratch = take(at, sizes.scratch_forward + sizes.scratch_backward);
}

static void bench_close(bench *at) {
    fg_client_close(at->client);
    fg_shm_close(&at->shm);
}

static fg_status bench_forward(bench *at) {
    const fg_forward_args args = {.struct_size = sizeof args,
                                  .in = &at->in,
                                  .y = &at->y,
                                  .saved = at->saved,
                                  .scratch = at->scratch};
    return fg_client_forward(at->client, at->kernel, &args);
}

static fg_status bench_backward(bench *at, uint32_t mask) {
    fg_backward_args args = {.struct_size = sizeof args,
                             .in = &at->in,
                             .dy = &at->dy,
                             .mask = mask,
                             .saved = at->saved,
                             .scratch = at->scratch};
    for (int i = 0; i < FG_INPUTS; i++) {
        args.grads[i] = (mask & FG_BIT(i)) != 0 ? &at->grads[i] : NULL;
    }
    return fg_client_backward(at->client, at->kernel, &args);
}

#define EVERY (FG_BIT(FG_X) | FG_BIT(FG_W1) | FG_BIT(FG_P) | FG_BIT(FG_W2))

/* y and the gradients of a backend, weights as one tensor or as pointers. */
static void run_all(bench *at, const char *backend, fg_weight_form form, float y[ROWS * WIDTH],
                    float dw1[EXPERTS * 2 * WIDTH * WIDTH]) {
    bench_open(at, backend, form);
    const float *weight_grad = at->grads[FG_W1].data;
    if (form == FG_WEIGHTS_POINTERS) {
        by_pointers(at, &at->inputs[FG_W1]);
        by_pointers(at, &at->inputs[FG_W2]);
        by_pointers(at, &at->grads[FG_W1]);
        by_pointers(at, &at->grads[FG_W2]);
    }
    cr_assert_eq(bench_forward(at), FG_STATUS_OK, "%s: %s", backend, fg_message());
    cr_assert_eq(bench_backward(at, EVERY), FG_STATUS_OK, "%s: %s", backend, fg_message());
    memcpy(y, at->y.data, ROWS * WIDTH * sizeof(float));
    memcpy(dw1, weight_grad, EXPERTS * 2 * WIDTH * WIDTH * sizeof(float));
    bench_close(at);
}

Test(client_backend, pointers_and_device_memory_change_no_bit) {
    static bench at;
    static float y[3][ROWS * WIDTH], dw1[3][EXPERTS * 2 * WIDTH * WIDTH];
    const char *device = fg_built("plugins/device_memory.so");
    run_all(&at, "host", FG_WEIGHTS_TENSOR, y[0], dw1[0]);
    run_all(&at, device, FG_WEIGHTS_TENSOR, y[1], dw1[1]);
    run_all(&at, device, FG_WEIGHTS_POINTERS, y[2], dw1[2]);
    float sum = 0;
    for (int i = 0; i < ROWS * WIDTH; i++) {
        sum += y[0][i] * y[0][i];
    }
    cr_assert_gt(sum, 0);
    for (int v = 1; v < 3; v++) {
        cr_assert_eq(memcmp(y[0], y[v], sizeof y[0]), 0, "y of variant %d", v);
        cr_assert_eq(memcmp(dw1[0], dw1[v], sizeof dw1[0]), 0, "dw1 of variant %d", v);
    }
}

Test(client_backend, an_error_of_the_backend_comes_back_with_its_words) {
    static bench at;
    bench_open(&at, "host", FG_WEIGHTS_TENSOR);
    at.y.dims[1] = WIDTH - 1;
    cr_assert_eq(bench_forward(&at), FG_STATUS_SHAPE);
    cr_assert_not_null(strstr(fg_message(), "y"), "%s", fg_message());
    cr_assert(fg_client_alive(at.client));
    at.y.dims[1] = WIDTH;
    cr_assert_eq(bench_forward(&at), FG_STATUS_OK, "%s", fg_message());
    bench_close(&at);
}

Test(client_backend, memory_that_is_not_shared_does_not_travel) {
    static bench at;
    static float local[ROWS * WIDTH];
    bench_open(&at, "host", FG_WEIGHTS_TENSOR);
    void *shared = at.y.data;
    at.y.data = local;
    cr_assert_eq(bench_forward(&at), FG_STATUS_INVALID);
    cr_assert_not_null(strstr(fg_message(), "'y'"), "%s", fg_message());
    at.y.data = shared;
    at.saved = at.shm.base + at.shm.bytes - 8;
    cr_assert_eq(bench_forward(&at), FG_STATUS_PROTOCOL, "saved passes the mapping");
    bench_close(&at);
}

Test(client_backend, the_end_of_saved_reaches_the_backend) {
    static bench at;
    const fg_recipe recipe = fg_recipe_default(FG_RECIPE_NONE);
    fg_problem problem = fg_problem_default(20, WIDTH, WIDTH);
    bench_open(&at, fg_built("plugins/misbehaving.so"), FG_WEIGHTS_TENSOR);
    int64_t kernel = 0;
    cr_assert_eq(fg_client_kernel_create(at.client, -1, &problem, &recipe, &kernel), FG_STATUS_OK);
    cr_assert_eq(fg_client_stdout_bytes(at.client), 0);
    cr_assert_eq(fg_client_saved_release(at.client, kernel, at.saved), FG_STATUS_OK, "%s",
                 fg_message());
    cr_assert_gt(fg_client_stdout_bytes(at.client), 0, "it would have printed");
    bench_close(&at);
}

Test(client_backend, time_inside_the_backend_is_told_once) {
    static bench at;
    bench_open(&at, "host", FG_WEIGHTS_TENSOR);
    (void)fg_client_seconds(at.client);
    cr_assert_eq(bench_forward(&at), FG_STATUS_OK);
    double seconds = fg_client_seconds(at.client);
    cr_assert(seconds > 0 && seconds < 10, "%g s", seconds);
    cr_assert_eq(fg_client_seconds(at.client), 0.0);
    bench_close(&at);
}

/* Lines of a diary that are a word. */
static int told(const char *diary, const char *word) {
    int count = 0;
    size_t length = strlen(word);
    for (const char *at = diary; at != NULL && *at != '\0'; at = strchr(at, '\n') + 1) {
        count += strncmp(at, word, length) == 0 && at[length] == '\n';
    }
    return count;
}

Test(client_backend, an_orderly_end_gives_everything_back) {
    static const char *const pairs[][2] = {{"device_open", "device_close"},
                                           {"kernel_create", "kernel_destroy"},
                                           {"stream_create", "stream_destroy"},
                                           {"mem_alloc", "mem_free"}};
    static bench at;
    char folder[256], path[300];
    fg_folder_make(folder);
    (void)snprintf(path, sizeof path, "%s/diary", folder);
    (void)setenv("FUSEGATE_TEST_DIARY", path, 1);
    bench_open(&at, fg_built("plugins/device_memory.so"), FG_WEIGHTS_POINTERS);
    by_pointers(&at, &at.inputs[FG_W1]);
    by_pointers(&at, &at.inputs[FG_W2]);
    cr_assert_eq(bench_forward(&at), FG_STATUS_OK, "%s", fg_message());
    bench_close(&at);
    char *diary = fg_file_text(folder, "diary");
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
        cr_assert_gt(told(diary, pairs[p][0]), 0, "%s", pairs[p][0]);
        cr_assert_eq(told(diary, pairs[p][0]), told(diary, pairs[p][1]), "%s", diary);
    }
    free(diary);
    fg_folder_remove(folder);
}

Test(client_backend, unsharing_frees_the_copy_in_device_memory) {
    static bench at;
    char folder[256], path[300];
    fg_folder_make(folder);
    (void)snprintf(path, sizeof path, "%s/diary", folder);
    (void)setenv("FUSEGATE_TEST_DIARY", path, 1);
    bench_open(&at, fg_built("plugins/device_memory.so"), FG_WEIGHTS_TENSOR);
    cr_assert_eq(bench_forward(&at), FG_STATUS_OK, "%s", fg_message());
    char *diary = fg_file_text(folder, "diary");
    cr_assert_eq(told(diary, "mem_alloc") - told(diary, "mem_free"), 1);
    free(diary);
    cr_assert_eq(fg_client_unshare(at.client, &at.shm), FG_STATUS_OK);
    diary = fg_file_text(folder, "diary");
    cr_assert_eq(told(diary, "mem_alloc"), told(diary, "mem_free"));
    free(diary);
    bench_close(&at);
    fg_folder_remove(folder);
}
