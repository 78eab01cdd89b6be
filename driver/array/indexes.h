/* array/indexes.h: the opened objects of level-0 chunks, and the indexes of shards of any level, each read once and
 * cached. */
#pragma once

#include "array/array_private.h"
#include "shard/walk.h"

/* Caches an opened object of a level-0 chunk, in place of any other, and pins it. It is closed on failure. */
enum zs_status zs_shard_keep_object(struct zs_array *array, uint64_t shard, struct zs_object *object,
                                    struct zs_cache_entry **entry, struct zs_error *err);

/* The opened object of a level-0 chunk whose index was read already, from this version of it; pinned in
 * array->objects. ZS_IO where it was replaced or removed since: *is_stale is set then, else left as it is. */
enum zs_status zs_shard_object_of(struct zs_array *array, uint64_t shard, uint64_t version,
                                  struct zs_cache_entry **entry, bool *is_stale, struct zs_error *err);

/* Whether a read found that the opened object of a level-0 chunk was replaced. */
bool zs_shard_is_stale(struct zs_array *array, uint64_t shard);

/* Whether another object of a level-0 chunk (NULL: none) was read before. */
bool zs_shard_is_other(struct zs_array *array, uint64_t shard, const struct zs_object *object);

/* Whether the object of a level-0 chunk changed while it was read, so that its bytes are a mixture
 * (zs_object_is_changed()). */
bool zs_shard_is_changing(struct zs_array *array, uint64_t shard);

/* Forgets the opened object and the index of a level-0 chunk, which others replaced: it is opened again. */
void zs_shard_refresh(struct zs_array *array, uint64_t shard);
/* Drops all that is cached of a level-0 chunk, after its object was published. */
void zs_shard_forget(struct zs_array *array, uint64_t shard);

/* Reading and publishing begin again so many times when a shard was replaced or changed meanwhile. */
#define ZS_STALE_RETRIES 3

/* ---- Indexes ---- */

/* The index of level-k shard `number`, pinned. For level 0 without `source` the object is opened as needed, and an
 * object that is absent gives an absent index. */
enum zs_status zs_index_get(struct zs_array *array, int level, uint64_t number, const struct zs_source *source,
                            struct zs_cache_entry **entry, struct zs_error *err);

/* Opens the object `key` of a level-0 shard of this level and reads its index, both handed to the caller, past all
 * caches. ZS_NOT_FOUND when there is none. */
enum zs_status zs_shard_read_index(struct zs_array *array, const struct zs_level *level, const char *key,
                                   struct zs_object **object, struct zs_shard_index **index, struct zs_error *err);

/* ---- shard_list.c: which shards of an array a store lists ----
 *
 * Those of a mostly empty array then need no request each. Searches for what is stored use it (stored.c) and, of remote
 * stores whose listings prove what is not there (store.h), readers of pixels (locate.c). Writers ask for each object. A
 * chunk that is an object of its own counts as a shard here. */

struct zs_shard_list {
    int64_t made, until; /* seconds since 1970: not used before and after them */
    size_t count;
    uint64_t numbers[]; /* sorted */
};

/* Returns the list that is kept, pinned in array->indexes with *entry; NULL: there is none, each shard is looked up. */
const struct zs_shard_list *zs_shard_list_get(struct zs_array *array, struct zs_cache_entry **entry);
/* Counts one look-up of an absent shard, and returns the list like zs_shard_list_get(). Lists the store first when that
 * costs no more requests than the look-ups that were counted since the last listing. A listing that fails is no error:
 * each shard is looked up then. */
const struct zs_shard_list *zs_shard_list_missed(struct zs_array *array, struct zs_cache_entry **entry);
/* Counts one likewise, for a reader of pixels; may list the store. */
void zs_shard_list_note_missed(struct zs_array *array);
/* Whether a reader of pixels may take a shard for absent without a look-up: the list that is kept lacks it. */
bool zs_shard_list_lacks(struct zs_array *array, uint64_t shard);
/* Forgets the list: a shard is made or removed, or the store is no longer as this process remembers. */
void zs_shard_list_forget(struct zs_array *array);
