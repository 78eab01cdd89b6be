/* Writing to a store in GDAL's virtual file systems: in memory to a file beside the object, which is renamed; elsewhere
 * to a temporary file, which is uploaded whole. Uploads to remote stores go over a version that they expect, again
 * where an answer was lost, and several at once beside the caller's work. */
#define _GNU_SOURCE /* getrandom(), usleep() */
#include <cpl_conv.h>
#include <cpl_vsi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/cache.h"
#include "base/descriptors.h"
#include "base/limits.h"
#include "base/parallel.h"
#include "store/staging.h"
#include "store/vsi.h"

/* Uploads and copies go through a buffer of this size. */
#define COPY_BUFFER_BYTES ((size_t)1 << 20)
/* GDAL sends objects of more than 50 MB in parts, one after the other, with a request before and one after them. Up to
 * this size, it is made to hold the object in memory and to send it with one request. */
#define MAX_WHOLE_MB 128
/* ... and so is what carries a condition, since GDAL would send that with each part: up to this size, beyond which S3
 * needs parts anyway and the condition is left out. */
#define MAX_CONDITIONAL_MB 4096
/* GDAL before 3.10 sends what is larger in parts, whatever the option is. */
#define MAX_OLD_WHOLE_BYTES ((uint64_t)1000 << 20)
/* Parts are not smaller, but for the last. */
#define MIN_PART_BYTES ((uint64_t)5 << 20)
/* So much of each end of an object that was sent in parts is compared. */
#define CHECKED_BYTES ((uint64_t)16 << 10)

struct vsi_writer {
    struct zs_writer base; /* with its size */
    VSILFILE *file;  /* NULL: closed, to be renamed */
    char *path;      /* where the object shall appear */
    char *name;      /* the same for messages */
    char *temp_path; /* what `file` writes, or where */
    bool is_local;   /* `file` has a descriptor, and no name */
};

/* Opens the temporary file: in memory beside the object, since it is renamed; else where GDAL makes such. */
static enum zs_status open_temporary(struct vsi_writer *w, struct zs_error *err)
{
    const bool is_beside = zs_vsi_kind(w->base.store)->is_memory;
    const char *directory = CPLGetPath(is_beside ? w->path : CPLGenerateTempFilename("shardedzarr"));
    directory = directory[0] != '\0' ? directory : ".";
    w->temp_path = zs_temporary_path(directory);
    ZS_TRY_MEMORY(w->temp_path, err);
    if (is_beside) /* nothing is listed in directories that were not made */
        (void)VSIMkdirRecursive(directory, 0755);
    w->file = VSIFOpenExL(w->temp_path, "wb+", TRUE);
    if (w->file == NULL)
        return zs_fail(err, ZS_IO, "%s: cannot be created: %s", w->temp_path, zs_vsi_reason());
    w->is_local = zs_path_kind_of(directory).is_local;
    if (w->is_local) { /* a killed writer leaves nothing */
        (void)VSIUnlink(w->temp_path);
        zs_files_count(1);
    }
    return ZS_OK;
}

static void writer_free(struct vsi_writer *w)
{
    if (w->is_local)
        zs_files_count(-1);
    free(w->path);
    free(w->name);
    free(w->temp_path);
    free(w);
}

enum zs_status zs_vsi_create(struct zs_store *store, const char *key, struct zs_writer **writer, struct zs_error *err)
{
    struct vsi_writer *w = zs_calloc(1, sizeof *w);
    ZS_TRY_MEMORY(w, err);
    w->base.store = store;
    w->path = zs_vsi_path(store, key);
    w->name = zs_format("%s/%s", store->root, key);
    enum zs_status status = w->path != NULL && w->name != NULL ? ZS_OK : zs_fail_memory(err);
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, store);
    if (status == ZS_OK)
        status = open_temporary(w, err);
    zs_vsi_quiet_end(&q);
    if (status != ZS_OK) {
        writer_free(w);
        return status;
    }
    *writer = &w->base;
    return ZS_OK;
}

