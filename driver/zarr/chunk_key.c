#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "zarr/node.h"

/* Decimal digits of the largest uint64_t, and a separator. */
#define INDEX_LENGTH 21
/* Prefix of the draft's chunk keys. */
#define DATA "data/root/"

/* "c/0" rather than "0" or the draft's "c0". */
static bool has_first_separator(const struct zs_array_meta *meta)
{
    return !meta->key_is_v2 && !meta->is_draft;
}

/* Whether the chunk of a 0-d array is called "0" ("c0" for a shard of the draft) rather than "c". */
static bool has_zero(const struct zs_array_meta *meta)
{
    return meta->key_is_v2 || (meta->is_draft && meta->is_sharded);
}

char *zs_chunk_folder(const struct zs_array_meta *meta, const char *array_path)
{
    if (!meta->is_draft)
        return zs_strdup(array_path);
    return zs_format("%.*s%s%s", (int)strlen(DATA) - 1, DATA, array_path[0] != '\0' ? "/" : "", array_path);
}

char *zs_chunk_key(const struct zs_array_meta *meta, const char *array_path, const uint64_t *index)
{
    const size_t path = strlen(array_path);
    const size_t capacity = strlen(DATA) + path + 4 + INDEX_LENGTH * (size_t)meta->ndim;
    char *key = malloc(capacity);
    if (key == NULL)
        return NULL;
    char *p = key + (meta->is_draft ? snprintf(key, capacity, DATA) : 0);
    memcpy(p, array_path, path);
    p += path;
    if (path != 0)
        *p++ = '/';
    if (!meta->key_is_v2)
        *p++ = 'c';
    if (meta->ndim == 0 && has_zero(meta))
        *p++ = '0';
    for (int i = 0; i < meta->ndim; i++) {
        if (i > 0 || has_first_separator(meta))
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
        return strcmp(p, has_zero(meta) ? "0" : "") == 0;
    for (int i = 0; i < meta->ndim; i++) {
        if ((i > 0 || has_first_separator(meta)) && *p++ != meta->key_separator)
            return false;
        p = parse_index(p, &index[i]);
        if (p == NULL)
            return false;
    }
    return *p == '\0';
}
