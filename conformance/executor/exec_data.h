#ifndef FG_CONFORMANCE_EXECUTOR_EXEC_DATA_H
#define FG_CONFORMANCE_EXECUTOR_EXEC_DATA_H

/* Tensors for checks of an executor, in memory that it can see. */

#include "conformance/case/case.h"
#include "conformance/executor/exec_env.h"

/* Inputs and dy of one call; nobody may write them. Made of one block of env->memory. */
typedef struct fg_exec_data {
    fg_exec_env *env;
    fg_case value;  /* that they were made from */
    int64_t *begin; /* [E + 1], first row of each expert */
    fg_tensor inputs[FG_INPUT_SLOTS];
    fg_tensor splits, dy; /* [E]; [T, H] I/O type */
    fg_inputs in;         /* of the tensors above */
    void *block;
    size_t bytes;
} fg_exec_data;

/* Makes the data of a case: values as conformance/tensors/data.h says, tight strides, NaN in
 * padding rows. FG_STATUS_NO_MEMORY, _OVERFLOW, _INVALID, and what env->memory returns. */
fg_status fg_exec_data_create(fg_exec_env *env, const fg_case *value, fg_exec_data **out);
void fg_exec_data_destroy(fg_exec_data *data);

/* Fills one input, or dy (FG_DATA_DY), with the values of another seed, in place. */
fg_status fg_exec_data_refill(fg_exec_data *data, int input, uint64_t seed);

/* Says that the tensors live on a device. */
void fg_exec_data_device(fg_exec_data *data, int32_t device);

/* Hash of every byte of the block. */
uint64_t fg_exec_data_hash(const fg_exec_data *data);

/* The bit of y beside the bits of the gradients. */
#define FG_EXEC_Y FG_BIT(FG_INPUTS)

/* Outputs of one call, each between two guards: y and every gradient that the problem has. */
typedef struct fg_exec_out {
    fg_exec_env *env;
    uint32_t has;                     /* FG_BIT(i) of gradients, FG_EXEC_Y */
    fg_tensor tensors[FG_INPUTS + 1]; /* gradients 0..6, y */
    size_t spans[FG_INPUTS + 1];      /* bytes */
    unsigned char *block;
    size_t bytes;
} fg_exec_out;

/* Makes poisoned outputs. FG_STATUS_NO_MEMORY, _OVERFLOW, and what env->memory returns. */
fg_status fg_exec_out_create(fg_exec_env *env, const fg_case *value, fg_exec_out **result);
void fg_exec_out_destroy(fg_exec_out *out);
void fg_exec_out_device(fg_exec_out *out, int32_t device);

/* Poisons the outputs of a mask, and every guard; those of `accumulate` get small whole numbers
 * instead, which a gradient can be added to. */
void fg_exec_out_poison(fg_exec_out *out, uint32_t mask, uint32_t accumulate);

/* 1 when every guard is whole and every output outside `written` still holds its poison; else
 * `text` names the tensor and the byte. */
int fg_exec_out_intact(const fg_exec_out *out, uint32_t written, char *text, size_t size);

/* 1 when two sets of outputs are equal in every bit of the outputs of `mask`; else `text` says
 * "dw1[17]: expected 0.5, got 0.25". */
int fg_exec_out_equal(const fg_exec_out *expected, const fg_exec_out *got, uint32_t mask,
                      char *text, size_t size);

/* Pointers to the gradients of a mask, NULL for the others. */
void fg_exec_out_grads(const fg_exec_out *out, uint32_t mask,
                       const fg_tensor *grads[FG_INPUT_SLOTS]);

#endif
