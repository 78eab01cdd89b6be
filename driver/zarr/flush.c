/* Writes edits of documents: all of them or none, beside other writers, and after a kill. What they are, and how they
 * are put over what is stored by then, is in edits.c.
 *
 * A flush takes these steps. Where there are locks, it holds that of the root's document.
 *   1 a journal that is there is done first: its maker was killed, or is slow
 *   2 all documents are built in memory: what cannot be written is found out here, and nothing has changed
 *   3 the list is put as the journal, on the condition that none is there; one document alone needs none
 *   4 documents are put on the condition of the version that was read, else built again over the newer one: new ones
 *     first, then edited ones, groups behind their members, the root last
 *   5 objects of removed nodes, and chunks of replaced arrays, go
 *   6 the journal goes
 * Step 3 is the commit. A later writer who finds the journal takes steps 4 to 6 as its maker does, also at the same
 * time. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/staging.h"
#include "zarr/contents.h"
#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* How often a journal is looked at again, within a second, before it is done beside a maker who may be at work. */
#define LOOKS 5

/* Puts what a list tells of documents, as far as it is possible by now. */
static enum zs_status redo_documents(struct zs_store *store, const zs_json *edits, struct zs_error *err)
{
    struct zs_edit_work work = {.store = store, .edits = edits};
    enum zs_status status = zs_edits_build(&work, err);
    if (status == ZS_OK)
        status = zs_edits_put(&work, err);
    zs_edits_free(&work);
    return status;
}

/* ---- Objects that go ---- */

/* Loads the document of an edit's node without consolidated metadata; NULL where there is none. */
static enum zs_status load_own(struct zs_store *store, const zs_json *edit, zs_json **own, struct zs_error *err)
{
    zs_json *stored = NULL;
    *own = NULL;
    ZS_TRY(zs_document_load(store, zs_edit_path(edit), &stored, NULL, err));
    const bool is_there = stored != NULL;
    *own = is_there ? zs_document_own(stored) : NULL;
    zs_json_free(stored);
    return *own != NULL || !is_there ? ZS_OK : zs_fail_memory(err);
}

/* Notes the stored document of a node that is removed: a journal removes no other one. */
static enum zs_status note_removed(struct zs_store *store, zs_json *edit, struct zs_error *err)
{
    zs_json *own;
    const enum zs_status status = load_own(store, edit, &own, err);
    if (own != NULL && zs_json_set(edit, "removed", own) == NULL)
        return zs_fail_memory(err);
    return status == ZS_CORRUPT ? ZS_OK : status;
}

/* Finds the objects of removed nodes and of all below them, without files of others. In a store that cannot be listed,
 * only the documents are found. */
static enum zs_status find_removed(struct zs_store *store, zs_json *edits, struct zs_contents *removed,
                                   struct zs_error *err)
{
    for (const zs_json *e = zs_json_first(edits); e != NULL; e = zs_json_next(e)) {
        if (zs_json_get(e, "removed") == NULL)
            continue;
        ZS_TRY(note_removed(store, (zs_json *)(uintptr_t)e, err)); /* of the list, which is ours */
        const enum zs_status status = zs_contents_find_below(store, zs_edit_path(e), removed, err);
        if (status == ZS_UNSUPPORTED)
            ZS_TRY(zs_names_add(&removed->own, zs_document_key(zs_edit_path(e)), err));
        else
            ZS_TRY(status);
    }
    return ZS_OK;
}

/* Whether the node at a path is the one that was removed, or what is left of it. */
static enum zs_status is_as_removed(struct zs_store *store, const zs_json *edit, bool *is, struct zs_error *err)
{
    zs_json *own;
    const enum zs_status status = load_own(store, edit, &own, err);
    *is = status == ZS_OK && (own == NULL || zs_json_is_same(own, zs_json_get(edit, "removed")));
    zs_json_free(own);
    return status == ZS_CORRUPT ? ZS_OK : status;
}

/* Removes what a journal removes. What cannot be removed stays: it hinders no writer. */
static enum zs_status redo_removals(struct zs_store *store, const zs_json *edits, struct zs_error *err)
{
    for (const zs_json *e = zs_json_first(edits); e != NULL; e = zs_json_next(e)) {
        bool is = false;
        if (zs_json_get(e, "removed") != NULL)
            ZS_TRY(is_as_removed(store, e, &is, err));
        if (is && zs_contents_remove_below(store, zs_edit_path(e), ZS_MARKS_GO, err) == ZS_NO_MEMORY)
            return ZS_NO_MEMORY;
    }
    return ZS_OK;
}

