#ifndef FG_CONFORMANCE_JUDGE_SELF_TEST_H
#define FG_CONFORMANCE_JUDGE_SELF_TEST_H

#include "contract/status.h"
#include <stdint.h>

/* Judges the judge before it judges: converters, OpenBLAS, the comparison against planted errors.
 * FG_STATUS_INTERNAL names the check that failed and the OpenBLAS core. Takes under a second;
 * `checks` receives how many checks ran. */
fg_status fg_self_test(int64_t *checks);

#endif
