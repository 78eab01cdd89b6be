/* How commits to remote stores are sent: over a version that they expect, again where an answer was lost, and several
 * at once beside the caller's work. */
#define _DEFAULT_SOURCE /* getrandom(), nanosleep() */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/cache.h"
#include "base/checked.h"
#include "base/limits.h"
#include "base/parallel.h"
#include "store/http.h"
#include "store/vsi.h"

/* GDAL's upload says that it failed and not why: what the store has afterwards distinguishes a conflict or a lost
 * answer from a failure. */
#define COMPARE_BYTES ((size_t)1 << 20)

void zs_expectation_free(struct zs_expectation *expected)
{
    if (expected == NULL)
        return;
    free(expected->etag);
    free(expected);
}

enum zs_status zs_writer_expect(struct zs_writer *writer, struct zs_store *store, const char *etag,
                                struct zs_error *err)
{
    if (!zs_store_has_conditions(store))
        return ZS_OK;
    zs_store_wait_commit(store, writer->key); /* this one waits for its answer, behind an older one of its key */
    struct zs_expectation *expected = zs_calloc(1, sizeof *expected);
    if (expected != NULL)
        *expected = (struct zs_expectation){.store = store, .etag = zs_strdup(etag)};
    if (expected == NULL || expected->etag == NULL) {
        zs_expectation_free(expected);
        return zs_fail_memory(err);
    }
    zs_expectation_free(writer->expected);
    writer->expected = expected;
    return ZS_OK;
}

bool zs_conflict_again(int *tries)
{
    static const uint64_t most_ms[] = {20, 40, 80, 160, 320, 640, 1000};
    const size_t count = sizeof most_ms / sizeof most_ms[0];
    uint64_t chance = 0;
    const int attempt = (*tries)++;
    if (attempt >= ZS_MOST_CONFLICTS)
        return false;
    (void)getrandom(&chance, sizeof chance, GRND_NONBLOCK);
    const uint64_t us = chance % (1000 * most_ms[(size_t)attempt < count ? (size_t)attempt : count - 1]);
    const struct timespec time = {.tv_sec = 0, .tv_nsec = (long)us * 1000};
    (void)nanosleep(&time, NULL);
    return true;
}

enum zs_status zs_store_replace(struct zs_store *store, const char *key, zs_replace_fn replace, void *ctx,
                                struct zs_error *err)
{
    struct zs_lock *lock;
    enum zs_status status;
    int tries = 0;
    ZS_TRY(zs_store_lock(store, key, &lock, err));
    do {
        zs_store_forget(store, key);
        status = replace(ctx, err);
    } while (status == ZS_CONFLICT && zs_conflict_again(&tries));
    zs_store_unlock(store, lock);
    return status;
}

/* ---- What a failed commit means ---- */

/* Whether the store has the bytes of the writer under its key. */
static bool has_bytes(struct zs_writer *writer, struct zs_object *object)
{
    struct zs_buffer theirs = {0}, ours = {0};
    struct zs_error ignored;
    const uint64_t size = writer->size;
    bool is_same = zs_object_size(object) == size && zs_buffer_reset(&theirs, COMPARE_BYTES, &ignored) == ZS_OK &&
                   zs_buffer_reset(&ours, COMPARE_BYTES, &ignored) == ZS_OK;
    for (uint64_t offset = 0; offset < size && is_same;) {
        const size_t n = (size_t)zs_min_u64(size - offset, COMPARE_BYTES);
        is_same = zs_object_read(object, offset, n, theirs.data, &ignored) == ZS_OK &&
                  zs_writer_read(writer, offset, n, ours.data, &ignored) == ZS_OK &&
                  memcmp(theirs.data, ours.data, n) == 0;
        offset += n;
    }
    zs_buffer_free(&theirs);
    zs_buffer_free(&ours);
    return is_same;
}

/* GDAL does not say why there was no answer to an upload. Where the store can be read as little, asks the server for
 * one byte, and says how that failed. */
static void say_why(const struct zs_writer *writer, struct zs_error *err)
{
    char found[400];
    struct zs_vsi_quiet q;
    char *path = writer->has_answer ? NULL : zs_vsi_path(writer->store, writer->key);
    zs_vsi_quiet_begin(&q, writer->store);
    if (path != NULL && zs_http_probe(path, found, sizeof found) == ZS_HTTP_FAILED)
        (void)zs_fail(err, ZS_IO, "%s/%s: writing failed: %s", writer->store->root, writer->key, found);
    zs_vsi_quiet_end(&q);
    free(path);
}

/* Finds what the failure of a commit means by what is under its key now. *is_unchanged: the store is as it was, or
 * cannot be read; else another object is there, of whomever it is. */
