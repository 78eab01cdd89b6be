/* zarr/flexbuffer.h: FlexBuffers read in place (flatbuffers.dev, "FlexBuffers"; "Internals" tells the encoding): maps
 * and texts, which are what configurations are made of. The bytes are hostile, as in flatbuffer.h, and functions answer
 * in the same way. */
#ifndef ZS_ZARR_FLEXBUFFER_H
#define ZS_ZARR_FLEXBUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct zs_flex {
    const unsigned char *data; /* all of the buffer */
    size_t size;
    size_t at; /* of what the value is, which is `width` bytes wide */
    unsigned type, width;
};

bool zs_flex_root(const void *data, size_t size, struct zs_flex *out);
/* Whether it is a map, and how many members it has. */
bool zs_flex_map(const struct zs_flex *v, size_t *count);
/* The value of member i < count of a map; `key` is zero-terminated. */
bool zs_flex_member(const struct zs_flex *map, size_t i, const char **key, struct zs_flex *value);
/* The value of that name; false where there is none. */
bool zs_flex_get(const struct zs_flex *map, const char *key, struct zs_flex *value);
/* Whether it is a text, of *n bytes without a zero. */
bool zs_flex_text(const struct zs_flex *v, const char **text, size_t *n);
/* Whether it is a truth value that is true. */
bool zs_flex_is_true(const struct zs_flex *v);

#endif
