#include "conformance/process/client_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

double fg_seconds_now(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

fg_status fg_process_worker_path(char *path, size_t size) {
    static const char *const places[] = {"fusegate-worker", "../fusegate-worker"};
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) {
        return FG_FAIL(FG_STATUS_IO, "cannot read /proc/self/exe: %s", strerror(errno));
    }
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int written = snprintf(path, size, "%s/%s", self, places[i]);
        if (written > 0 && (size_t)written < size && access(path, X_OK) == 0) {
            return FG_STATUS_OK;
        }
    }
    return FG_FAIL(FG_STATUS_IO, "found no fusegate-worker in %s or the folder above", self);
}

/* Descriptors of one start: [0] is kept, [1] goes to the worker. */
typedef struct ends {
    int channel[2], out[2], err[2], null;
} ends;

static void end_close(int *fd) {
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

static void ends_close(ends *all, int mine) {
    int *const given[] = {&all->channel[1], &all->out[1], &all->err[1], &all->null};
    int *const kept[] = {&all->channel[0], &all->out[0], &all->err[0]};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        end_close(given[i]);
    }
    for (size_t i = 0; mine && i < sizeof kept / sizeof kept[0]; i++) {
        end_close(kept[i]);
    }
}

/* Moves a descriptor above those that the worker's are put on, so that no dup2 hits another. */
static int raise_above(int fd) {
    int raised = fcntl(fd, F_DUPFD_CLOEXEC, 16);
    (void)close(fd);
    return raised;
}

static int ends_open(ends *all) {
    *all = (ends){{-1, -1}, {-1, -1}, {-1, -1}, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, all->channel) != 0 ||
        pipe2(all->out, O_CLOEXEC) != 0 || pipe2(all->err, O_CLOEXEC) != 0) {
        return -1;
    }
    all->null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int *const given[] = {&all->channel[1], &all->out[1], &all->err[1], &all->null};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        if (*given[i] < 0 || (*given[i] = raise_above(*given[i])) < 0) {
            return -1;
        }
    }
    const int kept[] = {all->channel[0], all->out[0], all->err[0]};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        if (fcntl(kept[i], F_SETFL, O_NONBLOCK) != 0) {
            return -1;
        }
    }
    return 0;
}

/* The worker starts with default signals whatever this program set, and in its own group. */
static int attributes_set(posix_spawnattr_t *attributes) {
    sigset_t none, defaults;
    (void)sigemptyset(&none);
    (void)sigfillset(&defaults);
    (void)sigdelset(&defaults, SIGKILL);
    (void)sigdelset(&defaults, SIGSTOP);
    int error = posix_spawnattr_setsigmask(attributes, &none);
    error = error != 0 ? error : posix_spawnattr_setsigdefault(attributes, &defaults);
    error = error != 0 ? error : posix_spawnattr_setpgroup(attributes, 0);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP;
    return error != 0 ? error : posix_spawnattr_setflags(attributes, flags);
}

static int actions_set(posix_spawn_file_actions_t *actions, const ends *all) {
    const int moves[][2] = {{all->null, 0},
                            {all->out[1], 1},
                            {all->err[1], 2},
                            {all->channel[1], FG_PROTOCOL_IN},
                            {all->channel[1], FG_PROTOCOL_OUT}};
    int error = 0;
    for (size_t i = 0; error == 0 && i < sizeof moves / sizeof moves[0]; i++) {
        error = posix_spawn_file_actions_adddup2(actions, moves[i][0], moves[i][1]);
    }
    return error;
}

