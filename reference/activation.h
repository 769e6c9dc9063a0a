#ifndef FG_REFERENCE_ACTIVATION_H
#define FG_REFERENCE_ACTIVATION_H

/* Scalar float64 definitions of the activations: what the oracle means by them. */

/* An activation's gate function at one point, with what its error bound needs. A "size" is the
 * formula with each sum replaced by the sum of its terms' absolute values; a "sigmoid" is what
 * multiplies the sigmoid in it (0 without one). */
typedef struct fg_activation_point {
    double value;         /* f */
    double slope;         /* f' */
    double curve;         /* f'' */
    double value_size;    /* of f */
    double slope_size;    /* of f' */
    double value_sigmoid; /* in f */
    double slope_sigmoid; /* in f' */
} fg_activation_point;

/* s(g) = 1 / (1 + exp(-g)) and its complement 1 - s(g), both to full relative precision. */
double fg_sigmoid(double g, double *complement);

/* Gate of SwiGLU, value act = f(g) u:
 *   f(g) = g s,  f'(g) = s + g s (1 - s),  f''(g) = s (1 - s) (2 + g (1 - 2 s)). */
void fg_swiglu_point(double g, fg_activation_point *out);

/* Squared ReLU, unary:
 *   f(x) = max(x, 0)^2,  f'(x) = max(2 x, 0),  f''(x) = 2 for x > 0 and 0 otherwise.
 * The derivative at 0 is 0; NaN passes through. */
void fg_srelu_point(double x, fg_activation_point *out);

/* Difference of squared ReLU's two branches (x^2 and 0, 2 x and 0) at distance `reach` from the
 * kink: what a value on the other side of it may add. */
double fg_srelu_value_kink(double reach);
double fg_srelu_slope_kink(double reach);

#endif
