#ifndef FG_CONFORMANCE_SUITES_BACKEND_FIXTURE_H
#define FG_CONFORMANCE_SUITES_BACKEND_FIXTURE_H

/* A backend with one kernel and every tensor of its run, for suites that call a backend in this
 * process. Inputs are random where experts have rows and NaN elsewhere; outputs, saved and scratch
 * are NaN before each call. Anything that cannot be set up aborts. Without Criterion, so that plain
 * programs can use it. */

#include "contract/backend.h"

enum { FG_FIXTURE_TIGHT = 0, FG_FIXTURE_PADDED = 1 };

/* Memory under a tensor, and what it held before the last call. */
typedef struct fg_fixture_block {
    unsigned char *bytes, *before;
    size_t size;
} fg_fixture_block;

enum { FG_FIXTURE_BLOCKS = 32 };

typedef struct fg_fixture {
    const fg_backend *backend;
    fg_device *device;
    fg_kernel *kernel;
    fg_problem problem;
    fg_traits traits;
    fg_kernel_sizes sizes;
    int32_t padded;
    int64_t rows, begin[1025], count[1024];
    fg_tensor inputs[FG_INPUT_SLOTS], splits;
    fg_tensor y1, h, y, dy, dh, dy1, grads[FG_INPUT_SLOTS];
    fg_inputs in;
    void *saved, *scratch_forward, *scratch_backward;
    fg_fixture_block blocks[FG_FIXTURE_BLOCKS];
    int32_t block_count;
    uint64_t random;
} fg_fixture;

/* Opens device 0 and makes kernel and tensors; `splits` [E], `rows` T. */
void fg_fixture_open(fg_fixture *fixture, fg_backend_entry_fn entry, const fg_problem *problem,
                     int64_t rows, const int64_t *splits, int32_t padded);
void fg_fixture_close(fg_fixture *fixture);

/* Arguments over the fixture's tensors: y1, h, dh, dy1 where the run has them. */
fg_forward_args fg_fixture_forward_args(fg_fixture *fixture, int gradients);
fg_backward_args fg_fixture_backward_args(fg_fixture *fixture, uint32_t mask, uint32_t accumulate);

/* Poisons what a forward (with `gradients`, saved too) or a backward writes, and calls it. An
 * accumulated gradient is filled with random numbers instead. */
void fg_fixture_forward(fg_fixture *fixture, int gradients);
void fg_fixture_backward(fg_fixture *fixture, uint32_t mask, uint32_t accumulate);

/* Every gradient the run can give. */
uint32_t fg_fixture_all(const fg_fixture *fixture);

/* Fills memory with NaN of every floating type. */
void fg_fixture_poison(void *memory, size_t bytes);

/* The same of all that a tensor lies in, and of every output and intermediate. */
void fg_fixture_poison_tensor(fg_fixture *fixture, const fg_tensor *tensor);
void fg_fixture_poison_outputs(fg_fixture *fixture);

/* A random number in [-1, 1). */
double fg_fixture_random(fg_fixture *fixture);

/* Element (i, j, k) of a tensor (unused ones 0), as float64. */
double fg_fixture_at(const fg_tensor *tensor, int64_t i, int64_t j, int64_t k);
void fg_fixture_set(const fg_tensor *tensor, int64_t i, int64_t j, int64_t k, double value);

/* Hash of the elements of a tensor, rows of experts only where its first dimension is T. */
uint64_t fg_fixture_hash(const fg_fixture *fixture, const fg_tensor *tensor);

/* Number of bytes that changed outside of the elements a call may write: gaps, padding rows and
 * whole tensors of gradients outside `mask`. */
int64_t fg_fixture_strays(fg_fixture *fixture, uint32_t mask, int forward);

/* The tensor as it was before the last call; ndim 0 for one the problem lacks. */
fg_tensor fg_fixture_before(fg_fixture *fixture, const fg_tensor *tensor);

/* A problem in words, for messages: types, activation, layout, options. The text is static. */
const char *fg_fixture_text(const fg_problem *problem);

#endif