static int spawn(const char *path, const ends *all, pid_t *pid) {
    char *arguments[] = {(char *)(uintptr_t)path, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) {
        return error;
    }
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        error = actions_set(&actions, all);
        error = error != 0 ? error : attributes_set(&attributes);
        error =
            error != 0 ? error : posix_spawn(pid, path, &actions, &attributes, arguments, environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

fg_status fg_process_start(const char *path, fg_process *out) {
    ends all;
    *out = (fg_process){.channel = -1, .out = -1, .err = -1};
    if (ends_open(&all) != 0) {
        int error = errno;
        ends_close(&all, 1);
        return FG_FAIL(FG_STATUS_IO, "cannot open pipes for a worker: %s", strerror(error));
    }
    int error = spawn(path, &all, &out->pid);
    ends_close(&all, error != 0);
    if (error != 0) {
        out->pid = 0;
        return FG_FAIL(FG_STATUS_IO, "cannot start %s: %s", path, strerror(error));
    }
    out->channel = all.channel[0];
    out->out = all.out[0];
    out->err = all.err[0];
    return FG_STATUS_OK;
}

static void stderr_keep(fg_process *process, const char *text, size_t length) {
    if (length > FG_STDERR_KEPT) {
        text += length - FG_STDERR_KEPT;
        length = FG_STDERR_KEPT;
    }
    size_t room = FG_STDERR_KEPT - length;
    if (process->err_length > room) {
        memmove(process->err_tail, process->err_tail + process->err_length - room, room);
        process->err_length = room;
    }
    memcpy(process->err_tail + process->err_length, text, length);
    process->err_length += length;
}

/* Reads what one descriptor holds; closes it at its end, so that poll rests. */
static void stream_drain(fg_process *process, int *fd) {
    char text[4096];
    ssize_t got = 0;
    while (*fd >= 0 && (got = read(*fd, text, sizeof text)) > 0) {
        if (fd == &process->out) {
            process->stdout_bytes += got;
        } else {
            stderr_keep(process, text, (size_t)got);
        }
    }
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        end_close(fd);
    }
}

void fg_process_drain(fg_process *process) {
    stream_drain(process, &process->out);
    stream_drain(process, &process->err);
}

/* Waits until the channel is ready for `events`, or its end; reads the other two meanwhile. */
static fg_status channel_wait(fg_process *process, short events, double deadline) {
    for (;;) {
        double left = deadline - fg_seconds_now();
        if (left <= 0) {
            return FG_FAIL(FG_STATUS_TIMEOUT, "no answer came in time");
        }
        struct pollfd fds[3] = {
            {process->channel, events, 0}, {process->out, POLLIN, 0}, {process->err, POLLIN, 0}};
        int milliseconds = left > 3600 ? 3600000 : (int)(left * 1000) + 1;
        if (poll(fds, 3, milliseconds) < 0 && errno != EINTR) {
            return FG_FAIL(FG_STATUS_IO, "cannot wait for a worker: %s", strerror(errno));
        }
        /* A reply comes after what the worker printed before it, so both are seen at once. */
        if (fds[1].revents != 0) {
            stream_drain(process, &process->out);
        }
        if (fds[2].revents != 0) {
            stream_drain(process, &process->err);
        }
        if (fds[0].revents != 0) {
            return FG_STATUS_OK;
        }
    }
}

fg_status fg_process_send(fg_process *process, const char *line, size_t length, double deadline) {
    while (length > 0) {
        ssize_t sent = send(process->channel, line, length, MSG_NOSIGNAL);
        if (sent > 0) {
            line += sent;
            length -= (size_t)sent;
        } else if (errno == EAGAIN || errno == EINTR) {
            FG_TRY(channel_wait(process, POLLOUT, deadline));
        } else {
            return FG_FAIL(FG_STATUS_CRASH, "the worker's channel is closed");
        }
    }
    return FG_STATUS_OK;
}

fg_status fg_process_receive(fg_process *process, double deadline, const char **line,
                             size_t *length) {
    while ((*line = fg_line_next(&process->lines, length)) == NULL) {
        int ended = 0;
        FG_TRY(channel_wait(process, POLLIN, deadline));
        FG_TRY(fg_line_fill(&process->lines, process->channel, &ended));
        if (ended) {
            return FG_FAIL(FG_STATUS_CRASH, "the worker's channel is closed");
        }
    }
    return FG_STATUS_OK;
}

int fg_process_end(fg_process *process, double patience) {
    double deadline = fg_seconds_now() + patience;
    int late = 0;
    end_close(&process->channel);
    while (process->pid > 0) {
        int status = 0;
        late = fg_seconds_now() >= deadline;
        if (late) {
            (void)kill(process->pid, SIGKILL);
        }
        fg_process_drain(process);
        pid_t reaped = waitpid(process->pid, &status, late ? 0 : WNOHANG);
        if (reaped == process->pid || (reaped < 0 && errno != EINTR)) {
            process->exit_status = status;
            process->pid = 0;
        } else {
            (void)poll(NULL, 0, 2);
        }
    }
    fg_process_drain(process);
    return late;
}

void fg_process_ending(const fg_process *process, char *text, size_t size) {
    int status = process->exit_status;
    if (WIFSIGNALED(status)) {
        int number = WTERMSIG(status);
        const char *name = sigdescr_np(number);
        (void)snprintf(text, size, "signal %d (%s)", number, name != NULL ? name : "?");
    } else {
        (void)snprintf(text, size, "exit code %d", WEXITSTATUS(status));
    }
}

void fg_process_free(fg_process *process) {
    (void)fg_process_end(process, 0);
    end_close(&process->out);
    end_close(&process->err);
    fg_line_free(&process->lines);
}
