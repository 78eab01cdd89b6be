/* A store in a directory of the operating system, without GDAL between: descriptors show whether a path is a file,
 * which version it is, and when its bytes are on the disk. */
#define _GNU_SOURCE /* O_PATH, st_mtim */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "store/local.h"
#include "store/vsi.h"

/* A store does not open when it is replaced more often than this meanwhile. */
#define ANCHOR_ATTEMPTS 8

struct local_object {
    struct zs_object base;
    struct zs_idle_file file;
    char *path;
};

/* ---- Reading ---- */

uint64_t zs_local_version(const struct stat *st)
{
    uint64_t v = (uint64_t)st->st_size;
    v = v * 0x9E3779B97F4A7C15u + (uint64_t)st->st_ino;
    v = v * 0x9E3779B97F4A7C15u + (uint64_t)st->st_mtim.tv_sec;
    v = v * 0x9E3779B97F4A7C15u + (uint64_t)st->st_mtim.tv_nsec;
    return v;
}

static void local_close(struct zs_object *object)
{
    struct local_object *o = (struct local_object *)object;
    zs_idle_file_close(&o->file);
    free(o->path);
    free(o);
}

static enum zs_status check_file(const struct local_object *o, int fd, struct stat *st, struct zs_error *err)
{
    if (fd < 0 && means_absent(errno))
        return zs_fail(err, ZS_NOT_FOUND, "%s: there is no such file", o->path);
    if (fd < 0 || fstat(fd, st) != 0)
        return zs_fail(err, ZS_IO, "%s: cannot be opened: %s", o->path, strerror(errno));
    if (S_ISDIR(st->st_mode))
        return zs_fail(err, ZS_IO, "%s: expected a file, found a directory", o->path);
    if (!S_ISREG(st->st_mode))
        return zs_fail(err, ZS_IO, "%s: expected a file, found a pipe or a device", o->path);
    return ZS_OK;
}