/* Upper limit of the chunks that are removed: coordinates have one or a few. */
#define MOST_CHUNKS 100000

/* Removes the chunks of an array of one dimension, and leaves its document. */
static enum zs_status remove_chunks(const struct zs_hierarchy *hierarchy, const struct zs_node *node,
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
    for (size_t i = 0; i < hierarchy->count; i++) {
        const struct zs_hierarchy_entry *entry = &hierarchy->entries[i];
        if (entry->change != NULL && entry->node != NULL && zs_change_has_new_keys(entry->change, entry->node))
            ZS_TRY(remove_chunks(hierarchy, entry->change->replaced, err));
    }
    return ZS_OK;
}

/* ---- Renames ---- */

/* Adds the consolidated metadata of the groups above a node that list it, by the paths of these groups. */
static enum zs_status add_listed(struct zs_store *store, zs_json *edit, const char *from, struct zs_error *err)
{
    zs_json *listed = zs_json_add_object(edit, "listed");
    enum zs_status status = listed != NULL ? ZS_OK : zs_fail_memory(err);
    char *group = zs_path_parent(from);
    while (group != NULL && status == ZS_OK) {
        zs_json *document = NULL;
        status = zs_document_load(store, group, &document, NULL, err);
        const zs_json *consolidated = zs_json_get(document, "consolidated_metadata");
        const zs_json *m = zs_json_first(zs_json_get(consolidated, "metadata"));
        while (m != NULL && !zs_path_is_within(zs_json_name(m), zs_path_below(group, from)))
            m = zs_json_next(m);
        if (status == ZS_OK && m != NULL && zs_json_add(listed, group, zs_json_copy(consolidated)) == NULL)
            status = zs_fail_memory(err);
        zs_json_free(document);
        char *above = zs_path_parent(group);
        free(group);
        group = above;
    }
    free(group);
    return status;
}

/* Puts a group without consolidated metadata (NULL), or with these (taken over). */
static enum zs_status put_listed(struct zs_store *store, const char *group, zs_json *consolidated,
                                 struct zs_error *err)
{
    zs_json *document = NULL;
    char *text = NULL;
    enum zs_status status = zs_document_load(store, group, &document, NULL, err);
    if (consolidated == NULL)
        zs_json_remove(document, "consolidated_metadata");
    else if (document == NULL)
        zs_json_free(consolidated);
    else if (zs_json_set(document, "consolidated_metadata", consolidated) == NULL)
        status = zs_fail_memory(err);
    if (status == ZS_OK && document != NULL)
        status = zs_document_print(store, group, document, &text, err);
    if (text != NULL)
        status = zs_document_put_text(store, group, NULL, text, err);
    free(text);
    zs_json_free(document);
    return status;
}

/* Renames a node. No group lists anything while its directory moves: readers must not take moved chunks for absent
 * ones. `edit` has what they listed, with which they are put again. *is_whole: the node is at one path, and listed
 * there, on failure too. */
static enum zs_status rename_node(struct zs_store *store, const zs_json *edit, bool *is_whole, struct zs_error *err)
{
    const char *from = zs_edit_path(edit), *to = zs_json_text(edit, "to", "");
    const zs_json *listed = zs_json_first(zs_json_get(edit, "listed"));
    char **names = NULL;
    struct zs_error ignored;
    *is_whole = false;
    for (const zs_json *g = listed; g != NULL; g = zs_json_next(g))
        ZS_TRY(put_listed(store, zs_json_name(g), NULL, err));
    enum zs_status status = zs_store_list(store, from, &names, err);
    if (status == ZS_OK)
        status = zs_store_rename(store, from, to, err);
    else if (status == ZS_NOT_FOUND) /* it was moved before */
        status = ZS_OK;
    zs_names_free(names);
    const char *now = status == ZS_OK ? to : from;
    enum zs_status again = ZS_OK;
    for (const zs_json *g = listed; g != NULL && again == ZS_OK; g = zs_json_next(g)) {
        const char *group = zs_json_name(g);
        zs_json *renamed = zs_listing_renamed(g, zs_path_below(group, from), zs_path_below(group, now));
        again = renamed != NULL ? put_listed(store, group, renamed, status == ZS_OK ? err : &ignored)
                                : zs_fail_memory(err);
    }
    *is_whole = again == ZS_OK;
    return status == ZS_OK ? again : status;
}

/* ---- The journal ---- */

