/* Renaming nodes. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "zarr/hierarchy_private.h"
#include "zarr/make.h"

/* A document at or below the renamed node. */
struct renamed_document {
    const char *rest; /* its path without that of the renamed node; borrowed from the hierarchy */
    zs_json *document;
};

struct renaming {
    struct renamed_document *list;
    size_t count;
};

static void clear(struct renaming *m)
{
    for (size_t i = 0; i < m->count; i++)
        zs_json_free(m->list[i].document);
    free(m->list);
}

/* Copies all documents at and below a path. */
static enum zs_status collect(struct zs_hierarchy *h, const char *path, struct renaming *m, struct zs_error *err)
{
    const struct zs_node **nodes;
    size_t count;
    enum zs_status status = zs_hierarchy_list(h, &nodes, &count, err);
    if (status != ZS_OK)
        return status;
    m->list = zs_calloc(count + 1, sizeof *m->list);
    if (m->list == NULL)
        status = zs_fail_memory(err);
    for (size_t i = 0; i < count && status == ZS_OK; i++) {
        if (!zs_path_is_within(nodes[i]->path, path) || nodes[i]->document == NULL)
            continue;
        struct renamed_document *renamed = &m->list[m->count];
        renamed->rest = nodes[i]->path + strlen(path);
        renamed->document = zs_json_copy(nodes[i]->document);
        if (renamed->document == NULL)
            status = zs_fail_memory(err);
        else
            m->count++;
    }
    free(nodes);
    return status;
}

/* Adds the collected documents, which it takes over, at a path. */
static enum zs_status add_collected(struct zs_hierarchy *h, const char *path, struct renaming *m, struct zs_error *err)
{
    const bool root_is_pending = zs_hierarchy_root_is_pending(h);
    for (size_t i = 0; i < m->count; i++) {
        struct zs_node *node = NULL;
        zs_json *document = m->list[i].document;
        m->list[i].document = NULL;
        char *own = zs_format("%s%s", path, m->list[i].rest);
        enum zs_status status = own != NULL ? ZS_OK : zs_fail_memory(err);
        if (status == ZS_OK)
            status = zs_node_create(own, document, true, &node, err);
        else
            zs_json_free(document);
        free(own);
        if (status == ZS_OK) /* documents move with their directory */
            status = root_is_pending ? zs_hierarchy_add(h, node, err)
                               : zs_hierarchy_relist(h, node, zs_document_own(node->document), err);
        ZS_TRY(status);
    }
    return ZS_OK;
}

/* Renames a node. No document lists it while its directory moves: readers must not take moved chunks for missing
 * ones. */
static enum zs_status move(struct zs_hierarchy *h, const char *from, const char *to, struct zs_error *err)
{
    struct renaming m = {0};
    const bool root_is_pending = zs_hierarchy_root_is_pending(h);
    enum zs_status status = collect(h, from, &m, err);
    if (status == ZS_OK)
        status = zs_hierarchy_unlist(h, from, err);
    if (status != ZS_OK) {
        clear(&m);
        return status;
    }
    if (!root_is_pending)
        status = zs_hierarchy_flush_locked(h, err);
    if (status == ZS_OK)
        status = zs_store_rename(zs_hierarchy_store(h), from, to, err);
    struct zs_error later;
    const bool is_moved = status == ZS_OK;
    enum zs_status added = add_collected(h, is_moved ? to : from, &m, is_moved ? err : &later);
    if (added == ZS_OK && !root_is_pending)
        added = zs_hierarchy_flush_locked(h, is_moved ? err : &later);
    clear(&m);
    return is_moved ? added : status;
}

/* Like move(), with a journal, from which the next writer finishes the rename if this one is killed. The caller holds
 * the lock of the root's document. */
