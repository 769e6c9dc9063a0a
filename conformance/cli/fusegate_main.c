/* The program fusegate: finds the verb and hands it its flags. */

#include "conformance/case/case_word.h"
#include "conformance/cli/options.h"
#include "conformance/cli/verb_backends.h"
#include "conformance/cli/verb_bench.h"
#include "conformance/cli/verb_explain.h"
#include "conformance/cli/verb_list.h"
#include "conformance/cli/verb_run.h"
#include "conformance/process/protocol.h"
#include "contract/alloc.h"
#include <argp.h>
#include <cblas.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const fg_verb verbs[] = {
    {"run", fg_verb_run, FG_TAKES_CASES | FG_TAKES_BACKEND | FG_TAKES_RUN, NULL,
     "Runs cases and gives a verdict: exit code 0 conformant, 1 a failure, 2 usage, 3 "
     "infrastructure, 4 vacuous.\vExample:\n"
     "  fusegate run --suite pr --backend host --report build/report"},
    {"list", fg_verb_list, FG_TAKES_CASES, NULL,
     "Prints what would run, one repro line a case, with counts by capability.\vExample:\n"
     "  fusegate list --suite pr --filter '*dt=f32*'"},
    {"explain", fg_verb_explain, FG_TAKES_BACKEND | FG_TAKES_ARGUMENT, "CASE",
     "Prints the problem, the rounding points, and the bound with each of its terms.\vExample:\n"
     "  fusegate explain 'mlp E=2 H=64 F=64 splits=3,5 data=normal'"},
    {"bench", fg_verb_bench, FG_TAKES_BENCH, NULL,
     "Measures speed against baselines of the same run.\vExample:\n  fusegate bench --fuser"},
    {"backends", fg_verb_backends, FG_TAKES_BACKEND, NULL,
     "Prints what is available here, and why not.\vExample:\n  fusegate backends"},
};
enum { VERBS = sizeof verbs / sizeof verbs[0] };

static const char *const later[] = {"judge", "replay", "merge", "new-backend"};
enum { LATER = sizeof later / sizeof later[0] };

static void print_verbs(FILE *out) {
    (void)fputs("Usage: fusegate VERB [FLAG...]\n"
                "Tests and validates fused grouped MLP kernels and operation fusers.\n\n",
                out);
    for (size_t v = 0; v < VERBS; v++) {
        (void)fprintf(out, "  %-10s %.*s\n", verbs[v].name, (int)strcspn(verbs[v].help, ".:\v"),
                      verbs[v].help);
    }
    (void)fputs("\nEvery verb has --help. Example:\n  fusegate run --suite pr --backend host\n",
                out);
}

static int unknown_verb(const char *found) {
    const char *names[VERBS + LATER];
    for (size_t v = 0; v < VERBS; v++) {
        names[v] = verbs[v].name;
    }
    for (size_t l = 0; l < LATER; l++) {
        names[VERBS + l] = later[l];
        if (strcmp(found, later[l]) == 0) {
            (void)fprintf(stderr, "fusegate: %s is known, but not built yet\n", found);
            return FG_EXIT_USAGE;
        }
    }
    (void)fprintf(stderr, "fusegate: unknown verb '%s', did you mean '%s'?\n", found,
                  fg_word_nearest(found, names, VERBS + LATER));
    return FG_EXIT_USAGE;
}

/* Has a descriptor 0, 1 or 2 that the caller closed be one that fails to be written, so that no
 * file of ours gets its number and the program's words. */
static void streams_hold(void) {
    int fd;
    do {
        fd = open("/dev/null", O_RDONLY);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) {
        (void)close(fd);
    }
}

/* A verdict that nobody could read is none: what was lost on standard output. */
static int output_finish(int code) {
    int failed = fflush(stdout) != 0;
    int error = errno;
    if (!failed && !ferror(stdout)) {
        return code;
    }
    (void)fprintf(stderr, "fusegate: cannot write standard output%s%s\n", failed ? ": " : "",
                  failed ? strerror(error) : "");
    return code == FG_EXIT_OK || code == FG_EXIT_VACUOUS ? FG_EXIT_INFRASTRUCTURE : code;
}

static int verb_run(const fg_verb *verb, int argc, char **argv) {
    fg_options options;
    int code = fg_options_parse(verb, argc, argv, &options);
    code = code >= 0 ? code : verb->run(&options);
    /* No fault of what was judged, so it changes no verdict; suites look for it. */
    if (fg_alloc_live_total() > 0) {
        (void)fprintf(stderr, "fusegate: %zu bytes were not given back\n", fg_alloc_live_total());
    }
    return code;
}

int main(int argc, char **argv) {
    streams_hold();
    fg_protocol_use_allocator();
    openblas_set_num_threads(1);
    argp_err_exit_status = FG_EXIT_USAGE;
    if (argc < 2) {
        print_verbs(stderr);
        return FG_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_verbs(stdout);
        return output_finish(FG_EXIT_OK);
    }
    for (size_t v = 0; v < VERBS; v++) {
        if (strcmp(argv[1], verbs[v].name) == 0) {
            return output_finish(verb_run(&verbs[v], argc - 1, argv + 1));
        }
    }
    return unknown_verb(argv[1]);
}
