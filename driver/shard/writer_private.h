/* shard/writer_private.h: what the files that make one shard share: writer.c (what was put), build.c (a shard is
 * built whole), append.c and in_place.c (one that is there is changed). */
#ifndef ZS_SHARD_WRITER_PRIVATE_H
#define ZS_SHARD_WRITER_PRIVATE_H

#include "shard/range_plan.h"
#include "shard/walk.h"
#include "shard/writer.h"

/* Ranges of a remote object that were fetched ahead of being copied. Zero: nothing was. */
struct zs_ahead {
    struct zs_range_group *groups;
    unsigned char **bytes; /* of each group */
    size_t count;
};

/* A shard of any level of which some chunks were put or asked for. */
struct shard {
    const struct zs_level *level;
    struct shard *outer; /* NULL: the object itself */
    uint64_t number;     /* in the outer one */
    uint64_t put_count;  /* different innermost chunks put, in inner shards too */
    bool is_opened;      /* `present` is what the store has */
    struct zs_stored_shard stored;
    /* Of innermost chunks: what was put, offsets in temp. */
    struct zs_shard_index *fresh;
    unsigned char *was_put;
    /* Of inner shards: NULL until touched. */
    struct shard **inner;
};

struct zs_shard_writer {
    struct zs_store *store;
    char *key;
    enum zs_chunk_order order;

    struct zs_writer *temp; /* made at the first chunk with bytes; with the index at the start, its room is kept free */
    uint64_t temp_size;
    uint64_t replaced; /* chunks put more than once with bytes: their first bytes are waste */
    bool is_broken;    /* a write failed: what temp holds from temp_size on is not known */
    bool is_lost;      /* publishing failed after temp was given away */

    struct shard *root;
    struct zs_object *object;
    uint64_t memory;       /* bytes of zs_present.decoded */
    struct zs_ahead ahead; /* of a remote object, while the shard is built */
};

/* ---- writer.c ---- */

/* Puts the object's name before the message. */
enum zs_status zs_fail_in_shard(const struct zs_shard_writer *writer, enum zs_status status,
                                struct zs_error *err) ZS_MUST_CHECK;

/* Reads what the store has of a part, from the outermost in. */
enum zs_status zs_shard_open_stored(struct zs_shard_writer *writer, struct shard *shard,
                                    struct zs_error *err) ZS_MUST_CHECK;

/* Whether inner chunk `number` is another than the store has. */
bool zs_shard_is_changed(const struct shard *shard, uint64_t number);

/* Whether all its innermost chunks were put: nothing of it that the store has is needed. */
bool zs_shard_is_put(const struct shard *shard);

/* The file of the present object, to be changed where it is; NULL where that is not possible, or another object is
 * there. */
enum zs_status zs_shard_writer_file(const struct zs_shard_writer *writer, struct zs_file **file,
                                    struct zs_error *err) ZS_MUST_CHECK;

/* Removes the journal of a shard that needs none any more. One that stays does no harm. */
void zs_shard_writer_forget_journal(const struct zs_shard_writer *writer);

/* ---- build.c ---- */

void zs_ahead_clear(struct zs_ahead *ahead);

/* Where a shard is built: in an object, in one that is being changed, or in memory when it is encoded as a whole. */
struct sink {
    struct zs_writer *out;
    struct zs_file *file;
    struct zs_buffer *memory;
    uint64_t size; /* where the next bytes go */
};

/* Room for an index in front, to be filled when it is known. */
enum zs_status zs_sink_reserve_index(struct sink *sink, const struct zs_level *level,
                                     struct zs_error *err) ZS_MUST_CHECK;

/* The index of a shard that begins at `start`: in that room, or behind its chunks. */
enum zs_status zs_sink_write_index(struct sink *sink, const struct zs_level *level, const struct zs_shard_index *index,
                                   uint64_t start, struct zs_error *err) ZS_MUST_CHECK;

/* Writes the inner chunk at `place` of the order `numbers` as it shall be; nothing when it is empty, which *is_empty
 * tells. */
enum zs_status zs_build_chunk(struct zs_shard_writer *writer, struct shard *shard, const uint64_t *numbers,
                              uint64_t rank, bool *is_empty, struct sink *sink, struct zs_error *err) ZS_MUST_CHECK;

/* Copies bytes that were put. */
enum zs_status zs_build_from_temp(struct zs_shard_writer *writer, uint64_t offset, uint64_t size, struct sink *sink,
                                  struct zs_error *err) ZS_MUST_CHECK;

/* ---- append.c, in_place.c: a stored shard is changed ----
 *
 * How that is done (enum zs_update of shardedzarr.h), with its lock held. Each way sets *done where it was taken; where
 * it cannot be, nothing was changed and the shard is rewritten.
 *
 * REWRITE (build.c). A new object takes the place of the old one: whole at any moment, for everyone, on every store.
 * All of the shard is written, whatever is changed of it.
 *
 * APPEND (append.c). New chunks are written behind the last byte of the file, and then the index: behind them, or where
 * it is at the start of the shard. Nothing that the old index speaks of is touched, so who has read that goes on with
 * it. In order:
 *   1. the journal (journal.h): the size and the index that the shard has; flushed, and its folder
 *   2. the chunks; flushed
 *   3. the index; flushed: from here on the new chunks are what is read
 *   4. the journal is removed
 * From 2 (index at the end) or 3 (at the start) to the end of 3 there is no valid index in the file, which its checksum
 * tells: without one (index_codecs) a shard is rewritten. In that time, or when the writer was killed or lost power in
 * it, this driver takes the index from the journal and reads all that was there before; other readers get an error,
 * never other pixels. The next writer of the shard cuts the file to its old size and goes on from there; what the
 * killed one was about to add is lost, as it is when a rewriting is killed. After the end of 3 the new chunks are on
 * the disk: the index is valid only when they are, whatever the order in which the disk writes. Who fails (the disk is
 * full) puts the shard back as it was. Bytes that no entry speaks of any more stay in the file. When they would be more
 * than half of it, it is rewritten without them.
 *
 * IN_PLACE (in_place.c). Chunks whose encoded size is fixed, by a chain without compressor, are overwritten where they
 * are; no other byte of the shard changes. All chunks of a flush must be in the shard already, with bytes of their own.
 * A kill or a power failure may leave chunks old, new, or half of each: what is torn is an error where the chunk has a
 * checksum, else wrong pixels that nobody can tell; and so it is for a moment for who reads beside the writer. Flushed
 * at the end.
 *
 * The last two need a file that can be changed: on a local disk, without hard links to it (a backup would change too),
 * and not through a symbolic link. Codecs around the shard leave nothing but to rewrite
 * it. */
enum zs_status zs_shard_append(struct zs_shard_writer *writer, bool *done, struct zs_error *err) ZS_MUST_CHECK;
enum zs_status zs_shard_overwrite(struct zs_shard_writer *writer, bool *done, struct zs_error *err) ZS_MUST_CHECK;

#endif
