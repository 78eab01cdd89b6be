/* array/array_private.h: what the files of this room share. */
#pragma once

#include <pthread.h>
#include <time.h>

#include "array/array.h"
#include "array/grid.h"
#include "base/cache.h"
#include "base/checked.h"
#include "shard/shard.h"
#include "shard/writer.h"

/* ---- blob.c: memory for decoded chunks ----
 *
 * Decoded chunks have one size, and a third of the time that a new one takes is the first touch of its pages. So a pool
 * cuts them from slabs, while another thread populates the next slab: 500 random windows of a 240 MB scene took 15 %
 * less time. (Huge pages: 0.2 to 0.9 s for the same windows, as the host has them ready or not.) */

struct zs_blob_pool;

/* Elements of the array, `count` from `start` on in each dimension. Decoded they are dense, in the order of the chunk's
 * stored dimensions. */
struct zs_extent {
    uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
};

/* A decoded innermost chunk, an extent or a block of one, or a shard whose bytes codecs were undone. */
struct zs_blob {
    struct zs_slab *slab;     /* the slab that holds it; NULL: allocated on its own */
    struct zs_extent *extent; /* of an innermost chunk; NULL: all of it. Freed with the blob */
    size_t size;
    /* of a shard: different for each load, so that an index is never used with other bytes than its own; of a block:
     * the tag of the table that it was read by */
    uint64_t version;
    unsigned char data[];
};

/* A pool for blobs of `size` bytes; NULL without memory. Freed when all its blobs were. */
struct zs_blob_pool *zs_blob_pool_create(size_t size);
void zs_blob_pool_free(struct zs_blob_pool *pool); /* NULL is allowed */

/* A blob of `size` bytes, the pool's unless that is NULL or of size 0; not initialised. NULL without memory.
 * Thread-safe. */
struct zs_blob *zs_blob_alloc(struct zs_blob_pool *pool, size_t size);
void zs_blob_free(void *blob); /* NULL is allowed */

/* ---- An opened array ---- */

/* Keys in the cache of indexes. */
#define ZS_SPACE_TABLES ((uint64_t)ZS_MAX_LEVELS + 1)
/* Keys in the cache of chunks. */
#define ZS_SPACE_BLOCKS ((uint64_t)ZS_MAX_LEVELS + 2)

struct zs_array {
    struct zs_store *store;
    const struct zs_node *node;
    const struct zs_array_meta *meta;
    /* NULL for an array that is being created; else it is asked, before chunks are stored, whether the array is still
     * there. */
    struct zs_hierarchy *hierarchy;
    uint64_t document; /* version of its zarr.json when it was checked (zs_hierarchy_check_array()) */
    time_t asked;      /* when it was checked */
    struct zs_chain chain;
    /* the last of chain.levels: where chunks differ, that of the largest (zs_grid_level()) */
    const struct zs_level *innermost;

    int threads;       /* that decode */
    int fetch_threads; /* threads that may wait for bytes: more than `threads` where a round trip is long */
    struct zs_range_policy ranges;

    enum zs_update update;
    enum zs_chunk_order order; /* of the chunks in new shards */
    uint64_t max_chunk; /* bytes: larger chunks are refused */
    /* threads that fetch and decode whole chunks: as many as have room in the budget of the process, or `threads`; but
     * no more bytes than one chunk may have */
    int chunk_threads;
    uint64_t block_threshold; /* bytes: smaller chunks are never read block by block (plan.h) */
    uint64_t plan_overlaps;   /* most of one plan; a read with more is split (windows.c) */

    struct zs_grid grid;

    struct zs_blob_pool *blobs; /* for decoded innermost chunks; outlives the cache that holds them */
    /* space 0: decoded innermost chunks; space 1 + k: decoded shards of level k; ZS_SPACE_BLOCKS + i: decoded blocks i
     * of innermost chunks (struct zs_blob) */
    struct zs_cache chunks;
    /* space k: indexes of level-k shards; ZS_SPACE_TABLES: the blocks of innermost chunks (struct zs_blocks) */
    struct zs_cache indexes;
    struct zs_cache objects; /* space 0: opened shard objects, each counting as one byte */

    pthread_mutex_t gate;  /* of zs_array_lock() */
    pthread_rwlock_t lock; /* shared by reads while nothing is pending, else held by one call at a time */
    struct zs_pending *pending; /* pending.h; NULL until the first write */
    bool is_new; /* created by this process: until its document is published, there is no older shard to look for */

    /* Set by zs_array_open_path(): the array owns them. */
    struct zs_hierarchy *own_hierarchy;
    struct zs_store *own_store;
};

/* Takes the array's lock, alone or shared; released with pthread_rwlock_unlock(&array->lock). */
void zs_array_lock(struct zs_array *array, bool shared);

/* Reads a window of an array as it is stored, whatever is pending. */
enum zs_status zs_array_read_stored(struct zs_array *array, const struct zs_window *window, struct zs_error *err);

