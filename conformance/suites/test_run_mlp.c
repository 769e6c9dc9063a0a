/* Whole cases through a worker: what becomes of a right backend, and of each kind of wrong one. */

#include "conformance/case/case_suite.h"
#include "conformance/run.h"
#include "conformance/suites/program_run.h"
#include "contract/alloc.h"
#include <cblas.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fg_client *open_client(const char *backend, double timeout) {
    const fg_client_options options = {.backend = backend, .timeout = timeout};
    fg_client *client = NULL;
    openblas_set_num_threads(1);
    cr_assert_eq(fg_client_open(&options, &client), FG_STATUS_OK, "%s", fg_message());
    return client;
}

static fg_result run_line(fg_client *client, const char *line) {
    fg_case value;
    fg_result result;
    cr_assert_eq(fg_case_parse(line, &value), FG_STATUS_OK, "%s: %s", line, fg_message());
    cr_assert_eq(fg_run_case(client, &value, &result), FG_STATUS_OK, "%s: %s", line, fg_message());
    return result;
}

static const fg_check *check_named(const fg_result *result, const char *name) {
    for (int32_t i = 0; i < result->check_count; i++) {
        if (strcmp(result->checks[i].name, name) == 0) {
            return &result->checks[i];
        }
    }
    return NULL;
}

static int32_t state_of(const fg_result *result, const char *name) {
    const fg_check *check = check_named(result, name);
    return check != NULL ? check->state : FG_CHECK_NOT_RUN;
}

/* Cases that differ in everything that run_mlp decides on. */
static const char *const ways[] = {
    "mlp E=3 H=24 F=16 splits=3,0,7 bias=1 data=exact",
    "mlp E=3 H=24 F=16 splits=3,0,7 bias=1 data=normal mode=recompute",
    "mlp E=3 H=24 F=16 splits=3,0,7 data=selection mode=nograd act=srelu",
    "mlp E=3 H=24 F=16 splits=3,0,7 T=16 strides=padded wgrad=accumulate first=all data=normal",
    "mlp E=3 H=24 F=16 splits=30,0,7 want=dw2 first=dx,dp dt=f16 data=exact hsplits=1 idx=i64",
    "mlp E=3 H=24 F=16 splits=3,0,7 bias=1 scale_bias=1 bias_scale=own dt=f32 align=4 data=normal",
    "mlp E=2 H=8 F=8 T=0 bias=1 seed=1",
};

static void every_way_passes(const char *backend) {
    fg_client *client = open_client(backend, 0);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        fg_result result = run_line(client, ways[i]);
        cr_assert_eq(result.state, FG_STATE_PASS, "%s: %s", ways[i], result.reason);
        cr_assert_eq(state_of(&result, "memory"), FG_CHECK_PASS);
        cr_assert_eq(state_of(&result, "determinism"), FG_CHECK_PASS);
        cr_assert_eq(state_of(&result, "sequences"), strstr(ways[i], "T=0") == NULL);
        cr_assert(state_of(&result, "exact") == FG_CHECK_PASS ||
                  state_of(&result, "bound") == FG_CHECK_PASS);
        cr_assert(result.elements_compared == result.elements_owed && result.elements_owed > 0);
        cr_assert(result.elements_touched > result.elements_compared);
        cr_assert(result.seconds_backend > 0 && result.seconds_reference > 0);
        cr_assert(result.seconds > result.seconds_backend + result.seconds_reference);
    }
    fg_client_close(client);
    cr_assert_eq(fg_alloc_live_total(), 0);
}

Test(run_mlp, host_passes_in_every_way) {
    every_way_passes("host");
}

Test(run_mlp, reference_passes_in_every_way) {
    every_way_passes("reference");
}

Test(run_mlp, a_plugin_passes_in_every_way_that_it_claims) {
    fg_client *client = open_client(fg_built("plugins/plain_backend.so"), 0);
    fg_result result = run_line(client, "mlp dt=f32 E=3 H=24 F=16 splits=3,0,7 data=normal");
    cr_assert(result.state == FG_STATE_PASS || (result.state == FG_STATE_NOT_SUPPORTED &&
                                                result.declared && result.reason[0] != '\0'),
              "%s", result.reason);
    fg_client_close(client);
}

