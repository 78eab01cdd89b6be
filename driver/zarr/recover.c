/* Finishes a flush or a rename that a killed writer began, as its journal says (edit_journal.h), or undoes it. What the
 * journal says becomes pending changes of a hierarchy that is opened for this, and one flush writes them. Another
 * writer may have changed the store since the kill, without a lock: nothing of theirs is changed back or removed. */
#include <stdlib.h>
#include <string.h>

#include "store/mark.h"
#include "zarr/contents.h"
#include "zarr/document.h"
#include "zarr/edit_journal.h"
#include "zarr/hierarchy_private.h"

/* What is finished. */
struct recovery {
    struct zs_hierarchy *hierarchy; /* collects the changes */
    const struct zs_edit_journal *journal;
    struct zs_names gone; /* paths of nodes whose objects are to go when nothing lists them any more */
};

/* ---- Edits ---- */

/* Has the flush change a document from `before` to `after`, and list it; `own` as in struct zs_change. */
static enum zs_status relist(struct zs_hierarchy *hierarchy, const char *path, const zs_json *before,
                             const zs_json *own, const zs_json *after, struct zs_error *err)
{
    zs_json *document = zs_json_copy(after);
    struct zs_node *node;
    ZS_TRY_MEMORY(document, err);
    ZS_TRY(zs_node_create(path, document, true, &node, err));
    return zs_hierarchy_relist(hierarchy, node, before, own, err);
}

/* Has the flush do an edit again, where the rule allows it. `theirs` is the stored document. */
static enum zs_status redo_edit(struct zs_hierarchy *hierarchy, const zs_json *edit, zs_json **theirs,
                                struct zs_error *err)
{
    const char *path = zs_json_name(edit);
    const zs_json *own = zs_json_get(edit, "own");
    bool is_changed = false;
    ZS_TRY(relist(hierarchy, path, zs_json_get(edit, "before"), zs_json_is_object(own) ? own : NULL,
                  zs_json_get(edit, "after"), err));
    const enum zs_status status = zs_change_merge(theirs, zs_hierarchy_known(hierarchy, path),
                                                  zs_changes_find(&hierarchy->pending, path), &is_changed, err);
    if (status != ZS_INVALID)
        return status;
    zs_changes_put(&hierarchy->pending, path, NULL);
    return ZS_OK;
}

/* Has the flush list what another writer stored, if it is a node. */
static enum zs_status list_theirs(struct zs_hierarchy *hierarchy, const char *path, const zs_json *theirs,
                                  struct zs_error *err)
{
    const enum zs_status status = relist(hierarchy, path, theirs, NULL, theirs, err);
    return zs_is_no_node(status) ? ZS_OK : status;
}

/* Finishes an edit of the journal. Where another writer has changed the document since, that is listed. */
static enum zs_status finish_edit(struct zs_hierarchy *hierarchy, const zs_json *edit, struct zs_error *err)
{
    const char *path = zs_json_name(edit);
    const zs_json *before = zs_json_get(edit, "before"), *after = zs_json_get(edit, "after");
    zs_json *theirs = NULL;
    if ((path[0] != '\0' && !zs_path_is_clean(path)) || !zs_json_is_object(before) || !zs_json_is_object(after))
        return zs_fail(err, ZS_INVALID, "expected the path of a node and two documents");
    enum zs_status status = zs_document_load(hierarchy->store, path, &theirs, err);
    if (status != ZS_OK)
        return status == ZS_CORRUPT ? ZS_OK : status; /* a damaged document stays as it is */
    if (theirs != NULL && zs_edit_is_outdated(theirs, before, after))
        status = list_theirs(hierarchy, path, theirs, err);
    else
        status = redo_edit(hierarchy, edit, &theirs, err);
    zs_json_free(theirs);
    return status;
}

static enum zs_status finish_edits(struct zs_hierarchy *hierarchy, const zs_json *edits, struct zs_error *err)
{
    for (const zs_json *edit = zs_json_first(edits); edit != NULL; edit = zs_json_next(edit))
        ZS_TRY(finish_edit(hierarchy, edit, err));
    return ZS_OK;
}

