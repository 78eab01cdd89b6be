/* A store in a directory of the operating system, without GDAL between: descriptors show whether a path is a file,
 * which version it is, and when its bytes are on the disk. */
#define _GNU_SOURCE /* O_PATH, st_mtim */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/descriptors.h"
#include "store/local.h"
#include "store/vsi.h"

struct local_object {
    struct zs_object base;
    char *path;
};

/* A file that was changed less than this ago may be being changed. */
#define RECENT_SECONDS 2

/* ---- Reading ---- */

uint64_t zs_local_version(const struct stat *st)
{
    const uint64_t parts[] = {(uint64_t)st->st_size, (uint64_t)st->st_ino, (uint64_t)st->st_mtim.tv_sec,
                              (uint64_t)st->st_mtim.tv_nsec};
    return zs_hash(ZS_HASH, parts, sizeof parts);
}

/* ---- Open files: each is open while it is read, and then until others were read more recently ---- */

/* What the cache of open files may hold; each takes its share of it, so that their number follows the limit. */
#define ALL_FILES ((uint64_t)1 << 32)

static void close_file(void *value)
{
    (void)close((int)((intptr_t)value - 1));
}

static struct zs_cache open_files = {.destroy = close_file, .budget = ALL_FILES}; /* of descriptors + 1 */

static struct zs_cache_key key_of(const struct local_object *o)
{
    return (struct zs_cache_key){(uintptr_t)o, o->base.version};
}

/* Takes over the descriptor; NULL without memory, when it is closed. */
static struct zs_cache_entry *keep_file(const struct local_object *o, int fd)
{
    const int most = zs_half_of_files();
    return zs_cache_put(&open_files, key_of(o), (void *)((intptr_t)fd + 1),
                        ALL_FILES / (uint64_t)(most > 0 ? most : 1));
}

static int descriptor_of(const struct zs_cache_entry *entry)
{
    return (int)((intptr_t)zs_cache_value(entry) - 1);
}

static void local_close(struct zs_object *object)
{
    struct local_object *o = (struct local_object *)object;
    if (o->base.is_versioned) /* it was opened */
        zs_cache_remove(&open_files, key_of(o));
    free(o->path);
    free(o);
}

static enum zs_status open_path(const struct local_object *o, int *fd, struct stat *st, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    /* O_NONBLOCK: opening a pipe must not wait for a writer. */
    *fd = zs_open_file(o->path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0 && means_absent(errno))
        return zs_fail(err, ZS_NOT_FOUND, "%s: there is no such file", o->path);
    if (*fd < 0 || fstat(*fd, st) != 0)
        status = zs_fail(err, ZS_IO, "%s: cannot be opened: %s", o->path, strerror(errno));
    else if (!S_ISREG(st->st_mode))
        status = zs_fail(err, ZS_IO, "%s: expected a file, found %s", o->path,
                         S_ISDIR(st->st_mode) ? "a directory" : "a pipe or a device");
    if (status != ZS_OK && *fd >= 0)
        (void)close(*fd);
    return status;
}

static enum zs_status open_file(struct local_object *o, struct zs_error *err)
{
    struct stat st;
    int fd;
    ZS_TRY(open_path(o, &fd, &st, err));
    o->base.size = (uint64_t)st.st_size;
    o->base.version = zs_local_version(&st);
    o->base.is_versioned = true;
    struct zs_cache_entry *entry = keep_file(o, fd);
    ZS_TRY_MEMORY(entry, err);
    zs_cache_release(entry);
    return ZS_OK;
}

/* Gives the open file of an object, to be released. Opens one that was closed; fails if the name belongs to another
 * file now. */
static enum zs_status acquire_file(struct local_object *o, struct zs_cache_entry **entry, struct zs_error *err)
{
    struct stat st;
    int fd;
    *entry = zs_cache_get(&open_files, key_of(o));
    if (*entry != NULL)
        return ZS_OK;
    enum zs_status status = open_path(o, &fd, &st, err);
    if (status == ZS_OK && zs_local_version(&st) == o->base.version) {
        *entry = keep_file(o, fd);
        return *entry != NULL ? ZS_OK : zs_fail_memory(err);
    }
    if (status == ZS_OK) {
        (void)close(fd);
        status = zs_fail(err, ZS_NOT_FOUND, "%s: was changed after it was opened", o->path);
    }
    if (status != ZS_NOT_FOUND)
        return status;
    __atomic_store_n(&o->base.is_stale, true, __ATOMIC_RELAXED);
    return ZS_IO;
}

/* Looks at the root: 0 where it is the directory that was opened, ENOENT where it is another one or none, else why it
 * cannot be looked at. */
static int look_at_root(const struct zs_store *store)
{
    const struct local_store *s = (const struct local_store *)store;
    struct stat st;
    if (s->root < 0)
        return 0;
    if (stat(store->root, &st) != 0)
        return means_absent(errno) ? ENOENT : errno;
    return st.st_dev == s->root_device && st.st_ino == s->root_number ? 0 : ENOENT;
}

