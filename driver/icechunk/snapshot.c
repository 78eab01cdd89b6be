/* Snapshots of an Icechunk repository: the nodes of a commit, and which manifests have the chunks of an array. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "icechunk/icechunk_private.h"
#include "zarr/name.h"

/* The tables Snapshot, NodeSnapshot, ArrayNodeData and ManifestRef. */
static const struct zs_flat_field snapshot_fields[] = {
    {3, ZS_FLAT_NUMBER, 8, offsetof(struct zs_icechunk_snapshot, flushed_at), false},
    {4, ZS_FLAT_VECTOR, 1, offsetof(struct zs_icechunk_snapshot, message), false}};
static const struct zs_flat_field nodes_fields[] = {{2, ZS_FLAT_VECTOR, 4, 0, true}};

struct node {
    const unsigned char *id;
    struct zs_flat_vector path, document;
    uint64_t type;
    struct zs_flat_table data;
};
enum { NODE_IS_ARRAY = 1, NODE_IS_GROUP = 2 };
#define NODE(id, kind, size, member, is_needed) {id, kind, size, offsetof(struct node, member), is_needed}
static const struct zs_flat_field node_fields[] = {NODE(0, ZS_FLAT_STRUCT, ZS_ICECHUNK_NODE_ID_BYTES, id, true),
                                                   NODE(1, ZS_FLAT_VECTOR, 1, path, true),
                                                   NODE(2, ZS_FLAT_VECTOR, 1, document, true),
                                                   NODE(3, ZS_FLAT_NUMBER, 1, type, true),
                                                   NODE(4, ZS_FLAT_TABLE, 4, data, false)};
static const struct zs_flat_field array_fields[] = {{2, ZS_FLAT_VECTOR, 4, 0, false}};

/* A manifest of an array: the chunks from begin to end in each dimension may be in it. Old writers gave a scalar one
 * dimension. */
struct manifest {
    const unsigned char *id;
    struct zs_flat_vector extents; /* of 32 bits each: begin, end */
};
#define EXTENT_BYTES 8
static const struct zs_flat_field manifest_fields[] = {
    {0, ZS_FLAT_STRUCT, ZS_ICECHUNK_ID_BYTES, offsetof(struct manifest, id), true},
    {1, ZS_FLAT_VECTOR, EXTENT_BYTES, offsetof(struct manifest, extents), true}};

/* Nodes of one snapshot: each becomes a document in memory. */
#define MAX_NODES ((size_t)100000)

/* ---- Nodes ---- */

static enum zs_status read_node(const struct zs_flat_table *table, struct zs_icechunk_node *out, struct zs_error *err)
{
    struct node node = {0};
    ZS_TRY(ZS_FLAT_READ(table, node_fields, &node, err));
    char *path = zs_icechunk_text(&node.path);
    enum zs_status status = ZS_OK;
    if (path == NULL || path[0] != '/' || (path[1] != '\0' && !zs_path_is_clean(path + 1)))
        status = zs_fail(err, ZS_INVALID, "expected a path inside the store, found \"%.200s\"",
                         path != NULL ? path : "other bytes");
    else if (node.type != NODE_IS_ARRAY && node.type != NODE_IS_GROUP)
        status = zs_fail(err, ZS_UNSUPPORTED, "%s: expected an array or a group, found a node of type %d", path,
                         (int)node.type);
    *out = (struct zs_icechunk_node){.id = node.id, .document = node.document, .is_array = node.type == NODE_IS_ARRAY};
    if (status == ZS_OK && out->is_array &&
        (status = ZS_FLAT_READ(&node.data, array_fields, &out->manifests, err)) != ZS_OK)
        status = zs_fail_in(err, status, "%s", path);
    if (status == ZS_OK && (out->path = zs_strdup(path + 1)) == NULL)
        status = zs_fail_memory(err);
    free(path);
    return status;
}

static int compare_nodes(const void *a, const void *b)
{
    return strcmp(((const struct zs_icechunk_node *)a)->path, ((const struct zs_icechunk_node *)b)->path);
}

static enum zs_status read_snapshot(struct zs_icechunk_snapshot *snapshot, struct zs_error *err)
{
    const struct zs_flat_table root = zs_flat_root(&zs_icechunk_file_of(snapshot->file)->flat);
    struct zs_flat_vector nodes;
    ZS_TRY(ZS_FLAT_READ(&root, snapshot_fields, snapshot, err));
    ZS_TRY(ZS_FLAT_READ(&root, nodes_fields, &nodes, err));
    if (nodes.count > MAX_NODES)
        return zs_fail(err, ZS_UNSUPPORTED, "expected at most %zu nodes, found %zu", MAX_NODES, nodes.count);
    snapshot->nodes = zs_calloc(nodes.count, sizeof *snapshot->nodes);
    ZS_TRY_MEMORY(snapshot->nodes, err);
    for (; snapshot->count < nodes.count; snapshot->count++) {
        const struct zs_flat_table node = zs_flat_element(&nodes, snapshot->count);
        ZS_TRY(read_node(&node, &snapshot->nodes[snapshot->count], err));
    }
    /* old writers sorted them otherwise */
    qsort(snapshot->nodes, snapshot->count, sizeof *snapshot->nodes, compare_nodes);
    for (size_t i = 1; i < snapshot->count; i++)
        if (compare_nodes(&snapshot->nodes[i - 1], &snapshot->nodes[i]) == 0)
            return zs_fail(err, ZS_CORRUPT, "/%s: expected each path once, found it twice", snapshot->nodes[i].path);
    return ZS_OK;
}

