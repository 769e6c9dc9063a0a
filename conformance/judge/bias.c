#include "conformance/judge/bias.h"

#include <math.h>

double fg_bias_mean(const fg_bias *bias) {
    return bias->count > 0 ? bias->sum / (double)bias->count : 0;
}

double fg_bias_z(const fg_bias *bias) {
    if (bias->count < 2) {
        return 0;
    }
    double n = (double)bias->count, mean = bias->sum / n;
    double variance = (bias->squares - n * mean * mean) / (n - 1);
    if (!(variance > 0)) {
        return mean == 0 ? 0 : copysign(INFINITY, mean);
    }
    return mean / sqrt(variance / n);
}

int fg_bias_fails(const fg_bias *bias) {
    return bias->count >= FG_BIAS_LEAST && fabs(fg_bias_z(bias)) > 6 &&
           fabs(fg_bias_mean(bias)) > 0.02;
}
