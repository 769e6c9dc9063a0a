#include "conformance/judge/self_test_blas.h"

#include "contract/alloc.h"

#include <cblas.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PAD = 3, THREADS = 3 };

/* One product C = op(A) op(B) + beta C of M x K and K x N integers. */
typedef struct product {
    int m, n, k;
    int transpose_a, transpose_b;
    int single; /* sgemm */
    int beta;   /* 0: C is poison before; 1: integers */
    uint32_t seed;
} product;

/* Its matrices, float64 or float32, with padded leading dimensions. */
typedef struct matrices {
    double *a, *b, *c, *before;
    float *a32, *b32, *c32;
    int64_t lda, ldb, ldc, count_a, count_b, count_c;
} matrices;

static const struct {
    int m, n, k;
} sizes[] = {
    {1, 1, 1},     {1, 2, 3},     {2, 1, 64},     {3, 5, 7},      {8, 8, 8},     {17, 64, 64},
    {16, 130, 72}, {64, 65, 128}, {65, 64, 31},   {127, 96, 129}, {5, 512, 256}, {256, 7, 512},
    {1, 256, 512}, {33, 1, 129},  {96, 128, 256}, {130, 256, 64},
};
static const struct { int m, n, k; } large[] = {{128, 512, 256}, {512, 512, 512}};

static int32_t draw(uint32_t *state, int32_t most) {
    *state = *state * 1664525u + 1013904223u;
    return (int32_t)((*state >> 8) % (uint32_t)(2 * most + 1)) - most;
}

static void matrices_free(matrices *of) {
    void *all[] = {of->a, of->b, of->c, of->before, of->a32, of->b32, of->c32};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        fg_free(all[i]);
    }
}

static fg_status matrices_make(const product *of, matrices *out) {
    uint32_t state = of->seed;
    *out = (matrices){.lda = (of->transpose_a ? of->m : of->k) + PAD,
                      .ldb = (of->transpose_b ? of->k : of->n) + PAD,
                      .ldc = of->n + PAD};
    out->count_a = out->lda * (of->transpose_a ? of->k : of->m) + PAD;
    out->count_b = out->ldb * (of->transpose_b ? of->n : of->k) + PAD;
    out->count_c = out->ldc * of->m + PAD;
    double **doubles[] = {&out->a, &out->b, &out->c, &out->before};
    float **singles[] = {&out->a32, &out->b32, &out->c32, NULL};
    const int64_t counts[] = {out->count_a, out->count_b, out->count_c, out->count_c};
    for (int i = 0; i < 4; i++) {
        *doubles[i] = fg_alloc((size_t)counts[i] * sizeof(double), FG_ALLOC_ORACLE);
        if (singles[i] != NULL) {
            *singles[i] = fg_alloc((size_t)counts[i] * sizeof(float), FG_ALLOC_ORACLE);
        }
        if (*doubles[i] == NULL || (singles[i] != NULL && *singles[i] == NULL)) {
            matrices_free(out);
            return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory for the self-test of OpenBLAS");
        }
        for (int64_t k = 0; k < counts[i]; k++) {
            (*doubles[i])[k] = draw(&state, i < 2 ? 4 : 100);
        }
    }
    return FG_STATUS_OK;
}

/* C as it is before the call: poison when beta is 0, and always in the padding of a row. */
static void prepare_c(const product *of, matrices *in) {
    for (int64_t k = 0; k < in->count_c; k++) {
        int inside = k / in->ldc < of->m && k % in->ldc < of->n;
        in->c[k] = inside && of->beta ? in->before[k] : NAN;
        in->c32[k] = (float)in->c[k];
    }
}

