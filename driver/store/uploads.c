#include "store/uploads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/checked.h"
#include "base/limits.h"
#include "base/parallel.h"

/* GDAL holds no more than so much of an object in memory while it is sent (vsi.c). */
#define PART_BYTES ((uint64_t)128 << 20)
/* Local files that stay open for those who read what was sent. */
#define MAX_KEPT 128

struct upload {
    struct zs_uploads *all;
    char *key;
    struct zs_writer *writer;
    struct zs_async *async;
    uint64_t size, version;
    bool is_done, is_forgotten;
    size_t readers;
};

struct zs_uploads {
    struct zs_store here; /* that the objects of zs_uploads_open() belong to */
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t done;
    struct upload **list; /* in the order in which they were sent */
    size_t count, capacity;
    size_t under_way;
    uint64_t held;  /* bytes of memory for these */
    uint64_t kept;  /* bytes on disk of the others */
    uint64_t last_version;
    enum zs_status first; /* the first failure */
    struct zs_error err;
};

struct upload_object {
    struct zs_object base;
    struct upload *upload;
};

static uint64_t memory_of(const struct upload *u)
{
    return zs_min_u64(u->size, PART_BYTES);
}

/* ---- The list; with the lock held ---- */

/* The latest of a key. */
static struct upload *find(const struct zs_uploads *a, const char *key)
{
    for (size_t i = a->count; i-- > 0;)
        if (!a->list[i]->is_forgotten && strcmp(a->list[i]->key, key) == 0)
            return a->list[i];
    return NULL;
}

static void upload_free(struct upload *u)
{
    if (u->writer != NULL)
        u->writer->store->ops->abort(u->writer); /* releases the local file */
    free(u->key);
    free(u);
}

/* Lets go of those that are sent and not read any more: of the forgotten ones, and of the oldest until `room` bytes are
 * free among what may be kept. That is on a disk, or on what is taken for one and is memory: as much as GDAL's caches
 * may have. */
static void tidy(struct zs_uploads *a, uint64_t room)
{
    const uint64_t most = 4 * zs_budget();
    for (size_t i = 0; i < a->count;) {
        struct upload *u = a->list[i];
        const bool must_go = u->is_forgotten || a->kept + room > most || a->count - a->under_way > MAX_KEPT;
        if (!u->is_done || u->readers > 0 || !must_go) {
            i++;
            continue;
        }
        const enum zs_status ignored = zs_async_wait(u->async, NULL); /* it is at its end, and said how it went */
        (void)ignored;
        a->kept -= u->size;
        memmove(a->list + i, a->list + i + 1, (--a->count - i) * sizeof *a->list);
        upload_free(u);
    }
}

static void wait_for(struct zs_uploads *a, const struct upload *u)
{
    while (!u->is_done)
        (void)pthread_cond_wait(&a->done, &a->lock);
}

static void forget(struct zs_uploads *a, const char *key)
{
    struct upload *u = find(a, key);
    if (u == NULL)
        return;
    wait_for(a, u);
    u->is_forgotten = true;
}

/* ---- Sending ---- */

/* Sends one, in a thread of its own. */
static enum zs_status run(void *ctx, size_t item, struct zs_error *unused)
{
    struct upload *u = ctx;
    struct zs_uploads *a = u->all;
    struct zs_error err = {0};
    (void)item;
    (void)unused;
    const enum zs_status status = u->writer->store->ops->send(u->writer, &err);
    (void)pthread_mutex_lock(&a->lock);
    if (status != ZS_OK && a->first == ZS_OK) {
        a->first = status;
        a->err = err;
    }
    a->under_way--;
    a->held -= memory_of(u);
    a->kept += u->size;
    u->is_forgotten = u->is_forgotten || status != ZS_OK;
    u->is_done = true;
    (void)pthread_cond_broadcast(&a->done);
    (void)pthread_mutex_unlock(&a->lock);
    return ZS_OK;
}

static enum zs_status failure(const struct zs_uploads *a, struct zs_error *err)
{
    return a->first == ZS_OK ? ZS_OK : zs_fail(err, a->first, "%s", a->err.message);
}

/* Puts it into the list when there is room for it. */
static enum zs_status enter(struct zs_uploads *a, struct upload *u, struct zs_error *err)
{
    forget(a, u->key);
    while (a->under_way >= ZS_MOST_UPLOADS || (a->under_way > 0 && a->held + memory_of(u) > zs_budget()))
        (void)pthread_cond_wait(&a->done, &a->lock);
    tidy(a, u->size);
    ZS_TRY(failure(a, err));
    struct upload **grown = zs_grow(a->list, a->count, &a->capacity, sizeof(struct upload *));
    if (grown == NULL)
        return zs_fail_memory(err);
    a->list = grown;
    a->list[a->count++] = u;
    a->under_way++;
    a->held += memory_of(u);
    u->version = ++a->last_version;
    return ZS_OK;
}

