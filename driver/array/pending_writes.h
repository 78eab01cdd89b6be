/* array/pending_writes.h: writes to an array that are not published yet.
 *
 * A write changes innermost chunks. Chunks that the window covers are encoded at once, a single one together with the
 * next ones; a chunk that it covers in part is decoded, changed and kept ("dirty"), within a budget. Encoded chunks go
 * to the writer of their shard. A shard is published when all its chunks are written, or at a flush; several complete
 * shards of a remote store are sent side by side. Reads look here before they read the store.
 *
 * Other writers, in this process or another, may change the same shards meanwhile. Therefore struct zs_written records
 * which elements of a chunk were written until the shard is published, under the lock of its object, over the object
 * that is stored by then: if others changed a chunk since it was read, only the written elements replace theirs. Chunks
 * that were written whole replace the stored ones. */
#pragma once

#include "array/array_private.h"
#include "base/map.h"
#include "shard/writer.h"

/* Which elements of an innermost chunk were written since it was read, so that what others write meanwhile is not
 * lost. */
struct zs_written {
    uint64_t content;     /* zs_content_of() the chunk that was read */
    uint64_t version;     /* version of the object that it was read from; 0 where equal versions do not prove equal
                             objects */
    uint64_t left;        /* elements in the array that were not written; 0: the chunk was written whole */
    size_t size;          /* of the mask in bytes */
    unsigned char mask[]; /* a bit for each element as stored, lowest first */
};

/* No element is written yet, of a chunk that has `inside` elements in the array. NULL without memory; freed with
 * free(). */
struct zs_written *zs_written_create(const struct zs_level *level, uint64_t inside, uint64_t content);
struct zs_written *zs_written_copy(const struct zs_written *written);

/* Notes that an extent of the chunk was written: start and count in elements per dimension of the array. */
void zs_written_add(struct zs_written *written, const struct zs_level *level, const uint64_t *start,
                    const uint64_t *count);

/* Copies the elements that were written from one decoded chunk to another. */
void zs_written_apply(const struct zs_written *written, const struct zs_level *level, const void *from, void *to);

/* A hash of the n encoded bytes of a chunk; NULL: the chunk is empty. */
uint64_t zs_content_of(const void *encoded, size_t n);

/* A decoded innermost chunk that was changed, and is to be encoded. */
struct zs_dirty {
    uint64_t chunk;
    uint64_t stamp; /* stamp of the last write to it: the oldest are encoded first */
    struct zs_blob *blob;
    struct zs_written *written; /* NULL: the whole chunk */
};

/* A shard that chunks were put into. */
struct zs_open_shard {
    uint64_t number;
    uint64_t stamp;            /* of the last use: those that are idle longest are published first */
    struct zs_level *levels;   /* levels of this shard, where shards differ; else NULL */
    enum zs_chunk_order order; /* of its stored chunks, else that of a new shard */
    struct zs_shard_writer *writer;
    bool is_opened;        /* the writer is based on the stored object; if not, that object is damaged, and needed
                              unless the whole shard is written */
    struct zs_map written; /* innermost chunk -> struct zs_written, of the chunks that were written in part */
    uint64_t memory;       /* bytes that all this takes */
    enum zs_status failure; /* why publishing failed: the shard waits for a flush; or ZS_OK */
};

struct zs_pending_writes {
    bool has_shards; /* otherwise each chunk is an object */
    uint64_t stamp;  /* counts uses of chunks and shards */

    struct zs_map dirty; /* innermost chunk -> struct zs_dirty */
    uint64_t dirty_bytes, budget;
    size_t waiting; /* of these, chunks that were written whole, and wait to be encoded side by side */

    struct zs_map shards; /* shard -> struct zs_open_shard */
    uint64_t shard_bytes; /* memory of the open shards */
    enum zs_chunk_order order; /* of the chunks in new shards */
    bool knows_order;          /* the caller set it, or stored shards were read */
    struct zs_map published;   /* of a new array: the shards that were published */

    uint64_t counted; /* bytes taken from the budget of the process */
    bool is_over;     /* that budget is exceeded */
};

/* Returns the pending writes of an array, created at first use. */
enum zs_status zs_pending_get(struct zs_array *array, struct zs_pending_writes **pending, struct zs_error *err);
void zs_pending_free(struct zs_array *array);               /* drops writes that were not flushed */
void zs_pending_account(struct zs_pending_writes *pending); /* after any change of dirty_bytes or shard_bytes */
void zs_dirty_free(struct zs_dirty *dirty);

/* Returns the decoded innermost chunk if it is dirty, else NULL. */
const struct zs_blob *zs_pending_decoded(const struct zs_array *array, uint64_t chunk);
/* Returns the writer that holds newer bytes of this innermost chunk than the store, else NULL; *number is the number of
 * the chunk in the shard. */
struct zs_shard_writer *zs_pending_writer(const struct zs_array *array, uint64_t chunk, uint64_t *number);

/* Returns whether nothing is pending: what was written is published, so that the store has it all. */
bool zs_pending_is_empty(const struct zs_array *array);

/* Returns whether no other process can have written chunks of the array: this process created it and has not published
 * it. */
bool zs_array_is_unpublished(const struct zs_array *array);
/* Returns whether no other writer can have created this shard: the array is new and has not published it. */
bool zs_shard_is_unpublished(const struct zs_array *array, uint64_t shard);

/* Returns whether all of `n` bytes are the fill value. */
bool zs_is_fill(const struct zs_array_meta *meta, const void *data, size_t n);
/* Fills a decoded innermost chunk with the fill value. */
void zs_chunk_fill(const struct zs_array *array, const struct zs_level *level, void *data);

/* ---- With the array's lock held ---- */

/* Decodes the current content of an innermost chunk into `data`. *written marks its pending elements; NULL when all
 * are. */
enum zs_status zs_pending_load(struct zs_array *array, uint64_t chunk, void *data, struct zs_written **written,
                               struct zs_error *err);

/* Puts an innermost chunk (n encoded bytes; data NULL: empty) into its shard's writer, or stores it as an object of its
 * own. Takes over `written` (NULL: the chunk was written whole); a failure changes nothing. *later is the status of
 * publishing other shards to make room, which loses nothing. */
enum zs_status zs_pending_put(struct zs_array *array, uint64_t chunk, const void *data, size_t n,
                              struct zs_written *written, enum zs_status *later, struct zs_error *err);

/* Sets array->pending->order to that of the stored shards, if any; once, and not when the caller set the order. */
void zs_pending_find_order(struct zs_array *array);

/* Publishes all shards, the oldest first, side by side to a remote store. Returns the first failure; failed shards stay
 * for another try. With is_last there is no other try: those that no space would help are dropped, and where all lack
 * space one after the other, until none is left. */
enum zs_status zs_pending_publish(struct zs_array *array, bool is_last, struct zs_error *err);
