#ifndef FG_REFERENCE_BOUND_H
#define FG_REFERENCE_BOUND_H

/* The rows of acceptance section 4's table: how the bound d of a value v grows at each step. */

#include "reference/oracle.h"
#include <math.h>
#include <string.h>

/* A floating type as rounding sees it. */
typedef struct fg_rounder {
    int32_t exact;  /* 1: float64, nothing is rounded */
    int32_t digits; /* significand bits */
    int32_t exponent_min;
    double max;      /* largest finite */
    double overflow; /* |v| from here on rounds to infinity */
} fg_rounder;

fg_rounder fg_rounder_make(fg_dtype dtype);

/* The constants of a declared arithmetic; all zero when bounds are off. */
typedef struct fg_arithmetic {
    double unit;    /* c 2^-24 of an elementwise step */
    double floor;   /* 2^-126, what a float32 sigmoid may lose to underflow */
    double storage; /* 2^-24 of an accumulating output */
    double narrow;  /* 2^-t for float32 GEMM operands read with t < 24 digits, else 0 */
    int32_t operand_digits;
    double largest; /* of the accumulator: past it only the class of a result counts */
} fg_arithmetic;

fg_arithmetic fg_arithmetic_make(const fg_traits *traits, int bounds);

/* gamma(n) of a sum that no GEMM does (dp, db1, db2, dbp): float32 to nearest, or the declared
 * accumulator's where that is larger, since a kernel may sum with its GEMM. */
double fg_gamma_sum(const fg_traits *traits, int64_t n);

/* Distance of neighbours at a magnitude >= 0, never below the smallest subnormal. */
static inline double fg_rounder_ulp(const fg_rounder *rounder, double magnitude) {
    uint64_t bits = 0;
    memcpy(&bits, &magnitude, sizeof bits);
    int64_t exponent = (int64_t)(bits >> 52 & 0x7ff) - 1023;
    int64_t least = rounder->exponent_min;
    exponent = (exponent < least ? least : exponent) - rounder->digits + 1;
    bits = (uint64_t)(exponent + 1023) << 52;
    double ulp = 0;
    memcpy(&ulp, &bits, sizeof ulp);
    return ulp;
}

/* Nearest value of the type, ties to even; as fg_dtype_round, inlined for loops. */
static inline double fg_rounder_value(const fg_rounder *rounder, double v) {
    double magnitude = fabs(v);
    // Adding 1.5 * 2^52 ulps leaves no bits below one ulp; the hardware rounds to even.
    double magic = 0x1.8p52 * fg_rounder_ulp(rounder, magnitude);
    double rounded = magnitude >= rounder->overflow ? INFINITY : (magnitude + magic) - magic;
    return copysign(rounded, v);
}

/* What a declared rounding adds to d: an ulp at |v| + d, nothing to a value with d = 0; no limit
 * where one side of v's interval overflows and the other does not. */
static inline double fg_rounder_spread(const fg_rounder *rounder, double v, double d) {
    double reach = fabs(v) + d;
    int torn = reach >= rounder->overflow && fabs(v) - d < rounder->overflow;
    double ulp = fg_rounder_ulp(rounder, reach);
    return d == 0 ? 0 : torn ? INFINITY : ulp;
}

/* A value on its way through a stage: what it is, and how its bound came about. */
typedef struct fg_step {
    double v, d; /* d is the sum of what follows */
    double sum, operands, elementwise, kink, rounding;
} fg_step;

/* A value that arrives with a bound. */
static inline fg_step fg_step_of(double v, double d) {
    return (fg_step){.v = v, .d = d, .operands = d};
}

/* a b, with `unit` c 2^-24 where the step before was rounded; a chain of unrounded products has
 * one elementwise term, and that is in its first link. */
static inline fg_step fg_step_times(fg_step a, double b, double b_bound, double unit) {
    double v = a.v * b;
    double operands = fabs(b) * a.d + fabs(a.v) * b_bound;
    double elementwise = unit * fabs(v);
    return (fg_step){
        .v = v, .d = operands + elementwise, .operands = operands, .elementwise = elementwise};
}

/* s + b, where the sum s is a GEMM's. With `gamma` not 0 the accumulator may hold b from the start:
 * then b is one of its terms. */
static inline fg_step fg_step_plus(fg_step s, double b, double gamma, double unit) {
    double sum = gamma * fabs(b);
    double elementwise = unit * (fabs(s.v) + fabs(b));
    s.v += b;
    s.sum += sum;
    s.elementwise += elementwise;
    s.d += sum + elementwise;
    return s;
}

/* Rounds a step where its rounding point is declared. */
static inline fg_step fg_step_round(fg_step s, const fg_rounder *rounder, int declared) {
    if (declared) {
        double spread = fg_rounder_spread(rounder, s.v, s.d);
        s.rounding += spread;
        s.d += spread;
        s.v = fg_rounder_value(rounder, s.v);
    }
    return s;
}

#endif