/* Writes bytes of the temporary file from `from`, or reads them into `to`. */
static enum zs_status move_bytes(struct vsi_writer *w, uint64_t offset, const void *from, void *to, size_t n,
                                 struct zs_error *err)
{
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, w->base.store);
    enum zs_status status = ZS_OK;
    if (VSIFSeekL(w->file, offset, SEEK_SET) != 0 ||
        (from != NULL ? VSIFWriteL(from, 1, n, w->file) : VSIFReadL(to, 1, n, w->file)) != n)
        status = zs_fail(err, ZS_IO, "%s: %s %zu bytes at offset %llu failed: %s",
                         from != NULL ? w->name : w->temp_path, from != NULL ? "writing" : "reading back", n,
                         (unsigned long long)offset, zs_vsi_reason());
    zs_vsi_quiet_end(&q);
    return status;
}

enum zs_status zs_vsi_write(struct zs_writer *writer, uint64_t offset, const void *data, size_t n, struct zs_error *err)
{
    return move_bytes((struct vsi_writer *)writer, offset, data, NULL, n, err);
}

enum zs_status zs_vsi_read_back(struct zs_writer *writer, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    return move_bytes((struct vsi_writer *)writer, offset, NULL, data, n, err);
}

/* Copies all bytes that were written, or fails; only reads them when `out` is NULL. */
static enum zs_status copy_to(struct vsi_writer *w, VSILFILE *out, void *buffer, struct zs_error *err)
{
    const uint64_t size = w->base.size;
    uint64_t left = size;
    if (VSIFSeekL(w->file, 0, SEEK_SET) != 0)
        return zs_fail(err, ZS_IO, "%s: %s cannot be read: %s", w->name, w->temp_path, zs_vsi_reason());
    for (size_t part; left > 0; left -= part) {
        part = left < COPY_BUFFER_BYTES ? (size_t)left : COPY_BUFFER_BYTES;
        const size_t got = VSIFReadL(buffer, 1, part, w->file);
        if (got != part)
            return zs_fail(err, ZS_IO, "%s: expected %llu bytes in %s, found %llu: %s", w->name,
                           (unsigned long long)size, w->temp_path, (unsigned long long)(size - left + got),
                           zs_vsi_reason());
        if (out != NULL && VSIFWriteL(buffer, 1, part, out) != part)
            return zs_fail(err, ZS_IO, "%s: writing failed: %s", w->name, zs_vsi_reason());
    }
    return ZS_OK;
}

/* Makes GDAL send the object in one request: by an option of this thread and, in `option`, one of the file too, which
 * from GDAL 3.10 on comes before what is set for the path. */
static void begin_whole(const struct vsi_writer *w, struct zs_vsi_quiet *q, char *option, size_t n)
{
    static const char *const settings[][2] = {{"/vsis3/", "VSIS3_CHUNK_SIZE"}, {"/vsigs/", "VSIGS_CHUNK_SIZE"}};
    const bool is_conditional = w->base.expected != NULL;
    const unsigned most = is_conditional ? MAX_CONDITIONAL_MB : MAX_WHOLE_MB;
    const unsigned mb = (unsigned)(zs_min_u64(w->base.size, (uint64_t)most << 20) >> 20) + 1;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        if (strncmp(w->path, settings[i][0], strlen(settings[i][0])) != 0 || mb > most ||
            (!is_conditional && zs_vsi_option(w->path, settings[i][1]) != NULL))
            continue;
        (void)snprintf(option, n, "CHUNK_SIZE=%u", mb);
        zs_vsi_quiet_set(q, settings[i][1], strchr(option, '=') + 1);
    }
}