Test(run_mlp, recipes_that_are_not_computed_are_declared_not_supported) {
    fg_client *client = open_client("host", 0);
    static const char *const recipes[] = {"current", "delayed"};
    for (int i = 0; i < 2; i++) {
        char line[128];
        (void)snprintf(line, sizeof line, "mlp E=2 H=16 F=16 T=8 recipe=%s", recipes[i]);
        fg_result result = run_line(client, line);
        cr_assert(result.state == FG_STATE_NOT_SUPPORTED && result.declared);
        cr_assert(strstr(result.reason, recipes[i]) != NULL, "%s", result.reason);
        cr_assert_eq(result.elements_compared, 0);
    }
    fg_client_close(client);
}

Test(run_mlp, thin_evidence_is_mistrusted) {
    fg_client *client = open_client("host", 0);
    fg_result result = run_line(client, "mlp E=2 H=16 F=16 T=0 want=none");
    cr_assert_eq(result.state, FG_STATE_MISTRUSTED, "%s", result.reason);
    result = run_line(client, "mlp E=2 H=16 F=16 T=0 want=none zeros=expected");
    cr_assert_eq(result.state, FG_STATE_PASS, "%s", result.reason);
    fg_client_close(client);
}

Test(run_mlp, checks_stand_in_the_order_of_their_meaning) {
    static const struct {
        const char *line;
        const char *names[6];
    } orders[] = {
        {"mlp E=3 H=24 F=16 splits=3,0,7", {"memory", "exact", "determinism", "sequences"}},
        {"mlp E=3 H=24 F=16 T=10 data=normal",
         {"memory", "bound", "bias", "determinism", "sequences"}},
        {"mlp E=2 H=16 F=16 T=0 want=none",
         {"memory", "exact", "determinism", "sequences", "evidence"}},
    };
    fg_client *client = open_client("host", 0);
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        fg_result result = run_line(client, orders[i].line);
        int32_t count = 0;
        for (; orders[i].names[count] != NULL; count++) {
            cr_assert_str_eq(result.checks[count].name, orders[i].names[count]);
        }
        cr_assert_eq(result.check_count, count);
    }
    fg_client_close(client);
    client = open_client(fg_built("plugins/careless.so"), 0);
    fg_result result = run_line(client, "mlp E=2 H=16 F=16 T=20 splits=even data=normal");
    cr_assert(result.checks[0].state == FG_CHECK_FAIL && result.check_count == 5);
    for (int32_t i = 1; i < 5; i++) {
        cr_assert_eq(result.checks[i].state, FG_CHECK_NOT_RUN);
    }
    fg_client_close(client);
}

/* Deeds of plugins/careless.so, by number of experts. */
static const struct {
    const char *line, *words;
    fg_fault fault;
} careless[] = {
    {"mlp E=2 H=16 F=16 T=20 splits=even", "guard before y", FG_FAULT_MEMORY},
    {"mlp E=3 H=16 F=16 T=20 splits=even", "guard behind y", FG_FAULT_MEMORY},
    {"mlp E=4 H=16 F=16 splits=5,5,5,4 T=20", "padding row 19", FG_FAULT_MEMORY},
    {"mlp E=5 H=16 F=16 T=20 splits=even", "changed an input: x", FG_FAULT_MEMORY},
    {"mlp E=6 H=16 F=16 splits=5,5,5,2,1,1 T=20", "never wrote y row 0 column 0", FG_FAULT_MEMORY},
    {"mlp E=6 H=16 F=16 splits=5,5,5,2,1,1 T=20 strides=padded", "or ignores a stride",
     FG_FAULT_MEMORY},
    {"mlp E=6 H=16 F=16 splits=5,5,5,2,1,1 T=20 idx=i64", "or reads 64-bit splits as 32-bit",
     FG_FAULT_MEMORY},
    {"mlp E=7 H=16 F=16 T=20 splits=even", "y has other bits", FG_FAULT_DETERMINISM},
    {"mlp E=8 H=16 F=16 T=20 splits=even", "earlier call left: saved", FG_FAULT_MEMORY},
    {"mlp E=9 H=16 F=16 T=20 splits=even want=dx", "must not: dw1", FG_FAULT_MEMORY},
    {"mlp E=10 H=16 F=16 T=20 splits=even", "guard before scratch", FG_FAULT_MEMORY},
    {"mlp E=11 H=16 F=16 T=20 splits=even", "dx has other bits", FG_FAULT_DETERMINISM},
};

