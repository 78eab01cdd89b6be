#define _GNU_SOURCE /* MADV_HUGEPAGE */
#include "array/blob.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/memory.h"

#define HUGE_PAGE ((size_t)2 << 20)
#define SLAB_BYTES (4 * HUGE_PAGE)
/* Smaller blobs cost few page faults, larger ones would leave most of a slab unused. */
#define MIN_BLOB ((size_t)64 << 10)
#define MAX_BLOB (SLAB_BYTES / 4)
/* The first few are on their own: a huge page for one small window would be a waste. */
#define BLOBS_BEFORE_SLABS 8

struct zs_slab {
    struct zs_blob_pool *pool;
    struct zs_slab *next;
    unsigned char *memory;
    size_t fresh;      /* pieces never handed out are those from here on */
    size_t used;       /* pieces handed out now */
    struct zs_blob *free; /* given back; each holds the next in its first bytes of data */
};

struct zs_blob_pool {
    pthread_mutex_t lock;
    size_t size;   /* of a blob's data */
    size_t stride; /* from one blob to the next */
    size_t pieces; /* per slab */
    size_t alone;  /* blobs handed out that are in no slab */
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
        pool->pieces = SLAB_BYTES / pool->stride;
    }
    return pool;
}

void zs_blob_pool_free(struct zs_blob_pool *pool)
{
    if (pool == NULL)
        return;
    for (struct zs_slab *s = pool->slabs, *next; s != NULL; s = next) {
        next = s->next;
        free(s->memory);
        free(s);
    }
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static struct zs_slab *slab_create(struct zs_blob_pool *pool)
{
    struct zs_slab *s = zs_calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->memory = aligned_alloc(HUGE_PAGE, SLAB_BYTES);
    if (s->memory == NULL) {
        free(s);
        return NULL;
    }
#ifdef MADV_HUGEPAGE
    (void)madvise(s->memory, SLAB_BYTES, MADV_HUGEPAGE); /* a hint: without it all works as before */
#endif
    s->pool = pool;
    s->next = pool->slabs;
    pool->slabs = s;
    return s;
}

/* With the lock held: a piece of a slab, NULL without memory. */
static struct zs_blob *take_piece(struct zs_blob_pool *pool)
{
    struct zs_slab *s = pool->slabs;
    while (s != NULL && s->used == pool->pieces)
        s = s->next;
    if (s == NULL)
        s = slab_create(pool);
    if (s == NULL)
        return NULL;
    struct zs_blob *blob = s->free;
    if (blob != NULL)
        s->free = *(struct zs_blob **)(void *)blob->data;
    else
        blob = (struct zs_blob *)(void *)(s->memory + pool->stride * s->fresh++);
    s->used++;
    blob->slab = s;
    return blob;
}

struct zs_blob *zs_blob_alloc(struct zs_blob_pool *pool, size_t size)
{
    struct zs_blob *blob = NULL;
    if (pool != NULL && pool->pieces > 0) {
        pthread_mutex_lock(&pool->lock);
        if (pool->alone < BLOBS_BEFORE_SLABS)
            pool->alone++;
        else
            blob = take_piece(pool);
        pthread_mutex_unlock(&pool->lock);
    }
    if (blob == NULL) {
        if (size > SIZE_MAX - sizeof *blob || (blob = malloc(sizeof *blob + size)) == NULL)
            return NULL;
        blob->slab = NULL;
    }
    blob->size = size;
    return blob;
}

/* With the lock held: whether another slab has a piece to give, so that this empty one need not be kept. */
static int has_room_elsewhere(const struct zs_blob_pool *pool, const struct zs_slab *slab)
{
    for (const struct zs_slab *s = pool->slabs; s != NULL; s = s->next)
        if (s != slab && s->used < pool->pieces)
            return 1;
    return 0;
}

void zs_blob_free(void *value)
{
    struct zs_blob *blob = value;
    if (blob == NULL || blob->slab == NULL) {
        free(blob);
        return;
    }
    struct zs_slab *s = blob->slab;
    struct zs_blob_pool *pool = s->pool;
    pthread_mutex_lock(&pool->lock);
    *(struct zs_blob **)(void *)blob->data = s->free;
    s->free = blob;
    s->used--;
    const int release = s->used == 0 && has_room_elsewhere(pool, s);
    if (release) {
        struct zs_slab **p = &pool->slabs;
        while (*p != s)
            p = &(*p)->next;
        *p = s->next;
    }
    pthread_mutex_unlock(&pool->lock);
    if (release) {
        free(s->memory);
        free(s);
    }
}
