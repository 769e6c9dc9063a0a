#ifndef FG_CONFORMANCE_PROCESS_SHM_H
#define FG_CONFORMANCE_PROCESS_SHM_H

#include "contract/status.h"

/* Memory that the judge and a worker share. */
typedef struct fg_shm {
    char path[256]; /* of the file that was mapped; unlinked once both sides hold it */
    unsigned char *base;
    size_t bytes;
} fg_shm;

/* Makes a zeroed mapping of a new file in /dev/shm or, when that is too small, TMPDIR (or /tmp).
 * FG_STATUS_NO_MEMORY, FG_STATUS_IO. */
fg_status fg_shm_create(size_t bytes, fg_shm *out);

/* Maps the file that another process made. */
fg_status fg_shm_open(const char *path, size_t bytes, fg_shm *out);

/* Removes the file's name; the mapping stays. */
void fg_shm_unlink(fg_shm *shm);

/* Unmaps, and unlinks if that has not been done. */
void fg_shm_close(fg_shm *shm);

#endif
