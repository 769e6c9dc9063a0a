#include "conformance/process/shm.h"
#include "conformance/suites/program_run.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES = 3 * 4096 + 17 };

static int exists(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0;
}

Test(shm, is_zero_at_first) {
    fg_shm shm;
    cr_assert_eq(fg_shm_create(BYTES, &shm), FG_STATUS_OK);
    cr_assert_geq(shm.bytes, (size_t)BYTES);
    for (size_t i = 0; i < shm.bytes; i++) {
        cr_assert_eq(shm.base[i], 0);
    }
    fg_shm_close(&shm);
}

Test(shm, two_mappings_of_one_path_are_one_memory) {
    fg_shm a, b;
    cr_assert_eq(fg_shm_create(BYTES, &a), FG_STATUS_OK);
    cr_assert_eq(fg_shm_open(a.path, BYTES, &b), FG_STATUS_OK);
    cr_assert_neq(a.base, b.base);
    a.base[BYTES - 1] = 17;
    b.base[0] = 4;
    cr_assert_eq(b.base[BYTES - 1], 17);
    cr_assert_eq(a.base[0], 4);
    fg_shm_close(&b);
    fg_shm_close(&a);
}

Test(shm, unlinking_takes_the_name_and_leaves_the_memory) {
    char path[256];
    fg_shm shm;
    cr_assert_eq(fg_shm_create(BYTES, &shm), FG_STATUS_OK);
    (void)snprintf(path, sizeof path, "%s", shm.path);
    cr_assert(exists(path));
    fg_shm_unlink(&shm);
    cr_assert_not(exists(path));
    cr_assert_str_empty(shm.path);
    shm.base[BYTES - 1] = 1;
    fg_shm_close(&shm);
    cr_assert_null(shm.base);
}

Test(shm, closing_takes_the_name_too) {
    char path[256];
    fg_shm shm;
    cr_assert_eq(fg_shm_create(BYTES, &shm), FG_STATUS_OK);
    (void)snprintf(path, sizeof path, "%s", shm.path);
    fg_shm_close(&shm);
    cr_assert_not(exists(path));
}

Test(shm, opening_says_what_is_wrong) {
    fg_shm shm, other;
    cr_assert_eq(fg_shm_open("/dev/shm/fusegate-none", 8, &other), FG_STATUS_IO);
    cr_assert_not_null(strstr(fg_message(), "fusegate-none"));
    cr_assert_null(other.base);
    cr_assert_eq(fg_shm_create(BYTES, &shm), FG_STATUS_OK);
    cr_assert_eq(fg_shm_open(shm.path, BYTES + 4096, &other), FG_STATUS_IO, "longer than the file");
    cr_assert_eq(fg_shm_open(shm.path, 0, &other), FG_STATUS_IO);
    char longer[300];
    memset(longer, 'a', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    cr_assert_eq(fg_shm_open(longer, 8, &other), FG_STATUS_INVALID);
    fg_shm_close(&shm);
}

Test(shm, no_room_is_a_status_and_leaves_no_file) {
    char folder[256];
    fg_shm shm;
    fg_folder_make(folder);
    (void)setenv("TMPDIR", folder, 1);
    fg_status status = fg_shm_create((size_t)1 << 60, &shm);
    cr_assert(status == FG_STATUS_NO_MEMORY || status == FG_STATUS_IO, "%s", fg_message());
    cr_assert_null(shm.base);
    cr_assert_eq(fg_shm_create(SIZE_MAX, &shm), FG_STATUS_OVERFLOW);
    cr_assert_eq(rmdir(folder), 0, "a file was left");
}

Test(shm, nothing_asked_for_is_a_mapping_too) {
    fg_shm shm;
    cr_assert_eq(fg_shm_create(0, &shm), FG_STATUS_OK);
    cr_assert_not_null(shm.base);
    fg_shm_close(&shm);
    fg_shm_close(&shm);
}
