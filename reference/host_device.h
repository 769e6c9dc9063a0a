#ifndef FG_REFERENCE_HOST_DEVICE_H
#define FG_REFERENCE_HOST_DEVICE_H

/* Two simulated devices in host memory, for every backend of this folder: the device, memory and
 * stream functions of contract/backend.h, to be put into a backend's table as they are.
 *
 * Work runs at the call, on the caller's thread: every stream is ordered, and ordered with every
 * other. Streams and memory belong to the device that made them. Index -1 is device 0. */

#include "contract/backend.h"

#define FG_HOST_DEVICES 2

/* Folds -1 to 0; other indices stay. */
int32_t fg_host_device_fold(int32_t index);

/* Index of an open device, 0 or 1. */
int32_t fg_host_device_index(const fg_device *device);

fg_status fg_host_device_open(int32_t index, fg_device **out);
void fg_host_device_close(fg_device *device);

/* Memory that remembers its device. Freeing it on another one frees nothing, and is an error
 * (FG_STATUS_DEVICE) at the next stream_sync there. */
fg_status fg_host_mem_alloc(fg_device *device, size_t bytes, void **out);
void fg_host_mem_free(fg_device *device, void *pointer);
fg_status fg_host_mem_fill32(fg_device *device, void *to, uint32_t pattern, size_t words,
                             fg_stream stream);
/* Both copy_in and copy_out. */
fg_status fg_host_copy(fg_device *device, void *to, const void *from, size_t bytes,
                       fg_stream stream);

fg_status fg_host_stream_create(fg_device *device, fg_stream *out);
void fg_host_stream_destroy(fg_device *device, fg_stream stream);
fg_status fg_host_stream_sync(fg_device *device, fg_stream stream);
fg_status fg_host_stream_delay(fg_device *device, fg_stream stream, uint32_t microseconds);

/* Checks that a stream (NULL: the default one of any device) belongs to device `index`;
 * FG_STATUS_DEVICE names both. */
fg_status fg_host_stream_check(int32_t index, fg_stream stream);

/* This thread's last message. */
const char *fg_host_last_error(fg_device *device);

#endif
