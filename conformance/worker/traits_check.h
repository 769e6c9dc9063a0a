#ifndef FG_CONFORMANCE_WORKER_TRAITS_CHECK_H
#define FG_CONFORMANCE_WORKER_TRAITS_CHECK_H

#include "contract/backend.h"

/* Puts a trait's default (contract/backend.h) where the backend left it zero, and checks every
 * trait's range. FG_STATUS_ABI names the backend, the trait, what was found and expected. */
fg_status fg_traits_check(const char *backend, fg_traits *traits);

#endif
