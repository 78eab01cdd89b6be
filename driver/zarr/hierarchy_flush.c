/* Writes pending changes, in the steps that editing.h lists. All documents are built before the first one is written,
 * so that a document that cannot be written, or that another writer changed, is found while the store is unchanged. */
#include <stdlib.h>
#include <string.h>

#include "zarr/contents.h"
#include "zarr/document.h"
#include "zarr/edit_journal.h"
#include "zarr/hierarchy_private.h"

/* ---- One document ---- */

/* A document that the flush may write. */
struct outgoing {
    char *path;
    size_t depth;             /* number of names in the path */
    char *text;               /* NULL: unchanged, not written */
    char *etag;               /* of the document that was read, "" when there was none; NULL: unknown */
    struct zs_change *change; /* pending change of the node, borrowed; NULL: only its consolidated metadata may
                                 change */
    bool needs_update; /* other writers changed what it consolidates: build it again before writing */
};

/* The documents of changed nodes, and of all groups above them, in the order of writing. */
struct outgoings {
    struct outgoing *list;
    size_t count, capacity;
    bool has_conflict; /* another writer replaced one of them meanwhile: those above are built again */
    bool has_begun;    /* the store is not as before, but for new documents */
};

/* Fails where the root's document is gone that was there: what is added to a deleted store is in none. */
static enum zs_status check_root(const struct zs_hierarchy *hierarchy, const struct outgoing *outgoing,
                                 struct zs_error *err)
{
    const bool is_root = outgoing->path[0] == '\0' && outgoing->change == NULL;
    const struct zs_node *root = is_root ? zs_hierarchy_known(hierarchy, "") : NULL;
    if (root == NULL || root->document == NULL || root->is_implicit)
        return ZS_OK;
    return zs_fail(err, ZS_INVALID, "%s: another writer removed this store meanwhile: nothing is added to it",
                   hierarchy->store->root);
}

/* Reads the stored document; *document is NULL when there is none. */
static enum zs_status load(struct zs_hierarchy *hierarchy, struct outgoing *outgoing, zs_json **document,
                           struct zs_error *err)
{
    struct zs_change *change = outgoing->change;
    free(outgoing->etag);
    outgoing->etag = NULL;
    if (!zs_hierarchy_root_is_pending(hierarchy) || (change != NULL && change->kind == ZS_CHANGE_EDIT))
        ZS_TRY(zs_document_load_tagged(hierarchy->store, outgoing->path, document, &outgoing->etag, err));
    if (*document == NULL)
        ZS_TRY(check_root(hierarchy, outgoing, err));
    if (change != NULL) {
        zs_json_free(change->loaded);
        change->loaded = *document != NULL ? zs_document_own(*document) : NULL;
    }
    return ZS_OK;
}

/* Merges the change of the node, and the changes below it, into the document that was read. */
static enum zs_status merge(struct zs_hierarchy *hierarchy, struct outgoing *outgoing, const struct zs_node *node,
                            zs_json **document, bool *is_changed, struct zs_error *err)
{
    outgoing->needs_update = false;
    if (node != NULL)
        ZS_TRY(zs_change_merge(document, node, outgoing->change, is_changed, err));
    if (*document == NULL)
        return ZS_OK;
    return zs_consolidated_update(hierarchy, outgoing->path, *document, is_changed, &outgoing->needs_update, err);
}

/* Builds a document: its text, and what groups above, which are written later, list of it. */
static enum zs_status build(struct zs_hierarchy *hierarchy, struct outgoing *outgoing, struct zs_error *err)
{
    struct zs_change *change = outgoing->change;
    const bool has_node = change != NULL && !zs_change_is_removal(change);
    const struct zs_node *node = has_node ? zs_hierarchy_known(hierarchy, outgoing->path) : NULL;
    zs_json *document = NULL;
    bool is_changed = false;
    free(outgoing->text);
    outgoing->text = NULL;
    enum zs_status status = load(hierarchy, outgoing, &document, err);
    if (status == ZS_OK)
        status = merge(hierarchy, outgoing, node, &document, &is_changed, err);
    if (status == ZS_OK && is_changed)
        status = zs_document_print(hierarchy->store, outgoing->path, document, &outgoing->text, err);
    if (status == ZS_OK && node != NULL) {
        zs_json_free(change->written);
        change->written = document;
        document = NULL;
    }
    zs_json_free(document);
    return status;
}

