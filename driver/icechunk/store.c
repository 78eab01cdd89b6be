/* A commit of an Icechunk repository as a store: documents come from its snapshot, chunks from the references in its
 * manifests. A referenced object that is missing is an error, never absent: absent chunks read as fill value. */
#include "icechunk/icechunk.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "store/vsi.h"
#include "icechunk/icechunk_private.h"

struct ice_store {
    struct zs_store base;
    struct zs_icechunk_files files;
    struct zs_icechunk_commit commit;
    struct zs_icechunk_snapshot snapshot;
    pthread_mutex_t lock; /* of the member below, and of the arrays' keys */
    /* The manifest that was used last stays, whatever the budget of the process: one that is larger would be read again
     * for every chunk. */
    struct zs_cache_entry *last;
};

/* A document; or a chunk: bytes in a manifest, or a range of another object. */
struct ice_object {
    struct zs_object base;
    const unsigned char *bytes; /* NULL: in an object */
    char *text;                 /* the root's document */
    struct zs_cache_entry *manifest;
    uint64_t offset;
    char *key; /* in the repository; NULL: bytes */
    struct zs_object *inner; /* that object */
};

static struct ice_store *ice_of(const struct zs_store *s)
{
    return (struct ice_store *)s;
}

/* ---- Finding ---- */

static enum zs_status fail_absent(const struct ice_store *s, const char *key, struct zs_error *err)
{
    return zs_fail(err, ZS_NOT_FOUND, "%s/%s: there is no such object in the snapshot", s->base.root, key);
}

/* Reads, once, how an array's document spells the keys of its chunks. */
static enum zs_status load_keys(struct ice_store *s, struct zs_icechunk_node *array, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    zs_json *document = NULL;
    (void)pthread_mutex_lock(&s->lock);
    if (array->keys == NULL)
        status = zs_json_parse((const char *)array->document.data, array->document.count, &document, err);
    if (status == ZS_OK && array->keys == NULL)
        status = zs_array_meta_parse(document, ZS_META_KEYS, &array->keys, err);
    (void)pthread_mutex_unlock(&s->lock);
    zs_json_free(document);
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "%s/%s", s->base.root, array->path);
}

/* Finds the array and the position of the chunk that a key names. ZS_NOT_FOUND for other keys. */
static enum zs_status parse_key(struct ice_store *s, const char *key, struct zs_icechunk_node **array,
                                uint64_t *index, struct zs_error *err)
{
    size_t n = 0; /* of the root, then of each folder that the key names */
    const char *below = key;
    while ((*array = zs_icechunk_snapshot_node(&s->snapshot, key, n)) == NULL || !(*array)->is_array) {
        n += (n > 0) + strcspn(key + n + (n > 0), "/");
        if (key[n] == '\0')
            return fail_absent(s, key, err);
        below = key + n + 1;
    }
    ZS_TRY(load_keys(s, *array, err));
    return zs_chunk_key_parse((*array)->keys, below, index) ? ZS_OK : fail_absent(s, key, err);
}

static enum zs_status get_manifest(struct ice_store *s, const unsigned char *id, struct zs_cache_entry **entry,
                                   struct zs_error *err)
{
    char text[ZS_ICECHUNK_ID_TEXT];
    zs_icechunk_id_print(id, text);
    ZS_TRY(zs_icechunk_file_get(&s->files, ZS_ICECHUNK_MANIFEST, text, entry, err));
    struct zs_cache_entry *before = NULL;
    (void)pthread_mutex_lock(&s->lock);
    if (s->last != *entry) {
        before = s->last;
        zs_icechunk_file_pin(*entry);
        s->last = *entry;
    }
    (void)pthread_mutex_unlock(&s->lock);
    zs_icechunk_file_release(before);
    return ZS_OK;
}

/* Finds where the chunk of a key lies. *manifest is pinned, *ref points into it. ZS_NOT_FOUND: there is no reference,
 * and the chunk is fill value. */
static enum zs_status find_chunk(struct ice_store *s, const char *key, struct zs_cache_entry **manifest,
                                 struct zs_icechunk_ref *ref, struct zs_error *err)
{
    struct zs_icechunk_node *a;
    uint64_t index[ZS_MAX_NDIM];
    const unsigned char *id;
    char text[ZS_ICECHUNK_ID_TEXT];
    bool is_there = false;
    ZS_TRY(parse_key(s, key, &a, index, err));
    enum zs_status status = zs_icechunk_snapshot_find(a, index, a->keys->ndim, &id, err);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "%s/snapshots/%s", s->base.root, s->commit.id);
    if (id == NULL)
        return fail_absent(s, key, err);
    ZS_TRY(get_manifest(s, id, manifest, err));
    status = zs_icechunk_manifest_find(zs_icechunk_file_of(*manifest), a->id, index, a->keys->ndim, &is_there, ref,
                                       err);
    zs_icechunk_id_print(id, text);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "%s/manifests/%s", s->base.root, text);
    return is_there ? ZS_OK : fail_absent(s, key, err);
}

