/* base/map.h: a table from 64-bit numbers to pointers, not locked, and the hash that makes such numbers of bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise; release with zs_map_free(). The values belong to the caller, and are not NULL. */
struct zs_map {
    struct zs_map_slot {
        uint64_t key;
        void *value; /* NULL: free */
    } *slots;
    size_t capacity; /* a power of two */
    size_t count;
};

void *zs_map_get(const struct zs_map *map, uint64_t key); /* NULL when it is not there */
bool zs_map_set(struct zs_map *map, uint64_t key, void *value); /* replaces; false without memory */
void *zs_map_remove(struct zs_map *map, uint64_t key); /* the value that was there, or NULL */
/* Walks all values in no order: start with *at = 0, until NULL. The map must not change meanwhile. */
void *zs_map_next(const struct zs_map *map, size_t *at);
void zs_map_free(struct zs_map *map);

/* FNV-1a of n bytes, going on from `hash`, which is ZS_HASH at first. */
#define ZS_HASH 0xCBF29CE484222325u
uint64_t zs_hash(uint64_t hash, const void *data, size_t n);
