#ifndef FG_CONFORMANCE_PROCESS_PROTOCOL_FIELDS_H
#define FG_CONFORMANCE_PROCESS_PROTOCOL_FIELDS_H

/* ABI structs of plain numbers as JSON objects: one member a field, named as in the header. Reading
 * checks each member's type and range; a member that is absent keeps the struct's zero default, as
 * the ABI's rule for shorter structs says. */

#include "conformance/process/client.h"
#include "conformance/process/protocol.h"

typedef enum fg_field_kind {
    FG_FIELD_I32 = 0,
    FG_FIELD_U32 = 1,
    FG_FIELD_I64 = 2,
    FG_FIELD_SIZE = 3,
    FG_FIELD_F32 = 4,
    FG_FIELD_F64 = 5,
} fg_field_kind;

typedef struct fg_field {
    const char *name;
    size_t offset;
    fg_field_kind kind;
} fg_field;

/* A struct's fields; struct_size is written by the reader and does not travel. */
typedef struct fg_struct_fields {
    const char *name;
    size_t bytes;
    const fg_field *fields;
    size_t count;
    int32_t sized; /* begins with struct_size */
} fg_struct_fields;

extern const fg_struct_fields fg_problem_fields, fg_recipe_fields, fg_traits_fields,
    fg_kernel_sizes_fields, fg_counters_fields, fg_outside_fields, fg_run_fields;

/* NULL when there is no memory. */
json_t *fg_json_from_struct(const fg_struct_fields *fields, const void *value);
fg_status fg_json_to_struct(const json_t *object, const fg_struct_fields *fields, void *out);

#endif
