#include "conformance/case/case_suite.h"

#include "conformance/case/case_list.h"
#include "conformance/case/case_word.h"

#include <string.h>

/* Puts a file of the tree into the program: the assembler reads it when this file is compiled, from
 * the root of the tree. */
#define EMBED(symbol, path)                                                                        \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global " #symbol "\n" #symbol ":\n"                                                  \
            ".incbin \"" path "\"\n"                                                               \
            ".global " #symbol "_end\n" #symbol "_end:\n"                                          \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char(symbol)[], symbol##_end[]

EMBED(fg_cases_pr, "conformance/cases/pr.case");
EMBED(fg_cases_plan_cache, "conformance/cases/plan-cache.case");
EMBED(fg_cases_boundary, "conformance/cases/boundary.case");
EMBED(fg_cases_recompute, "conformance/cases/recompute.case");

static const struct {
    const char *name, *file;
    const char *begin, *end; /* NULL: known, but not built yet */
} suites[] = {
    {"pr", "conformance/cases/pr.case", fg_cases_pr, fg_cases_pr_end},
    {"plan-cache", "conformance/cases/plan-cache.case", fg_cases_plan_cache,
     fg_cases_plan_cache_end},
    {"boundary", "conformance/cases/boundary.case", fg_cases_boundary, fg_cases_boundary_end},
    {"recompute", "conformance/cases/recompute.case", fg_cases_recompute, fg_cases_recompute_end},
    {"full", NULL, NULL, NULL},
    {"models", NULL, NULL, NULL},
    {"scale", NULL, NULL, NULL},
};
enum { SUITES = sizeof suites / sizeof suites[0] };

fg_status fg_case_suite(const char *name, fg_case_list *list) {
    const char *names[SUITES];
    for (size_t i = 0; i < SUITES; i++) {
        names[i] = suites[i].name;
        if (strcmp(name, suites[i].name) != 0) {
            continue;
        }
        if (suites[i].begin == NULL) {
            return FG_FAIL(FG_STATUS_NOT_FOUND, "suite '%s' is known, but not built yet", name);
        }
        return fg_case_read_text(suites[i].begin, (size_t)(suites[i].end - suites[i].begin),
                                 suites[i].file, list);
    }
    return FG_FAIL(FG_STATUS_NOT_FOUND, "found suite '%s', which is none; nearest is '%s'", name,
                   fg_word_nearest(name, names, SUITES));
}

const char *fg_case_suite_name(int i) {
    int built = 0;
    for (size_t k = 0; k < SUITES; k++) {
        if (suites[k].begin != NULL && built++ == i) {
            return suites[k].name;
        }
    }
    return NULL;
}
