#include "conformance/suites/fuser_asserts.h"
#include "contract/alloc.h"
#include "fuser/call_memory.h"

/* What calls allocate, reuse and give back. */

static fuser_rig rig;
static fg_recipe none, delayed;

static void set_up(void) {
    rig_init(&rig, 0);
    none = fg_recipe_default(FG_RECIPE_NONE);
    delayed = fg_recipe_default(FG_RECIPE_DELAYED);
}

static void open_rig(void) {
    set_up();
    must_create(&rig);
}

static void close_rig(void) {
    must_destroy(&rig);
}

static void use_everything(const fg_recipe *recipe) {
    fg_token *token = NULL;
    fg_context *context = NULL;
    cr_assert_eq(rig.api->forward(rig.executor, FG_NO_GRAD, recipe, 0, &rig.in, &rig.y, NULL,
                                  &token, &context),
                 FG_STATUS_OK);
    cr_assert_eq(rig.api->forward(rig.executor, FG_GRAD, recipe, ALL_INPUTS, &rig.in, &rig.y, token,
                                  NULL, &context),
                 FG_STATUS_OK);
    rig.api->token_release(rig.executor, token);
    must_backward(&rig, context, ALL_INPUTS);
    check_y(&rig);
    check_grads(&rig, ALL_INPUTS);
    rig.api->context_release(rig.executor, context);
}

Test(fuser_memory, a_call_repeated_on_one_stream_allocates_nothing) {
    for (int32_t unfused = 0; unfused < 2; unfused++) {
        set_up();
        rig.options.unfused = unfused;
        must_create(&rig);
        for (int i = 0; i < 3; i++) { // until each size has found its buffer
            use_everything(&delayed);
        }
        const int64_t before = fg_alloc_calls(), on_device = tiny.allocations;
        for (int i = 0; i < 10; i++) {
            use_everything(&delayed);
        }
        cr_assert_eq(fg_alloc_calls(), before);
        cr_assert_eq(tiny.allocations, on_device);
        must_destroy(&rig);
    }
}

Test(fuser_memory, fewer_rows_fit_in_the_memory_of_more, .init = open_rig, .fini = close_rig) {
    must_train(&rig, &none, ALL_INPUTS);
    const int64_t before = fg_alloc_calls();
    rig.in.rows = 1;
    must_train(&rig, &none, ALL_INPUTS);
    cr_assert_eq(fg_alloc_calls(), before);
}

Test(fuser_memory, zero_rows_are_a_valid_call, .init = set_up, .fini = close_rig) {
    rig.options.unfused = 1;
    must_create(&rig);
    rig.in.rows = 0;
    rig.y.dims[0] = rig.inputs[FG_X].dims[0] = 0;
    must_train(&rig, &none, ALL_INPUTS);
    cr_assert_eq(tiny_last(TINY_BACKWARD, 0)->rows, 0);
}

Test(fuser_memory, rows_that_the_backend_refuses_are_an_error_of_the_call, .init = open_rig,
     .fini = close_rig) {
    fg_context *context = NULL;
    rig.in.rows = 1001;
    cr_assert_eq(rig_forward(&rig, &none, FG_GRAD, ALL_INPUTS, &context), FG_STATUS_UNSUPPORTED);
    cr_assert(strstr(fg_message(), "1001"), "%s", fg_message());
    cr_assert_null(context);
    rig.in.rows = RIG_ROWS;
    must_train(&rig, &none, ALL_INPUTS);
    check_counts(&rig, 1, 1);
}

Test(fuser_memory, streams_that_never_come_back_hold_bounded_memory, .init = set_up,
     .fini = close_rig) {
    rig.moving = 1;
    must_create(&rig);
    for (int i = 0; i < 20; i++) {
        use_everything(&none);
    }
    const size_t before = fg_alloc_live_total();
    for (int i = 0; i < 200; i++) {
        use_everything(&none);
    }
    cr_assert_leq(fg_alloc_live_total(), before);
}

static const void *outer_scratch, *inner_scratch;

/* A forward inside a forward's kernel: no lock is held there, and its memory is its own. */
static void nested_forward(void) {
    tiny.in_forward = NULL;
    outer_scratch = tiny_last(TINY_FORWARD, 0)->scratch;
    must_infer(&rig, &none);
    inner_scratch = tiny_last(TINY_FORWARD, 0)->scratch;
}

Test(fuser_memory, calls_in_flight_share_no_scratch_and_no_lock_is_held, .init = open_rig,
     .fini = close_rig) {
    must_infer(&rig, &none);
    tiny.in_forward = nested_forward;
    must_infer(&rig, &none);
    cr_assert_not_null(inner_scratch);
    cr_assert_neq(inner_scratch, outer_scratch);
}

