#include "reference/activation.h"

#include <math.h>

/* Inlined below; signs of gates are random, and a table is cheaper than a wrong guess. */
static inline double sigmoid(double g, double *complement) {
    // The exponential of a negative number never overflows, so neither result is lost.
    double e = exp(-fabs(g));
    double large = 1 / (1 + e);
    const double sides[] = {large, e * large};
    *complement = sides[g >= 0];
    return sides[g < 0];
}

double fg_sigmoid(double g, double *complement) {
    return sigmoid(g, complement);
}

void fg_swiglu_point(double g, fg_activation_point *out) {
    double rest = 0;
    double s = sigmoid(g, &rest);
    double product = s * rest;
    out->value = g * s;
    out->slope = s + g * product;
    out->curve = product * (2 + g * (rest - s));
    out->value_size = fabs(out->value);
    out->slope_size = s + fabs(g) * s * (1 + s);
    out->value_sigmoid = fabs(g);
    out->slope_sigmoid = 1 + fabs(g) * (1 + s);
}

void fg_srelu_point(double x, fg_activation_point *out) {
    double positive = x <= 0 ? 0 : x; // NaN stays
    out->value = positive * positive;
    out->slope = 2 * positive;
    out->curve = x <= 0 ? 0 : 2;
    out->value_size = out->value;
    out->slope_size = out->slope;
    out->value_sigmoid = 0;
    out->slope_sigmoid = 0;
}

double fg_srelu_value_kink(double reach) {
    return reach * reach;
}

double fg_srelu_slope_kink(double reach) {
    return 2 * reach;
}