static enum zs_status move_noted(struct zs_hierarchy *h, const char *from, const char *to, struct zs_error *err)
{
    struct zs_store *store = zs_hierarchy_store(h);
    ZS_TRY(zs_hierarchy_recover_locked(store, err)); /* if that fails, the journal stays for the next writer */
    ZS_TRY(zs_recovery_note_rename(store, from, to, err));
    const enum zs_status status = move(h, from, to, err);
    if (zs_hierarchy_is_changed(h)) /* the next writer finishes it */
        return status;
    struct zs_error ignored;
    const enum zs_status removed = zs_recovery_done(store, status == ZS_OK ? err : &ignored);
    return status == ZS_OK ? removed : status;
}

/* Renames under the lock of the root's document, where the store has locks. */
static enum zs_status move_safely(struct zs_hierarchy *h, const char *from, const char *to, struct zs_error *err)
{
    struct zs_lock *lock = NULL;
    if (!zs_hierarchy_root_is_pending(h))
        ZS_TRY(zs_store_lock(zs_hierarchy_store(h), "zarr.json", &lock, err));
    const enum zs_status status = lock != NULL ? move_noted(h, from, to, err) : move(h, from, to, err);
    zs_store_unlock(zs_hierarchy_store(h), lock);
    return status;
}

/* Returns the path of a node under a new name, after checking that it may have that name; freed with free(). */
static enum zs_status new_path(struct zs_hierarchy *h, const char *path, const char *name, char **out,
                               struct zs_error *err)
{
    const struct zs_node *occupant = NULL;
    *out = NULL;
    if (!zs_is_node_name(name))
        return zs_fail(err, ZS_ARGUMENT,
                       "\"%.200s\": expected a name without /, not of dots alone, not beginning with __", name);
    if (path[0] == '\0')
        return zs_fail(err, ZS_ARGUMENT, "the root of a store has no name in it");
    ZS_TRY(zs_hierarchy_check_writable(h, err));
    if (zs_hierarchy_store(h)->is_remote) /* before a document is taken off its list */
        return zs_fail(err, ZS_UNSUPPORTED, "%s/%s: a store of objects has no directories that could be renamed",
                       zs_hierarchy_store(h)->root, path);
    char *parent = zs_path_parent(path);
    char *to = parent != NULL ? zs_path_join(parent, name) : NULL;
    enum zs_status status = to != NULL ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK)
        status = zs_hierarchy_occupant(h, to, &occupant, err);
    if (status == ZS_OK && occupant != NULL)
        status = zs_fail(err, ZS_ARGUMENT, "%s: there is %s /%s already", zs_hierarchy_store(h)->root,
                         occupant->type == ZS_NODE_ARRAY ? "an array" : "a group", to);
    free(parent);
    if (status == ZS_OK)
        *out = to;
    else
        free(to);
    return status;
}

/* Checks that the documents at and below a path can be read: the flush after the move reads them again. */
static enum zs_status check_documents(struct zs_hierarchy *h, const char *path, struct zs_error *err)
{
    const struct zs_node **nodes;
    size_t count;
    if (zs_hierarchy_root_is_pending(h))
        return ZS_OK;
    ZS_TRY(zs_hierarchy_list(h, &nodes, &count, err));
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < count && status == ZS_OK; i++) {
        zs_json *document = NULL;
        if (zs_path_is_within(nodes[i]->path, path) && nodes[i]->document != NULL)
            status = zs_document_load(zs_hierarchy_store(h), nodes[i]->path, &document, err);
        zs_json_free(document);
    }
    free(nodes);
    return status;
}

enum zs_status zs_node_check_rename(struct zs_hierarchy *h, const char *path, const char *name, struct zs_error *err)
{
    char *to;
    ZS_TRY(new_path(h, path, name, &to, err));
    free(to);
    return check_documents(h, path, err);
}

enum zs_status zs_node_rename(struct zs_hierarchy *h, const char *path, const char *name, struct zs_error *err)
{
    char *to;
    ZS_TRY(new_path(h, path, name, &to, err));
    const enum zs_status status = move_safely(h, path, to, err);
    free(to);
    return status;
}
