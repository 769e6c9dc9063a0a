/* A test backend: `host`, which misbehaves for some numbers of experts, so that one run shows every
 * misdeed beside cases that are right; and at its entry, when a device is opened, in its traits and
 * at the end of its process, as the environment says. It finds `host` in the worker that loads it.
 */

#include "contract/backend.h"
#include "reference/host_backend.h"
#include <fcntl.h>
#include <fenv.h>
#include <immintrin.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

fg_status fg_backend_entry(uint32_t abi, const fg_host *host, const fg_backend **out);

static fg_backend table;
static const fg_backend *right;
static int64_t latest_experts; /* of the kernel made last */

/* Whatever handler there is (a sanitizer's): the signal itself must end the process. */
static void crash(void) {
    (void)signal(SIGSEGV, SIG_DFL);
    (void)raise(SIGSEGV);
}

static void leave(void) {
    exit(7);
}

static void print(void) {
    (void)printf("a word on standard output\n");
}

static void hang(void) {
    for (;;) {
        (void)pause();
    }
}

/* Leaves CPU and process otherwise than they were. */
static void unsettle(void) {
    _mm_setcsr(_mm_getcsr() | 0x8040u);
    (void)setlocale(LC_ALL, "C.UTF-8");
    (void)signal(SIGUSR1, SIG_IGN);
    (void)!chdir("/");
}

static void complain(void) {
    (void)fprintf(stderr, "tile 3 lost its way\n");
    abort();
}

/* Writes where only the worker's answers go. */
static void answer(void) {
    static const char line[] = "{\"status\":0}\n";
    (void)!write(4, line, sizeof line - 1);
}

typedef enum moment { FORWARD, BACKWARD, CREATE, DESTROY, SUPPORTS, RELEASE } moment;

/* What happens for so many experts: a deed before the right call, or a status in its place. */
static const struct {
    int64_t experts;
    moment moment;
    void (*deed)(void);
    fg_status status;
} misdeeds[] = {
    {3, FORWARD, crash, FG_STATUS_OK},          {5, FORWARD, leave, FG_STATUS_OK},
    {6, FORWARD, print, FG_STATUS_OK},          {7, FORWARD, hang, FG_STATUS_OK},
    {9, FORWARD, unsettle, FG_STATUS_OK},       {10, FORWARD, complain, FG_STATUS_OK},
    {11, FORWARD, NULL, FG_STATUS_DEVICE_LOST}, {13, FORWARD, NULL, FG_STATUS_CRASH},
    {14, CREATE, NULL, FG_STATUS_UNSUPPORTED},  {15, SUPPORTS, NULL, FG_STATUS_UNSUPPORTED},
    {17, BACKWARD, crash, FG_STATUS_OK},        {18, SUPPORTS, crash, FG_STATUS_OK},
    {20, RELEASE, print, FG_STATUS_OK},         {21, DESTROY, crash, FG_STATUS_OK},
    {22, DESTROY, print, FG_STATUS_OK},         {23, DESTROY, hang, FG_STATUS_OK},
    {24, FORWARD, answer, FG_STATUS_OK},        {26, SUPPORTS, NULL, FG_STATUS_UNSUPPORTED},
};

static fg_status misbehave(moment now, int64_t experts) {
    for (size_t m = 0; m < sizeof misdeeds / sizeof misdeeds[0]; m++) {
        if (misdeeds[m].moment == now && misdeeds[m].experts == experts) {
            if (misdeeds[m].deed != NULL) {
                misdeeds[m].deed();
            }
            return misdeeds[m].status;
        }
    }
    return FG_STATUS_OK;
}

