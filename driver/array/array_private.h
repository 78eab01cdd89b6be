/* array/array_private.h: what the files of this room share. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "array/array.h"
#include "array/blob.h"
#include "array/grid.h"
#include "base/cache.h"
#include "base/checked.h"
#include "shard/walk.h"
#include "shard/range_plan.h"

/* Keys in the cache of indexes. */
#define ZS_SPACE_TABLES ((uint64_t)ZS_MAX_LEVELS + 1)
#define ZS_SPACE_SHARD_LIST ((uint64_t)ZS_MAX_LEVELS + 2)
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
    uint64_t max_chunk; /* bytes: larger chunks are refused */
    int decode_slots;   /* chunks that are decoded at once: one per thread, but no more bytes than one chunk may have */
    uint64_t block_threshold; /* bytes: smaller chunks are never read block by block (plan.h) */
    uint64_t plan_overlaps;   /* most of one plan; a read with more is split (windows.c) */

    struct zs_grid grid;

    struct zs_blob_pool *blobs; /* for decoded innermost chunks; outlives the cache that holds them */
    /* space 0: decoded innermost chunks; space 1 + k: decoded shards of level k; ZS_SPACE_BLOCKS + i: decoded blocks i
     * of innermost chunks (struct zs_blob) */
    struct zs_cache *chunks;
    /* space k: indexes of level-k shards; ZS_SPACE_TABLES: the blocks of innermost chunks (struct zs_blocks);
     * ZS_SPACE_SHARD_LIST: shard_list.c */
    struct zs_cache *indexes;
    /* look-ups of absent shards since the store was listed, and how many make it worth listing again (indexes.h) */
    atomic_uint_least64_t missed, list_due;
    struct zs_cache *objects; /* space 0: opened shard objects, each counting as one byte */

    pthread_mutex_t gate;  /* of zs_array_lock() */
    pthread_rwlock_t lock; /* shared by reads while nothing is pending, else held by one call at a time */
    struct zs_pending *pending; /* pending.h; NULL until the first write, or question of their order */
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

/* Finds the bytes of n innermost chunks of one level-0 chunk, for readers of pixels. Indexes are read, verified and
 * cached on the way. Blobs that locations point into are pinned in `pins`. Asks for no shard that the list of a store's
 * shards lacks, and lists the store when that costs less than the look-ups of absent shards did (indexes.h). */
enum zs_status zs_locate(struct zs_array *array, struct zs_location **locations, size_t n, struct zs_pins *pins,
                         struct zs_error *err);

/* Likewise, by the index alone: no small remote shard is fetched as a whole, no store is listed. */
enum zs_status zs_locate_by_index(struct zs_array *array, struct zs_location **locations, size_t n,
                                  struct zs_pins *pins, struct zs_error *err);

/* Whether the cached indexes, or the list of shards, show that nothing of a level-k shard is stored; false where they
 * are not cached. */
bool zs_is_known_empty(struct zs_array *array, int level, uint64_t number);

/* Key of a level-0 chunk's object, freed with free(). ZS_NO_MEMORY only. */
enum zs_status zs_shard_key(const struct zs_array *array, uint64_t shard, char **key, struct zs_error *err);
