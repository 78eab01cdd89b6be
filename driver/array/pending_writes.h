/* array/pending_writes.h: what was written to an array and is not in the store yet.
 *
 * Writes change innermost chunks. A chunk that a window covers is encoded at once; one that it covers in part is
 * decoded, kept and changed ("dirty"), within a budget. Encoded chunks go to the writer of their shard. A shard is
 * published when all its chunks came, or at flush; complete shards of a remote store are sent several at a time.
 * Reading asks here first.
 *
 * Others may write to the same shards meanwhile, in this process or another. So it is kept which elements of a chunk
 * were written (struct zs_written) until the shard is published, under the lock of its object and over what that object
 * is by then: of a chunk that others changed too since it was read, only the written elements are ours. Chunks that
 * were written whole replace theirs. */
#ifndef ZS_ARRAY_PENDING_WRITES_H
#define ZS_ARRAY_PENDING_WRITES_H

#include "array/array_private.h"
#include "array/written.h"
#include "base/map.h"
#include "shard/writer.h"

struct zs_dirty {
    uint64_t chunk;
    uint64_t stamp; /* stamp of the last write to it: the oldest are encoded first */
    struct zs_blob *blob;
    struct zs_written *written; /* NULL: all of it */
};

struct zs_open_shard {
    uint64_t shard;
    uint64_t stamp;
    struct zs_level *levels; /* of its own, where shards differ; else NULL */
    struct zs_shard_writer *writer;
    bool is_opened;        /* based on the stored object; if not, that one is damaged, and needed unless all of the
                              shard is written */
    struct zs_map written; /* innermost chunk -> struct zs_written, of those that were put and not written whole */
    uint64_t memory;       /* bytes of all this */
    bool has_failed;       /* publishing failed: it waits for a flush */
};

struct zs_pending_writes {
    bool has_shards; /* else each chunk is an object */
    enum zs_chunk_order order;
    bool knows_order; /* it was given, or the stored shards were asked */
    uint64_t stamp;
    struct zs_map dirty; /* innermost chunk -> struct zs_dirty */
    uint64_t dirty_bytes, budget;
    uint64_t counted;        /* bytes of memory, taken from the budget of the process */
    bool is_over;            /* that budget is exceeded */
    struct zs_map shards;    /* shard -> struct zs_open_shard */
    uint64_t shard_bytes;    /* memory of these */
    struct zs_map published; /* of a new array: shards that were published */
};

/* Returns the pending writes of an array, made at first use. */
enum zs_status zs_pending_get(struct zs_array *array, struct zs_pending_writes **pending,
                              struct zs_error *err) ZS_MUST_CHECK;
void zs_pending_free(struct zs_array *array);               /* drops what was not flushed */
void zs_pending_account(struct zs_pending_writes *pending); /* after any change of dirty_bytes or shard_bytes */
void zs_dirty_free(struct zs_dirty *d);

/* The decoded innermost chunk if it is dirty, else NULL. */
const struct zs_blob *zs_pending_decoded(const struct zs_array *array, uint64_t chunk);
/* The writer that holds newer bytes of this innermost chunk than the store, else NULL; *number is its number in the
 * shard. */
struct zs_shard_writer *zs_pending_writer(const struct zs_array *array, uint64_t chunk, uint64_t *number);

/* Whether no other writer can have made this shard: the array is new and has not published it. */
bool zs_shard_is_unpublished(const struct zs_array *array, uint64_t shard);

/* Whether `n` bytes are the fill value throughout. */
bool zs_is_fill(const struct zs_array_meta *meta, const void *data, size_t n);
/* Fills a decoded innermost chunk with it. */
void zs_chunk_fill(const struct zs_array *array, const struct zs_level *level, void *data);

/* ---- With the array's lock held ---- */

/* Decodes the current content of an innermost chunk into `data`. *written: which elements of it are pending; NULL when
 * all are. */
enum zs_status zs_pending_load(struct zs_array *array, uint64_t chunk, void *data, struct zs_written **written,
                               struct zs_error *err) ZS_MUST_CHECK;

/* Stores an innermost chunk (n encoded bytes; data NULL: empty) in its shard's writer or as an object of its own. Takes
 * over `written` (NULL: the chunk was written whole); after a failure nothing is changed. *later is the status of
 * publishing other shards to make room, which loses nothing. */
enum zs_status zs_pending_put(struct zs_array *array, uint64_t chunk, const void *data, size_t n,
                              struct zs_written *written, enum zs_status *later, struct zs_error *err) ZS_MUST_CHECK;

/* Sets array->pending->order to that of the stored shards, if there are some; once, and not where the order was given.
 */
void zs_pending_find_order(struct zs_array *array);

/* Publishes all shards, oldest first, to a remote store side by side. Those that fail stay for another try, and the
 * first failure is returned. With is_last there will be no other: what fails is dropped, or the newest for it, since
 * the disk may be full of them. */
enum zs_status zs_pending_publish(struct zs_array *array, bool is_last, struct zs_error *err) ZS_MUST_CHECK;

/* ---- write.c ---- */

/* Publishes everything, dirty chunks too, likewise. */
enum zs_status zs_pending_flush(struct zs_array *array, bool is_last, struct zs_error *err) ZS_MUST_CHECK;

#endif
