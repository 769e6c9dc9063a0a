#ifndef FG_CONFORMANCE_PROCESS_PROTOCOL_MAPS_H
#define FG_CONFORMANCE_PROCESS_PROTOCOL_MAPS_H

/* Addresses as places in shared mappings: what is a pointer in one process is (path, offset) on the
 * wire and a pointer again in the other. The path names the mapping also after its file is gone. */

#include "conformance/process/protocol.h"

typedef struct fg_map {
    char path[256];
    unsigned char *base;
    size_t bytes;
} fg_map;

typedef struct fg_maps {
    fg_map *maps;
    int32_t count, capacity;
} fg_maps;

/* Adds a mapping; FG_STATUS_INVALID for a path already there, FG_STATUS_NO_MEMORY. */
fg_status fg_maps_add(fg_maps *maps, const char *path, unsigned char *base, size_t bytes);
/* Forgets a mapping; one that is not there is a no-op. */
void fg_maps_remove(fg_maps *maps, const char *path);
void fg_maps_free(fg_maps *maps);

/* The mapping of a path, or the one that holds `bytes` bytes from an address; NULL when none. */
const fg_map *fg_maps_of_path(const fg_maps *maps, const char *path);
const fg_map *fg_maps_of_address(const fg_maps *maps, const void *address, size_t bytes);

/* Writes {"map":path,"offset":n}, or null for NULL. FG_STATUS_INVALID when the bytes lie in no
 * shared mapping; `name` is what the message calls them. */
fg_status fg_json_from_address(const fg_maps *maps, const char *name, const void *address,
                               size_t bytes, json_t **out);
fg_status fg_json_to_address(const json_t *value, const fg_maps *maps, const char *name,
                             size_t bytes, void **out);

#endif
