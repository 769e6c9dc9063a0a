#ifndef FG_CONFORMANCE_JUDGE_SELF_TEST_BLAS_H
#define FG_CONFORMANCE_JUDGE_SELF_TEST_BLAS_H

#include "contract/status.h"
#include <stdint.h>

/* Checks OpenBLAS's dgemm and sgemm on integer matrices, whose products are exact: every transpose,
 * padded leading dimensions, K = 0, M = 0, N = 0, beta 0 on poison, NaN and infinity in place,
 * sizes of the suite, each twice, and from several threads. Adds to *checks; FG_STATUS_INTERNAL
 * says which failed and on which core. FG_STATUS_NO_MEMORY. */
fg_status fg_self_test_blas(int64_t *checks);

#endif
