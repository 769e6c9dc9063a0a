#include "reference/activation.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

static const struct {
    const char *name;
    void (*point)(double, fg_activation_point *);
} activations[] = {{"swiglu", fg_swiglu_point}, {"srelu", fg_srelu_point}};

static double value_at(int activation, double x) {
    fg_activation_point point;
    activations[activation].point(x, &point);
    return point.value;
}

static double slope_at(int activation, double x) {
    fg_activation_point point;
    activations[activation].point(x, &point);
    return point.slope;
}

Test(activation, slope_and_curve_are_the_differences_of_value_and_slope) {
    const double step = 1e-5;
    for (int a = 0; a < 2; a++) {
        for (int k = -121; k < 120; k++) {
            double x = 0.1 * k + 0.05;
            fg_activation_point point;
            activations[a].point(x, &point);
            double slope = (value_at(a, x + step) - value_at(a, x - step)) / (2 * step);
            double curve = (slope_at(a, x + step) - slope_at(a, x - step)) / (2 * step);
            cr_assert(fabs(point.slope - slope) <= 1e-8, "%s at %g: slope %.12g, difference %.12g",
                      activations[a].name, x, point.slope, slope);
            cr_assert(fabs(point.curve - curve) <= 1e-8, "%s at %g: curve %.12g, difference %.12g",
                      activations[a].name, x, point.curve, curve);
        }
    }
}

Test(activation, sigmoid_and_its_complement_keep_full_precision_in_both_tails) {
    for (int k = -56; k <= 56; k++) {
        double g = 12.5 * k;
        double rest = 0;
        double s = fg_sigmoid(g, &rest);
        long double want = 1 / (1 + expl(-(long double)g));
        long double complement = 1 / (1 + expl((long double)g));
        cr_assert(fabsl((long double)s - want) <= 4 * (long double)DBL_EPSILON * want, "%g", g);
        cr_assert(fabsl((long double)rest - complement) <=
                      4 * (long double)DBL_EPSILON * complement,
                  "%g", g);
    }
    double rest = 0;
    cr_assert_eq(fg_sigmoid(0, &rest), 0.5);
    cr_assert_eq(rest, 0.5);
}

Test(activation, swiglu_gates_that_saturate_are_exact) {
    for (int k = 48; k < 2000; k += 61) {
        double g = k;
        fg_activation_point point;
        fg_swiglu_point(g, &point);
        cr_assert_eq(point.value, g);
        cr_assert_eq((float)point.slope, 1.0F);
    }
    fg_activation_point point;
    fg_swiglu_point(-1024, &point);
    cr_assert_eq(point.value, 0);
    cr_assert_eq(point.slope, 0);
    cr_assert_eq(point.curve, 0);
}

Test(activation, swiglu_has_known_values) {
    fg_activation_point point;
    fg_swiglu_point(1, &point);
    cr_assert_float_eq(point.value, 0.73105857863000487925, 1e-16);
    cr_assert_float_eq(point.slope, 0.92767051187148673890, 2e-16);
    fg_swiglu_point(0, &point);
    cr_assert_eq(point.value, 0);
    cr_assert_eq(point.slope, 0.5);
    cr_assert_eq(point.curve, 0.5);
}

Test(activation, sizes_are_the_formulas_with_absolute_terms) {
    for (int k = -24; k <= 24; k++) {
        double g = 1.25 * k;
        fg_activation_point point;
        double rest = 0;
        double s = fg_sigmoid(g, &rest);
        fg_swiglu_point(g, &point);
        cr_assert_eq(point.value_size, fabs(point.value));
        cr_assert_float_eq(point.slope_size, s + fabs(g) * s * (1 + s), 1e-12);
        cr_assert_geq(point.slope_size, fabs(point.slope));
        cr_assert_eq(point.value_sigmoid, fabs(g));
        cr_assert_float_eq(point.slope_sigmoid, 1 + fabs(g) * (1 + s), 1e-12);
        fg_srelu_point(g, &point);
        cr_assert_eq(point.value_size, point.value);
        cr_assert_eq(point.slope_size, point.slope);
        cr_assert_eq(point.value_sigmoid, 0);
        cr_assert_eq(point.slope_sigmoid, 0);
    }
}

Test(activation, squared_relu_is_flat_up_to_zero_and_included) {
    for (int k = -8; k <= 0; k++) {
        fg_activation_point point;
        fg_srelu_point(0.5 * k, &point);
        cr_assert_eq(point.value, 0);
        cr_assert_eq(point.slope, 0);
        cr_assert_eq(point.curve, 0);
    }
    fg_activation_point point;
    fg_srelu_point(3, &point);
    cr_assert_eq(point.value, 9);
    cr_assert_eq(point.slope, 6);
    cr_assert_eq(point.curve, 2);
}

Test(activation, nan_passes_through) {
    for (int a = 0; a < 2; a++) {
        fg_activation_point point;
        activations[a].point(NAN, &point);
        cr_assert(isnan(point.value), "%s", activations[a].name);
        cr_assert(isnan(point.slope), "%s", activations[a].name);
    }
}

Test(activation, kinks_of_squared_relu_are_its_branch_at_the_far_end) {
    cr_assert_eq(fg_srelu_value_kink(0.5), value_at(1, 0.5));
    cr_assert_eq(fg_srelu_slope_kink(0.5), slope_at(1, 0.5));
}
