#include "conformance/suites/abi_battery.h"
#include "conformance/suites/backend_fixture.h"
#include "contract/alloc.h"
#include <criterion/criterion.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

enum { EXPERTS = 2, ROWS = 12 };
static const int64_t some_splits[EXPERTS] = {5, 4};

static fg_problem full_problem(void) {
    fg_problem problem = fg_problem_default(EXPERTS, 8, 8);
    problem.bias = 1;
    problem.scale_bias = 1;
    problem.separate_bias_scale = 1;
    problem.accumulate = 1;
    return problem;
}

static void open_full(fg_fixture *f, fg_backend_entry_fn entry) {
    fg_problem problem = full_problem();
    fg_fixture_open(f, entry, &problem, ROWS, some_splits, FG_FIXTURE_TIGHT);
    fg_fixture_forward(f, 1);
}

static fg_status forward(fg_fixture *f) {
    fg_forward_args args = fg_fixture_forward_args(f, 1);
    return f->backend->mlp_forward(f->kernel, &args, NULL);
}

static fg_status backward(fg_fixture *f) {
    fg_backward_args args = fg_fixture_backward_args(f, fg_fixture_all(f), 0);
    return f->backend->mlp_backward(f->kernel, &args, NULL);
}

static void expect(fg_status got, fg_status want, const char *word) {
    cr_assert_eq(got, want, "%s: %s (%s), expected %s", word, fg_status_name(got), fg_message(),
                 fg_status_name(want));
    cr_assert(strstr(fg_message(), word) != NULL, "\"%s\" does not name %s", fg_message(), word);
}

static const fg_backend *table(fg_backend_entry_fn entry) {
    static const fg_host host = {.struct_size = sizeof host};
    const fg_backend *backend = NULL;
    cr_assert_eq(entry(FG_BACKEND_ABI, &host, &backend), FG_STATUS_OK);
    return backend;
}

void fg_battery_abi(fg_backend_entry_fn entry) {
    static const fg_host host = {.struct_size = sizeof host};
    const fg_backend *backend = NULL;
    expect(entry(FG_BACKEND_ABI + 1, &host, &backend), FG_STATUS_ABI, "version");
    cr_assert_null(backend);
    backend = table(entry);
    cr_assert(backend->struct_size == sizeof *backend && backend->name != NULL);
    cr_assert(backend->device_open && backend->device_close && backend->traits &&
              backend->supports && backend->mem_alloc && backend->mem_free && backend->mem_fill32 &&
              backend->copy_in && backend->copy_out && backend->stream_create &&
              backend->stream_destroy && backend->stream_sync && backend->kernel_create &&
              backend->kernel_destroy && backend->kernel_sizes && backend->mlp_forward &&
              backend->mlp_backward && backend->last_error);
}

static void expect_refusal(const fg_backend *backend, const fg_problem *problem,
                           const fg_recipe *recipe, const char *word) {
    char reason[FG_REASON_SIZE] = "";
    fg_device *device = NULL;
    fg_kernel *kernel = NULL;
    cr_assert_eq(backend->device_open(0, &device), FG_STATUS_OK);
    int64_t calls = fg_alloc_calls();
    cr_assert_eq(backend->supports(device, problem, recipe, reason), FG_STATUS_UNSUPPORTED, "%s",
                 word);
    cr_assert_eq(fg_alloc_calls(), calls);
    cr_assert(strstr(reason, word) != NULL, "\"%s\" does not name %s", reason, word);
    cr_assert_eq(backend->kernel_create(device, problem, recipe, &kernel), FG_STATUS_UNSUPPORTED);
    cr_assert_null(kernel);
    backend->device_close(device);
}

