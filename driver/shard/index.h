/* shard/index.h: the index of a shard (sharding codec, "Binary shard format"): for every inner chunk, in C order of the
 * stored dimensions, offset and size in bytes within the shard, both 2^64 - 1 when the chunk is not stored. */
#pragma once

#include "codec/chain.h"

#define ZS_INDEX_EMPTY UINT64_MAX

struct zs_shard_index {
    bool is_absent;      /* the object does not exist: every chunk is empty, and `entries` has none */
    bool is_recovered;   /* it comes from a journal (journal.h): the shard had no valid index when it was read */
    bool is_remembered;  /* this process read it earlier: chunks that are empty in it may have been added since */
    uint64_t shard_size; /* size of the shard that the entries refer to */
    uint64_t version;    /* version of the object it was read from (store/store.h) */
    uint64_t count;      /* inner chunks */
    uint64_t entries[];  /* offset, size; offset, size; ... native byte order */
};

/* An index with room for level->index_size encoded bytes at (void *)index->entries. Released with free(). NULL without
 * memory. */
struct zs_shard_index *zs_shard_index_alloc(const struct zs_level *level);
struct zs_shard_index *zs_shard_index_absent(void);

/* Turns the level->index_size encoded bytes at index->entries into entries: verifies every crc32c, then converts to
 * native order. ZS_CORRUPT with expected and found. */
enum zs_status zs_shard_index_decode(const struct zs_level *level, struct zs_shard_index *index, struct zs_error *err);

/* Encodes `index` into `out`, which has room for level->index_size bytes. */
void zs_shard_index_encode(const struct zs_level *level, const struct zs_shard_index *index, void *out);

/* Sets the offset of the index in a shard of shard_size bytes. ZS_CORRUPT when the shard is too small to hold it. */
enum zs_status zs_shard_index_offset(const struct zs_level *level, uint64_t shard_size, uint64_t *offset,
                                     struct zs_error *err);

/* Number of the inner chunk at `position` (of the array's dimensions, within the shard) in the index. */
uint64_t zs_shard_index_number(const struct zs_level *level, const uint64_t *position);

/* Sets the entry of inner chunk `number`. */
void zs_shard_index_set(struct zs_shard_index *index, uint64_t number, bool is_empty, uint64_t offset, uint64_t size);

/* Offset and size of inner chunk `number`; *is_empty when it is not stored. ZS_CORRUPT when the entry lies outside of
 * the shard, overlaps the index, or has one field of 2^64 - 1. */
enum zs_status zs_shard_index_entry(const struct zs_level *level, const struct zs_shard_index *index, uint64_t number,
                                    bool *is_empty, uint64_t *offset, uint64_t *size, struct zs_error *err);