static enum zs_status open_path(const struct local_object *o, int *fd, struct stat *st, struct zs_error *err)
{
    /* O_NONBLOCK: opening a pipe must not wait for a writer. */
    *fd = zs_open_file(o->path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    const enum zs_status status = check_file(o, *fd, st, err);
    if (status != ZS_OK && *fd >= 0)
        (void)close(*fd);
    return status;
}

static enum zs_status open_file(struct local_object *o, struct zs_error *err)
{
    struct stat st;
    int fd;
    zs_idle_file_close(&o->file); /* of another root */
    ZS_TRY(open_path(o, &fd, &st, err));
    o->base.size = (uint64_t)st.st_size;
    o->base.version = zs_local_version(&st);
    o->base.is_versioned = true;
    (void)zs_idle_file_opened(&o->file, fd);
    zs_idle_file_release(&o->file);
    return ZS_OK;
}

/* Returns the descriptor of an opened object. Reopens a file that was closed meanwhile; fails if the name belongs to
 * another file now. */
static enum zs_status acquire_file(struct local_object *o, int *fd, struct zs_error *err)
{
    struct stat st;
    *fd = zs_idle_file_acquire(&o->file);
    if (*fd >= 0)
        return ZS_OK;
    enum zs_status status = open_path(o, fd, &st, err);
    if (status == ZS_OK && zs_local_version(&st) != o->base.version) {
        (void)close(*fd);
        status = zs_fail(err, ZS_NOT_FOUND, "%s: was changed after it was opened", o->path);
    }
    if (status == ZS_OK)
        *fd = zs_idle_file_opened(&o->file, *fd);
    if (status != ZS_NOT_FOUND)
        return status;
    __atomic_store_n(&o->base.is_stale, true, __ATOMIC_RELAXED);
    return ZS_IO;
}

/* Remembers which directory the root is. */
static void anchor(struct local_store *store)
{
    struct stat st;
    if (store->root >= 0)
        close(store->root);
    store->root = zs_open_file(store->base.root, O_PATH | O_DIRECTORY);
    if (store->root >= 0 && fstat(store->root, &st) == 0) {
        store->root_device = st.st_dev;
        store->root_number = st.st_ino;
    }
}

enum root { ROOT_SAME, ROOT_OTHER, ROOT_UNKNOWN };

/* Whether the root is now another directory, or none; errno is set where this is unknown. Call it after opening a file,
 * which may belong to the other directory. */
static enum root find_root(const struct local_store *store)
{
    struct stat st;
    if (store->root < 0)
        return ROOT_SAME;
    if (stat(store->base.root, &st) == 0)
        return st.st_dev == store->root_device && st.st_ino == store->root_number ? ROOT_SAME : ROOT_OTHER;
    return means_absent(errno) ? ROOT_OTHER : ROOT_UNKNOWN;
}

static bool is_elsewhere(const struct zs_store *store)
{
    return find_root((const struct local_store *)store) == ROOT_OTHER;
}

/* Whether an object is absent because the store is being removed: its metadata go first. */
static bool is_being_removed(const struct local_store *store, const char *key)
{
    struct stat st;
    if (!atomic_load(&store->has_metadata) || strcmp(key, "zarr.json") == 0)
        return false;
    char *path = zs_vsi_path(&store->base, "zarr.json");
    const bool is_gone = path != NULL && stat(path, &st) != 0 && means_absent(errno);
    free(path);
    return is_gone;
}

enum zs_status zs_local_check_root(const struct zs_store *store, struct zs_error *err)
{
    const struct local_store *s = (const struct local_store *)store;
    if (!atomic_load(&s->has_metadata)) /* it is a folder like any other */
        return ZS_OK;
    switch (find_root(s)) {
    case ROOT_OTHER:
        return zs_fail(err, ZS_IO, "%s: this store was replaced or removed after it was opened", store->root);
    case ROOT_UNKNOWN:
        return zs_fail(err, ZS_IO, "%s: cannot be looked at: %s", store->root, strerror(errno));
    default:
        return ZS_OK;
    }
}

/* Checks the root after an attempt to open an object, which gave `status`. */
static enum zs_status check_opened(struct local_store *store, const char *key, enum zs_status status,
                                   struct zs_error *err)
{
    if (status != ZS_OK && status != ZS_NOT_FOUND)
        return status;
    ZS_TRY(zs_local_check_root(&store->base, err));
    if (status == ZS_NOT_FOUND && is_being_removed(store, key))
        return zs_fail(err, ZS_IO, "%s: this store was removed after it was opened", store->base.root);
    if (status == ZS_OK && strcmp(key, "zarr.json") == 0)
        atomic_store(&store->has_metadata, true);
    return status;
}

static enum zs_status local_open(struct zs_store *store, const char *key, struct zs_first_read *first,
                                 struct zs_object **object, struct zs_error *err)
{
    (void)first;
    struct local_object *o = zs_calloc(1, sizeof *o);
    ZS_TRY_MEMORY(o, err);
    o->base.store = store;
    zs_idle_file_init(&o->file);
    o->path = zs_vsi_path(store, key);
    enum zs_status status = o->path != NULL ? open_file(o, err) : zs_fail_memory(err);
    /* Until metadata were read, a directory that replaces the root is the store. */
    struct local_store *s = store_of(store);
    for (int i = 0;
         i < ANCHOR_ATTEMPTS && strcmp(key, "zarr.json") == 0 && !atomic_load(&s->has_metadata) && is_elsewhere(store);
         i++) {
        anchor(s);
        status = o->path != NULL ? open_file(o, err) : zs_fail_memory(err);
    }
    status = check_opened(s, key, status, err);
    if (status != ZS_OK) {
        local_close(&o->base);
        return status;
    }
    *object = &o->base;
    return ZS_OK;
}

static enum zs_status local_read(struct zs_object *object, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    struct local_object *o = (struct local_object *)object;
    int fd;
    ZS_TRY(acquire_file(o, &fd, err));
    const enum zs_status status = zs_file_read_at(fd, o->path, offset, n, data, err);
    struct stat st;
    /* the unfinished append of a killed writer was cut off */
    if (status != ZS_OK && fstat(fd, &st) == 0 && (uint64_t)st.st_size < object->size)
        __atomic_store_n(&object->is_stale, true, __ATOMIC_RELAXED);
    zs_idle_file_release(&o->file);
    return status;
}

static bool local_is_changed(const struct zs_object *object, bool or_recently)
{
    struct local_object *o = (struct local_object *)(uintptr_t)object;
    int fd;
    if (acquire_file(o, &fd, NULL) != ZS_OK)
        return true;
    const bool is_changed = zs_local_is_changed(object, fd, or_recently);
    zs_idle_file_release(&o->file);
    return is_changed;
}

/* ---- Removing ---- */

/* Enters the folder of an object that is to be removed: ZS_NOT_FOUND when that is absent. */
static enum zs_status enter_parent(struct zs_store *store, const char *key, struct zs_error *err)
{
    struct local_store *s = store_of(store);
    struct folder *f;
    char *parent = zs_key_parent(key);
    ZS_TRY_MEMORY(parent, err);
    pthread_mutex_lock(&s->lock);
    const enum zs_status status = zs_folder_enter(s, parent, false, &f, err);
    pthread_mutex_unlock(&s->lock);
    free(parent);
    return status;
}

static enum zs_status local_remove(struct zs_store *store, const char *key, struct zs_error *err)
{
    enum zs_status status = enter_parent(store, key, err);
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
    struct local_store *s = store_of(store);
    char *path = zs_vsi_path(store, prefix);
    if (path != NULL && rmdir(path) == 0) {
        pthread_mutex_lock(&s->lock);
        zs_folders_forget(s);
        pthread_mutex_unlock(&s->lock);
    }
    free(path);
}

static enum zs_status local_rename(struct zs_store *store, const char *from, const char *to, struct zs_error *err)
{
    struct local_store *s = store_of(store);
    struct stat st;
    if (store->sync == ZS_SYNC_LATER) /* whose keys are not found behind it */
        ZS_TRY(zs_local_sync(store, err));
    enum zs_status status = enter_parent(store, from, err);
    if (status != ZS_OK)
        return status == ZS_NOT_FOUND ? ZS_OK : status;
    char *parent = zs_key_parent(to), *before = zs_vsi_path(store, from), *after = zs_vsi_path(store, to);
    if (parent == NULL || before == NULL || after == NULL)
        status = zs_fail_memory(err);
    else if (lstat(after, &st) == 0)
        status = zs_fail(err, ZS_ARGUMENT, "%s: there is something already", after);
    else if (rename(before, after) != 0 && errno != ENOENT)
        status = zs_fail(err, ZS_IO, "%s: cannot be renamed to %s: %s", before, after, strerror(errno));
    pthread_mutex_lock(&s->lock);
    zs_folders_forget(s);
    pthread_mutex_unlock(&s->lock);
    if (status == ZS_OK && store->sync != ZS_SYNC_NO)
        status = zs_folder_sync(s, parent, err);
    free(parent);
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

static void local_moved(struct zs_store *store, char *path)
{
    struct local_store *s = store_of(store);
    free(path); /* the root opens it */
    pthread_mutex_lock(&s->lock);
    zs_folders_forget(s);
    pthread_mutex_unlock(&s->lock);
    atomic_store(&s->has_metadata, true); /* a new store is whole when it moves to its path */
}

/* ---- Listing ---- */

static bool is_directory(DIR *dir, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

static enum zs_status read_directory(DIR *dir, const char *path, struct zs_names *names, struct zs_error *err)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL && errno != 0)
            return zs_fail(err, ZS_IO, "%s: cannot be listed: %s", path, strerror(errno));
        if (entry == NULL)
            return ZS_OK;
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            ZS_TRY(zs_names_add(names, zs_format(is_directory(dir, entry) ? "%s/" : "%s", entry->d_name), err));
    }
}

