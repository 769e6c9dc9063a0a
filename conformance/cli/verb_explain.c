#include "conformance/cli/verb_explain.h"

#include "conformance/judge/explain.h"
#include "conformance/process/client.h"

static int explain_case(const fg_case *value, const char *backend) {
    fg_client *client = NULL;
    fg_traits traits;
    const fg_client_options options = {.backend = backend};
    fg_status status = fg_client_open(&options, &client);
    if (status != FG_STATUS_OK) {
        return fg_exit_message(fg_exit_of_status(status));
    }
    status = fg_client_traits(client, -1, &traits);
    fg_client_close(client);
    if (status != FG_STATUS_OK) {
        return fg_exit_message(FG_EXIT_INFRASTRUCTURE);
    }
    (void)printf("rounding points and accumulator of backend %s\n", backend);
    status = fg_explain(stdout, value, &traits);
    return status == FG_STATUS_OK ? FG_EXIT_OK : fg_exit_message(fg_exit_of_status(status));
}

int fg_verb_explain(const fg_options *options) {
    fg_case value;
    if (fg_case_parse(options->argument, &value) != FG_STATUS_OK) {
        return fg_exit_message(FG_EXIT_USAGE);
    }
    return explain_case(&value, options->backend != NULL ? options->backend : "host");
}
