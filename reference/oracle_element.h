#ifndef FG_REFERENCE_ORACLE_ELEMENT_H
#define FG_REFERENCE_ORACLE_ELEMENT_H

/* The steps of an activation for one element, forward and backward, each with its bound. Loops
 * inline them twice: with a place for the terms of each step and, for all but `explain`, with NULL,
 * so that the compiler leaves the terms out. */

#include "reference/activation.h"
#include "reference/oracle_state.h"

#define FG_INLINE static inline __attribute__((always_inline))

/* What is the same for every element of a pass. */
typedef struct fg_element_rules {
    fg_rounder io;
    double unit, floor;
    int gated_kind, prob;
    /* declared rounding points; `y1` is the reader's */
    int y1, act, gated, hidden, dprob, dlinear, dact, dbias;
} fg_element_rules;

/* Everything that one gate, its linear partner and p give going forward. */
typedef struct fg_element_forward {
    fg_activation_point point;
    fg_bounded gate, linear; /* y1's columns as they are read */
    fg_bounded act, gated, h;
    double slope_kink;
} fg_element_forward;

/* Terms of the steps that are shown. */
typedef struct fg_element_terms {
    fg_terms act, gated, h, scaled, gate, linear;
} fg_element_terms;

#define FG_TERMS(terms, step) ((terms) != NULL ? &(terms)->step : NULL)

/* f(gate) with its bound; the kink is squared ReLU's. */
FG_INLINE void fg_element_gate(const fg_element_rules *rules, fg_element_forward *out,
                               fg_terms *terms) {
    fg_bounded g = out->gate;
    const fg_activation_point *point = &out->point;
    double kink = 0;
    out->slope_kink = 0;
    if (rules->gated_kind) {
        fg_swiglu_point(g.v, &out->point);
    } else {
        fg_srelu_point(g.v, &out->point);
        if (fabs(g.v) <= g.d) {
            kink = fg_srelu_value_kink(fabs(g.v) + g.d);
            out->slope_kink = fg_srelu_slope_kink(fabs(g.v) + g.d);
        }
    }
    double operands = fabs(point->slope) * g.d;
    double elementwise = rules->unit * point->value_size + rules->floor * point->value_sigmoid;
    if (terms != NULL) {
        *terms = (fg_terms){.operands = operands, .elementwise = elementwise, .kink = kink};
    }
    out->act = (fg_bounded){point->value, operands + elementwise + kink};
}

/* The unscaled activation of one element, from the columns of y1 that it reads. */
FG_INLINE void fg_element_gated(const fg_element_rules *rules, fg_bounded gate, fg_bounded linear,
                                fg_element_forward *out, fg_element_terms *terms) {
    out->gate = fg_bounded_round(gate, &rules->io, rules->y1, NULL);
    fg_element_gate(rules, out, FG_TERMS(terms, act));
    if (rules->gated_kind) {
        out->linear = fg_bounded_round(linear, &rules->io, rules->y1, NULL);
        out->act = fg_bounded_round(out->act, &rules->io, rules->act, FG_TERMS(terms, act));
        out->gated = fg_bounded_times(out->act, out->linear, rules->act ? rules->unit : 0,
                                      FG_TERMS(terms, gated));
    } else {
        out->gated = out->act;
        if (terms != NULL) {
            terms->gated = terms->act;
        }
    }
    out->gated = fg_bounded_round(out->gated, &rules->io, rules->gated, FG_TERMS(terms, gated));
}

FG_INLINE void fg_element_hidden(const fg_element_rules *rules, double p, fg_element_forward *out,
                                 fg_element_terms *terms) {
    out->h = out->gated;
    if (terms != NULL) {
        terms->h = terms->gated;
    }
    if (rules->prob) {
        out->h = fg_bounded_times(out->gated, (fg_bounded){p, 0}, rules->gated ? rules->unit : 0,
                                  FG_TERMS(terms, h));
    }
    int rounded = !rules->prob && rules->gated;
    out->h = fg_bounded_round(out->h, &rules->io, rules->hidden && !rounded, FG_TERMS(terms, h));
}

/* D = dh p. */
FG_INLINE fg_bounded fg_element_scaled(const fg_element_rules *rules, fg_bounded dh, double p,
                                       fg_terms *terms) {
    if (terms != NULL) {
        *terms = (fg_terms){.operands = dh.d};
    }
    if (!rules->prob) {
        return dh;
    }
    double unit = rules->dprob ? rules->unit : 0;
    fg_bounded scaled = fg_bounded_times(dh, (fg_bounded){p, 0}, unit, terms);
    return fg_bounded_round(scaled, &rules->io, rules->dprob, terms);
}

/* D f'(g) for the gate's column; D has met the linear half before when there is one. */
FG_INLINE fg_bounded fg_element_gate_gradient(const fg_element_rules *rules,
                                              const fg_element_forward *forward, fg_bounded d,
                                              fg_terms *terms) {
    const fg_activation_point *point = &forward->point;
    double size = fabs(d.v);
    double operands = fabs(point->slope) * d.d + size * fabs(point->curve) * forward->gate.d;
    double elementwise =
        size * (rules->unit * point->slope_size + rules->floor * point->slope_sigmoid);
    double kink = size * forward->slope_kink;
    if (terms != NULL) {
        *terms = (fg_terms){.operands = operands, .elementwise = elementwise, .kink = kink};
    }
    fg_bounded step = {d.v * point->slope, operands + elementwise + kink};
    return fg_bounded_round(step, &rules->io, rules->dlinear, terms);
}

/* D f(g), the linear half's gradient. */
FG_INLINE fg_bounded fg_element_linear_gradient(const fg_element_rules *rules,
                                                const fg_element_forward *forward,
                                                fg_bounded scaled, fg_terms *terms) {
    double unit = rules->act ? rules->unit : 0;
    fg_bounded step = fg_bounded_times(scaled, forward->act, unit, terms);
    return fg_bounded_round(step, &rules->io, rules->dlinear, terms);
}

/* One row of dy1, as FC1's gradients read it and as db1 sums it. */
typedef struct fg_gradient_row {
    double *v, *d;
    fg_values summed;
} fg_gradient_row;

FG_INLINE fg_bounded fg_element_store(const fg_element_rules *rules, fg_bounded step,
                                      int64_t column, const fg_gradient_row *out, fg_terms *terms) {
    fg_bounded read = fg_bounded_round(step, &rules->io, rules->dact && !rules->dlinear, terms);
    fg_bounded summed = read;
    if (rules->dact != rules->dbias) {
        summed = fg_bounded_round(step, &rules->io, rules->dbias && !rules->dlinear, NULL);
    }
    out->v[column] = read.v;
    out->d[column] = read.d;
    out->summed.v[column] = summed.v;
    out->summed.d[column] = summed.d;
    return read;
}

/* The element's parts of dp. */
FG_INLINE void fg_element_dprob(fg_product_sum *sums, fg_bounded a, fg_bounded dh) {
    double by_dh = a.v * dh.d / 2;
    double by_a = dh.v * a.d / 2;
    sums->value += dh.v * a.v;
    sums->size += fabs(dh.v * a.v);
    sums->squares += by_dh * by_dh + by_a * by_a;
}

#endif
