#ifndef FG_CONTRACT_BACKEND_H
#define FG_CONTRACT_BACKEND_H

/* The backend ABI, version 1: what a kernel vendor implements. A plugin includes this header only,
 * links nothing of ours, and exports fg_backend_entry.
 *
 * Every struct begins with its size: the caller sets it in every struct that it passes, the callee
 * reads and writes no further, and a field past it has its zero default. Numbers never change. */

#include "contract/problem.h"
#include "contract/recipe.h"

#define FG_BACKEND_ABI 1u
#define FG_REASON_SIZE 256

typedef struct fg_device fg_device; /* the backend's own */
typedef struct fg_kernel fg_kernel; /* the backend's own */
typedef void *fg_stream;            /* the backend's own */

/* What the host offers a backend. `current_device` is there to be counted: a right backend never
 * calls it. */
typedef struct fg_host {
    size_t struct_size;
    void *user;
    void (*log)(void *user, const char *text);
    int32_t (*current_device)(void *user);
} fg_host;

enum { FG_MEMORY_HOST = 0, FG_MEMORY_DEVICE = 1 };

/* Rounding points: a set flag says that the value is rounded (nearest even) to the I/O type. */
enum {
    FG_ROUND_Y1_FORWARD = 1 << 0,   /* pre-activation before the forward's activation reads it */
    FG_ROUND_BIAS_AFTER = 1 << 1,   /* a GEMM result before its bias is added, then again */
    FG_ROUND_ACT = 1 << 2,          /* f(gate) before it meets the linear half */
    FG_ROUND_GATED = 1 << 3,        /* f(gate) * linear before it meets p */
    FG_ROUND_PROB = 1 << 4,         /* p and bias_p before use, also where they scale b2 */
    FG_ROUND_HIDDEN = 1 << 5,       /* h before FC2 */
    FG_ROUND_Y1_SAVED = 1 << 6,     /* the backward reads the pre-activation rounded */
    FG_ROUND_HIDDEN_SAVED = 1 << 7, /* dW2 takes the forward's h; clear: h computed again from
                                       what the backward reads */
    FG_ROUND_DHIDDEN = 1 << 8,      /* dh before the activation's backward */
    FG_ROUND_DPROB = 1 << 9,        /* dh * p */
    FG_ROUND_DLINEAR = 1 << 10,     /* each product of the activation's backward */
    FG_ROUND_DACT = 1 << 11,        /* dy1 before FC1's dgrad and wgrad */
    FG_ROUND_DBIAS = 1 << 12,       /* db1 sums the rounded dy1; clear: the float32 one */
};

/* What a backend says of its arithmetic and needs: the oracle follows it, so that a right kernel
 * that says something else fails. Flags are 0 or 1. A trait out of its range is FG_STATUS_ABI: the
 * backend is refused. Zero stands for the default of base_align, row_align, segment_align and
 * accumulator_block (1), of both digits (24) and of activation_error (8). The three alignments are
 * powers of two to 4096, the block 1 to 4096. */
typedef struct fg_traits {
    size_t struct_size;
    int32_t memory;             /* FG_MEMORY_HOST: the caller may read and write its memory */
    int32_t deterministic;      /* same inputs, same bits */
    int32_t row_invariant;      /* a row's y, dx, dp do not depend on other rows */
    int32_t writes_padding;     /* padding rows of outputs may be written */
    int32_t capturable;         /* calls may be captured in a graph */
    int32_t flush_subnormals;   /* subnormal numbers may become zero */
    int32_t base_align;         /* bytes, every base pointer is a multiple of it; a power of two */
    int32_t row_align;          /* bytes, every row stride is a multiple of it; a power of two */
    int32_t segment_align;      /* rows, the smallest segment_align it takes */
    int32_t accumulator_digits; /* significand bits of GEMM accumulation: 8 to 53 */
    int32_t accumulator_truncates; /* 0: rounds to nearest */
    int32_t accumulator_block;     /* products summed at once by a truncating accumulator, else 1 */
    int32_t operand_digits;        /* digits with which f32 GEMM operands are read: 8 to 24
                                    (TF32: 11), or 53 */
    uint32_t rounding;             /* FG_ROUND_* */
    double activation_error;       /* in units of 2^-24 of the term sizes; above 0 to 1024 */
} fg_traits;

typedef struct fg_kernel_sizes {
    size_t struct_size;
    size_t saved, scratch_forward, scratch_backward; /* bytes */
} fg_kernel_sizes;

/* Scales in and amax out of each role, float32 [1] or [E]; absent for recipe none. */
typedef struct fg_quant {
    size_t struct_size;
    const fg_tensor *scale[FG_ROLE_SLOTS];
    const fg_tensor *amax[FG_ROLE_SLOTS];
} fg_quant;

/* Inputs of a call. inputs[i] is NULL where the problem has no input i or the run does not read
 * it. A run that begins after FC1 reads y1 or h in x's place. */
typedef struct fg_inputs {
    size_t struct_size;
    int64_t rows; /* T, rows allocated, padding included */
    const fg_tensor *inputs[FG_INPUT_SLOTS];
    const fg_tensor *splits;    /* [E] on the device; needed by every run */
    const int64_t *splits_host; /* [E] or NULL */
} fg_inputs;

