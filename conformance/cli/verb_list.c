#include "conformance/cli/verb_list.h"

#include "conformance/cli/selection.h"
#include "conformance/report/capability.h"
#include <stdio.h>

static void print_cases(const fg_case_list *cases) {
    for (int64_t i = 0; i < cases->count; i++) {
        char line[FG_CASE_LINE];
        (void)fg_case_format(&cases->cases[i], line, sizeof line);
        (void)puts(line);
    }
}

static void print_counts(const fg_case_list *cases) {
    (void)printf("# %lld cases\n", (long long)cases->count);
    for (int32_t c = 0; c < fg_capabilities(); c++) {
        int64_t count = 0;
        for (int64_t i = 0; i < cases->count; i++) {
            count += fg_capability_in(c, &cases->cases[i]);
        }
        (void)printf("# %8lld %s\n", (long long)count, fg_capability_name(c));
    }
}

int fg_verb_list(const fg_options *options) {
    const char *fallback = options->case_line != NULL ? "" : "pr";
    const char *suite = options->suite != NULL ? options->suite : fallback;
    const fg_selection_request request = {
        suite, options->case_line != NULL ? options->case_line : "",
        options->filter != NULL ? options->filter : "", options->seed_given, options->seed};
    fg_case_list cases;
    if (options->suite != NULL && options->case_line != NULL) {
        (void)fprintf(stderr, "fusegate: found --suite and --case, expected one of them\n");
        return FG_EXIT_USAGE;
    }
    if (fg_selection_make(&request, &cases) != FG_STATUS_OK) {
        return fg_exit_message(FG_EXIT_USAGE);
    }
    print_cases(&cases);
    print_counts(&cases);
    int64_t count = cases.count;
    fg_case_list_free(&cases);
    if (count == 0) {
        (void)fprintf(stderr, "fusegate: nothing was selected\n");
        return FG_EXIT_VACUOUS;
    }
    return FG_EXIT_OK;
}
