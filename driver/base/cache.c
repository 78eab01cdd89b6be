/* All caches have one lock: it is held for the moment of a look-up alone, never while a value is made or destroyed. */
#include "base/cache.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/parallel.h"

/* A budget, and the values that count in it and are not pinned, by their last use. */
struct budget {
    atomic_uint_least64_t bytes; /* changed under the lock */
    uint64_t used;
    struct zs_cache_entry *newest, *oldest;
};

/* An entry is in the table (found by key) or orphaned (replaced or removed while pinned); only unpinned entries of the
 * table are in the list of a budget. */
struct zs_cache_entry {
    struct zs_cache *cache;
    struct zs_cache_key key;
    void *value; /* NULL while loading */
    uint64_t bytes;
    int pins;
    bool in_table;
    struct zs_cache_entry *next; /* of those taken out, to be destroyed without the lock */
    struct zs_cache_entry *newer, *older;
};

struct zs_cache {
    void (*destroy)(void *);
    struct zs_map table;   /* by hash_of() */
    size_t leaving;        /* entries that were taken out, and are not destroyed yet */
    struct budget *budget; /* its own, or that of the process */
    struct budget own;
    struct zs_cache *next;
};

static pthread_mutex_t *const lock = &zs_locks[ZS_LOCK_CACHES];
static pthread_cond_t loaded = PTHREAD_COND_INITIALIZER, destroyed = PTHREAD_COND_INITIALIZER;
static struct zs_cache *caches;
static struct budget process = {.bytes = ZS_USUAL_BUDGET_BYTES};

/* ---- Entries; with the lock held ---- */

static uint64_t hash_of(struct zs_cache_key key)
{
    const uint64_t h = key.id * 0x9E3779B97F4A7C15u ^ key.space * 0xC2B2AE3D27D4EB4Fu;
    return h ^ h >> 32;
}

static struct zs_cache_entry *find(const struct zs_cache *cache, struct zs_cache_key key)
{
    struct zs_cache_entry *e = zs_map_get(&cache->table, hash_of(key));
    return e != NULL && e->key.id == key.id && e->key.space == key.space ? e : NULL;
}

static void list_remove(struct zs_cache_entry *e)
{
    struct budget *budget = e->cache->budget;
    *(e->newer != NULL ? &e->newer->older : &budget->newest) = e->older;
    *(e->older != NULL ? &e->older->newer : &budget->oldest) = e->newer;
    e->newer = e->older = NULL;
}

static void list_push_newest(struct zs_cache_entry *e)
{
    struct budget *budget = e->cache->budget;
    e->older = budget->newest;
    e->newer = NULL;
    *(budget->newest != NULL ? &budget->newest->newer : &budget->oldest) = e;
    budget->newest = e;
}

/* Takes an entry out of the table, and puts it before those in *dead unless it is pinned. */
static void detach(struct zs_cache_entry *e, struct zs_cache_entry **dead)
{
    const bool is_loading = e->value == NULL;
    (void)zs_map_remove(&e->cache->table, hash_of(e->key));
    e->in_table = false;
    e->cache->budget->used -= e->bytes;
    if (!is_loading && e->pins > 0)
        return;
    if (!is_loading)
        list_remove(e);
    e->next = *dead;
    *dead = e;
}

/* Puts an entry into the table, in place of one of its key, or of one whose key has the same hash. NULL without
 * memory. */
static struct zs_cache_entry *insert(struct zs_cache *cache, struct zs_cache_key key, void *value, uint64_t bytes,
                                     struct zs_cache_entry **dead)
{
    struct zs_cache_entry *e = zs_calloc(1, sizeof *e), *old = zs_map_get(&cache->table, hash_of(key));
    if (e != NULL && old != NULL)
        detach(old, dead);
    if (e == NULL || !zs_map_set(&cache->table, hash_of(key), e)) {
        free(e);
        return NULL;
    }
    *e = (struct zs_cache_entry){.cache = cache, .key = key, .value = value};
    e->bytes = bytes;
    e->pins = 1;
    e->in_table = true;
    cache->budget->used += bytes;
    return e;
}

