#include "zarr/make.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "zarr/contents.h"
#include "zarr/hierarchy_private.h"

/* Creates the node of a document (taken over); fails for an array that could not be read. */
static enum zs_status make(const char *path, zs_json *document, struct zs_node **node, struct zs_error *err)
{
    ZS_TRY_MEMORY(document, err);
    ZS_TRY(zs_node_create(path, document, true, node, err));
    const struct zs_node *made = *node;
    if (made->type != ZS_NODE_ARRAY || made->array != NULL || made->is_text)
        return ZS_OK;
    const enum zs_status status = zs_fail(err, made->array_status, "%s", made->array_error->message);
    zs_node_free(*node); /* larger than arrays can be */
    return status;
}

enum zs_status zs_add_document(struct zs_hierarchy *hierarchy, const char *path, zs_json *document,
                               const struct zs_node **node, struct zs_error *err)
{
    struct zs_node *made;
    ZS_TRY(make(path, document, &made, err));
    ZS_TRY(zs_hierarchy_add(hierarchy, made, err));
    *node = made;
    return ZS_OK;
}

enum zs_status zs_root_make(struct zs_hierarchy *hierarchy, const struct zs_node **node, struct zs_error *err)
{
    return zs_add_document(hierarchy, "", zs_group_document(), node, err);
}

/* ---- New nodes ---- */

enum zs_status zs_hierarchy_check_free(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    const struct zs_node *occupant;
    ZS_TRY(zs_hierarchy_occupant(hierarchy, path, &occupant, err));
    if (occupant == NULL)
        return ZS_OK;
    return zs_fail(err, ZS_ARGUMENT, "%s: there is %s /%s already", zs_hierarchy_store(hierarchy)->root,
                   occupant->type == ZS_NODE_ARRAY ? "an array" : "a group", path);
}

/* Checks that a node may be created at a path, and removes chunks that were left there. */
static enum zs_status clear(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    ZS_TRY(zs_hierarchy_check_free(hierarchy, path, err));
    return zs_hierarchy_is_new(hierarchy) ? ZS_OK
                                          : zs_contents_remove_left(zs_hierarchy_store(hierarchy), path, err);
}

enum zs_status zs_node_check_name(const char *name, struct zs_error *err)
{
    if (zs_is_inside_name(name) && strncmp(name, ".z", 2) != 0) /* documents of Zarr v2 */
        return ZS_OK;
    return zs_fail(err, ZS_ARGUMENT, "\"%.200s\": expected a name without / and \\, not of dots alone, not beginning "
                   "with .z", name);
}

enum zs_status zs_node_make(struct zs_hierarchy *hierarchy, const char *parent, const char *name, zs_json *document,
                            const struct zs_node **node, struct zs_error *err)
{
    char *path = NULL;
    enum zs_status status = zs_node_check_name(name, err);
    if (status == ZS_OK)
        status = zs_hierarchy_check_writable(hierarchy, err);
    if (status == ZS_OK && (path = zs_path_join(parent, name)) == NULL)
        status = zs_fail_memory(err);
    if (status == ZS_OK)
        status = clear(hierarchy, path, err);
    if (status == ZS_OK)
        status = zs_add_document(hierarchy, path, document, node, err);
    else
        zs_json_free(document);
    free(path);
    return status;
}

enum zs_status zs_group_make(struct zs_hierarchy *hierarchy, const char *parent, const char *name,
                             const struct zs_node **node, struct zs_error *err)
{
    return zs_node_make(hierarchy, parent, name, zs_group_document(), node, err);
}

enum zs_status zs_array_make(struct zs_hierarchy *hierarchy, const char *parent, const char *name,
                             const struct zs_array_spec *spec, const struct zs_node **node, struct zs_error *err)
{
    return zs_node_make(hierarchy, parent, name, zs_array_document(spec), node, err);
}

enum zs_status zs_array_set_fill_value(struct zs_hierarchy *hierarchy, const struct zs_node *node, const void *value,
                                       const struct zs_node **replacement, struct zs_error *err)
{
    zs_json *document = zs_json_copy(node->document);
    ZS_TRY_MEMORY(document, err);
    zs_json_remove(document, "fill_value");
    if (zs_fill_value_add(document, "fill_value", &node->array->dtype, value) == NULL) {
        zs_json_free(document);
        return zs_fail_memory(err);
    }
    return zs_add_document(hierarchy, node->path, document, replacement, err);
}

