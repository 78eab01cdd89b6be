/* Writes the pending changes of a hierarchy: all of them or none, beside other writers, and after a kill.
 *
 * They become a list of edits in JSON, one for each path, groups before their members:
 *
 *   {"path": p, "before": null, "after": document}     a new node
 *   {"path": p, "before": document, "after": null}     one that goes with all below it
 *   {"path": p, "before": members, "after": members}   what was touched of a document, and in "attributes" of these
 *
 * Touched members are put over the document that is stored by then, and those that are only before go: all others stay
 * as others made them, of two editors of one name the last wins. Consolidated metadata of groups above get the
 * documents as they were put.
 *
 * A flush takes these steps. Where there are locks, it holds that of the root's document.
 *   1 a journal that is there is done first: its maker was killed, or is slow
 *   2 all documents are built in memory: what cannot be written is found out here, and nothing has changed
 *   3 the list is put as the journal, on the condition that none is there; one document alone needs none
 *   4 documents are put on the condition of the version that was read, else built again over the newer one: new ones
 *     first, then edited ones, groups behind their members, the root last
 *   5 objects of removed nodes, and chunks by keys that an array had before, go
 *   6 the journal goes
 * Step 3 is the commit. A later writer who finds the journal takes steps 4 to 6 as its maker does, also at the same
 * time; chunks by former keys stay then. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/staging.h"
#include "zarr/contents.h"
#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* How often a journal is looked at again, within a second, before it is done beside a maker who may be at work. */
#define LOOKS 5

static const char journal_key[] = ".shardedzarr-zarr.json.journal"; /* zs_journal_key("zarr.json") */

/* A node that an edit changes or removes, or a group above one. */
struct item {
    char *path;
    zs_json *edit;     /* of the list; NULL: only its consolidated metadata may change */
    bool goes;         /* it is removed, and what is stored is what was to be */
    zs_json *document; /* as it is to be; NULL: there is none */
    char *text;        /* NULL: it is stored like this */
    char *etag;        /* of the document that was read, "" when there was none; NULL: unknown */
};

/* The documents of a list of edits. */
struct work {
    struct zs_store *store;
    zs_json *edits;                /* borrowed */
    /* Whose changes they are; NULL: a journal is redone, where an edit that is not possible any more is left out. */
    const struct zs_hierarchy *hierarchy;
    bool is_new;                   /* the store is: nothing is read */
    struct item *items;            /* in the order of writing */
    size_t count, capacity;
};

static bool is_removal(const struct item *item)
{
    return item->edit != NULL && !zs_json_is_object(zs_json_get(item->edit, "after"));
}

static bool is_creation(const struct item *item)
{
    return item->edit != NULL && !is_removal(item) && !zs_json_is_object(zs_json_get(item->edit, "before"));
}

/* ---- From pending changes to edits ---- */

/* Adds the members of an object that another one has not, or otherwise: those of a document with its type, without
 * consolidated metadata, and with its attributes likewise. False without memory. */
static bool add_touched(zs_json *to, const zs_json *object, const zs_json *other, bool is_document)
{
    bool ok = to != NULL;
    for (const zs_json *m = zs_json_first(object); m != NULL && ok; m = zs_json_next(m)) {
        const char *name = zs_json_name(m);
        const zs_json *o = zs_json_get(other, name);
        if (is_document && strcmp(name, "consolidated_metadata") == 0)
            continue;
        if (is_document && strcmp(name, "attributes") == 0 && zs_json_is_object(m))
            ok = add_touched(zs_json_add_object(to, name), m, o, false);
        else if (!zs_json_is_same(m, o) || (is_document && strcmp(name, "node_type") == 0))
            ok = zs_json_add(to, name, zs_json_copy(m)) != NULL;
    }
    return ok;
}

