#ifndef FG_REFERENCE_ORACLE_LOAD_H
#define FG_REFERENCE_ORACLE_LOAD_H

#include "contract/problem.h"

/* Checks a tensor of the problem that holds input i or, with `gradient`, its gradient, at T rows.
 * Weights given as a pointer per expert are a [E] tensor of addresses of tight matrices. */
fg_status fg_load_check(const fg_problem *problem, const fg_tensor *tensor, int input, int gradient,
                        int64_t rows);

/* Reads `rows` rows of a [T, cols] or [T] tensor, from row `first` on, into `to` [rows, cols]. */
void fg_load_rows(const fg_tensor *tensor, int64_t first, int64_t rows, double *to);

/* Reads one expert's weight, or weight gradient, as [O, I] whatever its order and form. `dtype` is
 * its element type. */
void fg_load_weight(const fg_problem *problem, const fg_tensor *tensor, int input, fg_dtype dtype,
                    int64_t expert, double *to);

#endif
