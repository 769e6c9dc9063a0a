#ifndef FG_CONFORMANCE_CASE_ACTION_H
#define FG_CONFORMANCE_CASE_ACTION_H

/* The language of `actions=`: what is done to an executor, one word after another.
 *   nograd grad     a forward of that mode
 *   back            a backward of the oldest forward that still has its context; else nothing
 *   step            ends a training step
 *   clear           drops every plan
 *   evict           forwards with other boundaries until the last call's plan must be gone
 *                   (capacity 1..3)
 *   pass[:[KIND.]NAME]  registers a pass of conformance/executor/passes.h; KIND joint (default),
 * forward, backward; alone: the joint identity recipe:NAME     a recipe of that kind with its
 * defaults opt:KEY:VALUE   one option of the recipe hist:N          the recipe's amax history
 * length dev:N           operands on device N, -1..1 cap:N           a new executor with room for N
 * plans, 0..64 (0: its default) need:MASK       inputs that require a gradient: a number, or names
 * joined by + (x+w1, all, none) hook:NAME:N     a test hook of the executor */

#include "contract/status.h"
#include <stdint.h>

typedef enum fg_action_kind {
    FG_ACTION_NOGRAD = 0,
    FG_ACTION_GRAD = 1,
    FG_ACTION_BACK = 2,
    FG_ACTION_STEP = 3,
    FG_ACTION_CLEAR = 4,
    FG_ACTION_EVICT = 5,
    FG_ACTION_PASS = 6,
    FG_ACTION_RECIPE = 7,
    FG_ACTION_OPT = 8,
    FG_ACTION_HIST = 9,
    FG_ACTION_DEV = 10,
    FG_ACTION_CAP = 11,
    FG_ACTION_NEED = 12,
    FG_ACTION_HOOK = 13,
    FG_ACTION_KINDS = 14,
} fg_action_kind;

#define FG_ACTIONS 64
#define FG_ACTION_WORD 24

/* One action; `number` is N, MASK or the pass's FG_PASS_* kind. */
typedef struct fg_action {
    fg_action_kind kind;
    int64_t number;
    char name[FG_ACTION_WORD];  /* of a pass, recipe, option or hook */
    char value[FG_ACTION_WORD]; /* of an option */
} fg_action;

/* Reads a comma list of at most `capacity` actions ("" has none) that begins at `column`.
 * FG_STATUS_PARSE says at which column, what was found, and the nearest word or what is expected.
 */
fg_status fg_actions_parse(const char *text, int32_t column, fg_action *out, int32_t capacity,
                           int32_t *count);

/* Writes actions as text that parses to the same; returns its length as snprintf does. */
size_t fg_actions_format(const fg_action *actions, int32_t count, char *text, size_t size);

#endif
