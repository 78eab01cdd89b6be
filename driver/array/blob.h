/* array/blob.h: memory for decoded chunks.
 *
 * Chunks that stay in the cache are all of one size and come by the hundred; a third of what a fresh one costs is the
 * first touch of its pages. So a pool cuts them from slabs, the next of which another thread touches meanwhile: 500
 * random windows of a 240 MB scene took 15 % less time. (Huge pages: 0.2 to 0.9 s for the same windows, as the host of
 * a virtual machine has them ready or not.) */
#ifndef ZS_ARRAY_BLOB_H
#define ZS_ARRAY_BLOB_H

#include <stddef.h>
#include <stdint.h>

#include "shardedzarr.h"

struct zs_slab;
struct zs_blob_pool;

/* A box of an innermost chunk, in elements of the array, stored densely in the order of the chunk's own dimensions. */
struct zs_extent {
    uint64_t start[ZS_MAX_NDIM], count[ZS_MAX_NDIM];
};

/* A decoded innermost chunk or the part of one that was worth keeping, or a whole shard whose outer bytes codecs were
 * undone. */
struct zs_blob {
    struct zs_slab *slab;   /* that it is cut from; NULL: on its own */
    struct zs_extent *part; /* that of an innermost chunk it is; NULL: all of it. Freed with it */
    size_t size;
    /* of a whole shard: no two loads have the same, so that an index is never used with other bytes than its own; of a
     * block: the tag of the table that it was read by */
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

#endif