void fg_battery_refusals(fg_backend_entry_fn entry) {
    const fg_backend *backend = table(entry);
    fg_problem problem = full_problem();
    fg_recipe current = fg_recipe_default(FG_RECIPE_CURRENT);
    fg_recipe delayed = fg_recipe_default(FG_RECIPE_DELAYED);
    fg_recipe none = fg_recipe_default(FG_RECIPE_NONE);
    expect_refusal(backend, &problem, &current, "current");
    expect_refusal(backend, &problem, &delayed, "delayed");
    problem.weight_form = FG_WEIGHTS_POINTERS;
    expect_refusal(backend, &problem, &none, "pointer");
    problem = full_problem();
    problem.weight_order = FG_WEIGHTS_IO;
    expect_refusal(backend, &problem, &none, "io");
    problem = full_problem();
    problem.dtype = FG_F64;
    problem.accumulate = 0;
    problem.prob_dtype = problem.bias_dtype = problem.wgrad_dtype = FG_F32;
    expect_refusal(backend, &problem, &none, "f64");
}

void fg_battery_old_structs(fg_backend_entry_fn entry) {
    fg_fixture f;
    open_full(&f, entry);
    fg_traits traits;
    fg_kernel_sizes sizes;
    memset(&traits, 0x5a, sizeof traits);
    memset(&sizes, 0x5a, sizeof sizes);
    traits.struct_size = offsetof(fg_traits, rounding);
    sizes.struct_size = offsetof(fg_kernel_sizes, scratch_backward);
    cr_assert_eq(f.backend->traits(f.device, &traits), FG_STATUS_OK);
    cr_assert_eq(f.backend->kernel_sizes(f.kernel, ROWS, &sizes), FG_STATUS_OK);
    cr_assert_eq(traits.rounding, 0x5a5a5a5au);
    cr_assert_eq(traits.struct_size, offsetof(fg_traits, rounding));
    cr_assert_eq(traits.operand_digits, 24);
    cr_assert_eq(sizes.scratch_backward, 0x5a5a5a5a5a5a5a5au);
    cr_assert_eq(sizes.scratch_forward, f.sizes.scratch_forward);
    fg_forward_args args = fg_fixture_forward_args(&f, 1);
    args.struct_size = offsetof(fg_forward_args, quant);
    args.quant = (const fg_quant *)1;
    cr_assert_eq(f.backend->mlp_forward(f.kernel, &args, NULL), FG_STATUS_OK);
    args.struct_size = 0;
    expect(f.backend->mlp_forward(f.kernel, &args, NULL), FG_STATUS_ABI, "struct_size");
    fg_fixture_close(&f);
}

/* Spoils `tensor` in every way, one after another, and expects each call to name it. */
static void spoil(fg_fixture *f, fg_tensor *tensor, const char *name,
                  fg_status (*call)(fg_fixture *)) {
    fg_tensor right = *tensor;
    tensor->dtype = tensor->dtype == FG_I32 ? FG_F32 : FG_I32;
    expect(call(f), FG_STATUS_SHAPE, name);
    *tensor = right;
    tensor->dims[0]++;
    expect(call(f), FG_STATUS_SHAPE, name);
    *tensor = right;
    tensor->ndim = right.ndim == 3 ? 2 : right.ndim + 1;
    expect(call(f), FG_STATUS_SHAPE, name);
    *tensor = right;
    tensor->strides[right.ndim - 1] = 2;
    expect(call(f), FG_STATUS_SHAPE, name);
    *tensor = right;
    tensor->data = NULL;
    expect(call(f), FG_STATUS_SHAPE, name);
    *tensor = right;
    tensor->data = (char *)right.data + f->traits.base_align / 2;
    expect(call(f), FG_STATUS_INVALID, name);
    *tensor = right;
    tensor->device = 1;
    expect(call(f), FG_STATUS_DEVICE, name);
    *tensor = right;
    tensor->struct_size = 1;
    expect(call(f), FG_STATUS_ABI, name);
    *tensor = right;
    cr_assert_eq(call(f), FG_STATUS_OK, "%s put right: %s", name, fg_message());
}