/* Has GDAL send a condition among the user's headers. From GDAL 3.7 on those that are set for a path alone hide it. */
static enum zs_status begin_condition(const struct vsi_writer *w, struct zs_vsi_quiet *q, struct zs_error *err)
{
    const char *expected = w->base.expected;
    const bool expects_none = expected[0] == '\0';
    char *condition = zs_vsi_kind(w->base.store)->has_generations
                          ? zs_format("x-goog-if-generation-match: %s", expects_none ? "0" : expected)
                          : zs_format("%s%s", expects_none ? "If-None-Match: *" : "If-Match: ", expected);
    char *headers = condition != NULL ? zs_http_headers_with(w->path, condition) : NULL;
    if (headers != NULL)
        zs_vsi_quiet_set(q, "GDAL_HTTP_HEADERS", headers);
    const enum zs_status status = headers != NULL ? ZS_OK : zs_fail_memory(err);
    free(condition);
    free(headers);
    return status;
}

/* Uploads the finished file, for file systems that only know whole objects. Reads it once before: an upload cannot be
 * aborted, since closing it publishes what it has. */
static enum zs_status upload(struct vsi_writer *w, struct zs_vsi_quiet *q, struct zs_error *err)
{
    char option[32] = "";
    void *buffer = malloc(COPY_BUFFER_BYTES);
    ZS_TRY_MEMORY(buffer, err);
    enum zs_status status = copy_to(w, NULL, buffer, err);
    if (status == ZS_OK && w->base.expected != NULL && w->base.size >> 20 < MAX_CONDITIONAL_MB)
        status = begin_condition(w, q, err);
    begin_whole(w, q, option, sizeof option);
    const char *const options[] = {option[0] != '\0' ? option : NULL, NULL};
    VSILFILE *out = status == ZS_OK ? VSIFOpenEx2L(w->path, "wb", TRUE, (CSLConstList)options) : NULL;
    if (status == ZS_OK && out == NULL)
        status = zs_fail(err, ZS_IO, "%s: cannot be created: %s", w->name, zs_vsi_reason());
    if (status == ZS_OK)
        status = copy_to(w, out, buffer, err);
    if (out != NULL && VSIFCloseL(out) != 0 && status == ZS_OK)
        status = zs_fail(err, ZS_IO, "%s: writing failed: %s (CPL_DEBUG=ON shows the answer)", w->name,
                         zs_vsi_reason());
    /* by S3's protocol GDAL may have sent it in parts */
    w->base.may_be_lost = w->base.size >= (option[0] != '\0' ? MAX_OLD_WHOLE_BYTES : MIN_PART_BYTES) &&
                          zs_vsi_kind(w->base.store)->sends_conditions;
    VSICurlPartialClearCache(w->path);
    free(buffer);
    return status;
}

/* Puts a file in memory under its name. */
static enum zs_status rename_temporary(struct vsi_writer *w, struct zs_error *err)
{
    VSILFILE *file = w->file;
    w->file = NULL;
    if (VSIFCloseL(file) != 0)
        return zs_fail(err, ZS_IO, "%s: writing failed: %s", w->name, zs_vsi_reason());
    if (VSIRename(w->temp_path, w->path) != 0)
        return zs_fail(err, ZS_IO, "%s: cannot be renamed to %s: %s", w->temp_path, w->name, zs_vsi_reason());
    return ZS_OK;
}

enum zs_status zs_vsi_commit(struct zs_writer *writer, struct zs_error *err)
{
    struct vsi_writer *w = (struct vsi_writer *)writer;
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, writer->store);
    const enum zs_status status =
        zs_vsi_kind(writer->store)->is_memory ? rename_temporary(w, err) : upload(w, &q, err);
    zs_vsi_quiet_end(&q);
    return status;
}

void zs_vsi_abort(struct zs_writer *writer)
{
    struct vsi_writer *w = (struct vsi_writer *)writer;
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, writer->store);
    if (w->file != NULL)
        VSIFCloseL(w->file);
    if (!w->is_local)
        VSIUnlink(w->temp_path);
    zs_vsi_quiet_end(&q);
    writer_free(w);
}

