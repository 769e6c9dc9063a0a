#include "reference/oracle_activation.h"

#include "reference/activation.h"
#include "reference/oracle_stage.h"

/* What is the same for every element of a pass. */
typedef struct element_rules {
    const fg_rounder *io;
    double unit, floor;
    int gated_kind, prob;
    int act, gated, hidden, dprob, dlinear, dact, dbias; /* declared rounding points */
} element_rules;

/* Everything that one gate, its linear partner and p give going forward. */
typedef struct element_forward {
    fg_activation_point point;
    fg_step act, gated, h;
    double slope_kink;
} element_forward;

static element_rules rules_of(const fg_oracle *oracle) {
    return (element_rules){
        .io = &oracle->io,
        .unit = oracle->arithmetic.unit,
        .floor = oracle->arithmetic.floor,
        .gated_kind = fg_activation_gated((fg_activation)oracle->spec.problem->activation),
        .prob = oracle->spec.problem->prob,
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
static inline void gate_step(const element_rules *rules, double g, double g_bound,
                             element_forward *out) {
    double kink = 0;
    out->slope_kink = 0;
    if (rules->gated_kind) {
        fg_swiglu_point(g, &out->point);
    } else {
        fg_srelu_point(g, &out->point);
        if (fabs(g) <= g_bound) {
            kink = fg_srelu_value_kink(fabs(g) + g_bound);
            out->slope_kink = fg_srelu_slope_kink(fabs(g) + g_bound);
        }
    }
    const fg_activation_point *point = &out->point;
    double operands = fabs(point->slope) * g_bound;
    double elementwise = rules->unit * point->value_size + rules->floor * point->value_sigmoid;
    out->act = (fg_step){.v = point->value,
                         .d = operands + elementwise + kink,
                         .operands = operands,
                         .elementwise = elementwise,
                         .kink = kink};
}

/* The unscaled activation. */
static inline void gated_step(const element_rules *rules, double u, double u_bound,
                              element_forward *out) {
    out->gated = out->act;
    if (rules->gated_kind) {
        out->act = fg_step_round(out->act, rules->io, rules->act);
        out->gated = fg_step_times(out->act, u, u_bound, rules->act ? rules->unit : 0);
    }
    out->gated = fg_step_round(out->gated, rules->io, rules->gated);
}

static inline void hidden_step(const element_rules *rules, double p, element_forward *out) {
    out->h = out->gated;
    if (rules->prob) {
        out->h = fg_step_times(out->gated, p, 0, rules->gated ? rules->unit : 0);
    }
    int rounded = !rules->prob && rules->gated;
    out->h = fg_step_round(out->h, rules->io, rules->hidden && !rounded);
}

void fg_activation_forward(fg_oracle *oracle, const fg_values *y1, fg_operand *h, int watched) {
    const element_rules rules = rules_of(oracle);
    const int64_t *gate = oracle->gate_column;
    const int64_t *linear = oracle->linear_column;
    for (int64_t i = 0; i < oracle->rows; i++) {
        const double *v = y1->v + i * oracle->columns;
        const double *d = y1->d + i * oracle->columns;
        for (int64_t j = 0; j < oracle->inter; j++) {
            element_forward element;
            gate_step(&rules, v[gate[j]], d[gate[j]], &element);
            gated_step(&rules, v[linear[j]], d[linear[j]], &element);
            hidden_step(&rules, oracle->p[i], &element);
            h->v[i * oracle->inter + j] = element.h.v;
            h->d[i * oracle->inter + j] = element.h.d;
            if (watched) {
                fg_stage_offer(oracle, FG_STAGE_ACT, i, j, &element.act);
                fg_stage_offer(oracle, FG_STAGE_GATED, i, j, &element.gated);
                fg_stage_offer(oracle, FG_STAGE_H, i, j, &element.h);
            }
        }
    }
}

/* D f'(g) for the gate's column, D being multiplied by the linear half first when gated. */
static inline fg_step gate_gradient(const element_rules *rules, const element_forward *forward,
                                    fg_step d, double g_bound) {
    const fg_activation_point *point = &forward->point;
    double size = fabs(d.v);
    double operands = fabs(point->slope) * d.d + size * fabs(point->curve) * g_bound;
    double elementwise =
        size * (rules->unit * point->slope_size + rules->floor * point->slope_sigmoid);
    double kink = size * forward->slope_kink;
    fg_step step = {.v = d.v * point->slope,
                    .d = operands + elementwise + kink,
                    .operands = operands,
                    .elementwise = elementwise,
                    .kink = kink};
    return fg_step_round(step, rules->io, rules->dlinear);
}

/* The element's parts of dp. */
static inline void dprob_add(fg_product_sum *sums, const fg_step *a, double dh, double dh_bound) {
    double by_dh = a->v * dh_bound / 2;
    double by_a = dh * a->d / 2;
    sums->value += dh * a->v;
    sums->size += fabs(dh * a->v);
    sums->squares += by_dh * by_dh + by_a * by_a;
}

/* One column of dy1, as FC1's gradients read it and as db1 sums it. */
static inline void gradient_store(const element_rules *rules, fg_step step, int64_t column,
                                  const fg_gradient_row *out, fg_step *read) {
    *read = fg_step_round(step, rules->io, rules->dact && !rules->dlinear);
    out->read.v[column] = read->v;
    out->read.d[column] = read->d;
    fg_step summed = *read;
    if (rules->dact != rules->dbias) {
        summed = fg_step_round(step, rules->io, rules->dbias && !rules->dlinear);
    }
    out->summed.v[column] = summed.v;
    out->summed.d[column] = summed.d;
}

/* D = dh p. */
static inline fg_step scaled_gradient(const element_rules *rules, double dh, double dh_bound,
                                      double p) {
    fg_step scaled = fg_step_of(dh, dh_bound);
    if (rules->prob) {
        scaled = fg_step_times(scaled, p, 0, rules->dprob ? rules->unit : 0);
        scaled = fg_step_round(scaled, rules->io, rules->dprob);
    }
    return scaled;
}

/* D f(g), the linear half's gradient. */
static inline fg_step linear_gradient(const element_rules *rules, const element_forward *forward,
                                      fg_step scaled) {
    fg_step step =
        fg_step_times(scaled, forward->act.v, forward->act.d, rules->act ? rules->unit : 0);
    return fg_step_round(step, rules->io, rules->dlinear);
}

fg_product_sum fg_activation_backward_row(fg_oracle *oracle, const fg_values *y1, int64_t row,
                                          const fg_values *dh, const fg_gradient_row *out) {
    const element_rules rules = rules_of(oracle);
    const double *v = y1->v + row * oracle->columns;
    const double *d = y1->d + row * oracle->columns;
    fg_product_sum sums = {0};
    for (int64_t j = 0; j < oracle->inter; j++) {
        int64_t gate = oracle->gate_column[j];
        int64_t linear = oracle->linear_column[j];
        element_forward forward;
        fg_step read;
        gate_step(&rules, v[gate], d[gate], &forward);
        gated_step(&rules, v[linear], d[linear], &forward);
        dprob_add(&sums, &forward.gated, dh->v[j], dh->d[j]);
        fg_step scaled = scaled_gradient(&rules, dh->v[j], dh->d[j], oracle->p[row]);
        fg_stage_offer(oracle, FG_STAGE_DPROB, row, j, &scaled);
        fg_step product = scaled;
        if (rules.gated_kind) {
            product = fg_step_times(scaled, v[linear], d[linear], rules.dlinear ? rules.unit : 0);
            product = fg_step_round(product, rules.io, rules.dlinear);
            gradient_store(&rules, linear_gradient(&rules, &forward, scaled), linear, out, &read);
            fg_stage_offer(oracle, FG_STAGE_DY1, row, linear, &read);
        }
        gradient_store(&rules, gate_gradient(&rules, &forward, product, d[gate]), gate, out, &read);
        fg_stage_offer(oracle, FG_STAGE_DY1, row, gate, &read);
    }
    return sums;
}