void fg_battery_tensors(fg_backend_entry_fn entry) {
    fg_fixture f;
    open_full(&f, entry);
    for (int i = 0; i < FG_INPUTS; i++) {
        spoil(&f, &f.inputs[i], fg_input_name(i), forward);
        spoil(&f, &f.inputs[i], fg_input_name(i), backward);
        spoil(&f, &f.grads[i], fg_grad_name(i), backward);
        f.in.inputs[i] = NULL;
        expect(forward(&f), FG_STATUS_INVALID, fg_input_name(i));
        f.in.inputs[i] = &f.inputs[i];
    }
    spoil(&f, &f.splits, "splits", forward);
    spoil(&f, &f.splits, "splits", backward);
    spoil(&f, &f.y, "y", forward);
    spoil(&f, &f.dy, "dy", backward);
    fg_fixture_close(&f);
}

void fg_battery_splits(fg_backend_entry_fn entry) {
    fg_fixture f;
    open_full(&f, entry);
    int32_t *splits = f.splits.data;
    splits[1] = -1;
    expect(forward(&f), FG_STATUS_INVALID, "split");
    expect(backward(&f), FG_STATUS_INVALID, "split");
    splits[1] = ROWS;
    expect(forward(&f), FG_STATUS_SHAPE, "split");
    expect(backward(&f), FG_STATUS_SHAPE, "split");
    fg_fixture_close(&f);
}

void fg_battery_aliases(fg_backend_entry_fn entry) {
    fg_fixture f;
    open_full(&f, entry);
    fg_tensor y = f.y;
    f.y.data = f.inputs[FG_X].data;
    expect(forward(&f), FG_STATUS_ALIAS, "x");
    f.y = y;
    fg_tensor dx = f.grads[FG_X];
    f.grads[FG_X].data = f.dy.data;
    expect(backward(&f), FG_STATUS_ALIAS, "dy");
    f.grads[FG_X] = dx;
    fg_tensor dp = f.grads[FG_P];
    f.grads[FG_P].data = f.grads[FG_BIAS_P].data;
    expect(backward(&f), FG_STATUS_ALIAS, "dp");
    f.grads[FG_P] = dp;
    f.inputs[FG_BIAS_P].data = f.inputs[FG_P].data; // what is only read may be shared
    cr_assert_eq(forward(&f), FG_STATUS_OK, "%s", fg_message());
    fg_fixture_close(&f);
}

void fg_battery_mask_bits(fg_backend_entry_fn entry) {
    fg_fixture f;
    fg_problem problem = fg_problem_default(EXPERTS, 8, 8);
    problem.wgrad_dtype = problem.dtype;
    fg_fixture_open(&f, entry, &problem, ROWS, some_splits, FG_FIXTURE_TIGHT);
    fg_fixture_forward(&f, 1);
    const uint32_t absent[] = {FG_BIT(FG_B1), FG_BIT(FG_B2), FG_BIT(FG_BIAS_P),
                               FG_MASK_DY1,   FG_MASK_DH,    FG_BIT(31)};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        fg_backward_args args = fg_fixture_backward_args(&f, FG_BIT(FG_X) | absent[i], 0);
        expect(f.backend->mlp_backward(f.kernel, &args, NULL), FG_STATUS_INVALID, "mask");
    }
    const uint32_t not_added[] = {FG_BIT(FG_X), FG_BIT(FG_W1), FG_BIT(FG_W2)};
    for (size_t i = 0; i < sizeof not_added / sizeof not_added[0]; i++) {
        fg_backward_args args = fg_fixture_backward_args(&f, not_added[i], not_added[i]);
        expect(f.backend->mlp_backward(f.kernel, &args, NULL), FG_STATUS_INVALID, "accumulate");
    }
    fg_fixture_close(&f);
}

void fg_battery_buffers(fg_backend_entry_fn entry) {
    fg_fixture f;
    open_full(&f, entry);
    fg_forward_args forward_args = fg_fixture_forward_args(&f, 1);
    forward_args.scratch = NULL;
    expect(f.backend->mlp_forward(f.kernel, &forward_args, NULL), FG_STATUS_INVALID, "scratch");
    forward_args.scratch = (char *)f.scratch_forward + 1;
    expect(f.backend->mlp_forward(f.kernel, &forward_args, NULL), FG_STATUS_INVALID, "scratch");
    fg_backward_args backward_args = fg_fixture_backward_args(&f, fg_fixture_all(&f), 0);
    backward_args.saved = NULL;
    expect(f.backend->mlp_backward(f.kernel, &backward_args, NULL), FG_STATUS_INVALID, "saved");
    fg_fixture_close(&f);
}

