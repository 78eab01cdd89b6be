/* shard/walk.h: the walk from a shard to the bytes of its chunks, which may be shards again.
 *
 * A step down is the same for all users (reading, texts, emptiness, changing a shard, validation): undo the bytes
 * codecs of the shard, read its index, take the range of a chunk. */
#pragma once

#include "shard/index.h"
#include "store/store.h"

/* Location of encoded bytes: in an object or in memory. Borrowed. With neither there are no bytes. */
struct zs_source {
    struct zs_object *object;
    const unsigned char *memory; /* the bytes themselves; `object` and `offset` are not used then */
    uint64_t offset;             /* of the first byte within the object */
    uint64_t size;
    uint64_t version; /* version of their object: an index is used only with bytes of the same version */
};

/* All bytes of an object, which is borrowed. */
struct zs_source zs_source_of(struct zs_object *object);
/* The bytes [offset, offset + size) of a source. */
struct zs_source zs_source_range(const struct zs_source *source, uint64_t offset, uint64_t size);

/* Reads n bytes. */
enum zs_status zs_source_read(const struct zs_source *source, uint64_t offset, size_t n, void *data,
                              struct zs_error *err);
/* All bytes: *bytes points to them in memory, or into `buffer`, which they are read to. ZS_CORRUPT when they are more
 * than `limit`. */
enum zs_status zs_source_fetch(const struct zs_source *source, size_t limit, struct zs_buffer *buffer,
                               const unsigned char **bytes, struct zs_error *err);

/* Undoes the bytes codecs of a shard. Neither the encoded nor the decoded bytes are more than `limit`, else
 * ZS_CORRUPT. */
enum zs_status zs_source_decode(const struct zs_level *level, const struct zs_source *encoded, size_t limit,
                                struct zs_buffer *decoded, struct zs_error *err);
/* Reads and checks the index of a shard whose bytes codecs are undone; freed with free(). */
enum zs_status zs_source_index(const struct zs_level *level, const struct zs_source *shard,
                               struct zs_shard_index **index, struct zs_error *err);
/* The encoded bytes of inner chunk `number`; *is_empty when it is not stored. ZS_CORRUPT as in zs_shard_index_entry(),
 * and when they are more than `limit`: zs_level_bound() of the chunk for decoding, UINT64_MAX for copying. */
enum zs_status zs_source_chunk(const struct zs_level *level, const struct zs_source *shard,
                               const struct zs_shard_index *index, uint64_t number, uint64_t limit, bool *is_empty,
                               struct zs_source *chunk, struct zs_error *err);

/* A shard of any level as it is in the store. Zero-initialise: then nothing is there, and every chunk is empty. */
struct zs_stored_shard {
    struct zs_source source;      /* its bytes codecs undone */
    struct zs_buffer decoded;     /* the bytes, if it has such codecs */
    struct zs_shard_index *index; /* NULL: nothing is there */
};

/* Opens the shard whose encoded bytes these are. `shard` is zero before, and after a failure. */
enum zs_status zs_stored_shard_open(const struct zs_level *level, const struct zs_source *encoded,
                                    struct zs_stored_shard *shard, struct zs_error *err);
void zs_stored_shard_clear(struct zs_stored_shard *shard);
/* zs_source_chunk() of any size. */
enum zs_status zs_stored_shard_chunk(const struct zs_level *level, const struct zs_stored_shard *shard, uint64_t number,
                                     bool *is_empty, struct zs_source *chunk, struct zs_error *err);
