#ifndef FG_CONFORMANCE_CLI_MACHINE_H
#define FG_CONFORMANCE_CLI_MACHINE_H

#include "conformance/report/report.h"

/* Writes what a report says of the machine: processor, OpenBLAS and its core, device. */
void fg_machine_describe(fg_report *report);

/* Processors that this process may use, 1 or more. */
int32_t fg_machine_cores(void);

#endif
