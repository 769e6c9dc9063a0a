/* What generated numbers promise: counted, saturated, neutral, selecting, normal. */

#include "conformance/tensors/data.h"
#include "conformance/tensors/data_order.h"
#include "conformance/tensors/data_random.h"
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One tensor of a case as float64, [lines, cols]. */
typedef struct made {
    fg_case value;
    int64_t begin[FG_CASE_EXPERTS + 1];
    int64_t lines, cols;
    fg_tensor view;
    double *v;
} made;

static made make_line(const char *line, int tensor) {
    made out = {0};
    int64_t dims[FG_TENSOR_DIMS];
    cr_assert_eq(fg_case_parse(line, &out.value), FG_STATUS_OK, "%s", fg_message());
    const fg_problem *problem = &out.value.problem;
    cr_assert_eq(fg_segments(problem, out.value.splits, out.value.rows, out.begin), FG_STATUS_OK);
    int shape = tensor == FG_DATA_DY    ? FG_X
                : tensor == FG_DATA_DW1 ? FG_W1
                : tensor == FG_DATA_DW2 ? FG_W2
                                        : tensor;
    int32_t ndim = fg_problem_input_dims(problem, shape, out.value.rows, dims);
    fg_dtype dtype = tensor >= FG_DATA_DW1 ? FG_F32 : fg_problem_input_dtype(problem, shape);
    int64_t count = 1;
    for (int32_t d = 0; d < ndim; d++) {
        count *= dims[d];
    }
    out.view = fg_tensor_tight(calloc((size_t)count, 8), dtype, -1, ndim, dims);
    cr_assert_eq(fg_data_fill(&out.value, out.begin, tensor, &out.view), FG_STATUS_OK);
    out.cols = ndim == 1 ? 1 : dims[ndim - 1];
    out.lines = count / out.cols;
    out.v = malloc((size_t)count * sizeof(double));
    fg_dtype_load_f64(dtype, out.view.data, count, out.v);
    return out;
}

static void drop(made *from) {
    free(from->view.data);
    free(from->v);
}

static const double *row_of(const made *from, int64_t line) {
    return from->v + line * from->cols;
}

static double dot(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++) {
        sum += a[k] * b[k];
    }
    return sum;
}

/* Known answers of Philox 4x32-10, from the paper's own test vectors. */
Test(random, philox_gives_its_published_numbers) {
    uint32_t words[4];
    fg_random zero = {0};
    fg_random_block(&zero, 0, words);
    cr_assert(words[0] == 0x6627e8d5 && words[1] == 0xe169c58d);
    cr_assert(words[2] == 0xbc57ac4c && words[3] == 0x9b00dbd8);
    fg_random ones = {UINT64_MAX, UINT32_MAX, UINT64_MAX};
    fg_random_block(&ones, UINT32_MAX, words);
    cr_assert(words[0] == 0x408f276d && words[1] == 0x41c83b0e);
    cr_assert(words[2] == 0xa20bc7c6 && words[3] == 0x6d5451fd);
}

Test(random, normal_numbers_have_moments_and_tails_of_the_normal_distribution) {
    enum { N = 200000 };
    float *x = malloc(N * sizeof *x);
    fg_random random = {.seed = 5, .stream = 3, .row = 9};
    double mean = 0, square = 0, fourth = 0;
    int past2 = 0, past3 = 0;
    fg_random_normal(&random, N, x);
    for (int i = 0; i < N; i++) {
        double v = x[i];
        mean += v / N;
        square += v * v / N;
        fourth += v * v * v * v / N;
        past2 += fabs(v) > 2;
        past3 += fabs(v) > 3;
    }
    cr_assert(fabs(mean) < 0.01 && fabs(square - 1) < 0.015 && fabs(fourth - 3) < 0.15);
    cr_assert(abs(past2 - 9100) < 400 && abs(past3 - 540) < 100, "%d %d", past2, past3);
    free(x);
}

