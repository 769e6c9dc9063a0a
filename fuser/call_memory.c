#include "fuser/call_memory.h"
#include "contract/alloc.h"

#define LINE 64 /* pieces share no cache line */

fg_layout fg_layout_begin(const fg_fuser_device *device) {
    size_t align = (size_t)device->traits.base_align;
    return (fg_layout){.align = align > LINE ? align : LINE};
}

fg_status fg_layout_add(fg_layout *layout, size_t bytes, size_t *offset) {
    size_t end = 0;
    *offset = layout->bytes;
    FG_TRY(fg_size_add(layout->bytes, bytes, &end));
    FG_TRY(fg_size_add(end, layout->align - 1, &end));
    layout->bytes = end / layout->align * layout->align;
    return FG_STATUS_OK;
}

fg_status fg_layout_add_edge(fg_layout *layout, const fg_problem *problem,
                             const fg_fuser_device *device, int32_t edge, int64_t rows,
                             fg_tensor *out, size_t *offset) {
    const int64_t cols = edge == FG_OP_ACTIVATION ? fg_problem_o1(problem) : problem->inter;
    const int64_t dims[2] = {rows, cols};
    const int64_t size = (int64_t)fg_dtype_size((fg_dtype)problem->dtype);
    const int64_t align = device->traits.row_align > size ? device->traits.row_align / size : 1;
    const int64_t stride = (cols + align - 1) / align * align;
    int64_t bytes = 0;
    FG_TRY(fg_extent_mul(rows, stride * size, &bytes));
    *out = fg_tensor_tight(NULL, (fg_dtype)problem->dtype, device->index, 2, dims);
    out->strides[0] = stride;
    return fg_layout_add(layout, (size_t)bytes, offset);
}
