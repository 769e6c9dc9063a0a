#include "conformance/worker/loader.h"

#include "conformance/case/case_word.h"
#include "conformance/worker/recorder.h"
#include "cuda/cuda_backend.h"
#include "fuser/fuser_executor.h"
#include "reference/host_backend.h"
#include "reference/reference_backend.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct required {
    size_t offset;
    const char *name;
} required;

#define REQUIRED(type, member)                                                                     \
    { offsetof(type, member), #member }

static const required backend_required[] = {
    REQUIRED(fg_backend, device_open),    REQUIRED(fg_backend, device_close),
    REQUIRED(fg_backend, traits),         REQUIRED(fg_backend, supports),
    REQUIRED(fg_backend, mem_alloc),      REQUIRED(fg_backend, mem_free),
    REQUIRED(fg_backend, mem_fill32),     REQUIRED(fg_backend, copy_in),
    REQUIRED(fg_backend, copy_out),       REQUIRED(fg_backend, stream_create),
    REQUIRED(fg_backend, stream_destroy), REQUIRED(fg_backend, stream_sync),
    REQUIRED(fg_backend, kernel_create),  REQUIRED(fg_backend, kernel_destroy),
    REQUIRED(fg_backend, kernel_sizes),   REQUIRED(fg_backend, mlp_forward),
    REQUIRED(fg_backend, mlp_backward),   REQUIRED(fg_backend, last_error),
};

static const required executor_required[] = {
    REQUIRED(fg_executor_api, create),
    REQUIRED(fg_executor_api, destroy),
    REQUIRED(fg_executor_api, forward),
    REQUIRED(fg_executor_api, backward),
    REQUIRED(fg_executor_api, context_release),
    REQUIRED(fg_executor_api, token_release),
    REQUIRED(fg_executor_api, step),
    REQUIRED(fg_executor_api, counters),
    REQUIRED(fg_executor_api, plan_id),
    REQUIRED(fg_executor_api, flags),
};

/* Copies a table that may be shorter or longer than this program's, and checks what must be there.
 * Both tables begin with their size and their name. */
static fg_status table_take(const char *what, const void *table, size_t bytes,
                            const required *needed, size_t count, void *out) {
    size_t given = 0;
    if (table == NULL) {
        return FG_FAIL(FG_STATUS_ABI, "%s: its entry gave no table of functions", what);
    }
    memcpy(&given, table, sizeof given);
    memset(out, 0, bytes);
    memcpy(out, table, given < bytes ? given : bytes);
    for (size_t i = 0; i < count; i++) {
        void *function = NULL;
        memcpy(&function, (const char *)out + needed[i].offset, sizeof function);
        if (function == NULL) {
            return FG_FAIL(FG_STATUS_ABI, "%s: found no function %s, expected every required one",
                           what, needed[i].name);
        }
    }
    return FG_STATUS_OK;
}

static int is_path(const char *what) {
    size_t length = strlen(what);
    return strchr(what, '/') != NULL || (length > 3 && strcmp(what + length - 3, ".so") == 0);
}

/* Opens a library and finds its entry. A path without a slash means this folder, not the system's
 * library path, hence realpath. */
static fg_status library_entry(const char *path, const char *entry, void **out) {
    struct stat facts;
    if (stat(path, &facts) != 0) {
        return FG_FAIL(FG_STATUS_UNAVAILABLE, "%s: %s, expected a shared library that exports %s",
                       path, strerror(errno), entry);
    }
    if (!S_ISREG(facts.st_mode)) {
        return FG_FAIL(FG_STATUS_UNAVAILABLE,
                       "%s: found %s, expected a shared library that exports %s", path,
                       S_ISDIR(facts.st_mode) ? "a directory" : "no regular file", entry);
    }
    char *full = realpath(path, NULL);
    void *library = full != NULL ? dlopen(full, RTLD_NOW | RTLD_LOCAL) : NULL;
    free(full);
    if (library == NULL) {
        const char *why = dlerror();
        return FG_FAIL(FG_STATUS_UNAVAILABLE,
                       "%s: not a loadable library (%s), expected one that exports %s", path,
                       why != NULL ? why : "?", entry);
    }
    *out = dlsym(library, entry);
    if (*out == NULL) {
        return FG_FAIL(FG_STATUS_UNAVAILABLE, "%s: found no symbol %s in the library, expected it",
                       path, entry);
    }
    return FG_STATUS_OK;
}

/* Says that the entry refused: its own message where it has one (it may be none of ours). */
static fg_status entry_refused(const char *what, fg_status status) {
    return FG_FAIL(status, "%s: its entry refused: %s", what,
                   fg_message()[0] != '\0' ? fg_message() : fg_status_sentence(status));
}

fg_status fg_load_backend(const char *what, const fg_host *host, fg_backend *out) {
    static const char *const names[] = {"reference", "host", "cuda", "recorder"};
    static const fg_backend_entry_fn entries[] = {fg_reference_backend_entry, fg_host_backend_entry,
                                                  fg_cuda_backend_entry, fg_recorder_backend_entry};
    enum { NAMES = sizeof names / sizeof names[0] };
    const fg_backend *table = NULL;
    fg_backend_entry_fn entry = NULL;
    for (size_t i = 0; i < NAMES; i++) {
        if (strcmp(what, names[i]) == 0) {
            entry = entries[i];
        }
    }
    if (entry == NULL && is_path(what)) {
        void *symbol = NULL;
        FG_TRY(library_entry(what, FG_BACKEND_ENTRY, &symbol));
        memcpy(&entry, &symbol, sizeof entry);
    }
    if (entry == NULL) {
        return FG_FAIL(FG_STATUS_NOT_FOUND, "unknown backend '%s', did you mean '%s'?", what,
                       fg_word_nearest(what, names, NAMES));
    }
    fg_message_clear();
    fg_status status = entry(FG_BACKEND_ABI, host, &table);
    if (status != FG_STATUS_OK) {
        return entry_refused(what, status);
    }
    return table_take(what, table, sizeof *out, backend_required,
                      sizeof backend_required / sizeof backend_required[0], out);
}

fg_status fg_load_executor(const char *what, const fg_host *host, fg_executor_api *out) {
    static const char *const names[] = {"fuser"};
    const fg_executor_api *table = NULL;
    fg_executor_entry_fn entry = NULL;
    if (strcmp(what, names[0]) == 0) {
        entry = fg_fuser_executor_entry;
    } else if (is_path(what)) {
        void *symbol = NULL;
        FG_TRY(library_entry(what, FG_EXECUTOR_ENTRY, &symbol));
        memcpy(&entry, &symbol, sizeof entry);
    } else {
        return FG_FAIL(FG_STATUS_NOT_FOUND, "unknown executor '%s', did you mean '%s'?", what,
                       names[0]);
    }
    fg_message_clear();
    fg_status status = entry(FG_EXECUTOR_ABI, host, &table);
    if (status != FG_STATUS_OK) {
        return entry_refused(what, status);
    }
    return table_take(what, table, sizeof *out, executor_required,
                      sizeof executor_required / sizeof executor_required[0], out);
}
