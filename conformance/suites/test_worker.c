#include "conformance/case/case.h"
#include "conformance/process/client.h"
#include "conformance/process/client_process.h"
#include "conformance/run.h"
#include "conformance/suites/program_run.h"
#include "contract/alloc.h"

#include <cblas.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static fg_client *open_client(const char *backend, double timeout) {
    fg_client *client = NULL;
    const fg_client_options options = {.backend = backend, .timeout = timeout};
    openblas_set_num_threads(1);
    cr_assert_eq(fg_client_open(&options, &client), FG_STATUS_OK, "%s", fg_message());
    return client;
}

/* Whether a process ends within two seconds (it may be nobody's child, or stay as a zombie). */
static int ends(pid_t pid) {
    char path[64];
    for (int i = 0; i < 1000; i++) {
        char state = 'X';
        (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        FILE *file = fopen(path, "re");
        if (file != NULL) {
            int read = fscanf(file, "%*d (%*[^)]) %c", &state);
            (void)fclose(file);
            state = read == 1 ? state : 'X';
        }
        if (state == 'X' || state == 'Z') {
            return 1;
        }
        (void)usleep(2000);
    }
    return 0;
}

/* Runs a case line and gives its result. */
static fg_result run_line(fg_client *client, const char *line) {
    static fg_case value;
    fg_result result = {0};
    cr_assert_eq(fg_case_parse(line, &value), FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(fg_run_case(client, &value, &result), FG_STATUS_OK, "%s", fg_message());
    return result;
}

Test(worker, is_another_process_and_its_death_is_seen) {
    fg_traits traits;
    fg_client *client = open_client("host", 0);
    pid_t pid = (pid_t)fg_client_pid(client);
    cr_assert_gt(pid, 0);
    cr_assert_neq(pid, getpid());
    cr_assert_eq(kill(pid, 0), 0, "it runs");
    cr_assert_eq(fg_client_traits(client, -1, &traits), FG_STATUS_OK);
    cr_assert_eq(kill(pid, SIGKILL), 0);
    cr_assert_eq(fg_client_traits(client, -1, &traits), FG_STATUS_CRASH);
    cr_assert_not_null(strstr(fg_message(), "signal 9"), "%s", fg_message());
    cr_assert_not(fg_client_alive(client));
    cr_assert_eq(kill(pid, 0), -1, "it is reaped");
    cr_assert_eq(errno, ESRCH);
    cr_assert_eq(fg_client_traits(client, -1, &traits), FG_STATUS_CRASH, "and stays dead");
    fg_client_close(client);
}

Test(worker, ends_when_its_channel_closes) {
    fg_client *client = open_client("host", 0);
    pid_t pid = (pid_t)fg_client_pid(client);
    double before = fg_seconds_now();
    fg_client_close(client);
    cr_assert_lt(fg_seconds_now() - before, 1.5, "it was killed, not ended");
    cr_assert_eq(kill(pid, 0), -1);
}

Test(worker, ends_with_its_parent) {
    int fds[2];
    int32_t pid = 0;
    cr_assert_eq(pipe(fds), 0);
    pid_t parent = fork();
    if (parent == 0) {
        fg_client *client = NULL;
        const fg_client_options options = {.backend = "host"};
        if (fg_client_open(&options, &client) == FG_STATUS_OK) {
            pid = fg_client_pid(client);
        }
        (void)!write(fds[1], &pid, sizeof pid);
        (void)raise(SIGKILL);
    }
    cr_assert_eq(read(fds[0], &pid, sizeof pid), (ssize_t)sizeof pid);
    cr_assert_eq(waitpid(parent, NULL, 0), parent);
    cr_assert_gt(pid, 0);
    cr_assert(ends(pid), "worker %d outlives its parent", (int)pid);
}

Test(worker, tells_what_a_crash_was_and_its_last_words) {
    fg_client *client = open_client(fg_built("plugins/misbehaving.so"), 0);
    fg_result result = run_line(client, "mlp E=10 H=32 F=32 splits=even T=20");
    cr_assert_eq(result.state, FG_STATE_FAIL);
    cr_assert_eq(result.fault, FG_FAULT_CRASH);
    cr_assert_not_null(strstr(result.reason, "signal 6"), "%s", result.reason);
    cr_assert_not_null(strstr(result.reason, "tile 3 lost its way"), "%s", result.reason);
    cr_assert_not(fg_client_alive(client));
    fg_client_close(client);
}

Test(worker, that_hangs_is_killed_in_time) {
    fg_client *client = open_client(fg_built("plugins/misbehaving.so"), 0.5);
    pid_t pid = (pid_t)fg_client_pid(client);
    double before = fg_seconds_now();
    fg_result result = run_line(client, "mlp E=7 H=32 F=32 splits=even T=20");
    cr_assert_eq(result.fault, FG_FAULT_TIMEOUT, "%s", result.reason);
    cr_assert_lt(fg_seconds_now() - before, 5.0);
    cr_assert_eq(kill(pid, 0), -1);
    fg_client_close(client);
}

Test(worker, counts_bytes_written_to_standard_output) {
    fg_client *client = open_client(fg_built("plugins/misbehaving.so"), 0);
    cr_assert_eq(fg_client_stdout_bytes(client), 0);
    fg_result result = run_line(client, "mlp E=6 H=32 F=32 splits=even T=20");
    cr_assert_eq(result.fault, FG_FAULT_CONTRACT, "%s", result.reason);
    cr_assert_not_null(strstr(result.reason, "standard output"), "%s", result.reason);
    cr_assert(fg_client_alive(client), "the worker lives on");
    result = run_line(client, "mlp E=4 H=32 F=32 splits=even T=20");
    cr_assert_eq(result.state, FG_STATE_PASS, "the next case is not blamed: %s", result.reason);
    fg_client_close(client);
}

Test(worker, puts_changed_process_state_back_and_tells) {
    static const char *const changed[] = {"flush-to-zero", "denormals-are-zero", "locale",
                                          "handler of signal 10", "working directory"};
    fg_client *client = open_client(fg_built("plugins/misbehaving.so"), 0);
    cr_assert_str_empty(fg_client_state_changes(client));
    fg_result result = run_line(client, "mlp E=9 H=32 F=32 splits=even T=20");
    cr_assert_eq(result.fault, FG_FAULT_CONTRACT, "%s", result.reason);
    for (size_t c = 0; c < sizeof changed / sizeof changed[0]; c++) {
        cr_assert_not_null(strstr(result.reason, changed[c]), "%s: %s", changed[c], result.reason);
    }
    result = run_line(client, "mlp E=4 H=32 F=32 splits=even T=20");
    cr_assert_eq(result.state, FG_STATE_PASS, "%s", result.reason);
    fg_client_close(client);
}

Test(worker, watches_state_while_loading_too) {
    (void)setenv("FUSEGATE_TEST_LOAD", "unsettle", 1);
    fg_client *client = open_client(fg_built("plugins/misbehaving.so"), 0);
    cr_assert_not_null(strstr(fg_client_state_changes(client), "flush-to-zero"));
    cr_assert_str_empty(fg_client_state_changes(client), "told once");
    fg_client_close(client);
}

Test(worker, statuses_that_speak_of_the_worker_are_not_the_backends_to_give) {
    fg_client *client = open_client(fg_built("plugins/misbehaving.so"), 0);
    fg_result result = run_line(client, "mlp E=13 H=32 F=32 splits=even T=20");
    cr_assert_eq(result.state, FG_STATE_FAIL);
    cr_assert_eq(result.fault, FG_FAULT_CONTRACT, "%s", result.reason);
    cr_assert_not_null(strstr(result.reason, "status 15"), "%s", result.reason);
    cr_assert(fg_client_alive(client));
    fg_client_close(client);
}

Test(worker, copies_regions_for_device_memory) {
    fg_client *client = open_client(fg_built("plugins/device_memory.so"), 0);
    fg_traits traits;
    cr_assert_eq(fg_client_traits(client, -1, &traits), FG_STATUS_OK);
    cr_assert_eq(traits.memory, FG_MEMORY_DEVICE);
    fg_result result = run_line(
        client, "mlp E=4 H=64 F=64 splits=5,0,17,3 T=32 bias=1 data=normal mode=recompute");
    cr_assert_eq(result.state, FG_STATE_PASS, "%s", result.reason);
    cr_assert_gt(result.elements_compared, 0);
    fg_client_close(client);
}

/* How a client fails to open. */
static void fails_to_open(const char *backend, const char *executor, fg_status expected,
                          const char *words) {
    fg_client *client = NULL;
    const fg_client_options options = {.backend = backend, .executor = executor, .timeout = 0.5};
    cr_assert_eq(fg_client_open(&options, &client), expected, "%s %s: %s", backend,
                 executor != NULL ? executor : "", fg_message());
    cr_assert_null(client);
    cr_assert_not_null(strstr(fg_message(), words), "'%s' is not in: %s", words, fg_message());
}

Test(worker, loading_says_what_was_found_and_expected) {
    char folder[256], text[300], one_slot[4600];
    fg_folder_make(folder);
    fg_file_write(folder, "text.so", "not a library\n");
    (void)snprintf(text, sizeof text, "%s/text.so", folder);
    (void)snprintf(one_slot, sizeof one_slot, "%s", fg_built("plugins/one_slot_executor.so"));
    fails_to_open("hots", NULL, FG_STATUS_NOT_FOUND, "'host'");
    fails_to_open("host", "fuse", FG_STATUS_NOT_FOUND, "'fuser'");
    fails_to_open("./none.so", NULL, FG_STATUS_UNAVAILABLE, "No such file");
    fails_to_open(folder, NULL, FG_STATUS_UNAVAILABLE, "a directory");
    fails_to_open(text, NULL, FG_STATUS_UNAVAILABLE, "not a loadable library");
    fails_to_open(one_slot, NULL, FG_STATUS_UNAVAILABLE, "no symbol fg_backend_entry");
    fails_to_open("host", text, FG_STATUS_UNAVAILABLE, "fg_executor_entry");
    fails_to_open("host", fg_built("plugins/misbehaving.so"), FG_STATUS_UNAVAILABLE,
                  "no symbol fg_executor_entry");
    fails_to_open("cuda", NULL, FG_STATUS_UNAVAILABLE, "not built");
    fg_folder_remove(folder);
}

Test(worker, an_entry_that_misbehaves_is_told_apart) {
    static const struct {
        const char *what;
        fg_status status;
        const char *words;
    } rows[] = {{"crash", FG_STATUS_CRASH, "signal 11"},
                {"hang", FG_STATUS_TIMEOUT, "load"},
                {"abi", FG_STATUS_ABI, "refused"},
                {"hollow", FG_STATUS_ABI, "no function mlp_forward"}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        (void)setenv("FUSEGATE_TEST_LOAD", rows[r].what, 1);
        fails_to_open(fg_built("plugins/misbehaving.so"), NULL, rows[r].status, rows[r].words);
    }
}

Test(worker, what_an_entry_prints_is_no_cases) {
    (void)setenv("FUSEGATE_TEST_LOAD", "print", 1);
    fg_client *client = open_client(fg_built("plugins/misbehaving.so"), 0);
    cr_assert_eq(fg_client_quiet(client, "while loading"), FG_STATUS_PROTOCOL);
    cr_assert_not_null(strstr(fg_message(), "while loading: 26 bytes"), "%s", fg_message());
    cr_assert_eq(fg_client_quiet(client, "later"), FG_STATUS_OK, "told once");
    fg_client_close(client);
    (void)setenv("FUSEGATE_TEST_LOAD", "unsettle", 1);
    client = open_client(fg_built("plugins/misbehaving.so"), 0);
    cr_assert_eq(fg_client_quiet(client, "while loading"), FG_STATUS_PROTOCOL);
    cr_assert_not_null(strstr(fg_message(), "working directory"), "%s", fg_message());
    fg_client_close(client);
}

Test(worker, a_crash_in_the_first_calls_of_a_device_is_told_by_name) {
    static const char *const rows[][2] = {{"open", "during device_open"},
                                          {"traits", "during traits"}};
    const fg_problem problem = fg_problem_default(2, 32, 32);
    const fg_recipe recipe = fg_recipe_default(FG_RECIPE_NONE);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        char reason[FG_REASON_SIZE];
        (void)setenv("FUSEGATE_TEST_LOAD", rows[r][0], 1);
        fg_client *client = open_client(fg_built("plugins/misbehaving.so"), 0);
        cr_assert_eq(fg_client_supports(client, -1, &problem, &recipe, reason), FG_STATUS_CRASH);
        cr_assert_not_null(strstr(fg_message(), rows[r][1]), "%s", fg_message());
        fg_client_close(client);
    }
}

Test(worker, a_line_that_the_backend_wrote_is_no_answer) {
    fg_client *client = open_client(fg_built("plugins/misbehaving.so"), 0);
    fg_result result = run_line(client, "mlp E=24 H=32 F=32 splits=even T=24");
    cr_assert_eq(result.state, FG_STATE_FAIL);
    cr_assert_eq(result.fault, FG_FAULT_CONTRACT, "%s", result.reason);
    cr_assert_not_null(strstr(result.reason, "during mlp_forward: found a line without id"), "%s",
                       result.reason);
    cr_assert_not(fg_client_alive(client), "what it says cannot be trusted any more");
    fg_client_close(client);
}

Test(worker, absurd_sizes_are_the_backends_fault) {
    fg_client *client = open_client(fg_built("plugins/misbehaving.so"), 0);
    fg_result result = run_line(client, "mlp E=25 H=32 F=32 splits=even T=25");
    cr_assert_eq(result.fault, FG_FAULT_CONTRACT, "%s", result.reason);
    cr_assert_not_null(strstr(result.reason, "saved 1125899906842624"), "%s", result.reason);
    fg_client_close(client);
}

Test(worker, a_reason_that_is_no_utf8_is_escaped) {
    fg_client *client = open_client(fg_built("plugins/misbehaving.so"), 0);
    fg_result result = run_line(client, "mlp E=26 H=32 F=32 splits=even T=26");
    cr_assert_eq(result.state, FG_STATE_NOT_SUPPORTED);
    cr_assert_not_null(strstr(result.reason, "caf\\xe9 has 26"), "%s", result.reason);
    fg_client_close(client);
}

Test(worker, a_device_that_does_not_exist_is_named) {
    fg_traits traits;
    fg_client *client = open_client("host", 0);
    cr_assert_eq(fg_client_traits(client, 1, &traits), FG_STATUS_OK);
    cr_assert_eq(fg_client_traits(client, 7, &traits), FG_STATUS_DEVICE);
    cr_assert_not_null(strstr(fg_message(), "7"), "%s", fg_message());
    fg_client_close(client);
}

Test(worker, a_number_of_no_kernel_is_refused) {
    fg_kernel_sizes sizes;
    fg_problem problem = fg_problem_default(2, 32, 32);
    fg_recipe recipe = fg_recipe_default(FG_RECIPE_NONE);
    int64_t kernel = 0;
    fg_client *client = open_client("host", 0);
    cr_assert_eq(fg_client_kernel_sizes(client, 1, 4, &sizes), FG_STATUS_PROTOCOL);
    cr_assert_eq(fg_client_kernel_create(client, -1, &problem, &recipe, &kernel), FG_STATUS_OK);
    cr_assert_eq(fg_client_kernel_sizes(client, kernel, 4, &sizes), FG_STATUS_OK);
    cr_assert_gt(sizes.scratch_forward, 0);
    cr_assert_eq(fg_client_kernel_destroy(client, kernel), FG_STATUS_OK);
    cr_assert_eq(fg_client_kernel_destroy(client, kernel), FG_STATUS_PROTOCOL, "twice");
    cr_assert(fg_client_alive(client));
    fg_client_close(client);
}

Test(worker, a_refusal_has_the_backends_reason) {
    char reason[FG_REASON_SIZE];
    fg_problem problem = fg_problem_default(2, 32, 32);
    fg_recipe recipe = fg_recipe_default(FG_RECIPE_DELAYED);
    fg_client *client = open_client("host", 0);
    cr_assert_eq(fg_client_supports(client, -1, &problem, &recipe, reason), FG_STATUS_UNSUPPORTED);
    cr_assert_not_null(strstr(reason, "delayed"), "%s", reason);
    recipe = fg_recipe_default(FG_RECIPE_NONE);
    cr_assert_eq(fg_client_supports(client, -1, &problem, &recipe, reason), FG_STATUS_OK);
    cr_assert_str_empty(reason);
    fg_client_close(client);
}

Test(worker, holds_a_mapping_until_it_is_unshared) {
    fg_shm shm;
    char path[256];
    fg_client *client = open_client("host", 0);
    cr_assert_eq(fg_shm_create(4096, &shm), FG_STATUS_OK);
    (void)snprintf(path, sizeof path, "%s", shm.path);
    cr_assert_eq(fg_client_share(client, &shm), FG_STATUS_OK);
    cr_assert_neq(access(path, F_OK), 0, "the name is gone once both hold it");
    cr_assert_eq(fg_client_unshare(client, &shm), FG_STATUS_OK);
    cr_assert_eq(fg_client_unshare(client, &shm), FG_STATUS_INVALID);
    cr_assert_neq(fg_client_share(client, &shm), FG_STATUS_OK, "it has no name any more");
    fg_shm_close(&shm);
    fg_client_close(client);
}

Test(worker, counts_what_reaches_the_recorder) {
    fg_outside_counts counts;
    fg_client *client = open_client("host", 0);
    cr_assert_eq(fg_client_outside(client, &counts), FG_STATUS_OK);
    cr_assert_eq(counts.kernels_created, FG_NOT_GIVEN, "another backend has no such counts");
    fg_client_close(client);
    client = open_client("recorder", 0);
    fg_result result = run_line(client, "mlp E=2 H=32 F=32 splits=3,4");
    cr_assert_eq(result.state, FG_STATE_PASS, "%s", result.reason);
    cr_assert_eq(fg_client_outside(client, &counts), FG_STATUS_OK);
    cr_assert_geq(counts.kernels_created, 1);
    cr_assert_eq(counts.kernels_created, counts.kernels_destroyed);
    cr_assert_geq(counts.forwards, 1);
    cr_assert_geq(counts.backwards, 1);
    fg_client_close(client);
}

/* A worker spoken to by hand. */
static const char *say(fg_process *process, const char *line) {
    const char *answer = NULL;
    size_t length = 0;
    double deadline = fg_seconds_now() + 10;
    cr_assert_eq(fg_process_send(process, line, strlen(line), deadline), FG_STATUS_OK);
    cr_assert_eq(fg_process_receive(process, deadline, &answer, &length), FG_STATUS_OK, "%s",
                 fg_message());
    static char copy[2048];
    (void)snprintf(copy, sizeof copy, "%.*s", (int)length, answer);
    return copy;
}

Test(worker, answers_nonsense_with_a_status_and_goes_on) {
    static const char *const lines[] = {
        "hello\n",
        "{}\n",
        "{\"call\":\"dance\"}\n",
        "{\"call\":3}\n",
        "[]\n",
        "{\"call\":\"traits\",\"device\":-1}\n",
        "{\"call\":\"executor_create\"}\n",
        "{\"call\":\"share\",\"map\":\"/dev/shm/x\",\"bytes\":-4}\n",
        "{\"call\":\"mlp_forward\",\"kernel\":1,\"args\":{}}\n",
        "{\"call\":\"executor_forward\",\"executor\":1}\n"};
    fg_process process;
    char path[4200];
    const char *answer = NULL;
    size_t length = 0;
    cr_assert_eq(fg_process_worker_path(path, sizeof path), FG_STATUS_OK);
    cr_assert_eq(fg_process_start(path, &process), FG_STATUS_OK);
    cr_assert_eq(fg_process_receive(&process, fg_seconds_now() + 10, &answer, &length),
                 FG_STATUS_OK);
    cr_assert_not_null(strstr(answer, "\"protocol\":1"));
    cr_assert_not_null(strstr(answer, "\"kinds\":[\"backend\",\"executor\"]"));
    for (size_t l = 0; l < sizeof lines / sizeof lines[0]; l++) {
        cr_assert_not_null(strstr(say(&process, lines[l]), "\"status\":16"), "%s", lines[l]);
    }
    cr_assert_not_null(strstr(say(&process, "{\"call\":\"dance\",\"id\":77}\n"), "\"id\":77"));
    cr_assert_null(strstr(say(&process, "{\"call\":\"dance\"}\n"), "\"id\""));
    cr_assert_not_null(
        strstr(say(&process, "{\"call\":\"load\",\"backend\":\"host\"}\n"), "\"status\":0"));
    fg_process_end(&process, 5);
    cr_assert_eq(process.exit_status, 0, "an orderly end");
    fg_process_free(&process);
}

Test(worker, a_program_that_does_not_speak_the_protocol_is_no_worker) {
    fg_process process;
    const char *answer = NULL;
    size_t length = 0;
    cr_assert_eq(fg_process_start("/bin/true", &process), FG_STATUS_OK);
    cr_assert_eq(fg_process_receive(&process, fg_seconds_now() + 10, &answer, &length),
                 FG_STATUS_CRASH);
    fg_process_free(&process);
    cr_assert_eq(fg_process_start("/no/such/program", &process), FG_STATUS_IO);
    cr_assert_not_null(strstr(fg_message(), "/no/such/program"));
    fg_process_free(&process);
}

Test(worker, any_allocation_of_opening_may_fail) {
    fg_client *client = NULL;
    const fg_client_options options = {.backend = "host"};
    fg_protocol_use_allocator();
    int64_t before = fg_alloc_calls();
    cr_assert_eq(fg_client_open(&options, &client), FG_STATUS_OK, "%s", fg_message());
    fg_client_close(client);
    int64_t calls = fg_alloc_calls() - before;
    size_t live = fg_alloc_live_total();
    for (int64_t n = 1; n <= calls; n++) {
        fg_alloc_fail_at(n);
        cr_assert_eq(fg_client_open(&options, &client), FG_STATUS_NO_MEMORY, "allocation %lld: %s",
                     (long long)n, fg_message());
        cr_assert_null(client);
        cr_assert_eq(fg_alloc_live_total(), live, "allocation %lld leaks", (long long)n);
    }
    fg_alloc_fail_at(0);
}

/* A case on a worker that lives on from one failing allocation to the next, unless this side lost
 * its answer. */
Test(worker, any_allocation_of_a_short_run_may_fail) {
    static fg_case value;
    fg_result result = {0};
    fg_protocol_use_allocator();
    cr_assert_eq(fg_case_parse("mlp E=1 H=32 F=32 splits=2 want=none", &value), FG_STATUS_OK);
    size_t closed = fg_alloc_live_total();
    fg_client *client = open_client("host", 0);
    cr_assert_eq(fg_run_case(client, &value, &result), FG_STATUS_OK, "%s", fg_message());
    int64_t before = fg_alloc_calls();
    cr_assert_eq(fg_run_case(client, &value, &result), FG_STATUS_OK, "%s", fg_message());
    cr_assert_eq(result.state, FG_STATE_PASS, "%s", result.reason);
    int64_t calls = fg_alloc_calls() - before;
    size_t open = fg_alloc_live_total();
    for (int64_t n = 1; n <= calls; n++) {
        result = (fg_result){0};
        fg_alloc_fail_at(n);
        fg_status status = fg_run_case(client, &value, &result);
        fg_alloc_fail_at(0);
        cr_assert(status == FG_STATUS_NO_MEMORY || result.state == FG_STATE_PASS ||
                      result.state == FG_STATE_RESOURCE,
                  "allocation %lld of %lld: %s, %s: %s", (long long)n, (long long)calls,
                  fg_status_name(status), fg_state_name(result.state), result.reason);
        if (fg_client_alive(client)) {
            cr_assert_leq(fg_alloc_live_total(), open, "allocation %lld leaks", (long long)n);
        } else {
            fg_client_close(client);
            cr_assert_eq(fg_alloc_live_total(), closed, "allocation %lld leaks", (long long)n);
            client = open_client("host", 0);
        }
    }
    fg_client_close(client);
    cr_assert_eq(fg_alloc_live_total(), closed);
}
