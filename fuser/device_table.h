#ifndef FG_FUSER_DEVICE_TABLE_H
#define FG_FUSER_DEVICE_TABLE_H

#include "fuser/buffer_pool.h"
#include <stdatomic.h>

#define FG_DEVICE_SLOTS 32 /* device indices -1 .. 30 */

/* A device as the fuser holds it from its first call there until the fuser ends. */
typedef struct fg_fuser_device {
    int32_t index;
    fg_device *device;
    fg_traits traits;
    fg_buffer_pool pool;
} fg_fuser_device;

typedef struct fg_device_table {
    const fg_backend *backend;
    pthread_mutex_t mutex; /* taken to open a device, make a kernel or a recipe's device state */
    _Atomic(fg_fuser_device *) slots[FG_DEVICE_SLOTS];
    atomic_llong kernels_created;
} fg_device_table;

fg_status fg_device_table_init(fg_device_table *table, const fg_backend *backend);
void fg_device_table_release(fg_device_table *table);

/* Finds a device, opening it at the first call; FG_STATUS_DEVICE names one that does not exist. */
fg_status fg_device_table_get(fg_device_table *table, int32_t index, fg_fuser_device **out);

/* A device that was opened, by index + 1, or NULL. */
fg_fuser_device *fg_device_table_slot(const fg_device_table *table, int32_t slot);

/* Asks the backend which runs of the problem's basic ops it does under a recipe (fg_run_claim). A
 * refusal is no error; anything else is. */
fg_status fg_device_claims(const fg_device_table *table, const fg_fuser_device *device,
                           const fg_problem *problem, const fg_recipe *recipe, uint32_t *out);

/* The problem of a run of the problem's basic ops. */
fg_problem fg_problem_of_run(const fg_problem *problem, int32_t first, int32_t count);

#endif
