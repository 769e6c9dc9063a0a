#include "conformance/executor/passes.h"
#include <string.h>

/* First basic op of the input's runs, and one past the last. */
static int32_t first_op(const fg_pass_input *in) {
    return in->run_count > 0 ? in->runs[0].first : 0;
}

static int32_t end_op(const fg_pass_input *in) {
    if (in->run_count == 0) {
        return 0;
    }
    const fg_run *last = &in->runs[in->run_count - 1];
    return last->first + last->count;
}

static fg_status pass_identity(void *user, const fg_pass_input *in, fg_run runs[FG_OP_COUNT],
                               int32_t *run_count) {
    (void)user;
    memcpy(runs, in->runs, (size_t)in->run_count * sizeof(fg_run));
    *run_count = in->run_count;
    return FG_STATUS_OK;
}

/* One run for each op, but none begins at `joined`: that op goes with the one before it. */
static void write_runs(const fg_pass_input *in, int32_t joined, fg_run runs[FG_OP_COUNT],
                       int32_t *run_count) {
    int32_t count = 0;
    for (int32_t op = first_op(in); op < end_op(in); op++) {
        if (op == joined && count > 0) {
            runs[count - 1].count++;
        } else {
            runs[count++] = (fg_run){op, 1};
        }
    }
    *run_count = count;
}

static fg_status pass_basic(void *user, const fg_pass_input *in, fg_run runs[FG_OP_COUNT],
                            int32_t *run_count) {
    (void)user;
    write_runs(in, FG_OP_COUNT, runs, run_count);
    return FG_STATUS_OK;
}

static fg_status pass_fc1_act(void *user, const fg_pass_input *in, fg_run runs[FG_OP_COUNT],
                              int32_t *run_count) {
    (void)user;
    write_runs(in, FG_OP_ACTIVATION, runs, run_count);
    return FG_STATUS_OK;
}

static fg_status pass_act_fc2(void *user, const fg_pass_input *in, fg_run runs[FG_OP_COUNT],
                              int32_t *run_count) {
    (void)user;
    write_runs(in, FG_OP_FC2, runs, run_count);
    return FG_STATUS_OK;
}

static fg_status pass_whole(void *user, const fg_pass_input *in, fg_run runs[FG_OP_COUNT],
                            int32_t *run_count) {
    (void)user;
    runs[0] = (fg_run){first_op(in), end_op(in) - first_op(in)};
    *run_count = 1;
    return FG_STATUS_OK;
}

static fg_status pass_gap(void *user, const fg_pass_input *in, fg_run runs[FG_OP_COUNT],
                          int32_t *run_count) {
    (void)user;
    write_runs(in, FG_OP_COUNT, runs, run_count);
    (*run_count)--;
    return FG_STATUS_OK;
}

static fg_status pass_overlap(void *user, const fg_pass_input *in, fg_run runs[FG_OP_COUNT],
                              int32_t *run_count) {
    (void)user;
    write_runs(in, FG_OP_ACTIVATION, runs, run_count);
    runs[*run_count - 1] = (fg_run){end_op(in) - 2, 2};
    return FG_STATUS_OK;
}

static fg_status pass_disorder(void *user, const fg_pass_input *in, fg_run runs[FG_OP_COUNT],
                               int32_t *run_count) {
    (void)user;
    write_runs(in, FG_OP_COUNT, runs, run_count);
    fg_run first = runs[0];
    runs[0] = runs[*run_count - 1];
    runs[*run_count - 1] = first;
    return FG_STATUS_OK;
}

static fg_status pass_refuse(void *user, const fg_pass_input *in, fg_run runs[FG_OP_COUNT],
                             int32_t *run_count) {
    (void)user;
    (void)runs;
    *run_count = 0;
    return FG_FAIL(FG_STATUS_UNSUPPORTED, "found %d runs, expected none: this pass takes nothing",
                   in->run_count);
}

static const struct {
    const char *name;
    fg_pass_fn pass;
} passes[] = {
    {"identity", pass_identity}, {"basic", pass_basic},       {"fc1_act", pass_fc1_act},
    {"act_fc2", pass_act_fc2},   {"whole", pass_whole},       {"gap", pass_gap},
    {"overlap", pass_overlap},   {"disorder", pass_disorder}, {"refuse", pass_refuse},
};

fg_pass_fn fg_pass_from_name(const char *name) {
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        if (strcmp(passes[i].name, name) == 0) {
            return passes[i].pass;
        }
    }
    return NULL;
}

const char *fg_pass_name(fg_pass_fn pass) {
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        if (passes[i].pass == pass) {
            return passes[i].name;
        }
    }
    return NULL;
}
