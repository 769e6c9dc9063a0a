#include "conformance/clock.h"
#include "conformance/judge/mlp_calls.h"
#include "conformance/judge/mlp_judge.h"
#include "conformance/run.h"
#include "conformance/tensors/fresh.h"

#include <stdio.h>
#include <string.h>

/* Everything of one case on its way. */
typedef struct mlp_run {
    fg_mlp_calls calls;
    fg_mlp_judgement judgement;
    fg_traits traits;
    fg_kernel_sizes sizes;
    uint32_t mask; /* of every gradient that is judged */
    uint64_t hashes[FG_MLP_TARGETS];
} mlp_run;

/* Asks the worker whether it takes the case; 0 when that ends it. */
static int accepted(fg_client *client, const fg_case *value, fg_result *result) {
    char reason[FG_REASON_SIZE];
    fg_status status = fg_client_supports(client, -1, &value->problem, &value->recipe, reason);
    if (status == FG_STATUS_UNSUPPORTED) {
        result->state = FG_STATE_NOT_SUPPORTED;
        result->declared = 1;
        snprintf(result->reason, sizeof result->reason, "%s", reason);
    } else if (status != FG_STATUS_OK) {
        fg_mlp_refused(result, "supports", status);
    }
    return status == FG_STATUS_OK;
}

static int prepared(mlp_run *run, fg_client *client, const fg_case *value, fg_result *result) {
    run->traits.struct_size = sizeof run->traits;
    run->sizes.struct_size = sizeof run->sizes;
    fg_status status = fg_client_traits(client, -1, &run->traits);
    const char *call = "traits";
    if (status == FG_STATUS_OK) {
        call = "kernel_create";
        status = fg_client_kernel_create(client, -1, &value->problem, &value->recipe,
                                         &run->calls.kernel);
    }
    if (status == FG_STATUS_OK) {
        call = "kernel_sizes";
        status = fg_client_kernel_sizes(client, run->calls.kernel, value->rows, &run->sizes);
    }
    if (status != FG_STATUS_OK) {
        fg_mlp_refused(result, call, status);
    }
    return status == FG_STATUS_OK && fg_mlp_quiet(&run->calls, "kernel_create");
}

static int backwards(fg_mlp_calls *calls) {
    const fg_case *value = calls->value;
    if (value->has_first && !fg_mlp_backward(calls, FG_BUFFER_FIRST, value->first)) {
        return 0;
    }
    return fg_mlp_backward(calls, FG_BUFFER_GRAD, value->want) &&
           fg_mlp_release(calls, FG_BUFFER_SAVED);
}

/* The calls of the case's mode, once. With `fresh`, a forward of other values in x's place stands
 * behind the forward, and the backward gets x from elsewhere: what a kernel keeps of x, y1, h or y
 * between calls is wrong by then. */
static int round_of_calls(mlp_run *run, fg_poison poison, int fresh) {
    fg_mlp_calls *calls = &run->calls;
    fg_case_mode mode = calls->value->mode;
    int grad = mode != FG_MODE_NOGRAD;
    fg_mlp_calls_begin(calls, poison);
    if (mode == FG_MODE_RECOMPUTE && !fg_mlp_forward(calls, FG_BUFFER_Y_NOGRAD, 0)) {
        return 0;
    }
    if (!fg_mlp_forward(calls, FG_BUFFER_Y, grad) || (fresh && !fg_mlp_fresh_begin(calls, grad))) {
        return 0;
    }
    int done = !grad || backwards(calls);
    if (fresh) {
        fg_mlp_fresh_end(calls);
    }
    return done;
}

static void add_target(mlp_run *run, int output, int buffer) {
    run->judgement.targets[run->judgement.target_count++] = (fg_mlp_target){output, buffer};
}

