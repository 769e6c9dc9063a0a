#ifndef FG_CONFORMANCE_WORKER_LOADER_H
#define FG_CONFORMANCE_WORKER_LOADER_H

#include "contract/executor.h"

/* A backend by what the user called it: a built-in NAME, or a PATH with a slash or ending in .so.
 * *out is a copy that has every field of this program's ABI (those the backend does not have are
 * NULL); it lives as long as the caller keeps it, the library for the rest of the process.
 * FG_STATUS_NOT_FOUND: unknown name, with the nearest; FG_STATUS_UNAVAILABLE: cannot run or load
 * here, says what was found and expected; FG_STATUS_ABI: another version or a required function
 * that is not there. */
fg_status fg_load_backend(const char *what, const fg_host *host, fg_backend *out);

/* The same for an executor. */
fg_status fg_load_executor(const char *what, const fg_host *host, fg_executor_api *out);

#endif