/* Reads the journal: *json is NULL when there is none that tells something, *etag what its successor can expect. */
static enum zs_status read_journal(struct zs_store *store, zs_json **json, char **etag, struct zs_error *err)
{
    char *key = zs_journal_key("zarr.json");
    ZS_TRY_MEMORY(key, err);
    *json = NULL;
    zs_store_forget(store, key);
    const enum zs_status status = zs_document_get(store, key, json, etag, err);
    free(key);
    if (status == ZS_OK && !zs_json_is_array(zs_json_get(*json, "edits"))) {
        zs_json_free(*json);
        *json = NULL;
    }
    return status == ZS_NOT_FOUND || status == ZS_CORRUPT ? ZS_OK : status;
}

static enum zs_status put_journal(struct zs_store *store, const char *text, const char *etag, struct zs_error *err)
{
    char *key = zs_journal_key("zarr.json");
    const char *expected = zs_store_has_conditions(store) ? zs_store_expected(store, etag) : NULL;
    const enum zs_status status =
        key != NULL ? zs_store_put_over(store, key, expected, text, strlen(text), err) : zs_fail_memory(err);
    free(key);
    return status;
}

/* Removes the journal with this "id", or makes it an empty one where nothing may be removed. Without a lock another
 * writer may have done it and put the next one. */
static enum zs_status remove_journal(struct zs_store *store, const zs_json *id, bool is_locked, struct zs_error *err)
{
    zs_json *now = NULL;
    char *etag = NULL;
    if (!is_locked) {
        ZS_TRY(read_journal(store, &now, &etag, err));
        const bool is_it = now != NULL && zs_json_is_same(zs_json_get(now, "id"), id);
        zs_json_free(now);
        free(etag);
        if (!is_it)
            return ZS_OK;
    }
    struct zs_error ignored;
    char *key = zs_journal_key("zarr.json");
    const enum zs_status status = key != NULL ? zs_store_remove(store, key, err) : zs_fail_memory(err);
    free(key);
    return status == ZS_IO && put_journal(store, "{}", NULL, &ignored) == ZS_OK ? ZS_OK : status;
}

/* Whether an edit has a path of a node in the store. */
static bool is_edit(const zs_json *edit)
{
    const char *path, *to;
    const zs_json *renamed = zs_json_get(edit, "to"), *g = zs_json_first(zs_json_get(edit, "listed"));
    for (; g != NULL; g = zs_json_next(g))
        if (zs_json_name(g) == NULL || zs_path_below(zs_json_name(g), zs_edit_path(edit)) == NULL ||
            zs_path_below(zs_json_name(g), zs_json_text(edit, "to", "")) == NULL)
            return false;
    return zs_json_string(zs_json_get(edit, "path"), &path) && (path[0] == '\0' || zs_path_is_clean(path)) &&
           (path[0] != '\0' || zs_edit_has_document(edit)) &&
           (renamed == NULL || (path[0] != '\0' && zs_json_string(renamed, &to) && zs_path_is_clean(to)));
}

/* Does what a journal tells, in part or again where it was done. */
static enum zs_status redo_all(struct zs_store *store, const zs_json *edits, struct zs_error *err)
{
    bool are_edits = true;
    const zs_json *first = zs_json_first(edits);
    for (const zs_json *e = first; e != NULL && are_edits; e = zs_json_next(e))
        are_edits = is_edit(e);
    if (!are_edits || first == NULL)
        return ZS_OK;
    if (zs_json_get(first, "to") != NULL) {
        bool is_whole;
        const enum zs_status status = rename_node(store, first, &is_whole, err);
        return is_whole ? ZS_OK : status;
    }
    ZS_TRY(redo_documents(store, edits, err));
    return redo_removals(store, edits, err);
}

/* Waits until no journal is there, and does one that stays. *etag: what the next journal can expect. */
static enum zs_status enter(struct zs_store *store, bool is_locked, char **etag, struct zs_error *err)
{
    struct zs_error reason = {0};
    for (int looks = is_locked ? LOOKS : 0;;) {
        zs_json *json;
        ZS_TRY(read_journal(store, &json, etag, err));
        if (json == NULL)
            return ZS_OK;
        enum zs_status status = ZS_OK;
        if (looks < LOOKS) {
            (void)zs_conflict_again(&looks);
        } else {
            status = redo_all(store, zs_json_get(json, "edits"), &reason);
            if (status == ZS_OK || status == ZS_NOT_FOUND || status == ZS_INVALID)
                status = remove_journal(store, zs_json_get(json, "id"), is_locked, &reason);
        }
        zs_json_free(json);
        free(*etag);
        *etag = NULL;
        if (status != ZS_OK)
            return zs_fail(err, status, "%s: cannot finish what another writer began: %s", store->root, reason.message);
    }
}

