#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "store/local.h"
#include "store/vsi.h"

/* ---- Stores ---- */

enum zs_status zs_store_open(const char *root, struct zs_store **store, struct zs_error *err)
{
    const struct zs_path_kind kind = zs_path_kind_of(root);
    char *path = zs_strdup(root);
    ZS_TRY_MEMORY(path, err);
    /* A trailing slash would double in every path, which object stores take literally. */
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
    const enum zs_status status =
        kind.is_local ? zs_store_open_local(path, store, err) : zs_store_open_vsi(path, &kind, store, err);
    free(path);
    return status;
}

/* The operation of a store that can be written to; NULL where it has none. */
#define OPERATION(store, name) ((store)->ops->writing != NULL ? (store)->ops->writing->name : NULL)

void zs_store_free(struct zs_store *store)
{
    if (store == NULL)
        return;
    zs_uploads_free(store);
    store->ops->free(store);
}

void zs_store_set_sync(struct zs_store *store, enum zs_sync sync)
{
    store->sync = sync;
}

enum zs_status zs_store_sync(struct zs_store *store, struct zs_error *err)
{
    return OPERATION(store, sync) != NULL ? store->ops->writing->sync(store, err) : ZS_OK;
}

enum zs_status zs_store_check_writable(const struct zs_store *store, struct zs_error *err)
{
    return store->read_only == NULL ? ZS_OK
                                    : zs_fail(err, ZS_UNSUPPORTED, "%s: %s", store->root, store->read_only);
}

bool zs_store_is_replaced(const struct zs_store *store)
{
    if (OPERATION(store, is_replaced) != NULL)
        return store->ops->writing->is_replaced(store);
    return store->inner != NULL && zs_store_is_replaced(store->inner);
}

enum zs_status zs_store_moved(struct zs_store *store, const char *root, struct zs_error *err)
{
    char *shown = zs_path_shown(root), *path = zs_strdup(root);
    if (shown == NULL || path == NULL) {
        free(shown);
        free(path);
        return zs_fail_memory(err);
    }
    free(store->root);
    free(store->path);
    store->root = shown;
    store->path = path;
    return ZS_OK;
}

/* ---- Keys ---- */

/* Whether a key or prefix of n bytes cannot leave the store, and can be a path everywhere. */
static bool is_key(const char *key, size_t n)
{
    for (size_t start = 0, i = 0; i <= n; i++) {
        if (i < n && ((unsigned char)key[i] < 0x20 || key[i] == 0x7F))
            return false;
        if (i < n && key[i] != '/')
            continue;
        const size_t length = i - start;
        if (length == 0 || (length <= 2 && strncmp(key + start, "..", length) == 0))
            return false;
        start = i + 1;
    }
    return true;
}

/* The second check: names from files are checked where they are read; here none leaves the store even if that was
 * forgotten. */
static enum zs_status check_key(const struct zs_store *store, const char *key, struct zs_error *err)
{
    if (is_key(key, strlen(key)))
        return ZS_OK;
    return zs_fail(err, ZS_ARGUMENT, "%s: expected the name of something in this store, found \"%s\"", store->root,
                   key);
}

static enum zs_status check_prefix(const struct zs_store *store, const char *prefix, struct zs_error *err)
{
    return prefix[0] == '\0' ? ZS_OK : check_key(store, prefix, err);
}

/* ---- Objects ---- */

/* Reads the bytes that the filling did not read with the opening. */
static enum zs_status read_first(struct zs_object *object, const char *key, const struct zs_first_read *first,
                                 struct zs_error *err)
{
    const uint64_t size = object->size;
    if (first->kind == ZS_READ_RANGE)
        return zs_object_read(object, first->offset, first->n, first->data, err);
    if (first->kind != ZS_READ_ALL) /* too few bytes: callers see it by the size, and have the better message */
        return size < first->n ? ZS_OK
                               : zs_object_read(object, first->kind == ZS_READ_TAIL ? size - first->n : 0, first->n,
                                                first->data, err);
    if (size > first->n)
        return zs_fail(err, ZS_INVALID, "%s/%s: expected at most %zu bytes, found %llu", object->store->root, key,
                       first->n, (unsigned long long)size);
    ZS_TRY(zs_buffer_reset(first->all, (size_t)size, err));
    ZS_TRY(zs_object_read(object, 0, (size_t)size, first->all->data, err));
    first->all->size = (size_t)size;
    return ZS_OK;
}