Test(run_mlp, every_careless_deed_is_found) {
    fg_client *client = open_client(fg_built("plugins/careless.so"), 0);
    for (size_t i = 0; i < sizeof careless / sizeof careless[0]; i++) {
        fg_result result = run_line(client, careless[i].line);
        cr_assert_eq(result.state, FG_STATE_FAIL, "%s: %s", careless[i].line, result.reason);
        cr_assert_eq(result.fault, careless[i].fault, "%s: %s", careless[i].line, result.reason);
        cr_assert(strstr(result.reason, careless[i].words) != NULL, "%s: %s", careless[i].line,
                  result.reason);
        cr_assert(fg_client_alive(client));
    }
    cr_assert_eq(run_line(client, "mlp E=12 H=16 F=16 T=40").state, FG_STATE_PASS);
    fg_client_close(client);
}

Test(run_mlp, the_same_call_with_other_bits_is_found_within_a_round) {
    fg_client *client = open_client(fg_built("plugins/careless.so"), 0);
    fg_result result = run_line(client, "mlp E=7 H=16 F=16 T=20 mode=recompute data=exact");
    cr_assert(result.state == FG_STATE_FAIL, "%s", result.reason);
    fg_client_close(client);
    client = open_client(fg_built("plugins/careless.so"), 0);
    result = run_line(client, "mlp E=11 H=16 F=16 T=20 first=dx data=exact");
    cr_assert(result.state == FG_STATE_FAIL, "%s", result.reason);
    cr_assert(check_named(&result, "determinism") != NULL);
    cr_assert(strstr(check_named(&result, "determinism")->where, "two calls of one round") != NULL);
    fg_client_close(client);
}

Test(run_mlp, without_declared_determinism_every_round_is_judged) {
    static const char *const lines[] = {"mlp E=7 H=16 F=16 T=20 data=exact",
                                        "mlp E=7 H=16 F=16 T=20 mode=recompute data=exact",
                                        "mlp E=13 H=16 F=16 T=20 mode=recompute data=exact",
                                        "mlp E=11 H=16 F=16 T=20 first=dx data=exact"};
    cr_assert_eq(setenv("FUSEGATE_TEST_UNSURE", "1", 1), 0);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        fg_client *client = open_client(fg_built("plugins/careless.so"), 0);
        fg_result result = run_line(client, lines[i]);
        cr_assert(result.state == FG_STATE_FAIL && result.fault == FG_FAULT_NUMERIC, "%s: %s",
                  lines[i], result.reason);
        cr_assert(strstr(result.reason, "exact: ") == result.reason, "%s", result.reason);
        fg_client_close(client);
    }
    fg_client *client = open_client(fg_built("plugins/careless.so"), 0);
    fg_result result = run_line(client, "mlp E=12 H=16 F=16 T=40");
    cr_assert(result.state == FG_STATE_PASS);
    cr_assert_eq(check_named(&result, "determinism")->state, FG_CHECK_NOT_RUN);
    fg_client_close(client);
}

/* What plugins/forgetful.so does when FUSEGATE_TEST_FORGET names it. */
static const struct {
    const char *deed, *line, *words;
} forgetful[] = {
    {"replay", "mlp E=3 H=16 F=16 splits=3,0,7 data=exact", "gave y of the values before"},
    {"replay", "mlp E=3 H=16 F=16 splits=3,0,7 data=normal", "gave y of the values before"},
    {"replay", "mlp E=3 H=16 F=16 splits=3,0,7 data=selection mode=nograd",
     "gave y of the values before"},
    {"replay", "mlp E=3 H=16 F=16 splits=3,0,7 mode=recompute", "gave y of the values before"},
    {"keepx", "mlp E=3 H=16 F=16 splits=3,0,7 want=dw1 data=exact", "dw1 has other bits behind"},
    {"keepx", "mlp E=3 H=16 F=16 splits=3,0,7 data=normal T=16 strides=padded",
     "dw1 has other bits behind"},
    {"keepx", "mlp E=3 H=16 F=16 splits=3,0,7 first=dw1 mode=recompute",
     "dw1 has other bits behind"},
    {"saved_own", "mlp E=3 H=16 F=16 splits=3,0,7 want=dp,dw2 data=exact",
     "dp has other bits behind"},
    {"saved_own", "mlp E=3 H=16 F=16 splits=3,0,7 act=srelu data=normal",
     "dx has other bits behind"},
    {"asks", "mlp E=3 H=16 F=16 splits=3,0,7",
     "contract: forward: asked which device is current 1 times"},
    {"ftz", "mlp E=3 H=16 F=16 splits=3,0,7",
     "contract: kernel_create: left the process changed: flush-to-zero"},
};

static fg_result forget(const char *deed, const char *line) {
    cr_assert_eq(setenv("FUSEGATE_TEST_FORGET", deed, 1), 0);
    fg_client *client = open_client(fg_built("plugins/forgetful.so"), 0);
    fg_result result = run_line(client, line);
    fg_client_close(client);
    return result;
}

