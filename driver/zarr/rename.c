/* Renaming nodes. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "zarr/document.h"
#include "zarr/edit_journal.h"
#include "zarr/hierarchy_private.h"
#include "zarr/make.h"

/* Lists the nodes with documents at and below a path; *nodes is freed with free(). They stay valid when they are
 * removed from the hierarchy. */
static enum zs_status list_within(struct zs_hierarchy *hierarchy, const char *path, const struct zs_node ***nodes,
                                  size_t *count, struct zs_error *err)
{
    size_t all;
    ZS_TRY(zs_hierarchy_list(hierarchy, nodes, &all, err));
    *count = 0;
    for (size_t i = 0; i < all; i++)
        if (zs_path_is_within((*nodes)[i]->path, path) && (*nodes)[i]->document != NULL)
            (*nodes)[(*count)++] = (*nodes)[i];
    return ZS_OK;
}

/* Adds a node of the document of another one, which moves with its directory. */
static enum zs_status add_moved(struct zs_hierarchy *hierarchy, const struct zs_node *moved, const char *path,
                                struct zs_error *err)
{
    struct zs_node *node;
    zs_json *document = zs_json_copy(moved->document);
    ZS_TRY_MEMORY(document, err);
    ZS_TRY(zs_node_create(path, document, true, &node, err));
    return zs_hierarchy_root_is_pending(hierarchy) ? zs_hierarchy_add(hierarchy, node, err)
                                                   : zs_hierarchy_relist(hierarchy, node, node->document, NULL, err);
}

/* Adds the nodes that were at and below `from` at and below `to`. */
static enum zs_status add_all(struct zs_hierarchy *hierarchy, const struct zs_node *const *nodes, size_t count,
                              const char *from, const char *to, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < count && status == ZS_OK; i++) {
        char *path = zs_format("%s%s", to, nodes[i]->path + strlen(from));
        status = path != NULL ? add_moved(hierarchy, nodes[i], path, err) : zs_fail_memory(err);
        free(path);
    }
    return status;
}

static enum zs_status flush(struct zs_hierarchy *hierarchy, struct zs_error *err)
{
    return zs_hierarchy_root_is_pending(hierarchy) ? ZS_OK : zs_hierarchy_flush_locked(hierarchy, err);
}

/* Renames a node, of which these are the documents. No document lists it while its directory moves: readers must not
 * take moved chunks for missing ones. A node that could not be moved is listed again where it is. */
static enum zs_status move_nodes(struct zs_hierarchy *hierarchy, const struct zs_node *const *nodes, size_t count,
                                 const char *from, const char *to, struct zs_error *err)
{
    ZS_TRY(zs_hierarchy_unlist(hierarchy, from, err));
    enum zs_status status = flush(hierarchy, err);
    if (status == ZS_OK)
        status = zs_store_rename(zs_hierarchy_store(hierarchy), from, to, err);
    struct zs_error later;
    const bool is_moved = status == ZS_OK;
    enum zs_status added = add_all(hierarchy, nodes, count, from, is_moved ? to : from, is_moved ? err : &later);
    if (added == ZS_OK)
        added = flush(hierarchy, is_moved ? err : &later);
    return is_moved ? added : status;
}

static enum zs_status move(struct zs_hierarchy *hierarchy, const char *from, const char *to, struct zs_error *err)
{
    const struct zs_node **nodes;
    size_t count;
    ZS_TRY(list_within(hierarchy, from, &nodes, &count, err));
    const enum zs_status status = move_nodes(hierarchy, nodes, count, from, to, err);
    free(nodes);
    return status;
}

/* Like move(), with a journal, from which the next writer finishes the rename if this one is killed. The caller holds
 * the lock of the root's document. */
static enum zs_status move_noted(struct zs_hierarchy *hierarchy, const char *from, const char *to, struct zs_error *err)
{
    struct zs_store *store = zs_hierarchy_store(hierarchy);
    ZS_TRY(zs_hierarchy_recover_locked(store, err)); /* if that fails, the journal stays for the next writer */
    ZS_TRY(zs_edit_journal_put_rename(store, from, to, err));
    const enum zs_status status = move(hierarchy, from, to, err);
    if (zs_hierarchy_is_changed(hierarchy)) /* the next writer finishes it */
        return status;
    struct zs_error ignored;
    const enum zs_status removed = zs_edit_journal_remove(store, status == ZS_OK ? err : &ignored);
    return status == ZS_OK ? removed : status;
}

/* Renames under the lock of the root's document, where the store has locks. */
static enum zs_status move_safely(struct zs_hierarchy *hierarchy, const char *from, const char *to,
                                  struct zs_error *err)
{
    struct zs_lock *lock = NULL;
    if (!zs_hierarchy_root_is_pending(hierarchy))
        ZS_TRY(zs_store_lock(zs_hierarchy_store(hierarchy), "zarr.json", &lock, err));
    const enum zs_status status = lock != NULL ? move_noted(hierarchy, from, to, err) : move(hierarchy, from, to, err);
    zs_store_unlock(zs_hierarchy_store(hierarchy), lock);
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

/* Checks that the documents at and below a path can be read: the flush after the move reads them again. */
static enum zs_status check_documents(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    const struct zs_node **nodes;
    size_t count;
    if (zs_hierarchy_root_is_pending(hierarchy))
        return ZS_OK;
    ZS_TRY(list_within(hierarchy, path, &nodes, &count, err));
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < count && status == ZS_OK; i++) {
        zs_json *document;
        status = zs_document_load(zs_hierarchy_store(hierarchy), nodes[i]->path, &document, err);
        zs_json_free(document);
    }
    free(nodes);
    return status;
}

enum zs_status zs_node_check_rename(struct zs_hierarchy *hierarchy, const char *path, const char *name,
                                    struct zs_error *err)
{
    char *to;
    ZS_TRY(new_path(hierarchy, path, name, &to, err));
    free(to);
    return check_documents(hierarchy, path, err);
}

enum zs_status zs_node_rename(struct zs_hierarchy *hierarchy, const char *path, const char *name, struct zs_error *err)
{
    char *to;
    ZS_TRY(new_path(hierarchy, path, name, &to, err));
    const enum zs_status status = move_safely(hierarchy, path, to, err);
    free(to);
    return status;
}