enum zs_status zs_object_open_first(struct zs_store *store, const char *key, struct zs_first_read *first,
                                    struct zs_object **object, struct zs_error *err)
{
    *object = NULL;
    ZS_TRY(check_key(store, key, err));
    zs_store_wait_commit(store, key);
    ZS_TRY(store->ops->open(store, key, first, object, err));
    if (first->is_read || first->kind == ZS_READ_NONE)
        return ZS_OK;
    const enum zs_status status = read_first(*object, key, first, err);
    first->is_read = true;
    if (status != ZS_OK) {
        zs_object_close(*object);
        *object = NULL;
    }
    return status;
}

enum zs_status zs_object_open(struct zs_store *store, const char *key, struct zs_object **object, struct zs_error *err)
{
    return zs_object_open_first(store, key, &(struct zs_first_read){.kind = ZS_READ_NONE}, object, err);
}

enum zs_status zs_object_open_end(struct zs_store *store, const char *key, bool is_tail, size_t n, void *data,
                                  struct zs_object **object, struct zs_error *err)
{
    struct zs_first_read first = {.kind = is_tail ? ZS_READ_TAIL : ZS_READ_HEAD, .n = n, .data = data};
    return zs_object_open_first(store, key, &first, object, err);
}

enum zs_status zs_store_get(struct zs_store *store, const char *key, size_t max_bytes, struct zs_buffer *out,
                            struct zs_error *err)
{
    return zs_store_get_tagged(store, key, max_bytes, out, NULL, err);
}

enum zs_status zs_store_get_tagged(struct zs_store *store, const char *key, size_t max_bytes, struct zs_buffer *out,
                                   char **etag, struct zs_error *err)
{
    struct zs_object *object;
    struct zs_first_read first = {.kind = ZS_READ_ALL, .n = max_bytes, .all = out};
    if (etag != NULL)
        *etag = NULL;
    const enum zs_status status = zs_object_open_first(store, key, &first, &object, err);
    if (status != ZS_OK && status != ZS_NOT_FOUND)
        return status;
    const char *tag = etag == NULL ? NULL : status == ZS_OK ? object->etag : "";
    if (tag != NULL)
        *etag = zs_strdup(tag);
    if (status == ZS_OK)
        zs_object_close(object);
    return tag == NULL || *etag != NULL ? status : zs_fail_memory(err);
}

enum zs_status zs_object_read(struct zs_object *object, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    if (offset > object->size || n > object->size - offset)
        return zs_fail(err, ZS_CORRUPT, "expected %zu bytes at offset %llu, found an object of %llu bytes", n,
                       (unsigned long long)offset, (unsigned long long)object->size);
    return n == 0 ? ZS_OK : object->store->ops->read(object, offset, n, data, err);
}

void zs_store_forget(struct zs_store *store, const char *key)
{
    if (store->ops->forget != NULL)
        store->ops->forget(store, key);
}

bool zs_object_is_stale(const struct zs_object *object)
{
    return __atomic_load_n(&object->is_stale, __ATOMIC_RELAXED);
}

bool zs_object_is_overtaken(const struct zs_object *object, enum zs_status status)
{
    return status != ZS_OK && object != NULL && zs_object_is_stale(object);
}

void zs_object_close(struct zs_object *object)
{
    if (object != NULL)
        object->store->ops->close(object);
}

enum zs_status zs_store_put(struct zs_store *store, const char *key, const void *data, size_t n, struct zs_error *err)
{
    return zs_store_put_over(store, key, NULL, data, n, err);
}

enum zs_status zs_store_put_over(struct zs_store *store, const char *key, const char *etag, const void *data, size_t n,
                                 struct zs_error *err)
{
    struct zs_writer *writer;
    ZS_TRY(zs_store_create(store, key, &writer, err));
    enum zs_status status = zs_writer_write(writer, data, n, err);
    if (status == ZS_OK && etag != NULL)
        status = zs_writer_expect(writer, etag, err);
    if (status == ZS_OK)
        return zs_writer_commit(writer, err);
    zs_writer_abort(writer);
    return status;
}

enum zs_status zs_store_check_access(struct zs_store *store, const char *prefix, struct zs_error *err)
{
    ZS_TRY(zs_store_check_writable(store, err));
    return OPERATION(store, check) != NULL ? store->ops->writing->check(store, prefix, err) : ZS_OK;
}