void fg_battery_overflow(fg_backend_entry_fn entry) {
    fg_fixture f;
    open_full(&f, entry);
    fg_kernel_sizes sizes = {.struct_size = sizeof sizes};
    expect(f.backend->kernel_sizes(f.kernel, -1, &sizes), FG_STATUS_INVALID, "rows");
    expect(f.backend->kernel_sizes(f.kernel, INT64_MAX, &sizes), FG_STATUS_OVERFLOW, "rows");
    expect(f.backend->kernel_sizes(f.kernel, (int64_t)1 << 32, &sizes), FG_STATUS_OVERFLOW, "rows");
    f.in.rows = (int64_t)1 << 32;
    expect(forward(&f), FG_STATUS_OVERFLOW, "rows");
    fg_fixture_close(&f);
}

/* A kernel of device 1 takes tensors of device 1 and no others. */
static void check_other_device(fg_fixture *f) {
    fg_recipe none = fg_recipe_default(FG_RECIPE_NONE);
    fg_device *device = NULL;
    fg_kernel *kernel = NULL;
    fg_tensor *all[] = {&f->splits,           &f->y,
                        &f->inputs[FG_X],     &f->inputs[FG_W1],
                        &f->inputs[FG_B1],    &f->inputs[FG_P],
                        &f->inputs[FG_W2],    &f->inputs[FG_B2],
                        &f->inputs[FG_BIAS_P]};
    cr_assert_eq(f->backend->device_open(1, &device), FG_STATUS_OK);
    cr_assert_eq(f->backend->kernel_create(device, &f->problem, &none, &kernel), FG_STATUS_OK);
    fg_forward_args args = fg_fixture_forward_args(f, 1);
    expect(f->backend->mlp_forward(kernel, &args, NULL), FG_STATUS_DEVICE, "device 1");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        all[i]->device = 1;
    }
    cr_assert_eq(f->backend->mlp_forward(kernel, &args, NULL), FG_STATUS_OK, "%s", fg_message());
    f->backend->kernel_destroy(kernel);
    f->backend->device_close(device);
}

void fg_battery_devices(fg_backend_entry_fn entry) {
    const fg_backend *backend = table(entry);
    fg_device *device = NULL;
    for (int32_t index = -1; index <= 1; index++) {
        cr_assert_eq(backend->device_open(index, &device), FG_STATUS_OK, "%d", index);
        backend->device_close(device);
    }
    expect(backend->device_open(2, &device), FG_STATUS_DEVICE, "2");
    expect(backend->device_open(-2, &device), FG_STATUS_DEVICE, "-2");
    fg_fixture f;
    open_full(&f, entry);
    f.inputs[FG_X].device = -1;
    cr_assert_eq(forward(&f), FG_STATUS_OK, "device -1 is device 0: %s", fg_message());
    f.inputs[FG_X].device = 1;
    expect(forward(&f), FG_STATUS_DEVICE, "device 1");
    expect(forward(&f), FG_STATUS_DEVICE, "device 0");
    f.inputs[FG_X].device = 0;
    check_other_device(&f);
    fg_fixture_close(&f);
}

