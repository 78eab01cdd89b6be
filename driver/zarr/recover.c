/* Finishes changes of several documents that a killed writer began. Before such a change, a writer stores a journal of
 * it; the journal is written and read under the lock of the root's document, so a process that holds the lock and finds
 * a journal knows that its writer is dead. */
#include <stdlib.h>
#include <string.h>

#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* Writes the journal: {"changes": {path: {"before": document, "after": document}}}, or {"from": path, "to": path} of a
 * rename. Beside "changes" there may be {"new": {path: document}, "beside": {path: as in changes}}: new nodes that
 * consolidated metadata are to list, and further changes that belong to them. These two apply only if the documents of
 * all new nodes are stored. */
static enum zs_status put_journal(struct zs_store *store, zs_json *journal, struct zs_error *err)
{
    char *key = zs_journal_key("zarr.json");
    char *text = journal != NULL ? zs_json_print(journal) : NULL;
    zs_json_free(journal);
    enum zs_status status = key != NULL && text != NULL ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK && strlen(text) <= ZS_JSON_MAX_BYTES) /* a longer journal could not be read */
        status = zs_store_put(store, key, text, strlen(text), err);
    free(key);
    free(text);
    return status;
}

static bool add_change(zs_json *changes, const struct zs_change *change, const struct zs_node *node)
{
    zs_json *after = zs_document_own(node->document);
    zs_json *member = after != NULL ? zs_json_add_object(changes, change->path) : NULL;
    if (member == NULL)
        zs_json_free(after);
    return member != NULL && zs_json_add(member, "before", zs_json_copy(change->before)) != NULL &&
           zs_json_add(member, "after", after) != NULL;
}

/* Whether a change edits a document that is there, or replaces it. */
static bool is_edit(const struct zs_change *change)
{
    return change->kind == ZS_CHANGE_EDIT && (!change->may_be_gone || change->replaced != NULL);
}

/* Whether edits change several documents: consolidated metadata list those of nodes below the root. */
static bool edits_several(const struct zs_hierarchy *h)
{
    size_t edits = 0, listed = 0;
    for (size_t i = 0; i < h->pending.count; i++) {
        edits += is_edit(h->pending.list[i]);
        listed += is_edit(h->pending.list[i]) && h->is_consolidated && h->pending.list[i]->path[0] != '\0';
    }
    return edits > 1 || listed > 0;
}

/* Returns whether the journal lists new nodes: only with consolidated metadata, and when no node is removed. */
static bool names_new(const struct zs_hierarchy *h)
{
    bool any = false;
    for (size_t i = 0; i < h->pending.count; i++) {
        if (h->pending.list[i]->was_removed)
            return false;
        any = any || h->pending.list[i]->kind == ZS_CHANGE_NEW;
    }
    return any && h->is_consolidated;
}

enum zs_status zs_recovery_note_changes(const struct zs_hierarchy *h, bool *is_put, struct zs_error *err)
{
    zs_json *journal = zs_json_new_object();
    zs_json *changes = zs_json_add_object(journal, "changes");
    const bool has_new = names_new(h);
    zs_json *added = has_new ? zs_json_add_object(journal, "new") : NULL;
    zs_json *beside = has_new ? zs_json_add_object(journal, "beside") : NULL;
    const bool has_several = edits_several(h);
    bool ok = changes != NULL && (!has_new || beside != NULL);
    *is_put = has_new || has_several;
    for (size_t i = 0; i < h->pending.count && ok; i++) {
        const struct zs_change *change = h->pending.list[i];
        const struct zs_node *node = zs_hierarchy_known(h, change->path);
        const bool is_edited = node != NULL && is_edit(change);
        const bool is_structural = is_edited && zs_change_is_structural(change, node);
        if (is_structural || (is_edited && (has_new || has_several)))
            ok = add_change(has_new && !is_structural ? beside : changes, change, node);
        else if (node != NULL && has_new && (change->kind == ZS_CHANGE_NEW || change->may_be_gone))
            ok = zs_json_add(added, change->path, zs_document_own(node->document)) != NULL;
        *is_put = *is_put || is_structural;
    }
    if (ok && *is_put)
        return put_journal(h->store, journal, err);
    zs_json_free(journal);
    return ok ? ZS_OK : zs_fail_memory(err);
}

enum zs_status zs_recovery_note_rename(struct zs_store *store, const char *from, const char *to, struct zs_error *err)
{
    zs_json *journal = zs_json_new_object();
    if (zs_json_add_string(journal, "from", from) == NULL || zs_json_add_string(journal, "to", to) == NULL) {
        zs_json_free(journal);
        journal = NULL;
    }
    return put_journal(store, journal, err);
}

