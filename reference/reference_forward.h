#ifndef FG_REFERENCE_REFERENCE_FORWARD_H
#define FG_REFERENCE_REFERENCE_FORWARD_H

#include "reference/backend_args.h"

/* Where the intermediates of a call are, each [T, ..] in the I/O type: the caller's tensors where
 * the call has them, else cut from saved or scratch. */
typedef struct fg_intermediates {
    fg_tensor y1, h;
} fg_intermediates;

/* What a whole run's forward saves: y1, then h. With `saved` NULL the views have no data. */
fg_intermediates fg_reference_saved(const fg_problem *problem, int64_t rows, void *saved);

/* Bytes that a whole run saves, 0 for shorter runs, and bytes of scratch. */
fg_status fg_reference_saved_bytes(const fg_problem *problem, int64_t rows, size_t *out);
fg_status fg_reference_forward_bytes(const fg_problem *problem, int64_t rows, size_t *out);

/* Any run of basic ops, one op after another over all experts. */
void fg_reference_forward(const fg_call *call, void *saved, void *scratch);

#endif