enum zs_status zs_edits_redo(struct zs_store *store, struct zs_error *err)
{
    char *etag = NULL;
    struct zs_lock *lock = NULL;
    ZS_TRY(zs_store_lock(store, "zarr.json", &lock, err));
    const enum zs_status status = enter(store, lock != NULL, &etag, err);
    zs_store_unlock(store, lock);
    free(etag);
    return status;
}

enum zs_status zs_hierarchy_recover(struct zs_store *store, struct zs_error *err)
{
    zs_json *json;
    char *etag = NULL;
    if (store->is_remote) /* a request more: the next flush does it */
        return ZS_OK;
    ZS_TRY(read_journal(store, &json, &etag, err)); /* without waiting for a present writer */
    free(etag);
    const bool is_there = json != NULL;
    zs_json_free(json);
    return is_there ? zs_edits_redo(store, err) : ZS_OK;
}

/* Makes the text of a journal, and its id, of 16 digits; NULL without memory. */
static char *journal_text(const zs_json *edits, zs_json **id)
{
    char digits[17], *text = NULL;
    zs_random_digits(digits, 16);
    zs_json *journal = zs_json_new_object();
    const zs_json *added = zs_json_add_string(journal, "id", digits);
    if (added != NULL && zs_json_add(journal, "edits", zs_json_copy(edits)) != NULL)
        text = zs_json_print(journal);
    *id = added != NULL ? zs_json_copy(added) : NULL;
    zs_json_free(journal);
    if (*id != NULL)
        return text;
    free(text);
    return NULL;
}

/* ---- The flush ---- */

/* Puts the journal of a list of edits; *id becomes its id, or stays NULL where it is longer than could be read. */
static enum zs_status begin_journal(struct zs_store *store, const zs_json *edits, const char *etag, zs_json **id,
                                    struct zs_error *err)
{
    char *text = journal_text(edits, id);
    enum zs_status status = text != NULL ? ZS_OK : zs_fail_memory(err);
    const bool is_long = text != NULL && strlen(text) > ZS_JSON_MAX_BYTES;
    if (status == ZS_OK && !is_long)
        status = put_journal(store, text, etag, err);
    free(text);
    if (status == ZS_OK && !is_long)
        return ZS_OK;
    zs_json_free(*id);
    *id = NULL;
    return status;
}

/* A flush of pending changes. */
struct flush {
    struct zs_hierarchy *hierarchy;
    zs_json *edits;
    struct zs_lock *lock;
    struct zs_edit_work work;
    struct zs_contents removed; /* objects that go */
};

/* Whether a kill could leave a part of the work. */
static bool needs_journal(const struct flush *f)
{
    size_t count = f->removed.own.count;
    for (size_t i = 0; i < f->work.count; i++)
        count += f->work.items[i].text != NULL;
    return count > 1 && !f->work.is_new;
}

/* Steps 4 and 5. */
static enum zs_status put_and_remove(struct flush *f, struct zs_error *err)
{
    for (size_t i = 0; i < f->hierarchy->count; i++)
        if (f->hierarchy->entries[i].change != NULL)
            f->hierarchy->entries[i].change->is_sent = true;
    ZS_TRY(zs_edits_put(&f->work, err));
    ZS_TRY(zs_contents_remove(f->hierarchy->store, &f->removed, ZS_MARKS_GO, err));
    return remove_replaced(f->hierarchy, err);
}

/* Steps 3 to 6. */
static enum zs_status commit(struct flush *f, const char *etag, struct zs_error *err)
{
    struct zs_store *store = f->hierarchy->store;
    zs_json *id = NULL;
    enum zs_status status = needs_journal(f) ? begin_journal(store, f->edits, etag, &id, err) : ZS_OK;
    if (status == ZS_NO_SPACE && f->removed.own.count > 0) /* removing makes room */
        status = ZS_OK;
    if (status == ZS_OK)
        status = put_and_remove(f, err);
    if (status == ZS_OK && id != NULL)
        status = remove_journal(store, id, f->lock != NULL, err);
    zs_json_free(id);
    return status;
}

/* All steps, for a holder of the lock where there is one. ZS_CONFLICT: another writer put a journal meanwhile. */
static enum zs_status flush_edits(struct flush *f, struct zs_error *err)
{
    struct zs_store *store = f->hierarchy->store;
    char *etag = NULL;
    f->work = (struct zs_edit_work){.store = store, .edits = f->edits, .of = f->hierarchy};
    f->work.is_new = zs_hierarchy_root_is_pending(f->hierarchy);
    enum zs_status status = f->work.is_new ? ZS_OK : enter(store, f->lock != NULL, &etag, err);
    if (status == ZS_OK)
        status = zs_edits_build(&f->work, err);
    if (status == ZS_OK) /* when the objects cannot be listed, nothing has changed yet */
        status = find_removed(store, f->edits, &f->removed, err);
    if (status == ZS_OK)
        status = commit(f, etag, err);
    zs_contents_clear(&f->removed);
    zs_edits_free(&f->work);
    free(etag);
    return status;
}

