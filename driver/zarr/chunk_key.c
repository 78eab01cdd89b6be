#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "zarr/node.h"

/* Decimal digits of the largest uint64_t, and a separator. */
#define INDEX_LENGTH 21

char *zs_chunk_key(const struct zs_array_meta *meta, const char *array_path, const uint64_t *index)
{
    const size_t path = strlen(array_path);
    const size_t capacity = path + 4 + INDEX_LENGTH * (size_t)meta->ndim;
    char *key = malloc(capacity);
    if (key == NULL)
        return NULL;
    memcpy(key, array_path, path);
    char *p = key + path;
    if (path != 0)
        *p++ = '/';
    if (!meta->key_is_v2)
        *p++ = 'c';
    else if (meta->ndim == 0)
        *p++ = '0';
    for (int i = 0; i < meta->ndim; i++) {
        if (i > 0 || !meta->key_is_v2)
            *p++ = meta->key_separator;
        p += snprintf(p, capacity - (size_t)(p - key), "%" PRIu64, index[i]);
    }
    *p = '\0';
    return key;
}
