#include "base/cache.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"

/* An entry is in the table (found by key) or orphaned (replaced or removed while pinned); only unpinned entries of the
 * table are in the recency list. */
struct zs_cache_entry {
    struct zs_cache_key key;
    void *value; /* NULL while loading */
    uint64_t bytes;
    int pins;
    bool in_table;
    struct zs_cache_entry *chain;
    struct zs_cache_entry *newer, *older;
};

struct zs_cache {
    pthread_mutex_t lock;
    pthread_cond_t loaded;
    void (*destroy)(void *);
    uint64_t budget;
    uint64_t used;
    struct zs_cache_entry **buckets;
    size_t bucket_count; /* a power of two */
    size_t entry_count;
    struct zs_cache_entry *newest, *oldest;
};

struct zs_cache *zs_cache_create(uint64_t budget_bytes, void (*destroy)(void *))
{
    struct zs_cache *cache = zs_calloc(1, sizeof *cache);
    if (cache == NULL)
        return NULL;
    cache->bucket_count = 64;
    cache->buckets = zs_calloc(cache->bucket_count, sizeof(struct zs_cache_entry *));
    if (cache->buckets == NULL) {
        free(cache);
        return NULL;
    }
    cache->destroy = destroy;
    cache->budget = budget_bytes;
    pthread_mutex_init(&cache->lock, NULL);
    pthread_cond_init(&cache->loaded, NULL);
    return cache;
}

static size_t bucket_of(const struct zs_cache *cache, struct zs_cache_key key)
{
    uint64_t h = key.id * 0x9E3779B97F4A7C15u ^ key.space * 0xC2B2AE3D27D4EB4Fu;
    h ^= h >> 32;
    return (size_t)h & (cache->bucket_count - 1);
}

static struct zs_cache_entry *find(const struct zs_cache *cache, struct zs_cache_key key)
{
    struct zs_cache_entry *e = cache->buckets[bucket_of(cache, key)];
    while (e != NULL && (e->key.id != key.id || e->key.space != key.space))
        e = e->chain;
    return e;
}

static void list_remove(struct zs_cache *cache, struct zs_cache_entry *e)
{
    *(e->newer != NULL ? &e->newer->older : &cache->newest) = e->older;
    *(e->older != NULL ? &e->older->newer : &cache->oldest) = e->newer;
    e->newer = e->older = NULL;
}

static void list_push_newest(struct zs_cache *cache, struct zs_cache_entry *e)
{
    e->older = cache->newest;
    e->newer = NULL;
    *(cache->newest != NULL ? &cache->newest->newer : &cache->oldest) = e;
    cache->newest = e;
}

static void table_grow(struct zs_cache *cache)
{
    size_t old_count = cache->bucket_count;
    struct zs_cache_entry **old = cache->buckets;
    struct zs_cache_entry **grown = zs_calloc(old_count * 2, sizeof(struct zs_cache_entry *));
    if (grown == NULL)
        return; /* longer chains, still right */
    cache->buckets = grown;
    cache->bucket_count = old_count * 2;
    for (size_t i = 0; i < old_count; i++) {
        struct zs_cache_entry *next;
        for (struct zs_cache_entry *e = old[i]; e != NULL; e = next) {
            next = e->chain;
            size_t b = bucket_of(cache, e->key);
            e->chain = cache->buckets[b];
            cache->buckets[b] = e;
        }
    }
    free(old);
}

static void table_insert(struct zs_cache *cache, struct zs_cache_entry *e)
{
    if (cache->entry_count >= cache->bucket_count)
        table_grow(cache);
    size_t b = bucket_of(cache, e->key);
    e->chain = cache->buckets[b];
    cache->buckets[b] = e;
    e->in_table = true;
    cache->entry_count++;
    cache->used += e->bytes;
}

static void table_remove(struct zs_cache *cache, struct zs_cache_entry *e)
{
    struct zs_cache_entry **p = &cache->buckets[bucket_of(cache, e->key)];
    while (*p != e)
        p = &(*p)->chain;
    *p = e->chain;
    e->chain = NULL;
    e->in_table = false;
    cache->entry_count--;
    cache->used -= e->bytes;
}

/* With the lock held: takes unpinned entries out until the budget holds, and returns them chained, to be destroyed
 * outside the lock. */
static struct zs_cache_entry *evict(struct zs_cache *cache)
{
    struct zs_cache_entry *evicted = NULL;
    while (cache->used > cache->budget && cache->oldest != NULL) {
        struct zs_cache_entry *e = cache->oldest;
        list_remove(cache, e);
        table_remove(cache, e);
        e->chain = evicted;
        evicted = e;
    }
    return evicted;
}

static void destroy_chain(struct zs_cache *cache, struct zs_cache_entry *e)
{
    while (e != NULL) {
        struct zs_cache_entry *next = e->chain;
        if (e->value != NULL)
            cache->destroy(e->value);
        free(e);
        e = next;
    }
}

/* With the lock held: e becomes pinned. */
static struct zs_cache_entry *pin(struct zs_cache *cache, struct zs_cache_entry *e)
{
    if (e->pins++ == 0)
        list_remove(cache, e);
    return e;
}