/* One forward. A run 0..2 writes y and keeps what it needs in `saved`.
 * A shorter run reads and writes its intermediates in y1 [T, O1] and h [T, F] (I/O type) and keeps
 * nothing in `saved`: run 0..0 writes y1; 0..1 writes h, and y1 unless NULL; 1..1 reads y1, writes
 * h; 1..2 reads y1, writes y, and h unless NULL; 2..2 reads h, writes y.
 * saved == NULL says that gradients are off. */
typedef struct fg_forward_args {
    size_t struct_size;
    const fg_inputs *in;
    const fg_tensor *y1, *h, *y; /* y [T, H] I/O type */
    void *saved, *scratch;       /* bytes of kernel_sizes, base_align aligned, the caller's */
    const fg_quant *quant;       /* NULL for recipe none */
} fg_forward_args;

/* One backward on the same inputs. `mask` names the wanted gradients (FG_BIT(FG_X) is dx ..., and
 * FG_MASK_DY1, FG_MASK_DH for runs that begin after FC1); grads[i] of an unwanted gradient may be
 * NULL or a tensor that must not change. `accumulate` names the gradients that are added to
 * (float32 dw1, dw2; and dp between the runs of one plan), the others are overwritten.
 * The gradient of the run's output comes in dy (run ends with FC2), dh (ends with the activation)
 * or dy1 (ends with FC1); the gradient of the run's main input goes to dx, dy1 or dh.
 * A shorter run reads the y1 and h that its forward read or wrote.
 * May be called again on the same saved with another mask: same bits. */
typedef struct fg_backward_args {
    size_t struct_size;
    const fg_inputs *in;
    const fg_tensor *y1, *h;
    const fg_tensor *dy, *dh, *dy1;
    uint32_t mask, accumulate;
    const fg_tensor *grads[FG_INPUT_SLOTS];
    const void *saved;
    void *scratch;
    const fg_quant *quant;
} fg_backward_args;

/* The functions of a backend; R must be there, O may be NULL.
 * Argument errors come back at once, device errors at stream_sync. Everything is ordered on the
 * stream given. Different kernels and streams may be used from different threads. Entry points make
 * their device current themselves and never ask which one is. */
typedef struct fg_backend {
    size_t struct_size;
    const char *name;

    /* R. Opens device `index` (-1: host); FG_STATUS_DEVICE names an index that does not exist. */
    fg_status (*device_open)(int32_t index, fg_device **out);
    void (*device_close)(fg_device *device);

    /* R. Says how it computes, and whether it takes a problem; before anything is allocated. A
     * refusal is FG_STATUS_UNSUPPORTED with a reason of at most FG_REASON_SIZE bytes. */
    fg_status (*traits)(fg_device *device, fg_traits *out);
    fg_status (*supports)(fg_device *device, const fg_problem *problem, const fg_recipe *recipe,
                          char reason[FG_REASON_SIZE]);

    /* R. Device memory; host memory may be reused after stream_sync. */
    fg_status (*mem_alloc)(fg_device *device, size_t bytes, void **out);
    void (*mem_free)(fg_device *device, void *pointer);
    fg_status (*mem_fill32)(fg_device *device, void *to, uint32_t pattern, size_t words,
                            fg_stream stream);
    fg_status (*copy_in)(fg_device *device, void *to, const void *from_host, size_t bytes,
                         fg_stream stream);
    fg_status (*copy_out)(fg_device *device, void *to_host, const void *from, size_t bytes,
                          fg_stream stream);

    /* R. stream_sync returns the error of any earlier work on the stream. */
    fg_status (*stream_create)(fg_device *device, fg_stream *out);
    void (*stream_destroy)(fg_device *device, fg_stream stream);
    fg_status (*stream_sync)(fg_device *device, fg_stream stream);
    /* O. Keeps the stream busy for so many microseconds. */
    fg_status (*stream_delay)(fg_device *device, fg_stream stream, uint32_t microseconds);

    /* R. May compile and allocate; then immutable, usable from many threads, holds no user
     * pointer. Problem and recipe are the caller's and may go after the call. */
    fg_status (*kernel_create)(fg_device *device, const fg_problem *problem,
                               const fg_recipe *recipe, fg_kernel **out);
    void (*kernel_destroy)(fg_kernel *kernel);
    fg_status (*kernel_sizes)(const fg_kernel *kernel, int64_t rows, fg_kernel_sizes *out);

    /* R. One call in flight for each scratch. */
    fg_status (*mlp_forward)(const fg_kernel *kernel, const fg_forward_args *args,
                             fg_stream stream);
    fg_status (*mlp_backward)(const fg_kernel *kernel, const fg_backward_args *args,
                              fg_stream stream);
    /* O. Called once for each forward with gradients, for backends with objects of their own. */
    void (*saved_release)(const fg_kernel *kernel, void *saved);

    /* O. Capture of calls on a stream, and replay. */
    fg_status (*graph_capture_begin)(fg_device *device, fg_stream stream);
    fg_status (*graph_capture_end)(fg_device *device, fg_stream stream, void **graph);
    fg_status (*graph_launch)(fg_device *device, void *graph, fg_stream stream);
    void (*graph_destroy)(fg_device *device, void *graph);

    /* R. Text of this thread's last error; "" when there is none. */
    const char *(*last_error)(fg_device *device);
} fg_backend;

/* The one symbol of a backend plugin. `host` lives as long as the process. Another `abi` than the
 * plugin's is FG_STATUS_ABI. */
#define FG_BACKEND_ENTRY "fg_backend_entry"
typedef fg_status (*fg_backend_entry_fn)(uint32_t abi, const fg_host *host, const fg_backend **out);

#endif