static enum zs_status local_list(struct zs_store *store, const char *prefix, char ***names, struct zs_error *err)
{
    char *path = zs_vsi_path(store, prefix);
    ZS_TRY_MEMORY(path, err);
    struct zs_names found = {0};
    DIR *dir = zs_open_directory(path);
    enum zs_status status = ZS_OK;
    if (dir == NULL)
        status = zs_fail(err, means_absent(errno) ? ZS_NOT_FOUND : ZS_IO, "%s: cannot be listed: %s", path,
                         strerror(errno));
    else
        status = read_directory(dir, path, &found, err);
    if (dir != NULL)
        closedir(dir);
    free(path);
    return zs_names_finish(&found, status, names, err);
}

/* ---- The store ---- */

static void local_free(struct zs_store *store)
{
    struct local_store *s = store_of(store);
    zs_folders_forget(s);
    zs_names_free(s->unsynced.list);
    pthread_mutex_destroy(&s->lock);
    if (s->root >= 0)
        close(s->root);
    free(store->root);
    free(s);
}

static const struct zs_writing_ops writing = {.create = zs_local_create,
                                              .write = zs_local_write,
                                              .patch = zs_local_patch,
                                              .read_back = zs_local_read_back,
                                              .commit = zs_local_commit,
                                              .abort = zs_local_abort,
                                              .remove = local_remove,
                                              .check = local_check,
                                              .sync = zs_local_sync,
                                              .lock = zs_local_lock,
                                              .unlock = zs_local_unlock,
                                              .open_file = zs_local_file_open,
                                              .write_file = zs_local_file_write,
                                              .truncate_file = zs_local_file_truncate,
                                              .flush_file = zs_local_file_flush,
                                              .close_file = zs_local_file_close,
                                              .is_changed = local_is_changed,
                                              .remove_directory = local_remove_directory,
                                              .rename = local_rename,
                                              .is_link = local_is_link,
                                              .is_replaced = is_elsewhere,
                                              .moved = local_moved};
static const struct zs_store_ops ops = {.open = local_open,
                                        .read = local_read,
                                        .close = local_close,
                                        .list = local_list,
                                        .free = local_free,
                                        .writing = &writing};

enum zs_status zs_store_open_local(const char *root, struct zs_store **store, struct zs_error *err)
{
    struct local_store *s = zs_calloc(1, sizeof *s);
    if (s == NULL || (s->base.root = zs_strdup(root)) == NULL) {
        free(s);
        return zs_fail_memory(err);
    }
    s->base.path = s->base.root;
    s->root = -1;
    anchor(s);
    s->base.ops = &ops;
    s->base.sync = ZS_SYNC_EACH;
    pthread_mutex_init(&s->lock, NULL);
    *store = &s->base;
    return ZS_OK;
}
