/* The fuser with one trouble, named by FUSEGATE_TEST_TROUBLE: what an executor does to its process,
 * or answers after `create` said OK. */

#include "fuser/fuser_executor.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const fg_executor_api *whole; /* the fuser's functions, set by the entry */
static fg_executor_api troubled;

static int has(const char *trouble) {
    const char *chosen = getenv("FUSEGATE_TEST_TROUBLE");
    return chosen != NULL && strcmp(chosen, trouble) == 0;
}

static fg_status create(const fg_problem *problem, const fg_executor_options *options,
                        fg_executor **out) {
    return has("claims nothing") ? FG_STATUS_UNSUPPORTED : whole->create(problem, options, out);
}

static fg_status forward(fg_executor *executor, int32_t mode, const fg_recipe *recipe,
                         uint32_t requires, const fg_inputs *inputs, const fg_tensor *y,
                         const fg_token *token_in, fg_token **token_out, fg_context **context) {
    if (has("prints")) {
        (void)!write(STDOUT_FILENO, "hello", 5);
    }
    if (has("moves")) {
        (void)!chdir("/");
    }
    if (has("refuses")) {
        return FG_STATUS_UNSUPPORTED;
    }
    if (has("builds nothing")) {
        return FG_STATUS_BUILD;
    }
    return whole->forward(executor, mode, recipe, requires, inputs, y, token_in, token_out,
                          context);
}

static fg_status backward(fg_executor *executor, fg_context *context, const fg_tensor *dy,
                          const fg_tensor *const grads[FG_INPUT_SLOTS], uint32_t accumulate) {
    return has("lacks memory") ? FG_STATUS_NO_MEMORY
                               : whole->backward(executor, context, dy, grads, accumulate);
}

static void destroy(fg_executor *executor) {
    if (has("dies")) {
        (void)raise(SIGKILL);
    }
    whole->destroy(executor);
}

static int32_t events(const fg_executor *executor, fg_event *out, int32_t capacity) {
    if (has("hangs")) {
        (void)sleep(60);
    }
    return whole->events(executor, out, capacity);
}

fg_status fg_executor_entry(uint32_t abi, const fg_host *host, const fg_executor_api **out);

fg_status fg_executor_entry(uint32_t abi, const fg_host *host, const fg_executor_api **out) {
    FG_TRY(fg_fuser_executor_entry(abi, host, &whole));
    troubled = *whole;
    troubled.name = "troubled_executor";
    troubled.create = create;
    troubled.forward = forward;
    troubled.backward = backward;
    troubled.destroy = destroy;
    troubled.events = events;
    *out = &troubled;
    return FG_STATUS_OK;
}
