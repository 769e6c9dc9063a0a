#ifndef FG_CONFORMANCE_SUITES_TINY_BACKEND_H
#define FG_CONFORMANCE_SUITES_TINY_BACKEND_H

#include "contract/backend.h"
#include <stdatomic.h>

/* A backend for tests of the fuser: float32, one number for each row, so that a result can be
 * worked out by hand, and a log of what it was asked for.
 *   y1[t] = x[t] w1 + b1      h[t] = p[t] y1[t]      y[t] = h[t] w2 + s b2
 * x[t], w1 .. are the first element of the row or tensor, s is 1, p[t] or bias_p[t]; y1, h, y, dx
 * are written into the first element of each row. It claims what `refused` leaves. */

#define TINY_CALLS 64

enum { TINY_CREATE = 0, TINY_FORWARD = 1, TINY_BACKWARD = 2, TINY_RELEASE = 3 };

typedef struct tiny_call {
    int32_t what; /* TINY_* */
    int32_t device, first, count;
    fg_stream stream;
    const void *kernel, *saved, *scratch;
    int32_t has_y1, has_h, has_dy, has_dh, has_dy1;
    uint32_t inputs; /* that came */
    uint32_t mask, accumulate, grads;
    float scale;     /* of role x, 0 without */
    int32_t records; /* an amax for role x came */
    fg_recipe recipe;
    int64_t rows;
} tiny_call;

/* What the backend does and did; a test sets it up and reads it. */
typedef struct tiny_state {
    uint32_t refused;       /* bit 3 first + count - 1: a run that it does not do */
    int32_t refused_recipe; /* -1, or a kind that it refuses on every run */
    int32_t fail_forward_at, fail_backward_at; /* op whose kernel fails, -1 none */
    int32_t fail_create;
    fg_status fail_traits, fail_supports; /* what these return when it is not FG_STATUS_OK */
    void (*in_forward)(void);             /* called inside a forward, or NULL */
    fg_traits traits;
    atomic_int kernels_alive, devices_open;
    atomic_llong supports_calls, allocations;
    int32_t call_count;
    tiny_call calls[TINY_CALLS];
} tiny_state;

/* The one state; tiny_reset puts its defaults back. */
extern tiny_state tiny;
void tiny_reset(void);

/* The last call of a kind, the n-th from the end (0: the last), or NULL. */
const tiny_call *tiny_last(int32_t what, int32_t n);

/* How many calls of a kind were logged. */
int32_t tiny_count(int32_t what);

const fg_backend *tiny_backend(void);

#endif
