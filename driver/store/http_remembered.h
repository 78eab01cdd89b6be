/* store/http_remembered.h: what this process remembers of remote objects: their first or last bytes, where shard
 * indexes are.
 *
 * Programs open the same store again and again (QGIS for every thread that draws), and an index costs a round trip.
 * Only objects with a strong ETag are remembered: who reads on in one sends it along (If-Match), so that bytes of
 * another object never pass for it. */
#ifndef ZS_STORE_HTTP_REMEMBERED_H
#define ZS_STORE_HTTP_REMEMBERED_H

#include "store/store.h"

struct zs_remembered {
    uint64_t size; /* of the object */
    const char *etag;
    const unsigned char *bytes; /* n of them */
};

/* The first (or last, `tail`) n bytes of the object `key` below `root`; *entry, unless it is NULL, keeps what *found
 * points to until zs_http_remembered_release(). False where nothing is remembered. */
bool zs_http_remembered_find(const char *root, const char *key, bool tail, size_t n, struct zs_remembered *found,
                             void **entry);
void zs_http_remembered_release(void *entry);

void zs_http_remembered_put(const char *root, const char *key, bool tail, size_t n, const struct zs_remembered *what);

/* Forgets all of an object. */
void zs_http_remembered_forget(const char *root, const char *key);

#endif
