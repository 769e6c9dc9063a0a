#include "conformance/suites/fuser_threads.h"
#include "fuser/call_gate.h"
#include <criterion/criterion.h>
#include <string.h>

#define PASSES(body)                                                                               \
    do {                                                                                           \
        const char *wrong = body();                                                                \
        cr_assert_null(wrong, "%s", wrong);                                                        \
    } while (0)

Test(fuser_threads, counts_stay_exact_and_results_right) {
    PASSES(threads_share_a_recipe);
}

Test(fuser_threads, a_key_that_several_miss_is_built_once) {
    PASSES(threads_build_a_plan_once);
}

Test(fuser_threads, a_failed_build_ends_one_call) {
    PASSES(threads_survive_failing_builds);
}

Test(fuser_threads, recipes_may_differ_between_threads) {
    PASSES(threads_change_recipes);
}

Test(fuser_threads, steps_clears_and_passes_may_come_at_any_time) {
    PASSES(threads_step_and_clear);
}

Test(fuser_threads, step_and_reset_wait_for_calls_in_flight) {
    PASSES(step_and_reset_wait_for_calls_in_flight);
}

Test(fuser_threads, a_new_gate_is_open_wherever_it_lies) {
    fg_call_gate gate;
    memset(&gate, 0xff, sizeof gate);
    cr_assert_eq(fg_call_gate_init(&gate), FG_STATUS_OK);
    cr_assert(atomic_load(&gate.held) == 0 && gate.in_flight == 0 && gate.paused == 0 &&
              gate.sleepers == 0 && gate.epoch == 0);
    fg_call_gate_release(&gate);
}
