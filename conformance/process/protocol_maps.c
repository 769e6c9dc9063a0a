#include "conformance/process/protocol_maps.h"

#include "contract/alloc.h"
#include <string.h>

fg_status fg_maps_add(fg_maps *maps, const char *path, unsigned char *base, size_t bytes) {
    if (path[0] == '\0' || strlen(path) >= sizeof maps->maps->path ||
        fg_maps_of_path(maps, path) != NULL) {
        return FG_FAIL(FG_STATUS_INVALID, "found the mapping '%s', expected a new path below 256",
                       path);
    }
    if (maps->count == maps->capacity) {
        int32_t capacity = maps->capacity == 0 ? 8 : 2 * maps->capacity;
        fg_map *grown = fg_realloc(maps->maps, (size_t)capacity * sizeof *grown, FG_ALLOC_GENERAL);
        if (grown == NULL) {
            return FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for %d mappings", (int)capacity);
        }
        maps->maps = grown;
        maps->capacity = capacity;
    }
    fg_map *added = &maps->maps[maps->count++];
    strcpy(added->path, path);
    added->base = base;
    added->bytes = bytes;
    return FG_STATUS_OK;
}

void fg_maps_remove(fg_maps *maps, const char *path) {
    for (int32_t i = 0; i < maps->count; i++) {
        if (strcmp(maps->maps[i].path, path) == 0) {
            maps->maps[i] = maps->maps[--maps->count];
            return;
        }
    }
}

void fg_maps_free(fg_maps *maps) {
    fg_free(maps->maps);
    *maps = (fg_maps){0};
}

const fg_map *fg_maps_of_path(const fg_maps *maps, const char *path) {
    for (int32_t i = 0; i < maps->count; i++) {
        if (strcmp(maps->maps[i].path, path) == 0) {
            return &maps->maps[i];
        }
    }
    return NULL;
}

const fg_map *fg_maps_of_address(const fg_maps *maps, const void *address, size_t bytes) {
    uintptr_t at = (uintptr_t)address;
    for (int32_t i = 0; i < maps->count; i++) {
        const fg_map *map = &maps->maps[i];
        uintptr_t base = (uintptr_t)map->base;
        if (at >= base && at - base <= map->bytes && bytes <= map->bytes - (at - base)) {
            return map;
        }
    }
    return NULL;
}

fg_status fg_json_from_address(const fg_maps *maps, const char *name, const void *address,
                               size_t bytes, json_t **out) {
    *out = NULL;
    if (address == NULL) {
        *out = json_null();
        return FG_STATUS_OK;
    }
    const fg_map *map = fg_maps_of_address(maps, address, bytes);
    if (map == NULL) {
        return FG_FAIL(FG_STATUS_INVALID,
                       "found %zu bytes of '%s' outside every shared mapping, expected them in one",
                       bytes, name);
    }
    json_int_t offset = (json_int_t)((const unsigned char *)address - map->base);
    *out = json_pack("{s:s, s:I}", "map", map->path, "offset", offset);
    return *out != NULL ? FG_STATUS_OK : FG_FAIL(FG_STATUS_NO_MEMORY, "no memory for '%s'", name);
}

fg_status fg_json_to_address(const json_t *value, const fg_maps *maps, const char *name,
                             size_t bytes, void **out) {
    *out = NULL;
    if (value == NULL || json_is_null(value)) {
        return FG_STATUS_OK;
    }
    const char *path = NULL;
    int64_t offset = 0;
    FG_TRY(fg_json_string(value, "map", &path));
    FG_TRY(fg_json_integer(value, "offset", &offset));
    const fg_map *map = fg_maps_of_path(maps, path);
    if (map == NULL) {
        return FG_FAIL(FG_STATUS_PROTOCOL, "found the mapping '%s' for '%s', expected a shared one",
                       path, name);
    }
    if (offset < 0 || (size_t)offset > map->bytes || bytes > map->bytes - (size_t)offset) {
        return FG_FAIL(FG_STATUS_PROTOCOL,
                       "found offset %lld and %zu bytes for '%s', expected them within %zu",
                       (long long)offset, bytes, name, map->bytes);
    }
    *out = map->base + offset;
    return FG_STATUS_OK;
}
