#include "reference/host_device.h"
#include "contract/alloc.h"
#include <stdatomic.h>
#include <string.h>
#include <time.h>

struct fg_device {
    int32_t index;
    atomic_int foreign_free; /* 1 + the device whose memory was freed here; 0: none */
};

typedef struct host_stream {
    int32_t device;
} host_stream;

/* Lies before every block; as long as the alignment of fg_alloc. */
typedef union block_head {
    int32_t device;
    unsigned char room[64];
} block_head;

int32_t fg_host_device_fold(int32_t index) {
    return index == -1 ? 0 : index;
}

int32_t fg_host_device_index(const fg_device *device) {
    return device->index;
}

fg_status fg_host_device_open(int32_t index, fg_device **out) {
    int32_t folded = fg_host_device_fold(index);
    if (folded < 0 || folded >= FG_HOST_DEVICES) {
        return FG_FAIL(FG_STATUS_DEVICE, "device %d does not exist, expected -1, 0 or 1", index);
    }
    fg_device *device = fg_alloc(sizeof *device, FG_ALLOC_GENERAL);
    if (device == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for device %d", index);
    }
    device->index = folded;
    atomic_init(&device->foreign_free, 0);
    *out = device;
    return FG_STATUS_OK;
}

void fg_host_device_close(fg_device *device) {
    fg_free(device);
}

fg_status fg_host_mem_alloc(fg_device *device, size_t bytes, void **out) {
    size_t whole = 0;
    FG_TRY(fg_size_add(bytes, sizeof(block_head), &whole));
    block_head *head = fg_alloc(whole, FG_ALLOC_DEVICE);
    if (head == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for %zu bytes on device %d", bytes,
                       device->index);
    }
    head->device = device->index;
    *out = head + 1;
    return FG_STATUS_OK;
}

void fg_host_mem_free(fg_device *device, void *pointer) {
    if (pointer == NULL) {
        return;
    }
    block_head *head = (block_head *)pointer - 1;
    if (head->device != device->index) {
        atomic_store(&device->foreign_free, 1 + head->device);
        return;
    }
    fg_free(head);
}

fg_status fg_host_mem_fill32(fg_device *device, void *to, uint32_t pattern, size_t words,
                             fg_stream stream) {
    FG_TRY(fg_host_stream_check(device->index, stream));
    unsigned char *at = to;
    for (size_t i = 0; i < words; i++) {
        memcpy(at + i * sizeof pattern, &pattern, sizeof pattern);
    }
    return FG_STATUS_OK;
}

fg_status fg_host_copy(fg_device *device, void *to, const void *from, size_t bytes,
                       fg_stream stream) {
    FG_TRY(fg_host_stream_check(device->index, stream));
    if (bytes > 0) {
        memcpy(to, from, bytes);
    }
    return FG_STATUS_OK;
}

fg_status fg_host_stream_create(fg_device *device, fg_stream *out) {
    host_stream *stream = fg_alloc(sizeof *stream, FG_ALLOC_GENERAL);
    if (stream == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for a stream of device %d", device->index);
    }
    stream->device = device->index;
    *out = stream;
    return FG_STATUS_OK;
}

void fg_host_stream_destroy(fg_device *device, fg_stream stream) {
    (void)device;
    fg_free(stream);
}

fg_status fg_host_stream_sync(fg_device *device, fg_stream stream) {
    FG_TRY(fg_host_stream_check(device->index, stream));
    int foreign = atomic_exchange(&device->foreign_free, 0);
    if (foreign != 0) {
        return FG_FAIL(FG_STATUS_DEVICE, "memory of device %d was freed on device %d", foreign - 1,
                       device->index);
    }
    return FG_STATUS_OK;
}

fg_status fg_host_stream_delay(fg_device *device, fg_stream stream, uint32_t microseconds) {
    FG_TRY(fg_host_stream_check(device->index, stream));
    struct timespec rest = {.tv_sec = microseconds / 1000000u,
                            .tv_nsec = (long)(microseconds % 1000000u) * 1000};
    while (nanosleep(&rest, &rest) != 0) {
        // A signal cut the sleep short; `rest` holds what is left.
    }
    return FG_STATUS_OK;
}

fg_status fg_host_stream_check(int32_t index, fg_stream stream) {
    const host_stream *owned = stream;
    if (owned != NULL && owned->device != index) {
        return FG_FAIL(FG_STATUS_DEVICE, "the stream belongs to device %d, expected device %d",
                       owned->device, index);
    }
    return FG_STATUS_OK;
}

const char *fg_host_last_error(fg_device *device) {
    (void)device;
    return fg_message();
}
