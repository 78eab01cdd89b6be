/* Writing to a local store: objects under a temporary name, renamed when they are whole; objects changed in place;
 * locks for both. */
#define _GNU_SOURCE /* sync_file_range(), O_DIRECTORY */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/limits.h"
#include "base/parallel.h"
#include "store/local.h"
#include "store/staging.h"
#include "store/vsi.h"

/* Asks the disk to begin writing after this many bytes, so that little is left when a shard is finished. */
#define WRITE_BEHIND_BYTES ((uint64_t)8 << 20)

struct local_writer {
    struct zs_writer base;
    int fd;
    char *path;
    char *temp_path; /* NULL once it was renamed to `path` */
    uint64_t sent;   /* bytes that the disk was asked to write */
};

/* ---- Folders ---- */

static char *parent_of(const char *path) /* NULL without memory; freed with free() */
{
    const char *slash = strrchr(path, '/');
    return zs_strndup(path, slash != NULL ? (size_t)(slash - path) : 0);
}

static enum zs_status make_directory(const struct zs_store *store, const char *path, struct zs_error *err)
{
    if (mkdir(path, 0777) == 0)
        return store->sync == ZS_SYNC_EACH ? zs_entry_sync(path, err) : ZS_OK;
    return errno == EEXIST ? ZS_OK
                           : zs_fail(err, zs_status_of_write(errno), "%s: cannot be created: %s", path,
                                     strerror(errno));
}

/* Refuses a folder out of the store, to which a link leads: files of others must not be written or removed through
 * it. */
static enum zs_status check_inside(const struct zs_store *store, const char *path, const char *real,
                                   struct zs_error *err)
{
    char *root = realpath(store->root, NULL);
    const size_t n = root != NULL ? strlen(root) : 0;
    const bool is_inside = n > 0 && strncmp(real, root, n) == 0 && (n == 1 || real[n] == '/' || real[n] == '\0');
    free(root);
    return is_inside ? ZS_OK
                     : zs_fail(err, ZS_UNSUPPORTED,
                               "%s: this link leads out of the store: nothing is written or removed there", path);
}

/* Whether a folder is there, and no link on the way from the root to it: realpath() takes a fifth as long as a small
 * object does. */
static bool is_plain_folder(const struct zs_store *store, char *path)
{
    const size_t root = strlen(store->root);
    bool is_plain = true;
    for (size_t n = strlen(path); is_plain && n >= root; n--) {
        const char next = path[n];
        struct stat st;
        path[n] = '\0';
        if (next == '/' || next == '\0')
            is_plain = (n > root ? lstat : stat)(path, &st) == 0 && S_ISDIR(st.st_mode);
        path[n] = next;
    }
    return is_plain;
}

/* Finds or makes the folder of a prefix, and checks that it lies in the store. ZS_UNSUPPORTED when a symbolic link
 * leads out of it, ZS_NOT_FOUND when it is absent. */
static enum zs_status enter_folder(struct zs_store *store, const char *prefix, bool make, struct zs_error *err)
{
    char *path = zs_vsi_path(store, prefix), *above = parent_of(prefix);
    enum zs_status status = path != NULL && above != NULL ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK && is_plain_folder(store, path)) {
        free(path);
        free(above);
        return ZS_OK;
    }
    char *real = status == ZS_OK ? realpath(path, NULL) : NULL;
    if (status == ZS_OK && real == NULL && errno == ENOENT && make) {
        /* a root that was removed is not made again */
        status = prefix[0] == '\0' ? zs_local_check_root(store, err) : enter_folder(store, above, true, err);
        if (status == ZS_OK)
            status = make_directory(store, path, err);
        if (status == ZS_OK)
            real = realpath(path, NULL);
    }
    struct stat st;
    if (status == ZS_OK && (real == NULL || stat(real, &st) != 0))
        status = zs_fail(err, means_absent(errno) && !make ? ZS_NOT_FOUND : ZS_IO, "%s: cannot be entered: %s", path,
                         strerror(errno));
    else if (status == ZS_OK && !S_ISDIR(st.st_mode))
        status = zs_fail(err, make ? ZS_IO : ZS_NOT_FOUND, "%s: expected a directory, found a file", path);
    else if (status == ZS_OK)
        status = check_inside(store, path, real, err);
    free(path);
    free(above);
    free(real);
    return status;
}

