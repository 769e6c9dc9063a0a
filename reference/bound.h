#ifndef FG_REFERENCE_BOUND_H
#define FG_REFERENCE_BOUND_H

/* The rows of acceptance section 4's table: how the bound d of a value v grows at each step. */

#include "reference/oracle.h"
#include <math.h>
#include <string.h>

/* A floating type as rounding sees it. */
typedef struct fg_rounder {
    int32_t exact;   /* 1: float64, nothing is rounded */
    int32_t digits;  /* significand bits */
    double least;    /* smallest normal number */
    double step;     /* ulp of 1 */
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
    double normal = magnitude > rounder->least ? magnitude : rounder->least;
    uint64_t bits = 0;
    memcpy(&bits, &normal, sizeof bits);
    bits &= UINT64_C(0x7ff) << 52; // the power of two at or below it
    memcpy(&normal, &bits, sizeof normal);
    return normal * rounder->step;
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
    double magnitude = fabs(v);
    double ulp = fg_rounder_ulp(rounder, magnitude + d);
    int torn = magnitude + d >= rounder->overflow && magnitude - d < rounder->overflow;
    return torn ? INFINITY : d == 0 ? 0 : ulp;
}

/* A value and its bound. */
typedef struct fg_bounded {
    double v, d;
} fg_bounded;

/* How a bound came about; d is the sum of these. Functions below fill it in unless it is NULL. */
typedef struct fg_terms {
    double sum, operands, elementwise, kink, rounding;
} fg_terms;

/* a b, with `unit` c 2^-24 where the step before was rounded; a chain of unrounded products has
 * one elementwise term, and that is in its first link. */
static inline fg_bounded fg_bounded_times(fg_bounded a, fg_bounded b, double unit,
                                          fg_terms *terms) {
    double v = a.v * b.v;
    double operands = fabs(b.v) * a.d + fabs(a.v) * b.d;
    double elementwise = unit * fabs(v);
    if (terms != NULL) {
        *terms = (fg_terms){.operands = operands, .elementwise = elementwise};
    }
    return (fg_bounded){v, operands + elementwise};
}

/* s + b, where the sum s is a GEMM's. With `gamma` not 0 the accumulator may hold b from the start:
 * then b is one of its terms. */
static inline fg_bounded fg_bounded_plus(fg_bounded s, double b, double gamma, double unit,
                                         fg_terms *terms) {
    double sum = gamma * fabs(b);
    double elementwise = unit * (fabs(s.v) + fabs(b));
    if (terms != NULL) {
        terms->sum += sum;
        terms->elementwise += elementwise;
    }
    return (fg_bounded){s.v + b, s.d + sum + elementwise};
}

/* Rounds a value where its rounding point is declared. */
static inline fg_bounded fg_bounded_round(fg_bounded s, const fg_rounder *rounder, int declared,
                                          fg_terms *terms) {
    if (!declared) {
        return s;
    }
    double spread = fg_rounder_spread(rounder, s.v, s.d);
    if (terms != NULL) {
        terms->rounding += spread;
    }
    return (fg_bounded){fg_rounder_value(rounder, s.v), s.d + spread};
}

#endif