void fg_battery_streams(fg_backend_entry_fn entry) {
    fg_fixture f;
    open_full(&f, entry);
    fg_device *other = NULL;
    fg_stream own = NULL, foreign = NULL;
    cr_assert_eq(f.backend->device_open(1, &other), FG_STATUS_OK);
    cr_assert_eq(f.backend->stream_create(f.device, &own), FG_STATUS_OK);
    cr_assert_eq(f.backend->stream_create(other, &foreign), FG_STATUS_OK);
    fg_forward_args args = fg_fixture_forward_args(&f, 1);
    fg_backward_args back = fg_fixture_backward_args(&f, fg_fixture_all(&f), 0);
    uint32_t word = 0;
    cr_assert_eq(f.backend->mlp_forward(f.kernel, &args, own), FG_STATUS_OK);
    expect(f.backend->mlp_forward(f.kernel, &args, foreign), FG_STATUS_DEVICE, "device 1");
    expect(f.backend->mlp_backward(f.kernel, &back, foreign), FG_STATUS_DEVICE, "device 1");
    expect(f.backend->mem_fill32(f.device, &word, 1, 1, foreign), FG_STATUS_DEVICE, "device 1");
    expect(f.backend->copy_in(f.device, &word, &word, 4, foreign), FG_STATUS_DEVICE, "device 1");
    expect(f.backend->stream_sync(f.device, foreign), FG_STATUS_DEVICE, "device 1");
    expect(f.backend->stream_delay(f.device, foreign, 1), FG_STATUS_DEVICE, "device 1");
    f.backend->stream_destroy(f.device, own);
    f.backend->stream_destroy(other, foreign);
    f.backend->device_close(other);
    fg_fixture_close(&f);
}

void fg_battery_memory_devices(fg_backend_entry_fn entry) {
    const fg_backend *backend = table(entry);
    fg_device *devices[2];
    void *memory = NULL;
    for (int32_t i = 0; i < 2; i++) {
        cr_assert_eq(backend->device_open(i, &devices[i]), FG_STATUS_OK);
    }
    cr_assert_eq(backend->mem_alloc(devices[0], 16, &memory), FG_STATUS_OK);
    backend->mem_free(devices[1], memory);
    expect(backend->stream_sync(devices[1], NULL), FG_STATUS_DEVICE, "device 0");
    cr_assert_eq(backend->stream_sync(devices[1], NULL), FG_STATUS_OK, "told once");
    memset(memory, 1, 16); // still there
    backend->mem_free(devices[0], memory);
    cr_assert_eq(backend->stream_sync(devices[0], NULL), FG_STATUS_OK);
    backend->mem_free(devices[0], NULL);
    cr_assert_eq(fg_alloc_live(FG_ALLOC_DEVICE), 0);
    backend->device_close(devices[0]);
    backend->device_close(devices[1]);
}

void fg_battery_memory(fg_backend_entry_fn entry) {
    enum { WORDS = 5 };
    const fg_backend *backend = table(entry);
    fg_device *device = NULL;
    void *memory = NULL;
    uint32_t words[WORDS] = {1, 2, 3, 4, 5};
    uint32_t back[WORDS + 1] = {0};
    cr_assert_eq(backend->device_open(1, &device), FG_STATUS_OK);
    cr_assert_eq(backend->mem_alloc(device, sizeof words, &memory), FG_STATUS_OK);
    cr_assert_eq((uintptr_t)memory % 64, 0);
    cr_assert_eq(backend->copy_in(device, memory, words, sizeof words, NULL), FG_STATUS_OK);
    cr_assert_eq(backend->mem_fill32(device, (char *)memory + 4, 0xabcdef01u, 3, NULL),
                 FG_STATUS_OK);
    cr_assert_eq(backend->copy_out(device, back, memory, sizeof words, NULL), FG_STATUS_OK);
    const uint32_t want[WORDS + 1] = {1, 0xabcdef01u, 0xabcdef01u, 0xabcdef01u, 5, 0};
    cr_assert_eq(memcmp(back, want, sizeof want), 0);
    cr_assert_eq(backend->copy_out(device, NULL, NULL, 0, NULL), FG_STATUS_OK);
    backend->mem_free(device, memory);
    backend->device_close(device);
}

void fg_battery_delay(fg_backend_entry_fn entry) {
    const fg_backend *backend = table(entry);
    fg_device *device = NULL;
    struct timespec before, after;
    cr_assert_eq(backend->device_open(0, &device), FG_STATUS_OK);
    clock_gettime(CLOCK_MONOTONIC, &before);
    cr_assert_eq(backend->stream_delay(device, NULL, 3000), FG_STATUS_OK);
    cr_assert_eq(backend->stream_sync(device, NULL), FG_STATUS_OK);
    clock_gettime(CLOCK_MONOTONIC, &after);
    double passed =
        (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec);
    cr_assert(passed >= 3e-3, "%g s", passed);
    backend->device_close(device);
}

