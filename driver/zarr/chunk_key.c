#include <errno.h>
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
    char *p = key + path;
    memcpy(key, array_path, path);
    if (path != 0)
        *p++ = '/';
    if (!meta->key_is_v2)
        *p++ = 'c';
    if (meta->ndim == 0 && meta->key_is_v2)
        *p++ = '0';
    for (int i = 0; i < meta->ndim; i++) {
        if (i > 0 || !meta->key_is_v2)
            *p++ = meta->key_separator;
        p += snprintf(p, capacity - (size_t)(p - key), "%" PRIu64, index[i]);
    }
    *p = '\0';
    return key;
}

/* Reads the decimal number that `text` begins with, as it is written in a key: no sign, no zeros in front. Returns what
 * follows; NULL when there is none. */
static const char *parse_index(const char *text, uint64_t *index)
{
    if (text[0] < '0' || text[0] > '9' || (text[0] == '0' && text[1] >= '0' && text[1] <= '9'))
        return NULL;
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0)
        return NULL;
    *index = value;
    return end;
}

bool zs_chunk_key_parse(const struct zs_array_meta *meta, const char *key, uint64_t *index)
{
    const char *p = key;
    if (!meta->key_is_v2 && *p++ != 'c')
        return false;
    if (meta->ndim == 0)
        return strcmp(p, meta->key_is_v2 ? "0" : "") == 0;
    for (int i = 0; i < meta->ndim; i++) {
        if ((i > 0 || !meta->key_is_v2) && *p++ != meta->key_separator)
            return false;
        p = parse_index(p, &index[i]);
        if (p == NULL)
            return false;
    }
    return *p == '\0';
}