/* ---- Renames ---- */

/* Lists the nodes at and below a path, as their own documents describe them. */
static enum zs_status list_again(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    struct zs_hierarchy *stored = NULL;
    const struct zs_node **nodes = NULL;
    size_t count = 0;
    enum zs_status status = zs_hierarchy_open(hierarchy->store, false, &stored, err);
    if (status == ZS_OK)
        status = zs_hierarchy_list(stored, &nodes, &count, err);
    for (size_t i = 0; i < count && status == ZS_OK; i++)
        if (zs_path_is_within(nodes[i]->path, path) && nodes[i]->document != NULL)
            status = relist(hierarchy, nodes[i]->path, nodes[i]->document, NULL, nodes[i]->document, err);
    free(nodes);
    zs_hierarchy_free(stored);
    return status;
}

/* Finishes a rename: lists the node again, at its new path or still at the old one. */
static enum zs_status finish_rename(struct zs_hierarchy *hierarchy, const struct zs_edit_journal *journal,
                                    struct zs_error *err)
{
    const char *const paths[] = {journal->to, journal->from};
    if (journal->from == NULL || journal->to == NULL)
        return ZS_OK;
    for (int i = 0; i < 2; i++) {
        zs_json *document;
        ZS_TRY(zs_document_load(hierarchy->store, paths[i], &document, err));
        const bool is_there = document != NULL;
        zs_json_free(document);
        if (is_there)
            return list_again(hierarchy, paths[i], err);
    }
    return ZS_OK;
}

/* ---- Nodes that go ---- */

/* What is stored at a path, compared with the document that the journal has. */
enum found { FOUND_NOTHING, FOUND_SAME, FOUND_OTHER };

static enum zs_status compare_stored(struct zs_store *store, const char *path, const zs_json *noted,
                                     enum found *found, struct zs_error *err)
{
    zs_json *stored = NULL;
    *found = FOUND_OTHER;
    const enum zs_status status = zs_document_load(store, path, &stored, err);
    if (status != ZS_OK)
        return status == ZS_CORRUPT ? ZS_OK : status;
    zs_json *own = stored != NULL ? zs_document_own(stored) : NULL;
    const bool has_memory = stored == NULL || own != NULL;
    if (stored == NULL)
        *found = FOUND_NOTHING;
    else if (zs_json_is_same(own, noted))
        *found = FOUND_SAME;
    zs_json_free(own);
    zs_json_free(stored);
    return has_memory ? ZS_OK : zs_fail_memory(err);
}

/* Whether consolidated metadata list nodes below a path. */
static bool lists_below(const struct zs_hierarchy *hierarchy, const char *path)
{
    size_t first, end;
    zs_hierarchy_within(hierarchy, path, &first, &end);
    for (size_t i = first; i < end; i++)
        if (hierarchy->entries[i].node != NULL && strcmp(hierarchy->entries[i].path, path) != 0)
            return true;
    return false;
}

/* Adds a node to those that go, and takes it out of consolidated metadata. It stays where these list it, unless they
 * are those from before the flush (is_untouched): another writer has listed it. */
static enum zs_status let_go(struct recovery *recovery, const char *path, bool is_untouched, struct zs_error *err)
{
    struct zs_hierarchy *hierarchy = recovery->hierarchy;
    const struct zs_node *node;
    if (hierarchy->is_consolidated && zs_hierarchy_find(hierarchy, path, false, &node, NULL) != ZS_NOT_FOUND) {
        if (!is_untouched || lists_below(hierarchy, path))
            return ZS_OK;
        ZS_TRY(zs_hierarchy_unlist(hierarchy, path, err));
    }
    return zs_names_add(&recovery->gone, zs_strdup(path), err);
}

/* Whether the root's document is as it was before the flush. */
static enum zs_status find_untouched(const struct recovery *recovery, bool *is, struct zs_error *err)
{
    struct zs_object *root;
    *is = false;
    if (!recovery->journal->has_root_version)
        return ZS_OK;
    ZS_TRY(zs_object_open(recovery->hierarchy->store, "zarr.json", &root, err));
    *is = root->is_versioned && root->version == recovery->journal->root_version;
    zs_object_close(root);
    return ZS_OK;
}