static enum zs_status judge(struct zs_writer *writer, enum zs_status failure, bool *is_unchanged, struct zs_error *err)
{
    const char *expected = writer->expected != NULL ? writer->expected->etag : NULL, *root = writer->reader->root;
    struct zs_object *now;
    struct zs_error ignored;
    zs_store_forget(writer->reader, writer->key);
    const enum zs_status opened =
        writer->reader->ops->open(writer->reader, writer->key, &(struct zs_first_read){0}, &now, &ignored);
    *is_unchanged = opened != ZS_OK;
    if (opened == ZS_NOT_FOUND && expected != NULL && expected[0] != '\0')
        return zs_fail(err, ZS_CONFLICT, "%s/%s: another writer removed it meanwhile", root, writer->key);
    if (opened != ZS_OK && opened != ZS_NOT_FOUND && failure == ZS_IO)
        say_why(writer, err);
    if (opened != ZS_OK)
        return failure;
    const char *etag = zs_object_etag(now);
    enum zs_status status = failure;
    *is_unchanged = expected != NULL && etag != NULL && strcmp(etag, expected) == 0;
    if (!*is_unchanged && has_bytes(writer, now))
        status = ZS_OK;
    else if (!*is_unchanged && expected != NULL)
        status = zs_fail(err, ZS_CONFLICT, "%s/%s: another writer replaced it meanwhile", root, writer->key);
    zs_object_close(now);
    return status;
}

/* S3 refuses a commit (409) while another one of the same object is under way, whichever wins then. GDAL does not tell
 * that from other failures, nor send it again. */
enum zs_status zs_writer_send(struct zs_writer *writer, struct zs_error *err)
{
    enum zs_status status;
    bool is_unchanged = true;
    int tries = 0;
    do {
        status = writer->store->ops->writing->send(writer, err);
        if (status != ZS_OK)
            status = judge(writer, status, &is_unchanged, err);
    } while (status == ZS_IO && is_unchanged && tries < ZS_MOST_REFUSALS && zs_conflict_again(&tries));
    return status;
}

/* ---- Which commits carry conditions ---- */

void zs_store_set_conditions(struct zs_store *store, bool are_sent)
{
    store->sends_conditions = are_sent;
}

bool zs_store_has_conditions(const struct zs_store *store)
{
    return store->is_remote && store->can_expect && store->sends_conditions;
}

bool zs_store_lacks_versions(const struct zs_store *store)
{
    return __atomic_load_n(&store->lacks_versions, __ATOMIC_RELAXED);
}

const char *zs_store_expected(struct zs_store *store, const char *etag)
{
    if (etag == NULL)
        __atomic_store_n(&store->lacks_versions, true, __ATOMIC_RELAXED);
    return etag;
}

/* ---- Several at once ----
 *
 * Between zs_store_overlap() and zs_store_overlap_end() a remote store sends objects beside the caller's work. Those
 * that are under way, and for a while those that were sent, are read from their local files. */

/* GDAL holds at most this much of an object in memory while it is sent (vsi_write.c). */
#define PART_BYTES ((uint64_t)128 << 20)
/* Local files of sent objects that stay open for readers. */
#define MAX_KEPT 128

struct upload {
    struct zs_uploads *all;
    struct zs_writer *writer; /* with the key */
    struct zs_async *async;
    uint64_t size, version;
    bool is_done, is_forgotten;
    size_t readers; /* threads that read it or wait for it; it is not freed meanwhile */
};

struct zs_uploads {
    struct zs_store sent; /* whose objects are the local files */
    atomic_bool is_on;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t done;
    struct upload **list; /* in the order in which they were sent */
    size_t count, capacity;
    size_t under_way;
    uint64_t held; /* bytes of memory for these */
    uint64_t kept; /* bytes on disk of the others */
    uint64_t last_version;
    enum zs_status first; /* the first failure */
    struct zs_error err;
};

/* A sent object whose bytes are still here. */
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
        if (!a->list[i]->is_forgotten && strcmp(a->list[i]->writer->key, key) == 0)
            return a->list[i];
    return NULL;
}

static void upload_free(struct upload *u)
{
    zs_writer_abort(u->writer); /* releases the local file */
    free(u);
}

/* Frees uploads that are sent and have no readers: the forgotten ones, and the oldest until there is room for `room`
 * bytes. The limit is that of GDAL's caches, since temporary files may lie in memory. */
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
        (void)zs_async_wait(u->async, NULL); /* run() has noted its result */
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
    u->readers++; /* another thread may tidy() while this one waits */
    wait_for(a, u);
    u->readers--;
    u->is_forgotten = true;
}

/* ---- Sending ---- */

