#include "conformance/worker/state_guard.h"

#include <cblas.h>
#include <fenv.h>
#include <immintrin.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MXCSR_STICKY 0x3fu
#define MXCSR_DAZ 0x40u
#define MXCSR_FTZ 0x8000u
#define MXCSR_ROUNDING 0x6000u

void fg_process_state_take(fg_process_state *out) {
    memset(out, 0, sizeof *out);
    out->mxcsr = _mm_getcsr() & ~MXCSR_STICKY;
    out->rounding = fegetround();
    const char *locale = setlocale(LC_ALL, NULL);
    (void)snprintf(out->locale, sizeof out->locale, "%s", locale != NULL ? locale : "");
    out->blas_threads = openblas_get_num_threads();
    for (int s = 1; s < FG_STATE_SIGNALS; s++) {
        (void)sigaction(s, NULL, &out->signals[s]);
    }
    if (getcwd(out->folder, sizeof out->folder) == NULL) {
        out->folder[0] = '\0';
    }
}

__attribute__((format(printf, 3, 4))) static void note(char *changes, size_t size,
                                                       const char *format, ...) {
    size_t held = strlen(changes);
    if (held > 0 && held + 2 < size) {
        held += (size_t)snprintf(changes + held, size - held, "; ");
    }
    if (held < size) {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(changes + held, size - held, format, arguments);
        va_end(arguments);
    }
}

static void cpu_restore(const fg_process_state *before, const fg_process_state *now, char *changes,
                        size_t size) {
    static const struct {
        unsigned int bits;
        const char *name;
    } flags[] = {{MXCSR_FTZ, "flush-to-zero"},
                 {MXCSR_DAZ, "denormals-are-zero"},
                 {MXCSR_ROUNDING, "SSE rounding mode"},
                 {0x1f80u, "floating-point exception mask"}};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        unsigned int from = before->mxcsr & flags[i].bits, to = now->mxcsr & flags[i].bits;
        if (from != to) {
            note(changes, size, "%s %#x -> %#x", flags[i].name, from, to);
        }
    }
    if (before->rounding != now->rounding) {
        note(changes, size, "rounding mode %d -> %d", before->rounding, now->rounding);
    }
    (void)fesetround(before->rounding);
    _mm_setcsr(before->mxcsr);
}

static void signals_restore(const fg_process_state *before, const fg_process_state *now,
                            char *changes, size_t size) {
    for (int s = 1; s < FG_STATE_SIGNALS; s++) {
        if (before->signals[s].sa_handler != now->signals[s].sa_handler) {
            note(changes, size, "handler of signal %d", s);
            (void)sigaction(s, &before->signals[s], NULL);
        }
    }
}

void fg_process_state_restore(const fg_process_state *before, char *changes, size_t size) {
    fg_process_state now;
    fg_process_state_take(&now);
    changes[0] = '\0';
    if (before->mxcsr != now.mxcsr || before->rounding != now.rounding) {
        cpu_restore(before, &now, changes, size);
    }
    if (strcmp(before->locale, now.locale) != 0) {
        note(changes, size, "locale %s -> %s", before->locale, now.locale);
        (void)setlocale(LC_ALL, before->locale);
    }
    if (before->blas_threads != now.blas_threads) {
        note(changes, size, "BLAS threads %d -> %d", before->blas_threads, now.blas_threads);
        openblas_set_num_threads(before->blas_threads);
    }
    signals_restore(before, &now, changes, size);
    if (strcmp(before->folder, now.folder) != 0) {
        note(changes, size, "working directory %s -> %s", before->folder, now.folder);
        if (chdir(before->folder) != 0) {
            note(changes, size, "which could not be put back");
        }
    }
}