/* Lets the removed nodes go whose documents are gone, or are as they were when they were removed. */
static enum zs_status finish_removals(struct recovery *recovery, struct zs_error *err)
{
    bool is_untouched;
    const zs_json *removed = recovery->journal->removed;
    if (removed == NULL)
        return ZS_OK;
    ZS_TRY(find_untouched(recovery, &is_untouched, err));
    for (const zs_json *noted = zs_json_first(removed); noted != NULL; noted = zs_json_next(noted)) {
        const char *path = zs_json_name(noted);
        enum found found;
        if (!zs_path_is_clean(path) || !zs_json_is_object(noted))
            return zs_fail(err, ZS_INVALID, "expected the path of a node and its document");
        ZS_TRY(compare_stored(recovery->hierarchy->store, path, noted, &found, err));
        if (found != FOUND_OTHER)
            ZS_TRY(let_go(recovery, path, is_untouched, err));
    }
    return ZS_OK;
}

/* ---- New nodes ---- */

/* Checks that the documents of all new nodes are stored, as the journal has them. */
static enum zs_status are_all_stored(struct zs_store *store, const zs_json *added, bool *are, struct zs_error *err)
{
    *are = true;
    for (const zs_json *noted = zs_json_first(added); noted != NULL && *are; noted = zs_json_next(noted)) {
        enum found found;
        if (!zs_path_is_clean(zs_json_name(noted)))
            return zs_fail(err, ZS_INVALID, "expected the path of a node");
        ZS_TRY(compare_stored(store, zs_json_name(noted), noted, &found, err));
        *are = found == FOUND_SAME;
    }
    return ZS_OK;
}

/* Finds the paths of the nodes that the killed writer added. There are none if another writer changed one of them. */
static enum zs_status find_made(const struct recovery *recovery, const char **paths, size_t *count,
                                struct zs_error *err)
{
    *count = 0;
    for (const zs_json *made = zs_json_first(recovery->journal->made); made != NULL; made = zs_json_next(made)) {
        enum found found;
        if (!zs_json_string(made, &paths[*count]) || !zs_path_is_clean(paths[*count]))
            return zs_fail(err, ZS_INVALID, "expected the path of a node");
        const zs_json *noted = zs_json_get(recovery->journal->added, paths[*count]);
        ZS_TRY(compare_stored(recovery->hierarchy->store, paths[*count], noted, &found, err));
        if (found == FOUND_OTHER) {
            *count = 0;
            return ZS_OK;
        }
        *count += found == FOUND_SAME;
    }
    return ZS_OK;
}

/* Undoes new nodes of which not all are stored: those below go first. */
static enum zs_status undo_new(struct recovery *recovery, struct zs_error *err)
{
    const char **paths = zs_calloc(zs_json_size(recovery->journal->made) + 1, sizeof *paths);
    size_t count = 0;
    enum zs_status status = paths != NULL ? find_made(recovery, paths, &count, err) : zs_fail_memory(err);
    while (status == ZS_OK && count-- > 0)
        status = let_go(recovery, paths[count], false, err);
    free(paths);
    return status;
}

/* Lists new nodes, and finishes the edits and removals that belong to them; or undoes the new nodes. */
static enum zs_status finish_new(struct recovery *recovery, struct zs_error *err)
{
    const struct zs_edit_journal *journal = recovery->journal;
    bool are_stored;
    ZS_TRY(are_all_stored(recovery->hierarchy->store, journal->added, &are_stored, err));
    if (!are_stored)
        return undo_new(recovery, err);
    for (const zs_json *noted = zs_json_first(journal->added); noted != NULL; noted = zs_json_next(noted))
        ZS_TRY(relist(recovery->hierarchy, zs_json_name(noted), noted, NULL, noted, err));
    if (zs_json_size(journal->added) > 0)
        ZS_TRY(finish_edits(recovery->hierarchy, journal->beside, err));
    return finish_removals(recovery, err);
}

