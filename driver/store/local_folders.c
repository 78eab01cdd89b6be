/* The folders of a local store: each is checked once, and not for every chunk. */
#define _GNU_SOURCE /* realpath() */
#include "store/local.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/limits.h"
#include "base/parallel.h"
#include "store/vsi.h"

char *zs_key_parent(const char *key)
{
    const char *slash = strrchr(key, '/');
    return zs_strndup(key, slash != NULL ? (size_t)(slash - key) : 0);
}

void zs_folders_forget(struct local_store *store)
{
    size_t at = 0;
    uint64_t key;
    for (struct folder *f, *next; (f = zs_map_next(&store->folders, &at, &key)) != NULL;)
        for (; f != NULL; f = next) {
            next = f->next;
            free(f->prefix);
            free(f);
        }
    zs_map_free(&store->folders);
    store->folders = (struct zs_map){0};
    free(store->real_root);
    store->real_root = NULL;
}

enum zs_status zs_folder_sync(const struct local_store *store, const char *prefix, struct zs_error *err)
{
    char *path = zs_vsi_path(&store->base, prefix);
    const enum zs_status status = path != NULL ? zs_directory_sync(path, err) : zs_fail_memory(err);
    free(path);
    return status;
}

struct folder_list {
    const struct local_store *store;
    struct folder **list;
    size_t count, capacity;
};

static enum zs_status sync_listed(void *ctx, size_t item, struct zs_error *err)
{
    const struct folder_list *folders = ctx;
    return zs_folder_sync(folders->store, folders->list[item]->prefix, err);
}

/* Lists the folders of keys and those above them, which may be new as well, with others that were entered. */
static enum zs_status list_folders(struct local_store *store, char **keys, size_t n, struct folder_list *folders,
                                   struct zs_error *err)
{
    struct folder *f;
    for (size_t i = 0; i < n; i++) {
        char *prefix = zs_key_parent(keys[i]);
        const enum zs_status status =
            prefix != NULL ? zs_folder_enter(store, prefix, false, &f, err) : zs_fail_memory(err);
        free(prefix);
        if (status != ZS_OK && status != ZS_NOT_FOUND)
            return status;
    }
    size_t at = 0;
    uint64_t hash;
    while ((f = zs_map_next(&store->folders, &at, &hash)) != NULL)
        for (; f != NULL; f = f->next) {
            ZS_TRY_GROW(folders->list, folders->count, &folders->capacity, err);
            folders->list[folders->count++] = f;
        }
    return ZS_OK;
}

enum zs_status zs_folders_sync(struct local_store *store, char **keys, size_t n, struct zs_error *err)
{
    struct folder_list folders = {.store = store};
    enum zs_status status = n > 0 ? list_folders(store, keys, n, &folders, err) : ZS_OK;
    if (status == ZS_OK)
        status = zs_parallel_for(zs_files_at_once(ZS_MOST_SYNCS), folders.count, sync_listed, &folders, err);
    free(folders.list);
    return status == ZS_OK && n > 0 ? zs_entry_sync(store->base.root, err) : status;
}

/* Makes one directory; *is_new: it was not there. */
static enum zs_status make_directory(const struct zs_store *store, const char *path, bool *is_new, struct zs_error *err)
{
    *is_new = mkdir(path, 0755) == 0;
    if (!*is_new && errno != EEXIST)
        return zs_fail(err, errno == ENOENT ? ZS_NOT_FOUND : zs_status_of_write(errno), "%s: cannot be created: %s",
                       path, strerror(errno));
    return *is_new && store->sync == ZS_SYNC_EACH ? zs_entry_sync(path, err) : ZS_OK;
}

