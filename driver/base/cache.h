/* base/cache.h: least-recently-used caches with a budget in bytes, safe to use from many threads, and the budget of the
 * process that they share.
 *
 * A value is handed out pinned and stays valid until zs_cache_release(); pinned values are never evicted, so the cache
 * may exceed its budget by what is in use. */
#pragma once

#include "base/map.h"

struct zs_cache_entry;

/* Entries that count in one budget and are not pinned, by their last use, and the bytes of all. */
struct zs_cache_uses {
    uint64_t bytes;
    struct zs_cache_entry *newest, *oldest;
};

/* A cache. Initialise the first two members, and all others to zero. */
struct zs_cache {
    /* Releases a value; it is called without the lock held and must not free a cache. */
    void (*destroy)(void *value);
    /* Bytes that it may hold; 0: its values count in the budget of the process: beyond it, the least recently used ones
     * go, in whichever cache they are. */
    uint64_t budget;
    struct zs_map table;       /* by a hash of the key */
    struct zs_cache_uses uses; /* in a budget of its own */
    size_t leaving;            /* entries that were taken out, and are not destroyed yet */
    bool is_listed;            /* in the list of caches, from its first entry on */
    struct zs_cache *next;
};

/* The key of a value, for instance {nesting level, chunk number}. */
struct zs_cache_key {
    uint64_t space;
    uint64_t id;
};

/* Bytes that an entry takes besides its value, for callers that count them. */
#define ZS_CACHE_ENTRY_BYTES ((size_t)128)

/* Empties a cache for good. Nothing may be pinned. Returns when all its values are destroyed. */
void zs_cache_free(struct zs_cache *cache);

/* The value for `key`, pinned, or NULL when it is not there. */
struct zs_cache_entry *zs_cache_get(struct zs_cache *cache, struct zs_cache_key key);

/* Like zs_cache_get(), but on a miss the first caller gets NULL, and all others wait until it calls zs_cache_put() or,
 * when loading failed, zs_cache_remove() for the key. A caller must not ask for another key before that (deadlock). */
struct zs_cache_entry *zs_cache_get_or_load(struct zs_cache *cache, struct zs_cache_key key);

/* Hands `value` over to the cache and returns it pinned. Replaces an older value of the key, which lives on while it is
 * pinned. NULL without memory: the value is destroyed, and the key is dropped. */
struct zs_cache_entry *zs_cache_put(struct zs_cache *cache, struct zs_cache_key key, void *value, uint64_t bytes);

/* The value of a pinned entry, valid until it is released. */
void *zs_cache_value(const struct zs_cache_entry *entry);
/* Takes one pin away: each call that returned the entry needs one. NULL is allowed. */
void zs_cache_release(struct zs_cache_entry *entry);

/* Drops one key, or all. Pinned values live on until released. Who waits for one key that is being loaded loads it. */
void zs_cache_remove(struct zs_cache *cache, struct zs_cache_key key);
void zs_cache_clear(struct zs_cache *cache);

/* The bytes that the cache may hold. */
uint64_t zs_cache_budget(const struct zs_cache *cache);

/* ---- The budget of the process ---- */

/* The process's budget in bytes, 64 MiB until it is set, and how much of it is used. */
void zs_budget_set(uint64_t bytes);
uint64_t zs_budget(void);
uint64_t zs_budget_used(void);

/* Counts `more` bytes outside of caches (changed chunks) in the budget, or, below 0, fewer; evicts values to make room
 * for them. False when that was not enough: the caller should free memory soon. */
bool zs_budget_count(int64_t more);
