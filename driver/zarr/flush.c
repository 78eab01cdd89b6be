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

/* ---- Objects that go ---- */

/* Removes the objects of a node and of all below it. In a store that cannot be listed only the document goes. */
static enum zs_status remove_node(struct zs_store *store, const char *path, struct zs_error *err)
{
    enum zs_status status = zs_contents_remove_below(store, path, err);
    if (status != ZS_UNSUPPORTED)
        return status;
    char *key = zs_document_key(path);
    status = key != NULL ? zs_store_remove(store, key, err) : zs_fail_memory(err);
    free(key);
    return status == ZS_NOT_FOUND ? ZS_OK : status;
}

static enum zs_status remove_nodes(const struct zs_edit_work *work, struct zs_error *err)
{
    for (size_t i = 0; i < work->count; i++)
        if (work->items[i].goes)
            ZS_TRY(remove_node(work->store, work->items[i].path, err));
    return ZS_OK;
}

/* Removes the chunks of replaced arrays, and the folders that they leave empty. */
static enum zs_status remove_replaced(struct zs_hierarchy *hierarchy, struct zs_error *err)
{
    struct zs_names *keys = &hierarchy->replaced;
    const enum zs_status status =
        zs_store_remove_all(hierarchy->store, (const char *const *)keys->list, keys->count, err);
    while (keys->count > 0) {
        char *key = keys->list[--keys->count], *folder = zs_path_parent(key);
        keys->list[keys->count] = NULL;
        if (folder != NULL && !hierarchy->store->is_remote)
            zs_store_remove_directory(hierarchy->store, folder);
        free(folder);
        free(key);
    }
    return status;
}

/* ---- The journal ---- */

/* Reads the journal: ZS_NOT_FOUND where there is none; *json is NULL for a damaged one, which tells nothing. */
static enum zs_status read_journal(struct zs_store *store, zs_json **json, struct zs_error *err)
{
    char *key = zs_journal_key("zarr.json");
    *json = NULL;
    ZS_TRY_MEMORY(key, err);
    zs_store_forget(store, key);
    const enum zs_status status = zs_document_get(store, key, json, NULL, err);
    free(key);
    return status == ZS_CORRUPT ? ZS_OK : status;
}

/* Puts a journal where none is: ZS_CONFLICT. */
static enum zs_status put_journal(struct zs_store *store, const char *text, struct zs_error *err)
{
    char *key = zs_journal_key("zarr.json");
    const char *none = zs_store_has_conditions(store) ? zs_store_expected(store, "") : NULL;
    const enum zs_status status =
        key != NULL ? zs_store_put_over(store, key, none, text, strlen(text), err) : zs_fail_memory(err);
    free(key);
    return status;
}

/* Removes the journal with this "id". Without a lock another writer may have done it and put the next one. */
static enum zs_status remove_journal(struct zs_store *store, const zs_json *id, bool is_locked, struct zs_error *err)
{
    if (!is_locked) {
        zs_json *now;
        const enum zs_status status = read_journal(store, &now, err);
        const bool is_it = status == ZS_OK && zs_json_is_same(zs_json_get(now, "id"), id);
        zs_json_free(now);
        if (!is_it)
            return status == ZS_NOT_FOUND ? ZS_OK : status;
    }
    char *key = zs_journal_key("zarr.json");
    const enum zs_status status = key != NULL ? zs_store_remove(store, key, err) : zs_fail_memory(err);
    free(key);
    return status;
}

/* Whether an edit has a path of a node in the store. */
static bool is_edit(const zs_json *edit)
{
    const char *path;
    return zs_json_string(zs_json_get(edit, "path"), &path) && (path[0] == '\0' || zs_path_is_clean(path)) &&
           (path[0] != '\0' || zs_json_get(edit, "removed") == NULL);
}

/* Does what a journal tells, in part or again where it was done. What cannot be removed stays: it hinders no writer. */
static enum zs_status redo_all(struct zs_store *store, zs_json *edits, struct zs_error *err)
{
    struct zs_edit_work work = {.store = store, .edits = edits};
    bool are_edits = zs_json_size(edits) > 0;
    for (const zs_json *e = zs_json_first(edits); e != NULL && are_edits; e = zs_json_next(e))
        are_edits = is_edit(e);
    if (!are_edits)
        return ZS_OK;
    enum zs_status status = zs_edits_build(&work, err);
    if (status == ZS_OK)
        status = zs_edits_put(&work, err);
    if (status == ZS_OK && remove_nodes(&work, err) == ZS_NO_MEMORY)
        status = ZS_NO_MEMORY;
    zs_edits_free(&work);
    return status;
}

/* Waits until no journal is there, and does one that stays. */
static enum zs_status enter(struct zs_store *store, bool is_locked, struct zs_error *err)
{
    struct zs_error reason = {0};
    for (int looks = is_locked ? LOOKS : 0;;) {
        zs_json *json;
        enum zs_status status = read_journal(store, &json, err);
        if (status != ZS_OK)
            return status == ZS_NOT_FOUND ? ZS_OK : status;
        if (looks < LOOKS) {
            (void)zs_conflict_again(&looks);
        } else {
            status = redo_all(store, zs_json_get_mutable(json, "edits"), &reason);
            if (status == ZS_OK || status == ZS_NOT_FOUND || status == ZS_INVALID)
                status = remove_journal(store, zs_json_get(json, "id"), is_locked, &reason);
        }
        zs_json_free(json);
        if (status != ZS_OK)
            return zs_fail(err, status, "%s: cannot finish what another writer began: %s", store->root, reason.message);
    }
}