static bool add_edit(zs_json *edits, const struct zs_hierarchy_entry *entry)
{
    zs_json *edit = zs_json_add_object(edits, NULL);
    const zs_json *document = entry->node != NULL ? entry->node->document : NULL;
    if (zs_json_add_string(edit, "path", entry->path) == NULL)
        return false;
    if (entry->before != NULL)
        return add_touched(zs_json_add_object(edit, "before"), entry->before, document, true) &&
               add_touched(zs_json_add_object(edit, "after"), document, entry->before, true);
    /* The document before a removal is noted when it is read. */
    return zs_json_add_null(edit, "before") != NULL &&
           (entry->change == ZS_CHANGE_REMOVED ? zs_json_add_null(edit, "after")
                                               : zs_json_add(edit, "after", zs_json_copy(document))) != NULL;
}

/* Makes the list of all pending changes. NULL without memory. */
static zs_json *make_edits(const struct zs_hierarchy *hierarchy)
{
    zs_json *edits = zs_json_new_array();
    for (size_t i = 0; i < hierarchy->count && edits != NULL; i++) {
        const struct zs_hierarchy_entry *entry = &hierarchy->entries[i];
        const bool is_edited = entry->change != ZS_CHANGE_NONE && entry->node != NULL;
        if ((is_edited || entry->change == ZS_CHANGE_REMOVED) && !add_edit(edits, entry)) {
            zs_json_free(edits);
            edits = NULL;
        }
    }
    return edits;
}

/* ---- One document ---- */

/* Puts the members of `after` over an object, and removes those that only `before` has; both may be NULL. One that both
 * have alike, as in journals of older versions, stays as it is. Attributes of a document are none of its members. False
 * without memory. */
static bool merge(zs_json *object, const zs_json *before, const zs_json *after, bool is_document, bool *is_changed)
{
    for (const zs_json *m = zs_json_first(after); m != NULL; m = zs_json_next(m)) {
        const char *name = zs_json_name(m);
        if ((is_document && strcmp(name, "attributes") == 0) || zs_json_is_same(m, zs_json_get(before, name)) ||
            zs_json_is_same(m, zs_json_get(object, name)))
            continue;
        *is_changed = true;
        if (zs_json_set(object, name, zs_json_copy(m)) == NULL)
            return false;
    }
    for (const zs_json *m = zs_json_first(before); m != NULL; m = zs_json_next(m)) {
        const char *name = zs_json_name(m);
        if ((is_document && strcmp(name, "attributes") == 0) || zs_json_get(after, name) != NULL ||
            zs_json_get(object, name) == NULL)
            continue;
        *is_changed = true;
        zs_json_remove(object, name);
    }
    return true;
}

static enum zs_status fail_changed(const char *path, const char *what, struct zs_error *err)
{
    return zs_fail(err, ZS_INVALID, "/%s: another writer %s meanwhile: it stays as it is", path, what);
}

/* Whether a shape has along some dimension less than another. */
static bool is_less(const zs_json *shape, const zs_json *other)
{
    uint64_t size, other_size;
    const zs_json *o = zs_json_first(other);
    for (const zs_json *s = zs_json_first(shape); s != NULL && o != NULL; s = zs_json_next(s), o = zs_json_next(o))
        if (zs_json_uint64(s, &size) && zs_json_uint64(o, &other_size) && size < other_size)
            return true;
    return false;
}

/* Puts what was touched over the stored document. */
static enum zs_status apply_change(struct item *item, bool *is_changed, struct zs_error *err)
{
    zs_json *document = item->document, *attributes = zs_json_get_mutable(document, "attributes");
    const zs_json *before = zs_json_get(item->edit, "before"), *after = zs_json_get(item->edit, "after");
    const zs_json *old_attributes = zs_json_get(before, "attributes");
    const zs_json *new_attributes = zs_json_get(after, "attributes");
    const zs_json *shape = zs_json_get(after, "shape"), *stored_shape = zs_json_get(document, "shape");
    if (!zs_json_is_same(zs_json_get(document, "node_type"), zs_json_get(after, "node_type")))
        return fail_changed(item->path, "put something else there", err);
    if (shape != NULL && !zs_json_is_same(shape, zs_json_get(before, "shape")) &&
        (zs_json_size(shape) != zs_json_size(stored_shape) || is_less(shape, stored_shape)))
        return fail_changed(item->path, "made this array longer than it is to be", err);
    if (!zs_json_is_object(attributes) && zs_json_is_object(new_attributes) && zs_json_size(new_attributes) > 0 &&
        !zs_json_is_same(old_attributes, new_attributes)) {
        attributes = zs_json_set(document, "attributes", zs_json_new_object());
        ZS_TRY_MEMORY(attributes, err);
    }
    const bool ok = merge(document, before, after, true, is_changed) &&
                    (!zs_json_is_object(attributes) ||
                     merge(attributes, old_attributes, new_attributes, false, is_changed));
    return ok ? ZS_OK : zs_fail_memory(err);
}