/* ---- Objects ---- */

static void ice_close(struct zs_object *object)
{
    struct ice_object *o = (struct ice_object *)object;
    zs_object_close(o->inner);
    free(o->text);
    zs_icechunk_file_release(o->manifest);
    free(o->key);
    free(o);
}

/* Names the object elsewhere that a reference leads to, without a password and a signature in its URL. */
static enum zs_status fail_virtual(const struct zs_icechunk_file *manifest, const struct zs_icechunk_ref *ref,
                                   struct zs_error *err)
{
    char *location = zs_icechunk_manifest_location(manifest, ref);
    char *shown = location != NULL ? zs_text_shown(location) : NULL;
    const enum zs_status status =
        zs_fail(err, ZS_UNSUPPORTED, "expected a chunk of the repository, found a virtual chunk: bytes of %.500s",
                shown != NULL ? shown : "another file");
    free(shown);
    free(location);
    return status;
}

static enum zs_status fail_in_object(const struct ice_object *o, enum zs_status status, struct zs_error *err)
{
    const char *root = o->base.store->inner->root;
    if (status == ZS_NOT_FOUND)
        return zs_fail(err, ZS_CORRUPT, "%s/%s: the repository refers to this object, which is not there", root,
                       o->key);
    return status == ZS_CORRUPT ? zs_fail_in(err, status, "%s/%s", root, o->key) : status;
}

/* Finds the chunk of a key and sets the object where it lies. */
static enum zs_status set_chunk(struct ice_store *s, struct ice_object *o, const char *key, struct zs_error *err)
{
    struct zs_icechunk_ref ref = {0};
    char text[ZS_ICECHUNK_ID_TEXT];
    ZS_TRY(find_chunk(s, key, &o->manifest, &ref, err));
    o->base.size = ref.size;
    o->base.is_versioned = true; /* a key is the same object as long as the snapshot is the same */
    o->base.version = zs_hash(zs_hash(ZS_HASH, s->commit.id, strlen(s->commit.id)), key, strlen(key));
    o->bytes = ref.bytes.data;
    o->offset = ref.offset;
    if (ref.bytes.of != NULL)
        return ZS_OK;
    if (ref.chunk_id == NULL) {
        const enum zs_status status = fail_virtual(zs_icechunk_file_of(o->manifest), &ref, err);
        return zs_fail_in(err, status, "%s/%s", s->base.root, key);
    }
    zs_icechunk_id_print(ref.chunk_id, text);
    o->key = zs_format("chunks/%s", text);
    return o->key != NULL ? ZS_OK : zs_fail_memory(err);
}

static enum zs_status set_object(struct ice_store *s, struct ice_object *o, const char *key, struct zs_error *err)
{
    const size_t n = strlen(key), m = strlen("/zarr.json");
    if (strcmp(key, "zarr.json") == 0) {
        const enum zs_status status = zs_icechunk_snapshot_root(&s->snapshot, &o->text, err);
        if (status != ZS_OK)
            return zs_fail_in(err, status, "%s/snapshots/%s", s->base.root, s->commit.id);
        o->bytes = (const unsigned char *)o->text;
        o->base.size = strlen(o->text);
        return ZS_OK;
    }
    const struct zs_icechunk_node *node =
        n > m && strcmp(key + n - m, "/zarr.json") == 0 ? zs_icechunk_snapshot_node(&s->snapshot, key, n - m) : NULL;
    if (node == NULL)
        return set_chunk(s, o, key, err);
    o->bytes = node->document.data;
    o->base.size = node->document.count;
    return ZS_OK;
}

/* Makes an object of a document or a chunk, which is not opened yet. */
static enum zs_status make_object(struct zs_store *store, const char *key, struct ice_object **object,
                                  struct zs_error *err)
{
    struct ice_object *o = zs_calloc(1, sizeof *o);
    ZS_TRY_MEMORY(o, err);
    o->base.store = store;
    const enum zs_status status = set_object(ice_of(store), o, key, err);
    if (status == ZS_OK)
        *object = o;
    else
        ice_close(&o->base);
    return status;
}

/* Opens the object that a chunk lies in. Where the chunk is all of it, what is read first comes in the same request,
 * and the inner store remembers its end as that of a shard. */
static enum zs_status open_inner(struct ice_object *o, struct zs_first_read *first, struct zs_error *err)
{
    struct zs_first_read read = {.kind = ZS_READ_NONE};
    if (first->kind == ZS_READ_ALL && o->base.size <= first->n) { /* it may be a part of a larger object */
        ZS_TRY(zs_buffer_reset(first->all, (size_t)o->base.size, err));
        ZS_TRY(zs_object_open_range(o->base.store->inner, o->key, o->offset, (size_t)o->base.size, first->all->data,
                                    &o->inner, err));
        first->all->size = (size_t)o->base.size;
        first->is_read = true;
        return ZS_OK;
    }
    if (o->offset == 0)
        read = *first;
    ZS_TRY(zs_object_open_first(o->base.store->inner, o->key, &read, &o->inner, err));
    first->is_read = read.is_read && zs_object_size(o->inner) == o->base.size;
    return ZS_OK;
}