static enum zs_status check_writing(struct zs_store *store, const char *key, struct zs_error *err)
{
    ZS_TRY(check_key(store, key, err));
    ZS_TRY(zs_store_check_writable(store, err));
    return store->ops->writing != NULL ? ZS_OK
                                       : zs_fail(err, ZS_UNSUPPORTED, "%s: this store is only read", store->root);
}

enum zs_status zs_store_create(struct zs_store *store, const char *key, struct zs_writer **writer, struct zs_error *err)
{
    ZS_TRY(check_writing(store, key, err));
    ZS_TRY(store->ops->writing->create(store, key, writer, err));
    (*writer)->key = zs_strdup(key);
    if ((*writer)->key != NULL)
        return ZS_OK;
    zs_writer_abort(*writer);
    return zs_fail_memory(err);
}

static const struct zs_writing_ops *ops_of(const struct zs_writer *writer)
{
    return writer->store->ops->writing;
}

enum zs_status zs_writer_write(struct zs_writer *writer, const void *data, size_t n, struct zs_error *err)
{
    const enum zs_status status = n == 0 ? ZS_OK : ops_of(writer)->write(writer, writer->size, data, n, err);
    writer->size += status == ZS_OK ? n : 0;
    return status;
}

enum zs_status zs_writer_patch(struct zs_writer *writer, uint64_t offset, const void *data, size_t n,
                               struct zs_error *err)
{
    return n == 0 ? ZS_OK : ops_of(writer)->write(writer, offset, data, n, err);
}

enum zs_status zs_writer_read(struct zs_writer *writer, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    return n == 0 ? ZS_OK : ops_of(writer)->read_back(writer, offset, n, data, err);
}

enum zs_status zs_writer_commit(struct zs_writer *writer, struct zs_error *err)
{
    bool is_kept;
    const enum zs_status status = zs_writer_try_commit(writer, &is_kept, err);
    if (is_kept)
        zs_writer_abort(writer);
    return status;
}

enum zs_status zs_writer_try_commit(struct zs_writer *writer, bool *is_kept, struct zs_error *err)
{
    const bool is_sent = writer->store->is_remote && ops_of(writer)->commits_again;
    *is_kept = false;
    if (zs_writer_overlaps(writer))
        return zs_writer_send_later(writer, err);
    const enum zs_status status = is_sent ? zs_writer_send(writer, err) : ops_of(writer)->commit(writer, err);
    *is_kept = is_sent && status != ZS_OK;
    if (!*is_kept)
        zs_writer_abort(writer); /* releases what was sent */
    return status;
}

void zs_writer_abort(struct zs_writer *writer)
{
    if (writer == NULL)
        return;
    char *expected = writer->expected, *key = writer->key;
    ops_of(writer)->abort(writer);
    free(expected);
    free(key);
}

enum zs_status zs_store_remove(struct zs_store *store, const char *key, struct zs_error *err)
{
    ZS_TRY(check_writing(store, key, err));
    zs_store_wait_commit(store, key);
    return store->ops->writing->remove(store, key, err);
}

/* ---- Removing many ---- */

/* Requests at once: object stores take as many without slowing down. */
#define REMOVING_THREADS 16

struct removal {
    struct zs_store *store;
    const char *const *keys;
};

bool zs_is_document(const char *key)
{
    const char *slash = strrchr(key, '/');
    return strcmp(slash != NULL ? slash + 1 : key, "zarr.json") == 0;
}

static enum zs_status remove_one(void *ctx, size_t item, struct zs_error *err)
{
    const struct removal *r = ctx;
    return zs_store_remove(r->store, r->keys[item], err);
}

enum zs_status zs_store_remove_all(struct zs_store *store, const char *const *keys, size_t n, struct zs_error *err)
{
    const char **others = zs_calloc(n, sizeof *others);
    struct removal r = {store, others};
    size_t count = 0;
    enum zs_status status = ZS_OK;
    ZS_TRY_MEMORY(others, err);
    for (size_t i = 0; i < n && status == ZS_OK; i++) {
        status = check_key(store, keys[i], err);
        if (status == ZS_OK && zs_is_document(keys[i]))
            status = zs_store_remove(store, keys[i], err);
        else
            others[count++] = keys[i];
    }
    if (status == ZS_OK)
        status = zs_parallel_for(store->is_remote ? REMOVING_THREADS : 1, count, remove_one, &r, err);
    free(others);
    return status;
}

