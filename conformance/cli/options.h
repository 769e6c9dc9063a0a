#ifndef FG_CONFORMANCE_CLI_OPTIONS_H
#define FG_CONFORMANCE_CLI_OPTIONS_H

#include "contract/status.h"
#include <stdint.h>

/* Exit codes of the command that a verb can decide on its own. */
enum { FG_EXIT_OK = 0, FG_EXIT_USAGE = 2, FG_EXIT_INFRASTRUCTURE = 3, FG_EXIT_VACUOUS = 4 };

/* What the flags of a verb said; NULL or 0 where a flag was not given. Texts are argv's. */
typedef struct fg_options {
    const char *suite, *case_line, *filter, *backend, *executor, *report, *resume;
    int32_t seed_given;
    uint64_t seed;
    int32_t jobs;
    double timeout;
    int32_t fuser;        /* bench */
    const char *argument; /* the word that is no flag */
} fg_options;

/* Flags that a verb takes. */
enum {
    FG_TAKES_CASES = 1 << 0,    /* --suite --case --filter --seed */
    FG_TAKES_BACKEND = 1 << 1,  /* --backend */
    FG_TAKES_RUN = 1 << 2,      /* --executor --jobs --timeout --report --resume */
    FG_TAKES_BENCH = 1 << 3,    /* --fuser */
    FG_TAKES_ARGUMENT = 1 << 4, /* one word */
};

/* A verb: its name, its function (which gets the command's exit code right), and its help. */
typedef struct fg_verb {
    const char *name;
    int (*run)(const fg_options *options);
    unsigned takes;
    const char *argument; /* name of the word for the help, NULL without */
    const char *help;     /* what it does, then \v and an example */
} fg_verb;

/* Reads argv (argv[0] is the verb). Returns -1 to go on, else the exit code: --help has been
 * printed, or what is wrong, with the nearest flag, to stderr. */
int fg_options_parse(const fg_verb *verb, int argc, char **argv, fg_options *out);

/* Says "fusegate: " and this thread's message on stderr; returns `code`. */
int fg_exit_message(int code);

/* Exit code of a status that a backend, executor or suite could not be had: 2 for names and values,
 * 3 for what this machine lacks. */
int fg_exit_of_status(fg_status status);

#endif