/* Puts a document over the version that was read; where another writer was faster, builds it again from the newer
 * version. */
static enum zs_status put_text(struct zs_hierarchy *hierarchy, struct outgoing *outgoing, bool *has_conflict,
                               struct zs_error *err)
{
    const bool expects = !zs_hierarchy_root_is_pending(hierarchy) && zs_store_has_conditions(hierarchy->store);
    for (int tries = 0; outgoing->text != NULL;) {
        const char *etag = expects ? zs_store_expected(hierarchy->store, outgoing->etag) : NULL;
        const enum zs_status status =
            zs_document_put_text(hierarchy->store, outgoing->path, etag, outgoing->text, err);
        if (outgoing->change != NULL && status != ZS_CONFLICT)
            outgoing->change->is_sent = true;
        if (status != ZS_CONFLICT || !zs_conflict_again(&tries))
            return status;
        *has_conflict = true;
        ZS_TRY(build(hierarchy, outgoing, err));
    }
    return ZS_OK;
}

/* Whether the document is new, and not the root's, by which the store opens. */
static bool is_new(const struct outgoing *outgoing)
{
    return outgoing->change != NULL && outgoing->change->kind == ZS_CHANGE_NEW && outgoing->path[0] != '\0';
}

static enum zs_status put(struct zs_hierarchy *hierarchy, struct outgoings *all, struct outgoing *outgoing,
                          struct zs_error *err)
{
    if (!is_new(outgoing)) /* it is written after the objects that it refers to */
        ZS_TRY(zs_store_wait_commits(hierarchy->store, err));
    if (outgoing->needs_update || all->has_conflict) /* the consolidated documents are not the written ones */
        ZS_TRY(build(hierarchy, outgoing, err));
    if (outgoing->text == NULL)
        return ZS_OK;
    ZS_TRY(put_text(hierarchy, outgoing, &all->has_conflict, err));
    all->has_begun = all->has_begun || !is_new(outgoing);
    if (outgoing->change != NULL)
        outgoing->change->is_put = outgoing->change->is_stored = true;
    return ZS_OK;
}

/* ---- All documents ---- */

static int rank_of(const struct outgoing *outgoing)
{
    return outgoing->change != NULL ? outgoing->change->rank : 0;
}

/* Orders new documents before those that refer to them, then deeper ones first, so that a group follows its members,
 * then by their rank. */
static int compare_order(const void *a, const void *b)
{
    const struct outgoing *first = a, *second = b;
    if (is_new(first) != is_new(second))
        return is_new(first) ? -1 : 1;
    if (first->depth != second->depth)
        return second->depth < first->depth ? -1 : 1;
    const int ranks = rank_of(first) - rank_of(second);
    return ranks != 0 ? ranks : zs_path_compare(second->path, first->path);
}

static size_t depth_of(const char *path)
{
    size_t depth = path[0] != '\0';
    for (; *path != '\0'; path++)
        depth += *path == '/';
    return depth;
}

static void free_documents(struct outgoings *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->list[i].path);
        free(all->list[i].text);
        free(all->list[i].etag);
    }
    free(all->list);
}

/* Takes over the path. */
static bool add_document(const struct zs_hierarchy *hierarchy, struct outgoings *all, char *path)
{
    struct outgoing *grown = path != NULL ? zs_grow(all->list, all->count, &all->capacity, sizeof *grown) : NULL;
    if (grown == NULL) {
        free(path);
        return false;
    }
    all->list = grown;
    all->list[all->count++] = (struct outgoing){
        .path = path, .depth = depth_of(path), .change = zs_changes_find(&hierarchy->pending, path)};
    return true;
}

