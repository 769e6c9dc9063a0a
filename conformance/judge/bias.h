#ifndef FG_CONFORMANCE_JUDGE_BIAS_H
#define FG_CONFORMANCE_JUDGE_BIAS_H

#include <stdint.h>

/* Signed rounding error of an output, in units of its type's ulp, away from zero positive: sums
 * over elements whose expected value is finite and not 0. A rounding that is not to nearest, or
 * arithmetic that is a little off everywhere, moves the mean. */
typedef struct fg_bias {
    int64_t count;
    double sum, squares;
} fg_bias;

enum { FG_BIAS_LEAST = 4096 }; /* elements without which nothing is said */

/* Mean error b, and b over its standard error; 0 without elements. */
double fg_bias_mean(const fg_bias *bias);
double fg_bias_z(const fg_bias *bias);

/* Whether |z| > 6 and |b| > 0.02 on enough elements: z grows with their number, b does not. */
int fg_bias_fails(const fg_bias *bias);

#endif
