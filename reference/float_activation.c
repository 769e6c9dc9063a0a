#include "reference/float_activation.h"
#include <math.h>

/* s(g) in *s and 1 - s(g) in *rest, both without cancellation and without overflow. */
static void sigmoid(float g, float *s, float *rest) {
    float small = expf(-fabsf(g));
    float large_part = 1.0f / (1.0f + small);
    float small_part = small / (1.0f + small);
    *s = g < 0.0f ? small_part : large_part;
    *rest = g < 0.0f ? large_part : small_part;
}

static void swiglu(int64_t n, const float *gate, const float *linear, float *a) {
    for (int64_t j = 0; j < n; j++) {
        float s, rest;
        sigmoid(gate[j], &s, &rest);
        a[j] = gate[j] * s * linear[j];
    }
}

static void swiglu_backward(int64_t n, const float *gate, const float *linear, const float *d,
                            float *dgate, float *dlinear) {
    for (int64_t j = 0; j < n; j++) {
        float g = gate[j], u = linear[j], s, rest;
        sigmoid(g, &s, &rest);
        dgate[j] = d[j] * u * (s + g * s * rest);
        dlinear[j] = d[j] * (g * s);
    }
}

/* Written so that NaN, which is not <= 0, stays NaN. */
static float relu(float x) {
    return x <= 0.0f ? 0.0f : x;
}

void fg_float_activation(int32_t activation, int64_t n, const float *gate, const float *linear,
                         float *a) {
    if (activation == FG_ACT_SWIGLU) {
        swiglu(n, gate, linear, a);
        return;
    }
    for (int64_t j = 0; j < n; j++) {
        float x = relu(gate[j]);
        a[j] = x * x;
    }
}

void fg_float_activation_backward(int32_t activation, int64_t n, const float *gate,
                                  const float *linear, const float *d, float *dgate,
                                  float *dlinear) {
    if (activation == FG_ACT_SWIGLU) {
        swiglu_backward(n, gate, linear, d, dgate, dlinear);
        return;
    }
    for (int64_t j = 0; j < n; j++) {
        dgate[j] = d[j] * (2.0f * relu(gate[j]));
    }
}
