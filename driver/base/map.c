#include "base/map.h"

#include <stdlib.h>

#include "base/memory.h"

/* The slot of `key`, or the free one where it would go. */
static struct zs_map_slot *slot_of(const struct zs_map *map, uint64_t key)
{
    size_t i = (size_t)((key * 0x9E3779B97F4A7C15u) >> 32) & (map->capacity - 1);
    while (map->slots[i].value != NULL && map->slots[i].key != key)
        i = (i + 1) & (map->capacity - 1);
    return &map->slots[i];
}

void *zs_map_get(const struct zs_map *map, uint64_t key)
{
    return map->capacity == 0 ? NULL : slot_of(map, key)->value;
}

bool zs_map_set(struct zs_map *map, uint64_t key, void *value)
{
    if (2 * (map->count + 1) > map->capacity) {
        struct zs_map grown = {.capacity = map->capacity == 0 ? 16 : 2 * map->capacity, .count = map->count};
        grown.slots = zs_calloc(grown.capacity, sizeof *grown.slots);
        if (grown.slots == NULL)
            return false;
        for (size_t i = 0; i < map->capacity; i++)
            if (map->slots[i].value != NULL)
                *slot_of(&grown, map->slots[i].key) = map->slots[i];
        free(map->slots);
        *map = grown;
    }
    struct zs_map_slot *slot = slot_of(map, key);
    map->count += slot->value == NULL;
    *slot = (struct zs_map_slot){key, value};
    return true;
}

void *zs_map_remove(struct zs_map *map, uint64_t key)
{
    if (map->capacity == 0)
        return NULL;
    struct zs_map_slot *slot = slot_of(map, key);
    void *value = slot->value;
    if (value == NULL)
        return NULL;
    slot->value = NULL;
    map->count--;
    /* Entries behind may stand there because this slot was taken: insert them again. */
    size_t i = (size_t)(slot - map->slots);
    for (i = (i + 1) & (map->capacity - 1); map->slots[i].value != NULL; i = (i + 1) & (map->capacity - 1)) {
        const struct zs_map_slot moved = map->slots[i];
        map->slots[i].value = NULL;
        *slot_of(map, moved.key) = moved;
    }
    return value;
}

void *zs_map_next(const struct zs_map *map, size_t *at)
{
    void *value = NULL;
    while (*at < map->capacity && value == NULL)
        value = map->slots[(*at)++].value;
    return value;
}

void zs_map_free(struct zs_map *map)
{
    free(map->slots);
    *map = (struct zs_map){0};
}

uint64_t zs_hash(uint64_t hash, const void *data, size_t n)
{
    for (const unsigned char *p = data; n > 0; n--)
        hash = (hash ^ *p++) * 0x100000001B3u;
    return hash;
}