Test(random, uniform_numbers_fill_the_open_interval) {
    enum { N = 50000 };
    float *x = malloc(N * sizeof *x);
    int tenths[10] = {0};
    fg_random random = {.seed = 6};
    fg_random_uniform(&random, N, x);
    for (int i = 0; i < N; i++) {
        cr_assert(x[i] > 0 && x[i] <= 1);
        tenths[(int)(x[i] * 9.99999f)]++;
    }
    for (int i = 0; i < 10; i++) {
        cr_assert(abs(tenths[i] - N / 10) < 300, "%d: %d", i, tenths[i]);
    }
    free(x);
}

static void *fill_beside(void *argument) {
    *(made *)argument = make_line("mlp E=3 H=40 F=24 splits=9,0,30 data=normal seed=4", FG_W1);
    return NULL;
}

Test(data, is_the_same_at_any_thread_count) {
    made alone, beside[3];
    pthread_t threads[3];
    fill_beside(&alone);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, fill_beside, &beside[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        cr_assert(memcmp(alone.v, beside[i].v, (size_t)(alone.lines * alone.cols) * 8) == 0);
        drop(&beside[i]);
    }
    drop(&alone);
}

static const char *const kinds[] = {"exact", "normal", "selection"};

/* Number of equal elements of two tensors of one shape. */
static int64_t equal_elements(const made *a, const made *b) {
    int64_t equal = 0;
    for (int64_t k = 0; k < a->lines * a->cols; k++) {
        equal += a->v[k] == b->v[k];
    }
    return equal;
}

Test(data, another_seed_gives_other_numbers) {
    static const int tensors[] = {FG_X, FG_W1, FG_W2, FG_B2, FG_P, FG_DATA_DY};
    for (int kind = 0; kind < 3; kind++) {
        for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
            char line[128];
            made seeds[2];
            for (int s = 0; s < 2; s++) {
                snprintf(line, sizeof line, "mlp E=2 H=24 F=24 splits=30,30 bias=1 data=%s seed=%d",
                         kinds[kind], 10 + s);
                seeds[s] = make_line(line, tensors[i]);
            }
            cr_assert_lt(equal_elements(&seeds[0], &seeds[1]), seeds[0].lines * seeds[0].cols,
                         "%s tensor %d", kinds[kind], tensors[i]);
            drop(&seeds[0]);
            drop(&seeds[1]);
        }
    }
}

Test(data, experts_have_different_weights) {
    for (int kind = 0; kind < 3; kind++) {
        for (int tensor = FG_W1; tensor <= FG_W2; tensor += FG_W2 - FG_W1) {
            char line[128];
            snprintf(line, sizeof line, "mlp E=3 H=24 F=24 T=9 data=%s", kinds[kind]);
            made w = make_line(line, tensor);
            size_t bytes = (size_t)(w.lines / 3 * w.cols) * 8;
            for (int e = 1; e < 3; e++) {
                cr_assert(memcmp(w.v, row_of(&w, e * w.lines / 3), bytes) != 0, "%s", kinds[kind]);
            }
            drop(&w);
        }
    }
}

Test(data, padding_rows_hold_nan_and_no_other_row_does) {
    static const int tensors[] = {FG_X, FG_P, FG_BIAS_P, FG_DATA_DY};
    for (int kind = 0; kind < 3; kind++) {
        for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
            char line[160];
            snprintf(line, sizeof line,
                     "mlp E=3 H=8 F=8 splits=3,0,5 align=4 T=20 bias=1 scale_bias=1 "
                     "bias_scale=own data=%s",
                     kinds[kind]);
            made x = make_line(line, tensors[i]);
            for (int64_t row = 0; row < 20; row++) {
                int held = row < 3 || (row >= 4 && row < 9);
                for (int64_t k = 0; k < x.cols; k++) {
                    cr_assert_eq(isnan(row_of(&x, row)[k]) != 0, !held, "row %lld", (long long)row);
                }
            }
            drop(&x);
        }
    }
}

/* Whether a number keeps within so many significant digits. */
static int fits(double value, int digits) {
    int exponent = 0;
    double fraction = ldexp(frexp(value, &exponent), digits);
    return fraction == trunc(fraction);
}

/* Gate, linear part and dh of every row and inner coordinate of an exact or selection case must
 * saturate and multiply within the 8 digits of bf16. */