/* A document with another shape, other names and other attributes; NULL without memory. */
static zs_json *changed_document(const zs_json *from, int ndim, const uint64_t *shape, const char *const *names,
                                 const zs_json *attributes)
{
    zs_json *document = zs_json_copy(from);
    bool ok = document != NULL;
    if (ok && shape != NULL)
        ok = zs_json_set(document, "shape", zs_shape_list(shape, ndim)) != NULL;
    if (ok && names != NULL)
        ok = zs_json_set(document, "dimension_names", zs_name_list(names, ndim)) != NULL;
    if (ok && attributes != NULL)
        ok = zs_json_set(document, "attributes", zs_json_copy(attributes)) != NULL;
    if (ok)
        return document;
    zs_json_free(document);
    return NULL;
}

/* Whether an array can have another shape (NULL: the one it has); *ndim is its rank. */
static enum zs_status check_shape(const struct zs_node *node, const uint64_t *shape, int *ndim, struct zs_error *err)
{
    const struct zs_array_meta *meta = node->array;
    const zs_json *sizes = zs_json_get(node->document, "shape");
    const char *grid = zs_extension_name(zs_json_get(node->document, "chunk_grid"), NULL);
    if (meta == NULL && (!zs_json_is_array(sizes) || zs_json_size(sizes) > ZS_MAX_NDIM))
        return zs_fail(err, ZS_UNSUPPORTED, "array /%s: expected a list of at most %d sizes as shape", node->path,
                       ZS_MAX_NDIM);
    *ndim = meta != NULL ? meta->ndim : (int)zs_json_size(sizes);
    if (shape != NULL && meta == NULL && (!node->is_text || grid == NULL || strcmp(grid, "regular") != 0))
        return zs_fail(err, ZS_UNSUPPORTED, "array /%s: it cannot be read, and not change its shape", node->path);
    for (int d = 0; d < *ndim && shape != NULL && meta != NULL; d++)
        if (shape[d] != meta->shape[d] && meta->edges[d] != NULL)
            return zs_fail(err, ZS_UNSUPPORTED,
                           "array /%s: its document lists the lengths of chunks along dimension "
                           "%d, for %llu elements: it cannot grow beyond them",
                           node->path, d, (unsigned long long)meta->shape[d]);
    return ZS_OK;
}

enum zs_status zs_array_update_document(struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                        const uint64_t *shape, const char *const *names, const zs_json *attributes,
                                        const struct zs_node **replacement, struct zs_error *err)
{
    struct zs_node *made;
    int ndim;
    ZS_TRY(check_shape(node, shape, &ndim, err));
    zs_json *document = changed_document(node->document, ndim, shape, names, attributes);
    ZS_TRY_MEMORY(document, err);
    ZS_TRY(zs_node_create(node->path, document, true, &made, err));
    if (made->array == NULL && node->array != NULL) {
        const enum zs_status status = zs_fail(err, made->array_status, "%s", made->array_error->message);
        zs_node_free(made); /* larger than arrays can be */
        return status;
    }
    ZS_TRY(zs_hierarchy_add(hierarchy, made, err));
    *replacement = made;
    return ZS_OK;
}

/* ---- Consolidated metadata of a new store ---- */

enum zs_status zs_root_consolidate(struct zs_hierarchy *hierarchy, struct zs_error *err)
{
    const struct zs_node **nodes;
    size_t count, n = 0;
    bool is_changed = false;
    ZS_TRY(zs_hierarchy_list_known(hierarchy, &nodes, &count, err));
    struct zs_listed *list = zs_calloc(count, sizeof *list);
    for (size_t i = 1; i < count && list != NULL; i++)
        if (nodes[i]->document != NULL) /* not of an implicit group */
            list[n++] = (struct zs_listed){.name = nodes[i]->path, .document = nodes[i]->document};
    zs_json_remove(nodes[0]->document, "consolidated_metadata"); /* it may list nodes that were removed since */
    const enum zs_status status =
        list != NULL ? zs_document_consolidate(nodes[0]->document, list, n, &is_changed, err) : zs_fail_memory(err);
    free(list);
    free(nodes);
    return status;
}
