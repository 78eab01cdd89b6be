/* array/shard_list.h: which shards of an array a store lists, so that those of a mostly empty array need no request
 * each. Searches for what is stored use it (stored.c) and, of remote stores whose listings prove what is not there
 * (store.h), readers of pixels (locate.c). Writers ask for each object. A chunk that is an object of its own counts as
 * a shard here. */
#pragma once

#include "array/array_private.h"

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
