#include "conformance/cli/options.h"

#include "conformance/case/case_word.h"
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_SUITE = 1000,
    KEY_CASE,
    KEY_FILTER,
    KEY_SEED,
    KEY_BACKEND,
    KEY_EXECUTOR,
    KEY_JOBS,
    KEY_TIMEOUT,
    KEY_REPORT,
    KEY_RESUME,
    KEY_FUSER,
    KEY_INPUTS,
    KEY_SHARD,
    KEY_WAIVERS,
};
enum { FLAGS_MAX = 20, MAX_JOBS = 1024 };

typedef struct flag {
    unsigned takes;
    struct argp_option option;
} flag;

#define FLAG(takes, name, key, argument, text)                                                     \
    {                                                                                              \
        takes, {                                                                                   \
            name, key, argument, 0, text, 0                                                        \
        }                                                                                          \
    }

static const flag flags[] = {
    FLAG(FG_TAKES_CASES, "suite", KEY_SUITE, "NAME|FILE",
         "Cases of a suite or a file (default pr)"),
    FLAG(FG_TAKES_CASES, "case", KEY_CASE, "LINE", "One case line; {a|b} alternatives multiply"),
    FLAG(FG_TAKES_CASES, "filter", KEY_FILTER, "GLOB",
         "Only cases whose line, with or without defaults, matches, as '*E=8*'"),
    FLAG(FG_TAKES_CASES, "seed", KEY_SEED, "N", "The seed of every case"),
    FLAG(FG_TAKES_BACKEND, "backend", KEY_BACKEND, "NAME|PATH.so|exec:CMD",
         "Kernels under test (default host)"),
    FLAG(FG_TAKES_RUN, "executor", KEY_EXECUTOR, "NAME|PATH.so|exec:CMD",
         "Fuser under test (default fuser)"),
    FLAG(FG_TAKES_RUN, "jobs", KEY_JOBS, "N", "Workers at once (default: one for each core)"),
    FLAG(FG_TAKES_RUN, "timeout", KEY_TIMEOUT, "S", "Seconds for one call (default 60)"),
    FLAG(FG_TAKES_RUN, "report", KEY_REPORT, "DIR",
         "Write report.json, junit.xml and summary.md there"),
    FLAG(FG_TAKES_RUN, "resume", KEY_RESUME, "DIR", "Finish the run whose report is there"),
    FLAG(FG_TAKES_RUN, "inputs", KEY_INPUTS, "FILE", "Not built yet"),
    FLAG(FG_TAKES_RUN, "shard", KEY_SHARD, "i/n", "Not built yet"),
    FLAG(FG_TAKES_RUN, "waivers", KEY_WAIVERS, "FILE", "Not built yet"),
    FLAG(FG_TAKES_BENCH, "fuser", KEY_FUSER, NULL, "Host time of the fuser, with its baselines"),
};
enum { FLAGS = sizeof flags / sizeof flags[0] };

int fg_exit_message(int code) {
    (void)fprintf(stderr, "fusegate: %s\n", fg_message());
    return code;
}

int fg_exit_of_status(fg_status status) {
    switch (status) {
    case FG_STATUS_INVALID:
    case FG_STATUS_NOT_FOUND:
    case FG_STATUS_PARSE:
    case FG_STATUS_SHAPE:
    case FG_STATUS_OVERFLOW:
        return FG_EXIT_USAGE;
    default:
        return FG_EXIT_INFRASTRUCTURE;
    }
}

/* Refuses a flag that is none, with the nearest; argp would only say that it does not know it. */
static int unknown_flag(const struct argp_option *options, int argc, char **argv) {
    static const char *const always[] = {"help", "usage"};
    const char *names[FLAGS_MAX + 2];
    size_t count = 0;
    for (const struct argp_option *option = options; option->name != NULL; option++) {
        names[count++] = option->name;
    }
    names[count++] = always[0];
    names[count++] = always[1];
    for (int i = 1; i < argc; i++) {
        size_t length = strcspn(argv[i], "=");
        int known = strncmp(argv[i], "--", 2) != 0;
        if (strcmp(argv[i], "--") == 0) {
            return 0;
        }
        for (size_t n = 0; n < count && !known; n++) {
            known = length > 2 && strncmp(names[n], argv[i] + 2, length - 2) == 0;
        }
        if (!known) {
            char found[64];
            (void)snprintf(found, sizeof found, "%.*s", (int)(length < 60 ? length - 2 : 58),
                           argv[i] + 2);
            (void)fprintf(stderr, "fusegate: unknown flag '--%s' of %s, did you mean '--%s'?\n",
                          found, argv[0], fg_word_nearest(found, names, count));
            return FG_EXIT_USAGE;
        }
        /* The next word is this flag's, whatever it begins with. */
        for (const struct argp_option *option = options; option->name != NULL; option++) {
            if (strncmp(argv[i], "--", 2) == 0 && argv[i][length] == '\0' && option->arg != NULL &&
                strcmp(option->name, argv[i] + 2) == 0) {
                i++;
                break;
            }
        }
    }
    return 0;
}

