#ifndef FG_CONFORMANCE_WORKER_RECORDER_H
#define FG_CONFORMANCE_WORKER_RECORDER_H

#include "conformance/process/client.h"
#include "contract/backend.h"

/* The test backend `recorder`: wraps `reference`, accepts every recipe (and computes recipe none's
 * numbers), has devices -1, 0 and 1, and logs what reaches it, so that plans and streams are
 * counted outside the executor that runs on it. Entry as FG_BACKEND_ENTRY. */
fg_status fg_recorder_backend_entry(uint32_t abi, const fg_host *host, const fg_backend **out);

/* Counts of the whole process since it started, in the recorder's part of fg_outside_counts; the
 * rest of *out is left as it is. Threads may call it at once. */
void fg_recorder_counts(fg_outside_counts *out);

enum { FG_RECORDED_CREATE = 0, FG_RECORDED_FORWARD = 1, FG_RECORDED_BACKWARD = 2 };

/* One thing that reached the recorder. */
typedef struct fg_recorded {
    int32_t what; /* FG_RECORDED_* */
    int32_t device;
    int32_t first_op, op_count;
    int64_t kernel;             /* serial number, from 1 */
    int64_t stream;             /* serial number of the stream, 0 for the default one */
    uint32_t mask;              /* of a backward */
    int32_t saving;             /* a forward with saved != NULL */
    fg_recipe recipe;           /* the kernel's */
    float scale[FG_ROLE_SLOTS]; /* first scale of each role, 0 where there is none */
} fg_recorded;

/* The last things recorded, oldest first, at most `capacity` (and at most 64); returns how many. */
int32_t fg_recorder_log(fg_recorded *out, int32_t capacity);

#endif
