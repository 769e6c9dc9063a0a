#ifndef FG_CONFORMANCE_SUITES_ABI_BATTERY_H
#define FG_CONFORMANCE_SUITES_ABI_BATTERY_H

/* What the functions of any backend on the simulated devices honour, numbers aside; one property
 * each, for suites to call. A backend that breaks it ends the test. */

#include "contract/backend.h"

/* Another version is refused with FG_STATUS_ABI; every required function is there. */
void fg_battery_abi(fg_backend_entry_fn entry);

/* Refused before anything is allocated, with a reason that names it: recipes, I/O type f64, weight
 * pointers, weight order io. */
void fg_battery_refusals(fg_backend_entry_fn entry);

/* A struct_size of an older build: no byte past it is read or written. */
void fg_battery_old_structs(fg_backend_entry_fn entry);

/* Wrong type, extent, stride, device, alignment or no pointer, for each tensor of a call in turn:
 * the status, and a message that names the tensor. */
void fg_battery_tensors(fg_backend_entry_fn entry);

/* Negative splits and splits past T. */
void fg_battery_splits(fg_backend_entry_fn entry);

/* An output on another tensor's memory. */
void fg_battery_aliases(fg_backend_entry_fn entry);

/* Mask and accumulate bits that the problem does not have. */
void fg_battery_mask_bits(fg_backend_entry_fn entry);

/* saved and scratch missing or not aligned. */
void fg_battery_buffers(fg_backend_entry_fn entry);

/* Row counts and shapes whose products pass 64 bits. */
void fg_battery_overflow(fg_backend_entry_fn entry);

/* Devices -1, 0 and 1 exist and no others; kernels take their own device's tensors and streams
 * only; memory freed on the wrong device is told at stream_sync. */
void fg_battery_devices(fg_backend_entry_fn entry);
void fg_battery_streams(fg_backend_entry_fn entry);
void fg_battery_memory_devices(fg_backend_entry_fn entry);

/* fill32 and copies move every byte asked for and none more. */
void fg_battery_memory(fg_backend_entry_fn entry);

/* A delay lasts. */
void fg_battery_delay(fg_backend_entry_fn entry);

/* The current device is never asked for; calls allocate nothing; a failed allocation comes back as
 * FG_STATUS_NO_MEMORY. */
void fg_battery_current_device(fg_backend_entry_fn entry);
void fg_battery_no_allocation(fg_backend_entry_fn entry);
void fg_battery_no_memory(fg_backend_entry_fn entry);

/* What is opened, created and allocated is given back; destroying nothing is allowed. */
void fg_battery_gives_back(fg_backend_entry_fn entry);

/* last_error is the text of this thread's last failure. */
void fg_battery_last_error(fg_backend_entry_fn entry);

#endif