static int64_t parse_integer(struct argp_state *state, const char *name, const char *text,
                             int64_t least, int64_t most) {
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > most) {
        argp_error(state, "found '%s' for --%s, expected a number from %lld to %lld", text, name,
                   (long long)least, (long long)most);
    }
    return value;
}

static double parse_seconds(struct argp_state *state, const char *name, const char *text) {
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value) || value <= 0 || value > 1e6) {
        argp_error(state, "found '%s' for --%s, expected seconds above 0", text, name);
    }
    return value;
}

/* A seed of a case line has all 64 bits. */
static uint64_t parse_seed(struct argp_state *state, const char *text) {
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || text[0] < '0' || text[0] > '9' || *end != '\0') {
        argp_error(state, "found '%s' for --seed, expected a number from 0 to %llu", text,
                   ULLONG_MAX);
    }
    return value;
}

/* Takes a text that must not be empty, and only once. */
static void take_text(struct argp_state *state, const char *name, const char *expected, char *text,
                      const char **out) {
    if (*out != NULL) {
        argp_error(state, "found --%s twice, '%s' and '%s', expected it once", name, *out, text);
    }
    if (text[0] == '\0' && expected != NULL) {
        argp_error(state, "found '' for --%s, expected %s", name, expected);
    }
    *out = text;
}

/* What argp hands to `take`. */
typedef struct taking {
    const fg_verb *verb;
    fg_options *out;
} taking;

static error_t take(int key, char *text, struct argp_state *state) {
    const taking *input = state->input;
    fg_options *out = input->out;
    switch (key) {
    case KEY_SUITE:
        take_text(state, "suite", "a name or a file of case lines", text, &out->suite);
        break;
    case KEY_CASE:
        take_text(state, "case", NULL, text, &out->case_line);
        break;
    case KEY_FILTER:
        take_text(state, "filter", "a pattern", text, &out->filter);
        break;
    case KEY_SEED:
        out->seed = parse_seed(state, text);
        out->seed_given = 1;
        break;
    case KEY_BACKEND:
        take_text(state, "backend", "a name or a library", text, &out->backend);
        break;
    case KEY_EXECUTOR:
        take_text(state, "executor", "a name or a library", text, &out->executor);
        break;
    case KEY_JOBS:
        out->jobs = (int32_t)parse_integer(state, "jobs", text, 1, MAX_JOBS);
        break;
    case KEY_TIMEOUT:
        out->timeout = parse_seconds(state, "timeout", text);
        break;
    case KEY_REPORT:
        take_text(state, "report", "a folder", text, &out->report);
        break;
    case KEY_RESUME:
        take_text(state, "resume", "the folder of a run", text, &out->resume);
        break;
    case KEY_FUSER:
        out->fuser = 1;
        break;
    case KEY_INPUTS:
    case KEY_SHARD:
    case KEY_WAIVERS:
        argp_error(state, "--%s is known, but not built yet",
                   key == KEY_INPUTS  ? "inputs"
                   : key == KEY_SHARD ? "shard"
                                      : "waivers");
        break;
    case ARGP_KEY_ARG:
        if (out->argument != NULL || (input->verb->takes & FG_TAKES_ARGUMENT) == 0) {
            argp_error(state, "found '%s', expected flags only", text);
        }
        out->argument = text;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

int fg_options_parse(const fg_verb *verb, int argc, char **argv, fg_options *out) {
    struct argp_option options[FLAGS_MAX + 1] = {{0}};
    size_t count = 0;
    char title[64];
    *out = (fg_options){0};
    for (size_t f = 0; f < FLAGS; f++) {
        if ((flags[f].takes & verb->takes) != 0) {
            options[count++] = flags[f].option;
        }
    }
    (void)snprintf(title, sizeof title, "fusegate %s", verb->name);
    argv[0] = title;
    if (unknown_flag(options, argc, argv) != 0) {
        return FG_EXIT_USAGE;
    }
    struct argp argp = {
        .options = options, .parser = take, .args_doc = verb->argument, .doc = verb->help};
    taking input = {verb, out};
    if (argp_parse(&argp, argc, argv, 0, NULL, &input) != 0) {
        return FG_EXIT_USAGE;
    }
    if ((verb->takes & FG_TAKES_ARGUMENT) != 0 && out->argument == NULL) {
        (void)fprintf(stderr, "fusegate: %s needs one word, %s\n", verb->name, verb->argument);
        return FG_EXIT_USAGE;
    }
    return -1;
}
