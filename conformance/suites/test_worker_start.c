/* What a worker's process starts with, whatever the process is like that opens its client. */

#include "conformance/process/client.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static fg_client *open_host(void) {
    fg_client *client = NULL;
    const fg_client_options options = {.backend = "host"};
    cr_assert_eq(fg_client_open(&options, &client), FG_STATUS_OK, "%s", fg_message());
    return client;
}

/* Whether a signal is in a mask of a process, as /proc shows it: "SigBlk", "SigIgn". */
static int in_mask(pid_t pid, const char *mask, int number) {
    char path[64], line[256];
    uint64_t bits = 0;
    int found = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *status = fopen(path, "re");
    cr_assert_not_null(status);
    while (fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, mask, strlen(mask)) == 0) {
            bits = strtoull(line + strlen(mask) + 1, NULL, 16);
            found = 1;
        }
    }
    (void)fclose(status);
    cr_assert(found, "%s is not in %s", mask, path);
    return (bits >> (number - 1) & 1) != 0;
}

Test(worker_start, signals_are_the_default_ones) {
    sigset_t blocked;
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGUSR1);
    cr_assert_eq(sigprocmask(SIG_BLOCK, &blocked, NULL), 0);
    cr_assert_neq(signal(SIGUSR2, SIG_IGN), SIG_ERR);
    cr_assert(in_mask(getpid(), "SigBlk", SIGUSR1));
    cr_assert(in_mask(getpid(), "SigIgn", SIGUSR2));
    fg_client *client = open_host();
    cr_assert_not(in_mask((pid_t)fg_client_pid(client), "SigBlk", SIGUSR1));
    cr_assert_not(in_mask((pid_t)fg_client_pid(client), "SigIgn", SIGUSR2));
    fg_client_close(client);
}

/* A Ctrl-C at a terminal reaches the whole group: the running cases must end first. */
Test(worker_start, it_leads_a_group_of_its_own) {
    fg_client *client = open_host();
    pid_t pid = (pid_t)fg_client_pid(client);
    cr_assert_eq(getpgid(pid), pid);
    cr_assert_neq(getpgid(0), pid);
    fg_client_close(client);
}