/* Notes in an edit the stored document of a node that is removed: a journal removes no other one. */
static enum zs_status apply_removal(const struct work *work, struct item *item, struct zs_error *err)
{
    zs_json *own = item->document != NULL ? zs_document_own(item->document) : NULL;
    if (item->document != NULL && own == NULL)
        return zs_fail_memory(err);
    item->goes = work->hierarchy != NULL || own == NULL || zs_json_is_same(own, zs_json_get(item->edit, "before"));
    if (work->hierarchy != NULL && own != NULL)
        return zs_json_set(item->edit, "before", own) != NULL ? ZS_OK : zs_fail_memory(err);
    zs_json_free(own);
    return ZS_OK;
}

/* Makes the document what it is to be by the edit of its path. */
static enum zs_status apply(const struct work *work, struct item *item, bool *is_changed, struct zs_error *err)
{
    const zs_json *document = zs_json_get(item->edit, "after");
    if (is_removal(item))
        return apply_removal(work, item, err);
    if (!is_creation(item))
        return item->document != NULL ? apply_change(item, is_changed, err)
                                      : zs_fail(err, ZS_INVALID,
                                                "/%s: another writer removed this %s meanwhile: its changes are not "
                                                "written", item->path, zs_json_text(document, "node_type", "node"));
    if (item->document != NULL)
        return zs_json_is_same(item->document, document) ? ZS_OK : fail_changed(item->path, "made it", err);
    *is_changed = true;
    item->document = zs_json_copy(document);
    return item->document != NULL ? ZS_OK : zs_fail_memory(err);
}

/* Reads the stored document. A damaged one is skipped where a journal is redone; a damaged root is ZS_IO there, because
 * its writer may be half way. */
static enum zs_status load(const struct work *work, struct item *item, struct zs_error *err)
{
    zs_json_free(item->document);
    free(item->etag);
    item->document = NULL;
    item->etag = NULL;
    if (work->is_new)
        return ZS_OK;
    const enum zs_status status = zs_document_load(work->store, item->path, &item->document, &item->etag, err);
    if (status == ZS_CORRUPT && is_removal(item))
        return ZS_OK;
    if (status != ZS_CORRUPT || work->hierarchy != NULL)
        return status;
    return item->path[0] == '\0' ? ZS_IO : ZS_OK;
}

/* ---- Consolidated metadata ---- */

/* Updates the consolidated metadata of a group, if it has some. Empty ones are none: a first entry would hide all nodes
 * that they do not list. */
static enum zs_status update_listing(const struct work *work, struct item *group, bool *is_changed,
                                     struct zs_error *err)
{
    size_t count = 0;
    if (zs_json_size(zs_document_listing(group->document)) == 0)
        return ZS_OK;
    struct zs_listed *list = zs_calloc(work->count, sizeof *list);
    ZS_TRY_MEMORY(list, err);
    for (size_t i = 0; i < work->count; i++) {
        const struct item *item = &work->items[i];
        const char *name = zs_path_below(group->path, item->path);
        const bool is_gone = is_removal(item);
        if (name != NULL && name[0] != '\0' && item->edit != NULL && (is_gone || item->document != NULL))
            list[count++] = (struct zs_listed){.name = name, .document = is_gone ? NULL : item->document};
    }
    const enum zs_status status = zs_document_consolidate(group->document, list, count, is_changed, err);
    free(list);
    return status;
}