enum zs_status zs_recovery_done(struct zs_store *store, struct zs_error *err)
{
    char *key = zs_journal_key("zarr.json");
    const enum zs_status status = key != NULL ? zs_store_remove(store, key, err) : zs_fail_memory(err);
    free(key);
    return status;
}

/* ---- Finishing ---- */

/* Notes the change of a document from `before` to `after`, both taken over, for the flush of `h`. */
static enum zs_status relist(struct zs_hierarchy *h, const char *path, zs_json *before, zs_json *after,
                             struct zs_error *err)
{
    struct zs_node *node = NULL;
    enum zs_status status = before != NULL && after != NULL ? ZS_OK : zs_fail_memory(err);
    if (status == ZS_OK)
        status = zs_node_create(path, after, true, &node, err);
    else
        zs_json_free(after);
    if (status == ZS_OK)
        return zs_hierarchy_relist(h, node, before, err);
    zs_json_free(before);
    return status;
}

/* Whether the attributes that an edit changes are as before or after it. If not, another writer changed them since. */
static bool is_as_edited(const zs_json *is, const zs_json *before, const zs_json *after)
{
    for (const zs_json *m = zs_json_first(after); m != NULL; m = zs_json_next(m)) {
        const zs_json *was = zs_json_get(before, zs_json_name(m)), *now = zs_json_get(is, zs_json_name(m));
        if (!zs_json_is_same(was, m) && !zs_json_is_same(now, was) && !zs_json_is_same(now, m))
            return false;
    }
    for (const zs_json *m = zs_json_first(before); m != NULL; m = zs_json_next(m)) {
        const zs_json *now = zs_json_get(is, zs_json_name(m));
        if (zs_json_get(after, zs_json_name(m)) == NULL && now != NULL && !zs_json_is_same(now, m))
            return false;
    }
    return true;
}

/* Applies one change of the journal, unless another writer has changed the document since: then that is listed. */
static enum zs_status finish_change(struct zs_hierarchy *h, const zs_json *member, struct zs_error *err)
{
    const char *path = zs_json_name(member);
    const zs_json *before = zs_json_get(member, "before"), *after = zs_json_get(member, "after");
    zs_json *theirs = NULL;
    bool is_changed = false;
    if ((path[0] != '\0' && !zs_path_is_clean(path)) || !zs_json_is_object(before) || !zs_json_is_object(after))
        return zs_fail(err, ZS_INVALID, "expected the path of a node and two documents");
    ZS_TRY(zs_document_load(h->store, path, &theirs, err));
    if (theirs != NULL && !is_as_edited(zs_json_get(theirs, "attributes"), zs_json_get(before, "attributes"),
                                        zs_json_get(after, "attributes"))) {
        const enum zs_status listed = relist(h, path, zs_document_own(theirs), zs_document_own(theirs), err);
        zs_json_free(theirs);
        return listed;
    }
    enum zs_status status = relist(h, path, zs_json_copy(before), zs_json_copy(after), err);
    if (status != ZS_OK) {
        zs_json_free(theirs);
        return status;
    }
    status =
        zs_change_merge(&theirs, zs_hierarchy_known(h, path), zs_changes_find(&h->pending, path), &is_changed, err);
    zs_json_free(theirs);
    if (status == ZS_INVALID)
        zs_changes_forget(&h->pending, path);
    return status == ZS_INVALID ? ZS_OK : status;
}

/* Adds the nodes at and below a path to consolidated metadata. */
static enum zs_status list_again(struct zs_hierarchy *h, const char *path, struct zs_error *err)
{
    struct zs_hierarchy *stored = NULL; /* finds nodes by their documents, not by consolidated metadata */
    const struct zs_node **nodes = NULL;
    size_t count = 0;
    enum zs_status status = zs_hierarchy_open(h->store, false, &stored, err);
    if (status == ZS_OK)
        status = zs_hierarchy_list(stored, &nodes, &count, err);
    for (size_t i = 0; i < count && status == ZS_OK; i++)
        if (zs_path_is_within(nodes[i]->path, path) && nodes[i]->document != NULL)
            status = relist(h, nodes[i]->path, zs_document_own(nodes[i]->document), zs_json_copy(nodes[i]->document),
                            err);
    free(nodes);
    zs_hierarchy_free(stored);
    return status;
}

/* Finishes a rename: lists the node again, at its new path or still at the old one. */
static enum zs_status finish_rename(struct zs_hierarchy *h, const char *from, const char *to, struct zs_error *err)
{
    const char *const paths[] = {to, from};
    for (int i = 0; i < 2; i++) {
        zs_json *document;
        ZS_TRY(zs_document_load(h->store, paths[i], &document, err));
        const bool is_there = document != NULL;
        zs_json_free(document);
        if (is_there)
            return list_again(h, paths[i], err);
    }
    return ZS_OK;
}