static int32_t count_query(void *user) {
    ++*(int *)user;
    return 0;
}

void fg_battery_current_device(fg_backend_entry_fn entry) {
    static int queries;
    static const fg_host host = {
        .struct_size = sizeof host, .user = &queries, .current_device = count_query};
    const fg_backend *backend = NULL;
    fg_fixture f;
    open_full(&f, entry);
    cr_assert_eq(entry(FG_BACKEND_ABI, &host, &backend), FG_STATUS_OK);
    f.backend = backend;
    cr_assert_eq(forward(&f), FG_STATUS_OK);
    cr_assert_eq(backward(&f), FG_STATUS_OK);
    cr_assert_eq(queries, 0);
    fg_fixture_close(&f);
}

void fg_battery_no_allocation(fg_backend_entry_fn entry) {
    fg_fixture f;
    open_full(&f, entry);
    int64_t calls = fg_alloc_calls();
    cr_assert_eq(forward(&f), FG_STATUS_OK);
    cr_assert_eq(backward(&f), FG_STATUS_OK);
    cr_assert_eq(fg_alloc_calls(), calls);
    fg_fixture_close(&f);
}

void fg_battery_no_memory(fg_backend_entry_fn entry) {
    fg_fixture f;
    open_full(&f, entry);
    fg_recipe none = fg_recipe_default(FG_RECIPE_NONE);
    fg_device *device = NULL;
    fg_kernel *kernel = NULL;
    fg_stream stream = NULL;
    void *memory = NULL;
    fg_alloc_fail_at(1);
    cr_assert_eq(f.backend->device_open(0, &device), FG_STATUS_NO_MEMORY);
    fg_alloc_fail_at(1);
    cr_assert_eq(f.backend->kernel_create(f.device, &f.problem, &none, &kernel),
                 FG_STATUS_NO_MEMORY);
    fg_alloc_fail_at(1);
    cr_assert_eq(f.backend->stream_create(f.device, &stream), FG_STATUS_NO_MEMORY);
    fg_alloc_fail_at(1);
    cr_assert_eq(f.backend->mem_alloc(f.device, 8, &memory), FG_STATUS_NO_MEMORY);
    cr_assert(device == NULL && kernel == NULL && stream == NULL && memory == NULL);
    fg_alloc_fail_at(0);
    fg_fixture_close(&f);
}

void fg_battery_gives_back(fg_backend_entry_fn entry) {
    size_t before = fg_alloc_live_total();
    fg_fixture f;
    fg_stream stream = NULL;
    void *memory = NULL;
    open_full(&f, entry);
    cr_assert_eq(f.backend->stream_create(f.device, &stream), FG_STATUS_OK);
    cr_assert_eq(f.backend->mem_alloc(f.device, 100, &memory), FG_STATUS_OK);
    cr_assert(fg_alloc_live_total() > before);
    f.backend->mem_free(f.device, memory);
    f.backend->stream_destroy(f.device, stream);
    f.backend->mem_free(f.device, NULL);
    f.backend->stream_destroy(f.device, NULL);
    f.backend->kernel_destroy(NULL);
    f.backend->device_close(NULL);
    fg_fixture_close(&f);
    cr_assert_eq(fg_alloc_live_total(), before);
}

void fg_battery_last_error(fg_backend_entry_fn entry) {
    const fg_backend *backend = table(entry);
    fg_device *device = NULL;
    fg_device *missing = NULL;
    cr_assert_eq(backend->device_open(0, &device), FG_STATUS_OK);
    cr_assert_eq(backend->device_open(7, &missing), FG_STATUS_DEVICE);
    const char *text = backend->last_error(device);
    cr_assert(text != NULL && strstr(text, "device 7") != NULL, "%s", text);
    backend->device_close(device);
}