/* ---- Building and putting documents ---- */

/* Builds a document over the stored one; those below it are built. */
static enum zs_status build(struct work *work, struct item *item, struct zs_error *err)
{
    bool is_changed = false;
    const struct zs_hierarchy_entry *entry =
        work->hierarchy != NULL ? zs_hierarchy_entry_at(work->hierarchy, item->path) : NULL;
    const struct zs_node *was = entry != NULL ? entry->node : NULL;
    free(item->text);
    item->text = NULL;
    ZS_TRY(load(work, item, err));
    if (item->edit != NULL) {
        const enum zs_status status = apply(work, item, &is_changed, err);
        if (status != ZS_OK && (status != ZS_INVALID || work->hierarchy != NULL))
            return status;
        is_changed = is_changed && status == ZS_OK;
    } else if (item->document == NULL && was != NULL && !was->is_implicit) {
        return zs_fail(err, ZS_INVALID,
                       "%s/%s: another writer removed or renamed this %s meanwhile: nothing is added to it, and "
                       "chunks that were written there belong to no array", work->store->root, item->path,
                       item->path[0] != '\0' ? "group" : "store");
    }
    if (item->document != NULL && !is_removal(item))
        ZS_TRY(update_listing(work, item, &is_changed, err));
    return is_changed ? zs_document_print(work->store, item->path, item->document, &item->text, err) : ZS_OK;
}

/* Whether a document is written before those that refer to it: a new one, but the root's. */
static bool is_first(const struct item *item)
{
    return item->path[0] != '\0' && is_creation(item);
}

/* Builds the documents from number `first` on again over newer ones, and reads those that were put: another writer may
 * have changed, and listed, them. */
static enum zs_status build_again(struct work *work, size_t first, struct zs_error *err)
{
    ZS_TRY(zs_store_wait_commits(work->store, err));
    for (size_t i = 0; i < work->count; i++)
        ZS_TRY(i < first ? load(work, &work->items[i], err) : build(work, &work->items[i], err));
    return ZS_OK;
}

/* Puts what was built, each over the version that was read, else built again. */
static enum zs_status put_all(struct work *work, struct zs_error *err)
{
    const bool expects = !work->is_new && zs_store_has_conditions(work->store);
    for (size_t i = 0; i < work->count; i++) {
        const struct item *item = &work->items[i];
        if (!is_first(item)) /* it is written behind the objects that it refers to */
            ZS_TRY(zs_store_wait_commits(work->store, err));
        for (int tries = 0; item->text != NULL;) {
            const char *etag = expects ? item->etag : NULL;
            const enum zs_status status = zs_document_put_text(work->store, item->path, etag, item->text, err);
            if (status == ZS_OK)
                break;
            if (status != ZS_CONFLICT || !zs_conflict_again(&tries))
                return status;
            ZS_TRY(build_again(work, i, err));
        }
    }
    return zs_store_wait_commits(work->store, err);
}

/* ---- All documents ---- */

/* Orders new documents before those that refer to them, else by their paths, backwards: a group follows its members. */
static int compare_order(const void *a, const void *b)
{
    const struct item *first = a, *second = b;
    if (is_first(first) != is_first(second))
        return is_first(first) ? -1 : 1;
    return zs_path_compare(second->path, first->path);
}

/* Takes over the path. */
static enum zs_status add_item(struct work *work, char *path, zs_json *edit, struct zs_error *err)
{
    struct item *grown = path != NULL ? zs_grow(work->items, work->count, &work->capacity, sizeof *grown) : NULL;
    if (grown == NULL) {
        free(path);
        return zs_fail_memory(err);
    }
    work->items = grown;
    grown[work->count++] = (struct item){.path = path, .edit = edit};
    return ZS_OK;
}

/* Lists the documents of edits, and of all groups above them, in the order of writing. Edits are sorted, so a group is
 * listed already when the edit before is at or below it. */
