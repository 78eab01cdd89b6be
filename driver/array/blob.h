/* array/blob.h: memory for decoded chunks.
 *
 * Chunks that stay in the cache are all of one size and come by the hundred; a third of what a fresh one costs is the
 * first touch of its pages. So a pool cuts them from slabs, the next of which another thread populates meanwhile: 500
 * random windows of a 240 MB scene took 15 % less time. (Huge pages: 0.2 to 0.9 s for the same windows, as the host of
 * a virtual machine has them ready or not.) */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "shardedzarr.h"

struct zs_slab;
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