/* Sends one object, in a thread of its own. */
static enum zs_status run(void *ctx, size_t item, struct zs_error *unused)
{
    struct upload *u = ctx;
    struct zs_uploads *a = u->all;
    struct zs_error err = {0};
    (void)item;
    (void)unused;
    const enum zs_status status = zs_writer_send(u->writer, &err);
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

/* Waits until there is room for an upload, and puts it into the list. */
static enum zs_status enter(struct zs_uploads *a, struct upload *u, struct zs_error *err)
{
    forget(a, u->writer->key);
    while (a->under_way >= ZS_MOST_UPLOADS || (a->under_way > 0 && a->held + memory_of(u) > zs_budget()))
        (void)pthread_cond_wait(&a->done, &a->lock);
    tidy(a, u->size);
    ZS_TRY(failure(a, err));
    ZS_TRY_GROW(a->list, a->count, &a->capacity, err);
    a->list[a->count++] = u;
    a->under_way++;
    a->held += memory_of(u);
    u->version = ++a->last_version;
    return ZS_OK;
}

static bool is_on(const struct zs_store *store)
{
    return store->uploads != NULL && atomic_load(&store->uploads->is_on);
}

bool zs_writer_overlaps(const struct zs_writer *writer)
{
    return writer->key != NULL && writer->expected == NULL && is_on(writer->reader);
}

enum zs_status zs_writer_send_later(struct zs_writer *writer, struct zs_error *err)
{
    struct zs_uploads *a = writer->reader->uploads;
    struct upload *u = zs_calloc(1, sizeof *u);
    if (u == NULL) {
        zs_writer_abort(writer);
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
        return ZS_OK; /* the result comes with wait_all() */
    return async != NULL ? zs_async_wait(async, err) : run(u, 0, err);
}

enum zs_status zs_store_wait_commits(struct zs_store *store, struct zs_error *err)
{
    struct zs_uploads *a = store->uploads;
    if (a == NULL)
        return ZS_OK;
    (void)pthread_mutex_lock(&a->lock);
    while (a->under_way > 0)
        (void)pthread_cond_wait(&a->done, &a->lock);
    const enum zs_status status = failure(a, err);
    (void)pthread_mutex_unlock(&a->lock);
    return status;
}

void zs_store_wait_commit(struct zs_store *store, const char *key)
{
    struct zs_uploads *a = store->uploads;
    if (!is_on(store))
        return;
    (void)pthread_mutex_lock(&a->lock);
    forget(a, key);
    tidy(a, 0);
    (void)pthread_mutex_unlock(&a->lock);
}

/* ---- Reading what was sent ---- */

static enum zs_status sent_read(struct zs_object *object, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    return zs_writer_read(((struct upload_object *)object)->upload->writer, offset, n, data, err);
}

static void sent_close(struct zs_object *object)
{
    struct upload *u = ((struct upload_object *)object)->upload;
    (void)pthread_mutex_lock(&u->all->lock);
    u->readers--;
    (void)pthread_mutex_unlock(&u->all->lock);
    free(object);
}

enum zs_status zs_store_open_sent(struct zs_store *store, const char *key, struct zs_object **object,
                                  struct zs_error *err)
{
    struct zs_uploads *a = store->uploads;
    if (!is_on(store))
        return ZS_OK;
    struct upload_object *o = zs_calloc(1, sizeof *o);
    ZS_TRY_MEMORY(o, err);
    (void)pthread_mutex_lock(&a->lock);
    struct upload *u = find(a, key);
    if (u != NULL) {
        u->readers++;
        o->base = (struct zs_object){.store = &a->sent, .size = u->size, .version = u->version};
        o->upload = u;
        a->sent.root = store->root; /* it may have moved */
        *object = &o->base;
    }
    (void)pthread_mutex_unlock(&a->lock);
    if (u == NULL)
        free(o);
    return ZS_OK;
}

/* ---- Beginning and ending ---- */

/* Without memory for it, each object is sent while the caller waits. */
static struct zs_uploads *uploads_new(void)
{
    static const struct zs_store_ops ops = {.read = sent_read, .close = sent_close};
    struct zs_uploads *a = zs_calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    a->sent = (struct zs_store){.ops = &ops, .is_remote = true};
    (void)pthread_mutex_init(&a->lock, NULL);
    (void)pthread_cond_init(&a->done, NULL);
    return a;
}

bool zs_store_overlap(struct zs_store *store)
{
    if (store->uploads == NULL && store->is_remote && store->read_only == NULL)
        store->uploads = uploads_new();
    return store->uploads != NULL && !atomic_exchange(&store->uploads->is_on, true);
}

bool zs_store_overlaps(const struct zs_store *store)
{
    return is_on(store);
}

enum zs_status zs_store_overlap_end(struct zs_store *store, struct zs_error *err)
{
    struct zs_uploads *a = store->uploads;
    const enum zs_status status = zs_store_wait_commits(store, err);
    if (a == NULL)
        return ZS_OK;
    (void)pthread_mutex_lock(&a->lock);
    for (size_t i = 0; i < a->count; i++)
        a->list[i]->is_forgotten = true;
    tidy(a, 0);
    a->first = ZS_OK;
    (void)pthread_mutex_unlock(&a->lock);
    atomic_store(&a->is_on, false);
    return status;
}

void zs_uploads_free(struct zs_store *store)
{
    struct zs_uploads *a = store->uploads;
    if (a == NULL)
        return;
    (void)zs_store_overlap_end(store, NULL);
    free(a->list);
    (void)pthread_cond_destroy(&a->done);
    (void)pthread_mutex_destroy(&a->lock);
    free(a);
}
