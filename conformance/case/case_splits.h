#ifndef FG_CONFORMANCE_CASE_CASE_SPLITS_H
#define FG_CONFORMANCE_CASE_CASE_SPLITS_H

#include "contract/status.h"
#include <stdint.h>

/* Ways to spread T rows over E experts, by name:
 *   even    T / E rows each, what remains one by one to the lowest experts
 *   skew    expert e gets a share 1 / (e + 1), rounded down, what remains to the lowest
 *   one     the middle expert, E / 2, has all rows
 *   sparse  every fourth expert (0, 4, ..), evenly */
enum { FG_SPLITS_NAMES = 4 };

/* Name number i, 0 .. FG_SPLITS_NAMES - 1; static storage. */
const char *fg_splits_name(int i);

/* Fills splits [E] of a name; FG_STATUS_NOT_FOUND for a word that is none of the names. */
fg_status fg_splits_fill(const char *name, int64_t experts, int64_t rows, int64_t *splits);

#endif
