#include "conformance/suites/program_run.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Right cases before and after one that hangs, so that a stop finds a run that has got just so far,
 * however slow the machine. */
enum { BEFORE = 8, AFTER = 7, CASES = BEFORE + 1 + AFTER };
#define RIGHT "mlp E=2 H=32 F=32 splits=3,5 seed="
#define HANGS "mlp E=7 H=32 F=32 splits=even T=14"

static fg_program program;
static char folder[256], suite[300], plugin[4600];

#define RUN(...) fg_program_run(&program, NULL, (const char *const[]){__VA_ARGS__, NULL})

static void setup(void) {
    static char text[CASES * 80];
    size_t length = 0;
    fg_folder_make(folder);
    for (int i = 1; i <= CASES; i++) {
        length +=
            i == BEFORE + 1
                ? (size_t)snprintf(text + length, sizeof text - length, HANGS "\n")
                : (size_t)snprintf(text + length, sizeof text - length, RIGHT "%d\n", 100 + i);
    }
    fg_file_write(folder, "many.case", text);
    (void)snprintf(suite, sizeof suite, "%s/many.case", folder);
    (void)snprintf(plugin, sizeof plugin, "%s", fg_built("plugins/misbehaving.so"));
}

static void teardown(void) {
    fg_folder_remove(folder);
}

TestSuite(resume, .init = setup, .fini = teardown);

static int lines_of_journal(void) {
    int count = 0;
    char *text = fg_file_text(folder, "journal.jsonl");
    for (const char *at = text; at != NULL && (at = strchr(at, '\n')) != NULL; at++) {
        count++;
    }
    free(text);
    return count;
}

static void await_journal(int lines) {
    for (int i = 0; i < 5000 && lines_of_journal() < lines; i++) {
        (void)usleep(2000);
    }
    cr_assert_geq(lines_of_journal(), lines, "the run does not get on: %s", program.error);
}

static json_t *report(void) {
    char *text = fg_file_text(folder, "report.json");
    cr_assert_not_null(text);
    json_t *value = json_loads(text, 0, NULL);
    cr_assert_not_null(value, "%s", text);
    free(text);
    return value;
}

/* Demands a report that is readable and says that it is no verdict. */
static size_t partial_cases(void) {
    json_t *value = report();
    cr_assert(json_is_true(json_object_get(value, "partial")));
    cr_assert_eq(json_integer_value(json_object_get(value, "exit_code")), 3);
    size_t cases = json_array_size(json_object_get(value, "cases"));
    json_decref(value);
    return cases;
}

/* Demands that every case is in the journal and the report, exactly once. */
static void complete(void) {
    int hung = 0;
    json_t *value = report();
    const json_t *cases = json_object_get(value, "cases");
    cr_assert(json_is_false(json_object_get(value, "partial")));
    cr_assert_eq(json_array_size(cases), CASES);
    for (int i = 1; i <= CASES; i++) {
        char expected[80];
        const json_t *one = json_array_get(cases, (size_t)i - 1);
        const char *line = json_string_value(json_object_get(one, "line"));
        if (i == BEFORE + 1) {
            (void)snprintf(expected, sizeof expected, "%s", HANGS);
        } else {
            (void)snprintf(expected, sizeof expected, "%s%d", RIGHT, 100 + i);
        }
        cr_assert_str_eq(line, expected);
        hung += strcmp(json_string_value(json_object_get(one, "fault")), "timeout") == 0;
    }
    cr_assert_eq(hung, 1);
    cr_assert_eq(lines_of_journal(), CASES + 1);
    json_decref(value);
}

/* Starts the run and lets it come to the case that hangs. */
static void start_many(void) {
    fg_program_start(&program, NULL,
                     (const char *const[]){"run", "--suite", suite, "--backend", plugin, "--report",
                                           folder, "--jobs", "1", NULL});
    await_journal(BEFORE + 1);
}

