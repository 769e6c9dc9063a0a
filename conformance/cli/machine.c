#include "conformance/cli/machine.h"

#include <cblas.h>
#include <sched.h>
#include <string.h>

static void read_cpu(char *name, size_t size) {
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    (void)snprintf(name, size, "unknown");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && value != NULL) {
            (void)snprintf(name, size, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

void fg_machine_describe(fg_report *report) {
    read_cpu(report->cpu, sizeof report->cpu);
    (void)snprintf(report->blas, sizeof report->blas, "%s", openblas_get_config());
    (void)snprintf(report->blas_core, sizeof report->blas_core, "%s", openblas_get_corename());
    (void)snprintf(report->device, sizeof report->device, "host");
}

int32_t fg_machine_cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return 1;
    }
    int cores = CPU_COUNT(&set);
    return cores > 0 ? cores : 1;
}
