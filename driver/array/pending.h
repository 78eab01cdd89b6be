/* array/pending.h: writes to an array that are not published yet.
 *
 * A write changes innermost chunks. Chunks that a window covers are encoded at once, a single one together with the
 * next ones, and put into the writer of their shard. A chunk that it covers in part is "dirty": the elements are kept,
 * and a mask says which they are. Nothing stored is read for that. Reads look here before they read the store.
 *
 * A shard is published when all its chunks were written whole, at a flush, when too many are open, or where dirty
 * chunks take too much memory, those first that are idle longest. Other writers, in this process or another, may change
 * the same shards meanwhile. Therefore the stored shard is opened only then: under its lock, or on the condition that
 * it stays. What was not written comes from there, in dirty chunks too.
 *
 * All shards are tried at a flush. What fails stays pending, for another flush. */
#pragma once

#include "array/array_private.h"
#include "base/map.h"

/* Which elements of an innermost chunk were written. */
struct zs_written {
    uint64_t left;        /* elements in the array that were not written */
    size_t size;          /* of the mask in bytes */
    unsigned char mask[]; /* a bit for each element as stored, lowest first */
};

/* A changed innermost chunk. */
struct zs_dirty {
    uint64_t chunk;
    struct zs_blob *blob;       /* its elements */
    struct zs_written *written; /* NULL: the whole chunk was written, and waits to be encoded beside others */
    bool has_stored;            /* elements of the blob that were not written are as they were stored */
};

/* A level-0 chunk with pending writes. */
struct zs_open_shard {
    uint64_t number;
    uint64_t stamp;                 /* of the last use: those that are idle longest are published first */
    struct zs_map dirty;            /* innermost chunk -> struct zs_dirty */
    struct zs_shard_writer *writer; /* NULL until a chunk is put; always NULL where chunks are no shards */
    struct zs_level *levels;        /* of this shard, where shards differ; else NULL */
    enum zs_status status;          /* of publishing it; if not ZS_OK, it waits for a flush */
    bool is_lost;                   /* publishing it lost what was put */
};

struct zs_pending {
    pthread_mutex_t lock;      /* of the writers of shards while a plan reads: each serves one thread at a time */
    uint64_t stamp;            /* counts uses of shards */
    struct zs_map shards;      /* level-0 chunk -> struct zs_open_shard */
    uint64_t bytes, budget;    /* of dirty chunks */
    size_t writer_count;       /* of shards with a writer, each an open file */
    size_t waiting;            /* chunks that were written whole since dirty chunks were encoded */
    struct zs_map published;   /* of a new array: the shards that were published */
    bool is_over;              /* the budget of the process is exceeded */
};

/* ---- pending.c ---- */

/* Returns the pending writes of an array, created at first use. */
enum zs_status zs_pending_get(struct zs_array *array, struct zs_pending **pending, struct zs_error *err);
void zs_pending_free(struct zs_array *array); /* drops writes that were not flushed */

/* Returns whether nothing is pending: what was written is published, so that the store has it all. */
bool zs_pending_is_empty(const struct zs_array *array);

/* Returns whether no other process can have written chunks of the array: this process created it and has not published
 * it. Of a shard: and has not published that. */
bool zs_array_is_unpublished(const struct zs_array *array);
bool zs_shard_is_unpublished(const struct zs_array *array, uint64_t shard);

/* Returns the shard with pending writes around an innermost chunk; NULL: there is none. */
struct zs_open_shard *zs_open_shard_find(const struct zs_array *array, uint64_t chunk);
/* Likewise, opened when necessary. */
enum zs_status zs_open_shard_get(struct zs_array *array, uint64_t chunk, struct zs_open_shard **out,
                                 struct zs_error *err);
/* Creates its writer when necessary. */
enum zs_status zs_open_shard_ensure_writer(struct zs_array *array, struct zs_open_shard *shard, struct zs_error *err);
void zs_open_shard_drop(struct zs_array *array, struct zs_open_shard *shard);
/* Returns whether all chunks of a shard were put, and none in part. */
bool zs_open_shard_is_whole(const struct zs_array *array, const struct zs_open_shard *shard);

/* Returns the dirty chunk of that number; NULL: there is none. */
struct zs_dirty *zs_dirty_find(const struct zs_array *array, uint64_t chunk);
/* Makes a chunk dirty, with no element written, or, where it is to be written whole, all. */
enum zs_status zs_dirty_create(struct zs_array *array, uint64_t chunk, bool is_whole, struct zs_dirty **out,
                               struct zs_error *err);
/* Changes the memory of a dirty chunk: its new blob, or mask, replaces the former one, which is freed. */
void zs_dirty_set_blob(struct zs_array *array, struct zs_dirty *dirty, struct zs_blob *blob);
void zs_dirty_set_written(struct zs_array *array, struct zs_dirty *dirty, struct zs_written *written);
void zs_dirty_drop(struct zs_array *array, uint64_t chunk); /* if it is dirty */

/* Notes that an extent of the chunk was written: start and count in elements per dimension of the array. */
void zs_written_add(struct zs_written *written, const struct zs_level *level, const uint64_t *start,
                    const uint64_t *count);
/* Copies the elements that were written from one decoded chunk to another. */
void zs_written_apply(const struct zs_written *written, const struct zs_level *level, const void *from, void *to);

/* Returns whether all of `n` bytes are the fill value. */
bool zs_is_fill(const struct zs_array_meta *meta, const void *data, size_t n);
/* Fills a decoded innermost chunk with the fill value. */
void zs_chunk_fill(const struct zs_array *array, const struct zs_level *level, void *data);

/* ---- Reading what is pending; with the array's lock held, not shared ---- */

/* Has the blob of a dirty chunk hold all its elements: those that were not written as they are stored. */
enum zs_status zs_dirty_complete(struct zs_array *array, struct zs_dirty *dirty, struct zs_error *err);
/* Returns whether a chunk was put into the writer of its shard, and is not dirty; *number is its number there. */
bool zs_pending_has(const struct zs_array *array, uint64_t chunk, struct zs_shard_writer **writer, uint64_t *number);

/* ---- publish.c, likewise ---- */

/* Puts an encoded innermost chunk (n bytes; data NULL: empty) into the writer of its shard, or stores it where it is an
 * object of its own. */
enum zs_status zs_pending_put(struct zs_array *array, uint64_t chunk, const void *data, size_t n, struct zs_error *err);
/* Publishes the shard around a chunk if that is whole; to a remote store together with others, once enough are. */
enum zs_status zs_pending_publish_whole(struct zs_array *array, uint64_t chunk, struct zs_error *err);
/* Publishes the shards that are idle longest while too many have open files; without with_dirty none that has dirty
 * chunks. */
enum zs_status zs_pending_limit(struct zs_array *array, bool with_dirty, struct zs_error *err);
/* Publishes shards, those first that are idle longest, until dirty chunks take no more than `keep` bytes; where that is
 * 0, all shards. Goes on after a failure, and returns the first. */
enum zs_status zs_pending_publish_down_to(struct zs_array *array, uint64_t keep, struct zs_error *err);
