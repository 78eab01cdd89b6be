/* Puts a list of edits into the documents of a store (flush.c commits it).
 *
 * The pending changes of a hierarchy become a list of edits in JSON, one for each path:
 *
 *   {"path": p, "new": document}         a new node
 *   {"path": p, "node_type": t, "set": {...}, "drop": [...], "attributes": {"set": {...}, "drop": [...]}}
 *                                        the members and attributes that were touched
 *   {"path": p, "removed": document}     the node goes, with all below it; null: it had no document
 *
 * An edit is put over the document that is stored by then: names that were not touched stay as others made them, of
 * two editors of one name the last wins. Consolidated metadata of groups above get the documents as they were put. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

const char *zs_edit_path(const zs_json *edit)
{
    return zs_json_text(edit, "path", "");
}

/* ---- Touched names ---- */

static bool is_touchable(const char *name)
{
    return strcmp(name, "attributes") != 0 && strcmp(name, "consolidated_metadata") != 0;
}

/* Adds the names whose values differ as {"set", "drop"}: all names, or those of members of a document. */
static bool add_touched(zs_json *to, const zs_json *before, const zs_json *after, bool are_members)
{
    zs_json *set = zs_json_add_object(to, "set"), *drop = zs_json_add_array(to, "drop");
    bool ok = set != NULL && drop != NULL;
    for (const zs_json *m = zs_json_first(after); m != NULL && ok; m = zs_json_next(m)) {
        const char *name = zs_json_name(m);
        if ((!are_members || is_touchable(name)) && !zs_json_is_same(m, zs_json_get(before, name)))
            ok = zs_json_add(set, name, zs_json_copy(m)) != NULL;
    }
    for (const zs_json *m = zs_json_first(before); m != NULL && ok; m = zs_json_next(m)) {
        const char *name = zs_json_name(m);
        if ((!are_members || is_touchable(name)) && zs_json_get(after, name) == NULL)
            ok = zs_json_add_string(drop, NULL, name) != NULL;
    }
    return ok;
}

/* Puts touched names over those of an object; false without memory. */
static bool put_touched(zs_json *object, const zs_json *touched, bool *is_changed)
{
    for (const zs_json *m = zs_json_first(zs_json_get(touched, "set")); m != NULL; m = zs_json_next(m)) {
        if (zs_json_is_same(m, zs_json_get(object, zs_json_name(m))))
            continue;
        *is_changed = true;
        if (zs_json_set(object, zs_json_name(m), zs_json_copy(m)) == NULL)
            return false;
    }
    for (const zs_json *d = zs_json_first(zs_json_get(touched, "drop")); d != NULL; d = zs_json_next(d)) {
        const char *name;
        if (!zs_json_string(d, &name) || zs_json_get(object, name) == NULL)
            continue;
        *is_changed = true;
        zs_json_remove(object, name);
    }
    return true;
}

/* ---- From pending changes to edits ---- */

static bool add_edit(zs_json *edits, const struct zs_hierarchy_entry *entry)
{
    zs_json *edit = zs_json_add_object(edits, NULL);
    const bool ok = zs_json_add_string(edit, "path", entry->path) != NULL;
    if (entry->change == ZS_CHANGE_REMOVED)
        return ok && zs_json_add_null(edit, "removed") != NULL; /* the stored document, when that is read */
    const zs_json *document = entry->node->document;
    if (entry->before == NULL)
        return ok && zs_json_add(edit, "new", zs_json_copy(document)) != NULL;
    const char *type = entry->node->type == ZS_NODE_ARRAY ? "array" : "group";
    return ok && zs_json_add_string(edit, "node_type", type) != NULL &&
           add_touched(edit, entry->before, document, true) &&
           add_touched(zs_json_add_object(edit, "attributes"), zs_json_get(entry->before, "attributes"),
                       zs_json_get(document, "attributes"), false);
}

