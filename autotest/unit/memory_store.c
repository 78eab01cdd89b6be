#include "memory_store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that never change once published, shared by the store and the objects opened on them. */
struct blob {
    size_t references; /* under the store's lock */
    size_t size;
    uint64_t version;
    unsigned char *data;
};

struct entry {
    char *key;
    struct blob *blob;
};

struct memory_store {
    struct zs_store base;
    pthread_mutex_t lock;
    pthread_mutex_t writing; /* held through zs_store_lock(), for any key */
    struct entry *entries; /* sorted by key */
    size_t count, capacity;
    uint64_t versions;
};

struct memory_object {
    struct zs_object base;
    struct blob *blob;
};

struct memory_file {
    struct zs_file base;
    char *key;
};

struct memory_writer {
    struct zs_writer base;
    char *key;
    struct zs_buffer bytes;
};

static struct memory_store *store_of(struct zs_store *s)
{
    return (struct memory_store *)s;
}

static void blob_release(struct blob *blob)
{
    if (blob == NULL || --blob->references != 0)
        return;
    free(blob->data);
    free(blob);
}

/* Position of the first key that is not before `key`. */
static size_t lower_bound(const struct memory_store *s, const char *key)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(s->entries[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct memory_store *s, size_t i, const char *key)
{
    return i < s->count && strcmp(s->entries[i].key, key) == 0;
}

static enum zs_status memory_open(struct zs_store *store, const char *key, struct zs_first_read *first,
                                  struct zs_object **object, struct zs_error *err)
{
    (void)first;
    struct memory_store *s = store_of(store);
    struct memory_object *opened = zs_calloc(1, sizeof *opened);
    if (opened == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "%s/%s: cannot allocate an object", store->root, key);
    (void)pthread_mutex_lock(&s->lock);
    const size_t i = lower_bound(s, key);
    if (is_at(s, i, key)) {
        opened->blob = s->entries[i].blob;
        opened->blob->references++;
    }
    (void)pthread_mutex_unlock(&s->lock);
    if (opened->blob == NULL) {
        free(opened);
        return zs_fail(err, ZS_NOT_FOUND, "%s/%s: no such object", store->root, key);
    }
    opened->base = (struct zs_object){
        .store = store, .size = opened->blob->size, .version = opened->blob->version, .is_versioned = true};
    *object = &opened->base;
    return ZS_OK;
}

static enum zs_status memory_read(struct zs_object *object, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    const struct blob *blob = ((struct memory_object *)object)->blob;
    if (offset > blob->size || n > blob->size - offset)
        return zs_fail(err, ZS_IO, "%s: expected %zu bytes at offset %llu, found an object of %zu bytes",
                       object->store->root, n, (unsigned long long)offset, blob->size);
    memcpy(data, blob->data + offset, n);
    return ZS_OK;
}

static void memory_close(struct zs_object *object)
{
    struct memory_store *s = store_of(object->store);
    (void)pthread_mutex_lock(&s->lock);
    blob_release(((struct memory_object *)object)->blob);
    (void)pthread_mutex_unlock(&s->lock);
    free(object);
}

static void memory_abort(struct zs_writer *writer)
{
    struct memory_writer *w = (struct memory_writer *)writer;
    zs_buffer_free(&w->bytes);
    free(w->key);
    free(w);
}

static enum zs_status memory_create(struct zs_store *store, const char *key, struct zs_writer **writer,
                                    struct zs_error *err)
{
    struct memory_writer *w = zs_calloc(1, sizeof *w);
    if (w != NULL)
        w->key = zs_strdup(key);
    if (w == NULL || w->key == NULL) {
        free(w);
        return zs_fail(err, ZS_NO_MEMORY, "%s/%s: cannot allocate a writer", store->root, key);
    }
    w->base.store = store;
    *writer = &w->base;
    return ZS_OK;
}

/* Bytes written before, or NULL with a message. */
static unsigned char *written(struct zs_writer *writer, uint64_t offset, size_t n, struct zs_error *err)
{
    struct memory_writer *w = (struct memory_writer *)writer;
    if (offset <= w->bytes.size && n <= w->bytes.size - offset)
        return w->bytes.data + offset;
    (void)zs_fail(err, ZS_IO, "%s/%s: expected %zu bytes at offset %llu, found %zu written", writer->store->root,
                  w->key, n, (unsigned long long)offset, w->bytes.size);
    return NULL;
}

static enum zs_status memory_write(struct zs_writer *writer, uint64_t offset, const void *data, size_t n,
                                   struct zs_error *err)
{
    struct zs_buffer *all = &((struct memory_writer *)writer)->bytes;
    if (offset == all->size)
        return zs_buffer_append(all, data, n, err);
    unsigned char *bytes = written(writer, offset, n, err);
    if (bytes == NULL)
        return ZS_IO;
    memcpy(bytes, data, n);
    return ZS_OK;
}

static enum zs_status memory_read_back(struct zs_writer *writer, uint64_t offset, size_t n, void *data,
                                       struct zs_error *err)
{
    const unsigned char *bytes = written(writer, offset, n, err);
    if (bytes == NULL)
        return ZS_IO;
    memcpy(data, bytes, n);
    return ZS_OK;
}

/* Room for one more entry. */
static bool reserve(struct memory_store *s)
{
    struct entry *grown = zs_grow(s->entries, s->count, &s->capacity, sizeof *grown);
    s->entries = grown != NULL ? grown : s->entries;
    return grown != NULL;
}

static enum zs_status memory_commit(struct zs_writer *writer, struct zs_error *err)
{
    struct memory_writer *w = (struct memory_writer *)writer;
    struct memory_store *s = store_of(writer->store);
    enum zs_status status = ZS_OK;
    (void)pthread_mutex_lock(&s->lock);
    struct blob *blob = zs_calloc(1, sizeof *blob);
    if (blob == NULL || !reserve(s)) {
        free(blob);
        status = zs_fail(err, ZS_NO_MEMORY, "%s/%s: cannot allocate an object", writer->store->root, w->key);
    } else {
        *blob = (struct blob){.references = 1, .size = w->bytes.size, .version = ++s->versions, .data = w->bytes.data};
        w->bytes = (struct zs_buffer){0};
        const size_t i = lower_bound(s, w->key);
        if (is_at(s, i, w->key)) {
            blob_release(s->entries[i].blob);
        } else {
            memmove(s->entries + i + 1, s->entries + i, (s->count - i) * sizeof *s->entries);
            s->entries[i].key = w->key;
            s->count++;
            w->key = NULL;
        }
        s->entries[i].blob = blob;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return status;
}

/* ---- Objects changed where they are: of whom has one open nothing changes ---- */

static enum zs_status memory_file_open(struct zs_store *store, const char *key, struct zs_file **file,
                                       struct zs_error *err)
{
    struct zs_object *object;
    ZS_TRY(zs_object_open(store, key, &object, err));
    struct memory_file *c = zs_calloc(1, sizeof *c);
    if (c != NULL && (c->key = zs_strdup(key)) != NULL) {
        c->base = (struct zs_file){.store = store, .size = object->size, .version = object->version};
        *file = &c->base;
    }
    memory_close(object);
    if (c != NULL && c->key != NULL)
        return ZS_OK;
    free(c);
    return zs_fail(err, ZS_NO_MEMORY, "%s/%s: cannot allocate a file", store->root, key);
}

/* The bytes of an object, `size` of them from now on (beyond the old ones zeros), with n of them replaced. */
static enum zs_status memory_replace(const struct memory_file *c, size_t size, size_t offset, const void *data,
                                     size_t n, struct zs_error *err)
{
    struct memory_store *s = store_of(c->base.store);
    enum zs_status status = zs_fail(err, ZS_IO, "%s/%s: cannot be changed", c->base.store->root, c->key);
    (void)pthread_mutex_lock(&s->lock);
    const size_t i = lower_bound(s, c->key);
    struct blob *blob = is_at(s, i, c->key) ? zs_calloc(1, sizeof *blob) : NULL;
    if (blob != NULL) {
        struct blob *old = s->entries[i].blob;
        *blob = (struct blob){.references = 1, .size = size != SIZE_MAX ? size : old->size, .version = ++s->versions};
        blob->size = offset + n > blob->size ? offset + n : blob->size;
        blob->data = zs_calloc(blob->size, 1);
        if (blob->data != NULL) {
            memcpy(blob->data, old->data, old->size < blob->size ? old->size : blob->size);
            if (n > 0)
                memcpy(blob->data + offset, data, n);
            blob_release(old);
            s->entries[i].blob = blob;
            status = ZS_OK;
        } else {
            free(blob);
        }
    }
    (void)pthread_mutex_unlock(&s->lock);
    return status;
}

static enum zs_status memory_file_write(struct zs_file *file, uint64_t offset, const void *data, size_t n,
                                        struct zs_error *err)
{
    return memory_replace((const struct memory_file *)file, SIZE_MAX, (size_t)offset, data, n, err);
}

static enum zs_status memory_file_truncate(struct zs_file *file, uint64_t size, struct zs_error *err)
{
    return memory_replace((const struct memory_file *)file, (size_t)size, 0, NULL, 0, err);
}

static enum zs_status memory_file_flush(struct zs_file *file, struct zs_error *err)
{
    (void)file, (void)err;
    return ZS_OK;
}

static void memory_file_close(struct zs_file *file)
{
    free(((struct memory_file *)file)->key);
    free(file);
}

static enum zs_status memory_remove(struct zs_store *store, const char *key, struct zs_error *err)
{
    (void)err;
    struct memory_store *s = store_of(store);
    (void)pthread_mutex_lock(&s->lock);
    const size_t i = lower_bound(s, key);
    if (is_at(s, i, key)) {
        blob_release(s->entries[i].blob);
        free(s->entries[i].key);
        s->count--;
        memmove(s->entries + i, s->entries + i + 1, (s->count - i) * sizeof *s->entries);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return ZS_OK;
}

/* What lies below a prefix stands together in the sorted keys, and so does what lies below one name there. */
static enum zs_status memory_list(struct zs_store *store, const char *prefix, char ***names, struct zs_error *err)
{
    struct memory_store *s = store_of(store);
    char *below = prefix[0] != '\0' ? zs_format("%s/", prefix) : zs_strdup("");
    if (below == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "%s/%s: cannot list it", store->root, prefix);
    const size_t length = strlen(below);
    enum zs_status status = ZS_OK;
    (void)pthread_mutex_lock(&s->lock);
    const size_t first = lower_bound(s, below);
    size_t end = first;
    while (end < s->count && strncmp(s->entries[end].key, below, length) == 0)
        end++;
    char **found = zs_calloc(end - first + 1, sizeof *found);
    size_t n = 0;
    for (size_t i = first; i < end && found != NULL; i++) {
        const char *name = s->entries[i].key + length;
        const char *slash = strchr(name, '/');
        const size_t name_length = slash != NULL ? (size_t)(slash - name) + 1 : strlen(name);
        if (n > 0 && slash != NULL && strlen(found[n - 1]) == name_length &&
            strncmp(found[n - 1], name, name_length) == 0)
            continue;
        found[n] = zs_strndup(name, name_length);
        if (found[n++] == NULL) {
            zs_names_free(found);
            found = NULL;
        }
    }
    (void)pthread_mutex_unlock(&s->lock);
    if (found == NULL)
        status = zs_fail(err, ZS_NO_MEMORY, "%s/%s: cannot list it", store->root, prefix);
    else
        *names = found;
    free(below);
    return status;
}

static enum zs_status memory_lock(struct zs_store *store, const char *key, struct zs_lock **lock, struct zs_error *err)
{
    (void)key, (void)err;
    pthread_mutex_t *writing = &store_of(store)->writing;
    (void)pthread_mutex_lock(writing);
    *lock = (struct zs_lock *)writing;
    return ZS_OK;
}

static void memory_unlock(struct zs_store *store, struct zs_lock *lock)
{
    (void)lock;
    (void)pthread_mutex_unlock(&store_of(store)->writing);
}

static void memory_free(struct zs_store *store)
{
    struct memory_store *s = store_of(store);
    for (size_t i = 0; i < s->count; i++) {
        blob_release(s->entries[i].blob);
        free(s->entries[i].key);
    }
    free(s->entries);
    free(s->base.root);
    (void)pthread_mutex_destroy(&s->lock);
    (void)pthread_mutex_destroy(&s->writing);
    free(s);
}

enum zs_status zs_store_open_memory(struct zs_store **store, struct zs_error *err)
{
    static const struct zs_writing_ops writing = {.create = memory_create,
                                                  .write = memory_write,
                                                  .read_back = memory_read_back,
                                                  .commit = memory_commit,
                                                  .abort = memory_abort,
                                                  .remove = memory_remove,
                                                  .lock = memory_lock,
                                                  .unlock = memory_unlock,
                                                  .open_file = memory_file_open,
                                                  .write_file = memory_file_write,
                                                  .truncate_file = memory_file_truncate,
                                                  .flush_file = memory_file_flush,
                                                  .close_file = memory_file_close};
    static const struct zs_store_ops ops = {.open = memory_open,
                                            .read = memory_read,
                                            .close = memory_close,
                                            .list = memory_list,
                                            .free = memory_free,
                                            .writing = &writing};
    struct memory_store *s = zs_calloc(1, sizeof *s);
    if (s != NULL)
        s->base = (struct zs_store){.ops = &ops, .root = zs_strdup("memory")};
    if (s == NULL || s->base.root == NULL || pthread_mutex_init(&s->lock, NULL) != 0) {
        if (s != NULL)
            free(s->base.root);
        free(s);
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a store");
    }
    (void)pthread_mutex_init(&s->writing, NULL);
    *store = &s->base;
    return ZS_OK;
}

/* ---- Any store ---- */

static void must(enum zs_status status, const struct zs_error *err)
{
    if (status == ZS_OK)
        return;
    fprintf(stderr, "%s\n", err->message);
    exit(1);
}

void remove_tree(struct zs_store *store, const char *prefix)
{
    struct zs_error err;
    enum zs_link link;
    char **names;
    must(zs_store_is_link(store, prefix, &link, &err), &err);
    if (link != ZS_LINK_NONE) {
        must(zs_store_remove(store, prefix, &err), &err);
        return;
    }
    const enum zs_status status = zs_store_list_all(store, prefix, &names, &err);
    if (status == ZS_NOT_FOUND)
        return;
    must(status, &err);
    for (char **name = names; *name != NULL; name++) {
        char *key = zs_format("%s/%s", prefix, *name), *last = key + strlen(key) - 1;
        const bool is_prefix = *last == '/';
        if (is_prefix) {
            *last = '\0';
            remove_tree(store, key);
        } else {
            must(zs_store_remove(store, key, &err), &err);
        }
        free(key);
    }
    zs_names_free(names);
    zs_store_remove_directory(store, prefix);
}
