/* Kernels used from several threads, for the thread sanitizer. */

#include "conformance/suites/backend_threads.h"
#include "reference/host_backend.h"
#include "reference/reference_backend.h"
#include <stdio.h>

static int check(const char *name, fg_backend_entry_fn entry) {
    long long count = (long long)fg_backend_threads(entry);
    printf("%s %s: one kernel on several threads, %lld outputs differ\n", count ? "FAILED" : "ok",
           name, count);
    return count != 0;
}

int main(void) {
    int failures = check("host", fg_host_backend_entry);
    failures += check("reference", fg_reference_backend_entry);
    return failures;
}