struct zs_cache_entry *zs_cache_get(struct zs_cache *cache, struct zs_cache_key key)
{
    pthread_mutex_lock(&cache->lock);
    struct zs_cache_entry *e = find(cache, key);
    if (e != NULL)
        e = e->value != NULL ? pin(cache, e) : NULL;
    pthread_mutex_unlock(&cache->lock);
    return e;
}

struct zs_cache_entry *zs_cache_get_or_load(struct zs_cache *cache, struct zs_cache_key key, bool *must_load)
{
    *must_load = false;
    pthread_mutex_lock(&cache->lock);
    struct zs_cache_entry *e;
    while ((e = find(cache, key)) != NULL && e->value == NULL)
        pthread_cond_wait(&cache->loaded, &cache->lock);
    if (e != NULL) {
        pin(cache, e);
    } else {
        *must_load = true;
        struct zs_cache_entry *loading = zs_calloc(1, sizeof *loading);
        if (loading != NULL) { /* without memory for the marker others load too: only work is lost */
            loading->key = key;
            loading->pins = 1;
            table_insert(cache, loading);
        }
    }
    pthread_mutex_unlock(&cache->lock);
    return e;
}

/* With the lock held: takes e out of the table; returns it when nobody has it pinned and it must be destroyed. */
static struct zs_cache_entry *detach(struct zs_cache *cache, struct zs_cache_entry *e)
{
    const bool loading = e->value == NULL;
    if (!loading && e->pins == 0)
        list_remove(cache, e);
    table_remove(cache, e);
    return loading || e->pins == 0 ? e : NULL;
}

void zs_cache_remove(struct zs_cache *cache, struct zs_cache_key key)
{
    pthread_mutex_lock(&cache->lock);
    struct zs_cache_entry *e = find(cache, key);
    struct zs_cache_entry *dead = e != NULL && e->value != NULL ? detach(cache, e) : NULL;
    pthread_mutex_unlock(&cache->lock);
    destroy_chain(cache, dead);
}

void zs_cache_abandon(struct zs_cache *cache, struct zs_cache_key key)
{
    pthread_mutex_lock(&cache->lock);
    struct zs_cache_entry *e = find(cache, key);
    struct zs_cache_entry *dead = e != NULL && e->value == NULL ? detach(cache, e) : NULL;
    pthread_cond_broadcast(&cache->loaded);
    pthread_mutex_unlock(&cache->lock);
    destroy_chain(cache, dead);
}

struct zs_cache_entry *zs_cache_put(struct zs_cache *cache, struct zs_cache_key key, void *value, uint64_t bytes)
{
    struct zs_cache_entry *e = zs_calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    *e = (struct zs_cache_entry){.key = key, .value = value, .bytes = bytes, .pins = 1};
    pthread_mutex_lock(&cache->lock);
    struct zs_cache_entry *old = find(cache, key);
    struct zs_cache_entry *dead = old != NULL ? detach(cache, old) : NULL;
    table_insert(cache, e);
    struct zs_cache_entry *evicted = evict(cache);
    pthread_cond_broadcast(&cache->loaded);
    pthread_mutex_unlock(&cache->lock);
    destroy_chain(cache, dead);
    destroy_chain(cache, evicted);
    return e;
}

void *zs_cache_value(const struct zs_cache_entry *entry)
{
    return entry->value;
}

void zs_cache_release(struct zs_cache *cache, struct zs_cache_entry *e)
{
    struct zs_cache_entry *dead = NULL;
    pthread_mutex_lock(&cache->lock);
    if (--e->pins == 0) {
        if (e->in_table) {
            list_push_newest(cache, e);
            dead = evict(cache);
        } else {
            dead = e;
        }
    }
    pthread_mutex_unlock(&cache->lock);
    destroy_chain(cache, dead);
}

void zs_cache_clear(struct zs_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    struct zs_cache_entry *dead = NULL;
    for (size_t i = 0; i < cache->bucket_count; i++) {
        struct zs_cache_entry *next;
        for (struct zs_cache_entry *e = cache->buckets[i]; e != NULL; e = next) {
            next = e->chain;
            if (e->value == NULL)
                continue; /* being loaded: its loader will put it */
            struct zs_cache_entry *unpinned = detach(cache, e);
            if (unpinned != NULL) {
                unpinned->chain = dead;
                dead = unpinned;
            }
        }
    }
    pthread_mutex_unlock(&cache->lock);
    destroy_chain(cache, dead);
}

void zs_cache_free(struct zs_cache *cache)
{
    if (cache == NULL)
        return;
    zs_cache_clear(cache);
    pthread_mutex_destroy(&cache->lock);
    pthread_cond_destroy(&cache->loaded);
    free(cache->buckets);
    free(cache);
}

void zs_cache_raise_budget(struct zs_cache *cache, uint64_t bytes)
{
    pthread_mutex_lock(&cache->lock);
    if (bytes > cache->budget)
        cache->budget = bytes;
    pthread_mutex_unlock(&cache->lock);
}

uint64_t zs_cache_budget(struct zs_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    uint64_t budget = cache->budget;
    pthread_mutex_unlock(&cache->lock);
    return budget;
}
