#include "reference/bound.h"

#include <float.h>

#define FLOAT_DIGITS 24
#define ACTIVATION_ERROR 8.0

fg_rounder fg_rounder_make(fg_dtype dtype) {
    const fg_format *format = fg_dtype_format(dtype);
    double half = fg_dtype_ulp(dtype, format->max) / 2;
    return (fg_rounder){
        .exact = dtype == FG_F64,
        .digits = format->digits,
        .least = ldexp(1, format->exponent_min),
        .step = ldexp(1, 1 - format->digits),
        .max = format->max,
        .overflow = dtype == FG_F64 ? INFINITY : format->max + half,
    };
}

/* A trait, or its default where the backend left it zero. */
static int32_t trait_or(int32_t trait, int32_t otherwise) {
    return trait > 0 ? trait : otherwise;
}

fg_arithmetic fg_arithmetic_make(const fg_traits *traits, int bounds) {
    int32_t digits = trait_or(traits->operand_digits, FLOAT_DIGITS);
    double c = traits->activation_error > 0 ? traits->activation_error : ACTIVATION_ERROR;
    if (!bounds) {
        return (fg_arithmetic){.operand_digits = digits, .largest = INFINITY};
    }
    int wide = trait_or(traits->accumulator_digits, FLOAT_DIGITS) > FLOAT_DIGITS;
    return (fg_arithmetic){
        .unit = c * 0x1p-24,
        .floor = 0x1p-126,
        .storage = 0x1p-24,
        .narrow = digits < FLOAT_DIGITS ? ldexp(1, -digits) : 0,
        .operand_digits = digits,
        .largest = wide ? DBL_MAX : (double)FLT_MAX,
    };
}

/* Rounding to nearest: errors of n terms add up like a random walk. */
static double gamma_nearest(int digits, double n) {
    double u = ldexp(1, -digits);
    return expm1(8 * sqrt(n) * u + n * u * u / (1 - u));
}

/* Truncation in blocks: errors have one sign and add up. */
static double gamma_truncating(int digits, int block, double n) {
    double u = ldexp(1, 1 - digits);
    double m = n / block + block;
    return m * u < 1 ? m * u / (1 - m * u) : INFINITY;
}

double fg_gamma(const fg_traits *traits, int64_t n) {
    int32_t digits = trait_or(traits->accumulator_digits, FLOAT_DIGITS);
    if (n <= 0) {
        return 0;
    }
    return traits->accumulator_truncates
               ? gamma_truncating(digits, trait_or(traits->accumulator_block, 1), (double)n)
               : gamma_nearest(digits, (double)n);
}

double fg_gamma_sum(const fg_traits *traits, int64_t n) {
    return n > 0 ? fmax(gamma_nearest(FLOAT_DIGITS, (double)n), fg_gamma(traits, n)) : 0;
}