/* Stops a run with a signal and finishes it with --resume. */
static void stopped_and_resumed(int signal_number, int code) {
    start_many();
    cr_assert_eq(kill(program.pid, signal_number), 0);
    fg_program_wait(&program, 30);
    cr_assert_eq(program.code, code, "%s%s", program.text, program.error);
    cr_assert_eq(lines_of_journal(), BEFORE + 1);
    char *kept = fg_file_text(folder, "journal.jsonl");
    (void)partial_cases();
    RUN("run", "--resume", folder, "--timeout", "1");
    cr_assert_eq(program.code, 1, "%s%s", program.text, program.error);
    complete();
    char *whole = fg_file_text(folder, "journal.jsonl");
    cr_assert_eq(strncmp(kept, whole, strlen(kept)), 0, "what was finished was done again");
    free(kept);
    free(whole);
}

Test(resume, after_an_interrupt_completes_the_report) {
    stopped_and_resumed(SIGINT, 3);
}

Test(resume, after_a_termination_completes_the_report) {
    stopped_and_resumed(SIGTERM, 3);
}

Test(resume, after_a_kill_completes_the_report) {
    stopped_and_resumed(SIGKILL, 128 + SIGKILL);
}

Test(resume, an_interrupted_report_holds_what_was_finished) {
    start_many();
    cr_assert_eq(kill(program.pid, SIGINT), 0);
    fg_program_wait(&program, 30);
    cr_assert_eq(program.code, 3);
    cr_assert_not_null(strstr(program.text, "interrupted (exit code 3)"), "%s", program.text);
    cr_assert_eq(partial_cases(), (size_t)lines_of_journal() - 1);
    char *junit = fg_file_text(folder, "junit.xml");
    cr_assert_not_null(strstr(junit, "</testsuite>"));
    free(junit);
}

Test(resume, of_a_finished_run_runs_nothing) {
    RUN("run", "--case", "mlp E=2 H=32 F=32 splits=1,2", "--report", folder);
    cr_assert_leq(program.code, 4);
    int code = program.code, lines = lines_of_journal();
    RUN("run", "--resume", folder);
    cr_assert_eq(program.code, code);
    cr_assert_eq(lines_of_journal(), lines);
}

Test(resume, of_another_run_is_refused_with_the_difference) {
    static const struct {
        const char *words[3], *message;
    } rows[] = {
        {{"--backend", "reference"}, "--backend 'host'"},
        {{"--suite", "boundary"}, "--suite"},
        {{"--seed", "4"}, "--seed"},
        {{"--executor", "./x.so"}, "--executor 'fuser'"},
        {{"--filter", "*E=3*"}, "--filter"},
        {{"--report", "/tmp"}, "--report"},
    };
    RUN("run", "--case", "mlp E=2 H=32 F=32 splits=1,2", "--report", folder);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        RUN("run", "--resume", folder, rows[r].words[0], rows[r].words[1]);
        cr_assert_eq(program.code, 2, "%s%s", program.text, program.error);
        cr_assert_not_null(strstr(program.error, rows[r].message), "%s", program.error);
    }
    RUN("run", "--resume", folder, "--backend", "host");
    cr_assert_leq(program.code, 1, "the same is no difference: %s", program.error);
}

/* Puts another text of the same length into the journal's first line. */
static void journal_change(const char *key) {
    char *text = fg_file_text(folder, "journal.jsonl"), *at = strstr(text, key);
    cr_assert_not_null(at);
    at += strlen(key) + 3;
    *at = *at == '0' ? '1' : '0';
    fg_file_write(folder, "journal.jsonl", text);
    free(text);
}

Test(resume, with_another_binary_is_refused) {
    static const char *const keys[] = {"program_hash", "worker_hash", "backend_hash",
                                       "executor_hash", "selection_hash"};
    RUN("run", "--case", "mlp E=2 H=32 F=32 splits=1,2", "--report", folder);
    char *right = fg_file_text(folder, "journal.jsonl");
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        fg_file_write(folder, "journal.jsonl", right);
        journal_change(keys[k]);
        RUN("run", "--resume", folder);
        cr_assert_eq(program.code, 2, "%s", keys[k]);
        cr_assert_not_null(strstr(program.error, "cannot resume"), "%s", program.error);
    }
    free(right);
}