static void check_neutral(const char *line) {
    made x = make_line(line, FG_X), w1 = make_line(line, FG_W1), w2 = make_line(line, FG_W2);
    made dy = make_line(line, FG_DATA_DY);
    const fg_problem *problem = &x.value.problem;
    made b1 = {0};
    if (problem->bias) {
        b1 = make_line(line, FG_B1);
    }
    int64_t o1 = fg_problem_o1(problem), hidden = problem->hidden;
    for (int64_t e = 0; e < problem->experts; e++) {
        for (int64_t r = x.begin[e]; r < x.begin[e] + x.value.splits[e]; r++) {
            for (int64_t j = 0; j < problem->inter; j++) {
                int64_t gate = fg_problem_gate_column(problem, j);
                int64_t up = fg_problem_linear_column(problem, j);
                double g = dot(row_of(&x, r), row_of(&w1, e * o1 + gate), hidden);
                double u = up < 0 ? 0 : dot(row_of(&x, r), row_of(&w1, e * o1 + up), hidden);
                double dh = 0;
                for (int64_t k = 0; k < hidden; k++) {
                    dh += row_of(&dy, r)[k] * row_of(&w2, e * hidden + k)[j];
                }
                if (problem->bias) {
                    g += row_of(&b1, e)[gate];
                    u += up < 0 ? 0 : row_of(&b1, e)[up];
                }
                double kept = up < 0 ? fmax(g, 0) : g > 0 ? g : 0;
                double value = up < 0 ? kept * kept : kept * u;
                cr_assert(up < 0 || g >= 48 || g <= -1024, "%s: gate %g", line, g);
                cr_assert(fits(g, 8) && fits(u, 8) && fits(value, 8), "%s: %g %g", line, g, u);
                cr_assert(fits(dh, 8) && fits(dh * kept * (up < 0 ? 2 : 1), 8), "%s: dh %g", line,
                          dh);
                cr_assert(up < 0 || g < 0 || fits(dh * u, 8), "%s: dh %g u %g", line, dh, u);
            }
        }
    }
    drop(&x);
    drop(&w1);
    drop(&w2);
    drop(&dy);
    free(b1.view.data);
    free(b1.v);
}

Test(data_exact, every_intermediate_fits_8_digits) {
    static const char *const shapes[] = {"E=2 H=64 F=48",  "E=3 H=40 F=40 layout=gate8",
                                         "E=2 H=256 F=16", "E=1 H=300 F=3",
                                         "E=2 H=7 F=90",   "E=2 H=1 F=3"};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (int way = 0; way < 8; way++) {
            char line[160];
            int unary = way & 1 && strstr(shapes[i], "layout") == NULL;
            snprintf(line, sizeof line, "mlp %s T=%d act=%s bias=%d data=exact seed=%d", shapes[i],
                     40, unary ? "srelu" : "swiglu", way >> 1 & 1, way);
            check_neutral(line);
        }
    }
}

Test(data_exact, one_gate_in_sixteen_is_off) {
    static const char line[] = "mlp E=2 H=40 F=40 splits=20,5";
    made x = make_line(line, FG_X), w1 = make_line(line, FG_W1);
    for (int64_t r = 0; r < 25; r++) {
        for (int64_t j = 0; j < 40; j++) {
            double g = dot(row_of(&x, r), row_of(&w1, (r < 20 ? 0 : 80) + j), 40);
            cr_assert(j % 16 == 5 ? g <= -1024 : g >= 48, "row %lld gate %lld: %g", (long long)r,
                      (long long)j, g);
        }
    }
    drop(&x);
    drop(&w1);
}

Test(data_selection, every_intermediate_fits_8_digits) {
    static const char *const shapes[] = {"E=2 H=64 F=64", "E=3 H=40 F=40 layout=gate8",
                                         "E=2 H=96 F=40", "E=2 H=24 F=90"};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (int seed = 0; seed < 6; seed++) {
            for (int unary = 0; unary < 2 - (strstr(shapes[i], "layout") != NULL); unary++) {
                char line[160];
                snprintf(line, sizeof line, "mlp %s T=30 act=%s bias=1 data=selection seed=%d",
                         shapes[i], unary ? "srelu" : "swiglu", seed);
                check_neutral(line);
            }
        }
    }
}