static void multiply(const product *of, matrices *in) {
    CBLAS_TRANSPOSE ta = of->transpose_a ? CblasTrans : CblasNoTrans;
    CBLAS_TRANSPOSE tb = of->transpose_b ? CblasTrans : CblasNoTrans;
    blasint lda = (blasint)in->lda, ldb = (blasint)in->ldb, ldc = (blasint)in->ldc;
    prepare_c(of, in);
    if (!of->single) {
        cblas_dgemm(CblasRowMajor, ta, tb, of->m, of->n, of->k, 1.0, in->a, lda, in->b, ldb,
                    of->beta, in->c, ldc);
        return;
    }
    for (int64_t k = 0; k < in->count_a; k++) {
        in->a32[k] = (float)in->a[k];
    }
    for (int64_t k = 0; k < in->count_b; k++) {
        in->b32[k] = (float)in->b[k];
    }
    cblas_sgemm(CblasRowMajor, ta, tb, of->m, of->n, of->k, 1.0f, in->a32, lda, in->b32, ldb,
                (float)of->beta, in->c32, ldc);
    for (int64_t k = 0; k < in->count_c; k++) {
        in->c[k] = (double)in->c32[k];
    }
}

static double a_at(const product *of, const matrices *in, int64_t i, int64_t k) {
    return of->transpose_a ? in->a[k * in->lda + i] : in->a[i * in->lda + k];
}

static double b_at(const product *of, const matrices *in, int64_t k, int64_t j) {
    return of->transpose_b ? in->b[j * in->ldb + k] : in->b[k * in->ldb + j];
}

static int same(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

/* Every element by a loop; padding still poison. */
static int right_by_loop(const product *of, const matrices *in) {
    for (int64_t i = 0; i < of->m; i++) {
        for (int64_t j = 0; j < in->ldc; j++) {
            double sum = j < of->n ? of->beta * in->before[i * in->ldc + j] : NAN;
            for (int64_t k = 0; k < of->k && j < of->n; k++) {
                sum += a_at(of, in, i, k) * b_at(of, in, k, j);
            }
            if (!same(in->c[i * in->ldc + j], sum)) {
                return 0;
            }
        }
    }
    return 1;
}

/* Large products by (A B) v = A (B v) for vectors v of integers: any wrong element of a row shows
 * unless it meets a 0 of every v. */
static int right_by_vector(const product *of, const matrices *in, double *v, double *bv) {
    uint32_t state = of->seed ^ 0x9e3779b9u;
    for (int64_t j = 0; j < of->n; j++) {
        v[j] = 1 + (j % 2 ? draw(&state, 3) * 2 : draw(&state, 2) * 2 + 6); // odd: never 0
    }
    for (int64_t k = 0; k < of->k; k++) {
        bv[k] = 0;
        for (int64_t j = 0; j < of->n; j++) {
            bv[k] += b_at(of, in, k, j) * v[j];
        }
    }
    for (int64_t i = 0; i < of->m; i++) {
        double left = 0, right = 0;
        for (int64_t j = 0; j < of->n; j++) {
            left += (in->c[i * in->ldc + j] - of->beta * in->before[i * in->ldc + j]) * v[j];
        }
        for (int64_t k = 0; k < of->k; k++) {
            right += a_at(of, in, i, k) * bv[k];
        }
        if (left != right) {
            return 0;
        }
    }
    return 1;
}

static fg_status wrong(const product *of, const char *what) {
    return FG_FAIL(FG_STATUS_INTERNAL, "OpenBLAS (core %s): %cgemm M=%d N=%d K=%d %c%c beta=%d: %s",
                   openblas_get_corename(), of->single ? 's' : 'd', of->m, of->n, of->k,
                   of->transpose_a ? 'T' : 'N', of->transpose_b ? 'T' : 'N', of->beta, what);
}

static fg_status check_product(const product *of, int by_vector) {
    matrices in;
    FG_TRY(matrices_make(of, &in));
    fg_status status = FG_STATUS_OK;
    int right = 0;
    for (int repeat = 0; repeat < 2 && status == FG_STATUS_OK; repeat++) {
        multiply(of, &in);
        if (by_vector) {
            double *vectors = fg_alloc((size_t)(of->n + of->k) * sizeof(double), FG_ALLOC_ORACLE);
            right = vectors != NULL && right_by_vector(of, &in, vectors, vectors + of->n);
            fg_free(vectors);
        } else {
            right = right_by_loop(of, &in);
        }
        if (!right) {
            status = wrong(of, repeat ? "another result the second time" : "a wrong element");
        }
    }
    matrices_free(&in);
    return status;
}

static fg_status check_sizes(int64_t *checks) {
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int way = 0; way < 16; way++) {
            product of = {
                sizes[s].m,   sizes[s].n,   sizes[s].k, way & 1,
                way >> 1 & 1, way >> 2 & 1, way >> 3,   (uint32_t)(s * 16) + (uint32_t)way};
            FG_TRY(check_product(&of, 0));
            ++*checks;
        }
    }
    for (size_t s = 0; s < sizeof large / sizeof large[0]; s++) {
        for (int way = 0; way < 8; way += 1 + (int)s) {
            product of = {large[s].m,   large[s].n,   large[s].k, way & 1,
                          way >> 1 & 1, way >> 2 & 1, 0,          (uint32_t)way + 77u};
            FG_TRY(check_product(&of, 1));
            ++*checks;
        }
    }
    return FG_STATUS_OK;
}

