/* array/pending_private.h: what the files of pending writes share. pending_writes.c builds shards; pending_merge.c puts
 * chunks over what others wrote meanwhile; above both pending_publish.c takes chunks and publishes. The array's lock is
 * held. */
#ifndef ZS_ARRAY_PENDING_PRIVATE_H
#define ZS_ARRAY_PENDING_PRIVATE_H

#include "array/pending_writes.h"

/* ---- Shards that are being built (pending_writes.c) ---- */

/* The open shard of that number. It is based on the stored object, unless that is torn: a writer of all its chunks does
 * not need it. */
enum zs_status zs_open_shard_get(struct zs_array *array, uint64_t shard, struct zs_open_shard **out,
                                 struct zs_error *err) ZS_MUST_CHECK;
/* Bases the writer on the object that is stored now. */
enum zs_status zs_open_shard_reopen(struct zs_array *array, struct zs_open_shard *s, const char *key,
                                    struct zs_error *err) ZS_MUST_CHECK;
/* Bases the writer on the stored object unless it is already: before something of that is read. */
enum zs_status zs_open_shard_ensure_base(struct zs_array *array, struct zs_open_shard *s,
                                         struct zs_error *err) ZS_MUST_CHECK;
/* Whether no other process can have written chunks of the array: this one made it and has not published it. */
bool zs_array_is_unpublished(const struct zs_array *array);
/* Updates the count of memory that a shard holds. */
void zs_open_shard_account(struct zs_pending_writes *pending, struct zs_open_shard *s, bool is_open);
void zs_open_shard_drop(struct zs_array *array, struct zs_open_shard *s);

/* Whether all chunks of a shard were put. */
bool zs_open_shard_is_complete(const struct zs_array *array, const struct zs_open_shard *s);
/* The version of the object that the writer builds on, as in struct zs_written; `s` may be NULL. */
uint64_t zs_open_shard_version(const struct zs_open_shard *s);

/* ---- Merging (pending_merge.c) ---- */

/* Decodes what an innermost chunk is now, of an open shard (NULL where chunks are objects), as zs_pending_load(). */
enum zs_status zs_merge_load(struct zs_array *array, struct zs_open_shard *s, uint64_t chunk, void *data,
                             struct zs_written **written, struct zs_error *err) ZS_MUST_CHECK;

/* Merges a chunk that was written in part with what the store has of it now. */
enum zs_status zs_merge_into_shard(struct zs_array *array, struct zs_open_shard *s, uint64_t chunk,
                                   struct zs_written *written, struct zs_error *err) ZS_MUST_CHECK;

/* What is put of a chunk that is an object of its own: what came from the caller, or that over what others wrote. */
struct zs_chunk_object {
    struct zs_array *array;
    uint64_t chunk;
    const char *key;
    const void *data; /* encoded; NULL: it is empty */
    size_t n;
    const struct zs_written *written; /* NULL: all of it was written */
    bool was_tried;
};

/* Puts a chunk of which a part was written over what the store has of it by now. ZS_CONFLICT as zs_store_put_over(). */
enum zs_status zs_merge_into_object(const struct zs_chunk_object *c, struct zs_error *err) ZS_MUST_CHECK;

#endif