/* ---- Commits over a version that is expected ---- */

/* GDAL's upload says that it failed and not why: what the store has afterwards distinguishes a conflict or a lost
 * answer from a failure. */
#define COMPARE_BYTES ((size_t)1 << 20)

enum zs_status zs_writer_expect(struct zs_writer *writer, const char *etag, struct zs_error *err)
{
    if (!zs_store_has_conditions(writer->store))
        return ZS_OK;
    zs_store_wait_commit(writer->store, writer->key); /* it waits for its answer, behind an older one of its key */
    char *copy = zs_strdup(etag);
    ZS_TRY_MEMORY(copy, err);
    free(writer->expected);
    writer->expected = copy;
    return ZS_OK;
}

bool zs_conflict_again(int *tries)
{
    uint64_t chance = 0;
    const int attempt = (*tries)++;
    if (attempt >= ZS_MOST_CONFLICTS)
        return false;
    (void)getrandom(&chance, sizeof chance, GRND_NONBLOCK);
    (void)usleep((useconds_t)(chance % (attempt < 6 ? (uint64_t)20000 << attempt : 1000000)));
    return true;
}

/* ---- What a failed commit means ---- */

/* Whether an object has the size of the writer, and so many of its bytes at `offset`. */
static bool has_bytes(struct zs_writer *writer, struct zs_object *object, uint64_t offset, uint64_t bytes)
{
    struct zs_buffer both = {0};
    const uint64_t end = offset + bytes;
    bool is_same = object->size == writer->size &&
                   zs_buffer_reset(&both, 2 * COMPARE_BYTES, NULL) == ZS_OK;
    while (offset < end && is_same) {
        const size_t n = (size_t)zs_min_u64(end - offset, COMPARE_BYTES);
        is_same = zs_object_read(object, offset, n, both.data, NULL) == ZS_OK &&
                  zs_writer_read(writer, offset, n, both.data + n, NULL) == ZS_OK &&
                  memcmp(both.data, both.data + n, n) == 0;
        offset += n;
    }
    zs_buffer_free(&both);
    return is_same;
}

/* Opens what is under the key of a writer by now. */
static enum zs_status open_sent(const struct zs_writer *writer, struct zs_object **object, struct zs_error *err)
{
    zs_store_forget(writer->store, writer->key);
    return writer->store->ops->open(writer->store, writer->key, &(struct zs_first_read){0}, object, err);
}

/* Looks whether what was sent in parts is there: S3 may answer the request that completes it with 200 and an error,
 * which GDAL takes for success. Compares the size, and the bytes at both ends, where the index of a shard is. */
static enum zs_status check_arrived(struct zs_writer *writer, struct zs_error *err)
{
    struct zs_object *now;
    const uint64_t n = zs_min_u64(writer->size, CHECKED_BYTES);
    const enum zs_status opened = open_sent(writer, &now, NULL);
    const bool is_there =
        opened == ZS_OK && has_bytes(writer, now, writer->size - n, n) && has_bytes(writer, now, 0, n);
    if (opened == ZS_OK)
        zs_object_close(now);
    if (is_there)
        return ZS_OK;
    return zs_fail(err, ZS_IO, "%s/%s: writing failed: the server took all parts, and has not made the object",
                   writer->store->root, writer->key);
}

/* Finds what the failure of a commit means by what is under its key now: nothing where another writer wrote this very
 * object or its answer was lost, ZS_CONFLICT where it is not what was expected. *is_unchanged: the store is as it was,
 * or cannot be read; else another writer's object, or ours, is there. */
