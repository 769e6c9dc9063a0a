#ifndef FG_CONFORMANCE_RUN_H
#define FG_CONFORMANCE_RUN_H

#include "conformance/case/case.h"
#include "conformance/process/client.h"
#include "conformance/report/result.h"

/* Runs one case on a worker and judges it: fills *result and returns FG_STATUS_OK whenever there is
 * a verdict, also a failure, a refusal or a dead worker (crash, timeout: the caller starts
 * another). Anything else is this side's own trouble (FG_STATUS_NO_MEMORY, _IO): no verdict. */
fg_status fg_run_case(fg_client *client, const fg_case *value, fg_result *result);

/* The kinds: mlp calls the backend itself; plan, boundary and recompute drive the executor. */
fg_status fg_run_mlp(fg_client *client, const fg_case *value, fg_result *result);
fg_status fg_run_plan(fg_client *client, const fg_case *value, fg_result *result);
fg_status fg_run_boundary(fg_client *client, const fg_case *value, fg_result *result);
fg_status fg_run_recompute(fg_client *client, const fg_case *value, fg_result *result);

#endif
