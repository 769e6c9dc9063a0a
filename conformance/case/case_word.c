#include "conformance/case/case_word.h"

#include <limits.h>
#include <string.h>

enum { WORD_MAX = 63 };

static int least(int a, int b, int c) {
    int ab = a < b ? a : b;
    return ab < c ? ab : c;
}

int fg_word_distance(const char *a, const char *b) {
    int rows[3][WORD_MAX + 1];
    int na = (int)strnlen(a, WORD_MAX), nb = (int)strnlen(b, WORD_MAX);
    int *before = rows[0], *above = rows[1], *row = rows[2];
    for (int j = 0; j <= nb; j++) {
        above[j] = j;
        before[j] = 0;
    }
    for (int i = 1; i <= na; i++) {
        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            int other = a[i - 1] != b[j - 1];
            row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + other);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < row[j]) {
                row[j] = before[j - 2] + 1;
            }
        }
        int *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[nb];
}

const char *fg_word_nearest(const char *word, const char *const *words, size_t count) {
    const char *nearest = NULL;
    int smallest = INT_MAX;
    for (size_t i = 0; i < count; i++) {
        int distance = fg_word_distance(word, words[i]);
        if (distance < smallest) {
            smallest = distance;
            nearest = words[i];
        }
    }
    return nearest;
}