static enum zs_status list_documents(const struct zs_hierarchy *hierarchy, struct outgoings *all, struct zs_error *err)
{
    bool ok = true;
    for (size_t i = 0; i < hierarchy->pending.count && ok; i++) {
        ok = add_document(hierarchy, all, zs_strdup(hierarchy->pending.list[i]->path));
        while (ok && all->list[all->count - 1].path[0] != '\0')
            ok = add_document(hierarchy, all, zs_path_parent(all->list[all->count - 1].path));
    }
    if (!ok)
        return zs_fail_memory(err);
    qsort(all->list, all->count, sizeof *all->list, compare_order); /* duplicate paths are neighbours now */
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (kept > 0 && strcmp(all->list[kept - 1].path, all->list[i].path) == 0)
            free(all->list[i].path);
        else
            all->list[kept++] = all->list[i];
    }
    all->count = kept;
    return ZS_OK;
}

/* ---- Removed objects ---- */

/* Finds the objects of a removed node and of all nodes below it, without files of others. In a store that cannot be
 * listed, only the document is found. */
static enum zs_status find_tree(struct zs_store *store, const char *path, struct zs_contents *removed,
                                struct zs_error *err)
{
    const enum zs_status status = zs_contents_find_below(store, path, removed, err);
    return status == ZS_UNSUPPORTED ? zs_names_add(&removed->own, zs_document_key(path), err) : status;
}

static int by_falling_number(const void *a, const void *b)
{
    const size_t first = (*(struct zs_change *const *)a)->number, second = (*(struct zs_change *const *)b)->number;
    return (first < second) - (first > second);
}

/* Finds the objects of all removed nodes, the node removed last first: an array before its overviews, so that it exists
 * with all of them or not at all. */
static enum zs_status find_removed(const struct zs_hierarchy *hierarchy, struct zs_contents *removed,
                                   struct zs_error *err)
{
    const struct zs_pending_changes *pending = &hierarchy->pending;
    struct zs_change **list = zs_calloc(pending->count, sizeof(struct zs_change *));
    enum zs_status status = list != NULL ? ZS_OK : zs_fail_memory(err);
    size_t count = 0;
    for (size_t i = 0; i < pending->count && status == ZS_OK; i++)
        if (pending->list[i]->kind == ZS_CHANGE_REMOVED)
            list[count++] = pending->list[i];
    if (count > 1)
        qsort(list, count, sizeof *list, by_falling_number);
    for (size_t i = 0; i < count && status == ZS_OK; i++)
        status = find_tree(hierarchy->store, list[i]->path, removed, err);
    free(list);
    return status;
}

/* Upper limit of the chunks that are removed: coordinates have one or a few. */
#define MOST_CHUNKS 100000

enum zs_status zs_hierarchy_remove_chunks(const struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                          struct zs_error *err)
{
    struct zs_names keys = {0};
    enum zs_status status = ZS_OK;
    if (node->array->ndim != 1)
        return ZS_OK;
    const uint64_t length = node->array->chunk_shape[0], all = node->array->shape[0];
    for (uint64_t i = 0; i < MOST_CHUNKS && all > 0 && i <= (all - 1) / length && status == ZS_OK; i++)
        status = zs_names_add(&keys, zs_chunk_key(node->array, node->path, &i), err);
    if (status == ZS_OK && keys.count > 0)
        status = zs_store_remove_all(hierarchy->store, (const char *const *)keys.list, keys.count, err);
    char *folder = zs_path_join(node->path, "c");
    if (status == ZS_OK && folder != NULL && !hierarchy->store->is_remote)
        zs_store_remove_directory(hierarchy->store, folder);
    free(folder);
    zs_names_free(keys.list);
    return status;
}