bool zs_local_is_replaced(const struct zs_store *store)
{
    return look_at_root(store) == ENOENT;
}

enum zs_status zs_local_check_root(const struct zs_store *store, struct zs_error *err)
{
    /* without metadata it is a folder like any other */
    const int why = atomic_load(&((const struct local_store *)store)->has_metadata) ? look_at_root(store) : 0;
    if (why == 0)
        return ZS_OK;
    return why == ENOENT
               ? zs_fail(err, ZS_IO, "%s: this store was replaced or removed after it was opened", store->root)
               : zs_fail(err, ZS_IO, "%s: cannot be looked at: %s", store->root, strerror(why));
}

/* Whether an object is absent because the store is being removed: its metadata go first. */
static bool is_being_removed(struct zs_store *store, const char *key)
{
    if (!atomic_load(&store_of(store)->has_metadata) || strcmp(key, "zarr.json") == 0)
        return false;
    char *path = zs_vsi_path(store, "zarr.json");
    const bool is_gone = path != NULL && access(path, F_OK) != 0 && means_absent(errno);
    free(path);
    return is_gone;
}

static enum zs_status local_open(struct zs_store *store, const char *key, struct zs_first_read *first,
                                 struct zs_object **object, struct zs_error *err)
{
    (void)first;
    struct local_object *o = zs_calloc(1, sizeof *o);
    ZS_TRY_MEMORY(o, err);
    o->base.store = store;
    o->path = zs_vsi_path(store, key);
    enum zs_status status = o->path != NULL ? open_file(o, err) : zs_fail_memory(err);
    if (status == ZS_OK && strcmp(key, "zarr.json") == 0)
        atomic_store(&store_of(store)->has_metadata, true);
    if (status == ZS_OK || status == ZS_NOT_FOUND) { /* after it: the file may belong to the other directory */
        const enum zs_status checked = zs_local_check_root(store, err);
        status = checked != ZS_OK ? checked : status;
    }
    if (status == ZS_NOT_FOUND && is_being_removed(store, key))
        status = zs_fail(err, ZS_IO, "%s: this store was removed after it was opened", store->root);
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
    struct zs_cache_entry *entry;
    ZS_TRY(acquire_file(o, &entry, err));
    const int fd = descriptor_of(entry);
    const enum zs_status status = zs_file_read_at(fd, o->path, offset, n, data, err);
    struct stat st;
    /* the unfinished append of a killed writer was cut off */
    if (status != ZS_OK && fstat(fd, &st) == 0 && (uint64_t)st.st_size < object->size)
        __atomic_store_n(&object->is_stale, true, __ATOMIC_RELAXED);
    zs_cache_release(entry);
    return status;
}

bool zs_local_is_changed(const struct zs_object *object, bool or_recently)
{
    struct local_object *o = (struct local_object *)(uintptr_t)object;
    struct stat st;
    struct timespec now;
    struct zs_cache_entry *entry;
    if (acquire_file(o, &entry, NULL) != ZS_OK)
        return true;
    const bool is_known = fstat(descriptor_of(entry), &st) == 0 && clock_gettime(CLOCK_REALTIME, &now) == 0;
    zs_cache_release(entry);
    return is_known && (zs_local_version(&st) != object->version ||
                        (or_recently && now.tv_sec - st.st_mtim.tv_sec < RECENT_SECONDS));
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
    DIR *dir = opendir(path);
    enum zs_status status = ZS_OK;
    if (dir == NULL)
        status = zs_fail(err, means_absent(errno) ? ZS_NOT_FOUND : ZS_IO, "%s: cannot be listed: %s", path,
                         strerror(errno));
    else
        status = read_directory(dir, path, &found, err);
    if (dir != NULL)
        closedir(dir);
    free(path);
    *names = found.list;
    return status;
}

/* ---- The store ---- */

static void local_free(struct zs_store *store)
{
    struct local_store *s = store_of(store);
    if (s->root >= 0)
        close(s->root);
    free(store->root);
    free(store->path);
    free(s);
}

static const struct zs_store_ops ops = {.open = local_open,
                                        .read = local_read,
                                        .close = local_close,
                                        .list = local_list,
                                        .free = local_free,
                                        .writing = &zs_local_writing};

enum zs_status zs_store_open_local(const char *root, struct zs_store **store, struct zs_error *err)
{
    struct local_store *s = zs_calloc(1, sizeof *s);
    ZS_TRY_MEMORY(s, err);
    s->root = -1;
    s->base = (struct zs_store){.ops = &ops, .root = zs_strdup(root), .path = zs_strdup(root), .sync = ZS_SYNC_EACH};
    if (s->base.root == NULL || s->base.path == NULL) {
        local_free(&s->base);
        return zs_fail_memory(err);
    }
    s->root = zs_open_file(root, O_PATH | O_DIRECTORY);
    struct stat st;
    if (s->root >= 0 && fstat(s->root, &st) == 0) {
        s->root_device = st.st_dev;
        s->root_number = st.st_ino;
    }
    *store = &s->base;
    return ZS_OK;
}