static enum zs_status list_items(struct work *work, struct zs_error *err)
{
    const char *path, *previous = NULL;
    for (const zs_json *e = zs_json_first(work->edits); e != NULL; e = zs_json_next(e), previous = path) {
        path = zs_json_text(e, "path", "");
        ZS_TRY(add_item(work, zs_strdup(path), (zs_json *)(uintptr_t)e, err)); /* the list may be changed */
        for (size_t n = strlen(path); n > 0;) {
            while (--n > 0 && path[n] != '/')
                ;
            char *above = zs_strndup(path, n);
            if (above != NULL && previous != NULL && zs_path_is_within(previous, above)) {
                free(above);
                break;
            }
            ZS_TRY(add_item(work, above, NULL, err));
        }
    }
    if (work->count > 1)
        qsort(work->items, work->count, sizeof *work->items, compare_order);
    return ZS_OK;
}

/* Builds all documents of the edits in memory, and notes in these the documents that go. ZS_INVALID, naming the node,
 * where another writer made that impossible. */
static enum zs_status build_all(struct work *work, struct zs_error *err)
{
    ZS_TRY(list_items(work, err));
    for (size_t i = 0; i < work->count; i++)
        ZS_TRY(build(work, &work->items[i], err));
    return ZS_OK;
}

static void free_work(struct work *work)
{
    for (size_t i = 0; i < work->count; i++) {
        free(work->items[i].path);
        free(work->items[i].text);
        free(work->items[i].etag);
        zs_json_free(work->items[i].document);
    }
    free(work->items);
}

/* ---- Objects that go ---- */

/* Upper limit of the chunks that are removed: coordinates have one or a few. */
#define MOST_CHUNKS 100000

/* Removes the chunks of an array of one dimension whose document, as it is now, gives them other keys than before: it
 * was written anew beside them. */
static enum zs_status remove_former(const struct work *work, const struct item *item, struct zs_error *err)
{
    const zs_json *before = zs_hierarchy_entry_at(work->hierarchy, item->path)->before;
    struct zs_array_meta *was = NULL, *is = NULL;
    struct zs_names keys = {0};
    enum zs_status status = ZS_OK;
    const bool has_others = zs_array_meta_parse(before, ZS_META_ARRAY, &was, NULL) == ZS_OK &&
                            zs_array_meta_parse(item->document, ZS_META_ARRAY, &is, NULL) == ZS_OK && was->ndim == 1 &&
                            is->ndim == 1 &&
                            (was->key_is_v2 != is->key_is_v2 || was->key_separator != is->key_separator);
    for (uint64_t i = 0; has_others && i < zs_chunk_count(was, 0) && i < MOST_CHUNKS && status == ZS_OK; i++)
        status = zs_names_add(&keys, zs_chunk_key(was, item->path, &i), err);
    if (status == ZS_OK)
        status = zs_store_remove_all(work->store, (const char *const *)keys.list, keys.count, err);
    char *folder = has_others && !work->store->is_remote ? zs_path_join(item->path, "c") : NULL;
    if (folder != NULL)
        zs_store_remove_directory(work->store, folder); /* if it is empty */
    free(folder);
    zs_names_free(keys.list);
    zs_array_meta_free(was);
    zs_array_meta_free(is);
    return status;
}

/* Removes the objects that no document refers to any more. Chunks by former keys stay where a journal is redone: by
 * then another writer may have put chunks by these keys, for a document that is yet to come. */
static enum zs_status remove_objects(const struct work *work, struct zs_error *err)
{
    for (size_t i = 0; i < work->count; i++) {
        const struct item *item = &work->items[i];
        if (item->goes)
            ZS_TRY(zs_contents_remove_below(work->store, item->path, false, err));
        else if (item->edit != NULL && work->hierarchy != NULL)
            ZS_TRY(remove_former(work, item, err));
    }
    return ZS_OK;
}

/* ---- The journal ---- */

