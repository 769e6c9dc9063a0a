#include "conformance/judge/self_test.h"

#include "conformance/judge/self_test_blas.h"
#include "conformance/judge/self_test_compare.h"
#include "conformance/judge/self_test_convert.h"

fg_status fg_self_test(int64_t *checks) {
    *checks = 0;
    FG_TRY(fg_self_test_convert(checks));
    FG_TRY(fg_self_test_compare(fg_comparison_expert, checks));
    return fg_self_test_blas(checks);
}
