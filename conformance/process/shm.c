#include "conformance/process/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Makes a file of `bytes` zero bytes in a folder; returns its descriptor or -1 with errno. Space is
 * reserved at once: a mapping that runs out of it later would kill the process that writes. */
static int file_create(const char *folder, size_t bytes, char path[256]) {
    int length = snprintf(path, 256, "%s/fusegate-XXXXXX", folder);
    if (length < 0 || length >= 256) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    int error;
    do {
        error = posix_fallocate(fd, 0, (off_t)bytes);
    } while (error == EINTR);
    if (error != 0) {
        (void)unlink(path);
        (void)close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static fg_status file_map(int fd, size_t bytes, fg_shm *out) {
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        return FG_FAIL(errno == ENOMEM ? FG_STATUS_NO_MEMORY : FG_STATUS_IO,
                       "cannot map %zu bytes of %s: %s", bytes, out->path, strerror(errno));
    }
    out->base = base;
    out->bytes = bytes;
    return FG_STATUS_OK;
}

fg_status fg_shm_create(size_t bytes, fg_shm *out) {
    *out = (fg_shm){0};
    fg_shm made = {0};
    if (bytes > (size_t)INT64_MAX) {
        return FG_FAIL(FG_STATUS_OVERFLOW, "found %zu bytes to share, expected below 2^63", bytes);
    }
    if (bytes == 0) {
        bytes = 1;
    }
    int fd = file_create("/dev/shm", bytes, made.path);
    if (fd < 0) {
        const char *folder = getenv("TMPDIR");
        fd = file_create(folder != NULL && folder[0] != '\0' ? folder : "/tmp", bytes, made.path);
    }
    if (fd < 0) {
        int no_space = errno == ENOSPC || errno == EFBIG || errno == ENOMEM;
        return FG_FAIL(no_space ? FG_STATUS_NO_MEMORY : FG_STATUS_IO,
                       "cannot make a file of %zu bytes in /dev/shm or TMPDIR: %s", bytes,
                       strerror(errno));
    }
    fg_status status = file_map(fd, bytes, &made);
    (void)close(fd);
    if (status != FG_STATUS_OK) {
        (void)unlink(made.path);
        return status;
    }
    *out = made;
    return FG_STATUS_OK;
}

fg_status fg_shm_open(const char *path, size_t bytes, fg_shm *out) {
    *out = (fg_shm){0};
    fg_shm opened = {0};
    if (strlen(path) >= sizeof opened.path) {
        return FG_FAIL(FG_STATUS_INVALID, "found a path of %zu bytes, expected below 256",
                       strlen(path));
    }
    strcpy(opened.path, path);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return FG_FAIL(FG_STATUS_IO, "cannot open %s: %s", path, strerror(errno));
    }
    off_t held = lseek(fd, 0, SEEK_END);
    fg_status status;
    if (bytes == 0 || held < 0 || (size_t)held < bytes) {
        status = FG_FAIL(FG_STATUS_IO, "found %lld bytes in %s, expected %zu", (long long)held,
                         path, bytes);
    } else {
        status = file_map(fd, bytes, &opened);
    }
    (void)close(fd);
    if (status == FG_STATUS_OK) {
        *out = opened;
    }
    return status;
}

void fg_shm_unlink(fg_shm *shm) {
    if (shm->path[0] != '\0') {
        (void)unlink(shm->path);
        shm->path[0] = '\0';
    }
}

void fg_shm_close(fg_shm *shm) {
    fg_shm_unlink(shm);
    if (shm->base != NULL) {
        (void)munmap(shm->base, shm->bytes);
    }
    *shm = (fg_shm){0};
}
