#ifndef FG_CONFORMANCE_PROCESS_CLIENT_PROCESS_H
#define FG_CONFORMANCE_PROCESS_CLIENT_PROCESS_H

/* A worker process and the three descriptors that lead to it: the channel (its descriptors 3 and 4)
 * and its captured stdout and stderr. It runs in a process group of its own, so that Ctrl-C in the
 * terminal reaches the judge only. */

#include "conformance/process/protocol.h"
#include <sys/types.h>

#define FG_STDERR_KEPT 1024

typedef struct fg_process {
    pid_t pid;                     /* 0: none, or already reaped */
    int channel, out, err;         /* -1: closed */
    int32_t exit_status;           /* of waitpid, once reaped */
    int64_t stdout_bytes;          /* seen so far */
    char err_tail[FG_STDERR_KEPT]; /* last bytes of stderr */
    size_t err_length;
    fg_line_buffer lines;
} fg_process;

/* Finds fusegate-worker: beside this program, else in the folder above. FG_STATUS_IO. */
fg_status fg_process_worker_path(char *path, size_t size);

/* Starts a program without arguments. FG_STATUS_IO names what failed. */
fg_status fg_process_start(const char *path, fg_process *out);

/* Sends one line (with its newline) before the deadline, a time of CLOCK_MONOTONIC in seconds.
 * FG_STATUS_TIMEOUT, FG_STATUS_CRASH (the other end is closed). */
fg_status fg_process_send(fg_process *process, const char *line, size_t length, double deadline);

/* Waits for one line, reading stdout and stderr meanwhile. FG_STATUS_TIMEOUT, _CRASH, _PROTOCOL. */
fg_status fg_process_receive(fg_process *process, double deadline, const char **line,
                             size_t *length);

/* Takes what stdout and stderr hold now. */
void fg_process_drain(fg_process *process);

/* Closes the channel, waits up to `patience` seconds for the end, then kills; reaps. Returns
 * whether it had to be killed. */
int fg_process_end(fg_process *process, double patience);

/* How an ended process ended: "signal 11 (Segmentation fault)", "exit code 3". */
void fg_process_ending(const fg_process *process, char *text, size_t size);

/* Frees everything; ends the process at once if it still runs. */
void fg_process_free(fg_process *process);

double fg_seconds_now(void);

#endif
