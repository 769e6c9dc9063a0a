#ifndef FG_CONFORMANCE_SUITES_ORACLE_CASE_H
#define FG_CONFORMANCE_SUITES_ORACLE_CASE_H

/* Inputs of a small problem for the suites that test the oracle. */

#include "reference/oracle.h"

#define FG_ORACLE_CASE_EXPERTS 8

/* A problem with random inputs. Tensors live in memory of their own; padding rows and the gaps
 * between padded rows hold NaN. */
typedef struct fg_oracle_case {
    fg_problem problem;
    fg_traits traits;
    int64_t splits[FG_ORACLE_CASE_EXPERTS];
    int32_t splits_device[FG_ORACLE_CASE_EXPERTS];
    int64_t begin[FG_ORACLE_CASE_EXPERTS + 1];
    fg_tensor inputs[FG_INPUT_SLOTS];
    fg_tensor grads_before[FG_INPUT_SLOTS];
    fg_tensor dy, splits_tensor;
    fg_inputs in;
    fg_oracle_spec spec; /* bounds on, every gradient of the problem wanted, none accumulated */
} fg_oracle_case;

/* Traits of exact float32 arithmetic with the given rounding points. */
fg_traits fg_oracle_case_traits(uint32_t rounding);

/* A problem of float64 throughout. */
fg_problem fg_oracle_case_problem_f64(int64_t experts, int64_t hidden, int64_t inter);

/* Every gradient that a problem has. */
uint32_t fg_oracle_case_mask(const fg_problem *problem);

/* Fills *out with normal random inputs, each rounded to its type, p in (0, 1); row strides are
 * `gap` elements longer than the rows. T is `spare` rows more than the segments take. Aborts the
 * test when memory is short. */
void fg_oracle_case_create(const fg_problem *problem, const int64_t *splits, uint64_t seed,
                           int64_t gap, int64_t spare, fg_oracle_case *out);
void fg_oracle_case_free(fg_oracle_case *value);

/* An oracle of the case's spec; aborts the test, with the message printed, when there is none. */
fg_oracle *fg_oracle_case_open(const fg_oracle_case *value);

/* Computes one expert and gives one of its outputs; aborts likewise. */
fg_expected fg_oracle_case_expert(fg_oracle *oracle, int64_t expert, int output);

/* Whether two oracles agree on one output in every bit, over all experts. */
int fg_oracle_case_same(fg_oracle *a, fg_oracle *b, int64_t experts, int output);

/* Next normal random number of a stream. */
double fg_oracle_case_normal(uint64_t *state);

/* Reads and writes one element of a tensor by its index without gaps. */
double fg_oracle_case_get(const fg_tensor *tensor, int64_t index);
void fg_oracle_case_set(const fg_tensor *tensor, int64_t index, double value);

#endif
