/* The sample plugin, loaded as a vendor's would be. */

#include "conformance/suites/backend_fixture.h"
#include "conformance/suites/backend_judge.h"
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* build/VARIANT/plugins/plain_backend.so, beside the folder of this program. */
static const char *plugin_path(void) {
    static char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
    cr_assert(length > 0);
    path[length] = '\0';
    for (int i = 0; i < 2; i++) {
        *strrchr(path, '/') = '\0';
    }
    strcat(path, "/plugins/plain_backend.so");
    return path;
}

static fg_backend_entry_fn load_entry(void) {
    void *library = dlopen(plugin_path(), RTLD_NOW | RTLD_LOCAL);
    cr_assert(library != NULL, "%s", dlerror());
    void *symbol = dlsym(library, FG_BACKEND_ENTRY);
    fg_backend_entry_fn entry = NULL;
    cr_assert(symbol != NULL, "%s", dlerror());
    memcpy(&entry, &symbol, sizeof entry);
    return entry;
}

Test(plain_plugin, needs_no_symbol_of_ours) {
    char command[PATH_MAX + 32], line[256];
    int lines = 0;
    snprintf(command, sizeof command, "nm -D --undefined-only '%s'", plugin_path());
    FILE *pipe = popen(command, "r");
    cr_assert(pipe != NULL);
    while (fgets(line, sizeof line, pipe) != NULL) {
        lines++;
        cr_assert(strstr(line, "fg_") == NULL && strstr(line, "blas") == NULL, "%s", line);
    }
    cr_assert_eq(pclose(pipe), 0);
    cr_assert(lines > 0);
}

Test(plain_plugin, other_abi_versions_are_refused) {
    const fg_backend *backend = NULL;
    fg_backend_entry_fn entry = load_entry();
    cr_assert_eq(entry(FG_BACKEND_ABI + 1, NULL, &backend), FG_STATUS_ABI);
    cr_assert_null(backend);
}

static fg_problem plain_problem(int32_t dtype) {
    fg_problem problem = fg_problem_default(4, 16, 24);
    problem.dtype = dtype;
    return problem;
}

static const int64_t some_splits[4] = {7, 0, 12, 1};

Test(plain_plugin, random_outputs_lie_within_their_bounds) {
    static const int32_t dtypes[] = {FG_F32, FG_BF16};
    for (int i = 0; i < 4; i++) {
        fg_fixture f;
        fg_problem problem = plain_problem(dtypes[i % 2]);
        problem.prob = i / 2;
        fg_fixture_open(&f, load_entry(), &problem, 25, some_splits, i / 2);
        fg_fixture_forward(&f, 1);
        fg_fixture_backward(&f, fg_fixture_all(&f), 0);
        fg_fixture_judge(&f, fg_fixture_text(&problem), fg_fixture_all(&f), 0);
        fg_fixture_close(&f);
    }
}

Test(plain_plugin, accumulated_gradients_hold_the_old_content_once) {
    fg_fixture f;
    fg_problem problem = plain_problem(FG_BF16);
    uint32_t added = FG_BIT(FG_W1) | FG_BIT(FG_W2) | FG_BIT(FG_P);
    fg_fixture_open(&f, load_entry(), &problem, 25, some_splits, FG_FIXTURE_TIGHT);
    fg_fixture_forward(&f, 1);
    fg_fixture_backward(&f, fg_fixture_all(&f), added);
    fg_fixture_judge(&f, fg_fixture_text(&problem), fg_fixture_all(&f), added);
    fg_fixture_close(&f);
}

Test(plain_plugin, nothing_but_wanted_elements_changes) {
    fg_fixture f;
    fg_problem problem = plain_problem(FG_BF16);
    fg_fixture_open(&f, load_entry(), &problem, 25, some_splits, FG_FIXTURE_PADDED);
    fg_fixture_forward(&f, 1);
    cr_assert_eq(fg_fixture_strays(&f, 0, 1), 0);
    for (uint32_t mask = 0; mask <= fg_fixture_all(&f); mask++) {
        if ((mask & ~fg_fixture_all(&f)) == 0) {
            fg_fixture_backward(&f, mask, 0);
            cr_assert_eq(fg_fixture_strays(&f, mask, 0), 0, "mask 0x%x", mask);
        }
    }
    fg_fixture_close(&f);
}

