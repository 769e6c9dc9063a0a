#ifndef FG_CONFORMANCE_SUITES_FAULTY_EXECUTOR_H
#define FG_CONFORMANCE_SUITES_FAULTY_EXECUTOR_H

/* The fuser with one fault, chosen by number: what the checks of executors must notice. */

#include "contract/executor.h"

typedef enum fg_faulty {
    FG_FAULTY_NOTHING,
    FG_FAULTY_BUILT,          /* one plan more than built */
    FG_FAULTY_RESETS,         /* one state reset more */
    FG_FAULTY_EVICTIONS,      /* one eviction more */
    FG_FAULTY_KERNELS,        /* one kernel more than made */
    FG_FAULTY_LOOKUPS,        /* looks its stream up twice, and counts once */
    FG_FAULTY_ASKS,           /* asks which device is current, and does not count that */
    FG_FAULTY_FORWARD_LIST,   /* another forward list every time */
    FG_FAULTY_BACKWARD_LIST,  /* another backward list every time */
    FG_FAULTY_EVENTS,         /* the first two events change places */
    FG_FAULTY_LAST_EVENT,     /* the last event is missing */
    FG_FAULTY_FLAGS,          /* a no-grad call changes flags */
    FG_FAULTY_BOUNDARY,       /* every op requires a gradient */
    FG_FAULTY_NO_CONTEXT,     /* gives no context */
    FG_FAULTY_Y,              /* one bit of y is wrong */
    FG_FAULTY_Y_BEFORE,       /* writes before y */
    FG_FAULTY_Y_AFTER,        /* writes after y */
    FG_FAULTY_GRADIENT,       /* one bit of the last gradient is wrong */
    FG_FAULTY_UNASKED,        /* writes into the gradient after the last one asked for */
    FG_FAULTY_ACCEPTS,        /* takes gradient buffers that it must refuse, and does nothing */
    FG_FAULTY_INPUT,          /* a backward changes dy */
    FG_FAULTY_DEVICES,        /* takes operands on two devices, and does nothing */
    FG_FAULTY_PASSES,         /* a build that must fail does nothing instead */
    FG_FAULTY_FAIL_HOOK,      /* does not hear of builds that must fail */
    FG_FAULTY_RUNS,           /* one entry more than there is */
    FG_FAULTY_GROWS,          /* keeps some bytes of every forward */
    FG_FAULTY_STREAM,         /* uses the first stream for ever */
    FG_FAULTY_STALE,          /* an x at the same address gives the y of before */
    FG_FAULTY_POINTERS,       /* reads the inputs of its first call */
    FG_FAULTY_EARLIER,        /* changes y of the call before */
    FG_FAULTY_OTHER_EXECUTOR, /* a backward after another executor's forward is refused */
    FG_FAULTY_DEAD,           /* the process is gone at the first forward */
    FG_FAULTY_LATE,           /* a forward never answers */
    FG_FAULTY_SAME_LISTS,     /* the lists of every plan have the same numbers */
    FG_FAULTY_NO_LISTS,       /* lists have no numbers */
    FG_FAULTY_ONE_LIST,       /* a backward list has its forward list's number */
    FG_FAULTY_AGAIN,          /* a second backward of a context is wrong in one bit */
    FG_FAULTY_HOLDS,          /* every forward takes a block of the backend and keeps it */
    FG_FAULTY_ONCE,           /* the tenth forward is wrong in one bit, and no other */
    FG_FAULTY_LACKS,          /* a backward says that there is no memory */
    FG_FAULTY_NOT_GIVEN,      /* counts nothing */
    FG_FAULTY_NO_FUNCTIONS,   /* has no optional function */
    FG_FAULTY_NO_HOOK,        /* knows no hook */
} fg_faulty;

/* Chooses the fault of executors made from now on, in this process. */
void fg_faulty_choose(fg_faulty fault);

/* FG_EXECUTOR_ENTRY. */
fg_status fg_faulty_executor_entry(uint32_t abi, const fg_host *host, const fg_executor_api **out);

#endif
