#include "conformance/judge/explain.h"

#include "conformance/case/case_parse.h"
#include "conformance/judge/mlp_judge.h"
#include "conformance/tensors/fresh.h"

#include <inttypes.h>

enum { STAGES = 48 };

static const struct {
    uint32_t flag;
    const char *name, *words;
} roundings[] = {
    {FG_ROUND_Y1_FORWARD, "y1_forward", "the pre-activation, before the forward reads it"},
    {FG_ROUND_BIAS_AFTER, "bias_after", "a GEMM result before its bias is added, and then again"},
    {FG_ROUND_ACT, "act", "f(gate), before it meets the linear half"},
    {FG_ROUND_GATED, "gated", "f(gate) * linear, before it meets p"},
    {FG_ROUND_PROB, "prob", "p, before use"},
    {FG_ROUND_HIDDEN, "hidden", "h, before FC2"},
    {FG_ROUND_Y1_SAVED, "y1_saved", "the pre-activation that the backward reads"},
    {FG_ROUND_HIDDEN_SAVED, "hidden_saved", "dW2 takes the forward's h"},
    {FG_ROUND_DHIDDEN, "dhidden", "dh, before the activation's backward"},
    {FG_ROUND_DPROB, "dprob", "dh * p"},
    {FG_ROUND_DLINEAR, "dlinear", "each product of the activation's backward"},
    {FG_ROUND_DACT, "dact", "dy1, before FC1's gradients"},
    {FG_ROUND_DBIAS, "dbias_rounded", "db1 sums the rounded dy1"},
};

static void print_problem(FILE *out, const fg_case *value, const int64_t *begin) {
    char line[FG_CASE_LINE];
    const fg_problem *problem = &value->problem;
    int64_t held = 0, empty = 0, most = 0;
    for (int64_t e = 0; e < problem->experts; e++) {
        held += value->splits[e];
        empty += value->splits[e] == 0;
        most = value->splits[e] > most ? value->splits[e] : most;
    }
    (void)fg_case_format(value, line, sizeof line);
    (void)fprintf(out, "%s\n\nproblem\n", line);
    (void)fprintf(
        out, "  E = %" PRId64 " experts, H = %" PRId64 ", F = %" PRId64 ", O1 = %" PRId64 " (%s)\n",
        problem->experts, problem->hidden, problem->inter, fg_problem_o1(problem),
        fg_activation_name((fg_activation)problem->activation));
    (void)fprintf(out,
                  "  T = %" PRId64 " rows: %" PRId64 " of experts, %" PRId64
                  " of padding; segments take %" PRId64 "\n",
                  value->rows, held, value->rows - held, begin[problem->experts]);
    (void)fprintf(out, "  largest expert %" PRId64 " rows, %" PRId64 " experts without any\n", most,
                  empty);
    (void)fprintf(
        out, "  types: I/O %s, p %s, bias %s, weight gradients %s, splits %s\n",
        fg_dtype_name((fg_dtype)problem->dtype), fg_dtype_name((fg_dtype)problem->prob_dtype),
        fg_dtype_name((fg_dtype)problem->bias_dtype), fg_dtype_name((fg_dtype)problem->wgrad_dtype),
        fg_dtype_name((fg_dtype)problem->splits_dtype));
    (void)fprintf(out, "  %.3g MFLOP forward, %.3g MFLOP backward\n",
                  fg_problem_forward_flops(problem, held) * 1e-6,
                  value->want != 0 ? fg_problem_backward_flops(problem, held) * 1e-6 : 0);
}

static void print_roundings(FILE *out, const fg_case *value, const fg_traits *traits) {
    (void)fprintf(out, "\nrounding points (to %s, nearest even)\n",
                  fg_dtype_name((fg_dtype)value->problem.dtype));
    for (size_t i = 0; i < sizeof roundings / sizeof roundings[0]; i++) {
        if (traits->rounding & roundings[i].flag) {
            (void)fprintf(out, "  %-14s %s\n", roundings[i].name, roundings[i].words);
        }
    }
    (void)fprintf(out, "  the rest stays as wide as it was computed\n");
    (void)fprintf(out,
                  "  accumulator: %d digits, %s, operands of float32 read with %d digits; "
                  "activation error %g * 2^-24\n",
                  traits->accumulator_digits,
                  traits->accumulator_truncates ? "truncates" : "rounds to nearest",
                  traits->operand_digits, traits->activation_error);
}

