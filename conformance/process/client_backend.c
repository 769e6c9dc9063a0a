#include "conformance/process/client_call.h"
#include "conformance/process/protocol_args.h"
#include "conformance/process/protocol_fields.h"

#include <stdatomic.h>
#include <stdio.h>

static json_t *problem_request(const char *name, int32_t device, const fg_problem *problem,
                               const fg_recipe *recipe) {
    int failed = 0;
    json_t *request = fg_client_request(name);
    fg_client_put(request, "device", json_integer(device), &failed);
    fg_client_put(request, "problem", fg_json_from_struct(&fg_problem_fields, problem), &failed);
    fg_client_put(request, "recipe", fg_json_from_struct(&fg_recipe_fields, recipe), &failed);
    return fg_client_whole(request, failed);
}

static json_t *kernel_request(const char *name, int64_t kernel) {
    return json_pack("{s:s, s:I}", "call", name, "kernel", (json_int_t)kernel);
}

static json_t *device_request(const char *name, int32_t device) {
    return json_pack("{s:s, s:i}", "call", name, "device", (int)device);
}

/* Opens a device, and asks its traits, in calls of their own, so that one that does not come back
 * is told by its name. */
static fg_status device_ready(fg_client *client, int32_t device) {
    uint64_t bit = device >= -1 && device < 63 ? UINT64_C(1) << (device + 1) : 0;
    if ((client->opened & bit) != 0) {
        return FG_STATUS_OK;
    }
    FG_TRY(fg_client_call(client, device_request("device_open", device), NULL));
    FG_TRY(fg_client_call(client, device_request("traits", device), NULL));
    (void)atomic_fetch_or(&client->opened, bit);
    return FG_STATUS_OK;
}

fg_status fg_client_traits(fg_client *client, int32_t device, fg_traits *out) {
    json_t *reply = NULL;
    FG_TRY(device_ready(client, device));
    FG_TRY(fg_client_call(client, device_request("traits", device), &reply));
    return fg_client_reply_struct(reply, "traits", &fg_traits_fields, out);
}

fg_status fg_client_supports(fg_client *client, int32_t device, const fg_problem *problem,
                             const fg_recipe *recipe, char reason[FG_REASON_SIZE]) {
    reason[0] = '\0';
    FG_TRY(device_ready(client, device));
    fg_status status =
        fg_client_call(client, problem_request("supports", device, problem, recipe), NULL);
    if (status == FG_STATUS_UNSUPPORTED) {
        (void)snprintf(reason, FG_REASON_SIZE, "%s", fg_message());
    }
    return status;
}

fg_status fg_client_kernel_create(fg_client *client, int32_t device, const fg_problem *problem,
                                  const fg_recipe *recipe, int64_t *kernel) {
    json_t *reply = NULL;
    FG_TRY(device_ready(client, device));
    FG_TRY(
        fg_client_call(client, problem_request("kernel_create", device, problem, recipe), &reply));
    return fg_client_reply_integer(reply, "kernel", kernel);
}

fg_status fg_client_kernel_destroy(fg_client *client, int64_t kernel) {
    return fg_client_call(client, kernel_request("kernel_destroy", kernel), NULL);
}

fg_status fg_client_kernel_sizes(fg_client *client, int64_t kernel, int64_t rows,
                                 fg_kernel_sizes *out) {
    json_t *reply = NULL;
    json_t *request = json_pack("{s:s, s:I, s:I}", "call", "kernel_sizes", "kernel",
                                (json_int_t)kernel, "rows", (json_int_t)rows);
    FG_TRY(fg_client_call(client, request, &reply));
    return fg_client_reply_struct(reply, "sizes", &fg_kernel_sizes_fields, out);
}

/* Sends a call of a kernel with its arguments, which are taken. */
static fg_status kernel_call(fg_client *client, const char *name, int64_t kernel, json_t *args) {
    int failed = 0;
    json_t *request = kernel_request(name, kernel);
    fg_client_put(request, "args", args, &failed);
    return fg_client_call(client, fg_client_whole(request, failed), NULL);
}

fg_status fg_client_forward(fg_client *client, int64_t kernel, const fg_forward_args *args) {
    json_t *value = NULL;
    FG_TRY(fg_json_from_forward(&client->maps, args, &value));
    return kernel_call(client, "mlp_forward", kernel, value);
}

fg_status fg_client_backward(fg_client *client, int64_t kernel, const fg_backward_args *args) {
    json_t *value = NULL;
    FG_TRY(fg_json_from_backward(&client->maps, args, &value));
    return kernel_call(client, "mlp_backward", kernel, value);
}

fg_status fg_client_saved_release(fg_client *client, int64_t kernel, void *saved) {
    json_t *place = NULL;
    int failed = 0;
    FG_TRY(fg_json_from_address(&client->maps, "saved", saved, 0, &place));
    json_t *request = kernel_request("saved_release", kernel);
    fg_client_put(request, "saved", place, &failed);
    return fg_client_call(client, fg_client_whole(request, failed), NULL);
}

fg_status fg_client_outside(fg_client *client, fg_outside_counts *out) {
    json_t *reply = NULL;
    FG_TRY(fg_client_call(client, fg_client_request("outside"), &reply));
    return fg_client_reply_struct(reply, "counts", &fg_outside_fields, out);
}