zs_json *zs_edits_make(const struct zs_hierarchy *hierarchy)
{
    zs_json *edits = zs_json_new_array();
    bool ok = edits != NULL;
    for (size_t i = 0; i < hierarchy->count && ok; i++) {
        const struct zs_hierarchy_entry *entry = &hierarchy->entries[i];
        const bool is_change = entry->change == ZS_CHANGE_REMOVED || entry->node != NULL;
        if (entry->change != ZS_CHANGE_NONE && is_change)
            ok = add_edit(edits, entry);
    }
    if (ok)
        return edits;
    zs_json_free(edits);
    return NULL;
}

/* ---- One document ---- */

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

/* Puts the touched names over the stored document. */
static enum zs_status apply_touched(struct zs_edit_item *item, bool *is_changed, struct zs_error *err)
{
    const zs_json *edit = item->edit, *type = zs_json_get(item->document, "node_type");
    if (!zs_json_is_same(type, zs_json_get(edit, "node_type")))
        return fail_changed(item->path, "put something else there", err);
    const zs_json *shape = zs_json_get(zs_json_get(edit, "set"), "shape"), *is = zs_json_get(item->document, "shape");
    if (shape != NULL && (zs_json_size(shape) != zs_json_size(is) || is_less(shape, is)))
        return fail_changed(item->path, "made this array longer than it is to be", err);
    const zs_json *touched = zs_json_get(edit, "attributes");
    zs_json *attributes = zs_json_get_mutable(item->document, "attributes");
    if (!zs_json_is_object(attributes) && zs_json_size(zs_json_get(touched, "set")) > 0)
        attributes = zs_json_set(item->document, "attributes", zs_json_new_object());
    const bool ok = put_touched(item->document, edit, is_changed) &&
                    (attributes == NULL || put_touched(attributes, touched, is_changed));
    return ok ? ZS_OK : zs_fail_memory(err);
}

/* Notes in an edit the stored document of a node that is removed: a journal removes no other one. */
static enum zs_status apply_removal(const struct zs_edit_work *work, struct zs_edit_item *item, struct zs_error *err)
{
    zs_json *own = item->document != NULL ? zs_document_own(item->document) : NULL;
    if (item->document != NULL && own == NULL)
        return zs_fail_memory(err);
    item->goes = work->of != NULL || own == NULL || zs_json_is_same(own, zs_json_get(item->edit, "removed"));
    if (work->of != NULL && own != NULL)
        return zs_json_set(item->edit, "removed", own) != NULL ? ZS_OK : zs_fail_memory(err);
    zs_json_free(own);
    return ZS_OK;
}

/* Makes the document what it is to be by the edit of its path. */
static enum zs_status apply(const struct zs_edit_work *work, struct zs_edit_item *item, bool *is_changed,
                            struct zs_error *err)
{
    const zs_json *document = zs_json_get(item->edit, "new");
    if (zs_json_get(item->edit, "removed") != NULL)
        return apply_removal(work, item, err);
    if (document == NULL)
        return item->document != NULL ? apply_touched(item, is_changed, err)
                                      : zs_fail(err, ZS_INVALID,
                                                "/%s: another writer removed this %s meanwhile: its changes are not "
                                                "written", item->path, zs_json_text(item->edit, "node_type", "node"));
    if (item->document != NULL)
        return zs_json_is_same(item->document, document) ? ZS_OK : fail_changed(item->path, "made it", err);
    *is_changed = true;
    item->document = zs_json_copy(document);
    return item->document != NULL ? ZS_OK : zs_fail_memory(err);
}

/* Reads the stored document. A journal leaves a damaged one as it is, with all that is to be put over it, but the
 * root's may be half written: it is waited for. */
static enum zs_status load(const struct zs_edit_work *work, struct zs_edit_item *item, struct zs_error *err)
{
    zs_json_free(item->document);
    free(item->etag);
    item->document = NULL;
    item->etag = NULL;
    if (work->is_new)
        return ZS_OK;
    const enum zs_status status = zs_document_load(work->store, item->path, &item->document, &item->etag, err);
    if (status == ZS_CORRUPT && zs_json_get(item->edit, "removed") != NULL)
        return ZS_OK;
    if (status != ZS_CORRUPT || work->of != NULL)
        return status;
    return item->path[0] == '\0' ? ZS_IO : ZS_OK;
}

