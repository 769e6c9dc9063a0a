/* Every expert's rows but the first one's begin one row too early. */

#include "conformance/mutants/fault.h"
#include "contract/problem.h"

fg_status fg_segments_right(const fg_problem *problem, const int64_t *splits, int64_t rows,
                            int64_t *begin) FG_REAL("fg_segments");
fg_status fg_segments_early(const fg_problem *problem, const int64_t *splits, int64_t rows,
                            int64_t *begin) FG_FAULTY("fg_segments");

fg_status fg_segments_early(const fg_problem *problem, const int64_t *splits, int64_t rows,
                            int64_t *begin) {
    FG_TRY(fg_segments_right(problem, splits, rows, begin));
    for (int64_t e = 1; e < problem->experts; e++) {
        begin[e] -= begin[e] > 0;
    }
    return FG_STATUS_OK;
}