/* Reads the journal: ZS_NOT_FOUND where there is none; *json is NULL for a damaged one, which tells nothing. */
static enum zs_status read_journal(struct zs_store *store, zs_json **json, struct zs_error *err)
{
    *json = NULL;
    zs_store_forget(store, journal_key);
    const enum zs_status status = zs_document_get(store, journal_key, json, NULL, err);
    return status == ZS_CORRUPT ? ZS_OK : status;
}

/* Removes the journal with this "id". Without a lock another writer may have done it and put the next one. */
static enum zs_status remove_journal(struct zs_store *store, const zs_json *id, bool is_locked, struct zs_error *err)
{
    zs_json *now = NULL;
    const enum zs_status status = is_locked ? ZS_OK : read_journal(store, &now, err);
    const bool is_it = is_locked || zs_json_is_same(zs_json_get(now, "id"), id);
    zs_json_free(now);
    if (status != ZS_OK || !is_it)
        return status == ZS_NOT_FOUND ? ZS_OK : status;
    return zs_store_remove(store, journal_key, err);
}

/* Whether the edits of a journal are of nodes in the store, and in order. */
static bool are_edits(const zs_json *edits)
{
    const char *path, *previous = NULL;
    for (const zs_json *e = zs_json_first(edits); e != NULL; e = zs_json_next(e), previous = path) {
        const zs_json *after = zs_json_get(e, "after");
        if (after == NULL || !zs_json_string(zs_json_get(e, "path"), &path) ||
            (path[0] != '\0' ? !zs_path_is_clean(path) : !zs_json_is_object(after)) ||
            (previous != NULL && zs_path_compare(previous, path) >= 0))
            return false;
    }
    return zs_json_size(edits) > 0;
}

/* Does what a journal tells, in part or again where it was done. What cannot be removed stays: it hinders no writer. */
static enum zs_status redo_all(struct zs_store *store, zs_json *edits, struct zs_error *err)
{
    struct work work = {.store = store, .edits = edits};
    if (!are_edits(edits))
        return ZS_OK;
    enum zs_status status = build_all(&work, err);
    if (status == ZS_OK)
        status = put_all(&work, err);
    if (status == ZS_OK && remove_objects(&work, err) == ZS_NO_MEMORY)
        status = ZS_NO_MEMORY;
    free_work(&work);
    return status;
}

enum zs_status zs_hierarchy_enter(struct zs_store *store, struct zs_lock **lock, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    struct zs_error reason = {0};
    ZS_TRY(zs_store_lock(store, "zarr.json", lock, err));
    for (int looks = *lock != NULL ? LOOKS : 0; status == ZS_OK;) {
        zs_json *json;
        status = read_journal(store, &json, err);
        if (status == ZS_NOT_FOUND)
            return ZS_OK;
        if (status == ZS_OK && looks < LOOKS) {
            (void)zs_conflict_again(&looks);
        } else if (status == ZS_OK) {
            status = redo_all(store, zs_json_get_mutable(json, "edits"), &reason);
            if (status == ZS_OK || status == ZS_NOT_FOUND || status == ZS_INVALID)
                status = remove_journal(store, zs_json_get(json, "id"), *lock != NULL, &reason);
            if (status != ZS_OK)
                zs_error_set(err, "%s: cannot finish what another writer began: %s", store->root, reason.message);
        }
        zs_json_free(json);
    }
    zs_store_unlock(store, *lock);
    return status;
}

enum zs_status zs_hierarchy_recover(struct zs_store *store, struct zs_error *err)
{
    zs_json *json;
    struct zs_lock *lock;
    if (store->is_remote) /* a request more: the next flush does it */
        return ZS_OK;
    const enum zs_status status = read_journal(store, &json, err); /* without waiting for a present writer */
    if (status != ZS_OK)
        return status == ZS_NOT_FOUND ? ZS_OK : status;
    zs_json_free(json);
    ZS_TRY(zs_hierarchy_enter(store, &lock, err));
    zs_store_unlock(store, lock);
    return ZS_OK;
}

/* ---- The flush ---- */

/* Puts the journal of a list of edits, which has an id of 16 digits, where none is: ZS_CONFLICT. *journal is freed with
 * zs_json_free(). */
