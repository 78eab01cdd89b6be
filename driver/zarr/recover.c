/* Finishes changes of several documents that a killed writer began. Before such a change, a writer stores a journal of
 * it; the journal is written and read under the lock of the root's document, so a process that holds the lock and finds
 * a journal knows that its writer is dead. */
#include <stdlib.h>
#include <string.h>

#include "store/mark.h"
#include "zarr/contents.h"
#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* Writes the journal, an object of
 *
 *   "changes"     {path: {"before": document, "own": document, "after": document}}: "own" is there where "before" comes
 *                 from consolidated metadata, and may be older
 *   "from", "to"  paths of a rename
 *   "new"         {path: document}: new nodes
 *   "made"        [path]: those of them of which the store had nothing
 *   "beside"      as "changes": changes that belong to the new nodes
 *   "removed"     {path: document as it was removed}, nodes before the groups above them
 *   "root"        version of the root's document before all this
 *
 * "beside" and "removed" apply only if the documents of all new nodes are stored. Else those of "made" are removed. */
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
           (change->own == NULL || zs_json_add(member, "own", zs_document_own(change->own)) != NULL) &&
           zs_json_add(member, "after", after) != NULL;
}

/* Whether a change edits a document that is there, or replaces it. */
static bool is_edit(const struct zs_change *change)
{
    return change->kind == ZS_CHANGE_EDIT && (!change->may_be_gone || change->replaced != NULL);
}

/* How many changes of each kind a flush writes. */
struct change_counts {
    size_t edits, listed; /* of stored documents; ... that consolidated metadata list, too */
    size_t added, removed;
};

static struct change_counts count_changes(const struct zs_hierarchy *h)
{
    struct change_counts t = {0};
    for (size_t i = 0; i < h->pending.count; i++) {
        const struct zs_change *change = h->pending.list[i];
        t.edits += is_edit(change);
        t.listed += is_edit(change) && h->is_consolidated && change->path[0] != '\0';
        t.added += change->kind == ZS_CHANGE_NEW;
        t.removed += change->kind == ZS_CHANGE_REMOVED;
    }
    return t;
}

/* Notes the documents at and below a path, those below first, except behind links. Arrays have no nodes below them. */
static enum zs_status note_tree(struct zs_store *store, const char *path, int depth, zs_json *removed,
                                struct zs_error *err)
{
    bool is_link = false;
    zs_json *document = NULL;
    char **names = NULL;
    ZS_TRY(zs_store_is_link(store, path, &is_link, err));
    if (is_link || depth > ZS_HIERARCHY_MAX_DEPTH)
        return ZS_OK;
    enum zs_status status = zs_document_load(store, path, &document, err);
    if (status != ZS_OK)
        return status == ZS_CORRUPT ? ZS_OK : status;
    if (!zs_json_equals(zs_json_get(document, "node_type"), "array"))
        status = zs_store_list(store, path, &names, err);
    if (status == ZS_NOT_FOUND || status == ZS_UNSUPPORTED)
        status = ZS_OK;
    for (char **name = names; name != NULL && *name != NULL && status == ZS_OK; name++) {
        const size_t n = zs_prefix_length(*name);
        if (n == 0 || (*name)[strspn(*name, "./")] == '\0')
            continue;
        char *below = zs_format("%s/%.*s", path, (int)n, *name);
        status = below != NULL ? note_tree(store, below, depth + 1, removed, err) : zs_fail_memory(err);
        free(below);
    }
    zs_names_free(names);
    if (status == ZS_OK && document != NULL && zs_json_add(removed, path, zs_document_own(document)) == NULL)
        status = zs_fail_memory(err);
    zs_json_free(document);
    return status;
}

/* Notes the version of the root's document, which another writer who lists nodes changes. */
static enum zs_status note_root(struct zs_store *store, zs_json *journal, struct zs_error *err)
{
    struct zs_object *root;
    const enum zs_status status = zs_object_open(store, "zarr.json", &root, err);
    if (status != ZS_OK)
        return status == ZS_NOT_FOUND ? ZS_OK : status;
    const uint64_t version = root->is_versioned ? root->version : 0;
    zs_object_close(root);
    return version == 0 || zs_json_add_uint64(journal, "root", version) != NULL ? ZS_OK : zs_fail_memory(err);
}

static enum zs_status note_removals(const struct zs_hierarchy *h, zs_json *journal, struct zs_error *err)
{
    zs_json *removed = zs_json_add_object(journal, "removed");
    if (removed == NULL)
        return zs_fail_memory(err);
    for (size_t i = 0; i < h->pending.count; i++)
        if (h->pending.list[i]->kind == ZS_CHANGE_REMOVED)
            ZS_TRY(note_tree(h->store, h->pending.list[i]->path, 0, removed, err));
    return note_root(h->store, journal, err);
}

