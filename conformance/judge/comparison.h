#ifndef FG_CONFORMANCE_JUDGE_COMPARISON_H
#define FG_CONFORMANCE_JUDGE_COMPARISON_H

#include "conformance/judge/bias.h"
#include "reference/oracle.h"

/* How an output is held against what is expected. */
typedef enum fg_compare_rule {
    FG_COMPARE_EXACT = 0, /* equal to the expected value rounded once; zeros of either sign */
    FG_COMPARE_BOUND = 1, /* |got - v| <= d(v) + half an ulp of the output at |v| + d(v) */
} fg_compare_rule;

/* What was found in one output. */
typedef struct fg_finding {
    int64_t compared, bad;        /* elements */
    int64_t with_tokens, nonzero; /* elements of experts with rows; expected ones that are not 0 */
    double ratio;                 /* the worst error over tolerance; infinity for a wrong class */
    int64_t expert, row, col;     /* of the worst; row within the expert */
    double got, expected, bound, tolerance;
    fg_bias bias;
} fg_finding;

/* Compares outputs of one case; findings grow expert by expert. */
typedef struct fg_comparison {
    fg_compare_rule rule;
    fg_finding findings[FG_OUTPUTS];
    double *scratch; /* [3 capacity]: got, rounded, and as stored */
    int64_t capacity;
} fg_comparison;

/* The comparison's rule, and rows of up to `longest` elements; FG_STATUS_NO_MEMORY. */
fg_status fg_comparison_open(fg_compare_rule rule, int64_t longest, fg_comparison *out);
void fg_comparison_close(fg_comparison *comparison);

/* Holds one expert's block of an output against what is expected; `tokens` is the expert's number
 * of rows. Every NaN, infinity and finite number must match in class; a mismatch is the worst. */
void fg_comparison_expert(fg_comparison *comparison, int output, int64_t expert, int64_t tokens,
                          const fg_expected *expected, const fg_tensor *got);

/* Elements that a comparison of an output owes, from the problem alone. */
int64_t fg_comparison_owed(const fg_problem *problem, const int64_t *splits, int output);

/* Whether the evidence of a finding is too thin: under a quarter of the expected elements of
 * experts with rows are not zero, or under 64 where there are at least twice as many (just above 64
 * elements the limit would ask for every single one). */
int fg_finding_thin(const fg_finding *finding);

/* The worst element in words: output, expert, row, tile, column, numbers. */
void fg_finding_words(const fg_finding *finding, int output, fg_compare_rule rule, char *text,
                      size_t size);

#endif