/* Checks that the documents of all new nodes are stored, as the journal has them. */
static enum zs_status are_there(struct zs_store *store, const zs_json *added, bool *are, struct zs_error *err)
{
    *are = zs_json_size(added) > 0;
    for (const zs_json *c = zs_json_first(added); c != NULL && *are; c = zs_json_next(c)) {
        zs_json *document = NULL;
        if (!zs_path_is_clean(zs_json_name(c)))
            return zs_fail(err, ZS_INVALID, "expected the path of a node");
        ZS_TRY(zs_document_load(store, zs_json_name(c), &document, err));
        *are = zs_json_is_same(document, c);
        zs_json_free(document);
    }
    return ZS_OK;
}

/* Lists new nodes, and applies the changes that belong to them. */
static enum zs_status finish_new(struct zs_hierarchy *h, const zs_json *journal, struct zs_error *err)
{
    const zs_json *added = zs_json_get(journal, "new"), *beside = zs_json_get(journal, "beside");
    bool are;
    ZS_TRY(are_there(h->store, added, &are, err));
    for (const zs_json *c = are ? zs_json_first(added) : NULL; c != NULL; c = zs_json_next(c))
        ZS_TRY(relist(h, zs_json_name(c), zs_json_copy(c), zs_json_copy(c), err));
    for (const zs_json *c = are ? zs_json_first(beside) : NULL; c != NULL; c = zs_json_next(c))
        ZS_TRY(finish_change(h, c, err));
    return ZS_OK;
}

static enum zs_status finish(struct zs_store *store, const zs_json *journal, struct zs_error *err)
{
    struct zs_hierarchy *h = NULL;
    const char *from, *to;
    ZS_TRY(zs_hierarchy_open(store, true, &h, err));
    enum zs_status status = ZS_OK;
    const zs_json *changes = zs_json_get(journal, "changes");
    for (const zs_json *c = zs_json_first(changes); c != NULL && status == ZS_OK; c = zs_json_next(c))
        status = finish_change(h, c, err);
    if (status == ZS_OK)
        status = finish_new(h, journal, err);
    if (status == ZS_OK && zs_json_string(zs_json_get(journal, "from"), &from) && zs_path_is_clean(from) &&
        zs_json_string(zs_json_get(journal, "to"), &to) && zs_path_is_clean(to))
        status = finish_rename(h, from, to, err);
    if (status == ZS_OK && h->pending.count > 0)
        status = zs_hierarchy_flush_locked(h, err);
    zs_hierarchy_free(h);
    return status;
}

/* Reads the journal; *journal is NULL when there is none, or when it is not JSON. */
static enum zs_status read_journal(struct zs_store *store, bool *is_there, zs_json **journal, struct zs_error *err)
{
    char *key = zs_journal_key("zarr.json");
    if (key == NULL)
        return zs_fail_memory(err);
    *journal = NULL;
    const enum zs_status status = zs_document_get(store, key, journal, err);
    free(key);
    *is_there = status != ZS_NOT_FOUND;
    return status == ZS_NOT_FOUND || status == ZS_CORRUPT ? ZS_OK : status;
}

enum zs_status zs_hierarchy_recover_locked(struct zs_store *store, struct zs_error *err)
{
    zs_json *journal;
    bool is_there;
    struct zs_error reason = {0};
    ZS_TRY(read_journal(store, &is_there, &journal, err));
    if (!is_there)
        return ZS_OK;
    const enum zs_status status = journal != NULL ? finish(store, journal, &reason) : ZS_OK;
    zs_json_free(journal);
    /* remove an invalid journal as well */
    if (status == ZS_OK || status == ZS_INVALID || status == ZS_NOT_FOUND || status == ZS_CORRUPT)
        return zs_recovery_done(store, err);
    return zs_fail(err, status, "%s: cannot finish what a killed writer began: %s", store->root, reason.message);
}

enum zs_status zs_hierarchy_recover(struct zs_store *store, struct zs_error *err)
{
    zs_json *journal;
    bool is_there;
    struct zs_lock *lock = NULL;
    if (store->is_remote || !zs_store_has_locks(store))
        return ZS_OK;
    ZS_TRY(read_journal(store, &is_there, &journal, err)); /* without waiting for a present writer */
    zs_json_free(journal);
    if (!is_there)
        return ZS_OK;
    ZS_TRY(zs_store_lock(store, "zarr.json", &lock, err));
    const enum zs_status status = lock != NULL ? zs_hierarchy_recover_locked(store, err) : ZS_OK;
    zs_store_unlock(store, lock);
    return status;
}