static enum zs_status judge(struct zs_writer *writer, enum zs_status failure, bool *is_unchanged, struct zs_error *err)
{
    const char *expected = writer->expected, *root = writer->store->root;
    struct zs_object *now;
    struct zs_error theirs;
    const enum zs_status opened = open_sent(writer, &now, &theirs);
    *is_unchanged = opened != ZS_OK;
    if (opened == ZS_NOT_FOUND && expected != NULL && expected[0] != '\0')
        return zs_fail(err, ZS_CONFLICT, "%s/%s: another writer removed it meanwhile", root, writer->key);
    if (opened == ZS_IO && failure == ZS_IO) /* GDAL does not say why there was no answer to an upload */
        return zs_fail(err, failure, "%s, after writing failed", theirs.message);
    if (opened != ZS_OK)
        return failure;
    *is_unchanged = expected != NULL && now->etag != NULL && strcmp(now->etag, expected) == 0;
    const bool is_ours = !*is_unchanged && has_bytes(writer, now, 0, writer->size);
    zs_object_close(now);
    if (is_ours)
        return ZS_OK;
    return *is_unchanged || expected == NULL
               ? failure
               : zs_fail(err, ZS_CONFLICT, "%s/%s: another writer replaced it meanwhile", root, writer->key);
}

/* S3 refuses a commit (409) while another one of the same object is under way, whichever wins then. GDAL does not tell
 * that from other failures, nor send it again. */
enum zs_status zs_writer_send(struct zs_writer *writer, struct zs_error *err)
{
    enum zs_status status;
    bool is_unchanged = true;
    int tries = 0;
    do {
        status = writer->store->ops->writing->commit(writer, err);
        if (status == ZS_OK && writer->may_be_lost)
            status = check_arrived(writer, err);
        if (status != ZS_OK)
            status = judge(writer, status, &is_unchanged, err);
    } while (status == ZS_IO && is_unchanged && tries < ZS_MOST_REFUSALS && zs_conflict_again(&tries));
    return status;
}

bool zs_store_has_conditions(const struct zs_store *store)
{
    return store->is_remote && store->can_expect && store->sends_conditions;
}

/* ---- Several at once ----
 *
 * Between zs_store_overlap() and zs_store_overlap_end() a remote store sends objects beside the caller's work. Who
 * reads, removes or writes one again waits until it is there. */

/* GDAL holds at most this much of an object in memory while it is sent. */
#define PART_BYTES ((uint64_t)MAX_WHOLE_MB << 20)

struct upload {
    char *key;                /* NULL: the place is free */
    struct zs_writer *writer; /* released when it is sent */
    struct zs_async *async;
    uint64_t bytes;           /* that are in memory meanwhile, at most */
};

struct zs_uploads {
    atomic_bool is_on;
    pthread_mutex_t lock; /* of all below; also held while an upload, which never takes it, is waited for */
    struct upload list[ZS_MOST_UPLOADS];
    size_t oldest;        /* the place that the next upload gets */
    enum zs_status first; /* the first failure */
    struct zs_error err;
};

/* Sends one object, in a thread of its own. */
static enum zs_status send_one(void *ctx, size_t item, struct zs_error *err)
{
    struct upload *u = ctx;
    (void)item;
    const enum zs_status status = zs_writer_send(u->writer, err);
    zs_writer_abort(u->writer); /* releases the local file */
    return status;
}

/* ---- With the lock held ---- */

/* Waits until an upload has ended, and frees its place. */
static void finish(struct zs_uploads *a, struct upload *u)
{
    struct zs_error err = {0};
    const enum zs_status status = zs_async_wait(u->async, &err);
    if (status != ZS_OK && a->first == ZS_OK) {
        a->first = status;
        a->err = err;
    }
    free(u->key);
    *u = (struct upload){0};
}

/* Waits for the upload of a key, or, with NULL, for all. */
static void wait_for(struct zs_uploads *a, const char *key)
{
    for (size_t i = 0; i < ZS_MOST_UPLOADS; i++)
        if (a->list[i].key != NULL && (key == NULL || strcmp(a->list[i].key, key) == 0))
            finish(a, &a->list[i]);
}

