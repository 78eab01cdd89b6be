/* A commit of an Icechunk repository as a store: documents come from its snapshot, chunks from the references in its
 * manifests, which are searched in the file as it is. A referenced object that is missing is an error, never absent:
 * absent chunks read as fill value. */
#include "icechunk/icechunk.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/checked.h"
#include "base/map.h"
#include "codec/codec.h"
#include "icechunk/icechunk_private.h"
#include "store/vsi.h"
#include "zarr/name.h"

/* ---- Snapshots: the nodes of a commit ---- */

struct node {
    char *path;                      /* "" for the root */
    const unsigned char *id;
    struct zs_flat_vector document;  /* its zarr.json */
    struct zs_flat_vector manifests; /* of an array */
    struct zs_array_meta *keys;      /* how its chunk keys are spelt; NULL where its document does not say that, */
    char *keys_error;                /* and then the reason */
    bool is_array;
};

struct snapshot {
    struct zs_cache_entry *file; /* NULL where nothing was committed */
    uint64_t flushed_at;         /* microseconds since 1970 */
    struct zs_flat_vector message;
    struct node *nodes; /* sorted by path */
    size_t count;
    char *root; /* the root's zarr.json */
};

#define NODE_ID_BYTES 8
#define EXTENT_BYTES 8

/* Nodes of one snapshot: each becomes a document in memory. */
#define MAX_NODES ((size_t)100000)

enum { NODE_IS_ARRAY = 1, NODE_IS_GROUP = 2 };

/* Reads a table NodeSnapshot. */
static enum zs_status read_node(struct zs_flat_table table, struct node *out, struct zs_error *err)
{
    const struct zs_flat_vector name = zs_flat_vector(&table, 1, 1, true);
    const uint64_t type = zs_flat_number(&table, 3, 1);
    struct zs_flat_table data = zs_flat_table(&table, 4); /* ArrayNodeData */
    out->id = zs_flat_struct(&table, 0, NODE_ID_BYTES, true);
    out->document = zs_flat_vector(&table, 2, 1, true);
    out->is_array = type == NODE_IS_ARRAY;
    ZS_TRY(zs_flat_check(&table, err));
    char *path = zs_icechunk_text(&name);
    enum zs_status status = ZS_OK;
    if (path == NULL || path[0] != '/' || (path[1] != '\0' && !zs_path_is_clean(path + 1)))
        status = zs_fail(err, ZS_INVALID, "expected a path inside the store, found \"%.200s\"",
                         path != NULL ? path : "other bytes");
    else if (type != NODE_IS_ARRAY && type != NODE_IS_GROUP)
        status = zs_fail(err, ZS_UNSUPPORTED, "%s: expected an array or a group, found a node of type %d", path,
                         (int)type);
    if (status == ZS_OK && out->is_array) {
        out->manifests = zs_flat_vector(&data, 2, 4, true);
        status = zs_flat_check(&data, err);
        if (status != ZS_OK)
            status = zs_fail_in(err, status, "%s", path);
    }
    if (status == ZS_OK && (out->path = zs_strdup(path + 1)) == NULL)
        status = zs_fail_memory(err);
    free(path);
    return status;
}

static int compare_nodes(const void *a, const void *b)
{
    return strcmp(((const struct node *)a)->path, ((const struct node *)b)->path);
}

static enum zs_status read_snapshot(struct snapshot *snapshot, struct zs_error *err)
{
    struct zs_flat_table root = zs_flat_root(&((const struct zs_icechunk_file *)zs_cache_value(snapshot->file))->flat);
    const struct zs_flat_vector nodes = zs_flat_vector(&root, 2, 4, true);
    snapshot->flushed_at = zs_flat_number(&root, 3, 8);
    snapshot->message = zs_flat_vector(&root, 4, 1, false);
    ZS_TRY(zs_flat_check(&root, err));
    if (nodes.count > MAX_NODES)
        return zs_fail(err, ZS_UNSUPPORTED, "expected at most %zu nodes, found %zu", MAX_NODES, nodes.count);
    snapshot->nodes = zs_calloc(nodes.count, sizeof *snapshot->nodes);
    ZS_TRY_MEMORY(snapshot->nodes, err);
    for (; snapshot->count < nodes.count; snapshot->count++)
        ZS_TRY(read_node(zs_flat_element(&nodes, snapshot->count), &snapshot->nodes[snapshot->count], err));
    /* old writers sorted them otherwise */
    qsort(snapshot->nodes, snapshot->count, sizeof *snapshot->nodes, compare_nodes);
    for (size_t i = 1; i < snapshot->count; i++)
        if (compare_nodes(&snapshot->nodes[i - 1], &snapshot->nodes[i]) == 0)
            return zs_fail(err, ZS_CORRUPT, "/%s: expected each path once, found it twice", snapshot->nodes[i].path);
    return ZS_OK;
}

