#ifndef FG_CONFORMANCE_JUDGE_MLP_CALLS_H
#define FG_CONFORMANCE_JUDGE_MLP_CALLS_H

#include "conformance/process/client.h"
#include "conformance/report/result.h"
#include "conformance/tensors/tensors.h"

/* Calls of one case on a worker, each with new poison before it and every byte that it must leave
 * alone looked at after it. No judgement of numbers. */
typedef struct fg_mlp_calls {
    fg_client *client;
    const fg_case *value;
    const fg_traits *traits;
    fg_result *result;
    fg_tensors *tensors;
    int64_t kernel;
    fg_poison poison;
    fg_inputs inputs;
    int64_t device_queries;                  /* calls of host.current_device so far */
    uint64_t constants[FG_BUFFER_CONSTANTS]; /* hashes */
    uint64_t earlier[FG_BUFFERS]; /* hashes of what calls of this round left; 0: nothing yet */
} fg_mlp_calls;

/* Notes what the worker has noticed so far, so that it is not laid on this case. Returns 0, as the
 * functions below, when a verdict has been reached that ends the case: see the result. */
int fg_mlp_calls_open(fg_mlp_calls *calls);

/* Whether the worker noticed nothing beside a call's answer since the last question (standard
 * output, a changed process, a question for the current device); else the result fails. */
int fg_mlp_quiet(fg_mlp_calls *calls, const char *call);

/* Begins a round of calls with one poison; nothing of an earlier round counts any more. */
void fg_mlp_calls_begin(fg_mlp_calls *calls, fg_poison poison);

/* A forward into buffer y (FG_BUFFER_Y, _Y_NOGRAD or _OTHER_Y), with or without gradients. */
int fg_mlp_forward(fg_mlp_calls *calls, int buffer, int grad);

/* A backward of a mask into gradient buffers from `set` on (FG_BUFFER_GRAD or _FIRST). */
int fg_mlp_backward(fg_mlp_calls *calls, int set, uint32_t mask);

/* Tells the backend that saved (FG_BUFFER_SAVED or _OTHER_SAVED) will not be used again. */
int fg_mlp_release(fg_mlp_calls *calls, int saved);

/* A forward of other values in x's place, with new poison NaN; its saved is released. Then x is
 * given from elsewhere, and the place where it was goes on holding the other values, until _end.
 */
int fg_mlp_fresh_begin(fg_mlp_calls *calls, int grad);
void fg_mlp_fresh_end(fg_mlp_calls *calls);

/* Gives the result the verdict of a call that did not succeed: a dead worker, a device that has no
 * memory or is lost, or a refusal after `supports` said yes. */
void fg_mlp_refused(fg_result *result, const char *call, fg_status status);

#endif
