/* Snapshots of an Icechunk repository: the nodes of a commit, and which manifests have the chunks of an array. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "icechunk/icechunk_private.h"
#include "zarr/document.h"
#include "zarr/name.h"

/* Fields of the tables Snapshot, NodeSnapshot, ArrayNodeData, ManifestRef and ManifestFileInfoV2. */
enum { SNAPSHOT_NODES = 2, SNAPSHOT_FLUSHED_AT = 3, SNAPSHOT_MESSAGE = 4, SNAPSHOT_FILES = 6, SNAPSHOT_FILES_V2 = 7 };
enum { NODE_ID, NODE_PATH, NODE_USER_DATA, NODE_TYPE, NODE_DATA };
enum { NODE_IS_ARRAY = 1, NODE_IS_GROUP = 2 };
enum { ARRAY_SHAPE = 0, ARRAY_MANIFESTS = 2, ARRAY_SHAPE_V2 = 3 };
enum { MANIFEST_ID, MANIFEST_EXTENTS };
enum { FILE_ID, FILE_SIZE, FILE_REFS };

/* The struct ManifestFileInfo: id, size, references, with the padding that aligns them. */
#define FILE_BYTES 32
#define FILE_SIZE_AT 16
#define FILE_REFS_AT 24
#define EXTENT_BYTES 8
#define SHAPE_BYTES 16

/* Nodes of one snapshot: each becomes a document in memory. */
#define MAX_NODES ((size_t)100000)

static enum zs_status fail_broken(struct zs_error *err)
{
    return zs_icechunk_fail_broken("snapshot", err);
}

/* ---- Files ---- */

/* Manifest `index` of the list, which is of structs in version 1. */
static struct zs_icechunk_manifest file_at(const struct zs_icechunk_snapshot *snapshot, size_t index)
{
    if (snapshot->files_are_structs) {
        const unsigned char *p = snapshot->files.data + FILE_BYTES * index;
        return (struct zs_icechunk_manifest){p, zs_load_le64(p + FILE_SIZE_AT), zs_load_le32(p + FILE_REFS_AT)};
    }
    const struct zs_flat_table t = zs_flat_element(&snapshot->files, index);
    return (struct zs_icechunk_manifest){zs_flat_struct(&t, FILE_ID, ZS_ICECHUNK_ID_BYTES),
                                         zs_flat_number(&t, FILE_SIZE, 8), zs_flat_number(&t, FILE_REFS, 4)};
}

