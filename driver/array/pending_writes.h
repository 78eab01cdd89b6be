/* array/pending_writes.h: what was written to an array and is not in the store yet.
 *
 * The chunk of change is the innermost chunk. One that a write covers is encoded at once; one that it touches is
 * decoded, kept and changed ("dirty"), within a budget. Encoded chunks go to the writer of their shard, which publishes
 * when all its chunks came, or at flush; to a remote store those that are complete go when there are some, side by
 * side. Reading looks here first.
 *
 * Others may write to the same shards meanwhile, in this process or another. So which elements of a chunk were written
 * is kept ("touched") until the shard is published; that happens under the lock of its object, over what the object is
 * by then. Chunks that were put whole win; of those that others changed too since they were read, only the touched
 * elements are ours. */
#ifndef ZS_ARRAY_PENDING_WRITES_H
#define ZS_ARRAY_PENDING_WRITES_H

#include "array/array_private.h"
#include "array/written.h"
#include "base/map.h"
#include "shard/writer.h"

struct zs_dirty {
    uint64_t chunk;
    uint64_t stamp; /* of the last write to it: the oldest go first */
    struct zs_blob *blob;
    struct zs_written *written; /* NULL: all of it */
};

struct zs_open_shard {
    uint64_t shard;
    uint64_t stamp;
    struct zs_level *levels; /* of its own, where shards differ; else NULL */
    struct zs_shard_writer *writer;
    bool is_opened;        /* on what the store has; else that is torn, which matters where not all of it is written */
    struct zs_map written; /* innermost chunk -> struct zs_written, of those that were put and not written whole */
    uint64_t held;         /* bytes of memory of all this */
    bool has_failed;       /* it was to be published: now it waits for a flush */
};

struct zs_pending_writes {
    bool has_shards; /* else each chunk is an object */
    enum zs_chunk_order order;
    bool knows_order; /* it was asked for, or was looked for */
    uint64_t stamp;
    struct zs_map dirty; /* innermost chunk -> struct zs_dirty */
    uint64_t dirty_bytes, budget;
    uint64_t counted;        /* of dirty_bytes and held_bytes, in the budget of the process */
    bool is_over;            /* that has no room for them */
    struct zs_map shards;    /* shard -> struct zs_open_shard */
    uint64_t held_bytes;     /* by these */
    struct zs_map published; /* of a new array: shards that are in the store by now */
};

/* That of an array, made at first use. */
enum zs_status zs_pending_get(struct zs_array *a, struct zs_pending_writes **pending,
                              struct zs_error *err) ZS_MUST_CHECK;
void zs_pending_free(struct zs_array *a);             /* drops what was not flushed */
void zs_pending_account(struct zs_pending_writes *e); /* after any change of dirty_bytes or held_bytes */
void zs_dirty_free(struct zs_dirty *d);
void zs_open_shard_free(struct zs_open_shard *s);

/* The decoded innermost chunk if it is dirty, else NULL. */
const struct zs_blob *zs_pending_decoded(const struct zs_array *a, uint64_t chunk);
/* The writer that holds newer bytes of this innermost chunk than the store, else NULL; *number is its place in the
 * shard. */
struct zs_shard_writer *zs_pending_writer(const struct zs_array *a, uint64_t chunk, uint64_t *number);

/* Whether `n` bytes are the fill value throughout. */
bool zs_is_fill(const struct zs_array_meta *meta, const void *data, size_t n);
/* Fills a decoded innermost chunk with it. */
void zs_chunk_fill(const struct zs_array *a, const struct zs_level *level, void *data);

/* ---- put.c, open_shards.c, publish.c; all with the array's lock held ---- */

/* The present content of an innermost chunk, decoded into `data`, and what had been touched of it: NULL when it had
 * been put whole. */
enum zs_status zs_pending_load(struct zs_array *a, uint64_t chunk, void *data, struct zs_written **written,
                               struct zs_error *err) ZS_MUST_CHECK;

/* Stores an innermost chunk: its n encoded bytes, or with data NULL none, to its shard's writer or as an object of its
 * own. Takes over `written` (NULL: it was written whole), unless it fails: then it is as if it had not been called.
 * *later is the status of publishing what had to be published now, of which nothing is lost but the time. */
enum zs_status zs_pending_put(struct zs_array *a, uint64_t chunk, const void *data, size_t n,
                              struct zs_written *written, enum zs_status *later, struct zs_error *err) ZS_MUST_CHECK;

/* Sets a->pending->order to what the shards that are in the store tell, if any do; once, and not where it was asked
 * for. */
void zs_pending_find_order(struct zs_array *a);

/* Publishes all shards, oldest first, to a remote store side by side. Those that fail stay for another try, and the
 * first failure is returned. With is_last there will be no other: what fails is dropped, or the newest for it, since
 * the disk may be full of them. */
enum zs_status zs_pending_publish(struct zs_array *a, bool is_last, struct zs_error *err) ZS_MUST_CHECK;

/* ---- write.c ---- */

/* Publishes everything, dirty chunks too, likewise. */
enum zs_status zs_pending_flush(struct zs_array *a, bool is_last, struct zs_error *err) ZS_MUST_CHECK;

/* zs_array_read_windows() for callers that hold the array's lock. */
enum zs_status zs_read_windows_locked(struct zs_array *a, const struct zs_window *windows, size_t n,
                                      zs_convert_fn convert, void *ctx, struct zs_error *err) ZS_MUST_CHECK;

#endif
