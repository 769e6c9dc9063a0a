#ifndef FG_CONFORMANCE_JUDGE_SELF_TEST_CONVERT_H
#define FG_CONFORMANCE_JUDGE_SELF_TEST_CONVERT_H

#include "contract/status.h"
#include <stdint.h>

/* Checks the conversions of f16 and bf16 on every code and around every rounding midpoint, from
 * float32 and from float64, and float32's on a sample. Adds to *checks; FG_STATUS_INTERNAL says
 * which failed. */
fg_status fg_self_test_convert(int64_t *checks);

#endif