/* Puts "root/path/c/0/1, inner chunk [3,4]: " before the message already there; returns `status`. */
enum zs_status zs_fail_in_chunk(const struct zs_array *array, uint64_t chunk, enum zs_status status,
                                struct zs_error *err);

/* ZS_UNSUPPORTED when an innermost chunk is too large to be decoded. */
enum zs_status zs_chunk_size_check(const struct zs_array *array, const struct zs_level *level, struct zs_error *err);

/* Strides in bytes, per dimension of the array, of a decoded innermost chunk or an extent of one that has `count`
 * elements per dimension. */
void zs_dense_strides(const struct zs_level *level, const uint64_t *count, ptrdiff_t *stride);

/* ---- locate.c: from chunk numbers to bytes ---- */

enum zs_location_kind {
    ZS_LOCATION_UNKNOWN,
    ZS_LOCATION_EMPTY,   /* not stored: fill value */
    ZS_LOCATION_OBJECT,  /* the whole object, of a size not known yet (array not sharded) */
    ZS_LOCATION_RANGE,   /* [offset, offset + size) of the object of `shard` */
    ZS_LOCATION_PENDING, /* in the writer of its shard (pending.h) */
    ZS_LOCATION_MEMORY   /* size bytes at `memory` of a blob that the caller keeps pinned */
};

struct zs_location {
    enum zs_location_kind kind;
    uint64_t chunk;         /* number of the innermost chunk */
    uint64_t shard;         /* number of its level-0 chunk */
    struct zs_source bytes; /* without an object: that of `shard` is opened when they are read */
};

/* Keeps in the cache what locations point into. Zero-initialise. */
struct zs_pins {
    struct zs_cache_entry **blobs; /* of array->chunks */
    size_t count, capacity;
};
void zs_pins_release(struct zs_array *array, struct zs_pins *pins);

/* Finds the bytes of n innermost chunks of one level-0 chunk. Indexes are read, verified and cached on the way. Blobs
 * that locations point into are pinned in `pins`. With is_by_index no small remote shard is fetched as a whole. Begins
 * again where the shard was replaced since its index was read. */
enum zs_status zs_locate(struct zs_array *array, struct zs_location **locations, size_t n, bool is_by_index,
                         struct zs_pins *pins, struct zs_error *err);

/* Whether its cached index shows that nothing of a level-0 shard is stored. */
bool zs_is_known_empty(struct zs_array *array, uint64_t shard);

/* Key of a level-0 chunk's object, freed with free(). ZS_NO_MEMORY only. */
enum zs_status zs_shard_key(const struct zs_array *array, uint64_t shard, char **key, struct zs_error *err);

/* ---- indexes.c: the opened objects of level-0 chunks, and the indexes of shards of any level, each read once and
 * cached ---- */

/* Caches an opened object of a level-0 chunk, in place of any other, and pins it. It is closed on failure. */
enum zs_status zs_shard_keep_object(struct zs_array *array, uint64_t shard, struct zs_object *object,
                                    struct zs_cache_entry **entry, struct zs_error *err);

/* The opened object of a level-0 chunk whose index was read already, from this version of it; pinned in
 * array->objects. ZS_IO where it was replaced or removed since: *is_stale is set then, else left as it is. */
enum zs_status zs_shard_object_of(struct zs_array *array, uint64_t shard, uint64_t version,
                                  struct zs_cache_entry **entry, bool *is_stale, struct zs_error *err);

/* Whether the object of a level-0 chunk was replaced, as a read found, or changed while it was read, so that its bytes
 * are a mixture (zs_object_is_changed()). */
bool zs_shard_is_overtaken(struct zs_array *array, uint64_t shard);

/* Whether another object of a level-0 chunk (NULL: none) was read before. */
bool zs_shard_is_other(struct zs_array *array, uint64_t shard, const struct zs_object *object);

/* Forgets the opened object and the index of a level-0 chunk, which others replaced: it is opened again. */
void zs_shard_refresh(struct zs_array *array, uint64_t shard);
/* Drops all that is cached of a level-0 chunk, after its object was published. */
void zs_shard_forget(struct zs_array *array, uint64_t shard);

/* Locating and publishing begin again so many times when a shard was replaced or changed meanwhile. */
#define ZS_STALE_RETRIES 10

/* The index of level-k shard `number`, pinned. For level 0 without `source` the object is opened as needed, and an
 * object that is absent gives an absent index. */
enum zs_status zs_index_get(struct zs_array *array, int level, uint64_t number, const struct zs_source *source,
                            struct zs_cache_entry **entry, struct zs_error *err);

/* Opens the object `key` of a level-0 shard of this level and reads its index, both handed to the caller, past all
 * caches. ZS_NOT_FOUND when there is none. */
enum zs_status zs_shard_read_index(struct zs_array *array, const struct zs_level *level, const char *key,
                                   struct zs_object **object, struct zs_shard_index **index, struct zs_error *err);
