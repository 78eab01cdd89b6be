/* shard/shard.h: a shard as it is stored: its index, the walk from a shard to the bytes of its chunks, which bytes are
 * fetched together, and the journal beside a shard that is appended to. */
#pragma once

#include "codec/chain.h"
#include "store/store.h"

/* ---- The index (sharding codec, "Binary shard format"): for every inner chunk, in C order of the stored dimensions,
 * offset and size in bytes within the shard, both 2^64 - 1 when the chunk is not stored ---- */

#define ZS_INDEX_EMPTY UINT64_MAX

struct zs_shard_index {
    bool is_absent;      /* the object does not exist: every chunk is empty, and `entries` has none */
    bool is_recovered;   /* it comes from a journal (journal.c): the shard had no valid index when it was read */
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

/* ---- The walk from a shard to the bytes of its chunks, which may be shards again ----
 *
 * A step down is the same for all users (reading, texts, emptiness, changing a shard, validation): undo the bytes
 * codecs of the shard, read its index, take the range of a chunk. */

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

/* Reads n bytes. */
enum zs_status zs_source_read(const struct zs_source *source, uint64_t offset, size_t n, void *data,
                              struct zs_error *err);

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

/* ---- Which bytes to fetch together: no shards, just ranges ---- */

struct zs_range {
    uint64_t offset, size;
    size_t tag; /* the caller's */
};
int zs_range_compare(const void *a, const void *b); /* for qsort(): by offset, then by size */

/* A run of ranges that one request fetches: ranges[first .. first + count) lie within [offset, offset + size). */
struct zs_range_group {
    size_t first, count;
    uint64_t offset, size;
};

struct zs_range_policy {
    uint64_t max_gap; /* fetched between two ranges to save a request */
    /* of a group, unless one range alone is larger: bounds memory, and leaves several requests to run side by side */
    uint64_t max_size;
};

/* Locally a request costs microseconds: merging pays for small neighbours only, and groups stay small so that threads
 * share the work evenly. A remote request costs milliseconds of a server and a connection, in which some hundred
 * kilobytes would have come; not a round trip, since requests are under way side by side. */
struct zs_range_policy zs_range_policy_of(bool is_remote);

/* Sorts the ranges by offset and groups them; ranges may overlap. Groups are written to groups[n] at most; returns how
 * many. */
size_t zs_range_plan(struct zs_range *ranges, size_t n, struct zs_range_policy policy, struct zs_range_group *groups);

/* ---- journal.c: how the index of a shard is found while the shard is appended to (append.c), or when that was cut off
 * ----
 *
 * Before anything of the shard changes, a small file beside it (zs_journal_key(): c/0/.shardedzarr-1.journal of c/0/1)
 * says what it was: its size, and its index. It is removed when the new index is there. Integers are little-endian:
 *
 *   "ZSUNDO01"
 *   u64   bytes of the shard as it was
 *   u64   n: of so many bytes before that size ...
 *   u32   ... the crc32c; appending changes none of them, which shows whether the file beside it is still that one
 *   the index as it was stored
 *   u32   crc32c of all above
 *
 * Only where the index of a shard is broken is its journal looked for: one that was left beside a shard in order does
 * nothing, and the next writer of that shard removes it. */

/* Writes the journal of a shard that is stored as `object` with `index`; it is on the disk on return (zs_sync). */
enum zs_status zs_journal_write(struct zs_store *store, const char *key, const struct zs_level *level,
                                const struct zs_shard_index *index, struct zs_object *object, struct zs_error *err);

/* Reads the index that the shard `object` had from its journal, and sets is_recovered in it. ZS_NOT_FOUND when there is
 * no journal, or one of another object. */
enum zs_status zs_journal_read(struct zs_store *store, const char *key, const struct zs_level *level,
                               struct zs_object *object, struct zs_shard_index **index, struct zs_error *err);

/* Absent is fine. */
enum zs_status zs_journal_remove(struct zs_store *store, const char *key, struct zs_error *err);
