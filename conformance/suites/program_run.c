#include "conformance/suites/program_run.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 24, VARIABLES = 512 };

const char *fg_built(const char *name) {
    static char path[4096 + 256];
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    cr_assert(length > 0);
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    (void)snprintf(path, sizeof path, "%s/../%s", self, name);
    return path;
}

void fg_program_start(fg_program *program, const char *environment, const char *const *words) {
    char path[4096 + 256];
    char *arguments[WORDS] = {path}, *variables[VARIABLES];
    int out[2], err[2];
    size_t count = 0, variable = 0;
    (void)snprintf(path, sizeof path, "%s", fg_built("fusegate"));
    while (words[count] != NULL) {
        cr_assert(count + 2 < WORDS);
        arguments[count + 1] = (char *)(size_t)words[count];
        count++;
    }
    if (environment != NULL) {
        variables[variable++] = (char *)(size_t)environment;
    }
    for (char **at = environ; *at != NULL && variable + 1 < VARIABLES; at++) {
        variables[variable++] = *at;
    }
    variables[variable] = NULL;
    cr_assert_eq(pipe2(out, O_CLOEXEC), 0);
    cr_assert_eq(pipe2(err, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    cr_assert_eq(posix_spawn_file_actions_init(&actions), 0);
    cr_assert_eq(posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO), 0);
    cr_assert_eq(posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO), 0);
    *program = (fg_program){.out = out[0], .err = err[0]};
    int error = posix_spawn(&program->pid, path, &actions, NULL, arguments, variables);
    cr_assert_eq(error, 0, "%s: %s", path, strerror(error));
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(out[1]);
    (void)close(err[1]);
}

static double now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Appends what a descriptor holds; what does not fit is dropped. Closes it at its end. */
static void take(int *fd, char *text, size_t size) {
    char piece[4096];
    ssize_t got = read(*fd, piece, sizeof piece);
    if (got <= 0) {
        (void)close(*fd);
        *fd = -1;
        return;
    }
    size_t held = strlen(text), room = size - 1 - held;
    memcpy(text + held, piece, (size_t)got < room ? (size_t)got : room);
}

void fg_program_wait(fg_program *program, double seconds) {
    double deadline = now() + seconds;
    int status = 0;
    while (program->out >= 0 || program->err >= 0) {
        struct pollfd fds[2] = {{program->out, POLLIN, 0}, {program->err, POLLIN, 0}};
        int left = (int)((deadline - now()) * 1000);
        if (left <= 0 || poll(fds, 2, left) == 0) {
            (void)kill(program->pid, SIGKILL);
            deadline = now() + 5;
        }
        if (fds[0].revents != 0) {
            take(&program->out, program->text, sizeof program->text);
        }
        if (fds[1].revents != 0) {
            take(&program->err, program->error, sizeof program->error);
        }
    }
    while (waitpid(program->pid, &status, 0) < 0 && errno == EINTR) {
    }
    cr_assert_null(strstr(program->error, "not given back"), "%s", program->error);
    program->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int fg_program_run(fg_program *program, const char *environment, const char *const *words) {
    fg_program_start(program, environment, words);
    fg_program_wait(program, 60);
    return program->code;
}

void fg_folder_make(char path[256]) {
    const char *parent = getenv("TMPDIR");
    (void)snprintf(path, 256, "%s/fusegate-test-XXXXXX",
                   parent != NULL && parent[0] != '\0' ? parent : "/tmp");
    cr_assert_not_null(mkdtemp(path));
}

void fg_folder_remove(const char *path) {
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        (void)unlinkat(dirfd(folder), entry->d_name, 0);
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    (void)rmdir(path);
}

char *fg_file_text(const char *folder, const char *name) {
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rbe");
    char *text = NULL;
    size_t size = 0, got = 0;
    while (file != NULL) {
        char *longer = realloc(text, size + 65536 + 1);
        cr_assert_not_null(longer);
        text = longer;
        got = fread(text + size, 1, 65536, file);
        size += got;
        text[size] = '\0';
        if (got < 65536) {
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return text;
}

void fg_file_write(const char *folder, const char *name, const char *text) {
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wbe");
    cr_assert_not_null(file);
    (void)fputs(text, file);
    cr_assert_eq(fclose(file), 0);
}
