/* Renaming nodes. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "zarr/document.h"
#include "zarr/hierarchy_private.h"
#include "zarr/make.h"

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
        ZS_TRY(zs_document_load(zs_hierarchy_store(hierarchy), path, &document, err));
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