Test(data_exact, every_row_and_column_of_a_weight_holds_something) {
    for (int tensor = FG_W1; tensor <= FG_W2; tensor += FG_W2 - FG_W1) {
        for (int kind = 0; kind < 3; kind += 2) {
            char line[160];
            snprintf(line, sizeof line, "mlp E=2 H=72 F=40 T=8 act=srelu data=%s", kinds[kind]);
            made w = make_line(line, tensor);
            int64_t rows = w.lines / 2;
            for (int64_t e = 0; e < 2; e++) {
                for (int64_t k = 0; k < rows * w.cols; k++) {
                    int64_t row = k / w.cols, col = k % w.cols;
                    double in_row = 0, in_col = 0;
                    for (int64_t i = 0; i < w.cols; i++) {
                        in_row += fabs(row_of(&w, e * rows + row)[i]);
                    }
                    for (int64_t i = 0; i < rows; i++) {
                        in_col += fabs(row_of(&w, e * rows + i)[col]);
                    }
                    cr_assert(in_row > 0 && in_col > 0, "%s tensor %d row %lld column %lld",
                              kinds[kind], tensor, (long long)row, (long long)col);
                }
            }
            drop(&w);
        }
    }
}

Test(data_selection, square_weights_are_permutations_and_not_symmetric) {
    for (int seed = 0; seed < 20; seed++) {
        char line[128];
        snprintf(line, sizeof line, "mlp act=srelu E=3 H=32 F=32 T=8 data=selection seed=%d", seed);
        made w = make_line(line, FG_W2);
        for (int64_t e = 0; e < 3; e++) {
            int asymmetric = 0;
            for (int64_t i = 0; i < 32; i++) {
                double sum = 0;
                for (int64_t j = 0; j < 32; j++) {
                    double v = row_of(&w, e * 32 + i)[j];
                    cr_assert(v == 0 || v == 1);
                    sum += v;
                    asymmetric |= v != row_of(&w, e * 32 + j)[i];
                }
                cr_assert_eq(sum, 1);
            }
            cr_assert(asymmetric);
        }
        drop(&w);
    }
}

Test(data_selection, the_bytes_of_all_passes_name_every_place) {
    enum { ROWS = 40, HIDDEN = 24 };
    static int64_t index[ROWS * HIDDEN];
    for (int pass = 0; pass < 2; pass++) {
        char line[128];
        snprintf(line, sizeof line, "mlp E=1 H=%d F=%d T=%d data=selection seed=%d", HIDDEN, HIDDEN,
                 ROWS, 2 * pass);
        made x = make_line(line, FG_X);
        for (int64_t k = 0; k < ROWS * HIDDEN; k++) {
            index[k] += ((int64_t)x.v[k] & 255) << (8 * pass);
        }
        drop(&x);
    }
    int64_t named = 0;
    for (int64_t k = 0; k < ROWS * HIDDEN; k++) {
        named += index[k] == k;
    }
    cr_assert_geq(named, ROWS * (HIDDEN - 2)); // every column but the anchors, which hold 1
}

/* Column of an expert's rows of x in which every row holds 1, the first of them. */
static int64_t anchor_column(const made *x, int64_t expert) {
    for (int64_t k = 0; k < x->cols; k++) {
        int64_t ones = 0;
        for (int64_t r = 0; r < x->value.splits[expert]; r++) {
            ones += row_of(x, x->begin[expert] + r)[k] == 1;
        }
        if (ones == x->value.splits[expert]) {
            return k;
        }
    }
    return -1;
}

Test(data, the_anchor_is_another_coordinate_for_another_expert) {
    for (int kind = 0; kind < 3; kind += 2) {
        char line[128];
        int64_t different = 0;
        snprintf(line, sizeof line, "mlp E=8 H=64 F=64 T=320 data=%s seed=2", kinds[kind]);
        made x = make_line(line, FG_X);
        for (int64_t e = 0; e < 8; e++) {
            cr_assert_geq(anchor_column(&x, e), 0, "%s", kinds[kind]);
            different += e > 0 && anchor_column(&x, e) != anchor_column(&x, 0);
        }
        cr_assert_geq(different, 5, "%s", kinds[kind]);
        drop(&x);
    }
}