Test(fuser_memory, contexts_share_no_saved_memory, .init = open_rig, .fini = close_rig) {
    fg_context *contexts[4];
    const void *saved[4];
    for (int i = 0; i < 4; i++) {
        contexts[i] = must_forward(&rig, &none, ALL_INPUTS);
        saved[i] = tiny_last(TINY_FORWARD, 0)->saved;
        for (int k = 0; k < i; k++) {
            cr_assert_neq(saved[i], saved[k]);
        }
    }
    for (int i = 0; i < 4; i++) {
        must_backward(&rig, contexts[i], ALL_INPUTS);
        check_grads(&rig, ALL_INPUTS);
        rig.api->context_release(rig.executor, contexts[i]);
    }
}

Test(fuser_memory, memory_is_aligned_as_the_device_asks) {
    set_up();
    tiny.traits.base_align = 4096;
    rig.options.unfused = 1;
    must_create(&rig);
    use_everything(&delayed);
    for (int i = 0; i < 3; i++) {
        const tiny_call *call = tiny_last(TINY_FORWARD, i);
        const uintptr_t base = (uintptr_t)tiny_last(TINY_FORWARD, 2)->saved;
        cr_assert_eq(((uintptr_t)call->saved - base) % 4096, 0);
    }
    must_destroy(&rig);
}

/* Everything that a short life of a fuser does; the first status that is not OK ends it. */
static fg_status short_life(const fg_recipe *recipe) {
    fg_context *context = NULL, *later = NULL;
    fg_token *token = NULL;
    fg_status status = rig_create(&rig);
    if (status != FG_STATUS_OK) {
        return status;
    }
    status = rig.api->forward(rig.executor, FG_NO_GRAD, recipe, 0, &rig.in, &rig.y, NULL, &token,
                              &context);
    if (status == FG_STATUS_OK) {
        status = rig.api->forward(rig.executor, FG_GRAD, recipe, ALL_INPUTS, &rig.in, &rig.y, token,
                                  NULL, &context);
    }
    if (status == FG_STATUS_OK) {
        status = rig_backward(&rig, context, ALL_INPUTS, 0);
    }
    if (status == FG_STATUS_OK) {
        fg_recipe longer = *recipe;
        longer.history *= 2;
        status = rig_forward(&rig, &longer, FG_GRAD, FG_BIT(FG_W2), &later);
    }
    rig.api->context_release(rig.executor, context);
    rig.api->context_release(rig.executor, later);
    rig.api->token_release(rig.executor, token);
    rig_destroy(&rig);
    return status;
}

Test(fuser_memory, every_failing_allocation_is_a_status_and_leaks_nothing) {
    const size_t before = fg_alloc_live_total();
    for (int32_t unfused = 0; unfused < 2; unfused++) {
        int64_t n = 1;
        for (fg_status status = FG_STATUS_NO_MEMORY; status != FG_STATUS_OK; n++) {
            set_up();
            rig.options.unfused = unfused;
            fg_alloc_fail_at(n);
            status = short_life(&delayed);
            fg_alloc_fail_at(0);
            cr_assert(status == FG_STATUS_OK || status == FG_STATUS_NO_MEMORY, "%s at %d",
                      fg_status_name(status), (int)n);
            cr_assert_eq(fg_alloc_live_total(), before, "a leak after failure %d", (int)n);
            cr_assert_eq(tiny.kernels_alive, 0);
            cr_assert_eq(tiny.devices_open, 0);
        }
        cr_assert_gt(n, 25, "the short life has that many allocations");
    }
}

Test(fuser_memory, a_call_after_a_failed_one_is_right, .init = open_rig, .fini = close_rig) {
    for (int64_t n = 1; n < 20; n++) {
        fg_context *context = NULL;
        fg_alloc_fail_at(n);
        if (rig_forward(&rig, &delayed, FG_GRAD, ALL_INPUTS, &context) == FG_STATUS_OK) {
            fg_alloc_fail_at(0);
            must_backward(&rig, context, ALL_INPUTS);
            check_grads(&rig, ALL_INPUTS);
            rig.api->context_release(rig.executor, context);
        }
        fg_alloc_fail_at(0);
    }
    check_counts(&rig, 1, 1);
}

static fg_buffer_pool pool;

static void open_pool(void) {
    tiny_reset();
    cr_assert_eq(fg_buffer_pool_init(&pool, tiny_backend(), NULL), FG_STATUS_OK);
}

