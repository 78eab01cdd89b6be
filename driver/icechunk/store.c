/* A commit of an Icechunk repository as a store: documents come from its snapshot, chunks from the references in its
 * manifests. A referenced object that is missing is an error, never absent: absent chunks read as fill value. */
#include "icechunk/icechunk.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/parallel.h"
#include "store/http.h"
#include "store/vsi.h"
#include "icechunk/icechunk_private.h"

/* Manifests that a store keeps for itself, whatever the budget of the process: one that is larger would be read again
 * for every chunk. */
#define KEPT_MANIFESTS 8

/* Manifests of coordinates that are fetched together, and the largest that is taken for one. */
#define MOST_COORDINATES 16
#define COORDINATES_BYTES ((uint64_t)256 << 10)

struct ice_store {
    struct zs_store base;
    struct zs_icechunk_files files;
    struct zs_icechunk_commit commit;
    struct zs_icechunk_snapshot snapshot;
    pthread_mutex_t lock; /* of the members below, and of the arrays' keys */
    struct zs_cache_entry *kept[KEPT_MANIFESTS];
    size_t next_kept;
};

/* A document; or a chunk: bytes in a manifest, or a range of another object, which is opened by the first read. */
struct ice_object {
    struct zs_object base;
    char *text; /* of a document */
    struct zs_cache_entry *manifest;
    struct zs_icechunk_ref ref;
    char *key; /* in the repository; NULL: bytes */
    pthread_mutex_t lock;
    struct zs_object *inner;
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
static enum zs_status load_keys(struct ice_store *s, struct zs_icechunk_array *array, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    (void)pthread_mutex_lock(&s->lock);
    if (array->keys == NULL)
        status = zs_array_keys_parse(
            array->path[0] == '\0' ? s->snapshot.root : zs_json_get(s->snapshot.shown, array->path), &array->keys, err);
    (void)pthread_mutex_unlock(&s->lock);
    /* old writers gave a scalar one dimension */
    if (status == ZS_OK && array->keys->ndim != array->ndim && !(array->keys->ndim == 0 && array->ndim == 1))
        status = zs_fail(err, ZS_CORRUPT, "%s/%s: expected %d dimensions, as in the snapshot, found %d", s->base.root,
                         array->path, array->ndim, array->keys->ndim);
    return status;
}

/* Finds the array and the position of the chunk that a key names. ZS_NOT_FOUND for other keys. */
static enum zs_status parse_key(struct ice_store *s, const char *key, struct zs_icechunk_array **array,
                                uint64_t *index, struct zs_error *err)
{
    size_t n = 0; /* of the root, then of each folder that the key names */
    const char *below = key;
    while ((*array = zs_icechunk_snapshot_array(&s->snapshot, key, n)) == NULL) {
        n += (n > 0) + strcspn(key + n + (n > 0), "/");
        if (key[n] == '\0')
            return fail_absent(s, key, err);
        below = key + n + 1;
    }
    ZS_TRY(load_keys(s, *array, err));
    return zs_chunk_key_parse((*array)->keys, below, index) ? ZS_OK : fail_absent(s, key, err);
}

/* Pins a manifest while it is among the last KEPT_MANIFESTS that were used. */
static void keep(struct ice_store *s, struct zs_cache_entry *entry)
{
    struct zs_cache_entry *older = NULL;
    (void)pthread_mutex_lock(&s->lock);
    bool is_kept = false;
    for (size_t i = 0; i < KEPT_MANIFESTS; i++)
        is_kept = is_kept || s->kept[i] == entry;
    if (!is_kept) {
        zs_icechunk_file_pin(entry);
        older = s->kept[s->next_kept];
        s->kept[s->next_kept] = entry;
        s->next_kept = (s->next_kept + 1) % KEPT_MANIFESTS;
    }
    (void)pthread_mutex_unlock(&s->lock);
    zs_icechunk_file_release(older);
}

/* Gets a manifest, pinned. Checks that it has as many references as the snapshot declares, if it declares a number. */
static enum zs_status get_manifest(struct ice_store *s, const unsigned char *id, struct zs_cache_entry **entry,
                                   struct zs_error *err)
{
    char text[ZS_ICECHUNK_ID_TEXT];
    struct zs_icechunk_manifest m;
    zs_icechunk_id_print(id, text);
    ZS_TRY(zs_icechunk_file_get(&s->files, ZS_ICECHUNK_MANIFEST, text, entry, err));
    const uint64_t refs = zs_icechunk_file_of(*entry)->refs;
    if (zs_icechunk_snapshot_manifest(&s->snapshot, id, &m) && (m.refs == refs || m.refs == 0)) { /* 0: unknown */
        keep(s, *entry);
        return ZS_OK;
    }
    zs_icechunk_file_release(*entry);
    return zs_fail(err, ZS_CORRUPT, "%s/manifests/%s: expected %llu references, as in the snapshot, found %llu",
                   s->base.root, text, (unsigned long long)m.refs, (unsigned long long)refs);
}

struct manifest_load {
    struct ice_store *s;
    const unsigned char *ids[MOST_COORDINATES];
};

/* Ignores failures: a later request for the manifest reports them. */
static enum zs_status load_one(void *ctx, size_t item, struct zs_error *err)
{
    const struct manifest_load *l = ctx;
    struct zs_cache_entry *entry;
    if (get_manifest(l->s, l->ids[item], &entry, err) == ZS_OK)
        zs_icechunk_file_release(entry);
    return ZS_OK;
}

/* Fetches, over a network, the manifests of a group's coordinates side by side when the first is read: the others are
 * read next. */
static void load_coordinates(struct ice_store *s, const struct zs_icechunk_array *array, const unsigned char *id)
{
    struct manifest_load l = {.s = s};
    char text[ZS_ICECHUNK_ID_TEXT];
    zs_icechunk_id_print(id, text);
    if (!s->base.is_remote || array->keys->ndim > 1 || zs_icechunk_file_is_known(&s->files, ZS_ICECHUNK_MANIFEST, text))
        return;
    const size_t n = zs_icechunk_snapshot_coordinates(&s->snapshot, array, COORDINATES_BYTES, l.ids, MOST_COORDINATES);
    if (n > 1)
        (void)!zs_parallel_for(MOST_COORDINATES, n, load_one, &l, NULL);
}

/* Finds where the chunk of a key lies. *manifest is pinned, *ref points into it. ZS_NOT_FOUND: there is no reference,
 * and the chunk is fill value. */
static enum zs_status find_chunk(struct ice_store *s, const char *key, struct zs_cache_entry **manifest,
                                 struct zs_icechunk_ref *ref, struct zs_error *err)
{
    struct zs_icechunk_array *a;
    uint64_t index[ZS_MAX_NDIM];
    ZS_TRY(parse_key(s, key, &a, index, err));
    const unsigned char *id = zs_icechunk_snapshot_find(a, index);
    if (id == NULL)
        return fail_absent(s, key, err);
    load_coordinates(s, a, id);
    ZS_TRY(get_manifest(s, id, manifest, err));
    bool is_there = false;
    enum zs_status status = zs_icechunk_manifest_find(zs_icechunk_file_of(*manifest), a->id, index, a->keys->ndim,
                                                      &is_there, ref, err);
    char text[ZS_ICECHUNK_ID_TEXT];
    zs_icechunk_id_print(id, text);
    if (status != ZS_OK)
        status = zs_fail_in(err, status, "%s/manifests/%s", s->base.root, text);
    else if (!is_there)
        status = fail_absent(s, key, err);
    if (status != ZS_OK)
        zs_icechunk_file_release(*manifest);
    return status;
}

/* ---- Objects ---- */

static void ice_close(struct zs_object *object)
{
    struct ice_object *o = (struct ice_object *)object;
    zs_object_close(o->inner);
    free(o->text);
    zs_icechunk_file_release(o->manifest);
    (void)pthread_mutex_destroy(&o->lock);
    free(o->key);
    free(o);
}

/* Names the object elsewhere that a reference leads to, without a password and a signature in its URL. */
static enum zs_status fail_virtual(const struct ice_store *s, const struct ice_object *o, struct zs_error *err)
{
    char *location;
    ZS_TRY(zs_icechunk_manifest_location(zs_icechunk_file_of(o->manifest), &o->ref, &location, err));
    char *shown = zs_text_shown(location);
    const enum zs_status status =
        zs_fail(err, ZS_UNSUPPORTED, "expected a chunk of the repository, found a virtual chunk: bytes of %.500s",
                shown != NULL ? shown : "another file");
    free(shown);
    free(location);
    return status;
}

/* Sets the key of the object that the reference leads to. */
static enum zs_status find_object(struct ice_store *s, struct ice_object *o, struct zs_error *err)
{
    const struct zs_icechunk_ref *ref = &o->ref;
    char text[ZS_ICECHUNK_ID_TEXT];
    if (ref->bytes != NULL)
        return ZS_OK;
    if (ref->chunk_id == NULL)
        return fail_virtual(s, o, err);
    zs_icechunk_id_print(ref->chunk_id, text);
    o->key = zs_format("chunks/%s", text);
    return o->key != NULL ? ZS_OK : zs_fail_memory(err);
}

/* Makes a version of a chunk: a key is the same object as long as the snapshot is the same. */
static uint64_t version_of(const struct ice_store *s, const struct ice_object *o, const char *key)
{
    const uint64_t v = zs_hash(ZS_HASH, s->commit.id, strlen(s->commit.id));
    return zs_hash(zs_hash(v, key, strlen(key)), &o->ref.offset, sizeof o->ref.offset);
}

static enum zs_status open_chunk(struct zs_store *store, const char *key, struct zs_object **object,
                                 struct zs_error *err)
{
    struct ice_store *s = ice_of(store);
    struct ice_object *o = zs_calloc(1, sizeof *o);
    if (o == NULL || pthread_mutex_init(&o->lock, NULL) != 0) {
        free(o);
        return zs_fail_memory(err);
    }
    o->base.store = store;
    enum zs_status status = find_chunk(s, key, &o->manifest, &o->ref, err);
    if (status != ZS_OK) {
        o->manifest = NULL;
    } else {
        o->base.size = o->ref.size;
        o->base.is_versioned = true;
        o->base.version = version_of(s, o, key);
        status = find_object(s, o, err);
        if (status != ZS_OK)
            status = zs_fail_in(err, status, "%s/%s", store->root, key);
    }
    if (status == ZS_OK)
        *object = &o->base;
    else
        ice_close(&o->base);
    return status;
}

/* Opens the object of a chunk with the first read from it: one request for both. */
static enum zs_status open_inner(struct ice_object *o, uint64_t offset, size_t n, void *data, bool *is_read,
                                 struct zs_error *err)
{
    struct zs_object *inner = NULL;
    (void)pthread_mutex_lock(&o->lock);
    *is_read = o->inner == NULL;
    (void)pthread_mutex_unlock(&o->lock);
    if (!*is_read)
        return ZS_OK;
    ZS_TRY(zs_object_open_range(o->base.store->inner, o->key, o->ref.offset + offset, n, data, &inner, err));
    (void)pthread_mutex_lock(&o->lock);
    if (o->inner == NULL) {
        o->inner = inner;
        inner = NULL;
    }
    (void)pthread_mutex_unlock(&o->lock);
    zs_object_close(inner); /* another thread was faster: its object is used */
    return ZS_OK;
}

static enum zs_status ice_read(struct zs_object *object, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    struct ice_object *o = (struct ice_object *)object;
    const void *bytes = o->text != NULL ? (const void *)o->text : o->ref.bytes;
    if (bytes != NULL) {
        memcpy(data, (const unsigned char *)bytes + offset, n);
        return ZS_OK;
    }
    bool is_read;
    enum zs_status status = open_inner(o, offset, n, data, &is_read, err);
    if (status == ZS_OK && !is_read)
        status = zs_object_read(o->inner, o->ref.offset + offset, n, data, err);
    if (status == ZS_NOT_FOUND)
        status = zs_fail(err, ZS_CORRUPT, "%s/%s: the repository refers to this object, which is not there",
                         o->base.store->inner->root, o->key);
    return status == ZS_CORRUPT ? zs_fail_in(err, status, "%s/%s", o->base.store->inner->root, o->key) : status;
}

/* Opens a chunk and reads its first or last n bytes: the index of a shard. The process remembers those of native
 * chunks, which never change. */
static enum zs_status open_end(struct zs_store *store, const char *key, bool tail, size_t n, void *data,
                               struct zs_object **object, struct zs_error *err)
{
    const struct ice_store *s = ice_of(store);
    struct zs_remembered found;
    void *entry;
    ZS_TRY(open_chunk(store, key, object, err));
    const struct ice_object *o = (const struct ice_object *)*object;
    const uint64_t size = zs_object_size(*object);
    if (size < n)
        return ZS_OK;
    char *name = store->is_remote && o->ref.chunk_id != NULL && n > 0
                     ? zs_format("%s?%llu+%llu", o->key, (unsigned long long)o->ref.offset, (unsigned long long)size)
                     : NULL;
    enum zs_status status = ZS_OK;
    if (name != NULL && zs_http_remembered_find(s->files.name, name, tail, n, &found, &entry)) {
        memcpy(data, found.bytes, n);
        zs_http_remembered_release(entry);
    } else {
        status = zs_object_read(*object, tail ? size - n : 0, n, data, err);
        if (status == ZS_OK && name != NULL)
            zs_http_remembered_put(s->files.name, name, tail, n, &(struct zs_remembered){size, "", "", data});
    }
    free(name);
    if (status != ZS_OK) {
        zs_object_close(*object);
        *object = NULL;
    }
    return status;
}

/* ---- The store ---- */

/* Finds the document that a key names; NULL for other keys. */
static const zs_json *document_of(const struct ice_store *s, const char *key)
{
    static const char end[] = "/zarr.json";
    const size_t n = strlen(key), m = sizeof end - 1;
    if (strcmp(key, end + 1) == 0)
        return s->snapshot.root;
    if (n <= m || strcmp(key + n - m, end) != 0) /* of a chunk: there may be many documents */
        return NULL;
    for (const zs_json *d = zs_json_first(s->snapshot.shown); d != NULL; d = zs_json_next(d))
        if (strlen(zs_json_name(d)) == n - m && strncmp(zs_json_name(d), key, n - m) == 0)
            return d;
    return NULL;
}

static enum zs_status open_document(struct zs_store *store, const zs_json *document, struct zs_object **object,
                                    struct zs_error *err)
{
    struct ice_object *o = zs_calloc(1, sizeof *o);
    if (o == NULL || (o->text = zs_json_print(document)) == NULL || pthread_mutex_init(&o->lock, NULL) != 0) {
        if (o != NULL)
            free(o->text);
        free(o);
        return zs_fail_memory(err);
    }
    o->base = (struct zs_object){.store = store, .size = strlen(o->text)};
    *object = &o->base;
    return ZS_OK;
}

static enum zs_status ice_open(struct zs_store *store, const char *key, struct zs_first_read *first,
                               struct zs_object **object, struct zs_error *err)
{
    const zs_json *document = document_of(ice_of(store), key);
    if (document != NULL)
        return open_document(store, document, object, err);
    if (first->kind != ZS_READ_HEAD && first->kind != ZS_READ_TAIL)
        return open_chunk(store, key, object, err);
    ZS_TRY(open_end(store, key, first->kind == ZS_READ_TAIL, first->n, first->data, object, err));
    first->is_read = true;
    return ZS_OK;
}

/* Lists nothing: the root's document has the metadata of all nodes. */
static enum zs_status ice_list(struct zs_store *store, const char *prefix, char ***names, struct zs_error *err)
{
    (void)names;
    return zs_fail(err, ZS_UNSUPPORTED, "%s/%s: a snapshot is not listed: its metadata are consolidated", store->root,
                   prefix);
}

/* Forgets the first and last bytes of a chunk, which were found broken. */
static void ice_forget(struct zs_store *store, const char *key)
{
    struct zs_object *object;
    if (!store->is_remote || open_chunk(store, key, &object, NULL) != ZS_OK)
        return;
    const struct ice_object *o = (const struct ice_object *)object;
    char *name = o->key != NULL ? zs_format("%s?%llu+%llu", o->key, (unsigned long long)o->ref.offset,
                                            (unsigned long long)object->size)
                                : NULL;
    if (name != NULL)
        zs_http_remembered_forget(ice_of(store)->files.name, name);
    free(name);
    zs_object_close(object);
}

static enum zs_status ice_locate(struct zs_store *store, const char *key, struct zs_store **where, char **inner,
                                 uint64_t *offset, struct zs_error *err)
{
    struct zs_object *object;
    ZS_TRY(open_chunk(store, key, &object, err));
    const struct ice_object *o = (const struct ice_object *)object;
    *where = o->key != NULL ? store->inner : store;
    *offset = o->ref.offset;
    *inner = o->key != NULL ? zs_strdup(o->key) : NULL;
    const bool ok = o->key == NULL || *inner != NULL;
    zs_object_close(object);
    return ok ? ZS_OK : zs_fail_memory(err);
}

/* Frees everything but the store that it stands before. */
static void release(struct ice_store *s)
{
    for (size_t i = 0; i < KEPT_MANIFESTS; i++)
        zs_icechunk_file_release(s->kept[i]);
    zs_icechunk_snapshot_close(&s->snapshot);
    zs_icechunk_commit_clear(&s->commit);
    zs_icechunk_files_free(&s->files);
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

static const struct zs_store_ops ops = {.open = ice_open,
                                        .read = ice_read,
                                        .close = ice_close,
                                        .list = ice_list,
                                        .free = ice_free,
                                        .forget = ice_forget,
                                        .locate = ice_locate};

enum zs_status zs_icechunk_describe(const struct zs_store *store, zs_json **document, struct zs_error *err)
{
    const struct ice_store *s = ice_of(store);
    const struct zs_icechunk_commit *c = &s->commit;
    zs_json *d = zs_json_new_object();
    char time[ZS_ICECHUNK_TIME_TEXT], *message = NULL;
    zs_icechunk_time_print(s->snapshot.flushed_at, time);
    bool ok = zs_json_add_string(d, "snapshot", c->id) != NULL;
    if (ok && s->snapshot.file != NULL)
        ok = zs_json_add_string(d, "time", time) != NULL;
    if (ok && zs_icechunk_text(&s->snapshot.message, &message))
        ok = message != NULL && zs_json_add_string(d, "message", message) != NULL;
    if (ok && c->branch != NULL)
        ok = zs_json_add_string(d, "branch", c->branch) != NULL;
    if (ok && c->tag != NULL)
        ok = zs_json_add_string(d, "tag", c->tag) != NULL;
    if (ok && c->branches != NULL)
        ok = zs_json_add(d, "branches", zs_json_copy(c->branches)) != NULL;
    if (ok && c->tags != NULL)
        ok = zs_json_add(d, "tags", zs_json_copy(c->tags)) != NULL;
    free(message);
    if (ok) {
        *document = d;
        return ZS_OK;
    }
    zs_json_free(d);
    return zs_fail_memory(err);
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
    struct zs_icechunk_selector selector;
    enum zs_status status = zs_icechunk_selector_parse(commit, &selector, err);
    if (status == ZS_OK)
        status = zs_icechunk_files_init(&s->files, *store, err);
    if (status == ZS_OK)
        status = zs_icechunk_find(&s->files, &selector, &s->commit, err);
    free(selector.text);
    if (status == ZS_OK)
        status = zs_icechunk_snapshot_open(&s->files, s->commit.id, &s->snapshot, err);
    if (status != ZS_OK) {
        release(s);
        return status;
    }
    s->base.manifest = s->commit.has_info ? ZS_ICECHUNK_REPOSITORY : ZS_ICECHUNK_MAIN;
    *store = &s->base;
    return ZS_OK;
}
