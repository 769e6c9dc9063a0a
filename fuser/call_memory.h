#ifndef FG_FUSER_CALL_MEMORY_H
#define FG_FUSER_CALL_MEMORY_H

#include "fuser/plan.h"

/* Lays several pieces out in one block: each begins aligned for the device. */
typedef struct fg_layout {
    size_t align, bytes;
} fg_layout;

fg_layout fg_layout_begin(const fg_fuser_device *device);

/* Adds a piece and gives its offset; FG_STATUS_OVERFLOW. */
fg_status fg_layout_add(fg_layout *layout, size_t bytes, size_t *offset);

/* View of an inner edge (1: y1 [T, O1], 2: h [T, F]) or of its gradient in a block still to come:
 * row stride as the device wants it, `data` NULL. Adds its bytes to the layout. */
fg_status fg_layout_add_edge(fg_layout *layout, const fg_problem *problem,
                             const fg_fuser_device *device, int32_t edge, int64_t rows,
                             fg_tensor *out, size_t *offset);

#endif
