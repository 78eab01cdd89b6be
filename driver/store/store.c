#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "store/uploads.h"

void zs_store_free(struct zs_store *store)
{
    if (store == NULL)
        return;
    zs_uploads_free(store->uploads);
    store->ops->free(store);
}

void zs_store_set_sync(struct zs_store *store, enum zs_sync sync)
{
    store->sync = sync;
}

enum zs_status zs_store_sync(struct zs_store *store, struct zs_error *err)
{
    return store->ops->sync != NULL ? store->ops->sync(store, err) : ZS_OK;
}

enum zs_status zs_store_check_writable(const struct zs_store *store, struct zs_error *err)
{
    return store->read_only == NULL ? ZS_OK
                                    : zs_fail(err, ZS_UNSUPPORTED, "%s: %s", store->root, store->read_only);
}

enum zs_status zs_store_locate(struct zs_store *store, const char *key, struct zs_store **where, char **inner,
                               uint64_t *offset, struct zs_error *err)
{
    if (store->ops->locate != NULL)
        return store->ops->locate(store, key, where, inner, offset, err);
    *where = store;
    *offset = 0;
    *inner = zs_strdup(key);
    return *inner != NULL ? ZS_OK : zs_fail_memory(err);
}

bool zs_store_is_replaced(const struct zs_store *store)
{
    return store->ops->is_replaced != NULL && store->ops->is_replaced(store);
}

enum zs_status zs_store_overlap(struct zs_store *store, struct zs_error *err)
{
    return store->is_remote && store->uploads == NULL ? zs_uploads_create(&store->uploads, err) : ZS_OK;
}

enum zs_status zs_store_settle(struct zs_store *store, struct zs_error *err)
{
    return store->uploads != NULL ? zs_uploads_settle(store->uploads, err) : ZS_OK;
}

enum zs_status zs_store_overlap_end(struct zs_store *store, struct zs_error *err)
{
    const enum zs_status status = zs_store_settle(store, err);
    zs_uploads_free(store->uploads);
    store->uploads = NULL;
    return status;
}

enum zs_status zs_store_moved(struct zs_store *store, const char *root, struct zs_error *err)
{
    char *copy = zs_strdup(root);
    if (copy == NULL)
        return zs_fail_memory(err);
    if (store->path == store->root)
        store->path = copy;
    free(store->root);
    store->root = copy;
    if (store->ops->moved != NULL)
        store->ops->moved(store);
    return ZS_OK;
}

/* ---- Keys ---- */

/* Whether a key or prefix of n bytes stays in the store, and can be a path everywhere. */
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

/* The second lock: names from files are looked at where they are read, but nothing leaves the store where they were
 * not. */
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

enum zs_status zs_object_open(struct zs_store *store, const char *key, struct zs_object **object, struct zs_error *err)
{
    ZS_TRY(check_key(store, key, err));
    *object = NULL;
    if (store->uploads != NULL)
        ZS_TRY(zs_uploads_open(store->uploads, key, object, err));
    return *object != NULL ? ZS_OK : store->ops->open(store, key, object, err);
}

/* Whether one request of the store's own does it all; not of what is here. */
static bool asks_at_once(const struct zs_store *store, bool can, const char *key)
{
    return can && (store->uploads == NULL || !zs_uploads_has(store->uploads, key));
}

/* Opens, then reads n bytes from one end; nothing when there are fewer, which the caller sees by the size, and knows
 * better what to say of. */
static enum zs_status open_and_read(struct zs_store *store, const char *key, bool tail, size_t n, void *data,
                                    struct zs_object **object, struct zs_error *err)
{
    ZS_TRY(zs_object_open(store, key, object, err));
    const uint64_t size = zs_object_size(*object);
    if (size < n)
        return ZS_OK;
    const enum zs_status status = zs_object_read(*object, tail ? size - n : 0, n, data, err);
    if (status != ZS_OK) {
        zs_object_close(*object);
        *object = NULL;
    }
    return status;
}

enum zs_status zs_object_open_tail(struct zs_store *store, const char *key, size_t n, void *tail,
                                   struct zs_object **object, struct zs_error *err)
{
    ZS_TRY(check_key(store, key, err));
    if (asks_at_once(store, store->ops->open_tail != NULL, key))
        return store->ops->open_tail(store, key, n, tail, object, err);
    return open_and_read(store, key, true, n, tail, object, err);
}

enum zs_status zs_object_open_head(struct zs_store *store, const char *key, size_t n, void *head,
                                   struct zs_object **object, struct zs_error *err)
{
    ZS_TRY(check_key(store, key, err));
    if (asks_at_once(store, store->ops->open_head != NULL, key))
        return store->ops->open_head(store, key, n, head, object, err);
    return open_and_read(store, key, false, n, head, object, err);
}