/* Removes the chunks of replaced arrays. */
static enum zs_status remove_replaced(const struct zs_hierarchy *hierarchy, struct zs_error *err)
{
    for (size_t i = 0; i < hierarchy->pending.count; i++) {
        const struct zs_change *change = hierarchy->pending.list[i];
        const struct zs_node *node = zs_hierarchy_known(hierarchy, change->path);
        if (node != NULL && zs_change_has_new_keys(change, node))
            ZS_TRY(zs_hierarchy_remove_chunks(hierarchy, change->replaced, err));
    }
    return ZS_OK;
}

/* ---- The flush ---- */

/* Whether the documents of removed nodes go before others are written. They do on object stores: where a server refuses
 * to remove the first of them, nothing has changed, and a node that went in part is still listed, under whose name it
 * can be removed again. On a local disk a kill is likelier than a refusal: no listed node lacks its document, and new
 * documents come first, because the next writer may undo them. So do documents of an edit that have an order: they
 * replace what is removed. */
static bool removes_first(const struct zs_hierarchy *hierarchy)
{
    const struct zs_pending_changes *pending = &hierarchy->pending;
    const bool is_remote = hierarchy->store->is_remote;
    bool is_first = is_remote || !hierarchy->is_consolidated;
    for (size_t i = 0; i < pending->count && is_first; i++)
        is_first = pending->list[i]->rank == 0 && (is_remote || pending->list[i]->kind != ZS_CHANGE_NEW);
    return is_first;
}

/* Removes the documents of removed nodes. */
static enum zs_status remove_documents(struct zs_hierarchy *hierarchy, struct outgoings *all,
                                       struct zs_contents *removed, struct zs_error *err)
{
    const size_t count = removed->own.count;
    const enum zs_status status = zs_contents_remove_documents(hierarchy->store, removed, err);
    all->has_begun = removed->own.count < count;
    return status;
}

/* Writes the documents, and removes objects. Chunks go when no document refers to them. */
static enum zs_status put_and_remove(struct zs_hierarchy *hierarchy, struct outgoings *all, struct zs_contents *removed,
                                     struct zs_error *err)
{
    if (removes_first(hierarchy))
        ZS_TRY(remove_documents(hierarchy, all, removed, err));
    for (size_t i = 0; i < all->count; i++)
        ZS_TRY(put(hierarchy, all, &all->list[i], err));
    ZS_TRY(zs_store_wait_commits(hierarchy->store, err));
    ZS_TRY(zs_contents_remove(hierarchy->store, removed, ZS_MARKS_GO, err));
    return remove_replaced(hierarchy, err);
}

/* Keeps what a flush that failed tried to store of each edit, and of each new document that it has sent: some may be
 * stored, and the next writer may finish the others. Returns false without memory. */
static bool note_tried(struct zs_hierarchy *hierarchy)
{
    for (size_t i = 0; i < hierarchy->pending.count; i++) {
        struct zs_change *change = hierarchy->pending.list[i];
        const struct zs_node *node = zs_hierarchy_known(hierarchy, change->path);
        if ((change->kind != ZS_CHANGE_EDIT && !change->is_sent) || node == NULL)
            continue;
        zs_json_free(change->tried);
        change->tried = zs_document_own(node->document);
        if (change->tried == NULL)
            return false;
    }
    return true;
}

/* Steps 4 to 8. *has_begun: the store is not as before, but for new documents. */
static enum zs_status flush_documents(struct zs_hierarchy *hierarchy, struct zs_contents *removed, bool *has_begun,
                                      struct zs_error *err)
{
    struct outgoings all = {0};
    for (size_t i = 0; i < hierarchy->pending.count; i++)
        hierarchy->pending.list[i]->is_put = false;
    enum zs_status status = list_documents(hierarchy, &all, err);
    for (size_t i = 0; i < all.count && status == ZS_OK; i++)
        status = build(hierarchy, &all.list[i], err);
    if (status == ZS_OK) {
        status = put_and_remove(hierarchy, &all, removed, err);
        if (status != ZS_OK && !note_tried(hierarchy))
            status = ZS_NO_MEMORY;
    }
    *has_begun = all.has_begun;
    free_documents(&all);
    if (status == ZS_OK) { /* after a failure all stays pending: writing a document twice is harmless */
        zs_changes_clear(&hierarchy->pending);
        zs_savepoint_forget(hierarchy);
    }
    return status;
}

