/* base/cache.h: a least-recently-used cache with a budget in bytes, safe to use from many threads.
 *
 * A value is handed out pinned and stays valid until zs_cache_release(); pinned values are never evicted, so the cache
 * may exceed its budget by what is in use. */
#ifndef ZS_BASE_CACHE_H
#define ZS_BASE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct zs_cache;
struct zs_cache_entry;

/* What a value belongs to, for instance {nesting level, chunk number}. */
struct zs_cache_key {
    uint64_t space;
    uint64_t id;
};

/* destroy releases a value; it is called without the cache's lock held. NULL without memory. */
struct zs_cache *zs_cache_create(uint64_t budget_bytes, void (*destroy)(void *value));
void zs_cache_free(struct zs_cache *cache); /* nothing may be pinned; NULL is allowed */

/* The value for `key`, pinned, or NULL when it is not there. */
struct zs_cache_entry *zs_cache_get(struct zs_cache *cache, struct zs_cache_key key);

/* The same, but on a miss the first caller gets NULL with *must_load true, and every other one waits until that one calls
 * zs_cache_put() or zs_cache_abandon() for the key. A caller must not hold one unfinished load while it asks for
 * another key: two such callers could wait for each other. */
struct zs_cache_entry *zs_cache_get_or_load(struct zs_cache *cache, struct zs_cache_key key, bool *must_load);
void zs_cache_abandon(struct zs_cache *cache, struct zs_cache_key key);

/* Hands `value` over to the cache and returns it pinned. Should the key be there already, the older value is replaced
 * (who has it pinned keeps it until release). NULL without memory; the value then still belongs to the caller. */
struct zs_cache_entry *zs_cache_put(struct zs_cache *cache, struct zs_cache_key key, void *value, uint64_t bytes);

void *zs_cache_value(const struct zs_cache_entry *entry);
void zs_cache_release(struct zs_cache *cache, struct zs_cache_entry *entry);

/* Forgets one key, or everything. Pinned values live on until released. */
void zs_cache_remove(struct zs_cache *cache, struct zs_cache_key key);
void zs_cache_clear(struct zs_cache *cache);

/* Raises the budget to at least `bytes` (it never falls). */
void zs_cache_raise_budget(struct zs_cache *cache, uint64_t bytes);
uint64_t zs_cache_budget(struct zs_cache *cache);

#endif