Test(run_mlp, what_a_kernel_keeps_between_calls_is_found) {
    for (size_t i = 0; i < sizeof forgetful / sizeof forgetful[0]; i++) {
        const char *line = forgetful[i].line;
        fg_result right = forget("nothing", line), result = forget(forgetful[i].deed, line);
        cr_assert_eq(right.state, FG_STATE_PASS, "%s: %s", line, right.reason);
        cr_assert(result.state == FG_STATE_FAIL && result.fault == FG_FAULT_CONTRACT, "%s %s: %s",
                  forgetful[i].deed, line, result.reason);
        cr_assert(strstr(result.reason, forgetful[i].words) != NULL, "%s %s: %s", forgetful[i].deed,
                  line, result.reason);
        cr_assert(strstr(result.reason, "sequences: ") == result.reason ||
                      strstr(result.reason, "contract: ") == result.reason,
                  "%s", result.reason);
    }
}

/* A case after one that asked is not blamed for it. */
Test(run_mlp, questions_are_laid_on_the_case_that_asked) {
    cr_assert_eq(setenv("FUSEGATE_TEST_FORGET", "asks", 1), 0);
    fg_client *client = open_client(fg_built("plugins/forgetful.so"), 0);
    fg_result first = run_line(client, ways[0]), second = run_line(client, ways[0]);
    cr_assert(first.state == FG_STATE_FAIL && second.state == FG_STATE_FAIL);
    cr_assert_str_eq(first.reason, second.reason);
    fg_client_close(client);
}

Test(run_mlp, what_is_kept_is_judged_where_bits_are_not_declared) {
    cr_assert_eq(setenv("FUSEGATE_TEST_UNSURE", "1", 1), 0);
    static const char *const deeds[] = {"keepx", "saved_own"};
    for (int i = 0; i < 2; i++) {
        fg_result result = forget(deeds[i], "mlp E=3 H=16 F=16 splits=3,0,7 data=exact");
        cr_assert(result.state == FG_STATE_FAIL && result.fault == FG_FAULT_NUMERIC, "%s",
                  result.reason);
        cr_assert_eq(state_of(&result, "sequences"), FG_CHECK_NOT_RUN);
    }
    fg_result result = forget("replay", "mlp E=3 H=16 F=16 splits=3,0,7 data=exact");
    cr_assert(strstr(result.reason, "sequences: ") == result.reason, "%s", result.reason);
    cr_assert_eq(forget("nothing", ways[0]).state, FG_STATE_PASS);
}

/* A unary activation that other values of x leave at zero too. */
Test(run_mlp, the_same_y_of_other_values_is_no_fault_where_it_is_right) {
    fg_client *client = open_client("host", 0);
    int same = 0;
    for (int seed = 0; seed < 16; seed++) {
        char line[128];
        (void)snprintf(line, sizeof line,
                       "mlp E=1 H=1 F=1 T=1 act=srelu mode=nograd zeros=expected seed=%d", seed);
        fg_result result = run_line(client, line);
        cr_assert_eq(result.state, FG_STATE_PASS, "%s: %s", line, result.reason);
        cr_assert_not_null(check_named(&result, "sequences"));
        same += strstr(check_named(&result, "sequences")->where, "give the same y") != NULL;
    }
    cr_assert(same > 0 && same < 16, "%d", same);
    fg_client_close(client);
}

/* Masks for which plugins/forgetful.so gives back OK and writes nothing. */
Test(run_mlp, the_suite_pr_finds_every_mask_that_is_left_out) {
    static const uint32_t masks[] = {FG_BIT(FG_B1) | FG_BIT(FG_P),
                                     FG_BIT(FG_X) | FG_BIT(FG_W2) | FG_BIT(FG_B2),
                                     FG_BIT(FG_W1) | FG_BIT(FG_P) | FG_BIT(FG_BIAS_P)};
    fg_case_list list = {0};
    cr_assert_eq(fg_case_suite("pr", &list), FG_STATUS_OK, "%s", fg_message());
    for (size_t m = 0; m < sizeof masks / sizeof masks[0]; m++) {
        char mask[16];
        int64_t found = 0;
        (void)snprintf(mask, sizeof mask, "%u", masks[m]);
        cr_assert_eq(setenv("FUSEGATE_TEST_FORGET", "lazy", 1), 0);
        cr_assert_eq(setenv("FUSEGATE_TEST_MASK", mask, 1), 0);
        fg_client *client = open_client(fg_built("plugins/forgetful.so"), 0);
        for (int64_t i = 0; i < list.count; i++) {
            fg_result result;
            if (list.cases[i].problem.inter > 8 || list.cases[i].want != masks[m]) {
                continue;
            }
            cr_assert_eq(fg_run_case(client, &list.cases[i], &result), FG_STATUS_OK);
            found += result.state == FG_STATE_FAIL && result.fault == FG_FAULT_MEMORY &&
                     strstr(result.reason, "never wrote") != NULL;
        }
        fg_client_close(client);
        cr_assert_gt(found, 0, "mask %s", mask);
    }
    fg_case_list_free(&list);
}