/* Buffers that are judged: y, the gradients wanted, and those that only the first call gave. */
static void choose_targets(mlp_run *run) {
    const fg_case *value = run->calls.value;
    add_target(run, FG_OUT_Y, FG_BUFFER_Y);
    run->mask = value->want | (value->has_first ? value->first : 0);
    for (int i = 0; i < FG_INPUTS; i++) {
        if (run->mask & FG_BIT(i)) {
            add_target(run, i, value->want & FG_BIT(i) ? FG_BUFFER_GRAD + i : FG_BUFFER_FIRST + i);
        }
    }
}

static void keep_hashes(mlp_run *run, uint64_t hashes[FG_MLP_TARGETS]) {
    for (int32_t i = 0; i < run->judgement.target_count; i++) {
        hashes[i] = fg_tensors_hash_elements(run->calls.tensors, run->judgement.targets[i].buffer);
    }
}

/* Two buffers of one round that must hold the same bits. */
static int twins_differ(mlp_run *run, int a, int b) {
    return fg_tensors_hash_elements(run->calls.tensors, a) !=
           fg_tensors_hash_elements(run->calls.tensors, b);
}

/* Name of what differs between calls of one round that owe the same bits, or NULL. */
static const char *differing_twin(mlp_run *run) {
    const fg_case *value = run->calls.value;
    if (value->mode == FG_MODE_RECOMPUTE && twins_differ(run, FG_BUFFER_Y, FG_BUFFER_Y_NOGRAD)) {
        return "y of the forward with gradients and of the one without";
    }
    for (int i = 0; i < FG_INPUTS && value->has_first; i++) {
        if ((value->want & value->first & FG_BIT(i)) &&
            twins_differ(run, FG_BUFFER_GRAD + i, FG_BUFFER_FIRST + i)) {
            return fg_grad_name(i);
        }
    }
    return NULL;
}

/* A case whose twins may differ has the other one judged on its own. */
static fg_status judge_twins(mlp_run *run, fg_result *result) {
    const fg_case *value = run->calls.value;
    fg_mlp_judgement other = run->judgement;
    other.target_count = 0;
    if (value->mode == FG_MODE_RECOMPUTE) {
        other.targets[other.target_count++] = (fg_mlp_target){FG_OUT_Y, FG_BUFFER_Y_NOGRAD};
    }
    uint32_t both = value->has_first ? value->want & value->first : 0;
    for (int i = 0; i < FG_INPUTS; i++) {
        if (both & FG_BIT(i)) {
            other.targets[other.target_count++] = (fg_mlp_target){i, FG_BUFFER_FIRST + i};
        }
    }
    return other.target_count > 0 ? fg_mlp_judge(&other, both, result) : FG_STATUS_OK;
}

static void determinism(mlp_run *run, const char *what, const char *between, fg_result *result) {
    if (what != NULL && run->traits.deterministic) {
        fg_result_check(result, "determinism", FG_CHECK_FAIL, 0, FG_FAULT_DETERMINISM,
                        "%s has other bits %s, and the backend declares determinism", what,
                        between);
    }
}

/* Name of the first target whose bits are not those of the round before, or NULL. */
static const char *differing_target(mlp_run *run) {
    uint64_t hashes[FG_MLP_TARGETS];
    keep_hashes(run, hashes);
    for (int32_t i = 0; i < run->judgement.target_count; i++) {
        if (hashes[i] != run->hashes[i]) {
            return fg_output_name(run->judgement.targets[i].output);
        }
    }
    return NULL;
}

static void sequences(fg_result *result, int32_t state, const char *words) {
    fg_result_check(result, "sequences", state, 0,
                    state == FG_CHECK_FAIL ? FG_FAULT_CONTRACT : FG_FAULT_NONE, "%s", words);
}

