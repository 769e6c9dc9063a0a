#ifndef FG_CONFORMANCE_PROCESS_PROTOCOL_ARGS_READ_H
#define FG_CONFORMANCE_PROCESS_PROTOCOL_ARGS_READ_H

/* What conformance/process/protocol_args.h writes, read back. */

#include "conformance/process/protocol_maps.h"
#include "contract/backend.h"

enum { FG_CALL_TENSORS = 64, FG_CALL_BLOCKS = 32 };

/* Everything that the arguments of one call point to, once read. `maps` is lent. Zero it first. */
typedef struct fg_call_storage {
    const fg_maps *maps;
    fg_tensor tensors[FG_CALL_TENSORS];
    int32_t tensor_count;
    void *blocks[FG_CALL_BLOCKS];
    int32_t block_count;
    fg_inputs in;
    fg_quant quant;
    fg_forward_args forward;
    fg_backward_args backward;
} fg_call_storage;

void fg_call_storage_free(fg_call_storage *storage);

/* Readers: pointers in the result live as long as the storage and its mappings. A member that is
 * absent or null is NULL. FG_STATUS_PROTOCOL names what does not fit. */
fg_status fg_json_to_tensor(const json_t *value, const char *name, fg_call_storage *storage,
                            const fg_tensor **out);
fg_status fg_json_to_inputs(const json_t *value, fg_call_storage *storage);
fg_status fg_json_to_grads(const json_t *value, fg_call_storage *storage,
                           const fg_tensor *grads[FG_INPUT_SLOTS]);
/* saved_bytes and scratch_bytes are what the kernel says that it touches. */
fg_status fg_json_to_forward(const json_t *value, size_t saved_bytes, size_t scratch_bytes,
                             fg_call_storage *storage);
fg_status fg_json_to_backward(const json_t *value, size_t saved_bytes, size_t scratch_bytes,
                              fg_call_storage *storage);

#endif