static enum zs_status put_journal(struct zs_store *store, const zs_json *edits, zs_json **journal,
                                  struct zs_error *err)
{
    char digits[17], *text = NULL;
    zs_random_digits(digits, 16);
    *journal = zs_json_new_object();
    if (zs_json_add_string(*journal, "id", digits) != NULL &&
        zs_json_add(*journal, "edits", zs_json_copy(edits)) != NULL)
        text = zs_json_print(*journal);
    enum zs_status status = text != NULL ? zs_json_parse(text, strlen(text), NULL, err) : zs_fail_memory(err);
    if (status != ZS_OK) /* the next writer must be able to read it */
        status = zs_fail_in(err, status, "%s: changes at once", store->root);
    else
        status = zs_store_put_over(store, journal_key, "", text, strlen(text), err);
    free(text);
    return status;
}

/* Whether a kill could leave a part of the work. */
static bool needs_journal(const struct work *work)
{
    size_t count = 0;
    for (size_t i = 0; i < work->count; i++)
        count += work->items[i].goes ? 2 : work->items[i].text != NULL;
    return count > 1 && !work->is_new;
}

/* All steps. ZS_CONFLICT, unless *is_committed: another writer put a journal meanwhile. */
static enum zs_status flush_edits(struct zs_hierarchy *hierarchy, zs_json *edits, bool *is_committed,
                                  struct zs_error *err)
{
    struct zs_lock *lock = NULL;
    zs_json *journal = NULL;
    struct work work = {
        .store = hierarchy->store, .edits = edits, .hierarchy = hierarchy, .is_new = hierarchy->is_new};
    if (!work.is_new)
        ZS_TRY(zs_hierarchy_enter(hierarchy->store, &lock, err));
    enum zs_status status = build_all(&work, err);
    if (status == ZS_OK && needs_journal(&work))
        status = put_journal(work.store, edits, &journal, err);
    *is_committed = status == ZS_OK;
    if (status == ZS_OK)
        status = put_all(&work, err);
    if (status == ZS_OK)
        status = remove_objects(&work, err);
    if (status == ZS_OK && journal != NULL)
        status = remove_journal(work.store, zs_json_get(journal, "id"), lock != NULL, err);
    zs_store_unlock(hierarchy->store, lock);
    zs_json_free(journal);
    free_work(&work);
    return status;
}

/* Writes a list of pending changes. */
static enum zs_status flush(struct zs_hierarchy *hierarchy, zs_json *edits, struct zs_error *err)
{
    int tries = 0;
    bool is_committed = false;
    ZS_TRY(zs_store_wait_commits(hierarchy->store, err)); /* of chunks that documents refer to */
    enum zs_status status;
    do
        status = flush_edits(hierarchy, edits, &is_committed, err);
    while (status == ZS_CONFLICT && !is_committed && zs_conflict_again(&tries));
    return status;
}

enum zs_status zs_hierarchy_flush(struct zs_hierarchy *hierarchy, struct zs_error *err)
{
    if (hierarchy->is_deferred)
        return ZS_OK;
    zs_json *edits = make_edits(hierarchy);
    ZS_TRY_MEMORY(edits, err);
    const bool is_changed = zs_json_size(edits) > 0;
    enum zs_status status = is_changed ? zs_hierarchy_check_writable(hierarchy, err) : ZS_OK;
    if (is_changed && status == ZS_OK && (status = flush(hierarchy, edits, &hierarchy->end_reason)) != ZS_OK) {
        hierarchy->ended = status;
        (void)zs_fail(err, status, "%s", hierarchy->end_reason.message);
    }
    zs_json_free(edits);
    ZS_TRY(status);
    for (size_t i = 0; i < hierarchy->count; i++) {
        hierarchy->entries[i].change = ZS_CHANGE_NONE;
        zs_json_free(hierarchy->entries[i].before);
        hierarchy->entries[i].before = NULL;
    }
    hierarchy->is_new = false; /* others see it from now on, and may add to it */
    return ZS_OK;
}
