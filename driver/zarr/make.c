#include "zarr/make.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/staging.h"
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

static enum zs_status add(struct zs_hierarchy *hierarchy, const char *path, zs_json *document,
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
    return add(hierarchy, "", zs_group_document(), node, err);
}

/* Checks that no other writer has stored a document at a path, or put a mark there, since the hierarchy found nothing
 * at it. `mark` is the caller's own; NULL: it has none. */
static enum zs_status check_found(struct zs_hierarchy *hierarchy, const char *path, const struct zs_contents *found,
                                  const char *mark, struct zs_error *err)
{
    for (size_t i = 0; i < found->own.count; i++) {
        const char *key = found->own.list[i];
        if (zs_is_document(key))
            return zs_fail(err, ZS_ARGUMENT, "%s: another writer made /%s meanwhile",
                           zs_hierarchy_store(hierarchy)->root, path);
        if (zs_is_mark(key) && (mark == NULL || strcmp(key, mark) != 0))
            ZS_TRY(zs_mark_check(zs_hierarchy_store(hierarchy), key, false, err));
    }
    return ZS_OK;
}

/* Removes chunks that were left at a path. */
static enum zs_status remove_left(struct zs_hierarchy *hierarchy, const char *path, const char *mark,
                                  struct zs_error *err)
{
    struct zs_store *store = zs_hierarchy_store(hierarchy);
    struct zs_contents found = {0};
    enum zs_status status = zs_contents_find_below(store, path, &found, err);
    if (status == ZS_OK)
        status = check_found(hierarchy, path, &found, mark, err);
    if (status == ZS_OK)
        status = zs_contents_remove(store, &found, mark != NULL ? ZS_MARKS_STAY : ZS_MARKS_GO, err);
    zs_contents_clear(&found);
    return status == ZS_UNSUPPORTED ? ZS_OK : status; /* of a store that cannot be listed */
}

/* Puts the mark of an array whose chunks come before its document: two that make one array would write over each
 * other's chunks. It goes when the document is stored. */
static enum zs_status put_mark(struct zs_hierarchy *hierarchy, const char *path, const char **mark,
                               struct zs_error *err)
{
    char *key = zs_path_join(path, ZS_MARK_NAME);
    ZS_TRY(zs_names_add(&hierarchy->marks, key, err));
    const enum zs_status status = zs_mark_put(zs_hierarchy_store(hierarchy), key, false, err);
    if (status != ZS_OK) {
        free(key);
        hierarchy->marks.list[--hierarchy->marks.count] = NULL;
    }
    *mark = status == ZS_OK ? key : NULL;
    return status;
}

static void remove_last_mark(struct zs_hierarchy *hierarchy)
{
    char *key = hierarchy->marks.list[--hierarchy->marks.count];
    hierarchy->marks.list[hierarchy->marks.count] = NULL;
    (void)zs_mark_remove(zs_hierarchy_store(hierarchy), key, NULL); /* the next maker sees that this process is gone */
    free(key);
}

void zs_hierarchy_remove_marks(struct zs_hierarchy *hierarchy)
{
    while (hierarchy->marks.count > 0)
        remove_last_mark(hierarchy);
}

/* Checks that a node may be created at a path, and removes chunks that were left there. */
static enum zs_status clear(struct zs_hierarchy *hierarchy, const char *path, bool is_array, struct zs_error *err)
{
    const struct zs_node *occupant;
    const char *mark = NULL;
    ZS_TRY(zs_hierarchy_occupant(hierarchy, path, &occupant, err));
    if (occupant != NULL)
        return zs_fail(err, ZS_ARGUMENT, "%s: there is %s /%s already", zs_hierarchy_store(hierarchy)->root,
                       occupant->type == ZS_NODE_ARRAY ? "an array" : "a group", path);
    /* never chunks without the document that describes them */
    ZS_TRY(zs_hierarchy_flush_removal(hierarchy, path, err));
    if (zs_hierarchy_is_new(hierarchy))
        return ZS_OK;
    if (is_array)
        ZS_TRY(put_mark(hierarchy, path, &mark, err));
    const enum zs_status status = remove_left(hierarchy, path, mark, err);
    if (status != ZS_OK && mark != NULL)
        remove_last_mark(hierarchy);
    return status;
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
        status = clear(hierarchy, path, zs_json_get(document, "shape") != NULL, err);
    if (status == ZS_OK)
        status = add(hierarchy, path, document, node, err);
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
    struct zs_node *made;
    ZS_TRY(make(node->path, document, &made, err));
    ZS_TRY(zs_hierarchy_update_node(hierarchy, made, err));
    *replacement = made;
    return ZS_OK;
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
    ZS_TRY(zs_hierarchy_update_node(hierarchy, made, err));
    *replacement = made;
    return ZS_OK;
}

/* ---- Renaming ---- */

/* Copies the node of an entry to its new path, in a new store with its pending change. */
static enum zs_status move_entry(struct zs_hierarchy *hierarchy, const char *path, const char *from, const char *to,
                                 struct zs_error *err)
{
    const struct zs_node *node = zs_hierarchy_known(hierarchy, path);
    struct zs_node *moved = NULL;
    if (node == NULL)
        return ZS_OK;
    char *new_path = zs_format("%s%s", to, path + strlen(from));
    zs_json *document = node->document != NULL ? zs_json_copy(node->document) : NULL;
    enum zs_status status =
        new_path != NULL && (document == NULL) == (node->document == NULL) ? ZS_OK : zs_fail_memory(err);
    if (status != ZS_OK)
        zs_json_free(document);
    else if (document == NULL)
        status = zs_node_create_implicit(new_path, &moved, err);
    else
        status = zs_node_create(new_path, document, true, &moved, err);
    free(new_path);
    ZS_TRY(status);
    return zs_hierarchy_root_is_pending(hierarchy) ? zs_hierarchy_add(hierarchy, moved, err)
                                                   : zs_hierarchy_put_node(hierarchy, moved, err);
}