enum zs_status zs_object_open_range(struct zs_store *store, const char *key, uint64_t offset, size_t n, void *data,
                                    struct zs_object **object, struct zs_error *err)
{
    ZS_TRY(check_key(store, key, err));
    if (asks_at_once(store, store->ops->open_range != NULL, key))
        return store->ops->open_range(store, key, offset, n, data, object, err);
    ZS_TRY(zs_object_open(store, key, object, err));
    const enum zs_status status = zs_object_read(*object, offset, n, data, err);
    if (status != ZS_OK) {
        zs_object_close(*object);
        *object = NULL;
    }
    return status;
}

uint64_t zs_object_size(const struct zs_object *object)
{
    return object->size;
}

enum zs_status zs_object_read(struct zs_object *object, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    if (offset > object->size || n > object->size - offset)
        return zs_fail(err, ZS_CORRUPT, "expected %zu bytes at offset %llu, found an object of %llu bytes", n,
                       (unsigned long long)offset, (unsigned long long)object->size);
    return n == 0 ? ZS_OK : object->store->ops->read(object, offset, n, data, err);
}

bool zs_object_is_remembered(const struct zs_object *object)
{
    return object->is_remembered;
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

void zs_object_close(struct zs_object *object)
{
    if (object != NULL)
        object->store->ops->close(object);
}

enum zs_status zs_store_get(struct zs_store *store, const char *key, size_t max_bytes, struct zs_buffer *out,
                            struct zs_error *err)
{
    ZS_TRY(check_key(store, key, err));
    if (asks_at_once(store, store->ops->get != NULL, key))
        return store->ops->get(store, key, max_bytes, out, err);
    struct zs_object *object;
    ZS_TRY(zs_object_open(store, key, &object, err));
    const uint64_t size = zs_object_size(object);
    enum zs_status status = ZS_OK;
    if (size > max_bytes)
        status = zs_fail(err, ZS_INVALID, "%s/%s: expected at most %zu bytes, found %llu", store->root, key, max_bytes,
                         (unsigned long long)size);
    if (status == ZS_OK)
        status = zs_buffer_reset(out, (size_t)size, err);
    if (status == ZS_OK)
        status = zs_object_read(object, 0, (size_t)size, out->data, err);
    if (status == ZS_OK)
        out->size = (size_t)size;
    zs_object_close(object);
    return status;
}

enum zs_status zs_store_put(struct zs_store *store, const char *key, const void *data, size_t n, struct zs_error *err)
{
    struct zs_writer *writer;
    ZS_TRY(zs_store_create(store, key, &writer, err));
    enum zs_status status = zs_writer_write(writer, data, n, err);
    if (status == ZS_OK)
        return zs_writer_commit(writer, err);
    zs_writer_abort(writer);
    return status;
}

enum zs_status zs_store_create(struct zs_store *store, const char *key, struct zs_writer **writer, struct zs_error *err)
{
    ZS_TRY(check_key(store, key, err));
    ZS_TRY(store->ops->create(store, key, writer, err));
    if (store->uploads == NULL)
        return ZS_OK;
    (*writer)->uploads = store->uploads;
    (*writer)->key = zs_strdup(key);
    if ((*writer)->key != NULL)
        return ZS_OK;
    zs_writer_abort(*writer);
    return zs_fail_memory(err);
}

enum zs_status zs_writer_write(struct zs_writer *writer, const void *data, size_t n, struct zs_error *err)
{
    const enum zs_status status = n == 0 ? ZS_OK : writer->store->ops->write(writer, data, n, err);
    writer->size += status == ZS_OK ? n : 0;
    return status;
}

enum zs_status zs_writer_patch(struct zs_writer *writer, uint64_t offset, const void *data, size_t n,
                               struct zs_error *err)
{
    return n == 0 ? ZS_OK : writer->store->ops->patch(writer, offset, data, n, err);
}

enum zs_status zs_writer_read(struct zs_writer *writer, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    return n == 0 ? ZS_OK : writer->store->ops->read_back(writer, offset, n, data, err);
}

enum zs_status zs_writer_commit(struct zs_writer *writer, struct zs_error *err)
{
    char *key = writer->key;
    const enum zs_status status = writer->uploads != NULL ? zs_uploads_send(writer->uploads, key, writer, err)
                                                          : writer->store->ops->commit(writer, err);
    free(key);
    return status;
}

enum zs_status zs_writer_try_commit(struct zs_writer *writer, bool *is_kept, struct zs_error *err)
{
    *is_kept = false;
    if (writer->uploads != NULL || !writer->store->is_remote || writer->store->ops->send == NULL)
        return zs_writer_commit(writer, err);
    const enum zs_status status = writer->store->ops->send(writer, err);
    *is_kept = status != ZS_OK;
    if (!*is_kept)
        zs_writer_abort(writer); /* releases what was sent */
    return status;
}

void zs_writer_abort(struct zs_writer *writer)
{
    if (writer == NULL)
        return;
    char *key = writer->key;
    writer->store->ops->abort(writer);
    free(key);
}

enum zs_status zs_store_remove(struct zs_store *store, const char *key, struct zs_error *err)
{
    ZS_TRY(check_key(store, key, err));
    if (store->uploads != NULL)
        zs_uploads_forget(store->uploads, key);
    return store->ops->remove(store, key, err);
}

/* ---- Removing many ---- */

/* Requests at once: what object stores take without slowing down. */
#define REMOVING_THREADS 16

struct removal {
    struct zs_store *store;
    const char *const *keys;
    size_t n, step; /* keys of one item of work */
};

static bool is_document(const char *key)
{
    const char *slash = strrchr(key, '/');
    return strcmp(slash != NULL ? slash + 1 : key, "zarr.json") == 0;
}

/* What one request did not remove goes, or fails, by itself. */
static enum zs_status remove_some(void *ctx, size_t item, struct zs_error *err)
{
    const struct removal *r = ctx;
    const char *const *keys = r->keys + item * r->step;
    const size_t n = r->n - item * r->step < r->step ? r->n - item * r->step : r->step;
    bool *gone = n > 1 ? zs_calloc(n, sizeof *gone) : NULL;
    enum zs_status status = ZS_OK;
    if (n > 1 && gone == NULL)
        return zs_fail_memory(err);
    if (n > 1)
        status = r->store->ops->remove_batch(r->store, keys, n, gone, err);
    for (size_t i = 0; i < n && status == ZS_OK; i++)
        if (gone == NULL || !gone[i])
            status = zs_store_remove(r->store, keys[i], err);
    free(gone);
    return status;
}

enum zs_status zs_store_remove_all(struct zs_store *store, const char *const *keys, size_t n, struct zs_error *err)
{
    const char **others = zs_calloc(n, sizeof *others);
    struct removal r = {store, others, 0, store->max_batch > 0 ? store->max_batch : 1};
    enum zs_status status = ZS_OK;
    if (others == NULL)
        return zs_fail_memory(err);
    for (size_t i = 0; i < n && status == ZS_OK; i++) {
        status = check_key(store, keys[i], err);
        if (status == ZS_OK && is_document(keys[i]))
            status = zs_store_remove(store, keys[i], err);
        else
            others[r.n++] = keys[i];
        if (status == ZS_OK && store->uploads != NULL)
            zs_uploads_forget(store->uploads, keys[i]);
    }
    if (status == ZS_OK)
        status = zs_parallel_for(store->is_remote ? REMOVING_THREADS : 1, (r.n + r.step - 1) / r.step, remove_some, &r,
                                 err);
    free(others);
    return status;
}

enum zs_status zs_store_rename(struct zs_store *store, const char *from, const char *to, struct zs_error *err)
{
    ZS_TRY(check_key(store, from, err));
    ZS_TRY(check_key(store, to, err));
    if (store->ops->rename == NULL)
        return zs_fail(err, ZS_UNSUPPORTED, "%s/%s: has no directories that could be renamed", store->root, from);
    return store->ops->rename(store, from, to, err);
}

enum zs_status zs_file_open(struct zs_store *store, const char *key, struct zs_file **file, struct zs_error *err)
{
    ZS_TRY(check_key(store, key, err));
    if (store->ops->file_open == NULL)
        return zs_fail(err, ZS_UNSUPPORTED, "%s/%s: cannot be changed where it is", store->root, key);
    return store->ops->file_open(store, key, file, err);
}

enum zs_status zs_file_write(struct zs_file *file, uint64_t offset, const void *data, size_t n, struct zs_error *err)
{
    return n == 0 ? ZS_OK : file->store->ops->file_write(file, offset, data, n, err);
}

enum zs_status zs_file_truncate(struct zs_file *file, uint64_t size, struct zs_error *err)
{
    return file->store->ops->file_truncate(file, size, err);
}

enum zs_status zs_file_flush(struct zs_file *file, struct zs_error *err)
{
    return file->store->ops->file_flush(file, err);
}

void zs_file_close(struct zs_file *file)
{
    file->store->ops->file_close(file);
}

bool zs_object_is_changed(const struct zs_object *object, bool or_recently)
{
    return object->store->ops->is_changed != NULL && object->store->ops->is_changed(object, or_recently);
}

enum zs_status zs_store_lock(struct zs_store *store, const char *key, struct zs_lock **lock, struct zs_error *err)
{
    *lock = NULL;
    return store->ops->lock != NULL ? store->ops->lock(store, key, lock, err) : ZS_OK;
}

void zs_store_unlock(struct zs_store *store, struct zs_lock *lock)
{
    if (lock != NULL)
        store->ops->unlock(store, lock);
}

static enum zs_status list(struct zs_store *store, const char *prefix, bool with_temporary, char ***names,
                           struct zs_error *err)
{
    ZS_TRY(check_prefix(store, prefix, err));
    ZS_TRY(zs_store_settle(store, err));
    ZS_TRY(store->ops->list(store, prefix, names, err));
    char **kept = *names;
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

/* Deeper trees than this are no store's: nodes end at 32 (zarr/hierarchy.h), chunk keys have a level per dimension. */
#define MAX_TREE_DEPTH 128

static bool is_prefix(const char *name)
{
    const size_t n = strlen(name);
    return n > 0 && name[n - 1] == '/';
}

enum zs_status zs_store_is_link(struct zs_store *store, const char *prefix, bool *is_link, struct zs_error *err)
{
    *is_link = false;
    ZS_TRY(check_prefix(store, prefix, err));
    return store->ops->is_link != NULL ? store->ops->is_link(store, prefix, is_link, err) : ZS_OK;
}

enum zs_status zs_store_remove_link(struct zs_store *store, const char *prefix, bool *was_link, struct zs_error *err)
{
    *was_link = false;
    ZS_TRY(check_prefix(store, prefix, err));
    return store->ops->remove_link != NULL ? store->ops->remove_link(store, prefix, was_link, err) : ZS_OK;
}

/* Removes the objects among the names directly below a prefix. */
static enum zs_status remove_objects(struct zs_store *store, const char *prefix, char **names, struct zs_error *err)
{
    size_t count = 0, n = 0;
    while (names[count] != NULL)
        count++;
    char **keys = zs_calloc(count + 1, sizeof *keys);
    bool is_complete = keys != NULL;
    for (char **name = names; *name != NULL && is_complete; name++) {
        if (is_prefix(*name) || !is_key(*name, strlen(*name)))
            continue;
        keys[n] = zs_format("%s/%s", prefix, *name);
        is_complete = keys[n++] != NULL;
    }
    const enum zs_status status = is_complete
                                      ? zs_store_remove_all(store, (const char *const *)keys, n, err)
                                      : zs_fail_memory(err);
    zs_names_free(keys);
    return status;
}

static enum zs_status remove_tree(struct zs_store *store, const char *prefix, int depth, struct zs_error *err)
{
    if (depth > MAX_TREE_DEPTH)
        return zs_fail(err, ZS_UNSUPPORTED, "%s/%s: expected at most %d directories above each other", store->root,
                       prefix, MAX_TREE_DEPTH);
    char **names;
    bool was_link;
    enum zs_status status = zs_store_remove_link(store, prefix, &was_link, err);
    if (status != ZS_OK || was_link)
        return status;
    status = store->ops->list(store, prefix, &names, err); /* temporary files too */
    if (status != ZS_OK)
        return status == ZS_NOT_FOUND ? ZS_OK : status;
    status = remove_objects(store, prefix, names, err);
    for (char **name = names; *name != NULL && status == ZS_OK; name++) {
        const size_t n = strlen(*name);
        if (!is_prefix(*name) || !is_key(*name, n - 1))
            continue;
        char *key = zs_format("%s/%.*s", prefix, (int)(n - 1), *name);
        status = key != NULL ? remove_tree(store, key, depth + 1, err)
                             : zs_fail_memory(err);
        free(key);
    }
    zs_names_free(names);
    if (status == ZS_OK && store->ops->remove_directory != NULL)
        store->ops->remove_directory(store, prefix);
    return status;
}

enum zs_status zs_store_remove_tree(struct zs_store *store, const char *prefix, struct zs_error *err)
{
    if (prefix[0] == '\0')
        return zs_fail(err, ZS_ARGUMENT, "%s: expected a part of the store to remove, found all of it", store->root);
    const enum zs_status ignored = zs_store_settle(store, NULL); /* what failed need not be removed */
    (void)ignored;
    return remove_tree(store, prefix, 0, err);
}
