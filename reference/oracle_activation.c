#include "reference/oracle_activation.h"

#include "reference/activation.h"
#include "reference/oracle_stage.h"

/* Loops call the functions below twice: with a place for the terms of each step and, for all but
 * `explain`, with NULL, so that the compiler leaves the terms out. */
#define INLINE static inline __attribute__((always_inline))

/* What is the same for every element of a pass. */
typedef struct element_rules {
    fg_rounder io;
    double unit, floor;
    int gated_kind, prob;
    /* declared rounding points; `y1` is the reader's */
    int y1, act, gated, hidden, dprob, dlinear, dact, dbias;
} element_rules;

/* Everything that one gate, its linear partner and p give going forward. */
typedef struct element_forward {
    fg_activation_point point;
    fg_bounded gate, linear; /* y1's columns as they are read */
    fg_bounded act, gated, h;
    double slope_kink;
} element_forward;

/* Terms of the steps that are shown. */
typedef struct element_terms {
    fg_terms act, gated, h, scaled, product, gate, linear;
} element_terms;

#define TERMS(terms, step) ((terms) != NULL ? &(terms)->step : NULL)

static element_rules rules_of(const fg_oracle *oracle, uint32_t reader) {
    int late_bias = oracle->spec.problem->bias && fg_oracle_rounds(oracle, FG_ROUND_BIAS_AFTER);
    return (element_rules){
        .io = oracle->io,
        .unit = oracle->arithmetic.unit,
        .floor = oracle->arithmetic.floor,
        .gated_kind = fg_activation_gated((fg_activation)oracle->spec.problem->activation),
        .prob = oracle->spec.problem->prob,
        .y1 = fg_oracle_rounds(oracle, reader) && !late_bias, // else it is rounded already
        .act = fg_oracle_rounds(oracle, FG_ROUND_ACT),
        .gated = fg_oracle_rounds(oracle, FG_ROUND_GATED),
        .hidden = fg_oracle_rounds(oracle, FG_ROUND_HIDDEN),
        .dprob = fg_oracle_rounds(oracle, FG_ROUND_DPROB),
        .dlinear = fg_oracle_rounds(oracle, FG_ROUND_DLINEAR),
        .dact = fg_oracle_rounds(oracle, FG_ROUND_DACT),
        .dbias = fg_oracle_rounds(oracle, FG_ROUND_DBIAS),
    };
}