Test(data_order, is_a_permutation_of_every_length) {
    fg_case value;
    cr_assert_eq(fg_case_parse("mlp E=4 H=8 F=8 T=1 seed=3", &value), FG_STATUS_OK);
    for (int64_t n = 1; n < 130; n++) {
        value.problem.hidden = n;
        for (int64_t e = 0; e < 4; e++) {
            char seen[130] = {0};
            fg_data_spot spot = {&value, e, 0, 0};
            fg_data_order order = fg_data_order_of(&spot, FG_W2);
            for (int64_t i = 0; i < n; i++) {
                int64_t at = fg_data_order_at(&order, i);
                cr_assert(at >= 0 && at < n && !seen[at], "n = %lld", (long long)n);
                seen[at] = 1;
            }
        }
    }
}

Test(data_exact, probabilities_are_powers_of_two_with_some_zeros) {
    made p = make_line("mlp E=2 H=8 F=8 splits=100,60", FG_P);
    int counts[4] = {0};
    for (int64_t row = 0; row < 160; row++) {
        double v = p.v[row];
        cr_assert(v == 0 || v == 0.5 || v == 1 || v == 2);
        counts[v == 2 ? 3 : (int)(v * 2)]++;
    }
    cr_assert(counts[0] >= 5 && counts[1] > 10 && counts[2] > 10 && counts[3] > 10);
    cr_assert(p.v[0] != 0 && p.v[100] != 0); // an expert with one row keeps its evidence
    drop(&p);
}

Test(data_exact, biases_are_small_integers_and_steps_of_gates) {
    made b1 = make_line("mlp E=2 H=8 F=24 T=4 bias=1 layout=gate8", FG_B1);
    made b2 = make_line("mlp E=2 H=80 F=8 T=4 bias=1", FG_B2);
    const fg_problem *problem = &b1.value.problem;
    double signs = 0, some = 0;
    for (int64_t e = 0; e < 2; e++) {
        for (int64_t j = 0; j < 24; j++) {
            double gate = row_of(&b1, e)[fg_problem_gate_column(problem, j)];
            double up = row_of(&b1, e)[fg_problem_linear_column(problem, j)];
            cr_assert(fabs(gate) == 8 && fabs(up) == 1);
            signs += gate > 0;
        }
        for (int64_t k = 0; k < 80; k++) {
            double v = row_of(&b2, e)[k];
            cr_assert(fabs(v) <= 4 && v == trunc(v));
            some += v != 0;
        }
    }
    cr_assert(signs > 10 && signs < 38 && some > 100);
    drop(&b1);
    drop(&b2);
}

Test(data_exact, old_gradients_are_integers) {
    made old = make_line("mlp E=2 H=24 F=8 T=4 wgrad=accumulate", FG_DATA_DW1);
    double largest = 0, sum = 0;
    for (int64_t k = 0; k < old.lines * old.cols; k++) {
        cr_assert_eq(old.v[k], trunc(old.v[k]));
        largest = fmax(largest, fabs(old.v[k]));
        sum += old.v[k] != 0;
    }
    cr_assert(largest > 1000 && largest <= 2048 && sum > 700);
    drop(&old);
}

Test(data_normal, weights_are_scaled_by_their_fan_in) {
    made w1 = make_line("mlp dt=f32 E=2 H=400 F=100 T=4 data=normal", FG_W1);
    made w2 = make_line("mlp dt=f32 E=2 H=400 F=100 T=4 data=normal", FG_W2);
    made x = make_line("mlp dt=f32 E=2 H=400 F=100 T=400 data=normal", FG_X);
    double squares[3] = {dot(w1.v, w1.v, w1.lines * w1.cols) / (double)(w1.lines * w1.cols),
                         dot(w2.v, w2.v, w2.lines * w2.cols) / (double)(w2.lines * w2.cols),
                         dot(x.v, x.v, x.lines * x.cols) / (double)(x.lines * x.cols)};
    cr_assert(fabs(squares[0] * 400 - 1) < 0.02 && fabs(squares[1] * 100 - 1) < 0.02);
    cr_assert(fabs(squares[2] - 1) < 0.02);
    drop(&w1);
    drop(&w2);
    drop(&x);
}
