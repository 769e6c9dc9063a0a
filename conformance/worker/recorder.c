#include "conformance/worker/recorder.h"
#include "contract/alloc.h"
#include "reference/reference_backend.h"
#include <pthread.h>
#include <string.h>

/* Objects of `reference`, each behind one of ours; both sides call theirs fg_device, fg_kernel. */
struct fg_device {
    fg_device *inner;
    int32_t index;
};

struct fg_kernel {
    fg_kernel *inner;
    int64_t serial;
    int32_t device, first_op, op_count;
    fg_recipe recipe;
};

typedef struct recorder_stream {
    fg_stream inner;
    int64_t serial;
    int seen;
} recorder_stream;

#define RECORDED 64
#define DEVICES 2

/* A backend entry has no object of the caller's to keep these in: one log for the process. */
static struct {
    pthread_mutex_t lock;
    const fg_backend *inner;
    int64_t kernels_created, kernels_destroyed, forwards, backwards, saving_forwards;
    int64_t streams_created, streams_seen;
    int64_t last_forward_kernel, last_backward_kernel;
    int64_t blocks_live;
    uint32_t last_mask;
    fg_recorded log[RECORDED];
    int64_t logged;
} recorder = {.lock = PTHREAD_MUTEX_INITIALIZER};

void fg_recorder_counts(fg_outside_counts *out) {
    pthread_mutex_lock(&recorder.lock);
    out->kernels_created = recorder.kernels_created;
    out->kernels_destroyed = recorder.kernels_destroyed;
    out->forwards = recorder.forwards;
    out->backwards = recorder.backwards;
    out->last_mask = recorder.last_mask;
    out->saving_forwards = recorder.saving_forwards;
    out->streams_seen = recorder.streams_seen;
    out->last_forward_kernel = recorder.last_forward_kernel;
    out->last_backward_kernel = recorder.last_backward_kernel;
    out->blocks_live = recorder.blocks_live;
    pthread_mutex_unlock(&recorder.lock);
}

int32_t fg_recorder_log(fg_recorded *out, int32_t capacity) {
    pthread_mutex_lock(&recorder.lock);
    int64_t count = recorder.logged < RECORDED ? recorder.logged : RECORDED;
    count = count < capacity ? count : capacity;
    for (int64_t i = 0; i < count; i++) {
        out[i] = recorder.log[(recorder.logged - count + i) % RECORDED];
    }
    pthread_mutex_unlock(&recorder.lock);
    return (int32_t)count;
}

/* The caller holds the lock. */
static fg_recorded *next_entry(const fg_kernel *kernel, int32_t what) {
    fg_recorded *entry = &recorder.log[recorder.logged++ % RECORDED];
    *entry = (fg_recorded){.what = what,
                           .device = kernel->device,
                           .first_op = kernel->first_op,
                           .op_count = kernel->op_count,
                           .kernel = kernel->serial,
                           .recipe = kernel->recipe};
    return entry;
}

static void record_call(fg_recorded *entry, recorder_stream *stream, const fg_quant *quant) {
    if (stream) {
        recorder.streams_seen += !stream->seen;
        stream->seen = 1;
        entry->stream = stream->serial;
    }
    for (int role = 0; quant && role < FG_ROLE_SLOTS; role++) {
        if (quant->scale[role] && quant->scale[role]->data) {
            memcpy(&entry->scale[role], quant->scale[role]->data, sizeof(float));
        }
    }
}

static fg_stream inner_stream(fg_stream stream) {
    return stream ? ((recorder_stream *)stream)->inner : NULL;
}

static fg_status device_open(int32_t index, fg_device **out) {
    if (index < -1 || index >= DEVICES) {
        return FG_FAIL(FG_STATUS_DEVICE, "found device %d, expected -1..%d", index, DEVICES - 1);
    }
    fg_device *device = fg_alloc(sizeof *device, FG_ALLOC_GENERAL);
    if (!device) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected %zu bytes", sizeof *device);
    }
    device->index = index;
    fg_status status = recorder.inner->device_open(index, &device->inner);
    if (status) {
        fg_free(device);
        return status;
    }
    *out = device;
    return FG_STATUS_OK;
}

static void device_close(fg_device *device) {
    if (device) {
        recorder.inner->device_close(device->inner);
        fg_free(device);
    }
}

static fg_status traits(fg_device *device, fg_traits *out) {
    return recorder.inner->traits(device->inner, out);
}

static fg_status supports(fg_device *device, const fg_problem *problem, const fg_recipe *recipe,
                          char reason[FG_REASON_SIZE]) {
    FG_TRY(fg_recipe_check(recipe));
    fg_recipe none = fg_recipe_default(FG_RECIPE_NONE);
    return recorder.inner->supports(device->inner, problem, &none, reason);
}

static void count_block(int64_t more) {
    pthread_mutex_lock(&recorder.lock);
    recorder.blocks_live += more;
    pthread_mutex_unlock(&recorder.lock);
}

static fg_status mem_alloc(fg_device *device, size_t bytes, void **out) {
    FG_TRY(recorder.inner->mem_alloc(device->inner, bytes, out));
    count_block(*out != NULL);
    return FG_STATUS_OK;
}

static void mem_free(fg_device *device, void *pointer) {
    recorder.inner->mem_free(device->inner, pointer);
    count_block(pointer ? -1 : 0);
}

static fg_status mem_fill32(fg_device *device, void *to, uint32_t pattern, size_t words,
                            fg_stream stream) {
    return recorder.inner->mem_fill32(device->inner, to, pattern, words, inner_stream(stream));
}

