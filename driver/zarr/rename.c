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

static enum zs_status put_document(const struct zs_hierarchy *now, const struct zs_node *node, struct zs_error *err)
{
    char *text = NULL;
    enum zs_status status = zs_document_print(now->store, node->path, node->document, &text, err);
    if (status == ZS_OK)
        status = zs_document_put_text(now->store, node->path, NULL, text, err);
    free(text);
    return status;
}

/* Puts the documents of the groups above a path that have consolidated metadata, without these: readers must not take
 * moved chunks for absent ones. *has_root: the root had some. */
static enum zs_status unlist(struct zs_hierarchy *now, const char *path, bool *has_root, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    *has_root = false;
    char *group = zs_path_parent(path);
    while (group != NULL && status == ZS_OK) {
        const struct zs_node *node = NULL;
        status = zs_hierarchy_node(now, group, &node, err);
        if (status == ZS_OK && zs_json_get(node->document, "consolidated_metadata") != NULL) {
            *has_root = group[0] == '\0';
            zs_json_remove(node->document, "consolidated_metadata");
            status = put_document(now, node, err);
        }
        char *above = zs_path_parent(group);
        free(group);
        group = above;
    }
    free(group);
    return status;
}

/* Consolidates the metadata of the root anew. */
static enum zs_status list_again(struct zs_hierarchy *now, struct zs_error *err)
{
    ZS_TRY(zs_root_consolidate(now, err));
    return put_document(now, zs_hierarchy_known(now, ""), err);
}

/* Renames a node in the store, as it is `now`, whose lock is held where there is one. A process that is killed
 * meanwhile leaves a store without consolidated metadata. */
static enum zs_status rename_stored(struct zs_hierarchy *now, const char *from, const char *to, struct zs_error *err)
{
    const struct zs_node **nodes, *node;
    size_t count;
    bool has_root;
    if (zs_json_get(zs_hierarchy_known(now, "")->document, "consolidated_metadata") != NULL) {
        ZS_TRY(zs_hierarchy_list(now, &nodes, &count, err)); /* what cannot be read is found before anything changes */
        free(nodes);
    }
    const enum zs_status found = zs_hierarchy_node(now, from, &node, err);
    if (found == ZS_NOT_FOUND)
        return zs_fail(err, ZS_INVALID, "%s/%s: another writer removed or renamed it meanwhile", now->store->root,
                       from);
    ZS_TRY(found);
    ZS_TRY(unlist(now, from, &has_root, err));
    struct zs_error ignored;
    enum zs_status status = zs_store_rename(now->store, from, to, err);
    if (status == ZS_OK)
        status = move_nodes(now, from, to, err);
    const enum zs_status again = has_root ? list_again(now, status == ZS_OK ? err : &ignored) : ZS_OK;
    return status == ZS_OK ? again : status;
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
    char *to, *etag = NULL;
    struct zs_lock *lock = NULL;
    struct zs_hierarchy *now = NULL;
    struct zs_store *store = zs_hierarchy_store(hierarchy);
    ZS_TRY(zs_hierarchy_flush(hierarchy, err));
    ZS_TRY(new_path(hierarchy, path, name, &to, err));
    enum zs_status status = zs_hierarchy_enter(store, &lock, &etag, err);
    if (status == ZS_OK) {
        status = zs_hierarchy_open(store, false, &now, err);
        if (status == ZS_OK)
            status = rename_stored(now, path, to, err);
        zs_hierarchy_free(now);
        zs_store_unlock(store, lock);
        free(etag);
    }
    if (status == ZS_OK)
        status = zs_hierarchy_keep(hierarchy, move_nodes(hierarchy, path, to, err));
    free(to);
    return status;
}