/* y of other x has the bits of y: wrong, unless it owes them. */
static fg_status judge_replay(mlp_run *run, fg_result *result) {
    fg_case other = *run->calls.value;
    fg_result alone = {0};
    other.data = FG_DATA_NORMAL;
    fg_mlp_judgement judgement = run->judgement;
    judgement.value = &other;
    judgement.targets[0] = (fg_mlp_target){FG_OUT_Y, FG_BUFFER_OTHER_Y};
    judgement.target_count = 1;
    fg_fresh_swap(run->calls.tensors);
    fg_status status = fg_mlp_judge(&judgement, 0, &alone);
    fg_fresh_swap(run->calls.tensors);
    FG_TRY(status);
    if (alone.state == FG_STATE_FAIL) {
        sequences(result, FG_CHECK_FAIL,
                  "a forward of other values in x's place gave y of the values before, which is "
                  "wrong for them");
    } else {
        sequences(result, FG_CHECK_NOT_RUN, "not run: other values of x give the same y");
    }
    return FG_STATUS_OK;
}

/* Whether rounds without other values of x repeat the first one, bit for bit. */
static int repeats_alone(mlp_run *run) {
    for (int i = 0; i < 2; i++) { // two, for what goes wrong every second time
        if (!round_of_calls(run, FG_POISON_LARGE, 0) || differing_target(run) != NULL) {
            return 0;
        }
    }
    return 1;
}

/* Says what the second round means for a backend that declares determinism; `again` is the output
 * that differs, or NULL. Returns what is left to be laid on determinism. */
static const char *blame_sequence(mlp_run *run, const char *again, fg_result *result) {
    char words[160];
    if (again == NULL || !repeats_alone(run)) {
        return again;
    }
    snprintf(
        words, sizeof words,
        "%s has other bits behind a forward of other values in x's place and with x given from "
        "elsewhere; without them it repeats",
        again);
    sequences(result, FG_CHECK_FAIL, words);
    return NULL;
}

static fg_status judge_sequence(mlp_run *run, const char **again, fg_result *result) {
    const char *missing = fg_fresh_missing(run->calls.value);
    int32_t before = result->check_count;
    if (missing != NULL) {
        char words[96];
        snprintf(words, sizeof words, "not run: %s", missing);
        sequences(result, FG_CHECK_NOT_RUN, words);
        return FG_STATUS_OK;
    }
    if (!twins_differ(run, FG_BUFFER_Y, FG_BUFFER_OTHER_Y)) {
        return judge_replay(run, result);
    }
    if (run->traits.deterministic) {
        *again = blame_sequence(run, *again, result);
    }
    if (*again == NULL && result->check_count == before) {
        sequences(result, FG_CHECK_PASS, "other values in x's place in between; x from elsewhere");
    }
    return FG_STATUS_OK;
}

/* The second round must repeat the first, or is judged too. */
static fg_status judge_again(mlp_run *run, const char *twin, fg_result *result) {
    const char *again = differing_target(run);
    fg_result_check(result, "memory", FG_CHECK_PASS, 0, FG_FAULT_NONE,
                    "guards, gaps, padding, inputs, earlier outputs; two poisons");
    if (again != NULL && !run->traits.deterministic) {
        FG_TRY(fg_mlp_judge(&run->judgement, run->mask, result));
    }
    const char *other = again;
    FG_TRY(judge_sequence(run, &other, result));
    determinism(run, twin, "in two calls of one round", result);
    determinism(run, other, "with another poison", result);
    if (run->traits.deterministic && twin == NULL && other == NULL) {
        fg_result_check(result, "determinism", FG_CHECK_PASS, 0, FG_FAULT_NONE,
                        "same bits in two rounds");
    }
    return FG_STATUS_OK;
}

/* Two rounds with two poisons. */
static fg_status judge_rounds(mlp_run *run, fg_result *result) {
    if (!round_of_calls(run, FG_POISON_NAN, 0)) {
        return FG_STATUS_OK;
    }
    choose_targets(run);
    keep_hashes(run, run->hashes);
    const char *twin = differing_twin(run);
    FG_TRY(fg_mlp_judge(&run->judgement, run->mask, result));
    if (twin != NULL && !run->traits.deterministic) {
        FG_TRY(judge_twins(run, result));
    }
    int fresh = fg_fresh_missing(run->calls.value) == NULL;
    return round_of_calls(run, FG_POISON_LARGE, fresh) ? judge_again(run, twin, result)
                                                       : FG_STATUS_OK;
}