static enum zs_status lock_and_flush(struct zs_hierarchy *hierarchy, struct zs_error *err)
{
    struct zs_store *store = hierarchy->store;
    struct flush f = {.hierarchy = hierarchy, .edits = zs_edits_make(hierarchy)};
    ZS_TRY_MEMORY(f.edits, err);
    enum zs_status status = zs_store_wait_commits(store, err); /* of chunks that documents refer to, or that go */
    if (status == ZS_OK && !zs_hierarchy_root_is_pending(hierarchy))
        status = zs_store_lock(store, "zarr.json", &f.lock, err);
    int tries = 0;
    if (status == ZS_OK) {
        do
            status = flush_edits(&f, err);
        while (status == ZS_CONFLICT && zs_conflict_again(&tries));
    }
    zs_store_unlock(store, f.lock);
    zs_json_free(f.edits);
    return status;
}

enum zs_status zs_hierarchy_flush(struct zs_hierarchy *hierarchy, struct zs_error *err)
{
    if (hierarchy->is_deferred)
        return ZS_OK;
    if (zs_hierarchy_is_changed(hierarchy)) {
        ZS_TRY(lock_and_flush(hierarchy, err)); /* after a failure all stays pending */
        zs_changes_clear(hierarchy);
    }
    hierarchy->is_new = false; /* others see it from now on, and may add to it */
    zs_hierarchy_remove_marks(hierarchy);
    return ZS_OK;
}

enum zs_status zs_hierarchy_flush_removal(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    const struct zs_change *change = zs_change_above(hierarchy, path);
    const bool is_pending = change != NULL && change->kind == ZS_CHANGE_REMOVED;
    return is_pending && !zs_hierarchy_root_is_pending(hierarchy) ? zs_hierarchy_flush(hierarchy, err) : ZS_OK;
}

/* Checks that a node is still there, and none that is damaged. `is_implicit`: it is a group without a document. */
static enum zs_status check_renamed(struct zs_store *store, const char *from, bool is_implicit, struct zs_error *err)
{
    zs_json *document = NULL;
    ZS_TRY(zs_document_load(store, from, &document, NULL, err));
    const bool is_there = document != NULL || is_implicit;
    zs_json_free(document);
    return is_there ? ZS_OK : zs_fail(err, ZS_INVALID, "%s/%s: another writer removed or renamed it meanwhile",
                                      store->root, from);
}

/* Renames the node of the one edit in the list, under the lock where there is one. */
static enum zs_status rename_locked(struct zs_store *store, const zs_json *edits, zs_json *edit, bool is_implicit,
                                    bool is_locked, struct zs_error *err)
{
    zs_json *id = NULL;
    char *etag = NULL;
    struct zs_error ignored;
    bool is_whole = false;
    enum zs_status status = enter(store, is_locked, &etag, err);
    if (status == ZS_OK)
        status = check_renamed(store, zs_edit_path(edit), is_implicit, err);
    if (status == ZS_OK)
        status = add_listed(store, edit, zs_edit_path(edit), err);
    if (status == ZS_OK)
        status = begin_journal(store, edits, etag, &id, err);
    if (status == ZS_OK)
        status = rename_node(store, edit, &is_whole, err);
    if (is_whole && id != NULL) {
        const enum zs_status removed = remove_journal(store, id, is_locked, status == ZS_OK ? err : &ignored);
        status = status == ZS_OK ? removed : status;
    }
    free(etag);
    zs_json_free(id);
    return status;
}

enum zs_status zs_edits_rename(struct zs_store *store, const char *from, const char *to, bool is_implicit,
                               struct zs_error *err)
{
    struct zs_lock *lock = NULL;
    zs_json *edits = zs_json_new_array(), *edit = zs_json_add_object(edits, NULL);
    const bool ok = zs_json_add_string(edit, "path", from) != NULL && zs_json_add_string(edit, "to", to) != NULL;
    enum zs_status status = ok ? zs_store_lock(store, "zarr.json", &lock, err) : zs_fail_memory(err);
    if (status == ZS_OK)
        status = rename_locked(store, edits, edit, is_implicit, lock != NULL, err);
    zs_store_unlock(store, lock);
    zs_json_free(edits);
    return status;
}
