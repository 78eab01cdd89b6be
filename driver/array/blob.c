#define _GNU_SOURCE /* MADV_POPULATE_WRITE */
#include "array/array_private.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cache.h"
#include "base/memory.h"
#include "base/parallel.h"

#define SLAB_BYTES ((size_t)8 << 20)
#define PAGE_BYTES ((size_t)4096)
/* Smaller blobs cost few page faults, larger ones would leave most of a slab unused. */
#define MIN_BLOB ((size_t)64 << 10)
#define MAX_BLOB (SLAB_BYTES / 4)
/* The first few blobs are allocated on their own: a small read would populate most pages of a slab for nothing. */
#define BLOBS_BEFORE_SLABS ((size_t)8)
#define BYTES_BEFORE_SLABS SLAB_BYTES
/* Bytes that are populated between two checks whether the slab is about to be freed. */
#define POPULATED_AT_ONCE ((size_t)1 << 20)

/* Slabs of all pools: many arrays with a few blobs each would hold far more in slabs than the budget of their
 * caches. */
static atomic_size_t slab_count;

struct zs_slab {
    struct zs_blob_pool *pool;
    struct zs_slab *next;
    unsigned char *memory;
    size_t fresh;         /* blobs from here on were never handed out */
    size_t used;          /* blobs handed out now */
    struct zs_blob *free; /* list of blobs given back: the first bytes of data point to the next */
    struct zs_async *populating;
    atomic_bool is_leaving; /* populating it is of no use any more */
};

struct zs_blob_pool {
    pthread_mutex_t lock;
    size_t size;     /* of a blob's data */
    size_t stride;   /* from one blob to the next */
    size_t per_slab; /* per slab */
    size_t alone;    /* blobs that were handed out before the first slab; never less again */
    struct zs_slab *slabs;
};

struct zs_blob_pool *zs_blob_pool_create(size_t size)
{
    struct zs_blob_pool *pool = zs_calloc(1, sizeof *pool);
    if (pool == NULL)
        return NULL;
    pthread_mutex_init(&pool->lock, NULL);
    pool->size = size;
    if (size >= MIN_BLOB && size <= MAX_BLOB) {
        pool->stride = (sizeof(struct zs_blob) + size + 63) / 64 * 64;
        pool->per_slab = SLAB_BYTES / pool->stride;
    }
    return pool;
}

static void slab_free(struct zs_slab *slab)
{
    atomic_store(&slab->is_leaving, true);
    const enum zs_status populated = zs_async_wait(slab->populating, NULL);
    (void)populated; /* a failure has no consequence */
    free(slab->memory);
    free(slab);
    atomic_fetch_sub(&slab_count, 1);
}

void zs_blob_pool_free(struct zs_blob_pool *pool)
{
    if (pool == NULL)
        return;
    for (struct zs_slab *slab = pool->slabs, *next; slab != NULL; slab = next) {
        next = slab->next;
        slab_free(slab);
    }
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static enum zs_status populate_slab(void *ctx, size_t item, struct zs_error *err)
{
    struct zs_slab *slab = ctx;
    (void)item;
    (void)err;
#ifdef MADV_POPULATE_WRITE
    /* fails before Linux 5.14: then pages are populated when they are used */
    for (size_t at = 0; at < SLAB_BYTES && !atomic_load(&slab->is_leaving); at += POPULATED_AT_ONCE)
        (void)madvise(slab->memory + at, POPULATED_AT_ONCE, MADV_POPULATE_WRITE);
#else
    (void)slab;
#endif
    return ZS_OK;
}

/* With the lock held: adds a slab at `end`, the end of the list, and populates its pages in the background. */
static struct zs_slab *slab_create(struct zs_blob_pool *pool, struct zs_slab **end)
{
    struct zs_slab *slab = atomic_load(&slab_count) * SLAB_BYTES <= zs_budget() ? zs_calloc(1, sizeof *slab) : NULL;
    if (slab == NULL)
        return NULL;
    slab->memory = aligned_alloc(PAGE_BYTES, SLAB_BYTES);
    if (slab->memory == NULL) {
        free(slab);
        return NULL;
    }
    atomic_fetch_add(&slab_count, 1);
    slab->pool = pool;
    slab->populating = zs_async_start(populate_slab, slab);
    return *end = slab;
}

/* With the lock held: a blob of a slab, NULL where no slab can be made. */
static struct zs_blob *take_from_slab(struct zs_blob_pool *pool)
{
    struct zs_slab **at = &pool->slabs;
    while (*at != NULL && (*at)->used == pool->per_slab)
        at = &(*at)->next;
    struct zs_slab *slab = *at != NULL ? *at : slab_create(pool, at);
    if (slab == NULL)
        return NULL;
    struct zs_blob *blob = slab->free;
    if (blob != NULL) {
        slab->free = *(struct zs_blob **)(void *)blob->data;
    } else {
        blob = (struct zs_blob *)(void *)(slab->memory + pool->stride * slab->fresh++);
        if (slab->next == NULL && slab->fresh == pool->per_slab / 2 + 1)
            (void)slab_create(pool, &slab->next); /* to be populated before it is needed */
    }
    slab->used++;
    blob->slab = slab;
    return blob;
}

struct zs_blob *zs_blob_alloc(struct zs_blob_pool *pool, size_t size)
{
    struct zs_blob *blob = NULL;
    if (pool != NULL && pool->per_slab > 0) {
        pthread_mutex_lock(&pool->lock);
        if (pool->alone < BLOBS_BEFORE_SLABS || pool->alone < BYTES_BEFORE_SLABS / pool->stride)
            pool->alone++;
        else
            blob = take_from_slab(pool);
        pthread_mutex_unlock(&pool->lock);
    }
    if (blob == NULL) {
        if (size > SIZE_MAX - sizeof *blob || (blob = malloc(sizeof *blob + size)) == NULL)
            return NULL;
        blob->slab = NULL;
    }
    blob->extent = NULL;
    blob->size = size;
    return blob;
}

/* With the lock held: whether another slab has a free blob, so that this empty one can be freed. */
static bool has_room_elsewhere(const struct zs_blob_pool *pool, const struct zs_slab *slab)
{
    for (const struct zs_slab *other = pool->slabs; other != NULL; other = other->next)
        if (other != slab && other->used < pool->per_slab)
            return true;
    return false;
}

void zs_blob_free(void *value)
{
    struct zs_blob *blob = value;
    if (blob != NULL)
        free(blob->extent);
    if (blob == NULL || blob->slab == NULL) {
        free(blob);
        return;
    }
    struct zs_slab *slab = blob->slab;
    struct zs_blob_pool *pool = slab->pool;
    pthread_mutex_lock(&pool->lock);
    *(struct zs_blob **)(void *)blob->data = slab->free;
    slab->free = blob;
    slab->used--;
    const bool release = slab->used == 0 && has_room_elsewhere(pool, slab);
    if (release) {
        struct zs_slab **p = &pool->slabs;
        while (*p != slab)
            p = &(*p)->next;
        *p = slab->next;
    }
    pthread_mutex_unlock(&pool->lock);
    if (release)
        slab_free(slab);
}
