#ifndef FG_CONFORMANCE_SUITES_BACKEND_JUDGE_H
#define FG_CONFORMANCE_SUITES_BACKEND_JUDGE_H

/* Compares what a fixture's calls wrote with the float64 oracle. Whole runs only. */

#include "conformance/suites/backend_fixture.h"

/* Every element of y and of the wanted gradients of every expert lies within its bound; else ends
 * the test with the repro text `what`, the place and the numbers. */
void fg_fixture_judge(fg_fixture *fixture, const char *what, uint32_t mask, uint32_t accumulate);

#endif
