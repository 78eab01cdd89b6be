/* Writing to a local store: objects under a temporary name, renamed when they are whole; objects changed in place;
 * locks for both. */
#define _GNU_SOURCE /* sync_file_range(), O_DIRECTORY, st_mtim, CLOCK_REALTIME_COARSE */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/limits.h"
#include "base/parallel.h"
#include "store/local.h"
#include "store/staging.h"
#include "store/vsi.h"

/* Asks the disk to begin writing after this many bytes, so that little is left when a shard is finished. */
#define WRITE_BEHIND_BYTES ((uint64_t)8 << 20)

/* Times of files advance by ticks of the kernel, of ten milliseconds at most. */
#define TICK_NANOSECONDS 10000000
/* A file that was changed less than this ago may be being changed. */
#define RECENT_SECONDS 2

struct local_writer {
    struct zs_writer base;
    int fd;
    char *key, *path;
    char *temp_path;
    uint64_t size;
    uint64_t sent; /* bytes that the disk was asked to write */
};

static enum zs_status make_temporary(struct local_store *store, struct folder *f, struct local_writer *w,
                                     struct zs_error *err)
{
    char *directory = zs_vsi_path(&store->base, f->prefix);
    ZS_TRY_MEMORY(directory, err);
    if (!f->is_clean)
        zs_temporary_clean(directory);
    f->is_clean = true;
    const enum zs_status status = zs_temporary_create(directory, &w->fd, &w->temp_path, err);
    if (status == ZS_OK)
        zs_files_take(1);
    free(directory);
    return status;
}

/* Makes the temporary file in the root, where the next writer finds those of a dead one in a single directory; or
 * beside the object where the root cannot be written to. */
static enum zs_status open_temporary(struct local_store *store, struct local_writer *w, struct zs_error *err)
{
    struct folder *root, *parent;
    char *prefix = zs_key_parent(w->key);
    enum zs_status status = prefix != NULL ? zs_folder_enter(store, prefix, true, &parent, err) : zs_fail_memory(err);
    free(prefix);
    ZS_TRY(status);
    ZS_TRY(zs_folder_enter(store, "", true, &root, err));
    status = make_temporary(store, root, w, err);
    return status != ZS_IO || root == parent ? status : make_temporary(store, parent, w, err);
}

static void writer_free(struct local_writer *w)
{
    if (w->fd >= 0) {
        close(w->fd);
        zs_files_give(1);
    }
    free(w->key);
    free(w->path);
    free(w->temp_path);
    free(w);
}

void zs_local_abort(struct zs_writer *writer)
{
    struct local_writer *w = (struct local_writer *)writer;
    (void)unlink(w->temp_path);
    writer_free(w);
}

enum zs_status zs_local_create(struct zs_store *store, const char *key, struct zs_writer **writer, struct zs_error *err)
{
    struct local_store *s = store_of(store);
    struct local_writer *w = zs_calloc(1, sizeof *w);
    ZS_TRY_MEMORY(w, err);
    w->base.store = store;
    w->fd = -1;
    w->key = zs_strdup(key);
    w->path = zs_vsi_path(store, key);
    enum zs_status status = w->key != NULL && w->path != NULL ? ZS_OK : zs_fail_memory(err);
    pthread_mutex_lock(&s->lock);
    if (status == ZS_OK)
        status = open_temporary(s, w, err);
    if (status == ZS_NOT_FOUND) { /* another process removed a folder */
        zs_folders_forget(s);
        status = open_temporary(s, w, err);
    }
    pthread_mutex_unlock(&s->lock);
    if (status != ZS_OK) {
        writer_free(w);
        return status == ZS_NOT_FOUND ? ZS_IO : status;
    }
    *writer = &w->base;
    return ZS_OK;
}

