/* The judge's own test: that it passes here, and that it finds an OpenBLAS that is wrong. This
 * program's dgemm and sgemm stand before the library's and can be made faulty. */

#include "conformance/clock.h"
#include "conformance/judge/self_test.h"
#include "conformance/judge/self_test_blas.h"
#include "conformance/judge/self_test_compare.h"
#include "conformance/judge/self_test_convert.h"
#include "contract/alloc.h"
#include <cblas.h>
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

typedef void (*dgemm_fn)(OPENBLAS_CONST enum CBLAS_ORDER, OPENBLAS_CONST enum CBLAS_TRANSPOSE,
                         OPENBLAS_CONST enum CBLAS_TRANSPOSE, OPENBLAS_CONST blasint,
                         OPENBLAS_CONST blasint, OPENBLAS_CONST blasint, OPENBLAS_CONST double,
                         OPENBLAS_CONST double *, OPENBLAS_CONST blasint, OPENBLAS_CONST double *,
                         OPENBLAS_CONST blasint, OPENBLAS_CONST double, double *,
                         OPENBLAS_CONST blasint);
typedef void (*sgemm_fn)(OPENBLAS_CONST enum CBLAS_ORDER, OPENBLAS_CONST enum CBLAS_TRANSPOSE,
                         OPENBLAS_CONST enum CBLAS_TRANSPOSE, OPENBLAS_CONST blasint,
                         OPENBLAS_CONST blasint, OPENBLAS_CONST blasint, OPENBLAS_CONST float,
                         OPENBLAS_CONST float *, OPENBLAS_CONST blasint, OPENBLAS_CONST float *,
                         OPENBLAS_CONST blasint, OPENBLAS_CONST float, float *,
                         OPENBLAS_CONST blasint);

typedef enum wrong {
    RIGHT,
    LAST_ELEMENT,    /* of a large product */
    DOUBLES,         /* the last element: shows only on numbers that are not 0 */
    SINGLE_LAST_ROW, /* sgemm */
    NO_K_LEAVES_C,   /* K = 0 with beta 0 leaves the old content */
    READS_C,         /* beta 0 multiplies the old content: NaN stays */
    DROPS_NAN,       /* a NaN of A counts as 0 */
    WRITES_PADDING,  /* one element past the row */
    SECOND_TIME,     /* every other call of a shape is off by one */
    SEVERAL_THREADS, /* off while another thread multiplies */
} wrong;

static wrong fault;
static atomic_int inside, calls;

static void *real(const char *name) {
    void *symbol = dlsym(RTLD_NEXT, name);
    cr_assert(symbol != NULL);
    return symbol;
}

/* Finds a NaN in A, which has `rows` lines of lda elements. */
static int holds_nan(const double *a, blasint lines, blasint lda, blasint used) {
    for (blasint i = 0; i < lines; i++) {
        for (blasint k = 0; k < used; k++) {
            if (isnan(a[i * lda + k])) {
                return 1;
            }
        }
    }
    return 0;
}

/* What a faulty library leaves in C after the right product. */
static void spoil(blasint m, blasint n, blasint k, int nan_in_a, double *c, blasint ldc) {
    int beside = atomic_load(&inside) > 1, call = atomic_fetch_add(&calls, 1);
    if ((fault == LAST_ELEMENT && m >= 128 && n >= 512) ||
        (fault == SECOND_TIME && call % 2 == 1) || (fault == SEVERAL_THREADS && beside)) {
        c[(m - 1) * ldc + n - 1] += m > 0 && n > 0 ? 1 : 0;
    } else if (fault == DOUBLES && m > 0 && n > 0) {
        c[(m - 1) * ldc + n - 1] *= 2;
    } else if (fault == WRITES_PADDING && n > 0 && m > 0 && k > 0) {
        c[n] = 0;
    } else if (fault == DROPS_NAN && nan_in_a) {
        for (blasint i = 0; i < m * ldc; i++) {
            c[i] = i % ldc < n && isnan(c[i]) ? 0 : c[i];
        }
    }
}