/* ---- Consolidated metadata ---- */

/* Returns the path of an edit relative to a group, borrowed; NULL when it is not below it. */
static const char *below(const char *group, const char *path)
{
    const char *name = zs_path_below(group, path);
    return name != NULL && name[0] != '\0' ? name : NULL;
}

/* Updates the consolidated metadata of a group, if it has some. Empty ones are none: a first entry would hide all nodes
 * that they do not list. */
static enum zs_status update_listing(const struct zs_edit_work *work, struct zs_edit_item *group, bool *is_changed,
                                     struct zs_error *err)
{
    size_t count = 0;
    if (zs_json_size(zs_document_listing(group->document)) == 0)
        return ZS_OK;
    struct zs_listed *list = zs_calloc(work->count, sizeof *list);
    ZS_TRY_MEMORY(list, err);
    for (size_t i = 0; i < work->count; i++) {
        const struct zs_edit_item *item = &work->items[i];
        const char *name = below(group->path, item->path);
        const bool is_gone = zs_json_get(item->edit, "removed") != NULL;
        if (name != NULL && item->edit != NULL && (is_gone || item->document != NULL))
            list[count++] = (struct zs_listed){.name = name, .document = is_gone ? NULL : item->document};
    }
    const enum zs_status status = zs_document_consolidate(group->document, list, count, is_changed, err);
    free(list);
    return status;
}

/* ---- Building and putting documents ---- */

/* Whether a group had a document when the hierarchy read it. */
static bool was_there(const struct zs_edit_work *work, const char *path)
{
    const struct zs_node *node = work->of != NULL ? zs_hierarchy_known(work->of, path) : NULL;
    return node != NULL && node->document != NULL && !node->is_implicit;
}

/* Builds a document over the stored one; those below it are built. */
static enum zs_status build(struct zs_edit_work *work, struct zs_edit_item *item, struct zs_error *err)
{
    bool is_changed = false;
    free(item->text);
    item->text = NULL;
    ZS_TRY(load(work, item, err));
    if (item->edit != NULL) {
        const enum zs_status status = apply(work, item, &is_changed, err);
        if (status != ZS_OK && (status != ZS_INVALID || work->of != NULL))
            return status;
        is_changed = is_changed && status == ZS_OK;
    } else if (item->document == NULL && was_there(work, item->path)) {
        return zs_fail(err, ZS_INVALID,
                       "%s%s%s: another writer removed %s meanwhile: nothing is added to it, and chunks that were "
                       "written there belong to no array",
                       work->store->root, item->path[0] != '\0' ? "/" : "", item->path,
                       item->path[0] != '\0' ? "or renamed this group" : "this store");
    }
    if (item->document != NULL && zs_json_get(item->edit, "removed") == NULL)
        ZS_TRY(update_listing(work, item, &is_changed, err));
    return is_changed ? zs_document_print(work->store, item->path, item->document, &item->text, err) : ZS_OK;
}

static bool is_new(const struct zs_edit_item *item)
{
    return item->path[0] != '\0' && zs_json_get(item->edit, "new") != NULL;
}

/* Reads the edited documents below a group again: another writer may have put newer ones, and listed them. */
static enum zs_status reload_below(struct zs_edit_work *work, const struct zs_edit_item *group, struct zs_error *err)
{
    for (size_t i = 0; i < work->count; i++)
        if (work->items[i].edit != NULL && below(group->path, work->items[i].path) != NULL)
            ZS_TRY(load(work, &work->items[i], err));
    return ZS_OK;
}

