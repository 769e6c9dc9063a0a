#include "fuser/op.h"

static const char *const op_names[FG_OP_COUNT] = {"fc1", "activation", "fc2"};
static const uint32_t op_weights[FG_OP_COUNT] = {FG_BIT(FG_W1), 0, FG_BIT(FG_W2)};

const char *fg_op_name(int32_t op) {
    return op >= 0 && op < FG_OP_COUNT ? op_names[op] : "?";
}

void fg_op_set_init(const fg_problem *problem, fg_op_set *out) {
    *out = (fg_op_set){.first = problem->first_op, .count = problem->op_count};
    fg_problem single = *problem;
    single.op_count = 1;
    for (int32_t i = 0; i < out->count; i++) {
        single.first_op = out->first + i;
        out->params[i] = fg_problem_run_inputs(&single) & ~FG_BIT(FG_X);
        out->inputs |= out->params[i];
    }
    out->inputs |= FG_BIT(FG_X);
}

int32_t fg_op_boundary(const fg_op_set *ops, int32_t mode, uint32_t requires) {
    if (mode == FG_NO_GRAD) {
        return ops->count;
    }
    if (requires & FG_BIT(FG_X)) {
        return 0;
    }
    int32_t op = 0;
    while (op < ops->count && !(requires & ops->params[op])) {
        op++;
    }
    return op;
}

uint32_t fg_op_flags(const fg_op_set *ops, int32_t op, int32_t boundary, uint32_t requires) {
    if (op < boundary) {
        return 0;
    }
    uint32_t weight = op_weights[ops->first + op];
    return weight == 0 || (requires & weight) ? 3u : 1u;
}
