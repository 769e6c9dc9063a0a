#ifndef FG_FUSER_OP_H
#define FG_FUSER_OP_H

#include "contract/executor.h"

/* The basic ops of a problem's run, 0..count-1, and the inputs each of them owns. */
typedef struct fg_op_set {
    int32_t first, count;         /* op i of the set is basic op first + i */
    uint32_t inputs;              /* all that a call reads, the main input as FG_X */
    uint32_t params[FG_OP_COUNT]; /* inputs of op i without the main input */
} fg_op_set;

/* Name of a basic op ("fc1" "activation" "fc2"). */
const char *fg_op_name(int32_t op);

/* Lists the ops of a checked problem. With scale_bias and no scale of its own the bias of FC2 makes
 * p an input of FC2 too. */
void fg_op_set_init(const fg_problem *problem, fg_op_set *out);

/* First op requiring backward: `count` without gradients; else 0 when the main input requires one;
 * else the smallest op with an input that does; else `count`. */
int32_t fg_op_boundary(const fg_op_set *ops, int32_t mode, uint32_t requires);

/* Gradient flags of op i under a boundary: bit 0, it requires a gradient; bit 1, its backward reads
 * its input again (a linear op needs it for its weight's gradient only). */
uint32_t fg_op_flags(const fg_op_set *ops, int32_t op, int32_t boundary, uint32_t requires);

#endif