enum zs_status zs_icechunk_snapshot_open(const struct zs_icechunk_files *files, const char *id,
                                         struct zs_icechunk_snapshot *snapshot, struct zs_error *err)
{
    *snapshot = (struct zs_icechunk_snapshot){0};
    if (id[0] == '\0')
        return ZS_OK;
    ZS_TRY(zs_icechunk_file_get(files, ZS_ICECHUNK_SNAPSHOT, id, &snapshot->file, err));
    const enum zs_status status = read_snapshot(snapshot, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "%s/snapshots/%s", files->store->root, id);
}

void zs_icechunk_snapshot_close(struct zs_icechunk_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        free(snapshot->nodes[i].path);
        zs_array_meta_free(snapshot->nodes[i].keys);
    }
    free(snapshot->nodes);
    zs_icechunk_file_release(snapshot->file);
}

struct zs_icechunk_node *zs_icechunk_snapshot_node(const struct zs_icechunk_snapshot *snapshot, const char *path,
                                                   size_t n)
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

static enum zs_status parse(const struct zs_icechunk_node *node, zs_json **document, struct zs_error *err)
{
    const enum zs_status status =
        zs_json_parse((const char *)node->document.data, node->document.count, document, err);
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "/%s%szarr.json", node->path, &"/"[node->path[0] == '\0']);
}

enum zs_status zs_icechunk_snapshot_root(const struct zs_icechunk_snapshot *snapshot, char **text,
                                         struct zs_error *err)
{
    static const char group[] = "{\"zarr_format\":3,\"node_type\":\"group\"}";
    const bool has_root = snapshot->count > 0 && snapshot->nodes[0].path[0] == '\0';
    zs_json *root = NULL;
    ZS_TRY(has_root ? parse(&snapshot->nodes[0], &root, err) : zs_json_parse(group, strlen(group), &root, err));
    enum zs_status status =
        zs_json_is_object(root) ? ZS_OK : zs_fail_found(err, ZS_CORRUPT, root, "zarr.json: expected an object");
    if (status == ZS_OK && (!has_root || !snapshot->nodes[0].is_array)) { /* an array has nothing below it */
        zs_json_remove(root, "consolidated_metadata"); /* those may be of another commit */
        zs_json *consolidated = zs_json_add_object(root, "consolidated_metadata");
        (void)zs_json_add_string(consolidated, "kind", "inline");
        (void)zs_json_add_bool(consolidated, "must_understand", false);
        zs_json *metadata = zs_json_add_object(consolidated, "metadata");
        for (size_t i = has_root; i < snapshot->count && status == ZS_OK; i++) {
            zs_json *document = NULL;
            status = parse(&snapshot->nodes[i], &document, err);
            if (status == ZS_OK && zs_json_add(metadata, snapshot->nodes[i].path, document) == NULL)
                status = zs_fail_memory(err);
        }
    }
    if (status == ZS_OK && (*text = zs_json_print(root)) == NULL)
        status = zs_fail_memory(err);
    zs_json_free(root);
    return status;
}

/* ---- Manifests ---- */

static enum zs_status read_manifest(const struct zs_icechunk_node *array, size_t index, struct manifest *manifest,
                                    struct zs_error *err)
{
    const struct zs_flat_table t = zs_flat_element(&array->manifests, index);
    return ZS_FLAT_READ(&t, manifest_fields, manifest, err);
}

enum zs_status zs_icechunk_snapshot_find(const struct zs_icechunk_node *array, const uint64_t *index, int ndim,
                                         const unsigned char **id, struct zs_error *err)
{
    *id = NULL;
    for (size_t i = 0; i < array->manifests.count && *id == NULL; i++) {
        struct manifest m = {0};
        ZS_TRY(read_manifest(array, i, &m, err));
        if (m.extents.count != (size_t)ndim && !(ndim == 0 && m.extents.count == 1))
            return zs_fail(err, ZS_CORRUPT, "%s: manifest %zu: expected extents of %d dimensions, found %zu",
                           array->path, i, ndim, m.extents.count);
        bool is_within = true;
        for (int d = 0; d < ndim; d++) {
            const unsigned char *extent = m.extents.data + EXTENT_BYTES * (size_t)d;
            const uint32_t begin = zs_load_le32(extent), end = zs_load_le32(extent + 4);
            if (begin >= end)
                return zs_fail(err, ZS_CORRUPT, "%s: manifest %zu: expected an extent, found %u to %u", array->path, i,
                               begin, end);
            is_within = is_within && index[d] >= begin && index[d] < end;
        }
        *id = is_within ? m.id : NULL;
    }
    return ZS_OK;
}