enum zs_status zs_local_write(struct zs_writer *writer, const void *data, size_t n, struct zs_error *err)
{
    struct local_writer *w = (struct local_writer *)writer;
    ZS_TRY(zs_file_write_at(w->fd, w->path, w->size, data, n, err));
    w->size += n;
    if (writer->store->sync != ZS_SYNC_NO && w->size - w->sent >= WRITE_BEHIND_BYTES) {
        (void)sync_file_range(w->fd, (off_t)w->sent, (off_t)(w->size - w->sent), SYNC_FILE_RANGE_WRITE);
        w->sent = w->size;
    }
    return ZS_OK;
}

enum zs_status zs_local_patch(struct zs_writer *writer, uint64_t offset, const void *data, size_t n,
                              struct zs_error *err)
{
    const struct local_writer *w = (const struct local_writer *)writer;
    return zs_file_write_at(w->fd, w->path, offset, data, n, err);
}

enum zs_status zs_local_read_back(struct zs_writer *writer, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    const struct local_writer *w = (const struct local_writer *)writer;
    return zs_file_read_at(w->fd, w->temp_path, offset, n, data, err);
}

/* Checks that all bytes were written, and flushes them if wanted. */
static enum zs_status finish_file(const struct local_writer *w, struct zs_error *err)
{
    struct stat st;
    if (fstat(w->fd, &st) != 0)
        return zs_fail(err, ZS_IO, "%s: writing failed: %s", w->path, strerror(errno));
    if ((uint64_t)st.st_size != w->size)
        return zs_fail(err, ZS_IO, "%s: expected %llu bytes in %s, found %lld", w->path, (unsigned long long)w->size,
                       w->temp_path, (long long)st.st_size);
    /* Without a sync a full disk may show as late as at close; the descriptor itself stays, since it holds the lock. */
    const bool sync_now = w->base.store->sync == ZS_SYNC_EACH;
    const int copy = sync_now ? -1 : dup(w->fd);
    if (sync_now ? fdatasync(w->fd) != 0 : copy >= 0 && close(copy) != 0)
        return zs_fail(err, zs_status_of_write(errno), "%s: writing failed: %s", w->path, strerror(errno));
    return ZS_OK;
}

static enum zs_status publish_file(struct local_writer *w, struct zs_error *err)
{
    struct local_store *s = store_of(w->base.store);
    if (rename(w->temp_path, w->path) == 0)
        return ZS_OK;
    if (errno == ENOENT && access(w->temp_path, F_OK) == 0) { /* another process removed the folder meanwhile */
        char *prefix = zs_key_parent(w->key);
        struct folder *f;
        pthread_mutex_lock(&s->lock);
        zs_folders_forget(s);
        const enum zs_status status = prefix != NULL ? zs_folder_enter(s, prefix, true, &f, err) : zs_fail_memory(err);
        pthread_mutex_unlock(&s->lock);
        free(prefix);
        ZS_TRY(status);
        if (rename(w->temp_path, w->path) == 0)
            return ZS_OK;
    }
    return zs_fail(err, zs_status_of_write(errno), "%s: cannot be renamed to %s: %s", w->temp_path, w->path,
                   strerror(errno));
}

