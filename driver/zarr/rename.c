/* Renames a node within its group: moves its directory. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "zarr/document.h"
#include "zarr/hierarchy_private.h"
#include "zarr/make.h"

/* Copies a node to its path behind a move; NULL without memory. */
static struct zs_node *copy_at(const struct zs_node *node, const char *from, const char *to)
{
    struct zs_node *copy = NULL;
    char *path = zs_format("%s%s", to, node->path + strlen(from));
    if (path != NULL && node->document == NULL)
        (void)zs_node_create_implicit(path, &copy, NULL);
    else if (path != NULL)
        (void)zs_node_create(path, zs_json_copy(node->document), true, &copy, NULL);
    free(path);
    return copy;
}

/* Moves what the table has at and below a path to another one. */
static enum zs_status move_nodes(struct zs_hierarchy *hierarchy, const char *from, const char *to,
                                 struct zs_error *err)
{
    size_t first, end, count = 0;
    zs_hierarchy_within(hierarchy, from, &first, &end);
    struct zs_node **moved = zs_calloc(end - first, sizeof *moved);
    enum zs_status status = moved != NULL ? ZS_OK : zs_fail_memory(err);
    for (size_t i = first; i < end && status == ZS_OK; i++) {
        if (hierarchy->entries[i].node == NULL)
            continue;
        moved[count] = copy_at(hierarchy->entries[i].node, from, to);
        status = moved[count] != NULL ? zs_hierarchy_vacate(hierarchy, &hierarchy->entries[i], err)
                                      : zs_fail_memory(err);
        count += moved[count] != NULL;
    }
    for (size_t i = 0; i < count; i++)
        if (status == ZS_OK)
            status = zs_hierarchy_put_node(hierarchy, moved[i], err);
        else
            zs_node_free(moved[i]);
    free(moved);
    return status;
}

static enum zs_status put_document(struct zs_store *store, const char *path, const zs_json *document,
                                   struct zs_error *err)
{
    char *text = NULL;
    enum zs_status status = zs_document_print(store, path, document, &text, err);
    if (status == ZS_OK)
        status = zs_document_put_text(store, path, NULL, text, err);
    free(text);
    return status;
}

/* Puts the document of a group, where it has consolidated metadata, without these. *document: as it was, else NULL. */
static enum zs_status unlist(struct zs_store *store, const char *group, zs_json **document, struct zs_error *err)
{
    ZS_TRY(zs_document_load(store, group, document, NULL, err));
    const bool is_listing = zs_json_get(*document, "consolidated_metadata") != NULL;
    zs_json *own = is_listing ? zs_document_own(*document) : NULL;
    enum zs_status status = is_listing && own == NULL ? zs_fail_memory(err) : ZS_OK;
    if (own != NULL)
        status = put_document(store, group, own, err);
    zs_json_free(own);
    if (status == ZS_OK && is_listing)
        return ZS_OK;
    zs_json_free(*document);
    *document = NULL;
    return status;
}

/* Removes the consolidated metadata of all groups above a path. *root: the root's former document; NULL where it has
 * none. */
static enum zs_status unlist_above(struct zs_store *store, const char *path, zs_json **root, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    char *group = zs_path_parent(path);
    while (group != NULL && status == ZS_OK) {
        zs_json_free(*root); /* of a group below */
        *root = NULL;
        status = unlist(store, group, root, err);
        char *above = zs_path_parent(group);
        free(group);
        group = above;
    }
    free(group);
    return status;
}

