#ifndef FG_FUSER_CALL_GATE_H
#define FG_FUSER_CALL_GATE_H

#include "contract/status.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* The one lock of a fuser, and the calls in flight that step and reset wait for.
 * The lock is held for tens of nanoseconds, never over a kernel call, a build or a callback, so it
 * spins first and then yields. `in_flight` and `paused` are guarded by it. */
typedef struct fg_call_gate {
    atomic_int held;
    int32_t in_flight;
    int32_t paused; /* a step or reset waits: new calls stay out */
    int32_t sleepers;
    pthread_mutex_t mutex; /* of epoch; taken after the lock, never before it */
    pthread_cond_t changed;
    uint64_t epoch;
} fg_call_gate;

fg_status fg_call_gate_init(fg_call_gate *gate);

static inline void fg_call_gate_release(fg_call_gate *gate) {
    pthread_cond_destroy(&gate->changed);
    pthread_mutex_destroy(&gate->mutex);
}

/* Waits for the lock after a first try failed. */
void fg_call_gate_lock_contended(fg_call_gate *gate);

static inline void fg_call_gate_lock(fg_call_gate *gate) {
    if (atomic_exchange_explicit(&gate->held, 1, memory_order_acquire) != 0) {
        fg_call_gate_lock_contended(gate);
    }
}

static inline void fg_call_gate_unlock(fg_call_gate *gate) {
    atomic_store_explicit(&gate->held, 0, memory_order_release);
}

/* With the lock held: lets it go, sleeps until the next wake, takes it again. */
void fg_call_gate_sleep(fg_call_gate *gate);

/* With the lock held: wakes every sleeper. */
void fg_call_gate_wake(fg_call_gate *gate);

/* With the lock held: keeps new calls out and waits for those in flight; end_pause lets them in. */
void fg_call_gate_pause(fg_call_gate *gate);
void fg_call_gate_end_pause(fg_call_gate *gate);

/* With the lock held: one call fewer in flight. */
void fg_call_gate_leave(fg_call_gate *gate);

#endif