/* Keeps the key for zs_store_sync(), and asks the disk to begin writing. */
static enum zs_status sync_later(struct local_store *store, struct local_writer *w, struct zs_error *err)
{
    (void)sync_file_range(w->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    pthread_mutex_lock(&store->lock);
    const enum zs_status status = zs_names_add(&store->unsynced, w->key, err);
    w->key = NULL;
    pthread_mutex_unlock(&store->lock);
    return status;
}

/* Flushes the entry of a renamed file: now, or at zs_store_sync() with all others, so that they do not wait one by
 * one. */
static enum zs_status sync_entry(struct local_writer *w, struct zs_error *err)
{
    struct local_store *s = store_of(w->base.store);
    if (s->base.sync == ZS_SYNC_NO)
        return ZS_OK;
    if (s->base.sync == ZS_SYNC_LATER)
        return sync_later(s, w, err);
    char *prefix = zs_key_parent(w->key);
    const enum zs_status status = prefix != NULL ? zs_folder_sync(s, prefix, err) : zs_fail_memory(err);
    free(prefix);
    return status;
}

/* Flushes one of the files that were kept for later. */
static enum zs_status sync_file(void *ctx, size_t item, struct zs_error *err)
{
    struct local_store *s = ctx;
    char *path = zs_vsi_path(&s->base, s->unsynced.list[item]);
    ZS_TRY_MEMORY(path, err);
    enum zs_status status = ZS_OK;
    const int fd = zs_open_file(path, O_RDONLY | O_NONBLOCK);
    if (fd < 0 ? !means_absent(errno) : fdatasync(fd) != 0) /* absent: removed since */
        status = zs_fail(err, ZS_IO, "%s: cannot be written to the disk: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(path);
    return status;
}

enum zs_status zs_local_sync(struct zs_store *store, struct zs_error *err)
{
    struct local_store *s = store_of(store);
    pthread_mutex_lock(&s->lock);
    const int threads = zs_files_at_once(ZS_MOST_SYNCS);
    enum zs_status status = zs_parallel_for(threads, s->unsynced.count, sync_file, s, err);
    if (status == ZS_OK)
        status = zs_folders_sync(s, s->unsynced.list, s->unsynced.count, err);
    if (status == ZS_OK) {
        zs_names_free(s->unsynced.list);
        s->unsynced = (struct zs_names){0};
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

enum zs_status zs_local_commit(struct zs_writer *writer, struct zs_error *err)
{
    struct local_writer *w = (struct local_writer *)writer;
    enum zs_status status = finish_file(w, err);
    if (status == ZS_OK)
        status = zs_local_check_root(writer->store, err);
    if (status == ZS_OK)
        status = publish_file(w, err);
    if (status != ZS_OK)
        (void)unlink(w->temp_path);
    else
        status = sync_entry(w, err);
    writer_free(w);
    return status;
}

/* ---- Objects changed where they are ---- */

struct local_file {
    struct zs_file base;
    int fd;
    char *path;
};

static int64_t nanoseconds(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

/* Waits until the next change falls into a later tick than the last one: two contents of one size must not have one
 * version. */
static void wait_for_tick(const struct stat *st)
{
    const struct timespec pause = {.tv_nsec = TICK_NANOSECONDS / 20};
    struct timespec now;
    while (clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0 && nanoseconds(&now) <= nanoseconds(&st->st_mtim) &&
           nanoseconds(&st->st_mtim) - nanoseconds(&now) < TICK_NANOSECONDS)
        (void)nanosleep(&pause, NULL);
}

static void local_file_free(struct local_file *file)
{
    if (file->fd >= 0)
        (void)close(file->fd);
    free(file->path);
    free(file);
}

static enum zs_status open_file(struct local_file *file, struct zs_error *err)
{
    struct stat st;
    file->fd = zs_open_file(file->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (file->fd < 0 && means_absent(errno))
        return zs_fail(err, ZS_NOT_FOUND, "%s: there is no such file", file->path);
    if (file->fd < 0 && zs_means_too_many_files(errno))
        return zs_fail(err, ZS_IO, "%s: cannot be opened: %s", file->path, strerror(errno));
    if (file->fd < 0 || fstat(file->fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
        return zs_fail(err, ZS_UNSUPPORTED, "%s: cannot be changed where it is", file->path);
    file->base.size = (uint64_t)st.st_size;
    file->base.version = zs_local_version(&st);
    wait_for_tick(&st);
    return ZS_OK;
}

enum zs_status zs_local_file_open(struct zs_store *store, const char *key, struct zs_file **file, struct zs_error *err)
{
    struct local_store *s = store_of(store);
    struct folder *f;
    struct local_file *c = zs_calloc(1, sizeof *c);
    char *prefix = zs_key_parent(key);
    if (c == NULL || prefix == NULL || (c->path = zs_vsi_path(store, key)) == NULL) {
        free(prefix);
        free(c);
        return zs_fail_memory(err);
    }
    c->base.store = store;
    c->fd = -1;
    (void)pthread_mutex_lock(&s->lock);
    enum zs_status status = zs_folder_enter(s, prefix, false, &f, err);
    (void)pthread_mutex_unlock(&s->lock);
    free(prefix);
    if (status == ZS_OK)
        status = open_file(c, err);
    if (status == ZS_OK)
        status = zs_local_check_root(store, err);
    if (status != ZS_OK)
        local_file_free(c);
    else
        *file = &c->base;
    return status;
}

enum zs_status zs_local_file_write(struct zs_file *file, uint64_t offset, const void *data, size_t n,
                                   struct zs_error *err)
{
    const struct local_file *c = (const struct local_file *)file;
    return zs_file_write_at(c->fd, c->path, offset, data, n, err);
}

enum zs_status zs_local_file_truncate(struct zs_file *file, uint64_t size, struct zs_error *err)
{
    const struct local_file *c = (const struct local_file *)file;
    int failed;
    do
        failed = ftruncate(c->fd, (off_t)size);
    while (failed != 0 && errno == EINTR);
    return failed == 0 ? ZS_OK
                       : zs_fail(err, ZS_IO, "%s: cannot be cut to %llu bytes: %s", c->path, (unsigned long long)size,
                                 strerror(errno));
}

enum zs_status zs_local_file_flush(struct zs_file *file, struct zs_error *err)
{
    const struct local_file *c = (const struct local_file *)file;
    if (file->store->sync == ZS_SYNC_NO || fdatasync(c->fd) == 0)
        return ZS_OK;
    return zs_fail(err, zs_status_of_write(errno), "%s: cannot be written to the disk: %s", c->path, strerror(errno));
}

void zs_local_file_close(struct zs_file *file)
{
    local_file_free((struct local_file *)file);
}

bool zs_local_is_changed(const struct zs_object *object, int fd, bool or_recently)
{
    struct stat st;
    struct timespec now;
    if (fstat(fd, &st) != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0)
        return false;
    return zs_local_version(&st) != object->version || (or_recently && now.tv_sec - st.st_mtim.tv_sec < RECENT_SECONDS);
}

/* ---- Locks ---- */

struct zs_lock {
    int fd; /* of a directory */
};

/* Locks a directory for all objects in it: an object is another file after each rename, and a lock file beside it would
 * be left behind. *lock stays NULL where the directory cannot be opened, or its file system has no locks (some network
 * ones). */
static enum zs_status lock_directory(const char *path, struct zs_lock **lock, struct zs_error *err)
{
    const int fd = zs_open_file(path, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return !zs_means_too_many_files(errno)
                   ? ZS_OK
                   : zs_fail(err, ZS_IO, "%s: cannot be locked: %s", path, strerror(errno));
    int failed;
    do
        failed = flock(fd, LOCK_EX);
    while (failed != 0 && errno == EINTR);
    if (failed == 0)
        *lock = zs_calloc(1, sizeof **lock);
    if (*lock == NULL)
        (void)close(fd);
    else
        (*lock)->fd = fd;
    return failed != 0 || *lock != NULL ? ZS_OK : zs_fail_memory(err);
}

/* Locks the folder of an object, and makes it if it is absent: without it there is nothing to lock. */
enum zs_status zs_local_lock(struct zs_store *store, const char *key, struct zs_lock **lock, struct zs_error *err)
{
    struct local_store *s = store_of(store);
    struct folder *f;
    char *prefix = zs_key_parent(key);
    char *path = prefix != NULL ? zs_vsi_path(store, prefix) : NULL;
    enum zs_status status = path != NULL ? ZS_OK : zs_fail_memory(err);
    const bool is_ours = status == ZS_OK && prefix[0] == '\0' && zs_staging_is_path(store->root); /* locked already */
    pthread_mutex_lock(&s->lock);
    if (status == ZS_OK)
        status = zs_folder_enter(s, prefix, true, &f, err);
    pthread_mutex_unlock(&s->lock);
    if (status == ZS_OK && !is_ours)
        status = lock_directory(path, lock, err);
    free(path);
    free(prefix);
    return status;
}

void zs_local_unlock(struct zs_store *store, struct zs_lock *lock)
{
    (void)store;
    (void)close(lock->fd);
    free(lock);
}
