/* shard/writer_private.h: what the files of the shard writer share: writer.c (chunks are put), build.c (a shard is
 * built whole), append.c and in_place.c (a stored one is changed). */
#pragma once

#include "shard/shard.h"
#include "shard/writer.h"

/* A shard that is built, of any level: the object itself, or one in it. */
struct zs_changed_shard {
    const struct zs_level *level;
    uint64_t first; /* its first innermost chunk */
    uint64_t each;  /* innermost chunks in each of its inner chunks */
    const struct zs_stored_shard *stored;
};

struct zs_shard_writer {
    struct zs_store *store;
    char *key;
    enum zs_chunk_order order;

    const struct zs_level *level; /* the shard's own, and those in it */

    /* Innermost chunks that were put. */
    uint64_t chunk_count; /* of all, put or not */
    uint64_t put_count;   /* different ones */
    /* offset in temp and size of each: ZS_INDEX_EMPTY and 0 of one that was put as an empty one, ZS_INDEX_EMPTY twice
     * of one that was not put */
    uint64_t *entries;

    /* Their bytes. Created with the first that has bytes; space for an index at the start is kept free. */
    struct zs_writer *temp;
    uint64_t temp_size;
    uint64_t replaced; /* chunks put more than once: their first bytes are wasted */
    bool is_broken;    /* a write failed: the bytes of temp from temp_size on are unknown */
    bool expects;      /* the new object replaces the stored one or none, and nothing else */
    bool is_lost;      /* publishing failed after temp was given away */

    struct zs_object *object;      /* that is stored; NULL: none */
    struct zs_stored_shard stored; /* its index */
    struct zs_buffer ahead;        /* bytes of a remote object from ahead_from on, fetched while the shard is built */
    uint64_t ahead_from;
    bool reads_ahead; /* at least an eighth of the object is copied */
};

/* ---- writer.c ---- */

/* Puts the object's name before the message. */
enum zs_status zs_fail_in_shard(const struct zs_shard_writer *writer, enum zs_status status, struct zs_error *err);

/* The object itself, to be built. */
struct zs_changed_shard zs_shard_root(const struct zs_shard_writer *writer);

/* How many of n innermost chunks were put. An inner chunk of which none was is as it is stored. */
uint64_t zs_shard_put_count(const struct zs_shard_writer *writer, uint64_t first, uint64_t n);

/* Opens the file of the stored object, to be changed in place; NULL where that is not possible, or another object is
 * stored now. */
enum zs_status zs_shard_writer_file(const struct zs_shard_writer *writer, struct zs_file **file, struct zs_error *err);

/* ---- build.c ---- */

/* Where a shard is written to: an object, one that is being changed, or memory for an inner shard, and for one that is
 * encoded as a whole. */
struct zs_sink {
    struct zs_writer *out;
    struct zs_file *file;
    struct zs_buffer *memory;
    uint64_t size; /* where the next bytes go */
};

/* Keeps the space of an index at the start free. */
enum zs_status zs_sink_reserve_index(struct zs_sink *sink, const struct zs_level *level, struct zs_error *err);

/* Writes the index of a shard: at its start, or behind its chunks. */
enum zs_status zs_sink_write_index(struct zs_sink *sink, const struct zs_level *level,
                                   const struct zs_shard_index *index, struct zs_error *err);

/* Writes inner chunk `number` as it is to be; nothing when it is empty: *is_empty. */
enum zs_status zs_build_chunk(struct zs_shard_writer *writer, const struct zs_changed_shard *shard, uint64_t number,
                              bool *is_empty, struct zs_sink *sink, struct zs_error *err);

/* Copies `size` bytes from `from`, or with NULL those that were put. */
enum zs_status zs_build_copy(struct zs_shard_writer *writer, const struct zs_source *from, uint64_t offset,
                             uint64_t size, struct zs_sink *sink, struct zs_error *err);

/* ---- append.c, in_place.c: a stored shard is changed ----
 *
 * How that is done (enum zs_update of shardedzarr.h), with the lock of the shard held. A function sets *done where it
 * changed the shard; where it cannot, it has changed nothing, and the shard is rewritten.
 *
 * REWRITE (build.c). A new object replaces the old one: whole at any moment, for everyone, on every store.
 * The whole shard is written, however little of it changes.
 *
 * APPEND (append.c). New chunks are written behind the last byte of the file, and then the index: behind them, or at
 * the start of the shard. No byte that the old index speaks of changes, so readers that have that index go on with it.
 * In order:
 *   1. the journal (journal.c): the size and the index that the shard has; flushed, and its folder
 *   2. the chunks; flushed
 *   3. the index; flushed: from here on the new chunks are read
 *   4. the journal is removed
 * From 2 (index at the end) or 3 (at the start) to the end of 3 the file has no valid index. Its checksum shows that; a
 * shard without one (index_codecs) is rewritten. In that time, and when the writer was killed or lost power in it, this
 * driver takes the index from the journal and reads all that was there before; other readers get an error, never other
 * pixels. The next writer of the shard cuts the file to its old size and goes on from there; what the killed writer was
 * about to add is lost, as it is when a rewrite is killed. After the end of 3 the new chunks are on the disk: the index
 * is valid only when they are, in whatever order the disk writes. A writer that fails (the disk is full) restores the
 * shard. Bytes that no entry speaks of any more stay in the file; when they would be more than half of it, it is
 * rewritten without them.
 *
 * IN_PLACE (in_place.c). Chunks of fixed encoded size (a chain without compressor) are overwritten where they are; no
 * other byte of the shard changes. All chunks of a flush must be in the shard already, with bytes of their own. After a
 * kill or a power failure a chunk may be old, new, or half of each: a mixture is an error where the chunk has a
 * checksum, else wrong pixels that cannot be detected; readers beside the writer may see one for a moment. Flushed at
 * the end.
 *
 * APPEND and IN_PLACE need a file that can be changed: on a local disk, without hard links to it (a backup would change
 * too), and not through a symbolic link. A shard that is encoded as a whole is always rewritten, and one of nested
 * shards is not overwritten. */
enum zs_status zs_shard_append(struct zs_shard_writer *writer, bool *done, struct zs_error *err);
enum zs_status zs_shard_overwrite(struct zs_shard_writer *writer, bool *done, struct zs_error *err);
