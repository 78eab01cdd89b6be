#include "base/cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/fork.h"
#include "base/limits.h"
#include "base/memory.h"

/* When the budget is exceeded, one part in so many of it is freed at once, so that searching all caches is
 * rare. */
#define FREE_SHARE 32

/* An entry is in the table (found by key) or orphaned (replaced or removed while pinned); only unpinned entries of the
 * table are in the recency list. */
struct zs_cache_entry {
    struct zs_cache_key key;
    void *value; /* NULL while loading */
    uint64_t bytes;
    uint64_t stamp; /* time of its last release, in a cache that shares the budget */
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

    bool is_shared; /* its bytes count in the budget of the process, and the rest is of use */
    uint64_t asked;
    atomic_uint_least64_t oldest_stamp; /* UINT64_MAX: nothing can be evicted */
    struct zs_cache *next;
};

static struct {
    struct zs_cache *first;
    uint64_t set;
    atomic_uint_least64_t budget, used, clock;
} process = {.set = ZS_USUAL_BUDGET_BYTES, .budget = ZS_USUAL_BUDGET_BYTES};

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
    atomic_init(&cache->oldest_stamp, UINT64_MAX);
    pthread_mutex_init(&cache->lock, NULL);
    pthread_cond_init(&cache->loaded, NULL);
    pthread_mutex_lock(&zs_locks[ZS_LOCK_CACHES]);
    cache->next = process.first;
    process.first = cache;
    pthread_mutex_unlock(&zs_locks[ZS_LOCK_CACHES]);
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

static void note_oldest(struct zs_cache *cache)
{
    if (cache->is_shared)
        atomic_store_explicit(&cache->oldest_stamp, cache->oldest != NULL ? cache->oldest->stamp : UINT64_MAX,
                              memory_order_relaxed);
}

static void list_remove(struct zs_cache *cache, struct zs_cache_entry *e)
{
    *(e->newer != NULL ? &e->newer->older : &cache->newest) = e->older;
    *(e->older != NULL ? &e->older->newer : &cache->oldest) = e->newer;
    e->newer = e->older = NULL;
    note_oldest(cache);
}

static void list_push_newest(struct zs_cache *cache, struct zs_cache_entry *e)
{
    e->older = cache->newest;
    e->newer = NULL;
    *(cache->newest != NULL ? &cache->newest->newer : &cache->oldest) = e;
    cache->newest = e;
    if (cache->is_shared)
        e->stamp = atomic_fetch_add_explicit(&process.clock, 1, memory_order_relaxed);
    note_oldest(cache);
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
    if (cache->is_shared)
        atomic_fetch_add_explicit(&process.used, e->bytes, memory_order_relaxed);
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
    if (cache->is_shared)
        atomic_fetch_sub_explicit(&process.used, e->bytes, memory_order_relaxed);
}

/* With the lock held: takes the oldest unpinned entry out and puts it before those taken out already, to be destroyed
 * outside the lock. */
static struct zs_cache_entry *take_oldest(struct zs_cache *cache, struct zs_cache_entry *taken)
{
    struct zs_cache_entry *e = cache->oldest;
    list_remove(cache, e);
    table_remove(cache, e);
    e->chain = taken;
    return e;
}

