#include "conformance/case/case_splits.h"

#include <string.h>

static void fill_even(int64_t experts, int64_t rows, int64_t *splits) {
    for (int64_t e = 0; e < experts; e++) {
        splits[e] = rows / experts + (e < rows % experts);
    }
}

static void fill_skew(int64_t experts, int64_t rows, int64_t *splits) {
    double shares = 0;
    for (int64_t e = 0; e < experts; e++) {
        shares += 1.0 / (double)(e + 1);
    }
    int64_t left = rows;
    for (int64_t e = 0; e < experts; e++) {
        splits[e] = (int64_t)((double)rows / ((double)(e + 1) * shares));
        splits[e] = splits[e] < left ? splits[e] : left;
        left -= splits[e];
    }
    for (int64_t e = 0; left > 0; e = (e + 1) % experts) {
        splits[e]++;
        left--;
    }
}

static void fill_one(int64_t experts, int64_t rows, int64_t *splits) {
    memset(splits, 0, (size_t)experts * sizeof *splits);
    splits[experts / 2] = rows;
}

static void fill_sparse(int64_t experts, int64_t rows, int64_t *splits) {
    int64_t taking = (experts + 3) / 4;
    for (int64_t e = 0; e < experts; e++) {
        splits[e] = e % 4 ? 0 : rows / taking + (e / 4 < rows % taking);
    }
}

static const struct {
    const char *name;
    void (*fill)(int64_t experts, int64_t rows, int64_t *splits);
} shapes[FG_SPLITS_NAMES] = {
    {"even", fill_even},
    {"skew", fill_skew},
    {"one", fill_one},
    {"sparse", fill_sparse},
};

const char *fg_splits_name(int i) {
    return shapes[i].name;
}

fg_status fg_splits_fill(const char *name, int64_t experts, int64_t rows, int64_t *splits) {
    for (int i = 0; i < FG_SPLITS_NAMES; i++) {
        if (strcmp(name, shapes[i].name) == 0) {
            shapes[i].fill(experts, rows, splits);
            return FG_STATUS_OK;
        }
    }
    return FG_FAIL(FG_STATUS_NOT_FOUND, "found splits '%s', expected even, skew, one or sparse",
                   name);
}
