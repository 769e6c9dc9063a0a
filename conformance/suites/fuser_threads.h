#ifndef FG_CONFORMANCE_SUITES_FUSER_THREADS_H
#define FG_CONFORMANCE_SUITES_FUSER_THREADS_H

/* What threads that share one fuser must find, as plain functions, so that the Criterion suite and
 * the program for the thread sanitizer run the same. Each returns NULL, or what went wrong. */

/* Threads with tensors of their own and one recipe: exact counts, right results. */
const char *threads_share_a_recipe(void);

/* Threads that miss on one key at once: one build, the others wait for it. */
const char *threads_build_a_plan_once(void);

/* Builds that fail while others wait: each failure ends one call, then one build succeeds. */
const char *threads_survive_failing_builds(void);

/* Threads with two recipes: every change is a reset, every result right. */
const char *threads_change_recipes(void);

/* Steps, clears and new passes while others train. */
const char *threads_step_and_clear(void);

/* A call held in its kernel: a reset and a step wait for it. */
const char *step_and_reset_wait_for_calls_in_flight(void);

#endif