/* Products without an M, N or K: nothing is written but zeros where only K is missing. */
static fg_status check_empty(int64_t *checks) {
    static const int shapes[][3] = {{0, 5, 7}, {5, 0, 7}, {5, 7, 0}, {0, 0, 0}, {1, 1, 0}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int way = 0; way < 16; way++) {
            product of = {shapes[s][0], shapes[s][1], shapes[s][2], way & 1,
                          way >> 1 & 1, way >> 2 & 1, way >> 3,     5u};
            FG_TRY(check_product(&of, 0));
            ++*checks;
        }
    }
    return FG_STATUS_OK;
}

/* A NaN or an infinity of A reaches its row of C and no other. */
static fg_status check_special(int64_t *checks) {
    const double specials[] = {NAN, INFINITY};
    for (int way = 0; way < 8; way++) {
        for (int s = 0; s < 2; s++) {
            product of = {37, 45, 66, way & 1, way >> 1 & 1, way >> 2, 0, 9u};
            matrices in;
            FG_TRY(matrices_make(&of, &in));
            for (int64_t k = 0; k < in.count_b; k++) {
                in.b[k] = 2 + in.b[k] / 4; // never 0, never negative
            }
            in.a[of.transpose_a ? 40 * in.lda + 11 : 11 * in.lda + 40] = specials[s];
            multiply(&of, &in);
            int right = right_by_loop(&of, &in);
            matrices_free(&in);
            ++*checks;
            if (!right) {
                return wrong(&of, s == 0 ? "a NaN is lost or spreads" : "an infinity is lost");
            }
        }
    }
    return FG_STATUS_OK;
}

/* One thread of several that multiply at once. */
typedef struct worker {
    pthread_t thread;
    uint32_t number;
    fg_status status;
    char message[256];
} worker;

static void *multiply_beside(void *argument) {
    worker *self = argument;
    for (uint32_t i = 0; i < 8 && self->status == FG_STATUS_OK; i++) {
        product of = {
            65, 48, 96, (int)i & 1, (int)i >> 1 & 1, (int)i >> 2, 0, 100 * self->number + i};
        self->status = check_product(&of, 0);
    }
    if (self->status != FG_STATUS_OK) {
        strncpy(self->message, fg_message(), sizeof self->message - 1);
    }
    return NULL;
}

static fg_status check_threads(int64_t *checks) {
    worker workers[THREADS] = {0};
    int started = 0;
    while (started < THREADS) {
        workers[started].number = (uint32_t)started;
        if (pthread_create(&workers[started].thread, NULL, multiply_beside, &workers[started])) {
            break;
        }
        started++;
    }
    fg_status status = started == THREADS
                           ? FG_STATUS_OK
                           : FG_FAIL(FG_STATUS_NO_MEMORY, "found no thread for the self-test");
    for (int i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        if (status == FG_STATUS_OK && workers[i].status != FG_STATUS_OK) {
            status = FG_FAIL(workers[i].status, "from several threads: %s", workers[i].message);
        }
        *checks += 8;
    }
    return status;
}

fg_status fg_self_test_blas(int64_t *checks) {
    FG_TRY(check_sizes(checks));
    FG_TRY(check_empty(checks));
    FG_TRY(check_special(checks));
    return check_threads(checks);
}