/* 12 experts: no memory, but only in the first process, which leaves a mark. */
static fg_status once(int64_t experts) {
    const char *mark = getenv("FUSEGATE_TEST_MARK");
    if (experts != 12 || mark == NULL) {
        return FG_STATUS_OK;
    }
    int fd = open(mark, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (fd < 0) {
        return FG_STATUS_OK;
    }
    (void)close(fd);
    return FG_STATUS_NO_MEMORY;
}

static fg_status supports(fg_device *device, const fg_problem *problem, const fg_recipe *recipe,
                          char reason[FG_REASON_SIZE]) {
    fg_status status = misbehave(SUPPORTS, problem->experts);
    if (status != FG_STATUS_OK) {
        (void)snprintf(reason, FG_REASON_SIZE, "%s",
                       problem->experts == 15 ? "fifteen experts are too many"
                                              : "caf\xe9 has 26 \x1b[1m");
        return status;
    }
    return right->supports(device, problem, recipe, reason);
}

static fg_status kernel_create(fg_device *device, const fg_problem *problem,
                               const fg_recipe *recipe, fg_kernel **out) {
    fg_status status = misbehave(CREATE, problem->experts);
    latest_experts = problem->experts;
    return status != FG_STATUS_OK ? status : right->kernel_create(device, problem, recipe, out);
}

static void kernel_destroy(fg_kernel *kernel) {
    (void)misbehave(DESTROY, latest_experts);
    right->kernel_destroy(kernel);
}

static fg_status kernel_sizes(const fg_kernel *kernel, int64_t rows, fg_kernel_sizes *out) {
    fg_status status = right->kernel_sizes(kernel, rows, out);
    out->saved = latest_experts == 25 ? (size_t)1 << 50 : out->saved;
    return status;
}

static fg_status mlp_forward(const fg_kernel *kernel, const fg_forward_args *args,
                             fg_stream stream) {
    int64_t experts = args->in->splits->dims[0];
    fg_status status = misbehave(FORWARD, experts);
    status = status != FG_STATUS_OK ? status : once(experts);
    return status != FG_STATUS_OK ? status : right->mlp_forward(kernel, args, stream);
}

static fg_status mlp_backward(const fg_kernel *kernel, const fg_backward_args *args,
                              fg_stream stream) {
    fg_status status = misbehave(BACKWARD, args->in->splits->dims[0]);
    return status != FG_STATUS_OK ? status : right->mlp_backward(kernel, args, stream);
}

static void saved_release(const fg_kernel *kernel, void *saved) {
    (void)misbehave(RELEASE, saved != NULL ? latest_experts : 0);
    if (right->saved_release != NULL) {
        right->saved_release(kernel, saved);
    }
}

/* Whether an environment variable asks for something. */
static int asked(const char *name, const char *what) {
    const char *value = getenv(name);
    return value != NULL && strcmp(value, what) == 0;
}

static fg_status device_open(int32_t index, fg_device **out) {
    if (asked("FUSEGATE_TEST_LOAD", "open")) {
        crash();
    }
    return right->device_open(index, out);
}

/* FUSEGATE_TEST_TRAIT is NAME=VALUE. */
static fg_status traits(fg_device *device, fg_traits *out) {
    const struct {
        const char *name;
        int32_t *value;
    } numbers[] = {{"memory", &out->memory},
                   {"deterministic", &out->deterministic},
                   {"base_align", &out->base_align},
                   {"row_align", &out->row_align},
                   {"segment_align", &out->segment_align},
                   {"accumulator_digits", &out->accumulator_digits},
                   {"accumulator_block", &out->accumulator_block},
                   {"operand_digits", &out->operand_digits}};
    const char *given = getenv("FUSEGATE_TEST_TRAIT");
    const char *value = given != NULL ? strchr(given, '=') : NULL;
    if (asked("FUSEGATE_TEST_LOAD", "traits")) {
        crash();
    }
    fg_status status = right->traits(device, out);
    if (value == NULL) {
        return status;
    }
    size_t length = (size_t)(value - given);
    if (strncmp(given, "activation_error", length) == 0) {
        out->activation_error = strtod(value + 1, NULL);
    } else if (strncmp(given, "rounding", length) == 0) {
        out->rounding = (uint32_t)strtoul(value + 1, NULL, 0);
    }
    for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++) {
        if (strlen(numbers[n].name) == length && strncmp(given, numbers[n].name, length) == 0) {
            *numbers[n].value = (int32_t)strtol(value + 1, NULL, 10);
        }
    }
    return status;
}

/* What FUSEGATE_TEST_EXIT asks the end of the process to be. */
__attribute__((destructor)) static void at_exit(void) {
    if (asked("FUSEGATE_TEST_EXIT", "crash")) {
        crash();
    } else if (asked("FUSEGATE_TEST_EXIT", "hang")) {
        hang();
    } else if (asked("FUSEGATE_TEST_EXIT", "print")) {
        print();
        (void)fflush(stdout);
    } else if (asked("FUSEGATE_TEST_EXIT", "code")) {
        _exit(7);
    }
}

/* What FUSEGATE_TEST_LOAD asks the entry to do. */
static fg_status load_misdeed(const char *what) {
    if (strcmp(what, "crash") == 0) {
        crash();
    } else if (strcmp(what, "hang") == 0) {
        hang();
    } else if (strcmp(what, "abi") == 0) {
        return FG_STATUS_ABI;
    } else if (strcmp(what, "hollow") == 0) {
        table.mlp_forward = NULL;
    } else if (strcmp(what, "unsettle") == 0) {
        unsettle();
    } else if (strcmp(what, "print") == 0) {
        print();
    }
    return FG_STATUS_OK;
}

fg_status fg_backend_entry(uint32_t abi, const fg_host *host, const fg_backend **out) {
    const char *what = getenv("FUSEGATE_TEST_LOAD");
    fg_status status = fg_host_backend_entry(abi, host, &right);
    if (status != FG_STATUS_OK) {
        return status;
    }
    table = *right;
    table.name = "misbehaving";
    table.device_open = device_open;
    table.traits = traits;
    table.supports = supports;
    table.kernel_destroy = kernel_destroy;
    table.kernel_sizes = kernel_sizes;
    table.kernel_create = kernel_create;
    table.mlp_forward = mlp_forward;
    table.mlp_backward = mlp_backward;
    table.saved_release = saved_release;
    *out = &table;
    return what != NULL ? load_misdeed(what) : FG_STATUS_OK;
}