static struct zs_cache_entry *pin(struct zs_cache_entry *e)
{
    if (e->pins++ == 0)
        list_remove(e);
    return e;
}

/* Takes out all entries that are being loaded, or all others. */
static void detach_all(struct zs_cache *cache, bool are_loading, struct zs_cache_entry **dead)
{
    struct zs_cache_entry *found = NULL, *e;
    uint64_t hash;
    for (size_t at = 0; (e = zs_map_next(&cache->table, &at, &hash)) != NULL;)
        if ((e->value == NULL) == are_loading) {
            e->next = found;
            found = e;
        }
    while ((e = found) != NULL) {
        found = e->next;
        detach(e, dead);
    }
}

/* Takes out what was not used longest until a budget holds. */
static void evict(struct budget *budget, struct zs_cache_entry **dead)
{
    const uint64_t bytes = atomic_load_explicit(&budget->bytes, memory_order_relaxed);
    while (budget->used > bytes && budget->oldest != NULL)
        detach(budget->oldest, dead);
}

/* Releases the lock, and destroys what was taken out. */
static void unlock(struct zs_cache_entry *dead)
{
    for (struct zs_cache_entry *e = dead; e != NULL; e = e->next)
        e->cache->leaving++;
    pthread_mutex_unlock(lock);
    if (dead == NULL)
        return;
    for (struct zs_cache_entry *e = dead; e != NULL; e = e->next)
        if (e->value != NULL)
            e->cache->destroy(e->value);
    pthread_mutex_lock(lock);
    for (struct zs_cache_entry *e; (e = dead) != NULL;) {
        dead = e->next;
        e->cache->leaving--;
        free(e);
    }
    pthread_cond_broadcast(&destroyed);
    pthread_mutex_unlock(lock);
}

/* ---- Caches ---- */

struct zs_cache *zs_cache_create(uint64_t budget_bytes, void (*destroy)(void *))
{
    struct zs_cache *cache = zs_calloc(1, sizeof *cache);
    if (cache == NULL)
        return NULL;
    cache->destroy = destroy;
    atomic_init(&cache->own.bytes, budget_bytes);
    cache->budget = budget_bytes != 0 ? &cache->own : &process;
    pthread_mutex_lock(lock);
    cache->next = caches;
    caches = cache;
    pthread_mutex_unlock(lock);
    return cache;
}

uint64_t zs_cache_budget(const struct zs_cache *cache)
{
    return atomic_load_explicit(&cache->budget->bytes, memory_order_relaxed);
}

void zs_cache_free(struct zs_cache *cache)
{
    struct zs_cache_entry *dead = NULL;
    if (cache == NULL)
        return;
    pthread_mutex_lock(lock);
    struct zs_cache **p = &caches;
    while (*p != cache)
        p = &(*p)->next;
    *p = cache->next;
    detach_all(cache, false, &dead);
    while (cache->leaving > 0) /* what these values need may be freed after this */
        pthread_cond_wait(&destroyed, lock);
    unlock(dead);
    zs_map_free(&cache->table);
    free(cache);
}

/* ---- The budget of the process ---- */

uint64_t zs_budget(void)
{
    return atomic_load_explicit(&process.bytes, memory_order_relaxed);
}

uint64_t zs_budget_used(void)
{
    pthread_mutex_lock(lock);
    const uint64_t used = process.used;
    pthread_mutex_unlock(lock);
    return used;
}

void zs_budget_set(uint64_t bytes)
{
    struct zs_cache_entry *dead = NULL;
    pthread_mutex_lock(lock);
    atomic_store_explicit(&process.bytes, bytes, memory_order_relaxed);
    evict(&process, &dead);
    unlock(dead);
}

