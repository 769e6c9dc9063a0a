#ifndef FG_CONFORMANCE_TENSORS_DATA_RANDOM_H
#define FG_CONFORMANCE_TENSORS_DATA_RANDOM_H

#include <stdint.h>

/* Counter-based random numbers (Philox 4x32-10 of Random123): what a place holds depends on seed,
 * stream, row and block only, so it is the same in any order and at any thread count. */
typedef struct fg_random {
    uint64_t seed;
    uint32_t stream; /* a tensor, or a purpose */
    uint64_t row;
} fg_random;

/* Four words of one block of a row. */
void fg_random_block(const fg_random *random, uint32_t block, uint32_t words[4]);

/* One word, 64 bits, of place `index` of a row: for single choices. */
uint64_t fg_random_word(const fg_random *random, uint32_t index);

/* n signs, -1 or 1. */
void fg_random_signs(const fg_random *random, int64_t n, float *out);

/* n values of N(0, 1), the inverse of the normal distribution at 32 random bits each. */
void fg_random_normal(const fg_random *random, int64_t n, float *out);

/* n values of the open interval (0, 1). */
void fg_random_uniform(const fg_random *random, int64_t n, float *out);

#endif
