/* Threads that share one fuser, for the thread sanitizer. */

#include "conformance/suites/fuser_threads.h"
#include <stdio.h>

int main(void) {
    static const struct {
        const char *name;
        const char *(*body)(void);
    } checks[] = {{"one recipe", threads_share_a_recipe},
                  {"one build", threads_build_a_plan_once},
                  {"failing builds", threads_survive_failing_builds},
                  {"two recipes", threads_change_recipes},
                  {"steps and clears", threads_step_and_clear},
                  {"waiting for calls", step_and_reset_wait_for_calls_in_flight}};
    int failures = 0;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        const char *wrong = checks[i].body();
        printf("%s fuser threads, %s%s%s\n", wrong != NULL ? "FAILED" : "ok", checks[i].name,
               wrong != NULL ? ": " : "", wrong != NULL ? wrong : "");
        failures += wrong != NULL;
    }
    return failures;
}
