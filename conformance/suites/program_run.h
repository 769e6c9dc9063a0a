#ifndef FG_CONFORMANCE_SUITES_PROGRAM_RUN_H
#define FG_CONFORMANCE_SUITES_PROGRAM_RUN_H

/* Runs the built programs from a suite, as a user would, and finds what was built beside it.
 * Failing to start one fails the test. */

#include <stddef.h>
#include <sys/types.h>

/* Path of something built: "fusegate", "plugins/misbehaving.so". Static storage of one path. */
const char *fg_built(const char *name);

typedef struct fg_program {
    pid_t pid;
    int out, err;
    int code;          /* exit code, or 128 + signal, once waited for */
    char text[65536];  /* stdout */
    char error[16384]; /* stderr */
} fg_program;

/* Starts fusegate with up to 20 words, the last NULL; `environment` is NULL or a "NAME=VALUE" to
 * add. */
void fg_program_start(fg_program *program, const char *environment, const char *const *words);

/* Reads both streams to their end and reaps; at most `seconds`, then it is killed and the code is
 * 128 + 9. */
void fg_program_wait(fg_program *program, double seconds);

/* Both at once, with a limit of 60 s; returns the exit code. */
int fg_program_run(fg_program *program, const char *environment, const char *const *words);

/* Makes a fresh folder under TMPDIR or /tmp; the path is in `path`. remove takes it away with the
 * files in it. */
void fg_folder_make(char path[256]);
void fg_folder_remove(const char *path);

/* Whole content of a file, to be freed with free(); NULL when there is none. */
char *fg_file_text(const char *folder, const char *name);
void fg_file_write(const char *folder, const char *name, const char *text);

#endif