void cblas_dgemm(OPENBLAS_CONST enum CBLAS_ORDER Order, OPENBLAS_CONST enum CBLAS_TRANSPOSE TransA,
                 OPENBLAS_CONST enum CBLAS_TRANSPOSE TransB, OPENBLAS_CONST blasint M,
                 OPENBLAS_CONST blasint N, OPENBLAS_CONST blasint K, OPENBLAS_CONST double alpha,
                 OPENBLAS_CONST double *A, OPENBLAS_CONST blasint lda, OPENBLAS_CONST double *B,
                 OPENBLAS_CONST blasint ldb, OPENBLAS_CONST double beta, double *C,
                 OPENBLAS_CONST blasint ldc) {
    dgemm_fn right;
    void *symbol = real("cblas_dgemm");
    memcpy(&right, &symbol, sizeof right);
    if (fault == NO_K_LEAVES_C && K == 0) {
        return;
    }
    atomic_fetch_add(&inside, 1);
    if (fault == SEVERAL_THREADS && M == 65 && N == 48) {
        (void)usleep(2000); // long enough to meet the others
    }
    double old = M > 0 && N > 0 ? C[0] : 0;
    right(Order, TransA, TransB, M, N, K, alpha, A, lda, B, ldb, beta, C, ldc);
    if (fault == READS_C && M > 0 && N > 0) {
        C[0] += beta == 0 ? old * 0 : 0;
    }
    int by_rows = TransA == CblasNoTrans;
    spoil(M, N, K, fault == DROPS_NAN && holds_nan(A, by_rows ? M : K, lda, by_rows ? K : M), C,
          ldc);
    atomic_fetch_sub(&inside, 1);
}

void cblas_sgemm(OPENBLAS_CONST enum CBLAS_ORDER Order, OPENBLAS_CONST enum CBLAS_TRANSPOSE TransA,
                 OPENBLAS_CONST enum CBLAS_TRANSPOSE TransB, OPENBLAS_CONST blasint M,
                 OPENBLAS_CONST blasint N, OPENBLAS_CONST blasint K, OPENBLAS_CONST float alpha,
                 OPENBLAS_CONST float *A, OPENBLAS_CONST blasint lda, OPENBLAS_CONST float *B,
                 OPENBLAS_CONST blasint ldb, OPENBLAS_CONST float beta, float *C,
                 OPENBLAS_CONST blasint ldc) {
    sgemm_fn right;
    void *symbol = real("cblas_sgemm");
    memcpy(&right, &symbol, sizeof right);
    right(Order, TransA, TransB, M, N, K, alpha, A, lda, B, ldb, beta, C, ldc);
    if (fault == SINGLE_LAST_ROW && M > 64 && N > 0 && K > 0) {
        C[(M - 1) * ldc] += 1;
    }
}

Test(self_test, passes_here_in_many_checks_and_within_seconds) {
    int64_t checks = 0;
    openblas_set_num_threads(1);
    double began = fg_clock_seconds();
    cr_assert_eq(fg_self_test(&checks), FG_STATUS_OK, "%s", fg_message());
    cr_assert_gt(checks, 400000);
    cr_assert(fg_clock_seconds() - began < 60);
    cr_assert_eq(fg_alloc_live_total(), 0);
}

static void finds(wrong planted, const char *words) {
    int64_t checks = 0;
    openblas_set_num_threads(1);
    fault = planted;
    cr_assert_eq(fg_self_test(&checks), FG_STATUS_INTERNAL);
    cr_assert(strstr(fg_message(), "OpenBLAS (core ") != NULL, "%s", fg_message());
    cr_assert(strstr(fg_message(), openblas_get_corename()) != NULL, "%s", fg_message());
    cr_assert(strstr(fg_message(), words) != NULL, "%s, expected '%s'", fg_message(), words);
    cr_assert_eq(fg_alloc_live_total(), 0);
}

Test(self_test, finds_a_wrong_element_of_a_large_product) {
    finds(LAST_ELEMENT, "N=512");
}