static enum zs_status ice_open(struct zs_store *store, const char *key, struct zs_first_read *first,
                               struct zs_object **object, struct zs_error *err)
{
    struct ice_object *o;
    ZS_TRY(make_object(store, key, &o, err));
    enum zs_status status = o->key != NULL ? open_inner(o, first, err) : ZS_OK;
    if (status != ZS_OK) {
        status = fail_in_object(o, status, err);
        ice_close(&o->base);
        return status;
    }
    *object = &o->base;
    return ZS_OK;
}

static enum zs_status ice_read(struct zs_object *object, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    struct ice_object *o = (struct ice_object *)object;
    if (o->key == NULL) {
        memcpy(data, o->bytes + offset, n);
        return ZS_OK;
    }
    const enum zs_status status = zs_object_read(o->inner, o->offset + offset, n, data, err);
    return status == ZS_OK ? ZS_OK : fail_in_object(o, status, err);
}

/* ---- The store ---- */

/* Lists nothing: the root's document has the metadata of all nodes. */
static enum zs_status ice_list(struct zs_store *store, const char *prefix, char ***names, struct zs_error *err)
{
    (void)names;
    return zs_fail(err, ZS_UNSUPPORTED, "%s/%s: a snapshot is not listed: its metadata are consolidated", store->root,
                   prefix);
}

/* Frees everything but the store that it stands before. */
static void release(struct ice_store *s)
{
    zs_icechunk_file_release(s->last);
    zs_icechunk_snapshot_close(&s->snapshot);
    zs_names_free(s->commit.items.list);
    (void)pthread_mutex_destroy(&s->lock);
    free(s->base.root);
    free(s);
}

static void ice_free(struct zs_store *store)
{
    struct zs_store *inner = store->inner;
    release(ice_of(store));
    zs_store_free(inner);
}

/* Forgets the first and last bytes of a chunk, which were found broken. */
static void ice_forget(struct zs_store *store, const char *key)
{
    struct ice_object *o;
    if (!store->is_remote || make_object(store, key, &o, NULL) != ZS_OK)
        return;
    if (o->key != NULL)
        zs_store_forget(store->inner, o->key);
    ice_close(&o->base);
}

static const struct zs_store_ops ops = {.open = ice_open,
                                        .read = ice_read,
                                        .close = ice_close,
                                        .list = ice_list,
                                        .free = ice_free,
                                        .forget = ice_forget};

/* Adds what the snapshot says to the items of its commit. */
static enum zs_status describe(struct ice_store *s, struct zs_error *err)
{
    struct zs_names *items = &s->commit.items;
    const time_t seconds = (time_t)(s->snapshot.flushed_at / 1000000u);
    struct tm t = {0};
    if (s->snapshot.file == NULL)
        return ZS_OK;
    (void)gmtime_r(&seconds, &t);
    ZS_TRY(zs_names_add(items, zs_format("SNAPSHOT=%s", s->commit.id), err));
    ZS_TRY(zs_names_add(items, zs_format("TIME=%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", t.tm_year + 1900, t.tm_mon + 1,
                                         t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec,
                                         (int)(s->snapshot.flushed_at % 1000000u)), err));
    char *message = zs_icechunk_text(&s->snapshot.message);
    const enum zs_status status =
        message != NULL ? zs_names_add(items, zs_format("MESSAGE=%s", message), err) : ZS_OK;
    free(message);
    return status;
}

char **zs_icechunk_items(const struct zs_store *store)
{
    return ice_of(store)->commit.items.list;
}

enum zs_status zs_icechunk_open(struct zs_store **store, const char *commit, struct zs_error *err)
{
    struct ice_store *s = zs_calloc(1, sizeof *s);
    char *root = zs_strdup((*store)->root);
    if (s == NULL || root == NULL || pthread_mutex_init(&s->lock, NULL) != 0) {
        free(s);
        free(root);
        return zs_fail_memory(err);
    }
    s->base = (struct zs_store){.ops = &ops, .inner = *store, .root = root, .is_remote = (*store)->is_remote};
    s->base.read_only = ZS_ICECHUNK_READ_ONLY;
    s->base.is_snapshot = true;
    enum zs_status status = zs_icechunk_files_init(&s->files, *store, err);
    if (status == ZS_OK)
        status = zs_icechunk_find(&s->files, commit, &s->commit, err);
    if (status == ZS_OK)
        status = zs_icechunk_snapshot_open(&s->files, s->commit.id, &s->snapshot, err);
    if (status == ZS_OK)
        status = describe(s, err);
    if (status != ZS_OK) {
        release(s);
        return status;
    }
    s->base.manifest = s->commit.has_info ? ZS_ICECHUNK_REPOSITORY : ZS_ICECHUNK_MAIN;
    *store = &s->base;
    return ZS_OK;
}