Test(plain_plugin, rows_do_not_depend_on_each_other) {
    fg_fixture many, one;
    fg_problem problem = fg_problem_default(1, 16, 24);
    fg_fixture_open(&many, load_entry(), &problem, 5, &(int64_t){5}, FG_FIXTURE_TIGHT);
    fg_fixture_open(&one, load_entry(), &problem, 1, &(int64_t){1}, FG_FIXTURE_TIGHT);
    cr_assert_eq(many.traits.row_invariant, 1);
    const fg_tensor *weights[] = {&many.inputs[FG_W1], &many.inputs[FG_W2]};
    for (int i = 0; i < 2; i++) {
        one.inputs[i == 0 ? FG_W1 : FG_W2].data = weights[i]->data;
    }
    one.inputs[FG_X].data = fg_tensor_row(&many.inputs[FG_X], 3);
    one.inputs[FG_P].data = fg_tensor_row(&many.inputs[FG_P], 3);
    fg_fixture_forward(&many, 0);
    fg_fixture_forward(&one, 0);
    cr_assert_eq(memcmp(fg_tensor_row(&many.y, 3), one.y.data, 16 * sizeof(uint16_t)), 0);
    fg_fixture_close(&many);
    fg_fixture_close(&one);
}

Test(plain_plugin, wrong_splits_are_refused) {
    for (int32_t bad = -1; bad <= 26; bad += 27) {
        fg_fixture f;
        fg_problem problem = plain_problem(FG_BF16);
        fg_fixture_open(&f, load_entry(), &problem, 25, some_splits, FG_FIXTURE_TIGHT);
        ((int32_t *)f.splits.data)[2] = bad;
        fg_forward_args forward = fg_fixture_forward_args(&f, 1);
        fg_backward_args backward = fg_fixture_backward_args(&f, fg_fixture_all(&f), 0);
        cr_assert_eq(f.backend->mlp_forward(f.kernel, &forward, NULL), FG_STATUS_SHAPE);
        cr_assert_eq(f.backend->mlp_backward(f.kernel, &backward, NULL), FG_STATUS_SHAPE);
        cr_assert(strstr(f.backend->last_error(f.device), "splits") != NULL);
        fg_fixture_close(&f);
    }
}

Test(plain_plugin, everything_else_is_refused_with_a_reason) {
    const fg_backend *backend = NULL;
    fg_device *device = NULL;
    fg_recipe none = fg_recipe_default(FG_RECIPE_NONE);
    fg_recipe current = fg_recipe_default(FG_RECIPE_CURRENT);
    fg_problem right = plain_problem(FG_BF16);
    fg_problem wrong[9];
    cr_assert_eq(load_entry()(FG_BACKEND_ABI, NULL, &backend), FG_STATUS_OK);
    cr_assert_eq(backend->device_open(-1, &device), FG_STATUS_OK);
    for (int i = 0; i < 9; i++) {
        wrong[i] = right;
    }
    wrong[0].dtype = FG_F16;
    wrong[1].activation = FG_ACT_SRELU;
    wrong[2].interleave = 8;
    wrong[3].bias = 1;
    wrong[4].op_count = 2;
    wrong[5].wgrad_dtype = FG_BF16;
    wrong[6].splits_dtype = FG_I64;
    wrong[7].weight_order = FG_WEIGHTS_IO;
    wrong[8].segment_align = 16;
    for (int i = 0; i < 10; i++) {
        char reason[FG_REASON_SIZE] = "";
        const fg_problem *problem = i < 9 ? &wrong[i] : &right;
        const fg_recipe *recipe = i < 9 ? &none : &current;
        cr_assert_eq(backend->supports(device, problem, recipe, reason), FG_STATUS_UNSUPPORTED,
                     "%d", i);
        cr_assert(strncmp(reason, "plain takes no ", 15) == 0, "%d: %s", i, reason);
    }
    backend->device_close(device);
}
