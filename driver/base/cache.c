/* All caches have one lock: it is held for the moment of a look-up alone, never while a value is made or destroyed. */
#include "base/cache.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/memory.h"
#include "base/parallel.h"

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

static pthread_mutex_t *const lock = &zs_locks[ZS_LOCK_CACHES];
static pthread_cond_t loaded = PTHREAD_COND_INITIALIZER, destroyed = PTHREAD_COND_INITIALIZER;
static struct zs_cache *caches;
static struct zs_cache_uses process;
static atomic_uint_least64_t process_budget = ZS_USUAL_BUDGET_BYTES;

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

static struct zs_cache_uses *uses_of(struct zs_cache *cache)
{
    return cache->budget != 0 ? &cache->uses : &process;
}

static void list_remove(struct zs_cache_entry *e)
{
    struct zs_cache_uses *uses = uses_of(e->cache);
    *(e->newer != NULL ? &e->newer->older : &uses->newest) = e->older;
    *(e->older != NULL ? &e->older->newer : &uses->oldest) = e->newer;
    e->newer = e->older = NULL;
}

static void list_push_newest(struct zs_cache_entry *e)
{
    struct zs_cache_uses *uses = uses_of(e->cache);
    e->older = uses->newest;
    *(uses->newest != NULL ? &uses->newest->newer : &uses->oldest) = e;
    uses->newest = e;
}

/* Takes an entry out of the table, and puts it before those in *dead unless it is pinned. */
static void detach(struct zs_cache_entry *e, struct zs_cache_entry **dead)
{
    const bool is_loading = e->value == NULL;
    (void)zs_map_remove(&e->cache->table, hash_of(e->key));
    e->in_table = false;
    uses_of(e->cache)->bytes -= e->bytes;
    if (!is_loading && e->pins > 0)
        return;
    if (!is_loading)
        list_remove(e);
    e->next = *dead;
    *dead = e;
}

/* Puts an entry into the table, in place of one of its key, or of one whose key has the same hash. NULL without memory:
 * that one is gone, too. */
static struct zs_cache_entry *insert(struct zs_cache *cache, struct zs_cache_key key, void *value, uint64_t bytes,
                                     struct zs_cache_entry **dead)
{
    struct zs_cache_entry *e = zs_calloc(1, sizeof *e), *old = zs_map_get(&cache->table, hash_of(key));
    if (old != NULL)
        detach(old, dead);
    if (e == NULL || !zs_map_set(&cache->table, hash_of(key), e)) {
        free(e);
        return NULL;
    }
    if (!cache->is_listed) {
        cache->is_listed = true;
        cache->next = caches;
        caches = cache;
    }
    *e = (struct zs_cache_entry){.cache = cache, .key = key, .value = value, .bytes = bytes};
    e->pins = 1;
    e->in_table = true;
    uses_of(cache)->bytes += bytes;
    return e;
}

/* Takes out all entries that are being loaded, or all others. */
static void detach_all(struct zs_cache *cache, bool are_loading, struct zs_cache_entry **dead)
{
    struct zs_cache_entry *found = NULL, *e;
    for (size_t at = 0; (e = zs_map_next(&cache->table, &at)) != NULL;)
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
static void evict(struct zs_cache_uses *uses, uint64_t budget, struct zs_cache_entry **dead)
{
    while (uses->bytes > budget && uses->oldest != NULL)
        detach(uses->oldest, dead);
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

uint64_t zs_cache_budget(const struct zs_cache *cache)
{
    return cache->budget != 0 ? cache->budget : zs_budget();
}

void zs_cache_free(struct zs_cache *cache)
{
    struct zs_cache_entry *dead = NULL;
    pthread_mutex_lock(lock);
    struct zs_cache **p = &caches;
    while (*p != NULL && *p != cache)
        p = &(*p)->next;
    if (*p != NULL)
        *p = cache->next;
    detach_all(cache, false, &dead);
    while (cache->leaving > 0) /* what these values need may be freed after this */
        pthread_cond_wait(&destroyed, lock);
    unlock(dead);
    zs_map_free(&cache->table);
}

struct zs_cache_entry *zs_cache_get(struct zs_cache *cache, struct zs_cache_key key)
{
    pthread_mutex_lock(lock);
    struct zs_cache_entry *e = find(cache, key);
    e = e != NULL && e->value != NULL ? e : NULL;
    if (e != NULL && e->pins++ == 0)
        list_remove(e);
    pthread_mutex_unlock(lock);
    return e;
}

struct zs_cache_entry *zs_cache_get_or_load(struct zs_cache *cache, struct zs_cache_key key)
{
    struct zs_cache_entry *dead = NULL, *e;
    pthread_mutex_lock(lock);
    while ((e = find(cache, key)) != NULL && e->value == NULL)
        pthread_cond_wait(&loaded, lock);
    if (e == NULL) /* without memory for this others load too: only work is lost */
        (void)insert(cache, key, NULL, 0, &dead);
    else if (e->pins++ == 0)
        list_remove(e);
    unlock(dead);
    return e;
}

struct zs_cache_entry *zs_cache_put(struct zs_cache *cache, struct zs_cache_key key, void *value, uint64_t bytes)
{
    struct zs_cache_entry *dead = NULL;
    pthread_mutex_lock(lock);
    struct zs_cache_entry *e = insert(cache, key, value, bytes, &dead);
    evict(uses_of(cache), zs_cache_budget(cache), &dead);
    pthread_cond_broadcast(&loaded);
    unlock(dead);
    if (e == NULL)
        cache->destroy(value);
    return e;
}

void *zs_cache_value(const struct zs_cache_entry *entry)
{
    return entry->value;
}

void zs_cache_release(struct zs_cache_entry *e)
{
    struct zs_cache_entry *dead = NULL;
    if (e == NULL)
        return;
    pthread_mutex_lock(lock);
    if (--e->pins == 0 && e->in_table) {
        list_push_newest(e);
        evict(uses_of(e->cache), zs_cache_budget(e->cache), &dead);
    } else if (e->pins == 0) {
        e->next = NULL;
        dead = e;
    }
    unlock(dead);
}

void zs_cache_remove(struct zs_cache *cache, struct zs_cache_key key)
{
    struct zs_cache_entry *dead = NULL;
    pthread_mutex_lock(lock);
    struct zs_cache_entry *e = find(cache, key);
    if (e != NULL)
        detach(e, &dead);
    pthread_cond_broadcast(&loaded);
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

/* ---- The budget of the process ---- */

uint64_t zs_budget(void)
{
    return atomic_load_explicit(&process_budget, memory_order_relaxed);
}

uint64_t zs_budget_used(void)
{
    pthread_mutex_lock(lock);
    const uint64_t used = process.bytes;
    pthread_mutex_unlock(lock);
    return used;
}

void zs_budget_set(uint64_t bytes)
{
    atomic_store_explicit(&process_budget, bytes, memory_order_relaxed);
    (void)zs_budget_count(0); /* a lower one holds at once */
}

bool zs_budget_count(int64_t more)
{
    struct zs_cache_entry *dead = NULL;
    pthread_mutex_lock(lock);
    process.bytes += (uint64_t)more;
    evict(&process, zs_budget(), &dead);
    const bool has_room = process.bytes <= zs_budget();
    unlock(dead);
    return has_room;
}
