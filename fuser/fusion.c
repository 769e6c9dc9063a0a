#include "fuser/fusion.h"
#include <stdio.h>
#include <string.h>

static const char *const kind_names[] = {"joint", "forward", "backward"};

uint32_t fg_run_claim(fg_run run) {
    return FG_BIT(3 * run.first + run.count - 1);
}

/* The built-in pass: one entry for the whole run when the backend does it. */
static fg_status pass_whole_run(void *user, const fg_pass_input *in, fg_run runs[FG_OP_COUNT],
                                int32_t *run_count) {
    (void)user;
    const fg_run *last = &in->runs[in->run_count - 1];
    fg_run whole = {0, last->first + last->count};
    if (in->claimed & fg_run_claim(whole)) {
        runs[0] = whole;
        *run_count = 1;
        return FG_STATUS_OK;
    }
    memcpy(runs, in->runs, sizeof in->runs);
    *run_count = in->run_count;
    return FG_STATUS_OK;
}

void fg_fusion_init(fg_fusion *fusion, int32_t unfused) {
    *fusion = (fg_fusion){0};
    if (!unfused) {
        fusion->passes[fusion->count++].pass = pass_whole_run;
    }
}

fg_status fg_fusion_add(fg_fusion *fusion, int32_t kind, fg_pass_fn pass, void *user) {
    if (kind < FG_PASS_JOINT || kind > FG_PASS_BACKWARD || pass == NULL) {
        return FG_FAIL(FG_STATUS_INVALID, "found pass kind %d%s, expected 0 to 2 and a function",
                       kind, pass == NULL ? " without a function" : "");
    }
    if (fusion->count == FG_FUSION_PASSES) {
        return FG_FAIL(FG_STATUS_OVERFLOW, "found one fusion pass more than the %d that fit",
                       FG_FUSION_PASSES);
    }
    fusion->passes[fusion->count].kind = kind;
    fusion->passes[fusion->count].pass = pass;
    fusion->passes[fusion->count].user = user;
    fusion->count++;
    return FG_STATUS_OK;
}

char *fg_run_list_text(const fg_run_list *list, char *text, size_t size) {
    size_t at = 0;
    text[0] = '\0';
    for (int32_t i = 0; i < list->count && i < FG_OP_COUNT && at < size; i++) {
        const fg_run *run = &list->runs[i];
        const long long last = (long long)run->first + run->count - 1; // a pass may say anything
        int wrote =
            snprintf(text + at, size - at, "%s%d..%lld", i > 0 ? " " : "", run->first, last);
        at += wrote > 0 ? (size_t)wrote : 0;
    }
    return text;
}

/* Whether the runs hold ops 0..ops-1, each once, in order. */
static int covers(const fg_run_list *list, int32_t ops) {
    int32_t next = 0;
    if (list->count < 1 || list->count > ops) {
        return 0;
    }
    for (int32_t i = 0; i < list->count; i++) {
        const fg_run *run = &list->runs[i];
        if (run->first != next || run->count < 1 || run->count > ops - next) {
            return 0;
        }
        next += run->count;
    }
    return next == ops;
}

/* Applies every pass of one kind to `list`, in place. */
static fg_status apply_kind(const fg_fusion *fusion, int32_t kind, const fg_pass_input *base,
                            int32_t ops, fg_run_list *list) {
    for (int32_t i = 0; i < fusion->count; i++) {
        if (fusion->passes[i].kind != kind) {
            continue;
        }
        fg_pass_input in = *base;
        fg_run_list next = {0};
        in.run_count = list->count;
        memcpy(in.runs, list->runs, sizeof in.runs);
        fg_status status =
            fusion->passes[i].pass(fusion->passes[i].user, &in, next.runs, &next.count);
        if (status != FG_STATUS_OK) {
            return FG_FAIL(FG_STATUS_BUILD, "%s pass %d failed: %s", kind_names[kind], i,
                           fg_status_name(status));
        }
        if (!covers(&next, ops)) {
            char text[64];
            return FG_FAIL(FG_STATUS_BUILD,
                           "%s pass %d left %d runs (%s), expected each of the ops 0..%d once, in "
                           "order",
                           kind_names[kind], i, next.count,
                           fg_run_list_text(&next, text, sizeof text), ops - 1);
        }
        *list = next;
    }
    return FG_STATUS_OK;
}

fg_status fg_fusion_apply(const fg_fusion *fusion, const fg_pass_input *base, int32_t ops,
                          fg_run_list *forward, fg_run_list *backward) {
    fg_run_list joint = {.count = ops};
    for (int32_t i = 0; i < ops; i++) {
        joint.runs[i] = (fg_run){i, 1};
    }
    FG_TRY(apply_kind(fusion, FG_PASS_JOINT, base, ops, &joint));
    *forward = joint;
    *backward = joint;
    FG_TRY(apply_kind(fusion, FG_PASS_FORWARD, base, ops, forward));
    return apply_kind(fusion, FG_PASS_BACKWARD, base, ops, backward);
}
