#include "conformance/tensors/data_normal.h"

#include "conformance/tensors/data_random.h"

#include <math.h>

static float scale_of(int tensor, int64_t cols) {
    switch (tensor) {
    case FG_W1:
    case FG_W2:
        return 1.0f / sqrtf((float)cols);
    case FG_B1:
    case FG_B2:
        return 0.5f;
    default:
        return 1.0f;
    }
}

void fg_data_normal(const fg_data_spot *spot, int tensor, int64_t rows, int64_t cols, float *out) {
    int uniform = tensor == FG_P || tensor == FG_BIAS_P;
    float scale = scale_of(tensor, cols);
    for (int64_t row = 0; row < rows; row++) {
        fg_random random = {spot->value->seed, (uint32_t)tensor, fg_data_row(spot, tensor, row)};
        float *to = out + row * cols;
        if (uniform) {
            fg_random_uniform(&random, cols, to);
            continue;
        }
        fg_random_normal(&random, cols, to);
        for (int64_t k = 0; k < cols && scale != 1.0f; k++) {
            to[k] *= scale;
        }
    }
}