static enum zs_status failure(const struct zs_uploads *a, struct zs_error *err)
{
    return a->first == ZS_OK ? ZS_OK : zs_fail(err, a->first, "%s", a->err.message);
}

/* Waits for the oldest uploads until there is a place, and memory, for another one. */
static struct upload *make_room(struct zs_uploads *a, uint64_t bytes)
{
    for (;;) {
        struct upload *const place = &a->list[a->oldest], *first = NULL;
        uint64_t all = bytes;
        for (size_t i = 0; i < ZS_MOST_UPLOADS; i++) {
            struct upload *u = &a->list[(a->oldest + i) % ZS_MOST_UPLOADS];
            all += u->bytes;
            first = first == NULL && u->key != NULL ? u : first;
        }
        if (place->key == NULL && (first == NULL || all <= zs_budget())) {
            a->oldest = (a->oldest + 1) % ZS_MOST_UPLOADS;
            return place;
        }
        finish(a, first);
    }
}

static enum zs_status begin(struct zs_uploads *a, struct zs_writer *writer, struct zs_error *err)
{
    const uint64_t bytes = zs_min_u64(writer->size, PART_BYTES);
    wait_for(a, writer->key);
    struct upload *u = make_room(a, bytes);
    ZS_TRY(failure(a, err));
    *u = (struct upload){.writer = writer, .key = zs_strdup(writer->key), .bytes = bytes};
    u->async = u->key != NULL ? zs_async_start(send_one, u) : NULL;
    if (u->async != NULL)
        return ZS_OK;
    free(u->key);
    *u = (struct upload){0};
    return zs_fail_memory(err);
}

/* ---- Without the lock ---- */

bool zs_store_overlaps(const struct zs_store *store)
{
    return store->uploads != NULL && atomic_load(&store->uploads->is_on);
}

bool zs_writer_overlaps(const struct zs_writer *writer)
{
    return writer->expected == NULL && zs_store_overlaps(writer->store);
}

enum zs_status zs_writer_send_later(struct zs_writer *writer, struct zs_error *err)
{
    struct zs_uploads *a = writer->store->uploads;
    (void)pthread_mutex_lock(&a->lock);
    const enum zs_status status = begin(a, writer, err);
    (void)pthread_mutex_unlock(&a->lock);
    if (status != ZS_OK)
        zs_writer_abort(writer);
    return status; /* the result comes with zs_store_wait_commits() */
}

enum zs_status zs_store_wait_commits(struct zs_store *store, struct zs_error *err)
{
    struct zs_uploads *a = store->uploads;
    if (a == NULL)
        return ZS_OK;
    (void)pthread_mutex_lock(&a->lock);
    wait_for(a, NULL);
    const enum zs_status status = failure(a, err);
    (void)pthread_mutex_unlock(&a->lock);
    return status;
}

void zs_store_wait_commit(struct zs_store *store, const char *key)
{
    if (!zs_store_overlaps(store))
        return;
    (void)pthread_mutex_lock(&store->uploads->lock);
    wait_for(store->uploads, key);
    (void)pthread_mutex_unlock(&store->uploads->lock);
}

bool zs_store_overlap(struct zs_store *store)
{
    struct zs_uploads *a = store->uploads;
    if (a == NULL && store->is_remote && store->read_only == NULL && (a = zs_calloc(1, sizeof *a)) != NULL) {
        (void)pthread_mutex_init(&a->lock, NULL);
        store->uploads = a;
    }
    return a != NULL && !atomic_exchange(&a->is_on, true); /* without memory the caller waits for each object */
}

enum zs_status zs_store_overlap_end(struct zs_store *store, struct zs_error *err)
{
    struct zs_uploads *a = store->uploads;
    const enum zs_status status = zs_store_wait_commits(store, err);
    if (a == NULL)
        return ZS_OK;
    (void)pthread_mutex_lock(&a->lock);
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
    (void)pthread_mutex_destroy(&a->lock);
    free(a);
}
