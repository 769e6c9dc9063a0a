#ifndef FG_CONFORMANCE_PLUGINS_TELL_H
#define FG_CONFORMANCE_PLUGINS_TELL_H

/* A diary for test plugins: one word a line into the file that FUSEGATE_TEST_DIARY names, so that a
 * test can count what reached the plugin after the process is gone. Static, since plugins share no
 * object. */

#include <stdio.h>
#include <stdlib.h>

static void tell(const char *word) {
    const char *path = getenv("FUSEGATE_TEST_DIARY");
    FILE *diary = path != NULL ? fopen(path, "ae") : NULL;
    if (diary != NULL) {
        (void)fprintf(diary, "%s\n", word);
        (void)fclose(diary);
    }
}

#endif