static enum zs_status put(struct zs_edit_work *work, struct zs_edit_item *item, struct zs_error *err)
{
    if (!is_new(item)) /* it is written behind the objects that it refers to */
        ZS_TRY(zs_store_wait_commits(work->store, err));
    if (work->has_conflict)
        ZS_TRY(build(work, item, err));
    const bool expects = !work->is_new && zs_store_has_conditions(work->store);
    for (int tries = 0; item->text != NULL;) {
        const char *etag = expects ? zs_store_expected(work->store, item->etag) : NULL;
        const enum zs_status status = zs_document_put_text(work->store, item->path, etag, item->text, err);
        if (status != ZS_CONFLICT || !zs_conflict_again(&tries))
            return status;
        work->has_conflict = true;
        ZS_TRY(reload_below(work, item, err));
        ZS_TRY(build(work, item, err));
    }
    return ZS_OK;
}

/* ---- All documents ---- */

static size_t depth_of(const char *path)
{
    size_t depth = path[0] != '\0';
    for (; *path != '\0'; path++)
        depth += *path == '/';
    return depth;
}

/* Orders by path; what is edited comes before a group that is only above something. */
static int compare_paths(const void *a, const void *b)
{
    const struct zs_edit_item *first = a, *second = b;
    const int order = zs_path_compare(first->path, second->path);
    return order != 0 ? order : (first->edit == NULL) - (second->edit == NULL);
}

/* Orders new documents before those that refer to them, then deeper ones first, so that a group follows its members. */
static int compare_order(const void *a, const void *b)
{
    const struct zs_edit_item *first = a, *second = b;
    if (is_new(first) != is_new(second))
        return is_new(first) ? -1 : 1;
    if (first->depth != second->depth)
        return second->depth < first->depth ? -1 : 1;
    return zs_path_compare(second->path, first->path);
}

/* Takes over the path. */
static bool add_item(struct zs_edit_work *work, char *path, zs_json *edit)
{
    struct zs_edit_item *grown =
        path != NULL ? zs_grow(work->items, work->count, &work->capacity, sizeof *grown) : NULL;
    if (grown == NULL) {
        free(path);
        return false;
    }
    work->items = grown;
    grown[work->count++] = (struct zs_edit_item){.path = path, .edit = edit, .depth = depth_of(path)};
    return true;
}

/* Lists the documents of edits, and of all groups above them, in the order of writing. */
static enum zs_status list_items(struct zs_edit_work *work, struct zs_error *err)
{
    bool ok = true;
    for (const zs_json *e = zs_json_first(work->edits); e != NULL && ok; e = zs_json_next(e)) {
        ok = add_item(work, zs_strdup(zs_edit_path(e)), (zs_json *)(uintptr_t)e); /* the list may be changed */
        char *above = zs_path_parent(zs_edit_path(e));
        while (above != NULL && ok) {
            char *next = zs_path_parent(above);
            ok = add_item(work, above, NULL);
            above = next;
        }
        free(above);
    }
    if (!ok)
        return zs_fail_memory(err);
    if (work->count > 1)
        qsort(work->items, work->count, sizeof *work->items, compare_paths);
    size_t kept = 0;
    for (size_t i = 0; i < work->count; i++) {
        if (kept > 0 && strcmp(work->items[kept - 1].path, work->items[i].path) == 0)
            free(work->items[i].path);
        else
            work->items[kept++] = work->items[i];
    }
    work->count = kept;
    if (kept > 1)
        qsort(work->items, kept, sizeof *work->items, compare_order);
    return ZS_OK;
}

enum zs_status zs_edits_build(struct zs_edit_work *work, struct zs_error *err)
{
    ZS_TRY(list_items(work, err));
    for (size_t i = 0; i < work->count; i++)
        ZS_TRY(build(work, &work->items[i], err));
    return ZS_OK;
}

enum zs_status zs_edits_put(struct zs_edit_work *work, struct zs_error *err)
{
    for (size_t i = 0; i < work->count; i++)
        ZS_TRY(put(work, &work->items[i], err));
    return zs_store_wait_commits(work->store, err);
}

void zs_edits_free(struct zs_edit_work *work)
{
    for (size_t i = 0; i < work->count; i++) {
        free(work->items[i].path);
        free(work->items[i].text);
        free(work->items[i].etag);
        zs_json_free(work->items[i].document);
    }
    free(work->items);
}
