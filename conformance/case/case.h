#ifndef FG_CONFORMANCE_CASE_CASE_H
#define FG_CONFORMANCE_CASE_CASE_H

#include "contract/problem.h"
#include "contract/recipe.h"

typedef enum fg_case_kind {
    FG_CASE_MLP = 0,
    FG_CASE_PLAN = 1,
    FG_CASE_BOUNDARY = 2,
    FG_CASE_RECOMPUTE = 3,
} fg_case_kind;

typedef enum fg_case_data {
    FG_DATA_EXACT = 0,
    FG_DATA_NORMAL = 1,
    FG_DATA_SELECTION = 2
} fg_case_data;
typedef enum fg_case_mode {
    FG_MODE_GRAD = 0,
    FG_MODE_NOGRAD = 1,
    FG_MODE_RECOMPUTE = 2
} fg_case_mode;

#define FG_CASE_EXPERTS 1024
#define FG_CASE_LINE 8192

/* One case: what a case line says, checked and with its defaults filled in. */
typedef struct fg_case {
    fg_case_kind kind;
    fg_problem problem;
    fg_recipe recipe;
    int64_t rows;                    /* T, padding included */
    int64_t splits[FG_CASE_EXPERTS]; /* [E] */
    int32_t padded_strides;          /* strides=padded */
    uint32_t want;                   /* FG_BIT(i) of gradients wanted */
    int32_t has_first;
    uint32_t first; /* mask of the call before */
    fg_case_mode mode;
    fg_case_data data;
    uint64_t seed;
    int32_t zeros_expected;
    int32_t sequence;  /* recompute: 1..8; plan: check number, 1..99; 0: not given */
    char actions[512]; /* plan, boundary: comma list; "" for none */
    int32_t iterations;
} fg_case;

/* Parses one line (no braces); FG_STATUS_PARSE gives column, what was found, the nearest word. A
 * value that is known but not built yet says so. */
fg_status fg_case_parse(const char *line, fg_case *out);

/* Writes the repro line: kind, required keys, then every key that is not its default, in the order
 * of the table; parsing it gives the same case. Returns its length as snprintf does. */
size_t fg_case_format(const fg_case *value, char *line, size_t size);

/* Writes every key that the case's kind takes, defaults too, for patterns. */
size_t fg_case_format_whole(const fg_case *value, char *line, size_t size);

/* A growing list of cases. */
typedef struct fg_case_list {
    fg_case *cases;
    int64_t count, capacity;
} fg_case_list;

/* Adds every case of a line with {a|b} alternatives; the last alternatives vary fastest. */
fg_status fg_case_expand(const char *line, fg_case_list *list);

/* Adds every case of a file: one line each, # comments, blank lines; messages name file:line. */
fg_status fg_case_read(const char *path, fg_case_list *list);
void fg_case_list_free(fg_case_list *list);

#endif