/* Notes a new node, or one that replaces another or an implicit group. */
static enum zs_status note_new(const struct zs_hierarchy *h, const struct zs_change *change,
                               const struct zs_node *node, zs_json *added, zs_json *made, struct zs_error *err)
{
    zs_json *stored = NULL;
    if (zs_json_add(added, change->path, zs_document_own(node->document)) == NULL)
        return zs_fail_memory(err);
    if (change->kind != ZS_CHANGE_NEW)
        return ZS_OK;
    const enum zs_status status = zs_document_load(h->store, change->path, &stored, err);
    const bool is_made = status == ZS_OK && stored == NULL;
    zs_json_free(stored);
    if (status != ZS_OK)
        return status == ZS_CORRUPT ? ZS_OK : status; /* the flush reports it */
    return !is_made || zs_json_add_string(made, NULL, change->path) != NULL ? ZS_OK : zs_fail_memory(err);
}

/* The members of a journal that are being filled; NULL: none. */
struct journal_members {
    zs_json *changes, *added, *made, *beside;
    bool has_new, is_needed;
};

static enum zs_status note_change(const struct zs_hierarchy *h, const struct zs_change *change, bool is_one_of_several,
                                  struct journal_members *n, struct zs_error *err)
{
    const struct zs_node *node = zs_hierarchy_known(h, change->path);
    if (node == NULL)
        return ZS_OK;
    const bool is_structural = is_edit(change) && zs_change_is_structural(change, node);
    n->is_needed |= is_structural;
    if (is_structural || (is_edit(change) && is_one_of_several))
        return add_change(n->has_new && !is_structural ? n->beside : n->changes, change, node) ? ZS_OK
                                                                                               : zs_fail_memory(err);
    if (n->has_new && (change->kind == ZS_CHANGE_NEW || change->may_be_gone))
        return note_new(h, change, node, n->added, n->made, err);
    return ZS_OK;
}

static enum zs_status note_all(const struct zs_hierarchy *h, const struct change_counts *t, zs_json *journal,
                               bool *is_needed, struct zs_error *err)
{
    struct journal_members n = {.changes = zs_json_add_object(journal, "changes")};
    const bool has_several = t->edits > 1 || t->listed > 0 || t->removed > 0;
    *is_needed = false;
    n.has_new = t->added > 0 && (h->is_consolidated || t->added + t->edits + t->removed > 1);
    n.added = n.has_new ? zs_json_add_object(journal, "new") : NULL;
    n.made = n.has_new ? zs_json_add_array(journal, "made") : NULL;
    n.beside = n.has_new ? zs_json_add_object(journal, "beside") : NULL;
    n.is_needed = n.has_new || has_several;
    if (n.changes == NULL || (n.has_new && (n.added == NULL || n.made == NULL || n.beside == NULL)))
        return zs_fail_memory(err);
    for (size_t i = 0; i < h->pending.count; i++)
        ZS_TRY(note_change(h, h->pending.list[i], n.has_new || has_several, &n, err));
    *is_needed = n.is_needed;
    return t->removed > 0 ? note_removals(h, journal, err) : ZS_OK;
}