/* ---- All of it ---- */

/* Whether nothing of others is among what is at and below a path: no other node, and no mark of a maker who lives. */
static bool is_alone(struct zs_store *store, const struct zs_contents *found, const char *path)
{
    const size_t length = strlen(path);
    for (size_t i = 0; i < found->own.count; i++) {
        const char *key = found->own.list[i];
        const bool is_its = strncmp(key, path, length) == 0 && strcmp(key + length, "/zarr.json") == 0;
        if (zs_is_mark(key) ? zs_mark_check(store, key, false, NULL) != ZS_OK : !is_its && zs_is_document(key))
            return false;
    }
    return true;
}

/* Removes the documents and chunks of nodes that nothing lists any more. What cannot be removed stays: it hinders no
 * writer. */
static enum zs_status remove_gone(struct zs_store *store, const struct zs_names *gone, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < gone->count && status != ZS_NO_MEMORY; i++) {
        struct zs_contents found = {0};
        status = zs_contents_find_below(store, gone->list[i], &found, err);
        if (status == ZS_OK && is_alone(store, &found, gone->list[i]))
            status = zs_contents_remove(store, &found, ZS_MARKS_GO, err);
        zs_contents_clear(&found);
    }
    return status == ZS_NO_MEMORY ? status : ZS_OK;
}

static enum zs_status finish_all(struct recovery *recovery, struct zs_error *err)
{
    struct zs_hierarchy *hierarchy = recovery->hierarchy;
    ZS_TRY(finish_edits(hierarchy, recovery->journal->changes, err));
    ZS_TRY(finish_new(recovery, err));
    ZS_TRY(finish_rename(hierarchy, recovery->journal, err));
    if (hierarchy->pending.count > 0)
        ZS_TRY(zs_hierarchy_flush_locked(hierarchy, err));
    return remove_gone(hierarchy->store, &recovery->gone, err);
}

static enum zs_status finish(struct zs_store *store, const struct zs_edit_journal *journal, struct zs_error *err)
{
    struct recovery recovery = {.journal = journal};
    enum zs_status status = zs_hierarchy_open(store, true, &recovery.hierarchy, err);
    if (status != ZS_OK) /* a root that is half written keeps the journal, one that is gone does not */
        return status == ZS_CORRUPT || status == ZS_INVALID ? ZS_IO : status;
    status = finish_all(&recovery, err);
    zs_names_free(recovery.gone.list);
    zs_hierarchy_free(recovery.hierarchy);
    return status;
}

enum zs_status zs_hierarchy_recover_locked(struct zs_store *store, struct zs_error *err)
{
    struct zs_edit_journal journal;
    bool is_there;
    struct zs_error reason = {0};
    ZS_TRY(zs_edit_journal_read(store, &is_there, &journal, err));
    if (!is_there)
        return ZS_OK;
    const enum zs_status status = journal.json != NULL ? finish(store, &journal, &reason) : ZS_OK;
    zs_edit_journal_clear(&journal);
    /* remove an invalid journal as well */
    if (status == ZS_OK || status == ZS_INVALID || status == ZS_NOT_FOUND || status == ZS_CORRUPT)
        return zs_edit_journal_remove(store, err);
    return zs_fail(err, status, "%s: cannot finish what a killed writer began: %s", store->root, reason.message);
}

enum zs_status zs_hierarchy_recover(struct zs_store *store, struct zs_error *err)
{
    struct zs_edit_journal journal;
    bool is_there;
    struct zs_lock *lock = NULL;
    if (store->is_remote || !zs_store_has_locks(store))
        return ZS_OK;
    ZS_TRY(zs_edit_journal_read(store, &is_there, &journal, err)); /* without waiting for a present writer */
    zs_edit_journal_clear(&journal);
    if (!is_there)
        return ZS_OK;
    ZS_TRY(zs_store_lock(store, "zarr.json", &lock, err));
    const enum zs_status status = lock != NULL ? zs_hierarchy_recover_locked(store, err) : ZS_OK;
    zs_store_unlock(store, lock);
    return status;
}
