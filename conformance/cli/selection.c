#include "conformance/cli/selection.h"

#include "conformance/case/case_suite.h"
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

int fg_selection_is_file(const char *suite) {
    size_t length = strlen(suite);
    return strchr(suite, '/') != NULL || (length > 5 && strcmp(suite + length - 5, ".case") == 0);
}

/* The filter with a space before each key that stands right behind a star, so that *dt=f32* on a
 * whole line is not about pdt. */
static void filter_by_key(const char *filter, char *out, size_t size) {
    size_t length = 0;
    for (const char *at = filter; *at != '\0' && length + 2 < size; at++) {
        size_t word = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
        if (at > filter && at[-1] == '*' && word > 0 && at[word] == '=') {
            out[length++] = ' ';
        }
        out[length++] = *at;
    }
    out[length] = '\0';
}

/* Keeps the cases whose repro line matches, or whose line with every key does. */
static void filter_apply(const char *filter, fg_case_list *list) {
    int64_t kept = 0;
    char by_key[2048];
    filter_by_key(filter, by_key, sizeof by_key);
    for (int64_t i = 0; i < list->count; i++) {
        char line[FG_CASE_LINE], whole[FG_CASE_LINE];
        (void)fg_case_format(&list->cases[i], line, sizeof line);
        (void)fg_case_format_whole(&list->cases[i], whole, sizeof whole);
        if (fnmatch(filter, line, 0) == 0 || fnmatch(by_key, whole, 0) == 0) {
            if (kept != i) {
                list->cases[kept] = list->cases[i];
            }
            kept++;
        }
    }
    list->count = kept;
}

fg_status fg_selection_make(const fg_selection_request *request, fg_case_list *out) {
    *out = (fg_case_list){0};
    fg_status status;
    if (request->suite[0] == '\0') {
        status = fg_case_expand(request->case_line, out);
    } else if (fg_selection_is_file(request->suite)) {
        status = fg_case_read(request->suite, out);
    } else {
        status = fg_case_suite(request->suite, out);
    }
    if (status != FG_STATUS_OK) {
        fg_case_list_free(out);
        return status;
    }
    for (int64_t i = 0; request->seed_given && i < out->count; i++) {
        out->cases[i].seed = (uint64_t)request->seed;
    }
    if (request->filter[0] != '\0') {
        filter_apply(request->filter, out);
    }
    return FG_STATUS_OK;
}

static void hash_text(XXH3_state_t *state, char hash[40]) {
    XXH128_hash_t digest = XXH3_128bits_digest(state);
    (void)snprintf(hash, 40, "%016llx%016llx", (unsigned long long)digest.high64,
                   (unsigned long long)digest.low64);
}

void fg_selection_hash(const fg_case_list *cases, char hash[40]) {
    XXH3_state_t *state = XXH3_createState();
    hash[0] = '\0';
    if (state == NULL) {
        return;
    }
    (void)XXH3_128bits_reset(state);
    for (int64_t i = 0; i < cases->count; i++) {
        char line[FG_CASE_LINE];
        size_t length = fg_case_format(&cases->cases[i], line, sizeof line);
        (void)XXH3_128bits_update(state, line, length < sizeof line ? length + 1 : sizeof line);
    }
    hash_text(state, hash);
    (void)XXH3_freeState(state);
}

void fg_file_hash(const char *path, char hash[40]) {
    char bytes[16384];
    size_t got;
    XXH3_state_t *state = XXH3_createState();
    FILE *file = fopen(path, "rbe");
    hash[0] = '\0';
    if (state != NULL && file != NULL) {
        (void)XXH3_128bits_reset(state);
        while ((got = fread(bytes, 1, sizeof bytes, file)) > 0) {
            (void)XXH3_128bits_update(state, bytes, got);
        }
        hash_text(state, hash);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    (void)XXH3_freeState(state);
}
