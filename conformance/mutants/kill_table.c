/* Runs every row of mutants.tsv with its faulty backend or executor and with the right one, and
 * prints which check caught it: kill_table MUTANTS.TSV FUSEGATE FOLDER, where FOLDER holds NAME.so.
 * Exit code 0 when each fault is caught by the check that its row names and each right run passes,
 * 1 when not, 3 when something could not be run. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAME, KIND, PUBLIC_REPORT, CHECK, RUN, FIELDS };

/* A row, cut at its tabs. */
typedef struct row {
    char text[2048];
    char *fields[FIELDS];
} row;

static const char *program;
static const char *folder;

static int read_row(FILE *file, row *out) {
    while (fgets(out->text, sizeof out->text, file)) {
        out->text[strcspn(out->text, "\n")] = '\0';
        if (out->text[0] == '#' || out->text[0] == '\0') {
            continue;
        }
        char *rest = out->text;
        for (int i = 0; i < FIELDS; i++) {
            out->fields[i] = strsep(&rest, "\t");
            if (!out->fields[i]) {
                fprintf(stderr, "kill_table: found a row of %d fields, expected %d: %s\n", i,
                        FIELDS, out->text);
                return -1;
            }
        }
        return 1;
    }
    return 0;
}

/* Runs the program on a row's case or suite; a NULL plugin means the right implementation. Returns
 * its exit code, or -1. */
static int run(const row *mutant, const char *plugin, const char *report) {
    const char *what = mutant->fields[RUN];
    int suite = strncmp(what, "suite ", 6) == 0;
    char option[16];
    snprintf(option, sizeof option, "--%s", mutant->fields[KIND]);
    const char *arguments[] = {
        program,    "run",  suite ? "--suite" : "--case", suite ? what + 6 : what,
        "--report", report, plugin ? option : NULL,       plugin,
        NULL};
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execv(program, (char *const *)arguments);
        _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
        return -1;
    }
    return WEXITSTATUS(status);
}

/* Names the first failed check of a report and says whether the expected one failed; where a check
 * ran on a second backend its name goes on after '@'. */
static int read_report(const char *report, const char *expected, char first[64], int *named) {
    char path[640];
    snprintf(path, sizeof path, "%s/report.json", report);
    json_t *root = json_load_file(path, 0, NULL);
    if (!root) {
        return -1;
    }
    first[0] = '\0';
    *named = 0;
    size_t i = 0;
    size_t k = 0;
    json_t *one = NULL;
    json_t *check = NULL;
    json_array_foreach(json_object_get(root, "cases"), i, one) {
        json_array_foreach(json_object_get(one, "checks"), k, check) {
            const char *name = json_string_value(json_object_get(check, "name"));
            const char *state = json_string_value(json_object_get(check, "state"));
            if (name && state && strcmp(state, "fail") == 0) {
                size_t length = strcspn(name, "@");
                if (!first[0]) {
                    snprintf(first, 64, "%s", name);
                }
                *named |= length == strlen(expected) && strncmp(name, expected, length) == 0;
            }
        }
    }
    json_decref(root);
    return 0;
}

/* Exit code of the right implementation on a row's case; rows that follow one another with the same
 * case share a run. */
static int run_right(const row *mutant, const char *report) {
    static char last[sizeof mutant->text];
    static int code;
    if (strcmp(last, mutant->fields[RUN]) != 0) {
        snprintf(last, sizeof last, "%s", mutant->fields[RUN]);
        code = run(mutant, NULL, report);
    }
    return code;
}

/* Judges one row and prints its line; 0 when the fault was caught as the row says. */
static int judge(const row *mutant) {
    char plugin[512];
    char report[512];
    char first[64] = "";
    int named = 0;
    const char *name = mutant->fields[NAME];
    snprintf(plugin, sizeof plugin, "%s/%s.so", folder, name);
    snprintf(report, sizeof report, "%s/report-%s", folder, name);
    int code = run(mutant, plugin, report);
    if (code < 0 || code == 127 || read_report(report, mutant->fields[CHECK], first, &named)) {
        printf("%-28s %-20s %-20s not run (exit code %d)\n", name, "-", mutant->fields[CHECK],
               code);
        return 3;
    }
    int right = run_right(mutant, report);
    const char *verdict = code != 1 ? "SURVIVED"
                          : !named  ? "caught by another check only"
                          : right   ? "the right one fails too"
                                    : "killed";
    printf("%-28s %-20s %-20s %s\n", name, first[0] ? first : "-", mutant->fields[CHECK], verdict);
    return code == 1 && named && right == 0 ? 0 : 1;
}

int main(int count, char **arguments) {
    if (count != 4) {
        fprintf(stderr, "kill_table: found %d arguments, expected MUTANTS.TSV FUSEGATE FOLDER\n",
                count - 1);
        return 3;
    }
    program = arguments[2];
    folder = arguments[3];
    FILE *file = fopen(arguments[1], "r");
    if (!file) {
        fprintf(stderr, "kill_table: %s: %s\n", arguments[1], strerror(errno));
        return 3;
    }
    static row mutant;
    int rows = 0;
    int killed = 0;
    int worst = 0;
    int more = 0;
    printf("%-28s %-20s %-20s %s\n", "fault", "caught first by", "expected", "verdict");
    while ((more = read_row(file, &mutant)) > 0) {
        int code = judge(&mutant);
        rows++;
        killed += code == 0;
        worst = code > worst ? code : worst;
    }
    fclose(file);
    printf("%d of %d rows killed as expected\n", killed, rows);
    return more < 0 || rows == 0 ? 3 : worst;
}