struct zs_icechunk_manifest zs_icechunk_snapshot_manifest(const struct zs_icechunk_snapshot *snapshot,
                                                          const unsigned char *id)
{
    for (size_t low = 0, high = snapshot->files.count; low < high;) {
        const size_t middle = low + (high - low) / 2;
        const struct zs_icechunk_manifest manifest = file_at(snapshot, middle);
        const int order = memcmp(manifest.id, id, ZS_ICECHUNK_ID_BYTES);
        if (order == 0)
            return manifest;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return (struct zs_icechunk_manifest){0};
}

static enum zs_status read_files(struct zs_icechunk_snapshot *snapshot, const struct zs_flat_table *root,
                                 struct zs_error *err)
{
    const unsigned char *before = NULL;
    snapshot->files = zs_flat_vector(root, SNAPSHOT_FILES_V2, 4);
    snapshot->files_are_structs = snapshot->files.count == 0;
    if (snapshot->files_are_structs)
        snapshot->files = zs_flat_vector(root, SNAPSHOT_FILES, FILE_BYTES);
    for (size_t i = 0; i < snapshot->files.count; i++) {
        const struct zs_icechunk_manifest m = file_at(snapshot, i);
        if (m.id == NULL)
            return zs_fail(err, ZS_CORRUPT, "manifest %zu: expected a table with an id, found none", i);
        if (i > 0 && memcmp(before, m.id, ZS_ICECHUNK_ID_BYTES) >= 0)
            return zs_fail(err, ZS_CORRUPT, "manifest %zu: expected ids that increase, found one that does not", i);
        before = m.id;
    }
    return root->of->is_broken ? fail_broken(err) : ZS_OK;
}

/* ---- Nodes ---- */

/* A manifest of an array: the chunks from begin to end in each dimension may be in it. Old writers gave a scalar one
 * dimension. */
struct extents {
    const unsigned char *id; /* NULL: broken */
    size_t ndim;
    const unsigned char *pairs;
};

static struct extents extents_at(const struct zs_icechunk_array *array, size_t index)
{
    const struct zs_flat_table t = zs_flat_element(&array->manifests, index);
    const struct zs_flat_vector pairs = zs_flat_vector(&t, MANIFEST_EXTENTS, EXTENT_BYTES);
    const unsigned char *id = zs_flat_struct(&t, MANIFEST_ID, ZS_ICECHUNK_ID_BYTES);
    return (struct extents){pairs.of != NULL ? id : NULL, pairs.count, pairs.data};
}

static uint32_t begin_of(const struct extents *e, size_t d)
{
    return zs_load_le32(e->pairs + EXTENT_BYTES * d);
}

static uint32_t end_of(const struct extents *e, size_t d)
{
    return zs_load_le32(e->pairs + EXTENT_BYTES * d + 4);
}

/* Whether two of as many dimensions have a position in common. */
static bool overlap(const struct extents *a, const struct extents *b)
{
    for (size_t d = 0; d < a->ndim; d++)
        if (begin_of(a, d) >= end_of(b, d) || begin_of(b, d) >= end_of(a, d))
            return false;
    return true;
}

static enum zs_status check_manifests(const struct zs_icechunk_snapshot *snapshot,
                                      const struct zs_icechunk_array *array, struct zs_error *err)
{
    struct extents before = {0};
    for (size_t i = 0; i < array->manifests.count; i++) {
        const struct extents e = extents_at(array, i);
        char text[ZS_ICECHUNK_ID_TEXT];
        if (e.id == NULL)
            return fail_broken(err);
        if (e.ndim != (size_t)array->ndim && !(array->ndim == 0 && e.ndim == 1))
            return zs_fail(err, ZS_CORRUPT, "manifest %zu: expected extents of %d dimensions, found %zu", i,
                           array->ndim, e.ndim);
        for (size_t d = 0; d < e.ndim; d++)
            if (begin_of(&e, d) >= end_of(&e, d))
                return zs_fail(err, ZS_CORRUPT, "manifest %zu: expected an extent, found %u to %u", i, begin_of(&e, d),
                               end_of(&e, d));
        /* only neighbours are compared: pairs may be too many */
        if (i > 0 && before.ndim == e.ndim && overlap(&before, &e))
            return zs_fail(err, ZS_CORRUPT, "manifest %zu: expected other chunks than those of the one before", i);
        zs_icechunk_id_print(e.id, text);
        if (zs_icechunk_snapshot_manifest(snapshot, e.id).id == NULL)
            return zs_fail(err, ZS_CORRUPT, "manifest %s: expected it in the snapshot's list, where it is not", text);
        before = e;
    }
    return ZS_OK;
}

static enum zs_status add_array(struct zs_icechunk_snapshot *snapshot, const struct zs_flat_table *node,
                                const char *path, const unsigned char *id, struct zs_error *err)
{
    const struct zs_flat_table data = zs_flat_table(node, NODE_DATA);
    const struct zs_flat_vector shape = zs_flat_vector(&data, ARRAY_SHAPE, SHAPE_BYTES),
                                shape_v2 = zs_flat_vector(&data, ARRAY_SHAPE_V2, 4);
    const size_t ndim = shape_v2.of != NULL ? shape_v2.count : shape.count;
    ZS_TRY_GROW(snapshot->arrays, snapshot->count, &snapshot->capacity, err);
    struct zs_icechunk_array *a = &snapshot->arrays[snapshot->count];
    *a = (struct zs_icechunk_array){.id = id, .manifests = zs_flat_vector(&data, ARRAY_MANIFESTS, 4)};
    if (node->of->is_broken || data.of == NULL)
        return fail_broken(err);
    if (zs_icechunk_file_of(snapshot->file)->version > 1 && shape_v2.of == NULL)
        return zs_fail(err, ZS_CORRUPT, "expected a shape_v2, found none");
    if (ndim > ZS_MAX_NDIM)
        return zs_fail(err, ZS_UNSUPPORTED, "expected at most %d dimensions, found %zu", ZS_MAX_NDIM, ndim);
    a->ndim = (int)ndim;
    ZS_TRY(check_manifests(snapshot, a, err));
    a->path = zs_strdup(path);
    ZS_TRY_MEMORY(a->path, err);
    snapshot->count++;
    return ZS_OK;
}

/* Reads the document of a node, checks that it is of the kind in the table, and adds it to the others. The root's loses
 * its own consolidated metadata: the snapshot's replace them. */
static enum zs_status add_document(struct zs_icechunk_snapshot *snapshot, const struct zs_flat_table *node,
                                   const char *path, size_t *bytes, struct zs_error *err)
{
    const struct zs_flat_vector text = zs_flat_vector(node, NODE_USER_DATA, 1);
    const char *kind = zs_flat_number(node, NODE_TYPE, 1) == NODE_IS_ARRAY ? "array" : "group";
    zs_json *document;
    if (text.of == NULL || text.count > ZS_JSON_MAX_BYTES - *bytes)
        return zs_fail(err, ZS_INVALID, "expected documents of at most %zu bytes", ZS_JSON_MAX_BYTES);
    *bytes += text.count;
    ZS_TRY(zs_json_parse((const char *)text.data, text.count, &document, err));
    if (!zs_json_equals(zs_json_get(document, "node_type"), kind)) {
        zs_json_free(document);
        return zs_fail(err, ZS_INVALID, "node_type: expected \"%s\", as in the snapshot", kind);
    }
    if (path[0] != '\0')
        return zs_json_add(snapshot->documents, path, document) != NULL ? ZS_OK : zs_fail_memory(err);
    zs_json_remove(document, "consolidated_metadata");
    zs_json_free(snapshot->root);
    snapshot->root = document;
    return ZS_OK;
}

static enum zs_status read_node(struct zs_icechunk_snapshot *snapshot, const struct zs_flat_table *node, size_t *bytes,
                                struct zs_error *err)
{
    const struct zs_flat_vector name = zs_flat_vector(node, NODE_PATH, 1);
    const unsigned char *id = zs_flat_struct(node, NODE_ID, ZS_ICECHUNK_NODE_ID_BYTES);
    const int type = (int)zs_flat_number(node, NODE_TYPE, 1);
    if (node->of->is_broken || id == NULL)
        return fail_broken(err);
    char *path = zs_icechunk_text(&name);
    enum zs_status status = ZS_OK;
    if (path == NULL || path[0] != '/' || (path[1] != '\0' && !zs_path_is_clean(path + 1)))
        status = zs_fail(err, ZS_INVALID, "expected a path inside the store, found \"%.200s\"",
                         path != NULL ? path : "other bytes");
    else if (type != NODE_IS_ARRAY && type != NODE_IS_GROUP)
        status = zs_fail(err, ZS_UNSUPPORTED, "%s: expected an array or a group, found a node of type %d", path, type);
    else if ((type == NODE_IS_ARRAY && (status = add_array(snapshot, node, path + 1, id, err)) != ZS_OK) ||
             (status = add_document(snapshot, node, path + 1, bytes, err)) != ZS_OK)
        status = zs_fail_in(err, status, "%s", path);
    free(path);
    return status;
}

static int compare_arrays(const void *a, const void *b)
{
    return strcmp(((const struct zs_icechunk_array *)a)->path, ((const struct zs_icechunk_array *)b)->path);
}

static enum zs_status read_snapshot(struct zs_icechunk_snapshot *snapshot, struct zs_error *err)
{
    const struct zs_flat_table root = zs_flat_root(&zs_icechunk_file_of(snapshot->file)->flat);
    const struct zs_flat_vector nodes = zs_flat_vector(&root, SNAPSHOT_NODES, 4);
    size_t bytes = 0;
    snapshot->flushed_at = zs_flat_number(&root, SNAPSHOT_FLUSHED_AT, 8);
    snapshot->message = zs_flat_vector(&root, SNAPSHOT_MESSAGE, 1);
    if (nodes.of == NULL)
        return fail_broken(err);
    if (nodes.count > MAX_NODES)
        return zs_fail(err, ZS_UNSUPPORTED, "expected at most %zu nodes, found %zu", MAX_NODES, nodes.count);
    ZS_TRY(read_files(snapshot, &root, err));
    for (size_t i = 0; i < nodes.count; i++) {
        const struct zs_flat_table node = zs_flat_element(&nodes, i);
        ZS_TRY(node.of != NULL ? read_node(snapshot, &node, &bytes, err) : fail_broken(err));
    }
    if (snapshot->count > 1) /* old writers sorted them otherwise */
        qsort(snapshot->arrays, snapshot->count, sizeof *snapshot->arrays, compare_arrays);
    for (size_t i = 1; i < snapshot->count; i++)
        if (compare_arrays(&snapshot->arrays[i - 1], &snapshot->arrays[i]) == 0)
            return zs_fail(err, ZS_CORRUPT, "/%s: expected each path once, found it twice", snapshot->arrays[i].path);
    return ZS_OK;
}

/* Puts all documents into the root's, as consolidated metadata. */
static enum zs_status consolidate(struct zs_icechunk_snapshot *snapshot, struct zs_error *err)
{
    if (snapshot->count > 0 && snapshot->arrays[0].path[0] == '\0')
        return ZS_OK; /* an array, with nothing below it */
    zs_json *consolidated = zs_json_add_object(snapshot->root, "consolidated_metadata");
    zs_json *documents = snapshot->documents;
    if (zs_json_add_string(consolidated, "kind", "inline") == NULL ||
        zs_json_add_bool(consolidated, "must_understand", false) == NULL)
        return zs_fail_memory(err);
    snapshot->documents = NULL;
    return zs_json_add(consolidated, "metadata", documents) != NULL ? ZS_OK : zs_fail_memory(err);
}

enum zs_status zs_icechunk_snapshot_open(const struct zs_icechunk_files *files, const char *id,
                                         struct zs_icechunk_snapshot *snapshot, struct zs_error *err)
{
    *snapshot = (struct zs_icechunk_snapshot){.root = zs_group_document(), .documents = zs_json_new_object()};
    ZS_TRY_MEMORY(snapshot->root, err);
    ZS_TRY_MEMORY(snapshot->documents, err);
    if (id[0] != '\0') {
        ZS_TRY(zs_icechunk_file_get(files, ZS_ICECHUNK_SNAPSHOT, id, &snapshot->file, err));
        const enum zs_status status = read_snapshot(snapshot, err);
        if (status != ZS_OK)
            return zs_fail_in(err, status, "%s/snapshots/%s", files->store->root, id);
    }
    return consolidate(snapshot, err);
}

void zs_icechunk_snapshot_close(struct zs_icechunk_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        free(snapshot->arrays[i].path);
        zs_array_meta_free(snapshot->arrays[i].keys);
    }
    free(snapshot->arrays);
    zs_json_free(snapshot->documents);
    zs_json_free(snapshot->root);
    zs_icechunk_file_release(snapshot->file);
}

