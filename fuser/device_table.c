#include "fuser/device_table.h"
#include "contract/alloc.h"
#include "fuser/fusion.h"

fg_status fg_device_table_init(fg_device_table *table, const fg_backend *backend) {
    *table = (fg_device_table){.backend = backend};
    if (pthread_mutex_init(&table->mutex, NULL) != 0) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no mutex, expected one");
    }
    return FG_STATUS_OK;
}

fg_fuser_device *fg_device_table_slot(const fg_device_table *table, int32_t slot) {
    return atomic_load_explicit(&table->slots[slot], memory_order_acquire);
}

void fg_device_table_release(fg_device_table *table) {
    for (int32_t slot = 0; slot < FG_DEVICE_SLOTS; slot++) {
        fg_fuser_device *device = fg_device_table_slot(table, slot);
        if (device != NULL) {
            fg_buffer_pool_release(&device->pool);
            table->backend->device_close(device->device);
            fg_free(device);
        }
    }
    pthread_mutex_destroy(&table->mutex);
}

static fg_status open_device(const fg_backend *backend, int32_t index, fg_fuser_device **out) {
    fg_fuser_device *device = fg_alloc(sizeof *device, FG_ALLOC_GENERAL);
    if (device == NULL) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected %zu bytes", sizeof *device);
    }
    device->index = index;
    device->traits.struct_size = sizeof device->traits;
    fg_status status = backend->device_open(index, &device->device);
    if (status != FG_STATUS_OK) {
        goto fail_open;
    }
    status = backend->traits(device->device, &device->traits);
    if (status != FG_STATUS_OK) {
        goto fail_traits;
    }
    status = fg_buffer_pool_init(&device->pool, backend, device->device);
    if (status != FG_STATUS_OK) {
        goto fail_traits;
    }
    *out = device;
    return FG_STATUS_OK;
fail_traits:
    backend->device_close(device->device);
fail_open:
    fg_free(device);
    return fg_trace(status, "open_device", __FILE__, __LINE__);
}

fg_status fg_device_table_get(fg_device_table *table, int32_t index, fg_fuser_device **out) {
    if (index < -1 || index >= FG_DEVICE_SLOTS - 1) {
        return FG_FAIL(FG_STATUS_DEVICE, "found device %d, expected -1 to %d", index,
                       FG_DEVICE_SLOTS - 2);
    }
    fg_status status = FG_STATUS_OK;
    fg_fuser_device *device = fg_device_table_slot(table, index + 1);
    if (device == NULL) {
        pthread_mutex_lock(&table->mutex);
        device = fg_device_table_slot(table, index + 1);
        if (device == NULL) {
            status = open_device(table->backend, index, &device);
        }
        if (status == FG_STATUS_OK) {
            atomic_store_explicit(&table->slots[index + 1], device, memory_order_release);
        }
        pthread_mutex_unlock(&table->mutex);
    }
    if (status == FG_STATUS_OK) {
        *out = device;
    }
    return status;
}

fg_problem fg_problem_of_run(const fg_problem *problem, int32_t first, int32_t count) {
    fg_problem out = *problem;
    out.first_op = problem->first_op + first;
    out.op_count = count;
    return out;
}

fg_status fg_device_claims(const fg_device_table *table, const fg_fuser_device *device,
                           const fg_problem *problem, const fg_recipe *recipe, uint32_t *out) {
    *out = 0;
    for (int32_t first = 0; first < problem->op_count; first++) {
        for (int32_t count = 1; count <= problem->op_count - first; count++) {
            char reason[FG_REASON_SIZE] = {0};
            fg_problem run = fg_problem_of_run(problem, first, count);
            fg_status status = table->backend->supports(device->device, &run, recipe, reason);
            if (status == FG_STATUS_OK) {
                *out |= fg_run_claim((fg_run){first, count});
            } else if (status != FG_STATUS_UNSUPPORTED) {
                return fg_trace(status, "supports", __FILE__, __LINE__);
            }
        }
    }
    return FG_STATUS_OK;
}