Test(self_test, finds_a_doubled_element) {
    finds(DOUBLES, "a wrong element");
}

Test(self_test, finds_a_wrong_row_of_sgemm) {
    finds(SINGLE_LAST_ROW, "sgemm");
}

Test(self_test, finds_content_left_where_k_is_0) {
    finds(NO_K_LEAVES_C, "K=0");
}

Test(self_test, finds_old_content_read_with_beta_0) {
    finds(READS_C, "beta=0");
}

Test(self_test, finds_a_nan_that_is_dropped) {
    finds(DROPS_NAN, "a NaN is lost");
}

Test(self_test, finds_a_write_behind_a_row) {
    finds(WRITES_PADDING, "a wrong element");
}

Test(self_test, finds_results_that_do_not_repeat) {
    finds(SECOND_TIME, "another result the second time");
}

Test(self_test, finds_results_that_depend_on_other_threads) {
    finds(SEVERAL_THREADS, "from several threads");
}

Test(self_test, converters_pass_on_every_code) {
    int64_t checks = 0;
    cr_assert_eq(fg_self_test_convert(&checks), FG_STATUS_OK, "%s", fg_message());
    cr_assert_gt(checks, 2 * 6 * 31000);
}

Test(self_test, comparison_passes_on_planted_errors) {
    int64_t checks = 0;
    cr_assert_eq(fg_self_test_compare(fg_comparison_expert, &checks), FG_STATUS_OK, "%s",
                 fg_message());
    // Plantings in 8 outputs of 3 types under 2 rules, and the 48 right outputs.
    cr_assert_eq(checks, 2388);
}

typedef enum blindness {
    PASSES_ALL,
    NO_LAST_ROW,
    NO_LAST_COLUMN,
    NAN_PASSES,
    SKIPS_EMPTY
} blindness;

static blindness blind;

/* A comparison that does not see something. */
static void compare_blindly(fg_comparison *comparison, int output, int64_t expert, int64_t tokens,
                            const fg_expected *expected, const fg_tensor *got) {
    fg_finding before = comparison->findings[output];
    fg_expected seen = *expected;
    if (blind == SKIPS_EMPTY && tokens == 0) {
        return;
    }
    fg_comparison_expert(comparison, output, expert, tokens, &seen, got);
    fg_finding *finding = &comparison->findings[output];
    int64_t rows = got->ndim == 1 ? 1 : expected->rows;
    int64_t cols = got->ndim == 1 ? expected->rows : expected->cols;
    int drops = blind == PASSES_ALL || (blind == NO_LAST_ROW && finding->row == rows - 1) ||
                (blind == NO_LAST_COLUMN && finding->col == cols - 1) ||
                (blind == NAN_PASSES && isnan(finding->got));
    if (finding->bad > before.bad && drops) {
        before.compared = finding->compared;
        *finding = before;
    }
}

Test(self_test, finds_a_comparison_that_does_not_see_everything) {
    for (int i = PASSES_ALL; i <= SKIPS_EMPTY; i++) {
        int64_t checks = 0;
        blind = (blindness)i;
        cr_assert_eq(fg_self_test_compare(compare_blindly, &checks), FG_STATUS_INTERNAL, "%d", i);
        cr_assert(strstr(fg_message(), "comparison: ") != NULL, "%s", fg_message());
    }
}

Test(self_test, every_failing_allocation_comes_back) {
    for (int64_t n = 1; n < 60; n++) {
        int64_t checks = 0;
        fg_alloc_fail_at(n);
        fg_status blas = fg_self_test_blas(&checks);
        cr_assert_eq(blas, FG_STATUS_NO_MEMORY, "%lld", (long long)n);
        fg_alloc_fail_at(n);
        fg_status compare = fg_self_test_compare(fg_comparison_expert, &checks);
        cr_assert_eq(compare, FG_STATUS_NO_MEMORY, "%lld", (long long)n);
        cr_assert_eq(fg_alloc_live_total(), 0);
    }
    fg_alloc_fail_at(0);
}