Test(resume, of_what_is_no_report_is_refused) {
    RUN("run", "--resume", "/no/such/folder");
    cr_assert_eq(program.code, 2);
    cr_assert_not_null(strstr(program.error, "/no/such/folder"));
    fg_file_write(folder, "journal.jsonl", "hello\n");
    RUN("run", "--resume", folder);
    cr_assert_eq(program.code, 2);
    cr_assert_not_null(strstr(program.error, "journal.jsonl:1"), "%s", program.error);
}

/* A child of a process or of one of its threads; 0 when it has none. */
static pid_t child_of(pid_t parent) {
    char command[128], line[64] = "";
    (void)snprintf(command, sizeof command, "cat /proc/%d/task/*/children 2>/dev/null",
                   (int)parent);
    FILE *pipe = popen(command, "re");
    cr_assert_not_null(pipe);
    (void)!fgets(line, sizeof line, pipe);
    (void)pclose(pipe);
    return (pid_t)strtol(line, NULL, 10);
}

/* Starts the run and gives the worker that hangs. */
static pid_t start_hanging(void) {
    start_many();
    (void)usleep(100000);
    pid_t worker = child_of(program.pid);
    cr_assert_gt(worker, 0);
    return worker;
}

static void await_end(pid_t pid) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    for (int i = 0; i < 1000; i++) {
        char text[64];
        FILE *file = fopen(path, "re");
        size_t length = file != NULL ? fread(text, 1, sizeof text, file) : 0;
        if (file != NULL) {
            (void)fclose(file);
        }
        if (length == 0) {
            return;
        }
        (void)usleep(2000);
    }
    cr_assert_fail("worker %d lives on", (int)pid);
}

Test(resume, a_hanging_worker_dies_with_a_killed_run) {
    pid_t worker = start_hanging();
    cr_assert_eq(kill(program.pid, SIGKILL), 0);
    fg_program_wait(&program, 10);
    await_end(worker);
    (void)partial_cases();
    cr_assert_eq(lines_of_journal(), BEFORE + 1, "only the case in hand is lost");
}

Test(resume, an_interrupt_does_not_wait_for_a_hang) {
    pid_t worker = start_hanging();
    cr_assert_eq(kill(program.pid, SIGINT), 0);
    fg_program_wait(&program, 10);
    cr_assert_eq(program.code, 3, "%s", program.error);
    await_end(worker);
    cr_assert_eq(partial_cases(), BEFORE);
}

/* Runs one case on a terminal and gives what it printed. */
static void on_terminal(const char *environment, char *text, size_t size) {
    char path[4600], *arguments[] = {path, (char[]){"run"}, (char[]){"--case"},
                                     (char[]){"mlp E=2 H=32 F=32 splits=1,2"}, NULL};
    char *variables[512] = {(char *)(size_t)environment};
    size_t count = environment != NULL ? 1 : 0, length = 0;
    pid_t pid = 0;
    posix_spawn_file_actions_t actions;
    (void)snprintf(path, sizeof path, "%s", fg_built("fusegate"));
    for (char **at = environ; *at != NULL && count + 1 < 512; at++) {
        if (strncmp(*at, "NO_COLOR", 8) != 0) {
            variables[count++] = *at;
        }
    }
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    cr_assert_geq(master, 0);
    cr_assert_eq(grantpt(master), 0);
    cr_assert_eq(unlockpt(master), 0);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, 1, ptsname(master), O_RDWR | O_NOCTTY, 0);
    cr_assert_eq(posix_spawn(&pid, path, &actions, NULL, arguments, variables), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    for (ssize_t got; length + 1 < size; length += (size_t)got) {
        got = read(master, text + length, size - 1 - length);
        if (got <= 0) {
            break;
        }
    }
    text[length] = '\0';
    (void)close(master);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

Test(resume, a_terminal_gets_progress_and_color_unless_refused) {
    static char text[65536];
    on_terminal(NULL, text, sizeof text);
    cr_assert_not_null(strstr(text, "1 of 1 cases"), "%s", text);
    cr_assert_not_null(strstr(text, "\033[32mverdict"), "%s", text);
    on_terminal("NO_COLOR=1", text, sizeof text);
    cr_assert_null(strstr(text, "\033[32m"), "%s", text);
    cr_assert_not_null(strstr(text, "verdict: conformant"));
}