static fg_status run_with_tensors(mlp_run *run, fg_client *client, fg_result *result) {
    fg_tensors *tensors = NULL;
    FG_TRY(fg_tensors_create(run->calls.value, &run->traits, &run->sizes, &tensors));
    run->calls.tensors = tensors;
    run->judgement = (fg_mlp_judgement){.value = run->calls.value,
                                        .traits = &run->traits,
                                        .inputs = &run->calls.inputs,
                                        .tensors = tensors};
    fg_status status = fg_client_share(client, &tensors->shm);
    if (status != FG_STATUS_OK) {
        fg_mlp_refused(result, "share", status);
        status = FG_STATUS_OK;
    } else {
        status = judge_rounds(run, result);
        (void)fg_client_unshare(client, &tensors->shm);
    }
    result->elements_touched += tensors->touched;
    fg_tensors_destroy(tensors);
    return status;
}

/* Moves the result's checks of a name behind `count` sorted ones; returns how many there are then.
 */
static int32_t take_checks(fg_result *result, const char *name, int32_t count,
                           fg_check sorted[FG_CHECKS]) {
    for (int32_t k = 0; k < result->check_count; k++) {
        fg_check *check = &result->checks[k];
        if (check->name[0] != '\0' && (name == NULL || strcmp(check->name, name) == 0)) {
            sorted[count++] = *check;
            check->name[0] = '\0';
        }
    }
    return count;
}

/* Puts the checks in the order of their meaning; one that was planned and did not run says so.
 * Others (calls, contract, oracle, data, evidence) stand behind. */
static void order_checks(const fg_case *value, fg_result *result) {
    int normal = value->data == FG_DATA_NORMAL;
    const char *const order[] = {"memory", normal ? "bound" : "exact", normal ? "bias" : NULL,
                                 "determinism", "sequences"};
    fg_check sorted[FG_CHECKS];
    int32_t count = 0;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        int32_t before = count;
        count = order[i] != NULL ? take_checks(result, order[i], count, sorted) : count;
        if (count == before && order[i] != NULL && result->check_count < FG_CHECKS) {
            fg_result_check(result, order[i], FG_CHECK_NOT_RUN, 0, FG_FAULT_NONE, "not run");
            count = take_checks(result, order[i], count, sorted);
        }
    }
    count = take_checks(result, NULL, count, sorted);
    memcpy(result->checks, sorted, (size_t)count * sizeof sorted[0]);
    result->check_count = count;
}

fg_status fg_run_mlp(fg_client *client, const fg_case *value, fg_result *result) {
    double began = fg_clock_seconds();
    mlp_run run = {.calls = {.client = client, .value = value, .result = result}};
    run.calls.traits = &run.traits;
    memset(result, 0, sizeof *result);
    (void)fg_client_seconds(client);
    fg_status status = FG_STATUS_OK;
    if (fg_mlp_calls_open(&run.calls) && accepted(client, value, result) &&
        fg_mlp_quiet(&run.calls, "supports") && prepared(&run, client, value, result)) {
        status = run_with_tensors(&run, client, result);
        if (fg_client_alive(client)) {
            fg_status ended = fg_client_kernel_destroy(client, run.calls.kernel);
            if (ended != FG_STATUS_OK && result->state != FG_STATE_FAIL) {
                fg_mlp_refused(result, "kernel_destroy", ended);
            }
        }
        order_checks(value, result);
    }
    result->seconds_backend = fg_client_seconds(client);
    result->seconds = fg_clock_seconds() - began;
    return status;
}
