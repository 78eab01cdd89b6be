/* Snapshots of an Icechunk repository: the nodes of a commit, and which manifests have the chunks of an array. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "zarr/document.h"
#include "icechunk/icechunk_private.h"
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
    return zs_fail(err, ZS_CORRUPT, "expected the FlatBuffer of a snapshot, found offsets that lead elsewhere");
}

/* ---- Files ---- */

/* Manifest `index` of the list, which is of structs in version 1. */
static bool file_at(const struct zs_icechunk_snapshot *snapshot, size_t index, struct zs_icechunk_manifest *manifest)
{
    struct zs_flat_table t;
    uint64_t refs;
    if (snapshot->files_are_structs) {
        const unsigned char *p = snapshot->files.data + FILE_BYTES * index;
        *manifest = (struct zs_icechunk_manifest){p, zs_load_le64(p + FILE_SIZE_AT), zs_load_le32(p + FILE_REFS_AT)};
        return index < snapshot->files.count;
    }
    if (!zs_flat_vector_table(&snapshot->files, index, &t) ||
        !zs_flat_struct(&t, FILE_ID, ZS_ICECHUNK_ID_BYTES, &manifest->id) ||
        !zs_flat_number(&t, FILE_SIZE, 8, 0, &manifest->size) || !zs_flat_number(&t, FILE_REFS, 4, 0, &refs))
        return false;
    manifest->refs = refs;
    return manifest->id != NULL;
}

