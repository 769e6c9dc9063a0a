#ifndef FG_CONFORMANCE_TENSORS_DATA_H
#define FG_CONFORMANCE_TENSORS_DATA_H

#include "conformance/case/case.h"
#include "contract/tensor.h"

/* Tensors that are generated: the inputs FG_X .. FG_BIAS_P, and these. */
enum {
    FG_DATA_DY = FG_INPUTS,      /* [T, H] */
    FG_DATA_DW1 = FG_INPUTS + 1, /* what an accumulating dw1 is added to, [E, O1, H] */
    FG_DATA_DW2 = FG_INPUTS + 2, /* [E, H, F] */
};

/* One expert of a case, for the generators of one kind of data. */
typedef struct fg_data_spot {
    const fg_case *value;
    int64_t expert;
    int64_t first_row, rows; /* of its tokens */
} fg_data_spot;

/* Whether the first dimension of a tensor counts tokens, not experts. */
int fg_data_by_token(int tensor);

/* The number of a row of one expert's block, different for every row of a tensor. */
uint64_t fg_data_row(const fg_data_spot *spot, int tensor, int64_t row);

/* Fills a tensor of a case: rows that belong to an expert by the case's data kind and seed, every
 * padding row with NaN. `begin` as fg_segments gives it. FG_STATUS_NO_MEMORY. */
fg_status fg_data_fill(const fg_case *value, const int64_t *begin, int tensor,
                       const fg_tensor *view);

#endif
