/* What a worker says of code under test that breaks its contract outside a case: traits out of
 * range, a bad end. */

#include "conformance/process/client.h"
#include "conformance/suites/program_run.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static fg_client *misbehaving(double timeout) {
    fg_client *client = NULL;
    const fg_client_options options = {.backend = fg_built("plugins/misbehaving.so"),
                                       .timeout = timeout};
    cr_assert_eq(fg_client_open(&options, &client), FG_STATUS_OK, "%s", fg_message());
    return client;
}

Test(worker_contract, traits_out_of_range_are_refused_by_name) {
    static const char *const rows[][2] = {{"memory=2", "memory 2"},
                                          {"deterministic=-1", "deterministic -1"},
                                          {"base_align=3", "base_align 3"},
                                          {"base_align=8192", "base_align 8192"},
                                          {"row_align=-4", "row_align -4"},
                                          {"segment_align=48", "segment_align 48"},
                                          {"accumulator_digits=7", "accumulator_digits 7"},
                                          {"accumulator_digits=54", "accumulator_digits 54"},
                                          {"accumulator_block=4097", "accumulator_block 4097"},
                                          {"operand_digits=25", "operand_digits 25"},
                                          {"rounding=0x2000", "rounding 0x2000"},
                                          {"activation_error=-1", "activation_error -1"},
                                          {"activation_error=nan", "activation_error nan"},
                                          {"activation_error=1025", "activation_error 1025"}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        fg_traits traits;
        (void)setenv("FUSEGATE_TEST_TRAIT", rows[r][0], 1);
        fg_client *client = misbehaving(0);
        cr_assert_eq(fg_client_traits(client, -1, &traits), FG_STATUS_ABI, "%s", rows[r][0]);
        cr_assert_not_null(strstr(fg_message(), rows[r][1]), "%s", fg_message());
        cr_assert_not_null(strstr(fg_message(), "expected"), "%s", fg_message());
        fg_client_close(client);
    }
}

static fg_traits traits_with(const char *trait) {
    fg_traits traits;
    (void)setenv("FUSEGATE_TEST_TRAIT", trait, 1);
    fg_client *client = misbehaving(0);
    cr_assert_eq(fg_client_traits(client, -1, &traits), FG_STATUS_OK, "%s: %s", trait,
                 fg_message());
    fg_client_close(client);
    return traits;
}

Test(worker_contract, a_trait_left_zero_has_its_default) {
    cr_assert_eq(traits_with("base_align=0").base_align, 1);
    cr_assert_eq(traits_with("row_align=0").row_align, 1);
    cr_assert_eq(traits_with("segment_align=0").segment_align, 1);
    cr_assert_eq(traits_with("accumulator_digits=0").accumulator_digits, 24);
    cr_assert_eq(traits_with("accumulator_block=0").accumulator_block, 1);
    cr_assert_eq(traits_with("operand_digits=0").operand_digits, 24);
    cr_assert_eq(traits_with("activation_error=0").activation_error, 8.0);
    cr_assert_eq(traits_with("base_align=4096").base_align, 4096);
    cr_assert_eq(traits_with("operand_digits=53").operand_digits, 53);
    cr_assert_eq(traits_with("accumulator_digits=8").accumulator_digits, 8);
    cr_assert_eq(traits_with("rounding=0x1fff").rounding, 0x1fff);
}

Test(worker_contract, how_it_ends_is_told) {
    static const struct {
        const char *what;
        fg_status status;
        const char *words;
    } rows[] = {{"", FG_STATUS_OK, ""},
                {"crash", FG_STATUS_CRASH, "ended with signal 11 (Segmentation fault) at exit"},
                {"code", FG_STATUS_CRASH, "ended with exit code 7 at exit"},
                {"print", FG_STATUS_PROTOCOL, "wrote 26 bytes to standard output at exit"},
                {"hang", FG_STATUS_TIMEOUT, "did not end within 2 s"}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        fg_traits traits;
        (void)setenv("FUSEGATE_TEST_EXIT", rows[r].what, 1);
        fg_client *client = misbehaving(1);
        pid_t pid = (pid_t)fg_client_pid(client);
        cr_assert_eq(fg_client_finish(client), rows[r].status, "%s", rows[r].what);
        cr_assert_not_null(strstr(fg_message(), rows[r].words), "%s: %s", rows[r].what,
                           fg_message());
        cr_assert_eq(kill(pid, 0), -1, "it is reaped");
        cr_assert_not(fg_client_alive(client));
        cr_assert_neq(fg_client_traits(client, -1, &traits), FG_STATUS_OK);
        cr_assert_eq(fg_client_finish(client), FG_STATUS_OK, "told once");
        fg_client_close(client);
    }
}
