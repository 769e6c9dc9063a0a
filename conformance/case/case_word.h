#ifndef FG_CONFORMANCE_CASE_CASE_WORD_H
#define FG_CONFORMANCE_CASE_CASE_WORD_H

#include <stddef.h>

/* Number of single-character insertions, deletions, replacements and swaps of neighbours that turn
 * one word into the other; only the first 63 characters of each count. */
int fg_word_distance(const char *a, const char *b);

/* The word of a list with the smallest distance, the first of several; NULL for an empty list. */
const char *fg_word_nearest(const char *word, const char *const *words, size_t count);

#endif