static fg_status copy_in(fg_device *device, void *to, const void *from, size_t bytes,
                         fg_stream stream) {
    return recorder.inner->copy_in(device->inner, to, from, bytes, inner_stream(stream));
}

static fg_status copy_out(fg_device *device, void *to, const void *from, size_t bytes,
                          fg_stream stream) {
    return recorder.inner->copy_out(device->inner, to, from, bytes, inner_stream(stream));
}

static fg_status stream_create(fg_device *device, fg_stream *out) {
    recorder_stream *stream = fg_alloc(sizeof *stream, FG_ALLOC_GENERAL);
    if (!stream) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected %zu bytes", sizeof *stream);
    }
    fg_status status = recorder.inner->stream_create(device->inner, &stream->inner);
    if (status) {
        fg_free(stream);
        return status;
    }
    pthread_mutex_lock(&recorder.lock);
    stream->serial = ++recorder.streams_created;
    pthread_mutex_unlock(&recorder.lock);
    *out = stream;
    return FG_STATUS_OK;
}

static void stream_destroy(fg_device *device, fg_stream stream) {
    if (stream) {
        recorder.inner->stream_destroy(device->inner, inner_stream(stream));
        fg_free(stream);
    }
}

static fg_status stream_sync(fg_device *device, fg_stream stream) {
    return recorder.inner->stream_sync(device->inner, inner_stream(stream));
}

static fg_status kernel_create(fg_device *device, const fg_problem *problem,
                               const fg_recipe *recipe, fg_kernel **out) {
    FG_TRY(fg_recipe_check(recipe));
    fg_kernel *kernel = fg_alloc(sizeof *kernel, FG_ALLOC_PLAN);
    if (!kernel) {
        return FG_FAIL(FG_STATUS_NO_MEMORY, "found no memory, expected %zu bytes", sizeof *kernel);
    }
    fg_recipe none = fg_recipe_default(FG_RECIPE_NONE);
    fg_status status = recorder.inner->kernel_create(device->inner, problem, &none, &kernel->inner);
    if (status) {
        fg_free(kernel);
        return status;
    }
    kernel->device = device->index;
    kernel->first_op = problem->first_op;
    kernel->op_count = problem->op_count;
    kernel->recipe = *recipe;
    pthread_mutex_lock(&recorder.lock);
    kernel->serial = ++recorder.kernels_created;
    next_entry(kernel, FG_RECORDED_CREATE);
    pthread_mutex_unlock(&recorder.lock);
    *out = kernel;
    return FG_STATUS_OK;
}

static void kernel_destroy(fg_kernel *kernel) {
    if (kernel) {
        recorder.inner->kernel_destroy(kernel->inner);
        fg_free(kernel);
        pthread_mutex_lock(&recorder.lock);
        recorder.kernels_destroyed++;
        pthread_mutex_unlock(&recorder.lock);
    }
}

static fg_status kernel_sizes(const fg_kernel *kernel, int64_t rows, fg_kernel_sizes *out) {
    return recorder.inner->kernel_sizes(kernel->inner, rows, out);
}

static fg_status mlp_forward(const fg_kernel *kernel, const fg_forward_args *args,
                             fg_stream stream) {
    pthread_mutex_lock(&recorder.lock);
    fg_recorded *entry = next_entry(kernel, FG_RECORDED_FORWARD);
    record_call(entry, stream, args->quant);
    entry->saving = args->saved != NULL;
    recorder.forwards++;
    recorder.saving_forwards += entry->saving;
    recorder.last_forward_kernel = kernel->serial;
    pthread_mutex_unlock(&recorder.lock);
    fg_forward_args plain = *args;
    plain.quant = NULL;
    return recorder.inner->mlp_forward(kernel->inner, &plain, inner_stream(stream));
}

static fg_status mlp_backward(const fg_kernel *kernel, const fg_backward_args *args,
                              fg_stream stream) {
    uint32_t inputs = FG_BIT(FG_INPUTS) - 1u;
    pthread_mutex_lock(&recorder.lock);
    fg_recorded *entry = next_entry(kernel, FG_RECORDED_BACKWARD);
    record_call(entry, stream, args->quant);
    entry->mask = args->mask;
    recorder.backwards++;
    recorder.last_backward_kernel = kernel->serial;
    // A backward of several runs begins with the one that ends with FC2.
    if (kernel->first_op + kernel->op_count == FG_OP_COUNT) {
        recorder.last_mask = 0;
    }
    recorder.last_mask |= args->mask & inputs;
    pthread_mutex_unlock(&recorder.lock);
    fg_backward_args plain = *args;
    plain.quant = NULL;
    return recorder.inner->mlp_backward(kernel->inner, &plain, inner_stream(stream));
}

static const char *last_error(fg_device *device) {
    return recorder.inner->last_error(device->inner);
}

static const fg_backend recorder_backend = {
    .struct_size = sizeof(fg_backend),
    .name = "recorder",
    .device_open = device_open,
    .device_close = device_close,
    .traits = traits,
    .supports = supports,
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .mem_fill32 = mem_fill32,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_sync = stream_sync,
    .kernel_create = kernel_create,
    .kernel_destroy = kernel_destroy,
    .kernel_sizes = kernel_sizes,
    .mlp_forward = mlp_forward,
    .mlp_backward = mlp_backward,
    .last_error = last_error,
};

fg_status fg_recorder_backend_entry(uint32_t abi, const fg_host *host, const fg_backend **out) {
    const fg_backend *inner = NULL;
    FG_TRY(fg_reference_backend_entry(abi, host, &inner));
    pthread_mutex_lock(&recorder.lock);
    recorder.inner = inner;
    pthread_mutex_unlock(&recorder.lock);
    *out = &recorder_backend;
    return FG_STATUS_OK;
}