enum zs_status zs_recovery_note_changes(const struct zs_hierarchy *h, bool *is_put, struct zs_error *err)
{
    const struct change_counts t = count_changes(h);
    zs_json *journal = zs_json_new_object();
    *is_put = false;
    enum zs_status status = note_all(h, &t, journal, is_put, err);
    if (status != ZS_OK || !*is_put) {
        zs_json_free(journal);
        return status;
    }
    status = put_journal(h->store, journal, err);
    if (status == ZS_OK || status == ZS_NO_MEMORY || t.edits + t.added > 0)
        return status;
    *is_put = false; /* a full disk does not keep anyone from removing what is on it */
    return ZS_OK;
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

/* A member of the journal that is an object; else NULL, which has no members: elements of a list have no names. */
static const zs_json *object_at(const zs_json *journal, const char *name)
{
    const zs_json *member = zs_json_get(journal, name);
    return zs_json_is_object(member) ? member : NULL;
}

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
    enum zs_status status = zs_document_load(h->store, path, &theirs, err);
    if (status != ZS_OK)
        return status == ZS_CORRUPT ? ZS_OK : status; /* a damaged document stays as it is */
    if (theirs != NULL && !is_as_edited(zs_json_get(theirs, "attributes"), zs_json_get(before, "attributes"),
                                        zs_json_get(after, "attributes"))) {
        const enum zs_status listed = relist(h, path, zs_document_own(theirs), zs_document_own(theirs), err);
        zs_json_free(theirs);
        return listed;
    }
    status = relist(h, path, zs_json_copy(before), zs_json_copy(after), err);
    if (status != ZS_OK) {
        zs_json_free(theirs);
        return status;
    }
    struct zs_change *change = zs_changes_find(&h->pending, path);
    const zs_json *own = zs_json_get(member, "own");
    if (zs_json_is_object(own) && change->own == NULL && (change->own = zs_json_copy(own)) == NULL)
        status = zs_fail_memory(err);
    if (status == ZS_OK)
        status = zs_change_merge(&theirs, zs_hierarchy_known(h, path), change, &is_changed, err);
    zs_json_free(theirs);
    if (status == ZS_INVALID)
        zs_changes_put(&h->pending, path, NULL); /* nothing of the changes below it */
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

/* Whether consolidated metadata list nodes below a path. */
static bool lists_below(const struct zs_hierarchy *h, const char *path)
{
    size_t first, end;
    zs_hierarchy_within(h, path, &first, &end);
    for (size_t i = first; i < end; i++)
        if (h->entries[i].node != NULL && strcmp(h->entries[i].path, path) != 0)
            return true;
    return false;
}

/* Whether the document at a path is the noted one (*is_same), or there is none (*is_absent). */
static enum zs_status compare_noted(struct zs_store *store, const char *path, const zs_json *noted, bool *is_same,
                                    bool *is_absent, struct zs_error *err)
{
    zs_json *stored = NULL;
    *is_same = *is_absent = false;
    const enum zs_status status = zs_document_load(store, path, &stored, err);
    if (status != ZS_OK)
        return status == ZS_CORRUPT ? ZS_OK : status;
    zs_json *own = stored != NULL ? zs_document_own(stored) : NULL;
    const bool has_memory = stored == NULL || own != NULL;
    *is_absent = stored == NULL;
    *is_same = own != NULL && zs_json_is_same(own, noted);
    zs_json_free(own);
    zs_json_free(stored);
    return has_memory ? ZS_OK : zs_fail_memory(err);
}

/* Adds a node to those that are to go (*gone), and takes it out of consolidated metadata. A node stays that is not the
 * noted one, or that consolidated metadata list, unless they are those of the killed writer (is_untouched). */
static enum zs_status take_out(struct zs_hierarchy *h, const char *path, const zs_json *noted, bool is_untouched,
                               bool may_be_absent, struct zs_names *gone, struct zs_error *err)
{
    const struct zs_node *node;
    bool is_same, is_absent;
    if (path[0] == '\0' || !zs_path_is_clean(path) || !zs_json_is_object(noted))
        return zs_fail(err, ZS_INVALID, "expected the path of a node and its document");
    ZS_TRY(compare_noted(h->store, path, noted, &is_same, &is_absent, err));
    if (!is_same && !(is_absent && may_be_absent))
        return ZS_OK;
    if (h->is_consolidated && zs_hierarchy_find(h, path, false, &node, NULL) != ZS_NOT_FOUND) {
        if (!is_untouched || lists_below(h, path))
            return ZS_OK;
        ZS_TRY(zs_hierarchy_unlist(h, path, err));
    }
    return zs_names_add(gone, zs_strdup(path), err);
}

/* Finds the paths of the nodes that the killed writer added. There are none if another writer changed one of them. */
static enum zs_status find_made(struct zs_store *store, const zs_json *journal, const char **paths, size_t *n,
                                struct zs_error *err)
{
    const zs_json *made = zs_json_get(journal, "made"), *added = zs_json_get(journal, "new");
    *n = 0;
    for (const zs_json *c = zs_json_is_array(made) ? zs_json_first(made) : NULL; c != NULL; c = zs_json_next(c)) {
        bool is_same, is_absent;
        if (!zs_json_string(c, &paths[*n]) || paths[*n][0] == '\0' || !zs_path_is_clean(paths[*n]))
            return zs_fail(err, ZS_INVALID, "expected the path of a node");
        ZS_TRY(compare_noted(store, paths[*n], zs_json_get(added, paths[*n]), &is_same, &is_absent, err));
        if (!is_same && !is_absent) {
            *n = 0;
            return ZS_OK;
        }
        *n += is_same;
    }
    return ZS_OK;
}

/* Takes out new nodes of which not all are there: those below first. */
static enum zs_status undo_new(struct zs_hierarchy *h, const zs_json *journal, struct zs_names *gone,
                               struct zs_error *err)
{
    const char **paths = zs_calloc(zs_json_size(zs_json_get(journal, "made")) + 1, sizeof *paths);
    size_t n;
    if (paths == NULL)
        return zs_fail_memory(err);
    enum zs_status status = find_made(h->store, journal, paths, &n, err);
    while (status == ZS_OK && n-- > 0)
        status = take_out(h, paths[n], zs_json_get(zs_json_get(journal, "new"), paths[n]), false, false, gone, err);
    free(paths);
    return status;
}

/* Whether the root's document is as it was before the flush that the journal is of. */
static enum zs_status find_untouched(struct zs_store *store, const zs_json *journal, bool *is, struct zs_error *err)
{
    struct zs_object *root;
    uint64_t version;
    *is = false;
    if (!zs_json_uint64(zs_json_get(journal, "root"), &version))
        return ZS_OK;
    ZS_TRY(zs_object_open(store, "zarr.json", &root, err));
    *is = root->is_versioned && root->version == version;
    zs_object_close(root);
    return ZS_OK;
}

static enum zs_status finish_removals(struct zs_hierarchy *h, const zs_json *journal, struct zs_names *gone,
                                      struct zs_error *err)
{
    bool is_untouched;
    const zs_json *removed = object_at(journal, "removed");
    if (removed == NULL)
        return ZS_OK;
    ZS_TRY(find_untouched(h->store, journal, &is_untouched, err));
    for (const zs_json *c = zs_json_first(removed); c != NULL; c = zs_json_next(c))
        ZS_TRY(take_out(h, zs_json_name(c), c, is_untouched, true, gone, err));
    return ZS_OK;
}

/* Lists new nodes, applies the changes that belong to them, and finds the removed ones; or undoes the new nodes. */
static enum zs_status finish_new(struct zs_hierarchy *h, const zs_json *journal, struct zs_names *gone,
                                 struct zs_error *err)
{
    const zs_json *added = object_at(journal, "new"), *beside = object_at(journal, "beside");
    bool are;
    ZS_TRY(are_there(h->store, added, &are, err));
    if (!are && zs_json_size(added) > 0)
        return undo_new(h, journal, gone, err);
    for (const zs_json *c = are ? zs_json_first(added) : NULL; c != NULL; c = zs_json_next(c))
        ZS_TRY(relist(h, zs_json_name(c), zs_json_copy(c), zs_json_copy(c), err));
    for (const zs_json *c = are ? zs_json_first(beside) : NULL; c != NULL; c = zs_json_next(c))
        ZS_TRY(finish_change(h, c, err));
    return finish_removals(h, journal, gone, err);
}

/* Whether nothing of another is among what is at and below a path: no other node, and no mark of a maker that lives. */
static bool is_alone(struct zs_store *store, const struct zs_contents *found, const char *path)
{
    const size_t n = strlen(path);
    for (size_t i = 0; i < found->own.count; i++) {
        const char *key = found->own.list[i];
        const bool is_its = strncmp(key, path, n) == 0 && strcmp(key + n, "/zarr.json") == 0;
        if (zs_is_mark(key) ? zs_mark_check(store, key, NULL) != ZS_OK : !is_its && zs_is_document(key))
            return false;
    }
    return true;
}

/* Removes the documents and chunks of nodes that nothing lists any more. What cannot be removed stays: it hinders no
 * writer. */
static enum zs_status remove_all(struct zs_store *store, const struct zs_names *gone, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    for (size_t i = 0; i < gone->count && status != ZS_NO_MEMORY; i++) {
        struct zs_contents found = {0};
        status = zs_contents_find_below(store, gone->list[i], &found, err);
        if (status == ZS_OK && is_alone(store, &found, gone->list[i]))
            status = zs_contents_remove(store, &found, err);
        zs_contents_clear(&found);
    }
    return status == ZS_NO_MEMORY ? status : ZS_OK;
}

static enum zs_status finish_in(struct zs_hierarchy *h, const zs_json *journal, struct zs_error *err)
{
    const char *from, *to;
    struct zs_names gone = {0};
    enum zs_status status = ZS_OK;
    const zs_json *changes = object_at(journal, "changes");
    for (const zs_json *c = zs_json_first(changes); c != NULL && status == ZS_OK; c = zs_json_next(c))
        status = finish_change(h, c, err);
    if (status == ZS_OK)
        status = finish_new(h, journal, &gone, err);
    if (status == ZS_OK && zs_json_string(zs_json_get(journal, "from"), &from) && zs_path_is_clean(from) &&
        zs_json_string(zs_json_get(journal, "to"), &to) && zs_path_is_clean(to))
        status = finish_rename(h, from, to, err);
    if (status == ZS_OK && h->pending.count > 0)
        status = zs_hierarchy_flush_locked(h, err);
    if (status == ZS_OK)
        status = remove_all(h->store, &gone, err);
    zs_names_free(gone.list);
    return status;
}

static enum zs_status finish(struct zs_store *store, const zs_json *journal, struct zs_error *err)
{
    struct zs_hierarchy *h = NULL;
    ZS_TRY(zs_hierarchy_open(store, true, &h, err));
    const enum zs_status status = finish_in(h, journal, err);
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