bool zs_budget_take(uint64_t bytes)
{
    struct zs_cache_entry *dead = NULL;
    pthread_mutex_lock(lock);
    process.used += bytes;
    evict(&process, &dead);
    const bool has_room = process.used <= zs_budget();
    unlock(dead);
    return has_room;
}

void zs_budget_give(uint64_t bytes)
{
    pthread_mutex_lock(lock);
    process.used -= bytes;
    pthread_mutex_unlock(lock);
}

/* ---- Values ---- */

struct zs_cache_entry *zs_cache_get(struct zs_cache *cache, struct zs_cache_key key)
{
    pthread_mutex_lock(lock);
    struct zs_cache_entry *e = find(cache, key);
    e = e != NULL && e->value != NULL ? pin(e) : NULL;
    pthread_mutex_unlock(lock);
    return e;
}

struct zs_cache_entry *zs_cache_get_or_load(struct zs_cache *cache, struct zs_cache_key key, bool *must_load)
{
    struct zs_cache_entry *dead = NULL, *e;
    pthread_mutex_lock(lock);
    while ((e = find(cache, key)) != NULL && e->value == NULL)
        pthread_cond_wait(&loaded, lock);
    *must_load = e == NULL;
    if (e != NULL)
        pin(e);
    else /* without memory for this others load too: only work is lost */
        (void)insert(cache, key, NULL, 0, &dead);
    unlock(dead);
    return e;
}

/* Takes an entry out that is being loaded, or another one. */
static void drop(struct zs_cache *cache, struct zs_cache_key key, bool is_loading)
{
    struct zs_cache_entry *dead = NULL;
    pthread_mutex_lock(lock);
    struct zs_cache_entry *e = find(cache, key);
    if (e != NULL && (e->value == NULL) == is_loading)
        detach(e, &dead);
    if (is_loading)
        pthread_cond_broadcast(&loaded);
    unlock(dead);
}

void zs_cache_abandon(struct zs_cache *cache, struct zs_cache_key key)
{
    drop(cache, key, true);
}

void zs_cache_remove(struct zs_cache *cache, struct zs_cache_key key)
{
    drop(cache, key, false);
}

struct zs_cache_entry *zs_cache_put(struct zs_cache *cache, struct zs_cache_key key, void *value, uint64_t bytes)
{
    struct zs_cache_entry *dead = NULL;
    pthread_mutex_lock(lock);
    struct zs_cache_entry *e = insert(cache, key, value, bytes, &dead);
    evict(cache->budget, &dead);
    pthread_cond_broadcast(&loaded);
    unlock(dead);
    return e;
}

void *zs_cache_value(const struct zs_cache_entry *entry)
{
    return entry->value;
}

void zs_cache_release(struct zs_cache *cache, struct zs_cache_entry *e)
{
    struct zs_cache_entry *dead = NULL;
    pthread_mutex_lock(lock);
    if (--e->pins == 0 && e->in_table) {
        list_push_newest(e);
        evict(cache->budget, &dead);
    } else if (e->pins == 0) {
        e->next = NULL;
        dead = e;
    }
    unlock(dead);
}

void zs_cache_clear(struct zs_cache *cache)
{
    struct zs_cache_entry *dead = NULL;
    pthread_mutex_lock(lock);
    detach_all(cache, false, &dead); /* what is being loaded its loader will put */
    unlock(dead);
}

void zs_caches_in_child(void)
{
    struct zs_cache_entry *dead = NULL;
    (void)pthread_cond_init(&loaded, NULL);
    (void)pthread_cond_init(&destroyed, NULL);
    for (struct zs_cache *c = caches; c != NULL; c = c->next) {
        c->leaving = 0;
        detach_all(c, true, &dead);
    }
    for (struct zs_cache_entry *e; (e = dead) != NULL;) {
        dead = e->next;
        free(e);
    }
}
