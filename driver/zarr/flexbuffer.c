#include "zarr/flatbuffer.h"

#include <stdint.h>
#include <string.h>

#include "base/checked.h"

enum { STRING = 5, MAP = 9, BOOL = 26 };

/* The number of `width` bytes at an offset. */
static bool load(const struct zs_flex *f, size_t at, unsigned width, uint64_t *out)
{
    if (at > f->size || width > f->size - at)
        return false;
    *out = zs_load_le(f->data + at, width);
    return true;
}

/* Follows the offset at `at`: backwards. */
static bool follow(const struct zs_flex *f, size_t at, unsigned width, size_t *target)
{
    uint64_t offset;
    if (!load(f, at, width, &offset) || offset > at)
        return false;
    *target = at - (size_t)offset;
    return true;
}

/* The value of so many bytes at an offset, of a type and width as a byte packs them. Numbers stand there themselves. */
static bool value_at(const struct zs_flex *f, size_t at, unsigned width, unsigned packed, struct zs_flex *out)
{
    struct zs_flex v = {f->data, f->size, at, packed >> 2, 1u << (packed & 3)};
    if ((v.type == STRING || v.type == MAP) && !follow(f, at, width, &v.at))
        return false;
    *out = v;
    return true;
}

bool zs_flex_root(const void *data, size_t size, struct zs_flex *out)
{
    const struct zs_flex f = {data, size, 0, 0, 0};
    if (size < 3)
        return false;
    const unsigned width = f.data[size - 1], packed = f.data[size - 2];
    return width <= 8 && width <= size - 2 && value_at(&f, size - 2 - width, width, packed, out);
}

/* The number of elements, which stands before the first. */
static bool count_of(const struct zs_flex *value, size_t at, unsigned width, uint64_t *count)
{
    return at >= width && load(value, at - width, width, count) && *count <= (value->size - at) / width;
}

bool zs_flex_map(const struct zs_flex *value, size_t *count)
{
    uint64_t n;
    if (value->type != MAP || !count_of(value, value->at, value->width, &n))
        return false;
    *count = (size_t)n;
    return true;
}

bool zs_flex_member(const struct zs_flex *map, size_t index, const char **key, struct zs_flex *value)
{
    const unsigned width = map->width;
    size_t count, keys, name;
    uint64_t keys_width, keys_count, packed;
    if (!zs_flex_map(map, &count) || index >= count || map->at < 3 * (size_t)width ||
        !follow(map, map->at - 3 * (size_t)width, width, &keys) ||
        !load(map, map->at - 2 * (size_t)width, width, &keys_width) || keys_width < 1 || keys_width > 8 ||
        !count_of(map, keys, (unsigned)keys_width, &keys_count) || keys_count != count ||
        !follow(map, keys + index * (size_t)keys_width, (unsigned)keys_width, &name) ||
        memchr(map->data + name, '\0', map->size - name) == NULL ||
        !load(map, map->at + count * width + index, 1, &packed))
        return false;
    *key = (const char *)map->data + name;
    return value_at(map, map->at + index * width, width, (unsigned)packed, value);
}

bool zs_flex_get(const struct zs_flex *map, const char *key, struct zs_flex *value)
{
    size_t count;
    const char *found;
    if (!zs_flex_map(map, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!zs_flex_member(map, i, &found, value))
            return false;
        if (strcmp(found, key) == 0)
            return true;
    }
    return false;
}

bool zs_flex_is_true(const struct zs_flex *value)
{
    return value->type == BOOL && value->at < value->size && value->data[value->at] != 0;
}

bool zs_flex_text(const struct zs_flex *value, const char **text, size_t *n)
{
    uint64_t length;
    if (value->type != STRING || value->at < value->width ||
        !load(value, value->at - value->width, value->width, &length) || length > value->size - value->at)
        return false;
    *text = (const char *)value->data + value->at;
    *n = (size_t)length;
    return memchr(*text, '\0', *n) == NULL;
}
