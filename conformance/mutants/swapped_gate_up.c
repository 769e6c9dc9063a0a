/* The linear half goes through the gate's function, and the gate takes the linear half's place. */

#include "conformance/mutants/fault.h"
#include "reference/float_activation.h"

void fg_activation_right(int32_t activation, int64_t n, const float *gate, const float *linear,
                         float *a) FG_REAL("fg_float_activation");
void fg_activation_swapped(int32_t activation, int64_t n, const float *gate, const float *linear,
                           float *a) FG_FAULTY("fg_float_activation");
void fg_derivative_right(int32_t activation, int64_t n, const float *gate, const float *linear,
                         const float *d, float *dgate, float *dlinear)
    FG_REAL("fg_float_activation_backward");
void fg_derivative_swapped(int32_t activation, int64_t n, const float *gate, const float *linear,
                           const float *d, float *dgate, float *dlinear)
    FG_FAULTY("fg_float_activation_backward");

void fg_activation_swapped(int32_t activation, int64_t n, const float *gate, const float *linear,
                           float *a) {
    int gated = fg_activation_gated((fg_activation)activation);
    fg_activation_right(activation, n, gated ? linear : gate, gated ? gate : linear, a);
}

void fg_derivative_swapped(int32_t activation, int64_t n, const float *gate, const float *linear,
                           const float *d, float *dgate, float *dlinear) {
    if (fg_activation_gated((fg_activation)activation)) {
        fg_derivative_right(activation, n, linear, gate, d, dlinear, dgate);
    } else {
        fg_derivative_right(activation, n, gate, linear, d, dgate, dlinear);
    }
}