/* With the lock held: takes unpinned entries out until the cache's own budget holds. */
static struct zs_cache_entry *evict(struct zs_cache *cache)
{
    struct zs_cache_entry *evicted = NULL;
    while (cache->used > cache->budget && cache->oldest != NULL)
        evicted = take_oldest(cache, evicted);
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

/* ---- The budget of the process ---- */

uint64_t zs_budget(void)
{
    return atomic_load_explicit(&process.budget, memory_order_relaxed);
}

uint64_t zs_budget_used(void)
{
    return atomic_load_explicit(&process.used, memory_order_relaxed);
}

/* With ZS_LOCK_CACHES held: finds the cache with the oldest entry of all, NULL when there is none. *next: the oldest
 * stamp of the other caches. */
static struct zs_cache *cache_of_oldest(uint64_t *next)
{
    struct zs_cache *found = NULL;
    uint64_t least = UINT64_MAX;
    *next = UINT64_MAX;
    for (struct zs_cache *c = process.first; c != NULL; c = c->next) {
        const uint64_t stamp = atomic_load_explicit(&c->oldest_stamp, memory_order_relaxed);
        if (stamp < least) {
            *next = least;
            least = stamp;
            found = c;
        } else {
            *next = zs_min_u64(*next, stamp);
        }
    }
    return found;
}

/* Evicts what was not used longest from all caches when they are over the budget. Called without any cache's lock. */
static void keep_budget(void)
{
    uint64_t budget = zs_budget(), next;
    if (zs_budget_used() <= budget || pthread_mutex_trylock(&zs_locks[ZS_LOCK_CACHES]) != 0)
        return; /* or another thread does it */
    budget -= budget / FREE_SHARE;
    struct zs_cache *cache;
    while (zs_budget_used() > budget && (cache = cache_of_oldest(&next)) != NULL) {
        struct zs_cache_entry *evicted = NULL;
        pthread_mutex_lock(&cache->lock);
        while (zs_budget_used() > budget && cache->oldest != NULL && cache->oldest->stamp <= next)
            evicted = take_oldest(cache, evicted);
        pthread_mutex_unlock(&cache->lock);
        destroy_chain(cache, evicted); /* the cache lives: it leaves the list before it is freed */
    }
    pthread_mutex_unlock(&zs_locks[ZS_LOCK_CACHES]);
}

/* With ZS_LOCK_CACHES held. */
static void update_budget(void)
{
    uint64_t budget = process.set;
    for (const struct zs_cache *c = process.first; c != NULL; c = c->next)
        budget = zs_max_u64(budget, c->asked);
    atomic_store_explicit(&process.budget, budget, memory_order_relaxed);
}

void zs_budget_set(uint64_t bytes)
{
    pthread_mutex_lock(&zs_locks[ZS_LOCK_CACHES]);
    if (process.set != bytes) {
        process.set = bytes;
        update_budget();
    }
    pthread_mutex_unlock(&zs_locks[ZS_LOCK_CACHES]);
    keep_budget();
}

void zs_cache_share_budget(struct zs_cache *cache, uint64_t asked)
{
    pthread_mutex_lock(&zs_locks[ZS_LOCK_CACHES]);
    cache->is_shared = true;
    cache->asked = asked;
    if (asked > zs_budget())
        update_budget();
    pthread_mutex_unlock(&zs_locks[ZS_LOCK_CACHES]);
}

static void leave_process(struct zs_cache *cache)
{
    pthread_mutex_lock(&zs_locks[ZS_LOCK_CACHES]);
    struct zs_cache **p = &process.first;
    while (*p != cache)
        p = &(*p)->next;
    *p = cache->next;
    if (cache->asked == zs_budget())
        update_budget();
    pthread_mutex_unlock(&zs_locks[ZS_LOCK_CACHES]);
    if (cache->is_shared)
        keep_budget();
}

bool zs_budget_take(uint64_t bytes)
{
    atomic_fetch_add_explicit(&process.used, bytes, memory_order_relaxed);
    keep_budget();
    return zs_budget_used() <= zs_budget();
}

void zs_budget_give(uint64_t bytes)
{
    atomic_fetch_sub_explicit(&process.used, bytes, memory_order_relaxed);
}

/* ---- Values ---- */

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

/* With the lock held: takes e out of the table; returns it when it is not pinned and must be destroyed. */
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
    if (cache->is_shared)
        keep_budget();
    return e;
}

void *zs_cache_value(const struct zs_cache_entry *entry)
{
    return entry->value;
}

void zs_cache_pin(struct zs_cache *cache, struct zs_cache_entry *e)
{
    pthread_mutex_lock(&cache->lock);
    e->pins++;
    pthread_mutex_unlock(&cache->lock);
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
    if (cache->is_shared)
        keep_budget();
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

void zs_caches_before_fork(void)
{
    for (struct zs_cache *c = process.first; c != NULL; c = c->next)
        pthread_mutex_lock(&c->lock);
}

/* With the lock held: forgets what other threads were loading. */
static void forget_loading(struct zs_cache *cache)
{
    struct zs_cache_entry *next;
    pthread_cond_init(&cache->loaded, NULL);
    for (size_t i = 0; i < cache->bucket_count; i++)
        for (struct zs_cache_entry *e = cache->buckets[i]; e != NULL; e = next) {
            next = e->chain;
            if (e->value == NULL)
                free(detach(cache, e));
        }
}

void zs_caches_after_fork(bool is_child)
{
    for (struct zs_cache *c = process.first; c != NULL; c = c->next) {
        if (is_child)
            forget_loading(c);
        pthread_mutex_unlock(&c->lock);
    }
}

void zs_cache_free(struct zs_cache *cache)
{
    if (cache == NULL)
        return;
    leave_process(cache);
    zs_cache_clear(cache);
    pthread_mutex_destroy(&cache->lock);
    pthread_cond_destroy(&cache->loaded);
    free(cache->buckets);
    free(cache);
}

struct zs_cache *zs_cache_once(struct zs_cache **cache, uint64_t budget_bytes, void (*destroy)(void *))
{
    struct zs_cache *there = __atomic_load_n(cache, __ATOMIC_ACQUIRE);
    struct zs_cache *made = there == NULL ? zs_cache_create(budget_bytes, destroy) : NULL;
    if (made == NULL || __atomic_compare_exchange_n(cache, &there, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made != NULL ? made : there;
    zs_cache_free(made);
    return there;
}

uint64_t zs_cache_budget(struct zs_cache *cache)
{
    return cache->is_shared ? zs_min_u64(cache->budget, zs_budget()) : cache->budget; /* neither changes its own */
}