/* Lists what is at and below a path under another one. */
static enum zs_status list_moved(zs_json *root, const char *from, const char *to, struct zs_error *err)
{
    const zs_json *metadata = zs_document_listing(root);
    struct zs_listed *list = zs_calloc(zs_json_size(metadata) + 1, sizeof *list);
    struct zs_names names = {0};
    enum zs_status status = list != NULL ? ZS_OK : zs_fail_memory(err);
    for (const zs_json *m = zs_json_first(metadata); m != NULL && status == ZS_OK; m = zs_json_next(m)) {
        if (!zs_path_is_within(zs_json_name(m), from))
            continue;
        status = zs_names_add(&names, zs_format("%s%s", to, zs_json_name(m) + strlen(from)), err);
        if (status == ZS_OK)
            list[names.count] = (struct zs_listed){.name = names.list[names.count - 1], .document = m};
    }
    if (status == ZS_OK) {
        bool is_changed = false;
        list[0].name = from; /* goes */
        status = zs_document_consolidate(root, list, names.count + 1, &is_changed, err);
    }
    zs_names_free(names.list);
    free(list);
    return status;
}

/* Renames a directory whose store is locked where there are locks. The groups above have no consolidated metadata
 * meanwhile: readers must not take moved chunks for absent ones. Only the root gets them again. */
static enum zs_status rename_stored(struct zs_store *store, const char *from, const char *to, struct zs_error *err)
{
    char **names = NULL;
    zs_json *root = NULL;
    struct zs_error ignored;
    enum zs_status status = zs_store_list(store, from, &names, err);
    const bool is_there = status == ZS_OK && names[0] != NULL;
    zs_names_free(names);
    if (!is_there && (status == ZS_OK || status == ZS_NOT_FOUND))
        return zs_fail(err, ZS_INVALID, "%s/%s: another writer removed or renamed it meanwhile", store->root, from);
    if (status == ZS_OK)
        status = unlist_above(store, from, &root, err);
    if (status == ZS_OK)
        status = zs_store_rename(store, from, to, err);
    const bool is_moved = status == ZS_OK;
    if (is_moved && root != NULL)
        status = list_moved(root, from, to, err);
    if (status == ZS_OK && root != NULL)
        status = put_document(store, "", root, err);
    else if (!is_moved && root != NULL)
        (void)put_document(store, "", root, &ignored);
    zs_json_free(root);
    return status;
}

/* Returns the path of a node under a new name, after checking that it may have that name; freed with free(). */
static enum zs_status new_path(struct zs_hierarchy *hierarchy, const char *path, const char *name, char **out,
                               struct zs_error *err)
{
    const struct zs_store *store = zs_hierarchy_store(hierarchy);
    *out = NULL;
    ZS_TRY(zs_node_check_name(name, err));
    if (path[0] == '\0')
        return zs_fail(err, ZS_ARGUMENT, "the root of a store has no name in it");
    ZS_TRY(zs_hierarchy_check_writable(hierarchy, err));
    if (store->is_remote)
        return zs_fail(err, ZS_UNSUPPORTED, "%s/%s: a store of objects has no directories that could be renamed",
                       store->root, path);
    char *parent = zs_path_parent(path);
    char *to = parent != NULL ? zs_path_join(parent, name) : NULL;
    free(parent);
    const enum zs_status status = to != NULL ? zs_hierarchy_check_free(hierarchy, to, err) : zs_fail_memory(err);
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
    ZS_TRY(zs_document_load(zs_hierarchy_store(hierarchy), path, &document, NULL, err)); /* a damaged one stays */
    zs_json_free(document);
    return ZS_OK;
}

enum zs_status zs_node_rename(struct zs_hierarchy *hierarchy, const char *path, const char *name, struct zs_error *err)
{
    char *to;
    struct zs_lock *lock = NULL;
    struct zs_store *store = zs_hierarchy_store(hierarchy);
    ZS_TRY(zs_hierarchy_flush(hierarchy, err));
    ZS_TRY(new_path(hierarchy, path, name, &to, err));
    enum zs_status status = zs_hierarchy_enter(store, &lock, err);
    if (status == ZS_OK) {
        status = rename_stored(store, path, to, err);
        zs_store_unlock(store, lock);
    }
    if (status == ZS_OK)
        status = zs_hierarchy_keep(hierarchy, move_nodes(hierarchy, path, to, err));
    free(to);
    return status;
}
