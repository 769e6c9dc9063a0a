#ifndef FG_CONFORMANCE_WORKER_STATE_GUARD_H
#define FG_CONFORMANCE_WORKER_STATE_GUARD_H

#include <signal.h>
#include <stddef.h>

/* State of the process and of this thread's CPU that code under test must leave as it was. */
enum { FG_STATE_SIGNALS = 32, FG_STATE_TEXT = 256 };

typedef struct fg_process_state {
    unsigned int mxcsr; /* without its sticky exception flags */
    int rounding;
    char locale[FG_STATE_TEXT];
    int blas_threads;
    struct sigaction signals[FG_STATE_SIGNALS];
    char folder[4096];
} fg_process_state;

/* Takes the state as it is now. */
void fg_process_state_take(fg_process_state *out);

/* Compares with the state taken before, puts back what changed, and writes what that was into
 * `changes` ("flush-to-zero set; BLAS threads 1 -> 4", "" for nothing); cut at `size`. */
void fg_process_state_restore(const fg_process_state *before, char *changes, size_t size);

#endif