static void close_snapshot(struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        free(snapshot->nodes[i].path);
        zs_array_meta_free(snapshot->nodes[i].keys);
        free(snapshot->nodes[i].keys_error);
    }
    free(snapshot->nodes);
    free(snapshot->root);
    zs_cache_release(snapshot->file);
}

/* Finds the node whose path is the first n bytes of `path`; NULL when there is none. */
static struct node *find_node(const struct snapshot *snapshot, const char *path, size_t n)
{
    for (size_t low = 0, high = snapshot->count; low < high;) {
        const size_t middle = low + (high - low) / 2;
        const char *found = snapshot->nodes[middle].path;
        const int order = strncmp(found, path, n);
        if (order == 0 && found[n] == '\0')
            return &snapshot->nodes[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* ---- The root's document ---- */

/* Reads the document of a node, which is freed by the caller, also on failure. */
static enum zs_status parse(struct node *node, zs_json **document, struct zs_error *err)
{
    struct zs_error reason = {0};
    const enum zs_status status =
        zs_json_parse((const char *)node->document.data, node->document.count, document, err);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "/%s%szarr.json", node->path, &"/"[node->path[0] == '\0']);
    const enum zs_status keys =
        node->is_array ? zs_array_meta_parse(*document, ZS_META_KEYS, &node->keys, &reason) : ZS_OK;
    node->keys_error = keys != ZS_OK && keys != ZS_NO_MEMORY ? zs_strdup(reason.message) : NULL;
    return keys == ZS_OK || node->keys_error != NULL ? ZS_OK : zs_fail_memory(err);
}

/* Reads the documents of all nodes, and makes that of the root with the others as consolidated metadata. */
static enum zs_status print_root(struct snapshot *snapshot, struct zs_error *err)
{
    static const char group[] = "{\"zarr_format\":3,\"node_type\":\"group\"}";
    const bool has_root = snapshot->count > 0 && snapshot->nodes[0].path[0] == '\0';
    zs_json *root = NULL;
    enum zs_status status =
        has_root ? parse(&snapshot->nodes[0], &root, err) : zs_json_parse(group, strlen(group), &root, err);
    if (status == ZS_OK && !zs_json_is_object(root))
        status = zs_fail_found(err, ZS_CORRUPT, root, "zarr.json: expected an object");
    if (status == ZS_OK && (!has_root || !snapshot->nodes[0].is_array)) { /* an array has nothing below it */
        zs_json_remove(root, "consolidated_metadata"); /* those may be of another commit */
        zs_json *consolidated = zs_json_add_object(root, "consolidated_metadata");
        (void)zs_json_add_string(consolidated, "kind", "inline");
        (void)zs_json_add_bool(consolidated, "must_understand", false);
        zs_json *metadata = zs_json_add_object(consolidated, "metadata");
        for (size_t i = has_root; i < snapshot->count && status == ZS_OK; i++) {
            zs_json *document = NULL;
            status = parse(&snapshot->nodes[i], &document, err);
            if (status != ZS_OK)
                zs_json_free(document);
            else if (zs_json_add(metadata, snapshot->nodes[i].path, document) == NULL)
                status = zs_fail_memory(err);
        }
    }
    if (status == ZS_OK && (snapshot->root = zs_json_print(root)) == NULL)
        status = zs_fail_memory(err);
    zs_json_free(root);
    return status;
}

/* Reads a snapshot ("": the empty one before the first commit). Close it also on failure. */
static enum zs_status open_snapshot(const struct zs_icechunk_files *files, const char *id, struct snapshot *snapshot,
                                    struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    if (id[0] != '\0') {
        ZS_TRY(zs_icechunk_file_get(files, ZS_ICECHUNK_SNAPSHOT, id, ZS_CORRUPT, &snapshot->file, err));
        status = read_snapshot(snapshot, err);
    }
    if (status == ZS_OK)
        status = print_root(snapshot, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "%s/snapshots/%s", files->store->root, id);
}

/* Finds the id of the manifest with the chunk at a position of `ndim` numbers; NULL for a chunk that is fill value. A
 * table ManifestRef names the chunks from begin to end in each dimension, in 32 bits each, that may be in it. Old
 * writers gave a scalar one dimension. */
static enum zs_status find_manifest(const struct node *array, const uint64_t *index, int ndim,
                                    const unsigned char **id, struct zs_error *err)
{
    *id = NULL;
    for (size_t i = 0; i < array->manifests.count && *id == NULL; i++) {
        struct zs_flat_table t = zs_flat_element(&array->manifests, i);
        const unsigned char *manifest = zs_flat_struct(&t, 0, ZS_ICECHUNK_ID_BYTES, true);
        const struct zs_flat_vector extents = zs_flat_vector(&t, 1, EXTENT_BYTES, true);
        ZS_TRY(zs_flat_check(&t, err));
        if (extents.count != (size_t)ndim && !(ndim == 0 && extents.count == 1))
            return zs_fail(err, ZS_CORRUPT, "%s: manifest %zu: expected extents of %d dimensions, found %zu",
                           array->path, i, ndim, extents.count);
        bool is_within = true;
        for (int d = 0; d < ndim; d++) {
            const unsigned char *extent = extents.data + EXTENT_BYTES * (size_t)d;
            const uint32_t begin = zs_load_le32(extent), end = zs_load_le32(extent + 4);
            if (begin >= end)
                return zs_fail(err, ZS_CORRUPT, "%s: manifest %zu: expected an extent, found %u to %u", array->path, i,
                               begin, end);
            is_within = is_within && index[d] >= begin && index[d] < end;
        }
        *id = is_within ? manifest : NULL;
    }
    return ZS_OK;
}

/* ---- Manifests: the references to chunks ---- */

/* Location of a chunk's bytes: in the manifest (bytes), in an object of the repository (chunk_id), or, which is
 * not read, in an object elsewhere (a URL: a "virtual" chunk). */
struct reference {
    struct zs_flat_vector bytes;   /* of NULL: in an object */
    uint64_t offset, size;         /* in the object */
    const unsigned char *chunk_id; /* NULL: elsewhere */
    struct zs_flat_vector location; /* the URL; of NULL: compressed */
};

/* Reads the references to the chunks of an array, a table ArrayManifest. */
static enum zs_status read_array(struct zs_flat_table array, const unsigned char **node, struct zs_flat_vector *refs,
                                 struct zs_error *err)
{
    *node = zs_flat_struct(&array, 0, NODE_ID_BYTES, true);
    *refs = zs_flat_vector(&array, 1, 4, true);
    return zs_flat_check(&array, err);
}

/* Reads the position of a reference, a table ChunkRef. */
static enum zs_status read_index(struct zs_flat_table ref, struct zs_flat_vector *index, struct zs_error *err)
{
    *index = zs_flat_vector(&ref, 0, 4, true);
    return zs_flat_check(&ref, err);
}

static enum zs_status read_manifest(const struct zs_icechunk_file *file, struct zs_flat_vector *arrays,
                                    struct zs_error *err)
{
    struct zs_flat_table root = zs_flat_root(&file->flat);
    *arrays = zs_flat_vector(&root, 1, 4, true);
    return zs_flat_check(&root, err);
}

/* Compares two positions of n dimensions, as they are stored. */
static int compare_positions(const unsigned char *a, const unsigned char *b, size_t n)
{
    for (size_t d = 0; d < n; d++) {
        const uint32_t x = zs_load_le32(a + 4 * d), y = zs_load_le32(b + 4 * d);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

enum zs_status zs_icechunk_manifest_check(const struct zs_icechunk_file *file, struct zs_error *err)
{
    struct zs_flat_vector arrays, refs, index, before = {0};
    const unsigned char *node;
    ZS_TRY(read_manifest(file, &arrays, err));
    for (size_t i = 0; i < arrays.count; i++) {
        ZS_TRY(read_array(zs_flat_element(&arrays, i), &node, &refs, err));
        for (size_t j = 0; j < refs.count; j++, before = index) {
            ZS_TRY(read_index(zs_flat_element(&refs, j), &index, err));
            if (j > 0 && (before.count != index.count || compare_positions(before.data, index.data, index.count) >= 0))
                return zs_fail(err, ZS_CORRUPT, "array %zu, reference %zu: expected positions that increase", i, j);
        }
    }
    return ZS_OK;
}

/* Finds the references of an array. */
static enum zs_status find_array(const struct zs_icechunk_file *file, const unsigned char *node,
                                 struct zs_flat_vector *refs, struct zs_error *err)
{
    struct zs_flat_vector arrays;
    const unsigned char *found;
    ZS_TRY(read_manifest(file, &arrays, err));
    for (size_t i = 0; i < arrays.count; i++) {
        ZS_TRY(read_array(zs_flat_element(&arrays, i), &found, refs, err));
        if (memcmp(found, node, NODE_ID_BYTES) == 0)
            return ZS_OK;
    }
    /* writers name a manifest where it has chunks of the array */
    return zs_fail(err, ZS_CORRUPT, "expected references of the array, as in the snapshot, found none");
}

/* Reads a reference that was found. */
static enum zs_status read_ref(struct zs_flat_table table, struct reference *ref, struct zs_error *err)
{
    uint64_t end;
    ref->bytes = zs_flat_vector(&table, 1, 1, false);
    ref->offset = zs_flat_number(&table, 2, 8);
    ref->size = zs_flat_number(&table, 3, 8);
    ref->chunk_id = zs_flat_struct(&table, 4, ZS_ICECHUNK_ID_BYTES, false);
    ref->location = zs_flat_vector(&table, 5, 1, false);
    const struct zs_flat_vector compressed_location = zs_flat_vector(&table, 8, 1, false);
    ZS_TRY(zs_flat_check(&table, err));
    if (ref->bytes.of != NULL) {
        ref->size = ref->bytes.count;
        return ZS_OK;
    }
    if (ref->chunk_id == NULL && ref->location.of == NULL && compressed_location.of == NULL)
        return zs_fail(err, ZS_CORRUPT, "expected the bytes of a chunk, its id or its location, found none of them");
    if (ref->size == 0 || !zs_add_u64(ref->offset, ref->size, &end))
        return zs_fail(err, ZS_CORRUPT, "expected a range of bytes, found %llu at offset %llu",
                       (unsigned long long)ref->size, (unsigned long long)ref->offset);
    return ZS_OK;
}

/* Finds the reference of the chunk at `index` of the array of a node. ZS_NOT_FOUND, without a message, for a chunk that
 * is fill value. */
static enum zs_status find_reference(const struct zs_icechunk_file *file, const unsigned char *node,
                                     const uint64_t *index, int ndim, struct reference *ref, struct zs_error *err)
{
    unsigned char wanted[4 * ZS_MAX_NDIM] = {0}; /* old writers gave a scalar the index [0] */
    struct zs_flat_vector refs, found;
    for (int d = 0; d < ndim; d++)
        zs_store_le(wanted + 4 * d, index[d], 4); /* it lies in an extent, of such numbers */
    ZS_TRY(find_array(file, node, &refs, err));
    for (size_t low = 0, high = refs.count; low < high;) {
        const size_t middle = low + (high - low) / 2;
        ZS_TRY(read_index(zs_flat_element(&refs, middle), &found, err));
        const size_t n = found.count;
        if (n != (size_t)ndim && !(ndim == 0 && n == 1))
            return zs_fail(err, ZS_CORRUPT, "expected an index of %d dimensions, found %zu", ndim, n);
        const int order = compare_positions(found.data, wanted, n);
        if (order == 0)
            return read_ref(zs_flat_element(&refs, middle), ref, err);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return ZS_NOT_FOUND;
}

/* ---- The store and its objects ---- */

struct ice_store {
    struct zs_store base;
    struct zs_icechunk_files files;
    struct zs_icechunk_commit commit;
    struct snapshot snapshot;
    /* The manifest that was used last stays, whatever the budget of the process: one that is larger would be read again
     * for every chunk. */
    _Atomic(struct zs_cache_entry *) last;
};

/* A document; or a chunk: bytes in a manifest, or a range of another object. */
struct ice_object {
    struct zs_object base;
    const unsigned char *bytes; /* NULL: in an object */
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

/* Finds the array and the position of the chunk that a key names. ZS_NOT_FOUND for other keys. */
static enum zs_status parse_key(struct ice_store *s, const char *key, struct node **array, uint64_t *index,
                                struct zs_error *err)
{
    size_t n = 0; /* of the root, then of each folder that the key names */
    const char *below = key;
    while ((*array = find_node(&s->snapshot, key, n)) == NULL || !(*array)->is_array) {
        n += (n > 0) + strcspn(key + n + (n > 0), "/");
        if (key[n] == '\0')
            return fail_absent(s, key, err);
        below = key + n + 1;
    }
    if ((*array)->keys == NULL)
        return zs_fail(err, ZS_INVALID, "%s/%s: chunk keys: %s", s->base.root, (*array)->path, (*array)->keys_error);
    return zs_chunk_key_parse((*array)->keys, below, index) ? ZS_OK : fail_absent(s, key, err);
}

/* Gets a manifest, pinned for the caller. The store pins the manifest that was used last, too: s->last. */
static enum zs_status get_manifest(struct ice_store *s, const char *id, struct zs_cache_entry **entry,
                                   struct zs_error *err)
{
    struct zs_cache_entry *last;
    ZS_TRY(zs_icechunk_file_get(&s->files, ZS_ICECHUNK_MANIFEST, id, ZS_CORRUPT, entry, err));
    if (atomic_load(&s->last) == *entry)
        return ZS_OK;
    ZS_TRY(zs_icechunk_file_get(&s->files, ZS_ICECHUNK_MANIFEST, id, ZS_CORRUPT, &last, err)); /* a pin of its own */
    zs_cache_release(atomic_exchange(&s->last, last));
    return ZS_OK;
}

/* Finds where the chunk of a key lies. *manifest is pinned, *ref points into it. ZS_NOT_FOUND: there is no reference,
 * and the chunk is fill value. */
static enum zs_status find_chunk(struct ice_store *s, const char *key, struct zs_cache_entry **manifest,
                                 struct reference *ref, struct zs_error *err)
{
    struct node *a;
    uint64_t index[ZS_MAX_NDIM];
    const unsigned char *id;
    char text[ZS_ICECHUNK_ID_TEXT];
    ZS_TRY(parse_key(s, key, &a, index, err));
    enum zs_status status = find_manifest(a, index, a->keys->ndim, &id, err);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "%s/snapshots/%s", s->base.root, s->commit.id);
    if (id == NULL)
        return fail_absent(s, key, err);
    zs_icechunk_id_print(id, text);
    ZS_TRY(get_manifest(s, text, manifest, err));
    status = find_reference(zs_cache_value(*manifest), a->id, index, a->keys->ndim, ref, err);
    if (status == ZS_NOT_FOUND)
        return fail_absent(s, key, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "%s/manifests/%s", s->base.root, text);
}

/* ---- Objects ---- */

static void ice_close(struct zs_object *object)
{
    struct ice_object *o = (struct ice_object *)object;
    zs_object_close(o->inner);
    zs_cache_release(o->manifest);
    free(o->key);
    free(o);
}

/* Names the object elsewhere that a reference leads to, without a password and a signature in its URL. */
static enum zs_status fail_virtual(const struct reference *ref, struct zs_error *err)
{
    char *location = zs_icechunk_text(&ref->location);
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
    struct reference ref = {0};
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
        const enum zs_status status = fail_virtual(&ref, err);
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
        o->bytes = (const unsigned char *)s->snapshot.root;
        o->base.size = strlen(s->snapshot.root);
        return ZS_OK;
    }
    const struct node *node =
        n > m && strcmp(key + n - m, "/zarr.json") == 0 ? find_node(&s->snapshot, key, n - m) : NULL;
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
    const bool is_all = first->kind == ZS_READ_ALL && o->base.size <= first->n;
    if (is_all) { /* it may be a part of a larger object */
        ZS_TRY(zs_buffer_reset(first->all, (size_t)o->base.size, err));
        read = (struct zs_first_read){
            .kind = ZS_READ_RANGE, .offset = o->offset, .n = (size_t)o->base.size, .data = first->all->data};
        first->all->size = read.n;
    } else if (o->offset == 0) {
        read = *first;
    }
    ZS_TRY(zs_object_open_first(o->base.store->inner, o->key, &read, &o->inner, err));
    first->is_read = read.is_read && (is_all || o->inner->size == o->base.size);
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
    zs_cache_release(s->last);
    close_snapshot(&s->snapshot);
    zs_names_free(s->commit.items.list);
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
    char date[32] = "";
    if (s->snapshot.file == NULL)
        return ZS_OK;
    (void)gmtime_r(&seconds, &t);
    ZS_TRY(zs_names_add(items, zs_format("SNAPSHOT=%s", s->commit.id), err));
    (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &t);
    ZS_TRY(zs_names_add(items, zs_format("TIME=%s.%06dZ", date, (int)(s->snapshot.flushed_at % 1000000u)), err));
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
    ZS_TRY_MEMORY(s, err);
    s->base = (struct zs_store){
        .ops = &ops, .inner = *store, .root = (*store)->root, .is_remote = (*store)->is_remote};
    s->base.read_only = ZS_ICECHUNK_READ_ONLY;
    s->base.is_snapshot = true;
    zs_icechunk_files_init(&s->files, *store);
    enum zs_status status = zs_icechunk_find(&s->files, commit, &s->commit, err);
    if (status == ZS_OK)
        status = open_snapshot(&s->files, s->commit.id, &s->snapshot, err);
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