/* ---- Changing in place, locks ---- */

bool zs_store_has_files(struct zs_store *store)
{
    return OPERATION(store, open_file) != NULL;
}

enum zs_status zs_file_open(struct zs_store *store, const char *key, struct zs_file **file, struct zs_error *err)
{
    ZS_TRY(check_key(store, key, err));
    return OPERATION(store, open_file) != NULL
               ? store->ops->writing->open_file(store, key, file, err)
               : zs_fail(err, ZS_UNSUPPORTED, "%s/%s: cannot be changed where it is", store->root, key);
}

enum zs_status zs_file_write(struct zs_file *file, uint64_t offset, const void *data, size_t n, struct zs_error *err)
{
    return n == 0 ? ZS_OK : file->store->ops->writing->write_file(file, offset, data, n, err);
}

enum zs_status zs_file_truncate(struct zs_file *file, uint64_t size, struct zs_error *err)
{
    return file->store->ops->writing->truncate_file(file, size, err);
}

enum zs_status zs_file_flush(struct zs_file *file, struct zs_error *err)
{
    return file->store->ops->writing->flush_file(file, err);
}

void zs_file_close(struct zs_file *file)
{
    file->store->ops->writing->close_file(file);
}

bool zs_object_is_changed(const struct zs_object *object, bool or_recently)
{
    const struct zs_store *store = object->store;
    return OPERATION(store, is_changed) != NULL && store->ops->writing->is_changed(object, or_recently);
}

enum zs_status zs_store_lock(struct zs_store *store, const char *key, struct zs_lock **lock, struct zs_error *err)
{
    *lock = NULL;
    return OPERATION(store, lock) != NULL ? store->ops->writing->lock(store, key, lock, err) : ZS_OK;
}

void zs_store_unlock(struct zs_store *store, struct zs_lock *lock)
{
    if (lock != NULL)
        store->ops->writing->unlock(store, lock);
}

/* ---- Listing, directories, links ---- */

static enum zs_status list(struct zs_store *store, const char *prefix, bool with_temporary, char ***names,
                           struct zs_error *err)
{
    ZS_TRY(check_prefix(store, prefix, err));
    ZS_TRY(zs_store_wait_commits(store, err));
    char **found = NULL;
    enum zs_status status = store->ops->list(store, prefix, &found, err);
    if (status == ZS_OK && found == NULL && (found = zs_calloc(1, sizeof *found)) == NULL)
        status = zs_fail_memory(err);
    if (status != ZS_OK) {
        zs_names_free(found);
        return status;
    }
    char **kept = *names = found;
    for (char **name = *names; *name != NULL; name++) {
        const size_t n = strlen(*name);
        if ((with_temporary || !zs_is_temporary_name(*name)) && n > 0 && is_key(*name, n - ((*name)[n - 1] == '/')))
            *kept++ = *name;
        else
            free(*name);
    }
    *kept = NULL;
    return ZS_OK;
}

enum zs_status zs_store_list(struct zs_store *store, const char *prefix, char ***names, struct zs_error *err)
{
    return list(store, prefix, false, names, err);
}

enum zs_status zs_store_list_all(struct zs_store *store, const char *prefix, char ***names, struct zs_error *err)
{
    return list(store, prefix, true, names, err);
}

size_t zs_prefix_length(const char *name)
{
    const size_t n = strlen(name);
    return n > 1 && name[n - 1] == '/' ? n - 1 : 0;
}

void zs_store_remove_directory(struct zs_store *store, const char *prefix)
{
    if (OPERATION(store, remove_directory) != NULL)
        store->ops->writing->remove_directory(store, prefix);
}

enum zs_status zs_store_rename(struct zs_store *store, const char *from, const char *to, struct zs_error *err)
{
    ZS_TRY(check_key(store, from, err));
    ZS_TRY(check_key(store, to, err));
    return OPERATION(store, rename) != NULL
               ? store->ops->writing->rename(store, from, to, err)
               : zs_fail(err, ZS_UNSUPPORTED, "%s/%s: has no directories that could be renamed", store->root, from);
}

enum zs_status zs_store_is_link(struct zs_store *store, const char *prefix, enum zs_link *link, struct zs_error *err)
{
    *link = ZS_LINK_NONE;
    ZS_TRY(check_prefix(store, prefix, err));
    return OPERATION(store, is_link) != NULL ? store->ops->writing->is_link(store, prefix, link, err) : ZS_OK;
}
