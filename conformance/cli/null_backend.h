#ifndef FG_CONFORMANCE_CLI_NULL_BACKEND_H
#define FG_CONFORMANCE_CLI_NULL_BACKEND_H

#include "contract/backend.h"

/* A backend that claims everything and does nothing: what remains of a call's time on it is the
 * fuser's own. Host memory, device -1 to 7. */
const fg_backend *fg_null_backend(void);

#endif
