#include "conformance/tensors/data_random.h"

#include <Random123/philox.h>
#include <math.h>

void fg_random_block(const fg_random *random, uint32_t block, uint32_t words[4]) {
    philox4x32_ctr_t counter = {
        {block, random->stream, (uint32_t)random->row, (uint32_t)(random->row >> 32)}};
    philox4x32_key_t key = {{(uint32_t)random->seed, (uint32_t)(random->seed >> 32)}};
    philox4x32_ctr_t result = philox4x32(counter, key);
    for (int i = 0; i < 4; i++) {
        words[i] = result.v[i];
    }
}

uint64_t fg_random_word(const fg_random *random, uint32_t index) {
    uint32_t words[4];
    fg_random_block(random, index, words);
    return (uint64_t)words[0] << 32 | words[1];
}

void fg_random_signs(const fg_random *random, int64_t n, float *out) {
    uint32_t words[4];
    for (int64_t i = 0; i < n; i += 128) {
        fg_random_block(random, (uint32_t)(i / 128), words);
        int64_t count = n - i < 128 ? n - i : 128;
        for (int64_t k = 0; k < count; k++) {
            out[i + k] = words[k / 32] >> (k % 32) & 1 ? 1.0f : -1.0f;
        }
    }
}

/* Acklam's rational approximation, relative error below 1.2e-9. */
static double normal_tail(double p) {
    static const double c[6] = {-7.784894002430293e-03, -3.223964580411365e-01,
                                -2.400758277161838e+00, -2.549732539343734e+00,
                                4.374664141464968e+00,  2.938163982698783e+00};
    static const double d[4] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                                3.754408661907416e+00};
    double q = sqrt(-2 * log(p));
    return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
           ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
}

static double normal_quantile(double p) {
    static const double a[6] = {-3.969683028665376e+01, 2.209460984245205e+02,
                                -2.759285104469687e+02, 1.383577518672690e+02,
                                -3.066479806614716e+01, 2.506628277459239e+00};
    static const double b[5] = {-5.447609879822406e+01, 1.615858368580409e+02,
                                -1.556989798598866e+02, 6.680131188771972e+01,
                                -1.328068155288572e+01};
    const double edge = 0.02425;
    if (p < edge) {
        return normal_tail(p);
    }
    if (p > 1 - edge) {
        return -normal_tail(1 - p);
    }
    double q = p - 0.5, r = q * q;
    return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
           (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

static void spread(const fg_random *random, int64_t n, int normal, float *out) {
    uint32_t words[4];
    for (int64_t i = 0; i < n; i += 4) {
        fg_random_block(random, (uint32_t)(i / 4), words);
        int64_t count = n - i < 4 ? n - i : 4;
        for (int64_t k = 0; k < count; k++) {
            double p = ((double)words[k] + 0.5) * 0x1p-32;
            out[i + k] = (float)(normal ? normal_quantile(p) : p);
        }
    }
}

void fg_random_normal(const fg_random *random, int64_t n, float *out) {
    spread(random, n, 1, out);
}

void fg_random_uniform(const fg_random *random, int64_t n, float *out) {
    spread(random, n, 0, out);
}
