/* All caches have one lock: it is held for the moment of a look-up alone, never while a value is made or destroyed. */
#include "base/cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/fork.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/memory.h"

/* An entry is in the table (found by key) or orphaned (replaced or removed while pinned); only unpinned entries of the
 * table are in the recency list. */
struct zs_cache_entry {
    struct zs_cache_key key;
    void *value; /* NULL while loading */
    void (*destroy)(void *);
    uint64_t bytes;
    uint64_t stamp; /* time of its last release */
    int pins;
    bool in_table;
    struct zs_cache_entry *next; /* of those taken out, to be destroyed without the lock */
    struct zs_cache_entry *newer, *older;
};

struct zs_cache {
    void (*destroy)(void *);
    uint64_t budget;
    uint64_t used;
    struct zs_map table; /* by hash_of() */
    struct zs_cache_entry *newest, *oldest;
    bool is_shared; /* its bytes count in the budget of the process */
    uint64_t asked;
    struct zs_cache *next;
};

static pthread_mutex_t *const lock = &zs_locks[ZS_LOCK_CACHES];
static pthread_cond_t loaded = PTHREAD_COND_INITIALIZER;

static struct {
    struct zs_cache *first;
    uint64_t set, used, clock;
    atomic_uint_least64_t budget; /* changed under the lock */
} process = {.set = ZS_USUAL_BUDGET_BYTES, .budget = ZS_USUAL_BUDGET_BYTES};

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
    e->stamp = process.clock++;
}

/* Takes an entry out of the table, and puts it before those in *dead unless it is pinned. */
static void detach(struct zs_cache *cache, struct zs_cache_entry *e, struct zs_cache_entry **dead)
{
    const bool is_loading = e->value == NULL;
    (void)zs_map_remove(&cache->table, hash_of(e->key));
    e->in_table = false;
    cache->used -= e->bytes;
    process.used -= cache->is_shared ? e->bytes : 0;
    if (!is_loading && e->pins > 0)
        return;
    if (!is_loading)
        list_remove(cache, e);
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
        detach(cache, old, dead);
    if (e == NULL || !zs_map_set(&cache->table, hash_of(key), e)) {
        free(e);
        return NULL;
    }
    *e = (struct zs_cache_entry){
        .key = key, .value = value, .destroy = cache->destroy, .bytes = bytes, .pins = 1, .in_table = true};
    cache->used += bytes;
    process.used += cache->is_shared ? bytes : 0;
    return e;
}

static struct zs_cache_entry *pin(struct zs_cache *cache, struct zs_cache_entry *e)
{
    if (e->pins++ == 0)
        list_remove(cache, e);
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
        detach(cache, e, dead);
    }
}

/* The cache with the oldest entry of those that share the budget; NULL when there is none. */
static struct zs_cache *cache_of_oldest(void)
{
    struct zs_cache *found = NULL;
    for (struct zs_cache *c = process.first; c != NULL; c = c->next)
        if (c->is_shared && c->oldest != NULL && (found == NULL || c->oldest->stamp < found->oldest->stamp))
            found = c;
    return found;
}

/* Evicts what was not used longest from all caches that share the budget, when they are over it; and some more, since
 * finding the cache with the oldest entry takes all of them. */
static void keep_budget(struct zs_cache_entry **dead)
{
    const uint64_t budget = zs_budget(), wanted = budget - budget / 32;
    if (process.used <= budget)
        return;
    for (struct zs_cache *c; process.used > wanted && (c = cache_of_oldest()) != NULL;)
        detach(c, c->oldest, dead);
}

/* Evicts until the budget of a cache, and that of the process, holds. */
static void evict(struct zs_cache *cache, struct zs_cache_entry **dead)
{
    while (cache->used > cache->budget && cache->oldest != NULL)
        detach(cache, cache->oldest, dead);
    keep_budget(dead);
}

static void update_budget(void)
{
    uint64_t budget = process.set;
    for (const struct zs_cache *c = process.first; c != NULL; c = c->next)
        budget = zs_max_u64(budget, c->asked);
    atomic_store_explicit(&process.budget, budget, memory_order_relaxed);
}

/* Releases the lock, and destroys what was taken out. */
static void unlock(struct zs_cache_entry *dead)
{
    pthread_mutex_unlock(lock);
    for (struct zs_cache_entry *e; (e = dead) != NULL;) {
        dead = e->next;
        if (e->value != NULL)
            e->destroy(e->value);
        free(e);
    }
}

/* ---- Caches ---- */

struct zs_cache *zs_cache_create(uint64_t budget_bytes, void (*destroy)(void *))
{
    struct zs_cache *cache = zs_calloc(1, sizeof *cache);
    if (cache == NULL)
        return NULL;
    cache->destroy = destroy;
    cache->budget = budget_bytes;
    pthread_mutex_lock(lock);
    cache->next = process.first;
    process.first = cache;
    pthread_mutex_unlock(lock);
    return cache;
}

void zs_cache_share_budget(struct zs_cache *cache, uint64_t asked)
{
    pthread_mutex_lock(lock);
    cache->is_shared = true;
    cache->asked = asked;
    update_budget();
    pthread_mutex_unlock(lock);
}

uint64_t zs_cache_budget(struct zs_cache *cache)
{
    return cache->is_shared ? zs_min_u64(cache->budget, zs_budget()) : cache->budget; /* neither changes its own */
}

void zs_cache_free(struct zs_cache *cache)
{
    struct zs_cache_entry *dead = NULL;
    if (cache == NULL)
        return;
    pthread_mutex_lock(lock);
    struct zs_cache **p = &process.first;
    while (*p != cache)
        p = &(*p)->next;
    *p = cache->next;
    detach_all(cache, false, &dead);
    update_budget();
    keep_budget(&dead);
    unlock(dead);
    zs_map_free(&cache->table);
    free(cache);
}

/* ---- The budget of the process ---- */

uint64_t zs_budget(void)
{
    return atomic_load_explicit(&process.budget, memory_order_relaxed);
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
    if (process.set != bytes) {
        process.set = bytes;
        update_budget();
        keep_budget(&dead);
    }
    unlock(dead);
}

bool zs_budget_take(uint64_t bytes)
{
    struct zs_cache_entry *dead = NULL;
    pthread_mutex_lock(lock);
    process.used += bytes;
    keep_budget(&dead);
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
    e = e != NULL && e->value != NULL ? pin(cache, e) : NULL;
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
        pin(cache, e);
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
        detach(cache, e, &dead);
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
    evict(cache, &dead);
    pthread_cond_broadcast(&loaded);
    unlock(dead);
    return e;
}

void *zs_cache_value(const struct zs_cache_entry *entry)
{
    return entry->value;
}

void zs_cache_pin(struct zs_cache_entry *e)
{
    pthread_mutex_lock(lock);
    e->pins++;
    pthread_mutex_unlock(lock);
}

void zs_cache_release(struct zs_cache *cache, struct zs_cache_entry *e)
{
    struct zs_cache_entry *dead = NULL;
    pthread_mutex_lock(lock);
    if (--e->pins == 0 && e->in_table) {
        list_push_newest(cache, e);
        evict(cache, &dead);
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
    for (struct zs_cache *c = process.first; c != NULL; c = c->next)
        detach_all(c, true, &dead);
    for (struct zs_cache_entry *e; (e = dead) != NULL;) {
        dead = e->next;
        free(e);
    }
}
