/* What the command says where there is no case to say it of. */

#include "conformance/suites/program_run.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static fg_program program;

#define SMALL "mlp E=2 H=32 F=32 splits=3,5"

/* Exit code of a run whose output goes elsewhere. */
static int code_with(const char *case_line, const char *redirection) {
    char command[5000];
    (void)snprintf(command, sizeof command, "%s run --case '%s' %s", fg_built("fusegate"),
                   case_line, redirection);
    int status = system(command); // NOLINT(cert-env33-c): a shell is what redirects
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(cli_output, a_verdict_that_cannot_be_written_is_no_success) {
    char folder[256], redirection[300];
    fg_folder_make(folder);
    static const char *const lost[] = {"> /dev/full", ">&-"};
    for (size_t l = 0; l < sizeof lost / sizeof lost[0]; l++) {
        (void)snprintf(redirection, sizeof redirection, "%s 2> %s/error", lost[l], folder);
        cr_assert_eq(code_with(SMALL, redirection), 3, "%s", lost[l]);
        char *error = fg_file_text(folder, "error");
        cr_assert_not_null(strstr(error, "cannot write standard output"), "%s", error);
        free(error);
    }
    cr_assert_eq(code_with(SMALL, "> /dev/null 2>&-"), 0, "stderr is not owed");
    fg_folder_remove(folder);
}

/* Enough failures that the words about them are written while the journal is open. */
Test(cli_output, words_for_a_closed_descriptor_reach_no_file_of_the_run) {
    char folder[256], cases[6000] = "", command[10000], plugin[4600];
    fg_folder_make(folder);
    for (int seed = 0; seed < 40; seed++) {
        size_t used = strlen(cases);
        (void)snprintf(cases + used, sizeof cases - used, SMALL " seed=%d\n", seed);
    }
    fg_file_write(folder, "many.cases", cases);
    (void)snprintf(plugin, sizeof plugin, "%s", fg_built("plugins/careless.so"));
    (void)snprintf(command, sizeof command,
                   "%s run --suite %s/many.cases --backend %s --report %s >&- 2> %s/error",
                   fg_built("fusegate"), folder, plugin, folder, folder);
    int status = system(command); // NOLINT(cert-env33-c): a shell is what redirects
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1, "status %d", status);
    char *journal = fg_file_text(folder, "journal.jsonl");
    cr_assert_not_null(journal);
    int lines = 0;
    for (const char *line = strtok(journal, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        cr_assert_eq(line[0], '{', "the journal has: %s", line);
        lines++;
    }
    cr_assert_eq(lines, 41, "%d lines, expected the run and its cases", lines);
    free(journal);
    fg_folder_remove(folder);
}

Test(cli_output, a_backend_that_misbehaves_while_loading_is_refused) {
    static const char *const rows[][2] = {
        {"FUSEGATE_TEST_LOAD=print", "while loading: 26 bytes written to standard output"},
        {"FUSEGATE_TEST_LOAD=unsettle", "while loading: left the process changed"},
        {"FUSEGATE_TEST_LOAD=open", "during device_open"},
        {"FUSEGATE_TEST_LOAD=traits", "during traits"},
        {"FUSEGATE_TEST_TRAIT=base_align=3", "found trait base_align 3, expected"}};
    char path[4600];
    (void)snprintf(path, sizeof path, "%s", fg_built("plugins/misbehaving.so"));
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        (void)fg_program_run(
            &program, rows[r][0],
            (const char *const[]){"run", "--case", SMALL, "--backend", path, NULL});
        cr_assert_eq(program.code, 3, "%s: %d", rows[r][0], program.code);
        cr_assert_not_null(strstr(program.error, rows[r][1]), "%s", program.error);
    }
}
