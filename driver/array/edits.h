/* array/edits.h: what was written to an array and is not in the store yet.
 *
 * The unit of change is the smallest piece that can be encoded alone: the leaf chunk, or, where shards are nested or wrapped in
 * codecs of their own, the whole shard. A unit that a write covers is encoded at once; one that it touches is decoded, kept and
 * changed ("dirty"), within a budget. Encoded chunks go to the writer of their shard, which publishes when all its chunks came,
 * or at flush. Reading looks here first.
 */
#ifndef ZS_ARRAY_EDITS_H
#define ZS_ARRAY_EDITS_H

#include "array/array_private.h"
#include "base/map.h"
#include "shard/writer.h"

struct zs_dirty {
    uint64_t unit;
    uint64_t stamp; /* of the last write to it: the oldest go first */
    struct zs_blob *blob;
};

struct zs_open_shard {
    uint64_t shard;
    uint64_t stamp;
    struct zs_shard_writer *writer;
};

struct zs_edits {
    int level;            /* of the units, in chain.levels */
    bool is_chunkwise;    /* units are chunks of plain shards, which have writers */
    enum zs_chunk_order order;
    uint64_t stamp;
    struct zs_map dirty; /* unit -> struct zs_dirty */
    uint64_t dirty_bytes, budget;
    struct zs_map shards; /* shard -> struct zs_open_shard */
    struct zs_map published; /* of a new array: shards that are in the store by now */
};

/* The edits of an array, made at first use. */
enum zs_status zs_edits_get(struct zs_array *a, struct zs_edits **edits, struct zs_error *err) ZS_MUST_CHECK;
void zs_edits_free(struct zs_array *a); /* drops what was not flushed */

/* The decoded leaf chunk if it is dirty, else NULL (chunkwise edits only). */
const struct zs_blob *zs_edits_dirty_leaf(const struct zs_array *a, uint64_t leaf);
/* The writer that holds newer bytes of this leaf chunk than the store, else NULL; *number is its place in the shard. */
struct zs_shard_writer *zs_edits_pending_leaf(const struct zs_array *a, uint64_t leaf, uint64_t *number);

/* Number of the leaf chunk within its (level 0) shard's index. */
uint64_t zs_leaf_number_in_shard(const struct zs_array *a, uint64_t leaf);
uint64_t zs_leaf_shard(const struct zs_array *a, uint64_t leaf);

/* Encodes a whole level-k chunk, given decoded and dense in the array's dimension order, into `out`; *is_empty when all of it
 * is the fill value. The slow way that any codec chain allows. */
enum zs_status zs_encode_whole(const struct zs_array *a, int k, const unsigned char *data, const ptrdiff_t *stride,
                               bool *is_empty, struct zs_buffer *out, struct zs_error *err) ZS_MUST_CHECK;

/* Whether `n` bytes are the fill value throughout. */
bool zs_is_fill(const struct zs_array_meta *meta, const void *data, size_t n);

/* zs_array_read_windows() for callers that hold the array's lock. */
enum zs_status zs_read_windows_locked(struct zs_array *a, const struct zs_window *windows, size_t n, zs_convert_fn convert,
                                      void *ctx, struct zs_error *err) ZS_MUST_CHECK;

/* Publishes everything, with the array's lock held. */
enum zs_status zs_edits_flush(struct zs_array *a, struct zs_error *err) ZS_MUST_CHECK;

#endif