/* Moves what is known at and below a path. */
static enum zs_status move_entries(struct zs_hierarchy *hierarchy, const char *from, const char *to,
                                   struct zs_error *err)
{
    size_t first, end;
    struct zs_names paths = {0};
    enum zs_status status = ZS_OK;
    zs_hierarchy_within(hierarchy, from, &first, &end);
    for (size_t i = first; i < end && status == ZS_OK; i++)
        status = zs_names_add(&paths, zs_strdup(hierarchy->entries[i].path), err);
    for (size_t i = 0; i < paths.count && status == ZS_OK; i++)
        status = move_entry(hierarchy, paths.list[i], from, to, err);
    for (size_t i = 0; i < paths.count && status == ZS_OK; i++) {
        struct zs_hierarchy_entry *entry = zs_hierarchy_entry_at(hierarchy, paths.list[i]);
        status = zs_hierarchy_vacate(hierarchy, entry, err);
        if (entry->change != NULL)
            zs_json_free(entry->change->before);
        free(entry->change);
        entry->change = NULL;
    }
    zs_names_free(paths.list);
    zs_hierarchy_forget_listing(hierarchy);
    return status;
}

/* Returns the path of a node under a new name, after checking that it may have that name; freed with free(). */
static enum zs_status new_path(struct zs_hierarchy *hierarchy, const char *path, const char *name, char **out,
                               struct zs_error *err)
{
    const struct zs_node *occupant = NULL;
    *out = NULL;
    ZS_TRY(zs_node_check_name(name, err));
    if (path[0] == '\0')
        return zs_fail(err, ZS_ARGUMENT, "the root of a store has no name in it");
    ZS_TRY(zs_hierarchy_check_writable(hierarchy, err));
    if (zs_hierarchy_store(hierarchy)->is_remote) /* before a document is taken off its list */
        return zs_fail(err, ZS_UNSUPPORTED, "%s/%s: a store of objects has no directories that could be renamed",
                       zs_hierarchy_store(hierarchy)->root, path);
    char *parent = zs_path_parent(path);
    char *to = parent != NULL ? zs_path_join(parent, name) : NULL;
    enum zs_status status = to != NULL ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK)
        status = zs_hierarchy_occupant(hierarchy, to, &occupant, err);
    if (status == ZS_OK && occupant != NULL)
        status = zs_fail(err, ZS_ARGUMENT, "%s: there is %s /%s already", zs_hierarchy_store(hierarchy)->root,
                         occupant->type == ZS_NODE_ARRAY ? "an array" : "a group", to);
    free(parent);
    if (status == ZS_OK)
        *out = to;
    else
        free(to);
    return status;
}

enum zs_status zs_node_check_rename(struct zs_hierarchy *hierarchy, const char *path, const char *name,
                                    struct zs_error *err)
{
    char *to;
    zs_json *document = NULL;
    ZS_TRY(new_path(hierarchy, path, name, &to, err));
    free(to);
    if (!zs_hierarchy_root_is_pending(hierarchy)) /* a damaged one stays where it is */
        ZS_TRY(zs_document_load(zs_hierarchy_store(hierarchy), path, &document, NULL, err));
    zs_json_free(document);
    return ZS_OK;
}

enum zs_status zs_node_rename(struct zs_hierarchy *hierarchy, const char *path, const char *name, struct zs_error *err)
{
    char *to;
    const struct zs_node *node = NULL;
    ZS_TRY(zs_hierarchy_find(hierarchy, path, true, &node, err));
    ZS_TRY(new_path(hierarchy, path, name, &to, err));
    struct zs_store *store = zs_hierarchy_store(hierarchy);
    enum zs_status status = zs_hierarchy_root_is_pending(hierarchy)
                                ? zs_store_rename(store, path, to, err)
                                : zs_edits_rename(store, path, to, node->document == NULL, err);
    if (status == ZS_OK)
        status = move_entries(hierarchy, path, to, err);
    free(to);
    return status;
}

/* ---- Consolidated metadata of a new store ---- */

enum zs_status zs_root_consolidate(struct zs_hierarchy *hierarchy, struct zs_error *err)
{
    const struct zs_node **nodes;
    size_t count, n = 0;
    ZS_TRY(zs_hierarchy_list_known(hierarchy, &nodes, &count, err));
    const char **paths = zs_calloc(count, sizeof(char *));
    zs_json **documents = zs_calloc(count, sizeof(zs_json *));
    enum zs_status status = paths != NULL && documents != NULL ? ZS_OK : zs_fail_memory(err);
    for (size_t i = 1; i < count && status == ZS_OK; i++) {
        paths[n] = nodes[i]->path;
        documents[n++] = nodes[i]->document;
    }
    if (status == ZS_OK && n > 0)
        status = zs_document_consolidate(nodes[0]->document, paths, documents, n, err);
    free(paths);
    free(documents);
    free(nodes);
    return status;
}