/* Makes the root, and those above it. */
static enum zs_status make_root(const struct zs_store *store, const char *path, bool *is_new, struct zs_error *err)
{
    struct stat st;
    *is_new = false;
    if (path[0] == '\0' || stat(path, &st) == 0)
        return ZS_OK;
    char *parent = zs_key_parent(path);
    enum zs_status status = parent != NULL ? make_root(store, parent, is_new, err) : zs_fail_memory(err);
    free(parent);
    return status == ZS_OK ? make_directory(store, path, is_new, err) : status;
}

/* Refuses a link that leads out of the store: files of others must not be written or removed through it. */
static enum zs_status check_link(const struct local_store *store, const char *path, struct zs_error *err)
{
    char *target = realpath(path, NULL);
    if (target == NULL)
        return zs_fail(err, ZS_IO, "%s: this link cannot be followed: %s", path, strerror(errno));
    const size_t n = strlen(store->real_root);
    const bool is_inside =
        strncmp(target, store->real_root, n) == 0 && (n == 1 || target[n] == '/' || target[n] == '\0');
    free(target);
    return is_inside ? ZS_OK
                     : zs_fail(err, ZS_UNSUPPORTED,
                               "%s: this link leads out of the store: nothing is written or removed there", path);
}

/* Checks one folder whose parents are known to lie in the store, and makes it if wanted. ZS_NOT_FOUND when it is
 * absent. */
static enum zs_status check_folder(struct local_store *store, const char *prefix, const char *path, bool make,
                                   bool *is_new, struct zs_error *err)
{
    struct stat st;
    *is_new = false;
    if (prefix[0] == '\0') {
        if (make) {
            ZS_TRY(zs_local_check_root(&store->base, err)); /* a root that was removed is not made again */
            ZS_TRY(make_root(&store->base, path, is_new, err));
        }
        free(store->real_root);
        store->real_root = realpath(path, NULL);
        if (store->real_root == NULL)
            return zs_fail(err, means_absent(errno) ? ZS_NOT_FOUND : ZS_IO, "%s: cannot be entered: %s", path,
                           strerror(errno));
    } else {
        if (make)
            ZS_TRY(make_directory(&store->base, path, is_new, err));
        if (!*is_new && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
            ZS_TRY(check_link(store, path, err));
    }
    if (*is_new)
        return ZS_OK;
    if (stat(path, &st) != 0)
        return zs_fail(err, means_absent(errno) ? ZS_NOT_FOUND : ZS_IO, "%s: cannot be entered: %s", path,
                       strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return zs_fail(err, make ? ZS_IO : ZS_NOT_FOUND, "%s: expected a directory, found a file", path);
    return ZS_OK;
}

enum zs_status zs_folder_enter(struct local_store *store, const char *prefix, bool make, struct folder **folder,
                               struct zs_error *err)
{
    const uint64_t hash = zs_hash(ZS_HASH, prefix, strlen(prefix));
    for (*folder = zs_map_get(&store->folders, hash); *folder != NULL; *folder = (*folder)->next)
        if (strcmp((*folder)->prefix, prefix) == 0)
            return ZS_OK;
    if (prefix[0] != '\0') {
        char *parent = zs_key_parent(prefix);
        struct folder *above;
        const enum zs_status status =
            parent != NULL ? zs_folder_enter(store, parent, make, &above, err) : zs_fail_memory(err);
        free(parent);
        ZS_TRY(status);
    }
    char *path = zs_vsi_path(&store->base, prefix);
    struct folder *f = zs_calloc(1, sizeof *f);
    enum zs_status status =
        path != NULL && f != NULL && (f->prefix = zs_strdup(prefix)) != NULL ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK)
        status = check_folder(store, prefix, path, make, &f->is_clean, err);
    if (status == ZS_OK) {
        f->next = zs_map_get(&store->folders, hash);
        status = zs_map_set(&store->folders, hash, f) ? ZS_OK : zs_fail_memory(err);
    }
    free(path);
    if (status != ZS_OK) {
        if (f != NULL)
            free(f->prefix);
        free(f);
        return status;
    }
    *folder = f;
    return ZS_OK;
}