static void print_checks(FILE *out, const fg_case *value, const fg_traits *traits) {
    char list[64];
    (void)fg_case_mask_format(value->want, fg_case_gradients(&value->problem), list, sizeof list);
    (void)fprintf(out, "\nplanned checks, in order (gradients: %s)\n", list);
    (void)fprintf(out, "  memory         guards, gaps, padding, unwanted outputs, inputs, earlier "
                       "outputs; two poisons\n");
    if (value->data == FG_DATA_NORMAL) {
        (void)fprintf(out, "  bound          every element within the bound below\n");
        (void)fprintf(out, "  bias           mean signed error of each output of 16 bits\n");
    } else {
        (void)fprintf(out, "  exact          every element has its one right value\n");
    }
    (void)fprintf(out, "  determinism    %s\n",
                  traits->deterministic ? "the second round repeats the first, bit for bit"
                                        : "not declared: each round is judged on its own");
    const char *missing = fg_fresh_missing(value);
    (void)fprintf(out, "  sequences      %s%s\n",
                  missing != NULL ? "not run: "
                                  : "a forward of other values in x's place before the backward, ",
                  missing != NULL ? missing : "which gets x from elsewhere");
    (void)fprintf(out, "  evidence       elements compared = owed, enough of them not zero; some "
                       "rows again by a naive loop\n");
}

static void print_stages(FILE *out, const fg_oracle *oracle, int64_t expert, int64_t rows) {
    fg_bound_stage stages[STAGES];
    int32_t count = fg_oracle_stages(oracle, stages, STAGES);
    (void)fprintf(out,
                  "\nbound of each stage at its largest, expert %" PRId64 " (%" PRId64
                  " rows): d(v) and its terms\n",
                  expert, rows);
    (void)fprintf(out, "  %-8s %6s %9s %6s %6s %12s %9s %9s %9s %9s %9s %9s %9s\n", "stage", "n",
                  "gamma", "row", "column", "v", "sum", "operands", "narrow", "element", "kink",
                  "rounding", "d(v)");
    for (int32_t i = 0; i < count; i++) {
        const fg_bound_stage *at = &stages[i];
        (void)fprintf(out,
                      "  %-8s %6" PRId64 " %9.2e %6" PRId64 " %6" PRId64
                      " %12.5g %9.2e %9.2e %9.2e %9.2e %9.2e %9.2e %9.2e\n",
                      at->name, at->n, at->gamma, at->row, at->col, at->value, at->sum,
                      at->operands, at->narrow, at->elementwise, at->kink, at->rounding, at->bound);
    }
    (void)fprintf(out, "  a sum's terms add up; an output is allowed half an ulp of its type at "
                       "|v| + d(v) more\n");
}

/* The expert with the most rows. */
static int64_t fullest(const fg_case *value) {
    int64_t best = 0;
    for (int64_t e = 1; e < value->problem.experts; e++) {
        best = value->splits[e] > value->splits[best] ? e : best;
    }
    return best;
}

static fg_status explain_bounds(FILE *out, const fg_case *value, const fg_traits *traits,
                                fg_tensors *tensors) {
    fg_inputs inputs = {.struct_size = sizeof inputs,
                        .rows = value->rows,
                        .splits = fg_tensors_view(tensors, FG_BUFFER_SPLITS)};
    for (int i = 0; i < FG_INPUTS; i++) {
        inputs.inputs[i] = fg_tensors_view(tensors, FG_BUFFER_INPUT + i);
    }
    fg_mlp_judgement judgement = {
        .value = value, .traits = traits, .inputs = &inputs, .tensors = tensors};
    fg_oracle_spec spec;
    fg_mlp_spec(&judgement, value->want, &spec);
    spec.bounds = spec.stages = 1;
    fg_oracle *oracle = NULL;
    FG_TRY(fg_oracle_create(&spec, &oracle));
    int64_t expert = fullest(value);
    fg_status status = fg_oracle_expert(oracle, expert);
    if (status == FG_STATUS_OK) {
        print_stages(out, oracle, expert, value->splits[expert]);
    }
    fg_oracle_destroy(oracle);
    return status;
}

fg_status fg_explain(FILE *out, const fg_case *value, const fg_traits *traits) {
    const fg_kernel_sizes sizes = {.struct_size = sizeof sizes};
    fg_tensors *tensors = NULL;
    FG_TRY(fg_tensors_create(value, traits, &sizes, &tensors));
    print_problem(out, value, tensors->begin);
    print_roundings(out, value, traits);
    if (value->kind == FG_CASE_MLP) {
        print_checks(out, value, traits);
    }
    fg_status status = explain_bounds(out, value, traits, tensors);
    fg_tensors_destroy(tensors);
    return status;
}