/* Steps 3 to 9. The journal stays when the flush fails after it has begun. */
static enum zs_status flush_with_journal(struct zs_hierarchy *hierarchy, struct zs_contents *removed,
                                         struct zs_error *err)
{
    bool has_journal, has_begun;
    ZS_TRY(zs_edit_journal_put(hierarchy, &removed->own, &has_journal, err));
    const enum zs_status status = flush_documents(hierarchy, removed, &has_begun, err);
    if (!has_journal || (status != ZS_OK && has_begun))
        return status;
    if (status == ZS_OK)
        return zs_edit_journal_remove(hierarchy->store, err);
    (void)zs_edit_journal_remove(hierarchy->store, NULL);
    return status;
}

/* When the removed objects cannot be listed, nothing has changed yet. */
static enum zs_status find_and_flush(struct zs_hierarchy *hierarchy, bool has_journal, struct zs_error *err)
{
    struct zs_contents removed = {0};
    bool ignored;
    ZS_TRY(zs_store_wait_commits(hierarchy->store, err)); /* of chunks that documents refer to, or that go */
    enum zs_status status = find_removed(hierarchy, &removed, err);
    if (status == ZS_OK)
        status = has_journal ? flush_with_journal(hierarchy, &removed, err)
                             : flush_documents(hierarchy, &removed, &ignored, err);
    zs_contents_clear(&removed);
    return status;
}

enum zs_status zs_hierarchy_flush_locked(struct zs_hierarchy *hierarchy, struct zs_error *err)
{
    return find_and_flush(hierarchy, false, err);
}

static enum zs_status lock_and_flush(struct zs_hierarchy *hierarchy, struct zs_error *err)
{
    struct zs_lock *lock = NULL;
    if (!zs_hierarchy_root_is_pending(hierarchy))
        ZS_TRY(zs_store_lock(hierarchy->store, "zarr.json", &lock, err));
    enum zs_status status = lock != NULL ? zs_hierarchy_recover_locked(hierarchy->store, err) : ZS_OK;
    if (status == ZS_OK)
        status = find_and_flush(hierarchy, lock != NULL, err);
    zs_store_unlock(hierarchy->store, lock);
    return status;
}

enum zs_status zs_hierarchy_flush(struct zs_hierarchy *hierarchy, struct zs_error *err)
{
    if (hierarchy->is_deferred)
        return ZS_OK;
    if (hierarchy->pending.count > 0)
        ZS_TRY(lock_and_flush(hierarchy, err));
    hierarchy->is_new = false; /* others see it from now on, and may add to it */
    zs_hierarchy_remove_marks(hierarchy);
    return ZS_OK;
}

/* Flushes the removal of a path alone: other changes stay pending, and can be undone. */
static enum zs_status flush_alone(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    const struct zs_pending_changes others = hierarchy->pending;
    const size_t noted = hierarchy->undo.count;
    hierarchy->pending = (struct zs_pending_changes){0};
    hierarchy->undo.count = 0;
    struct zs_change *removal = zs_changes_note(&hierarchy->pending, path);
    enum zs_status status = removal != NULL ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK) {
        removal->kind = ZS_CHANGE_REMOVED;
        removal->was_removed = true;
        status = lock_and_flush(hierarchy, err);
    }
    zs_changes_clear(&hierarchy->pending);
    hierarchy->pending = others;
    hierarchy->undo.count = noted;
    return status;
}

enum zs_status zs_hierarchy_flush_removal(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    const struct zs_change *removal = zs_changes_removal_of(&hierarchy->pending, path);
    if (removal == NULL || zs_hierarchy_root_is_pending(hierarchy))
        return ZS_OK;
    ZS_TRY(flush_alone(hierarchy, removal->path, err));
    zs_savepoint_forget_within(hierarchy, removal->path);
    zs_changes_forget(&hierarchy->pending, removal->path);
    return ZS_OK;
}
