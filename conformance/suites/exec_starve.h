#ifndef FG_CONFORMANCE_SUITES_EXEC_STARVE_H
#define FG_CONFORMANCE_SUITES_EXEC_STARVE_H

#include "conformance/suites/exec_fixture.h"

/* Runs a case on recorder with its first allocation failing, then its second, up to its last: each
 * must end in a status or a failed check, and give back every byte. Asserts. */
void fg_exec_starve(const char *line, fg_status (*run)(fg_exec_fixture *fixture));

#endif