/* Like enter_folder(), for the folder of a key. */
static enum zs_status enter_above(struct zs_store *store, const char *key, bool make, struct zs_error *err)
{
    char *prefix = parent_of(key);
    ZS_TRY_MEMORY(prefix, err);
    const enum zs_status status = enter_folder(store, prefix, make, err);
    free(prefix);
    return status;
}

/* ---- New objects ---- */

/* Makes the temporary file in the root, where the next writer finds those of a dead one in a single directory. */
static enum zs_status open_temporary(struct local_store *store, struct local_writer *w, struct zs_error *err)
{
    if (!atomic_exchange(&store->is_clean, true))
        zs_temporary_clean(store->base.root);
    const enum zs_status status = zs_temporary_create(store->base.root, &w->fd, &w->temp_path, err);
    if (status == ZS_OK)
        zs_files_count(1);
    return status;
}

static void writer_free(struct local_writer *w)
{
    if (w->fd >= 0) {
        close(w->fd);
        zs_files_count(-1);
    }
    free(w->path);
    free(w->temp_path);
    free(w);
}

static void local_abort(struct zs_writer *writer)
{
    struct local_writer *w = (struct local_writer *)writer;
    if (w->temp_path != NULL)
        (void)unlink(w->temp_path);
    writer_free(w);
}

static enum zs_status local_create(struct zs_store *store, const char *key, struct zs_writer **writer,
                                   struct zs_error *err)
{
    struct local_writer *w = zs_calloc(1, sizeof *w);
    ZS_TRY_MEMORY(w, err);
    w->base.store = store;
    w->fd = -1;
    w->path = zs_vsi_path(store, key);
    enum zs_status status = w->path != NULL ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK)
        status = enter_above(store, key, true, err);
    if (status == ZS_OK)
        status = open_temporary(store_of(store), w, err);
    if (status != ZS_OK) {
        writer_free(w);
        return status == ZS_NOT_FOUND ? ZS_IO : status;
    }
    *writer = &w->base;
    return ZS_OK;
}

static enum zs_status local_write(struct zs_writer *writer, uint64_t offset, const void *data, size_t n,
                                  struct zs_error *err)
{
    struct local_writer *w = (struct local_writer *)writer;
    const uint64_t end = offset + n;
    ZS_TRY(zs_file_write_at(w->fd, w->path, offset, data, n, err));
    if (writer->store->sync != ZS_SYNC_NO && end >= w->sent + WRITE_BEHIND_BYTES) {
        (void)sync_file_range(w->fd, (off_t)w->sent, (off_t)(end - w->sent), SYNC_FILE_RANGE_WRITE);
        w->sent = end;
    }
    return ZS_OK;
}

static enum zs_status local_read_back(struct zs_writer *writer, uint64_t offset, size_t n, void *data,
                                      struct zs_error *err)
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
    if ((uint64_t)st.st_size != w->base.size)
        return zs_fail(err, ZS_IO, "%s: expected %llu bytes in %s, found %lld", w->path,
                       (unsigned long long)w->base.size, w->temp_path, (long long)st.st_size);
    /* Without a sync a full disk may show as late as at close; the descriptor itself stays, since it holds the lock. */
    const bool sync_now = w->base.store->sync == ZS_SYNC_EACH;
    const int copy = sync_now ? -1 : dup(w->fd);
    if (sync_now ? fdatasync(w->fd) != 0 : copy >= 0 && close(copy) != 0)
        return zs_fail(err, zs_status_of_write(errno), "%s: writing failed: %s", w->path, strerror(errno));
    return ZS_OK;
}

