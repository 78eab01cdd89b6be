#include "store/http.h"

#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/map.h"

/* Indexes of 2000 shards of 1024 chunks. */
#define MEMORY_BYTES ((uint64_t)32 << 20)

/* One end of an object. The key of the cache is a hash of the name, so the name itself is compared as well. */
struct memory {
    struct zs_remembered what;
    size_t n;
    char *name; /* root, 0, key; then etag, then generation, then bytes */
    size_t name_size;
    unsigned char data[];
};

static struct zs_cache *cache;

static struct zs_cache *the_cache(void)
{
    return zs_cache_once(&cache, MEMORY_BYTES, free);
}

static struct zs_cache_key key_of(const char *root, const char *key, bool tail)
{
    const uint64_t of_root = zs_hash(ZS_HASH, root, strlen(root) + 1);
    return (struct zs_cache_key){tail, zs_hash(of_root, key, strlen(key) + 1)};
}

static bool is_named(const struct memory *m, const char *root, const char *key)
{
    const size_t r = strlen(root) + 1, k = strlen(key) + 1;
    return m->name_size == r + k && memcmp(m->name, root, r) == 0 && memcmp(m->name + r, key, k) == 0;
}

bool zs_http_remembered_find(const char *root, const char *key, bool tail, size_t n, struct zs_remembered *found,
                             void **entry)
{
    *entry = the_cache() != NULL ? zs_cache_get(cache, key_of(root, key, tail)) : NULL;
    if (*entry == NULL)
        return false;
    const struct memory *m = zs_cache_value(*entry);
    if (m->n == n && is_named(m, root, key)) {
        *found = m->what;
        return true;
    }
    zs_http_remembered_release(*entry);
    return false;
}

void zs_http_remembered_release(void *entry)
{
    zs_cache_release(cache, entry);
}

void zs_http_remembered_put(const char *root, const char *key, bool tail, size_t n, const struct zs_remembered *what)
{
    const size_t r = strlen(root) + 1, k = strlen(key) + 1, e = strlen(what->etag) + 1;
    const size_t g = strlen(what->generation) + 1, size = sizeof(struct memory) + r + k + e + g + n;
    if (the_cache() == NULL || n > MEMORY_BYTES / 8)
        return;
    struct memory *m = malloc(size);
    if (m == NULL)
        return; /* the next opening requests it again */
    unsigned char *at = m->data;
    m->n = n;
    m->name_size = r + k;
    m->name = memcpy(at, root, r);
    memcpy(at + r, key, k);
    at += r + k;
    m->what = (struct zs_remembered){what->size, memcpy(at, what->etag, e), memcpy(at + e, what->generation, g),
                                     memcpy(at + e + g, what->bytes, n)};
    struct zs_cache_entry *entry = zs_cache_put(cache, key_of(root, key, tail), m, size);
    if (entry != NULL)
        zs_cache_release(cache, entry);
    else
        free(m);
}

void zs_store_forget_all(void)
{
    if (the_cache() != NULL)
        zs_cache_clear(cache);
}

void zs_http_remembered_forget(const char *root, const char *key)
{
    for (int tail = 0; tail < 2 && the_cache() != NULL; tail++)
        zs_cache_remove(cache, key_of(root, key, tail));
}
