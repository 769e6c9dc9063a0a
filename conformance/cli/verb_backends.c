#include "conformance/cli/verb_backends.h"

#include "conformance/process/client.h"
#include <stdio.h>
#include <string.h>

/* Which of a backend's claims are printed, by word. */
static void print_traits(const fg_traits *traits) {
    static const struct {
        uint32_t flag;
        const char *name;
    } points[] = {{FG_ROUND_Y1_FORWARD, "y1_forward"},
                  {FG_ROUND_BIAS_AFTER, "bias_after"},
                  {FG_ROUND_ACT, "act"},
                  {FG_ROUND_GATED, "gated"},
                  {FG_ROUND_PROB, "prob"},
                  {FG_ROUND_HIDDEN, "hidden"},
                  {FG_ROUND_Y1_SAVED, "y1_saved"},
                  {FG_ROUND_HIDDEN_SAVED, "hidden_saved"},
                  {FG_ROUND_DHIDDEN, "dhidden"},
                  {FG_ROUND_DPROB, "dprob"},
                  {FG_ROUND_DLINEAR, "dlinear"},
                  {FG_ROUND_DACT, "dact"},
                  {FG_ROUND_DBIAS, "dbias_rounded"}};
    (void)printf("%16s %s memory, align %d/%d bytes, segments of %d rows, %d digits %s\n", "",
                 traits->memory == FG_MEMORY_HOST ? "host" : "device", (int)traits->base_align,
                 (int)traits->row_align, (int)traits->segment_align,
                 (int)traits->accumulator_digits,
                 traits->accumulator_truncates ? "truncated" : "to nearest");
    (void)printf("%16s%s%s%s%s%s\n", "", traits->deterministic ? " deterministic" : "",
                 traits->row_invariant ? " row-invariant" : "",
                 traits->writes_padding ? " writes-padding" : "",
                 traits->capturable ? " capturable" : "",
                 traits->flush_subnormals ? " flushes-subnormals" : "");
    (void)printf("%16s rounds", "");
    for (size_t p = 0; p < sizeof points / sizeof points[0]; p++) {
        if ((traits->rounding & points[p].flag) != 0) {
            (void)printf(" %s", points[p].name);
        }
    }
    (void)fputc('\n', stdout);
}

static void print_backend(const char *name) {
    fg_client *client = NULL;
    fg_traits traits;
    const fg_client_options options = {.backend = name};
    fg_status status = fg_client_open(&options, &client);
    if (status == FG_STATUS_OK) {
        status = fg_client_traits(client, -1, &traits);
    }
    if (status == FG_STATUS_OK) {
        (void)printf("%-16s available\n", name);
        print_traits(&traits);
    } else {
        (void)printf("%-16s not available: %s\n", name, fg_message());
    }
    fg_client_close(client);
}

int fg_verb_backends(const fg_options *options) {
    static const char *const names[] = {"reference", "host", "cuda", "recorder"};
    if (options->backend != NULL) {
        print_backend(options->backend);
        return FG_EXIT_OK;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        print_backend(names[i]);
    }
    (void)printf("%-16s a shared library that exports fg_backend_entry\n", "PATH.so");
    (void)printf("%-16s known, but not built yet\n", "exec:CMD");
    return FG_EXIT_OK;
}