static enum zs_status publish_file(struct local_writer *w, struct zs_error *err)
{
    struct zs_store *store = w->base.store;
    ZS_TRY(zs_local_check_root(store, err));
    if (rename(w->temp_path, w->path) != 0) {
        /* another process may have removed the folder meanwhile */
        const int reason = errno;
        if (reason == ENOENT)
            ZS_TRY(enter_above(store, w->base.key, true, err));
        if (reason != ENOENT || rename(w->temp_path, w->path) != 0)
            return zs_fail(err, zs_status_of_write(errno), "%s: cannot be renamed to %s: %s", w->temp_path, w->path,
                           strerror(reason));
    }
    if (store->sync == ZS_SYNC_LATER) /* the disk begins to write */
        (void)sync_file_range(w->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    return ZS_OK;
}

static enum zs_status local_commit(struct zs_writer *writer, struct zs_error *err)
{
    struct local_writer *w = (struct local_writer *)writer;
    enum zs_status status = finish_file(w, err);
    if (status == ZS_OK)
        status = publish_file(w, err);
    if (status == ZS_OK) {
        free(w->temp_path);
        w->temp_path = NULL;
        if (strcmp(writer->key, "zarr.json") == 0)
            atomic_store(&store_of(writer->store)->has_metadata, true);
    }
    if (status == ZS_OK && writer->store->sync == ZS_SYNC_EACH)
        status = zs_entry_sync(w->path, err);
    return status;
}

/* ---- Flushing a new store, whose objects are all flushed at once, so that they do not wait one by one ---- */

/* Lists the files below a prefix, which is "" or ends with a slash, and the directories with it. */
static enum zs_status list_below(struct zs_store *store, const char *prefix, struct zs_names *files,
                                 struct zs_names *directories, struct zs_error *err)
{
    char **names = NULL;
    ZS_TRY(zs_names_add(directories, zs_vsi_path(store, prefix), err));
    enum zs_status status = store->ops->list(store, prefix, &names, err);
    for (char **name = names; name != NULL && *name != NULL && status == ZS_OK; name++) {
        char *below = zs_format("%s%s", prefix, *name);
        if (below != NULL && zs_prefix_length(*name) > 0)
            status = list_below(store, below, files, directories, err);
        else
            status = below != NULL ? zs_names_add(files, zs_vsi_path(store, below), err) : zs_fail_memory(err);
        free(below);
    }
    zs_names_free(names);
    return status;
}

static enum zs_status sync_file(void *ctx, size_t item, struct zs_error *err)
{
    const char *path = ((char **)ctx)[item];
    enum zs_status status = ZS_OK;
    const int fd = zs_open_file(path, O_RDONLY | O_NONBLOCK);
    if (fd < 0 ? !means_absent(errno) : fdatasync(fd) != 0) /* absent: removed since */
        status = zs_fail(err, ZS_IO, "%s: cannot be written to the disk: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return status;
}

static enum zs_status sync_directory(void *ctx, size_t item, struct zs_error *err)
{
    return zs_directory_sync(((char **)ctx)[item], err);
}

static enum zs_status local_sync(struct zs_store *store, struct zs_error *err)
{
    struct zs_names files = {0}, directories = {0};
    if (store->sync != ZS_SYNC_LATER)
        return ZS_OK;
    enum zs_status status = list_below(store, "", &files, &directories, err);
    if (status == ZS_OK)
        status = zs_parallel_for(ZS_MOST_SYNCS, files.count, sync_file, files.list, err);
    if (status == ZS_OK)
        status = zs_parallel_for(ZS_MOST_SYNCS, directories.count, sync_directory, directories.list, err);
    zs_names_free(files.list);
    zs_names_free(directories.list);
    return status == ZS_OK ? zs_entry_sync(store->root, err) : status;
}

/* ---- Objects changed where they are ---- */

struct local_file {
    struct zs_file base;
    int fd;
    char *path;
};

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
    return ZS_OK;
}

static enum zs_status local_file_open(struct zs_store *store, const char *key, struct zs_file **file,
                                      struct zs_error *err)
{
    struct local_file *c = zs_calloc(1, sizeof *c);
    if (c == NULL || (c->path = zs_vsi_path(store, key)) == NULL) {
        free(c);
        return zs_fail_memory(err);
    }
    c->base.store = store;
    c->fd = -1;
    enum zs_status status = enter_above(store, key, false, err);
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

static enum zs_status local_file_write(struct zs_file *file, uint64_t offset, const void *data, size_t n,
                                       struct zs_error *err)
{
    const struct local_file *c = (const struct local_file *)file;
    return zs_file_write_at(c->fd, c->path, offset, data, n, err);
}

static enum zs_status local_file_truncate(struct zs_file *file, uint64_t size, struct zs_error *err)
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

static enum zs_status local_file_flush(struct zs_file *file, struct zs_error *err)
{
    const struct local_file *c = (const struct local_file *)file;
    if (file->store->sync == ZS_SYNC_NO || fdatasync(c->fd) == 0)
        return ZS_OK;
    return zs_fail(err, zs_status_of_write(errno), "%s: cannot be written to the disk: %s", c->path, strerror(errno));
}

static void local_file_close(struct zs_file *file)
{
    local_file_free((struct local_file *)file);
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
static enum zs_status local_lock(struct zs_store *store, const char *key, struct zs_lock **lock, struct zs_error *err)
{
    ZS_TRY(enter_above(store, key, true, err));
    char *prefix = parent_of(key), *path = prefix != NULL ? zs_vsi_path(store, prefix) : NULL;
    const bool is_ours = path != NULL && prefix[0] == '\0' && zs_staging_is_path(store->root); /* locked already */
    enum zs_status status = path != NULL ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK && !is_ours)
        status = lock_directory(path, lock, err);
    free(path);
    free(prefix);
    return status;
}

static void local_unlock(struct zs_store *store, struct zs_lock *lock)
{
    (void)store;
    (void)close(lock->fd);
    free(lock);
}

/* ---- Removing and renaming ---- */

static enum zs_status local_remove(struct zs_store *store, const char *key, struct zs_error *err)
{
    enum zs_status status = enter_above(store, key, false, err);
    if (status != ZS_OK)
        return status == ZS_NOT_FOUND ? ZS_OK : status;
    char *path = zs_vsi_path(store, key);
    ZS_TRY_MEMORY(path, err);
    if (unlink(path) != 0 && !means_absent(errno))
        status = zs_fail(err, ZS_IO, "%s: cannot be removed: %s", path, strerror(errno));
    free(path);
    return status;
}

static void local_remove_directory(struct zs_store *store, const char *prefix)
{
    char *path = zs_vsi_path(store, prefix);
    if (path != NULL)
        (void)rmdir(path);
    free(path);
}

static enum zs_status local_rename(struct zs_store *store, const char *from, const char *to, struct zs_error *err)
{
    struct stat st;
    enum zs_status status = enter_above(store, from, false, err);
    if (status != ZS_OK)
        return status == ZS_NOT_FOUND ? ZS_OK : status;
    char *before = zs_vsi_path(store, from), *after = zs_vsi_path(store, to);
    if (before == NULL || after == NULL)
        status = zs_fail_memory(err);
    else if (lstat(after, &st) == 0)
        status = zs_fail(err, ZS_ARGUMENT, "%s: there is something already", after);
    else if (rename(before, after) != 0 && errno != ENOENT)
        status = zs_fail(err, ZS_IO, "%s: cannot be renamed to %s: %s", before, after, strerror(errno));
    if (status == ZS_OK && store->sync == ZS_SYNC_EACH)
        status = zs_entry_sync(after, err);
    free(before);
    free(after);
    return status;
}

static enum zs_status local_is_link(struct zs_store *store, const char *prefix, enum zs_link *link,
                                    struct zs_error *err)
{
    char *path = zs_vsi_path(store, prefix);
    struct stat st, above;
    ZS_TRY_MEMORY(path, err);
    *link = lstat(path, &st) == 0 && S_ISLNK(st.st_mode) ? ZS_LINK : ZS_LINK_NONE;
    const bool may_loop = *link == ZS_LINK && prefix[0] != '\0' && stat(path, &st) == 0;
    for (char *slash; may_loop && (slash = strrchr(path, '/')) != NULL && slash > path;) {
        *slash = '\0';
        if (stat(path, &above) == 0 && above.st_dev == st.st_dev && above.st_ino == st.st_ino)
            *link = ZS_LINK_LOOP;
    }
    free(path);
    return ZS_OK;
}

static enum zs_status local_check(struct zs_store *store, const char *prefix, struct zs_error *err)
{
    char *path = zs_vsi_path(store, prefix);
    ZS_TRY_MEMORY(path, err);
    enum zs_status status = ZS_OK;
    if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) != 0)
        status = zs_fail(err, ZS_IO, "%s: cannot be written to: %s", path, strerror(errno));
    free(path);
    return status;
}

const struct zs_writing_ops zs_local_writing = {
    .create = local_create,
    .write = local_write,
    .read_back = local_read_back,
    .commit = local_commit,
    .abort = local_abort,
    .remove = local_remove,
    .check = local_check,
    .sync = local_sync,
    .lock = local_lock,
    .unlock = local_unlock,
    .open_file = local_file_open,
    .write_file = local_file_write,
    .truncate_file = local_file_truncate,
    .flush_file = local_file_flush,
    .close_file = local_file_close,
    .is_changed = zs_local_is_changed,
    .remove_directory = local_remove_directory,
    .rename = local_rename,
    .is_link = local_is_link,
    .is_replaced = zs_local_is_replaced};
