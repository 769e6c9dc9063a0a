#ifndef FG_CONFORMANCE_PROCESS_PROTOCOL_ARGS_H
#define FG_CONFORMANCE_PROCESS_PROTOCOL_ARGS_H

/* Tensors and the arguments of calls as JSON. A tensor is
 *   {"type":"bf16","shape":[..],"strides":[..],"device":-1,"at":{"map":PATH,"offset":N}}
 * and a tensor of addresses (one for each expert) has "pointers":[place, ..] in place of "at".
 * Host splits travel as numbers. */

#include "conformance/process/protocol_maps.h"
#include "contract/backend.h"

/* Names of the roles of a recipe, by FG_ROLE_*. */
extern const char *const fg_role_names[FG_ROLES];

/* Writers: the caller releases *out. FG_STATUS_INVALID for a pointer that is not shared. */
fg_status fg_json_from_tensor(const fg_maps *maps, const char *name, const fg_tensor *tensor,
                              json_t **out);
fg_status fg_json_from_inputs(const fg_maps *maps, const fg_inputs *in, json_t **out);
fg_status fg_json_from_grads(const fg_maps *maps, const fg_tensor *const grads[FG_INPUT_SLOTS],
                             json_t **out);
fg_status fg_json_from_forward(const fg_maps *maps, const fg_forward_args *args, json_t **out);
fg_status fg_json_from_backward(const fg_maps *maps, const fg_backward_args *args, json_t **out);

#endif
