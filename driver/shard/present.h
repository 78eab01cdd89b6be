/* shard/present.h: a shard of any level as it is in the store: where its bytes are, and its index. */
#ifndef ZS_SHARD_PRESENT_H
#define ZS_SHARD_PRESENT_H

#include "shard/index.h"
#include "store/store.h"

/* Encoded bytes: in an object, or in memory. Borrowed; with neither there is nothing. */
struct zs_bytes {
    struct zs_object *object;
    const unsigned char *memory;
    uint64_t offset; /* within the object */
    uint64_t size;
};

/* Zero-initialise: then nothing is there. */
struct zs_present {
    struct zs_bytes bytes;        /* of the shard, what its own bytes codecs made of it undone */
    struct zs_buffer decoded;     /* that is where, if it has such codecs */
    struct zs_shard_index *index; /* NULL: nothing is there, every chunk is empty */
};

/* Reads n bytes. */
enum zs_status zs_bytes_read(const struct zs_bytes *bytes, uint64_t offset, size_t n, void *data,
                             struct zs_error *err) ZS_MUST_CHECK;

/* Opens the shard whose encoded bytes are these: undoes its bytes codecs, in memory, and reads its index. `present` is
 * empty before, and after a failure. */
enum zs_status zs_present_open(const struct zs_level *level, const struct zs_bytes *encoded, struct zs_present *present,
                               struct zs_error *err) ZS_MUST_CHECK;
void zs_present_clear(struct zs_present *present);

/* The encoded bytes of inner chunk `number`; *is_empty when it is not stored. ZS_CORRUPT as in
 * zs_shard_index_entry(). */
enum zs_status zs_present_chunk(const struct zs_level *level, const struct zs_present *present, uint64_t number,
                                bool *is_empty, struct zs_bytes *chunk, struct zs_error *err) ZS_MUST_CHECK;

#endif
