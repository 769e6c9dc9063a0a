#include "fuser/call_gate.h"
#include <sched.h>

#define SPINS 100

fg_status fg_call_gate_init(fg_call_gate *gate) {
    *gate = (fg_call_gate){0};
    if (pthread_mutex_init(&gate->mutex, NULL) != 0) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no mutex, expected one");
    }
    if (pthread_cond_init(&gate->changed, NULL) != 0) {
        pthread_mutex_destroy(&gate->mutex);
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no condition variable, expected one");
    }
    return FG_STATUS_OK;
}

void fg_call_gate_lock_contended(fg_call_gate *gate) {
    do {
        for (int spin = 0; atomic_load_explicit(&gate->held, memory_order_relaxed) != 0; spin++) {
            if (spin >= SPINS) {
                sched_yield(); // the holder may have lost its processor to us
            }
        }
    } while (atomic_exchange_explicit(&gate->held, 1, memory_order_acquire) != 0);
}

void fg_call_gate_sleep(fg_call_gate *gate) {
    gate->sleepers++;
    // The mutex is taken before the lock is let go: a wake after that waits for the cond_wait.
    pthread_mutex_lock(&gate->mutex);
    uint64_t epoch = gate->epoch;
    fg_call_gate_unlock(gate);
    while (gate->epoch == epoch) {
        pthread_cond_wait(&gate->changed, &gate->mutex);
    }
    pthread_mutex_unlock(&gate->mutex);
    fg_call_gate_lock(gate);
    gate->sleepers--;
}

void fg_call_gate_wake(fg_call_gate *gate) {
    if (gate->sleepers == 0) {
        return;
    }
    pthread_mutex_lock(&gate->mutex);
    gate->epoch++;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->mutex);
}

void fg_call_gate_pause(fg_call_gate *gate) {
    while (gate->paused) {
        fg_call_gate_sleep(gate);
    }
    gate->paused = 1;
    while (gate->in_flight > 0) {
        fg_call_gate_sleep(gate);
    }
}

void fg_call_gate_end_pause(fg_call_gate *gate) {
    gate->paused = 0;
    fg_call_gate_wake(gate);
}

void fg_call_gate_leave(fg_call_gate *gate) {
    gate->in_flight--;
    if (gate->in_flight == 0 && gate->paused) {
        fg_call_gate_wake(gate);
    }
}
