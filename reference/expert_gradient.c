#include "reference/expert_gradient.h"
#include "reference/float_rows.h"
#include <string.h>

void fg_expert_gradient_empty(const fg_call *call, int64_t expert) {
    const int owned[] = {FG_W1, FG_B1, FG_W2, FG_B2};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        uint32_t bit = FG_BIT(owned[i]);
        if ((call->mask & bit) != 0 && (call->accumulate & bit) == 0) {
            const fg_tensor *grad = &call->grads[owned[i]];
            fg_tensor matrix = fg_rows_matrix(grad, expert);
            int64_t first = grad->ndim == 3 ? 0 : expert;
            int64_t rows = grad->ndim == 3 ? matrix.dims[0] : 1;
            fg_rows_zero(&matrix, first, 0, rows, matrix.dims[1]);
        }
    }
}

static float dot(int64_t n, const float *a, const float *b) {
    float sum = 0.0f;
    for (int64_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Adds rows [row, row + rows) to db2 [H]; scale [rows] becomes the gradient of the scale. */
static void add_rows(const fg_call *call, int64_t row, int64_t rows, float *dy, float *scale,
                     const float *b2, float *db2) {
    const fg_problem *problem = call->problem;
    int64_t hidden = problem->hidden;
    int input = problem->separate_bias_scale ? FG_BIAS_P : FG_P;
    fg_rows_load(&call->dy, row, 0, rows, hidden, dy);
    if (problem->scale_bias) {
        fg_rows_load_vector(&call->inputs[input], row, rows, scale);
    }
    for (int64_t r = 0; r < rows; r++) {
        float factor = problem->scale_bias ? scale[r] : 1.0f;
        scale[r] = dot(hidden, dy + r * hidden, b2);
        for (int64_t c = 0; c < hidden; c++) {
            db2[c] += factor * dy[r * hidden + c];
        }
    }
}

void fg_expert_gradient_b2(const fg_call *call, int64_t expert, int64_t tile, float *dy,
                           float *scale, float *line, float *dp) {
    const fg_problem *problem = call->problem;
    int64_t hidden = problem->hidden;
    int64_t begin = call->begin[expert];
    int64_t count = call->count[expert];
    float *b2 = line;
    float *db2 = line + hidden;
    int into_dp = problem->scale_bias && !problem->separate_bias_scale;
    uint32_t scales = into_dp ? FG_BIT(FG_P) : FG_BIT(FG_BIAS_P);
    if (!problem->bias || (call->mask & (FG_BIT(FG_B2) | scales)) == 0) {
        return;
    }
    fg_rows_load(&call->inputs[FG_B2], expert, 0, 1, hidden, b2);
    memset(db2, 0, (size_t)hidden * sizeof *db2);
    for (int64_t at = 0; at < count; at += tile) {
        int64_t rows = count - at < tile ? count - at : tile;
        add_rows(call, begin + at, rows, dy, scale, b2, db2);
        if (into_dp) {
            fg_rows_add(1, rows, scale, NULL, dp + at);
        } else if ((call->mask & FG_BIT(FG_BIAS_P)) != 0) {
            fg_tensor dbp = fg_rows_matrix(&call->grads[FG_BIAS_P], 0);
            fg_rows_store(&dbp, 0, begin + at, 1, rows, scale, 0);
        }
    }
    if ((call->mask & FG_BIT(FG_B2)) != 0) {
        fg_rows_store(&call->grads[FG_B2], expert, 0, 1, hidden, db2, 0);
    }
}
