/* shard/writer_private.h: what the files of the shard writer share: writer.c (chunks are put), build.c (a shard is
 * built whole), append.c and in_place.c (a stored one is changed). */
#pragma once

#include "shard/shard.h"
#include "shard/writer.h"

/* Ranges of a remote object that were fetched ahead of being copied. Zero: nothing was. */
struct zs_ahead {
    struct zs_range_group *groups;
    unsigned char **bytes; /* of each group */
    size_t count;
};

/* Innermost chunks that were put into a shard. */
struct zs_put_chunks {
    struct zs_shard_index *index; /* entries of those that were put, with offsets in temp; others are empty */
    unsigned char *is_put;        /* of each chunk: also of those that were put as empty ones */
};

/* A shard that is being changed, of any level: the object itself, or one in it of which chunks were put or asked for.
 * What is stored of it stays where nothing was put. */
struct zs_changed_shard {
    const struct zs_level *level;
    struct zs_changed_shard *outer; /* NULL: the object itself */
    uint64_t number;                /* in the outer one */

    struct zs_stored_shard stored;
    bool is_opened; /* `stored` is set */

    uint64_t put_count; /* different innermost chunks put, in inner shards too */
    /* One of these, by what its chunks are; the other one has nothing. */
    struct zs_put_chunks put;        /* innermost chunks */
    struct zs_changed_shard **inner; /* shards; each NULL until something in it is put or asked for */
};

/* Offset in temp, and size, of innermost chunk `number` of a shard, which was put. */
static inline const uint64_t *zs_put_entry(const struct zs_changed_shard *shard, uint64_t number)
{
    return &shard->put.index->entries[2 * number];
}

struct zs_shard_writer {
    struct zs_store *store;
    char *key;
    enum zs_chunk_order order;

    /* Chunks that were put. Created with the first that has bytes; space for an index at the start is kept free. */
    struct zs_writer *temp;
    uint64_t temp_size;
    uint64_t replaced; /* chunks put more than once: their first bytes are wasted */
    bool is_broken;    /* a write failed: the bytes of temp from temp_size on are unknown */
    bool expects;      /* the new object replaces the stored one or none, and nothing else */
    bool is_lost;      /* publishing failed after temp was given away */

    struct zs_changed_shard *root;
    struct zs_object *object;
    struct zs_ahead ahead; /* of a remote object, while the shard is built */
};

/* ---- writer.c ---- */

/* Puts the object's name before the message. */
enum zs_status zs_fail_in_shard(const struct zs_shard_writer *writer, enum zs_status status, struct zs_error *err);

/* The stored bytes of inner chunk `number`, of a shard that is opened; *is_empty where there are none. */
enum zs_status zs_shard_stored_chunk(const struct zs_shard_writer *writer, const struct zs_changed_shard *shard,
                                     uint64_t number, bool *is_empty, struct zs_source *chunk, struct zs_error *err);

/* Reads what the store has of a shard, and before that of the shards around it. */
enum zs_status zs_shard_open_stored(struct zs_shard_writer *writer, struct zs_changed_shard *shard,
                                    struct zs_error *err);

/* Whether inner chunk `number` differs from the stored one. */
bool zs_shard_is_changed(const struct zs_changed_shard *shard, uint64_t number);

/* Whether all innermost chunks were put, so that nothing stored is needed. */
bool zs_shard_is_put(const struct zs_changed_shard *shard);

/* Opens the file of the stored object, to be changed in place; NULL where that is not possible, or another object is
 * stored now. */
enum zs_status zs_shard_writer_file(const struct zs_shard_writer *writer, struct zs_file **file, struct zs_error *err);

/* Removes the journal of a shard that needs none any more. If that fails, it does no harm. */
void zs_shard_writer_forget_journal(const struct zs_shard_writer *writer);

/* ---- build.c ---- */

void zs_ahead_clear(struct zs_ahead *ahead);

/* Where a shard is written to: an object, one that is being changed, or memory when it is encoded as a whole. */
struct zs_sink {
    struct zs_writer *out;
    struct zs_file *file;
    struct zs_buffer *memory;
    uint64_t size; /* where the next bytes go */
};

/* Keeps the space of an index at the start free. */
enum zs_status zs_sink_reserve_index(struct zs_sink *sink, const struct zs_level *level, struct zs_error *err);

/* Writes the index of a shard that begins at `start`: there, or behind its chunks. */
enum zs_status zs_sink_write_index(struct zs_sink *sink, const struct zs_level *level,
                                   const struct zs_shard_index *index, uint64_t start, struct zs_error *err);

/* Writes inner chunk numbers[rank] as it is to be; nothing when it is empty: *is_empty. */
enum zs_status zs_build_chunk(struct zs_shard_writer *writer, struct zs_changed_shard *shard, const uint64_t *numbers,
                              uint64_t rank, bool *is_empty, struct zs_sink *sink, struct zs_error *err);

/* Copies bytes that were put. */
enum zs_status zs_build_from_temp(struct zs_shard_writer *writer, uint64_t offset, uint64_t size, struct zs_sink *sink,
                                  struct zs_error *err);

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
 * too), and not through a symbolic link. A shard that is encoded as a whole is always rewritten. */
enum zs_status zs_shard_append(struct zs_shard_writer *writer, bool *done, struct zs_error *err);
enum zs_status zs_shard_overwrite(struct zs_shard_writer *writer, bool *done, struct zs_error *err);