/* ---- Search ---- */

const zs_json *zs_icechunk_snapshot_document(const struct zs_icechunk_snapshot *snapshot, const char *path, size_t n)
{
    const zs_json *consolidated = zs_json_get(snapshot->root, "consolidated_metadata");
    const zs_json *d = n == 0 ? snapshot->root : zs_json_first(zs_json_get(consolidated, "metadata"));
    while (n > 0 && d != NULL && (strncmp(zs_json_name(d), path, n) != 0 || zs_json_name(d)[n] != '\0'))
        d = zs_json_next(d);
    return d;
}

struct zs_icechunk_array *zs_icechunk_snapshot_array(const struct zs_icechunk_snapshot *snapshot, const char *path,
                                                     size_t n)
{
    for (size_t low = 0, high = snapshot->count; low < high;) {
        const size_t middle = low + (high - low) / 2;
        const char *found = snapshot->arrays[middle].path;
        const int order = strncmp(found, path, n);
        if (order == 0 && found[n] == '\0')
            return &snapshot->arrays[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const unsigned char *zs_icechunk_snapshot_find(const struct zs_icechunk_array *array, const uint64_t *index)
{
    for (size_t i = 0; i < array->manifests.count; i++) {
        const struct extents e = extents_at(array, i);
        size_t d = 0, ndim = (size_t)array->keys->ndim;
        while (d < ndim && index[d] >= begin_of(&e, d) && index[d] < end_of(&e, d))
            d++;
        if (d == ndim)
            return e.id;
    }
    return NULL;
}

size_t zs_icechunk_snapshot_coordinates(const struct zs_icechunk_snapshot *snapshot,
                                        const struct zs_icechunk_array *array, uint64_t most_bytes,
                                        const unsigned char **ids, size_t most)
{
    const size_t n = (size_t)(zs_path_name(array->path) - array->path); /* of the group, with its slash */
    size_t count = 0;
    for (size_t i = 0; i < snapshot->count && count < most; i++) {
        const struct zs_icechunk_array *b = &snapshot->arrays[i];
        if (strncmp(array->path, b->path, n) != 0 || strchr(b->path + n, '/') != NULL || b->manifests.count != 1)
            continue;
        const struct extents e = extents_at(b, 0);
        bool is_wanted = e.ndim <= 1 && zs_icechunk_snapshot_manifest(snapshot, e.id).size <= most_bytes;
        for (size_t k = 0; k < count; k++)
            is_wanted = is_wanted && memcmp(ids[k], e.id, ZS_ICECHUNK_ID_BYTES) != 0;
        if (is_wanted)
            ids[count++] = e.id;
    }
    return count;
}
