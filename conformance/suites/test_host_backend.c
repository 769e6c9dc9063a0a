#include "conformance/suites/backend_fixture.h"
#include "conformance/suites/backend_judge.h"
#include "conformance/suites/battery_list.h"
#include "reference/host_backend.h"
#include "reference/host_tile.h"
#include "reference/reference_backend.h"
#include <criterion/criterion.h>
#include <string.h>

#define FG_BATTERY_TEST(property, body)                                                            \
    Test(host_backend, property) {                                                                 \
        fg_battery_##body(fg_host_backend_entry);                                                  \
    }
FG_BATTERY_LIST(FG_BATTERY_TEST)

Test(host_backend, rounding_points_are_those_of_a_fused_kernel) {
    fg_fixture f;
    fg_problem problem = fg_problem_default(1, 8, 8);
    fg_fixture_open(&f, fg_host_backend_entry, &problem, 1, &(int64_t){1}, FG_FIXTURE_TIGHT);
    cr_assert_eq(f.traits.rounding, FG_ROUND_HIDDEN | FG_ROUND_Y1_SAVED | FG_ROUND_DACT);
    fg_fixture_close(&f);
}

Test(host_backend, sizes_around_the_tiles_lie_within_bounds) {
    static const struct {
        int64_t rows, inter;
        int32_t interleave;
    } sizes[] = {
        {FG_HOST_ROW_TILE - 1, FG_HOST_UNIT_TILE - 1, 0},
        {FG_HOST_ROW_TILE, FG_HOST_UNIT_TILE, 32},
        {FG_HOST_ROW_TILE + 1, FG_HOST_UNIT_TILE + 1, 0},
        {2 * FG_HOST_ROW_TILE + 1, FG_HOST_UNIT_TILE + 32, (FG_HOST_UNIT_TILE + 32) / 2},
        {FG_HOST_ROW_BLOCK + 1, 2 * FG_HOST_UNIT_TILE + 1, 1},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        fg_fixture f;
        fg_problem problem = fg_problem_default(2, 16, sizes[i].inter);
        int64_t splits[2] = {1, sizes[i].rows};
        problem.bias = 1;
        problem.interleave = sizes[i].interleave;
        fg_fixture_open(&f, fg_host_backend_entry, &problem, sizes[i].rows + 1, splits,
                        FG_FIXTURE_TIGHT);
        fg_fixture_forward(&f, 1);
        fg_fixture_backward(&f, fg_fixture_all(&f), 0);
        fg_fixture_judge(&f, fg_fixture_text(&problem), fg_fixture_all(&f), 0);
        fg_fixture_close(&f);
    }
}

static fg_kernel_sizes sizes_at(fg_backend_entry_fn entry, int64_t hidden, int64_t inter,
                                int64_t rows) {
    fg_fixture f;
    fg_kernel_sizes sizes = {.struct_size = sizeof sizes};
    fg_problem problem = fg_problem_default(1, hidden, inter);
    fg_fixture_open(&f, entry, &problem, 0, &(int64_t){0}, FG_FIXTURE_TIGHT);
    cr_assert_eq(f.backend->kernel_sizes(f.kernel, rows, &sizes), FG_STATUS_OK);
    fg_fixture_close(&f);
    return sizes;
}

Test(host_backend, forward_scratch_does_not_grow_with_rows) {
    fg_kernel_sizes block = sizes_at(fg_host_backend_entry, 64, 64, FG_HOST_ROW_BLOCK);
    fg_kernel_sizes many = sizes_at(fg_host_backend_entry, 64, 64, 1000000);
    cr_assert_eq(many.scratch_forward, block.scratch_forward);
    cr_assert(many.scratch_forward > 0);
}

Test(host_backend, forward_without_gradients_holds_no_full_intermediate) {
    int64_t rows = 512, width = 1024;
    fg_kernel_sizes host = sizes_at(fg_host_backend_entry, width, width, rows);
    fg_kernel_sizes reference = sizes_at(fg_reference_backend_entry, width, width, rows);
    cr_assert(4 * host.scratch_forward <= reference.scratch_forward, "%zu of %zu",
              host.scratch_forward, reference.scratch_forward);
}

Test(host_backend, saved_holds_y1_in_the_io_type) {
    fg_kernel_sizes sizes = sizes_at(fg_host_backend_entry, 64, 48, 10);
    cr_assert_eq(sizes.saved, 10u * 2u * 48u * 2u);
}

Test(host_backend, runs_shorter_than_the_whole_are_refused) {
    const fg_backend *backend = NULL;
    static const fg_host host = {.struct_size = sizeof host};
    fg_recipe none = fg_recipe_default(FG_RECIPE_NONE);
    fg_device *device = NULL;
    cr_assert_eq(fg_host_backend_entry(FG_BACKEND_ABI, &host, &backend), FG_STATUS_OK);
    cr_assert_eq(backend->device_open(0, &device), FG_STATUS_OK);
    for (int32_t first = 0; first < FG_OP_COUNT; first++) {
        for (int32_t count = 1; first + count <= FG_OP_COUNT; count++) {
            char reason[FG_REASON_SIZE] = "";
            fg_problem problem = fg_problem_default(1, 8, 8);
            problem.first_op = first;
            problem.op_count = count;
            fg_status status = backend->supports(device, &problem, &none, reason);
            cr_assert_eq(status, count == FG_OP_COUNT ? FG_STATUS_OK : FG_STATUS_UNSUPPORTED);
            cr_assert_eq(strstr(reason, "whole MLP") != NULL, count != FG_OP_COUNT);
        }
    }
    backend->device_close(device);
}