bool zs_icechunk_snapshot_manifest(const struct zs_icechunk_snapshot *snapshot, const unsigned char *id,
                                   struct zs_icechunk_manifest *manifest)
{
    size_t low = 0, high = snapshot->files.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (!file_at(snapshot, middle, manifest))
            return false;
        const int order = memcmp(manifest->id, id, ZS_ICECHUNK_ID_BYTES);
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static enum zs_status read_files(struct zs_icechunk_snapshot *snapshot, const struct zs_flat_table *root,
                                 struct zs_error *err)
{
    struct zs_icechunk_manifest m, before = {0};
    if (!zs_flat_vector(root, SNAPSHOT_FILES_V2, 4, &snapshot->files))
        return fail_broken(err);
    snapshot->files_are_structs = snapshot->files.count == 0;
    if (snapshot->files_are_structs && !zs_flat_vector(root, SNAPSHOT_FILES, FILE_BYTES, &snapshot->files))
        return fail_broken(err);
    for (size_t i = 0; i < snapshot->files.count; i++) {
        if (!file_at(snapshot, i, &m))
            return zs_fail(err, ZS_CORRUPT, "manifest %zu: expected a table with an id, found none", i);
        if (i > 0 && memcmp(before.id, m.id, ZS_ICECHUNK_ID_BYTES) >= 0)
            return zs_fail(err, ZS_CORRUPT, "manifest %zu: expected ids that increase, found one that does not", i);
        before = m;
    }
    return ZS_OK;
}

/* ---- Nodes ---- */

/* Reads the number of dimensions of an array, which must have a shape. */
static enum zs_status read_shape(const struct zs_flat_table *data, int version, size_t *ndim, struct zs_error *err)
{
    struct zs_flat_vector shape, shape_v2;
    if (!zs_flat_vector(data, ARRAY_SHAPE, SHAPE_BYTES, &shape) || !zs_flat_vector(data, ARRAY_SHAPE_V2, 4, &shape_v2))
        return fail_broken(err);
    if (version > 1 && shape_v2.of == NULL)
        return zs_fail(err, ZS_CORRUPT, "expected a shape_v2, found none");
    *ndim = shape_v2.of != NULL ? shape_v2.count : shape.count;
    return *ndim <= ZS_MAX_NDIM ? ZS_OK
                                : zs_fail(err, ZS_UNSUPPORTED, "expected at most %d dimensions, found %zu", ZS_MAX_NDIM,
                                          *ndim);
}

/* The extents of manifest `index` of an array: `ndim` pairs of numbers, or one of a scalar of old writers. */
static bool extents_at(const struct zs_icechunk_array *array, size_t index, const unsigned char **id,
                       struct zs_flat_vector *extents)
{
    struct zs_flat_table t;
    return zs_flat_vector_table(&array->manifests, index, &t) &&
           zs_flat_struct(&t, MANIFEST_ID, ZS_ICECHUNK_ID_BYTES, id) && *id != NULL &&
           zs_flat_vector(&t, MANIFEST_EXTENTS, EXTENT_BYTES, extents) && extents->of != NULL;
}

/* Whether two lists of as many extents have a position in common. */
static bool overlap(const struct zs_flat_vector *a, const struct zs_flat_vector *b)
{
    for (size_t d = 0; d < a->count; d++)
        if (zs_load_le32(a->data + EXTENT_BYTES * d) >= zs_load_le32(b->data + EXTENT_BYTES * d + 4) ||
            zs_load_le32(b->data + EXTENT_BYTES * d) >= zs_load_le32(a->data + EXTENT_BYTES * d + 4))
            return false;
    return true;
}

static enum zs_status check_manifests(const struct zs_icechunk_snapshot *snapshot,
                                      const struct zs_icechunk_array *array, size_t ndim, struct zs_error *err)
{
    for (size_t i = 0; i < array->manifests.count; i++) {
        const unsigned char *id;
        struct zs_flat_vector extents, before;
        struct zs_icechunk_manifest m;
        if (!extents_at(array, i, &id, &extents))
            return fail_broken(err);
        if (extents.count != ndim && !(ndim == 0 && extents.count == 1))
            return zs_fail(err, ZS_CORRUPT, "manifest %zu: expected extents of %zu dimensions, found %zu", i, ndim,
                           extents.count);
        for (size_t d = 0; d < extents.count; d++) {
            const uint32_t from = zs_load_le32(extents.data + EXTENT_BYTES * d),
                           to = zs_load_le32(extents.data + EXTENT_BYTES * d + 4);
            if (from >= to)
                return zs_fail(err, ZS_CORRUPT, "manifest %zu: expected an extent, found %u to %u", i, from, to);
        }
        /* only neighbours are compared: pairs may be too many */
        if (i > 0 && extents_at(array, i - 1, &id, &before) && before.count == extents.count &&
            overlap(&before, &extents))
            return zs_fail(err, ZS_CORRUPT, "manifest %zu: expected other chunks than those of the one before", i);
        if (!extents_at(array, i, &id, &extents) || !zs_icechunk_snapshot_manifest(snapshot, id, &m)) {
            char text[ZS_ICECHUNK_ID_TEXT];
            zs_icechunk_id_print(id, text);
            return zs_fail(err, ZS_CORRUPT, "manifest %s: expected it in the snapshot's list, where it is not", text);
        }
    }
    return ZS_OK;
}

static enum zs_status add_array(struct zs_icechunk_snapshot *snapshot, const struct zs_flat_table *node,
                                const char *path, const unsigned char *id, struct zs_error *err)
{
    struct zs_flat_table data;
    size_t ndim;
    ZS_TRY_GROW(snapshot->arrays, snapshot->count, &snapshot->capacity, err);
    struct zs_icechunk_array *a = &snapshot->arrays[snapshot->count];
    *a = (struct zs_icechunk_array){.id = id};
    if (!zs_flat_table(node, NODE_DATA, &data) || data.of == NULL ||
        !zs_flat_vector(&data, ARRAY_MANIFESTS, 4, &a->manifests))
        return fail_broken(err);
    ZS_TRY(read_shape(&data, zs_icechunk_file_of(snapshot->file)->version, &ndim, err));
    ZS_TRY(check_manifests(snapshot, a, ndim, err));
    a->ndim = (int)ndim;
    a->path = zs_strdup(path);
    ZS_TRY_MEMORY(a->path, err);
    snapshot->count++;
    return ZS_OK;
}

/* The path of a node as Zarr has it, without the slash that it begins with; freed with free(). */
static enum zs_status read_path(const struct zs_flat_table *node, char **path, struct zs_error *err)
{
    struct zs_flat_vector text;
    char *whole = NULL;
    if (!zs_flat_vector(node, NODE_PATH, 1, &text))
        return fail_broken(err);
    if (!zs_icechunk_text(&text, &whole))
        return zs_fail(err, ZS_CORRUPT, "expected a path as text, found other bytes");
    ZS_TRY_MEMORY(whole, err);
    enum zs_status status = ZS_OK;
    if (whole[0] != '/' || (whole[1] != '\0' && !zs_path_is_clean(whole + 1)))
        status = zs_fail(err, ZS_INVALID, "expected a path inside the store, found \"%.200s\"", whole);
    else
        memmove(whole, whole + 1, strlen(whole));
    if (status == ZS_OK)
        *path = whole;
    else
        free(whole);
    return status;
}

/* Reads the document of a node and checks that it is of the kind in the table. */
static enum zs_status read_document(const struct zs_flat_table *node, uint64_t type, size_t *bytes, zs_json **document,
                                    struct zs_error *err)
{
    struct zs_flat_vector text;
    if (!zs_flat_vector(node, NODE_USER_DATA, 1, &text))
        return fail_broken(err);
    if (text.of == NULL || text.count > ZS_JSON_MAX_BYTES - *bytes)
        return zs_fail(err, ZS_INVALID, "expected documents of at most %zu bytes", ZS_JSON_MAX_BYTES);
    *bytes += text.count;
    ZS_TRY(zs_json_parse((const char *)text.data, text.count, document, err));
    const char *kind = type == NODE_IS_ARRAY ? "array" : "group";
    if (zs_json_equals(zs_json_get(*document, "node_type"), kind))
        return ZS_OK;
    zs_json_free(*document);
    return zs_fail(err, ZS_INVALID, "node_type: expected \"%s\", as in the snapshot", kind);
}

/* Adds the document of a node. The root's loses its own consolidated metadata: the snapshot's replace them. */
static enum zs_status add_document(struct zs_icechunk_snapshot *snapshot, const char *path, zs_json *document,
                                   struct zs_error *err)
{
    if (path[0] != '\0')
        return zs_json_add(snapshot->documents, path, document) != NULL ? ZS_OK : zs_fail_memory(err);
    zs_json_remove(document, "consolidated_metadata");
    zs_json_free(snapshot->root);
    snapshot->root = document;
    return ZS_OK;
}

static enum zs_status read_node(struct zs_icechunk_snapshot *snapshot, const struct zs_flat_table *node, char **path,
                                size_t *bytes, struct zs_error *err)
{
    const unsigned char *id;
    uint64_t type;
    zs_json *document;
    ZS_TRY(read_path(node, path, err));
    if (!zs_flat_struct(node, NODE_ID, ZS_ICECHUNK_NODE_ID_BYTES, &id) || id == NULL ||
        !zs_flat_number(node, NODE_TYPE, 1, 0, &type))
        return fail_broken(err);
    if (type != NODE_IS_ARRAY && type != NODE_IS_GROUP)
        return zs_fail(err, ZS_UNSUPPORTED, "/%s: expected an array or a group, found a node of type %d", *path,
                       (int)type);
    enum zs_status status = type == NODE_IS_ARRAY ? add_array(snapshot, node, *path, id, err) : ZS_OK;
    if (status == ZS_OK)
        status = read_document(node, type, bytes, &document, err);
    if (status == ZS_OK)
        status = add_document(snapshot, *path, document, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "/%s", *path);
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int compare_arrays(const void *a, const void *b)
{
    return strcmp(((const struct zs_icechunk_array *)a)->path, ((const struct zs_icechunk_array *)b)->path);
}

static enum zs_status read_nodes(struct zs_icechunk_snapshot *snapshot, const struct zs_flat_vector *nodes,
                                 struct zs_error *err)
{
    size_t count = 0, bytes = 0;
    char **paths = zs_calloc(nodes->count + 1, sizeof *paths);
    enum zs_status status = paths != NULL ? ZS_OK : zs_fail_memory(err);
    while (status == ZS_OK && count < nodes->count) {
        struct zs_flat_table node;
        status = zs_flat_vector_table(nodes, count, &node) ? read_node(snapshot, &node, &paths[count], &bytes, err)
                                                           : fail_broken(err);
        count++;
    }
    if (status == ZS_OK)
        qsort(paths, count, sizeof *paths, compare_text); /* old writers sorted them otherwise */
    for (size_t i = 1; i < count && status == ZS_OK; i++)
        if (strcmp(paths[i - 1], paths[i]) == 0)
            status = zs_fail(err, ZS_CORRUPT, "/%s: expected each path once, found it twice", paths[i]);
    if (status == ZS_OK && snapshot->count > 1)
        qsort(snapshot->arrays, snapshot->count, sizeof *snapshot->arrays, compare_arrays);
    zs_names_free(paths);
    return status;
}

static enum zs_status read_snapshot(struct zs_icechunk_snapshot *snapshot, struct zs_error *err)
{
    struct zs_flat_table root;
    struct zs_flat_vector nodes, message;
    if (!zs_flat_root(&zs_icechunk_file_of(snapshot->file)->flat, &root) ||
        !zs_flat_vector(&root, SNAPSHOT_NODES, 4, &nodes) || nodes.of == NULL ||
        !zs_flat_number(&root, SNAPSHOT_FLUSHED_AT, 8, 0, &snapshot->flushed_at) ||
        !zs_flat_vector(&root, SNAPSHOT_MESSAGE, 1, &message))
        return fail_broken(err);
    snapshot->message = message;
    if (nodes.count > MAX_NODES)
        return zs_fail(err, ZS_UNSUPPORTED, "expected at most %zu nodes, found %zu", MAX_NODES, nodes.count);
    ZS_TRY(read_files(snapshot, &root, err));
    return read_nodes(snapshot, &nodes, err);
}

/* Puts all documents into the root's, as consolidated metadata. */
static enum zs_status consolidate(struct zs_icechunk_snapshot *snapshot, struct zs_error *err)
{
    if (snapshot->count > 0 && snapshot->arrays[0].path[0] == '\0')
        return ZS_OK; /* an array, with nothing below it */
    zs_json *consolidated = zs_json_add_object(snapshot->root, "consolidated_metadata");
    if (zs_json_add_string(consolidated, "kind", "inline") == NULL ||
        zs_json_add_bool(consolidated, "must_understand", false) == NULL)
        return zs_fail_memory(err);
    zs_json *documents = snapshot->documents;
    snapshot->documents = NULL;
    snapshot->shown = zs_json_add(consolidated, "metadata", documents);
    return snapshot->shown != NULL ? ZS_OK : zs_fail_memory(err);
}

enum zs_status zs_icechunk_snapshot_open(const struct zs_icechunk_files *files, const char *id,
                                         struct zs_icechunk_snapshot *snapshot, struct zs_error *err)
{
    *snapshot = (struct zs_icechunk_snapshot){.root = zs_group_document(), .documents = zs_json_new_object()};
    enum zs_status status = snapshot->root != NULL && snapshot->documents != NULL ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK && id[0] != '\0') {
        status = zs_icechunk_file_get(files, ZS_ICECHUNK_SNAPSHOT, id, &snapshot->file, err);
        if (status == ZS_OK && (status = read_snapshot(snapshot, err)) != ZS_OK)
            status = zs_fail_in(err, status, "%s/snapshots/%s", files->store->root, id);
    }
    if (status == ZS_OK)
        status = consolidate(snapshot, err);
    if (status != ZS_OK)
        zs_icechunk_snapshot_close(snapshot);
    return status;
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
    *snapshot = (struct zs_icechunk_snapshot){0};
}

/* ---- Search ---- */

struct zs_icechunk_array *zs_icechunk_snapshot_array(struct zs_icechunk_snapshot *snapshot, const char *path, size_t n)
{
    for (size_t low = 0, high = snapshot->count; low < high;) {
        const size_t middle = low + (high - low) / 2;
        const char *found = snapshot->arrays[middle].path;
        int order = strncmp(found, path, n);
        if (order == 0 && found[n] != '\0')
            order = 1;
        if (order == 0)
            return &snapshot->arrays[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool contains(const struct zs_flat_vector *extents, const uint64_t *index, size_t ndim)
{
    for (size_t d = 0; d < ndim; d++)
        if (index[d] < zs_load_le32(extents->data + EXTENT_BYTES * d) ||
            index[d] >= zs_load_le32(extents->data + EXTENT_BYTES * d + 4))
            return false;
    return true;
}

const unsigned char *zs_icechunk_snapshot_find(const struct zs_icechunk_array *array, const uint64_t *index)
{
    const size_t ndim = (size_t)array->keys->ndim;
    const unsigned char *id;
    struct zs_flat_vector extents;
    for (size_t i = 0; i < array->manifests.count; i++)
        if (extents_at(array, i, &id, &extents) && extents.count >= ndim && contains(&extents, index, ndim))
            return id;
    return NULL;
}

size_t zs_icechunk_snapshot_coordinates(const struct zs_icechunk_snapshot *snapshot,
                                        const struct zs_icechunk_array *array, uint64_t most_bytes,
                                        const unsigned char **ids, size_t most)
{
    const char *slash = strrchr(array->path, '/');
    const size_t n = slash != NULL ? (size_t)(slash - array->path) + 1 : 0;
    size_t count = 0;
    for (size_t i = 0; i < snapshot->count && count < most; i++) {
        const struct zs_icechunk_array *b = &snapshot->arrays[i];
        struct zs_icechunk_manifest m;
        struct zs_flat_vector extents;
        const unsigned char *id;
        if (strncmp(array->path, b->path, n) != 0 || strchr(b->path + n, '/') != NULL || b->manifests.count != 1 ||
            !extents_at(b, 0, &id, &extents) || extents.count > 1 || !zs_icechunk_snapshot_manifest(snapshot, id, &m) ||
            m.size > most_bytes)
            continue;
        bool is_new = true;
        for (size_t k = 0; k < count; k++)
            is_new = is_new && memcmp(ids[k], id, ZS_ICECHUNK_ID_BYTES) != 0;
        if (is_new)
            ids[count++] = id;
    }
    return count;
}
