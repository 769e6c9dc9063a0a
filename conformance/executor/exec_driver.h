#ifndef FG_CONFORMANCE_EXECUTOR_EXEC_DRIVER_H
#define FG_CONFORMANCE_EXECUTOR_EXEC_DRIVER_H

/* Does actions to an executor and to the model beside it, and notes the first thing that a right
 * executor would have done otherwise. */

#include "conformance/case/action.h"
#include "conformance/executor/exec_data.h"
#include "conformance/executor/executor_model.h"
#include "conformance/report/result.h"

/* What is looked at after each call. Values: y and gradients against `expected`. */
enum {
    FG_WATCH_COUNTS = 1 << 0,
    FG_WATCH_LISTS = 1 << 1,  /* a hit gives the lists that its build gave */
    FG_WATCH_EVENTS = 1 << 2, /* order of events */
    FG_WATCH_FLAGS = 1 << 3,  /* gradient flags and contexts follow the boundary */
    FG_WATCH_VALUES = 1 << 4,
    FG_WATCH_OUTSIDE = 1 << 5, /* masks and kernels that the recorder saw */
    FG_WATCH_LAUNCH = 1 << 6,  /* stream look-ups and current-device queries, from outside */
    FG_WATCH_ALL = (1 << 7) - 1,
};

#define FG_DRIVER_CONTEXTS 48

/* A forward whose context is still there. */
typedef struct fg_driver_context {
    fg_context *context;
    fg_exec_data *data;
    fg_exec_out *out;
    const fg_exec_out *expected;
    uint32_t requires;
    int32_t device;
    int64_t kernel; /* that the recorder saw, FG_NOT_GIVEN when it may be several */
} fg_driver_context;

typedef struct fg_driver {
    fg_exec_env *env;
    fg_executor *executor;
    fg_exec_data *data;
    fg_exec_out *out;            /* of the last call */
    const fg_exec_out *expected; /* y and every gradient, or NULL: no values */
    uint32_t watch;
    fg_model model;
    fg_model_call call; /* what the model says of the last forward */
    fg_recipe recipe;
    int32_t
        tokens; /* 1: a no-grad forward gives a token, the next forward with gradients takes it */
    fg_token *token;
    fg_recipe *objects; /* [3], a new object for each call */
    int64_t calls;
    uint32_t requires;
    int32_t device;
    fg_driver_context contexts[FG_DRIVER_CONTEXTS];
    int32_t context_count;
    uint32_t flags[FG_OP_COUNT]; /* of the last forward with a context */
    int32_t flags_known;
    int32_t expected_off; /* 1: passes changed the entries, values may differ in their last bits */
    int64_t *ids;         /* serial numbers of lists that this executor has given, [id_count] */
    int64_t id_count, id_capacity;
    int64_t compared, owed;   /* elements whose bits were looked at, that should have been */
    fg_outside_counts before; /* outside counts when the executor was made */
    fg_fault fault;
    fg_status status;  /* of the executor's function that failed */
    char failure[192]; /* "" while nothing is wrong */
} fg_driver;

/* Makes an executor on the environment, with recipe none and every gradient wanted. Data, out and
 * expected stay the caller's and outlive the driver. */
fg_status fg_driver_open(fg_exec_env *env, fg_exec_data *data, fg_exec_out *out,
                         const fg_exec_out *expected, fg_driver *driver);
void fg_driver_close(fg_driver *driver);

/* Goes on with other tensors of the same problem; contexts keep those of their forward. */
void fg_driver_use(fg_driver *driver, fg_exec_data *data, fg_exec_out *out,
                   const fg_exec_out *expected);

/* Does one action. A wrong answer of the executor (a dead worker too) is noted in `failure`, after
 * which actions do nothing; a status says that this side cannot go on, FG_STATUS_UNSUPPORTED that
 * the executor lacks an optional function. */
fg_status fg_driver_do(fg_driver *driver, const fg_action *action);

/* Does actions in order, and a text of actions. */
fg_status fg_driver_run(fg_driver *driver, const fg_action *actions, int32_t count);
fg_status fg_driver_text(fg_driver *driver, const char *actions);

/* Does another backward of the newest context, into `out`, and notes what is wrong with it. */
void fg_driver_again(fg_driver *driver, fg_exec_out *out);

/* Runs one grad forward and backward of `requires` on a new executor that did `setup` first. When
 * the executor fails, env->refused says how and its status is returned; else that is OK, and a
 * status returned is this side's. */
fg_status fg_exec_fresh(fg_exec_env *env, fg_exec_data *data, const char *setup, uint32_t requires,
                        fg_exec_out *out);

/* Gradients that a backward of this problem adds to. */
uint32_t fg_exec_accumulate(const fg_problem *problem, uint32_t requires);

/* Kind of the failure that a status of an executor's call stands for. */
fg_fault fg_exec_fault(fg_status status);

#endif
