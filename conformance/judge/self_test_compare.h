#ifndef FG_CONFORMANCE_JUDGE_SELF_TEST_COMPARE_H
#define FG_CONFORMANCE_JUDGE_SELF_TEST_COMPARE_H

#include "conformance/judge/comparison.h"

/* A comparison of one expert's block, as fg_comparison_expert. */
typedef void (*fg_compare_fn)(fg_comparison *comparison, int output, int64_t expert, int64_t tokens,
                              const fg_expected *expected, const fg_tensor *got);

/* Runs a comparison against planted errors: right outputs pass with elements compared = owed; one
 * wrong element in the first or last row of each expert, in the last column, of every output and
 * type, is the one and only that is found, where it was planted; a NaN or an infinity too; -0 for 0
 * is right. Adds to *checks; FG_STATUS_INTERNAL says which failed. FG_STATUS_NO_MEMORY. */
fg_status fg_self_test_compare(fg_compare_fn compare, int64_t *checks);

#endif