static fg_buffer *must_take(size_t bytes, uintptr_t stream) {
    fg_buffer *buffer = NULL;
    cr_assert_eq(fg_buffer_take(&pool, bytes, (fg_stream)stream, &buffer), FG_STATUS_OK);
    cr_assert_geq(buffer->bytes, bytes);
    return buffer;
}

Test(fuser_memory, a_buffer_goes_only_to_the_stream_that_used_it, .init = open_pool) {
    fg_buffer *buffer = must_take(100, 1);
    fg_buffer_give(&pool, buffer, (fg_stream)(uintptr_t)2);
    fg_buffer *other = must_take(100, 1);
    cr_assert_neq(other, buffer);
    cr_assert_eq(must_take(100, 2), buffer);
    fg_buffer_give(&pool, buffer, NULL);
    fg_buffer_give(&pool, other, NULL);
    fg_buffer_pool_release(&pool);
    cr_assert_eq(fg_alloc_live(FG_ALLOC_DEVICE), 0);
}

Test(fuser_memory, the_smallest_buffer_that_fits_is_taken, .init = open_pool) {
    fg_buffer *const large = must_take(1000, 1), *const small = must_take(100, 1);
    fg_buffer *const middle = must_take(500, 1);
    fg_buffer_give(&pool, small, (fg_stream)(uintptr_t)1);
    fg_buffer_give(&pool, large, (fg_stream)(uintptr_t)1);
    fg_buffer_give(&pool, middle, (fg_stream)(uintptr_t)1);
    cr_assert_eq(must_take(200, 1), middle);
    cr_assert_eq(must_take(200, 1), large);
    cr_assert_eq(must_take(100, 1), small);
    fg_buffer *const more = must_take(1, 1);
    cr_assert(more != small && more != middle && more != large);
    fg_buffer_give(&pool, more, NULL);
    fg_buffer_give(&pool, small, NULL);
    fg_buffer_give(&pool, middle, NULL);
    fg_buffer_give(&pool, large, NULL);
    fg_buffer_give(&pool, NULL, NULL);
    fg_buffer_pool_release(&pool);
}

Test(fuser_memory, pieces_of_a_block_are_aligned_and_apart) {
    fg_fuser_device device = {.traits = {.base_align = 256}};
    fg_layout layout = fg_layout_begin(&device);
    size_t first = 1, second = 0, third = 0;
    cr_assert_eq(fg_layout_add(&layout, 1, &first), FG_STATUS_OK);
    cr_assert_eq(fg_layout_add(&layout, 257, &second), FG_STATUS_OK);
    cr_assert_eq(fg_layout_add(&layout, 0, &third), FG_STATUS_OK);
    cr_assert(first == 0 && second == 256 && third == 768 && layout.bytes == 768);
    cr_assert_eq(fg_layout_add(&layout, SIZE_MAX - 800, &third), FG_STATUS_OVERFLOW);
    cr_assert_eq(fg_layout_add(&layout, SIZE_MAX, &third), FG_STATUS_OVERFLOW);
}

Test(fuser_memory, an_edge_has_the_row_stride_that_the_device_asks_for) {
    fg_fuser_device device = {.index = 1, .traits = {.base_align = 64, .row_align = 32}};
    fg_problem problem = fg_problem_default(2, 8, 12); // SwiGLU: y1 has 24 columns, h 12; bf16
    fg_layout layout = fg_layout_begin(&device);
    fg_tensor y1, h;
    size_t offset = 0;
    cr_assert_eq(fg_layout_add_edge(&layout, &problem, &device, 1, 5, &y1, &offset), FG_STATUS_OK);
    cr_assert(y1.dims[0] == 5 && y1.dims[1] == 24 && y1.strides[0] == 32 && y1.strides[1] == 1);
    cr_assert(y1.device == 1 && y1.dtype == FG_BF16 && offset == 0);
    cr_assert_eq(fg_layout_add_edge(&layout, &problem, &device, 2, 5, &h, &offset), FG_STATUS_OK);
    cr_assert(h.dims[1] == 12 && h.strides[0] == 16 && offset == 320);
    cr_assert_eq(layout.bytes, 320 + 192);
    device.traits.row_align = 1;
    cr_assert_eq(fg_layout_add_edge(&layout, &problem, &device, 1, 5, &y1, &offset), FG_STATUS_OK);
    cr_assert_eq(y1.strides[0], 24);
    cr_assert_eq(fg_layout_add_edge(&layout, &problem, &device, 1, INT64_MAX / 8, &y1, &offset),
                 FG_STATUS_OVERFLOW);
}
