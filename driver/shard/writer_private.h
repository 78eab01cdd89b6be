/* shard/writer_private.h: what the files that make one shard share: writer.c (what was put), build.c (a shard is
 * built whole), append.c and in_place.c (one that is there is changed). */
#ifndef ZS_SHARD_WRITER_PRIVATE_H
#define ZS_SHARD_WRITER_PRIVATE_H

#include "shard/ahead.h"
#include "shard/present.h"
#include "shard/writer.h"

/* A shard of any level of which some chunks were put or asked for. */
struct part {
    const struct zs_level *level;
    struct part *outer; /* NULL: the object itself */
    uint64_t number;    /* in the outer one */
    uint64_t put_count; /* different innermost chunks put, in inner shards too */
    bool is_opened;     /* `present` is what the store has */
    struct zs_present present;
    /* Of innermost chunks: what was put, offsets in temp. */
    struct zs_shard_index *fresh;
    unsigned char *was_put;
    /* Of inner shards: NULL until touched. */
    struct part **inner;
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

    struct part *root;
    struct zs_object *object;
    uint64_t memory;       /* bytes of zs_present.decoded */
    struct zs_ahead ahead; /* of a remote object, while the shard is built */
};

/* ---- writer.c ---- */

/* Puts the object's name before the message. */
enum zs_status zs_fail_in_shard(const struct zs_shard_writer *w, enum zs_status status,
                                struct zs_error *err) ZS_MUST_CHECK;

/* Reads what the store has of a part, from the outermost in. */
enum zs_status zs_part_open(struct zs_shard_writer *w, struct part *p, struct zs_error *err) ZS_MUST_CHECK;

/* Whether inner chunk `number` is another than the store has. */
bool zs_part_is_changed(const struct part *p, uint64_t number);

/* Whether all its innermost chunks were put: nothing of it that the store has is needed. */
bool zs_part_is_put(const struct part *p);

/* The file of the present object, to be changed where it is; NULL where that is not possible, or another object is
 * there. */
enum zs_status zs_shard_writer_file(const struct zs_shard_writer *w, struct zs_file **file,
                                    struct zs_error *err) ZS_MUST_CHECK;

/* Removes the journal of a shard that needs none any more. One that stays does no harm. */
void zs_shard_writer_forget_journal(const struct zs_shard_writer *w);

/* ---- build.c ---- */

/* Where a shard is built: in an object, in one that is being changed, or in memory when it is encoded as a whole. */
struct sink {
    struct zs_writer *out;
    struct zs_file *file;
    struct zs_buffer *memory;
    uint64_t size; /* where the next bytes go */
};

/* Room for an index in front, to be filled when it is known. */
enum zs_status zs_sink_reserve_index(struct sink *s, const struct zs_level *level, struct zs_error *err) ZS_MUST_CHECK;

/* The index of a shard that begins at `start`: in that room, or behind its chunks. */
enum zs_status zs_sink_write_index(struct sink *s, const struct zs_level *level, const struct zs_shard_index *index,
                                   uint64_t start, struct zs_error *err) ZS_MUST_CHECK;

/* Writes the inner chunk at `place` of the order `numbers` as it shall be; nothing when it is empty, which *is_empty
 * tells. */
enum zs_status zs_build_chunk(struct zs_shard_writer *w, struct part *p, const uint64_t *numbers, uint64_t place,
                              bool *is_empty, struct sink *s, struct zs_error *err) ZS_MUST_CHECK;

/* Copies bytes that were put. */
enum zs_status zs_build_from_temp(struct zs_shard_writer *w, uint64_t offset, uint64_t size, struct sink *s,
                                  struct zs_error *err) ZS_MUST_CHECK;

#endif