enum zs_status zs_uploads_send(struct zs_uploads *a, const char *key, struct zs_writer *writer, struct zs_error *err)
{
    struct upload *u = zs_calloc(1, sizeof *u);
    if (u == NULL || (u->key = zs_strdup(key)) == NULL) {
        free(u);
        writer->store->ops->abort(writer);
        return zs_fail_memory(err);
    }
    u->all = a;
    u->writer = writer;
    u->size = writer->size;
    (void)pthread_mutex_lock(&a->lock);
    const enum zs_status status = enter(a, u, err);
    struct zs_async *async = status == ZS_OK ? zs_async_start(run, u) : NULL;
    const bool is_started = async != NULL && zs_async_has_thread(async);
    if (is_started)
        u->async = async;
    (void)pthread_mutex_unlock(&a->lock);
    if (status != ZS_OK) {
        upload_free(u);
        return status;
    }
    if (is_started)
        return ZS_OK; /* zs_uploads_settle() says how it goes */
    return async != NULL ? zs_async_wait(async, err) : run(u, 0, err);
}

enum zs_status zs_uploads_settle(struct zs_uploads *a, struct zs_error *err)
{
    (void)pthread_mutex_lock(&a->lock);
    while (a->under_way > 0)
        (void)pthread_cond_wait(&a->done, &a->lock);
    const enum zs_status status = failure(a, err);
    (void)pthread_mutex_unlock(&a->lock);
    return status;
}

void zs_uploads_forget(struct zs_uploads *a, const char *key)
{
    (void)pthread_mutex_lock(&a->lock);
    forget(a, key);
    tidy(a, 0);
    (void)pthread_mutex_unlock(&a->lock);
}

/* ---- Reading what was sent ---- */

static enum zs_status read_here(struct zs_object *object, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    return zs_writer_read(((struct upload_object *)object)->upload->writer, offset, n, data, err);
}

static void close_here(struct zs_object *object)
{
    struct upload *u = ((struct upload_object *)object)->upload;
    (void)pthread_mutex_lock(&u->all->lock);
    u->readers--;
    (void)pthread_mutex_unlock(&u->all->lock);
    free(object);
}

bool zs_uploads_has(struct zs_uploads *a, const char *key)
{
    (void)pthread_mutex_lock(&a->lock);
    const bool has = find(a, key) != NULL;
    (void)pthread_mutex_unlock(&a->lock);
    return has;
}

enum zs_status zs_uploads_open(struct zs_uploads *a, const char *key, struct zs_object **object, struct zs_error *err)
{
    struct upload_object *o = zs_calloc(1, sizeof *o);
    *object = NULL;
    if (o == NULL)
        return zs_fail_memory(err);
    (void)pthread_mutex_lock(&a->lock);
    struct upload *u = find(a, key);
    if (u != NULL) {
        u->readers++;
        o->base = (struct zs_object){.store = &a->here, .size = u->size, .version = u->version};
        o->upload = u;
        *object = &o->base;
    }
    (void)pthread_mutex_unlock(&a->lock);
    if (u == NULL)
        free(o);
    return ZS_OK;
}

/* ---- All of them ---- */

static const struct zs_store_ops here_ops = {.read = read_here, .close = close_here};

enum zs_status zs_uploads_create(struct zs_uploads **uploads, struct zs_error *err)
{
    struct zs_uploads *a = zs_calloc(1, sizeof *a);
    if (a == NULL)
        return zs_fail_memory(err);
    a->here.ops = &here_ops;
    (void)pthread_mutex_init(&a->lock, NULL);
    (void)pthread_cond_init(&a->done, NULL);
    *uploads = a;
    return ZS_OK;
}

void zs_uploads_free(struct zs_uploads *a)
{
    if (a == NULL)
        return;
    const enum zs_status ignored = zs_uploads_settle(a, NULL);
    (void)ignored;
    for (size_t i = 0; i < a->count; i++)
        a->list[i]->is_forgotten = true;
    tidy(a, 0);
    free(a->list);
    (void)pthread_cond_destroy(&a->done);
    (void)pthread_mutex_destroy(&a->lock);
    free(a);
}