/* f(gate) with its bound; the kink is squared ReLU's. */
INLINE void gate_step(const element_rules *rules, element_forward *out, fg_terms *terms) {
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
INLINE void gated_step(const element_rules *rules, fg_bounded gate, fg_bounded linear,
                       element_forward *out, element_terms *terms) {
    out->gate = fg_bounded_round(gate, &rules->io, rules->y1, NULL);
    gate_step(rules, out, TERMS(terms, act));
    if (rules->gated_kind) {
        out->linear = fg_bounded_round(linear, &rules->io, rules->y1, NULL);
        out->act = fg_bounded_round(out->act, &rules->io, rules->act, TERMS(terms, act));
        out->gated = fg_bounded_times(out->act, out->linear, rules->act ? rules->unit : 0,
                                      TERMS(terms, gated));
    } else {
        out->gated = out->act;
        if (terms != NULL) {
            terms->gated = terms->act;
        }
    }
    out->gated = fg_bounded_round(out->gated, &rules->io, rules->gated, TERMS(terms, gated));
}

INLINE void hidden_step(const element_rules *rules, double p, element_forward *out,
                        element_terms *terms) {
    out->h = out->gated;
    if (terms != NULL) {
        terms->h = terms->gated;
    }
    if (rules->prob) {
        out->h = fg_bounded_times(out->gated, (fg_bounded){p, 0}, rules->gated ? rules->unit : 0,
                                  TERMS(terms, h));
    }
    int rounded = !rules->prob && rules->gated;
    out->h = fg_bounded_round(out->h, &rules->io, rules->hidden && !rounded, TERMS(terms, h));
}

INLINE void forward_rows(fg_oracle *oracle, uint32_t reader, fg_operand *h, int watched) {
    const element_rules rules = rules_of(oracle, reader);
    const int64_t *gate = oracle->gate_column;
    const int64_t *linear = oracle->linear_column;
    element_terms terms;
    for (int64_t i = 0; i < oracle->rows; i++) {
        const double *v = oracle->y1.v + i * oracle->columns;
        const double *d = oracle->y1.d + i * oracle->columns;
        int64_t first = i * oracle->inter;
        for (int64_t j = 0; j < oracle->inter; j++) {
            element_forward element;
            gated_step(&rules, (fg_bounded){v[gate[j]], d[gate[j]]},
                       (fg_bounded){v[linear[j]], d[linear[j]]}, &element, watched ? &terms : NULL);
            hidden_step(&rules, oracle->p[i], &element, watched ? &terms : NULL);
            h->v[first + j] = element.h.v;
            h->d[first + j] = element.h.d;
            if (watched) {
                fg_stage_offer(oracle, FG_STAGE_ACT, i, j, element.act, &terms.act);
                fg_stage_offer(oracle, FG_STAGE_GATED, i, j, element.gated, &terms.gated);
                fg_stage_offer(oracle, FG_STAGE_H, i, j, element.h, &terms.h);
            }
        }
    }
}

void fg_activation_forward(fg_oracle *oracle, uint32_t reader, fg_operand *h, int watched) {
    if (watched) {
        forward_rows(oracle, reader, h, 1);
    } else {
        forward_rows(oracle, reader, h, 0);
    }
}

/* D = dh p. */
INLINE fg_bounded scaled_gradient(const element_rules *rules, fg_bounded dh, double p,
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
INLINE fg_bounded gate_gradient(const element_rules *rules, const element_forward *forward,
                                fg_bounded d, fg_terms *terms) {
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
INLINE fg_bounded linear_gradient(const element_rules *rules, const element_forward *forward,
                                  fg_bounded scaled, fg_terms *terms) {
    double unit = rules->act ? rules->unit : 0;
    fg_bounded step = fg_bounded_times(scaled, forward->act, unit, terms);
    return fg_bounded_round(step, &rules->io, rules->dlinear, terms);
}

/* One row of dy1, as FC1's gradients read it and as db1 sums it. */
typedef struct gradient_row {
    double *v, *d;
    fg_values summed;
} gradient_row;

INLINE fg_bounded gradient_store(const element_rules *rules, fg_bounded step, int64_t column,
                                 const gradient_row *out, fg_terms *terms) {
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
INLINE void dprob_add(fg_product_sum *sums, fg_bounded a, fg_bounded dh) {
    double by_dh = a.v * dh.d / 2;
    double by_a = dh.v * a.d / 2;
    sums->value += dh.v * a.v;
    sums->size += fabs(dh.v * a.v);
    sums->squares += by_dh * by_dh + by_a * by_a;
}

INLINE fg_product_sum backward_row(fg_oracle *oracle, int64_t row, const fg_values *dh,
                                   const gradient_row *out, int watched) {
    const element_rules rules = rules_of(oracle, FG_ROUND_Y1_SAVED);
    int again = (oracle->needs & FG_NEED_H_AGAIN) != 0;
    fg_product_sum sums = {0};
    element_terms terms;
    element_terms *shown = watched ? &terms : NULL;
    for (int64_t j = 0; j < oracle->inter; j++) {
        int64_t gate = oracle->gate_column[j];
        int64_t linear = oracle->linear_column[j];
        fg_bounded dh_j = {dh->v[j], dh->d[j]};
        element_forward forward;
        gated_step(&rules, (fg_bounded){out->v[gate], out->d[gate]},
                   (fg_bounded){out->v[linear], out->d[linear]}, &forward, NULL);
        dprob_add(&sums, forward.gated, dh_j);
        if (again) {
            hidden_step(&rules, oracle->p[row], &forward, NULL);
            oracle->h_again.v[row * oracle->inter + j] = forward.h.v;
            oracle->h_again.d[row * oracle->inter + j] = forward.h.d;
        }
        fg_bounded scaled = scaled_gradient(&rules, dh_j, oracle->p[row], TERMS(shown, scaled));
        fg_bounded product = scaled;
        fg_bounded up = {0, 0};
        if (rules.gated_kind) {
            product =
                fg_bounded_times(scaled, forward.linear, rules.dlinear ? rules.unit : 0, NULL);
            product = fg_bounded_round(product, &rules.io, rules.dlinear, NULL);
            up = linear_gradient(&rules, &forward, scaled, TERMS(shown, linear));
            up = gradient_store(&rules, up, linear, out, TERMS(shown, linear));
        }
        fg_bounded down = gate_gradient(&rules, &forward, product, TERMS(shown, gate));
        down = gradient_store(&rules, down, gate, out, TERMS(shown, gate));
        if (watched) {
            fg_stage_offer(oracle, FG_STAGE_DPROB, row, j, scaled, &terms.scaled);
            fg_stage_offer(oracle, FG_STAGE_DY1, row, gate, down, &terms.gate);
        }
        if (watched && rules.gated_kind) {
            fg_stage_offer(oracle, FG_STAGE_DY1, row, linear, up, &terms.linear);
        }
    }
    return sums;
}

fg_product_sum fg_activation_backward_row(fg_oracle *oracle, int64_t row, const fg_values *dh,
                                          const fg_values *summed) {
    const gradient_row out = {
        .v = oracle->y1.v + row * oracle->columns,
        .d = oracle->y1.d + row * oracle->columns,
        .summed = *summed,
    };
    return oracle->spec.stages ? backward_row(oracle, row, dh, &out, 1)
                               : backward_row(oracle, row, dh, &out, 0);
}
