#include "reference/oracle_activation.h"

#include "reference/oracle_element.h"
#include "reference/oracle_stage.h"

static fg_element_rules rules_of(const fg_oracle *oracle, uint32_t reader) {
    int late_bias = oracle->spec.problem->bias && fg_oracle_rounds(oracle, FG_ROUND_BIAS_AFTER);
    return (fg_element_rules){
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

static inline void forward_rows(fg_oracle *oracle, uint32_t reader, int watched)
    __attribute__((always_inline));
static inline void forward_rows(fg_oracle *oracle, uint32_t reader, int watched) {
    const fg_element_rules rules = rules_of(oracle, reader);
    const int64_t *gate = oracle->gate_column;
    const int64_t *linear = oracle->linear_column;
    fg_element_terms terms = {0};
    for (int64_t i = 0; i < oracle->rows; i++) {
        const double *v = oracle->y1.v + i * oracle->columns;
        const double *d = oracle->y1.d + i * oracle->columns;
        int64_t first = i * oracle->inter;
        for (int64_t j = 0; j < oracle->inter; j++) {
            fg_element_forward element;
            fg_element_gated(&rules, (fg_bounded){v[gate[j]], d[gate[j]]},
                             (fg_bounded){v[linear[j]], d[linear[j]]}, &element,
                             watched ? &terms : NULL);
            fg_element_hidden(&rules, oracle->p[i], &element, watched ? &terms : NULL);
            oracle->h.v[first + j] = element.h.v;
            oracle->h.d[first + j] = element.h.d;
            if (watched) {
                fg_stage_offer(oracle, FG_STAGE_ACT, i, j, element.act, &terms.act);
                fg_stage_offer(oracle, FG_STAGE_GATED, i, j, element.gated, &terms.gated);
                fg_stage_offer(oracle, FG_STAGE_H, i, j, element.h, &terms.h);
            }
        }
    }
}

void fg_activation_forward(fg_oracle *oracle, uint32_t reader, int watched) {
    if (watched) {
        forward_rows(oracle, reader, 1);
    } else {
        forward_rows(oracle, reader, 0);
    }
}

static inline fg_product_sum backward_row(fg_oracle *oracle, int64_t row, const fg_values *dh,
                                          const fg_gradient_row *out, int watched)
    __attribute__((always_inline));
static inline fg_product_sum backward_row(fg_oracle *oracle, int64_t row, const fg_values *dh,
                                          const fg_gradient_row *out, int watched) {
    const fg_element_rules rules = rules_of(oracle, FG_ROUND_Y1_SAVED);
    int again = (oracle->needs & FG_NEED_H_AGAIN) != 0;
    fg_product_sum sums = {0};
    fg_element_terms terms = {0};
    fg_element_terms *shown = watched ? &terms : NULL;
    for (int64_t j = 0; j < oracle->inter; j++) {
        int64_t gate = oracle->gate_column[j];
        int64_t linear = oracle->linear_column[j];
        fg_bounded dh_j = {dh->v[j], dh->d[j]};
        fg_element_forward forward;
        fg_element_gated(&rules, (fg_bounded){out->v[gate], out->d[gate]},
                         (fg_bounded){out->v[linear], out->d[linear]}, &forward, NULL);
        fg_element_dprob(&sums, forward.gated, dh_j);
        if (again) {
            fg_element_hidden(&rules, oracle->p[row], &forward, NULL);
            oracle->h.v[row * oracle->inter + j] = forward.h.v;
            oracle->h.d[row * oracle->inter + j] = forward.h.d;
        }
        fg_bounded scaled =
            fg_element_scaled(&rules, dh_j, oracle->p[row], FG_TERMS(shown, scaled));
        fg_bounded product = scaled;
        fg_bounded up = {0, 0};
        if (rules.gated_kind) {
            product =
                fg_bounded_times(scaled, forward.linear, rules.dlinear ? rules.unit : 0, NULL);
            product = fg_bounded_round(product, &rules.io, rules.dlinear, NULL);
            up = fg_element_linear_gradient(&rules, &forward, scaled, FG_TERMS(shown, linear));
            up = fg_element_store(&rules, up, linear, out, FG_TERMS(shown, linear));
        }
        fg_bounded down =
            fg_element_gate_gradient(&rules, &forward, product, FG_TERMS(shown, gate));
        down = fg_element_store(&rules, down, gate, out, FG_TERMS(shown, gate));
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
    const fg_gradient_row out = {
        .v = oracle->y1.v + row * oracle->columns,
        .d = oracle->y1.d + row * oracle->columns,
        .summed = *summed,
    };
    return oracle->spec.stages ? backward_row(oracle, row, dh, &out, 1)
                               : backward_row(oracle, row, dh, &out, 0);
}
