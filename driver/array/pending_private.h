/* array/pending_private.h: shared by the files of pending writes. pending_writes.c builds shards; pending_merge.c
 * merges chunks with what others wrote meanwhile; pending_publish.c, above both, takes chunks and publishes. The caller
 * holds the array's lock. */
#pragma once

#include "array/pending_writes.h"

/* ---- Open shards (pending_writes.c) ---- */

/* Returns the open shard of that number, opened when necessary. Its writer is based on the stored object, unless that
 * is damaged: a writer of all its chunks does not need it. */
enum zs_status zs_open_shard_get(struct zs_array *array, uint64_t number, struct zs_open_shard **out,
                                 struct zs_error *err);
/* Bases the writer on the object as it is stored now. Changes nothing but the shard: shards that are sent side by side
 * are reopened so, too. */
enum zs_status zs_open_shard_reopen(struct zs_array *array, struct zs_open_shard *shard, const char *key,
                                    struct zs_error *err);
/* Bases the writer on the stored object unless it is already: call it before reading stored chunks. */
enum zs_status zs_open_shard_ensure_base(struct zs_array *array, struct zs_open_shard *shard, struct zs_error *err);
/* Updates the count of memory that a shard holds. */
void zs_open_shard_account(struct zs_pending_writes *pending, struct zs_open_shard *shard, bool is_open);
void zs_open_shard_drop(struct zs_array *array, struct zs_open_shard *shard);

/* Returns whether all chunks of a shard were put. */
bool zs_open_shard_is_complete(const struct zs_array *array, const struct zs_open_shard *shard);
/* Returns the version of the object that the writer builds on, as in struct zs_written; `shard` may be NULL. */
uint64_t zs_open_shard_version(const struct zs_open_shard *shard);

/* ---- Merging (pending_merge.c) ---- */

/* Decodes the present content of an innermost chunk of an open shard (NULL where chunks are objects), as
 * zs_pending_load(). */
enum zs_status zs_merge_load(struct zs_array *array, struct zs_open_shard *shard, uint64_t chunk, void *data,
                             struct zs_written **written, struct zs_error *err);

/* Merges a chunk that was written in part with the stored chunk. */
enum zs_status zs_merge_into_shard(struct zs_array *array, struct zs_open_shard *shard, uint64_t chunk,
                                   struct zs_written *written, struct zs_error *err);

/* A chunk that is stored as an object of its own: the caller's bytes, to be merged with what others wrote. */
struct zs_chunk_object {
    struct zs_array *array;
    uint64_t chunk;
    const char *key;
    const void *data; /* encoded; NULL: it is empty */
    size_t n;
    const struct zs_written *written; /* NULL: the chunk was written whole */
    bool was_tried;
};

/* Stores a chunk that was written in part over the stored one. ZS_CONFLICT as zs_store_put_over(). */
enum zs_status zs_merge_into_object(const struct zs_chunk_object *object, struct zs_error *err);
