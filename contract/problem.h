#ifndef FG_CONTRACT_PROBLEM_H
#define FG_CONTRACT_PROBLEM_H

#include "contract/dtype.h"
#include "contract/tensor.h"

/* Basic ops of a grouped MLP, in order. */
enum { FG_OP_FC1 = 0, FG_OP_ACTIVATION = 1, FG_OP_FC2 = 2, FG_OP_COUNT = 3 };

/* Tensors a call may read, in the order of the bits of `requires` and of gradient masks:
 * the gradient of input i is gradient i (dx, dw1, db1, dp, dw2, db2, dbp). */
enum {
    FG_X = 0,      /* [T, H]      I/O type */
    FG_W1 = 1,     /* [E, O1, H]  I/O type */
    FG_B1 = 2,     /* [E, O1]     bias type */
    FG_P = 3,      /* [T]         probability type */
    FG_W2 = 4,     /* [E, H, F]   I/O type */
    FG_B2 = 5,     /* [E, H]      bias type */
    FG_BIAS_P = 6, /* [T]         probability type: scales b2 when it is a tensor of its own */
    FG_INPUTS = 7,
    FG_INPUT_SLOTS = 8,
};
#define FG_BIT(i) (1u << (i))
/* Mask bits past the inputs: the gradient of an intermediate, for runs that begin after FC1. */
#define FG_MASK_DY1 FG_BIT(8)
#define FG_MASK_DH FG_BIT(9)

/* Activations; numbers never change. Gated ones take 2F columns, unary ones F. */
typedef enum fg_activation {
    FG_ACT_SWIGLU = 0,
    FG_ACT_SRELU = 1,
    FG_ACTIVATIONS = 2,
} fg_activation;

typedef enum fg_weight_form { FG_WEIGHTS_TENSOR = 0, FG_WEIGHTS_POINTERS = 1 } fg_weight_form;
typedef enum fg_weight_order { FG_WEIGHTS_OI = 0, FG_WEIGHTS_IO = 1 } fg_weight_order;

/* Geometry and types of a grouped MLP, all that a plan may depend on; T comes with each call.
 * FC1 -> activation -> FC2 for each expert's rows of x (formulas: y1 = x W1^T + b1,
 * h = p act(y1), y = h W2^T + b2 or + p b2). Zero means the default of each field. */
typedef struct fg_problem {
    size_t struct_size;
    int64_t experts;  /* E, 1..1024 */
    int64_t hidden;   /* H, 1..2^20 */
    int64_t inter;    /* F, 1..2^20 */
    int32_t first_op; /* run of basic ops: first_op .. first_op + op_count - 1 */
    int32_t op_count;
    int32_t activation; /* fg_activation */
    int32_t interleave; /* 0: gate block then linear block; s: blocks of s alternate; s | F */
    double limit, alpha, offset, beta1, beta2; /* activation parameters, for later activations */
    int32_t dtype;        /* x, w, y, dx and intermediates: f32, f16, bf16 (f64: oracle only) */
    int32_t prob_dtype;   /* p, dp, bias_p, dbp: f32 or dtype */
    int32_t bias_dtype;   /* b1, b2, db1, db2: f32 or dtype */
    int32_t wgrad_dtype;  /* dw1, dw2: f32 or dtype */
    int32_t splits_dtype; /* i32 or i64 */
    int32_t bias;         /* 0 1 */
    int32_t prob;         /* 0 1: without, p is 1 and absent */
    int32_t scale_bias;   /* 0 1: y = h W2^T + p b2; needs bias and prob */
    int32_t separate_bias_scale; /* 0 1: bias_p scales b2 in p's place; needs scale_bias */
    int32_t weight_form;         /* fg_weight_form */
    int32_t weight_order;        /* fg_weight_order */
    int32_t accumulate;          /* 0 1: dw1 and dw2 are added to; needs wgrad_dtype f32 */
    int32_t host_splits;         /* 0 1: splits are also given in host memory */
    int64_t segment_align;       /* rows; 1..4096; an expert's segment begins at a multiple of it */
} fg_problem;

/* A problem with every default: bf16 SwiGLU, contiguous layout, f32 p and weight gradients,
 * bias type f32, int32 splits, prob on, run 0..2, segment_align 1. */
fg_problem fg_problem_default(int64_t experts, int64_t hidden, int64_t inter);

/* Checks every field; FG_STATUS_INVALID names the field, what was found and what is expected. */
fg_status fg_problem_check(const fg_problem *problem);

/* O1: columns of y1, 2F for a gated activation, F for a unary one. */
int64_t fg_problem_o1(const fg_problem *problem);
int fg_activation_gated(fg_activation activation);
const char *fg_activation_name(fg_activation activation);
fg_status fg_activation_from_name(const char *name, fg_activation *out);

/* Column of gate j in y1 and of its linear partner (the partner of a unary activation is -1). */
int64_t fg_problem_gate_column(const fg_problem *problem, int64_t j);
int64_t fg_problem_linear_column(const fg_problem *problem, int64_t j);

/* Whether the problem has input i (b1 and b2 with bias, p with prob, bias_p when separate). */
int fg_problem_has_input(const fg_problem *problem, int input);

/* Type, dimensions of input i (and of its gradient, whose type differs for weights) at T rows. */
fg_dtype fg_problem_input_dtype(const fg_problem *problem, int input);
fg_dtype fg_problem_grad_dtype(const fg_problem *problem, int input);
int32_t fg_problem_input_dims(const fg_problem *problem, int input, int64_t rows,
                              int64_t dims[FG_TENSOR_DIMS]);
const char *fg_input_name(int input); /* "x" "w1" "b1" "p" "w2" "b2" "bias_p" */
const char *fg_grad_name(int input);  /* "dx" "dw1" "db1" "dp" "dw2" "db2" "dbp" */

/* Inputs that a run of basic ops reads: FG_BIT(FG_X)... for run first_op, op_count. */
uint32_t fg_problem_run_inputs(const fg_problem *problem);

/* Row bounds of the experts: begin[0] = 0, begin[e + 1] = begin[e] + splits[e] rounded up to
 * segment_align; `begin` has E + 1 elements.
 * Returns FG_STATUS_INVALID for a negative split, FG_STATUS_SHAPE when begin[E] passes T. */
fg_status fg_segments(const fg_problem *problem, const int64_t *splits, int64_t rows,
                      int64_t *begin);

/* Reads E splits of the problem's type into int64. */
void fg_splits_read(const fg_problem *problem, const void *splits, int64_t *out);

/* Multiply-adds times two of one forward over n rows in all, and of one whole backward. */
double fg_problem_forward_flops(const fg_problem *problem, int64_t rows);
double fg_problem_backward_flops(const fg_problem *problem, int64_t rows);

#endif
