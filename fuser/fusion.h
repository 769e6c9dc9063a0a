#ifndef FG_FUSER_FUSION_H
#define FG_FUSER_FUSION_H

#include "contract/executor.h"

#define FG_FUSION_PASSES 32

typedef struct fg_run_list {
    int32_t count;
    fg_run runs[FG_OP_COUNT];
} fg_run_list;

/* The table of fusion passes, in the order in which they run within their kind. A copy of it is a
 * snapshot. */
typedef struct fg_fusion {
    int32_t count;
    struct {
        int32_t kind; /* FG_PASS_* */
        fg_pass_fn pass;
        void *user;
    } passes[FG_FUSION_PASSES];
} fg_fusion;

/* Makes a table that holds the built-in joint pass (the whole run where the backend claims it), or
 * nothing when `unfused`. */
void fg_fusion_init(fg_fusion *fusion, int32_t unfused);

/* Adds a pass; FG_STATUS_INVALID for an unknown kind, FG_STATUS_OVERFLOW when the table is full. */
fg_status fg_fusion_add(fg_fusion *fusion, int32_t kind, fg_pass_fn pass, void *user);

/* Applies the passes to n basic ops: joint ones on the basic list, then forward-only and
 * backward-only ones, each on what the joint ones left. `base` holds the key's fields; its runs are
 * ignored. FG_STATUS_BUILD names the pass that failed or did not leave each op once, in order. */
fg_status fg_fusion_apply(const fg_fusion *fusion, const fg_pass_input *base, int32_t ops,
                          fg_run_list *forward, fg_run_list *backward);

/* Writes runs as "0..0 1..2" and returns `text`. */
char *fg_run_list_text(const fg_run_list *list, char *text, size_t size);

/* Bit of a run of basic ops in fg_pass_input.claimed. */
uint32_t fg_run_claim(fg_run run);

#endif