/* Deeds of plugins/misbehaving.so, by number of experts. */
static const struct {
    int experts;
    fg_state state;
    fg_fault fault;
    int alive;
    const char *words;
} misbehaving[] = {
    {3, FG_STATE_FAIL, FG_FAULT_CRASH, 0, "forward"},
    {5, FG_STATE_FAIL, FG_FAULT_CRASH, 0, "forward"},
    {6, FG_STATE_FAIL, FG_FAULT_CONTRACT, 1, "standard output"},
    {7, FG_STATE_FAIL, FG_FAULT_TIMEOUT, 0, "forward"},
    {9, FG_STATE_FAIL, FG_FAULT_CONTRACT, 1, "left the process changed"},
    {11, FG_STATE_RESOURCE, FG_FAULT_NONE, 1, "DEVICE_LOST"},
    {14, FG_STATE_FAIL, FG_FAULT_CONTRACT, 1, "UNSUPPORTED after supports said yes"},
    {17, FG_STATE_FAIL, FG_FAULT_CRASH, 0, "backward"},
    {18, FG_STATE_FAIL, FG_FAULT_CRASH, 0, "supports"},
};

Test(run_mlp, every_misdeed_of_a_process_gets_its_verdict) {
    for (size_t i = 0; i < sizeof misbehaving / sizeof misbehaving[0]; i++) {
        char line[128];
        fg_client *client = open_client(fg_built("plugins/misbehaving.so"), 1.5);
        (void)snprintf(line, sizeof line, "mlp E=%d H=16 F=16 T=60", misbehaving[i].experts);
        fg_result result = run_line(client, line);
        cr_assert_eq(result.state, misbehaving[i].state, "%s: %s", line, result.reason);
        cr_assert_eq(result.fault, misbehaving[i].fault, "%s: %s", line, result.reason);
        cr_assert(strstr(result.reason, misbehaving[i].words) != NULL, "%s: %s", line,
                  result.reason);
        cr_assert(fg_client_alive(client) || !misbehaving[i].alive, "%s", line);
        fg_client_close(client);
    }
}

Test(run_mlp, outputs_of_a_case_do_not_depend_on_the_case_before) {
    fg_client *client = open_client("host", 0);
    fg_result first = run_line(client, ways[0]), again;
    for (size_t i = 1; i < sizeof ways / sizeof ways[0]; i++) {
        (void)run_line(client, ways[i]);
    }
    again = run_line(client, ways[0]);
    cr_assert_eq(first.elements_touched, again.elements_touched);
    cr_assert_eq(first.check_count, again.check_count);
    fg_client_close(client);
}

Test(run_mlp, every_failing_allocation_is_a_status_or_a_verdict) {
    fg_client *client = open_client("host", 0);
    fg_case value;
    fg_result result;
    int failed = 0;
    cr_assert_eq(fg_case_parse(ways[0], &value), FG_STATUS_OK);
    cr_assert_eq(fg_run_case(client, &value, &result), FG_STATUS_OK);
    size_t live = fg_alloc_live_total();
    for (int64_t n = 1;; n++) {
        fg_alloc_fail_at(n);
        fg_status status = fg_run_case(client, &value, &result);
        fg_alloc_fail_at(0);
        if (!fg_client_alive(client)) {
            fg_client_close(client);
            client = open_client("host", 0);
        } else {
            cr_assert_eq(fg_alloc_live_total(), live, "allocation %lld leaks", (long long)n);
        }
        if (status == FG_STATUS_OK && result.state == FG_STATE_PASS) {
            break;
        }
        cr_assert(status == FG_STATUS_NO_MEMORY ||
                      (status == FG_STATUS_OK && result.state == FG_STATE_RESOURCE),
                  "allocation %lld: %s %s", (long long)n, fg_status_name(status), result.reason);
        failed++;
    }
    cr_assert_geq(failed, 10);
    fg_client_close(client);
}