enum zs_status zs_hierarchy_enter(struct zs_store *store, struct zs_lock **lock, struct zs_error *err)
{
    ZS_TRY(zs_store_lock(store, "zarr.json", lock, err));
    const enum zs_status status = enter(store, *lock != NULL, err);
    if (status != ZS_OK)
        zs_store_unlock(store, *lock);
    return status;
}

enum zs_status zs_hierarchy_recover(struct zs_store *store, struct zs_error *err)
{
    zs_json *json;
    if (store->is_remote) /* a request more: the next flush does it */
        return ZS_OK;
    const enum zs_status status = read_journal(store, &json, err); /* without waiting for a present writer */
    if (status != ZS_OK)
        return status == ZS_NOT_FOUND ? ZS_OK : status;
    zs_json_free(json);
    struct zs_lock *lock;
    ZS_TRY(zs_hierarchy_enter(store, &lock, err));
    zs_store_unlock(store, lock);
    return ZS_OK;
}

/* ---- The flush ---- */

/* Puts the journal of a list of edits, which has an id of 16 digits. *journal is freed with zs_json_free(). */
static enum zs_status begin_journal(struct zs_store *store, const zs_json *edits, zs_json **journal,
                                    struct zs_error *err)
{
    char digits[17], *text = NULL;
    zs_random_digits(digits, 16);
    *journal = zs_json_new_object();
    if (zs_json_add_string(*journal, "id", digits) != NULL &&
        zs_json_add(*journal, "edits", zs_json_copy(edits)) != NULL)
        text = zs_json_print(*journal);
    ZS_TRY_MEMORY(text, err);
    enum zs_status status = zs_json_check(text, strlen(text), err); /* the next writer must be able to read it */
    if (status != ZS_OK)
        status = zs_fail_in(err, status, "%s: changes at once", store->root);
    if (status == ZS_OK)
        status = put_journal(store, text, err);
    free(text);
    return status;
}

/* Whether a kill could leave a part of the work. */
static bool needs_journal(const struct zs_edit_work *work)
{
    size_t count = 0;
    for (size_t i = 0; i < work->count; i++)
        count += work->items[i].goes ? 2 : work->items[i].text != NULL;
    return count > 1 && !work->is_new;
}

/* Steps 3 to 6. */
static enum zs_status commit(struct zs_hierarchy *hierarchy, struct zs_edit_work *work, bool is_locked,
                             struct zs_error *err)
{
    zs_json *journal = NULL;
    enum zs_status status = needs_journal(work) ? begin_journal(work->store, work->edits, &journal, err) : ZS_OK;
    hierarchy->is_committed = status == ZS_OK;
    if (status == ZS_OK)
        status = zs_edits_put(work, err);
    if (status == ZS_OK)
        status = remove_nodes(work, err);
    if (status == ZS_OK)
        status = remove_replaced(hierarchy, err);
    if (status == ZS_OK && journal != NULL)
        status = remove_journal(work->store, zs_json_get(journal, "id"), is_locked, err);
    zs_json_free(journal);
    return status;
}

/* All steps. ZS_CONFLICT: another writer put a journal meanwhile. */
static enum zs_status flush_edits(struct zs_hierarchy *hierarchy, zs_json *edits, struct zs_error *err)
{
    struct zs_lock *lock = NULL;
    struct zs_edit_work work = {.store = hierarchy->store, .edits = edits, .of = hierarchy};
    work.is_new = zs_hierarchy_root_is_pending(hierarchy);
    if (!work.is_new)
        ZS_TRY(zs_hierarchy_enter(hierarchy->store, &lock, err));
    enum zs_status status = zs_edits_build(&work, err);
    if (status == ZS_OK)
        status = commit(hierarchy, &work, lock != NULL, err);
    zs_store_unlock(hierarchy->store, lock);
    zs_edits_free(&work);
    return status;
}

/* Makes the list of pending changes, and writes it. */
static enum zs_status flush(struct zs_hierarchy *hierarchy, struct zs_error *err)
{
    int tries = 0;
    zs_json *edits = zs_edits_make(hierarchy);
    ZS_TRY_MEMORY(edits, err);
    enum zs_status status = zs_store_wait_commits(hierarchy->store, err); /* of chunks that documents refer to */
    if (status == ZS_OK) {
        do
            status = flush_edits(hierarchy, edits, err);
        while (status == ZS_CONFLICT && !hierarchy->is_committed && zs_conflict_again(&tries));
    }
    zs_json_free(edits);
    return status;
}

enum zs_status zs_hierarchy_flush(struct zs_hierarchy *hierarchy, struct zs_error *err)
{
    if (hierarchy->is_deferred)
        return ZS_OK;
    if (zs_hierarchy_is_changed(hierarchy)) {
        struct zs_error reason = {0};
        ZS_TRY(zs_hierarchy_check_writable(hierarchy, err));
        hierarchy->is_committed = false;
        const enum zs_status status = flush(hierarchy, &reason);
        if (status != ZS_OK) {
            zs_hierarchy_end(hierarchy, status, reason.message);
            return zs_fail(err, status, "%s", reason.message);
        }
    }
    for (size_t i = 0; i < hierarchy->count; i++) {
        hierarchy->entries[i].change = ZS_CHANGE_NONE;
        zs_json_free(hierarchy->entries[i].before);
        hierarchy->entries[i].before = NULL;
    }
    hierarchy->is_new = false; /* others see it from now on, and may add to it */
    return ZS_OK;
}
