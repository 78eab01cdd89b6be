/* Changes documents in memory, and notes each change for the next flush. */
#include <stdlib.h>
#include <string.h>

#include "store/mark.h"
#include "zarr/alike.h"
#include "zarr/contents.h"
#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* Checks that a path is clean (name.h) and inside the store. */
static enum zs_status check_path(const char *path, struct zs_error *err)
{
    char *clean;
    ZS_TRY(zs_path_clean(path, &clean, err));
    const bool is_clean = strcmp(clean, path) == 0;
    free(clean);
    return is_clean ? ZS_OK : zs_fail(err, ZS_INVALID, "path \"%.200s\": expected no slash at its ends", path);
}

/* Keeps a node that left the table until the hierarchy is freed: callers may hold pointers to it. */
static enum zs_status retire(struct zs_hierarchy *h, struct zs_node *node, struct zs_error *err)
{
    struct zs_node **grown =
        zs_grow(h->retired, h->retired_count, &h->retired_capacity, sizeof(struct zs_node *));
    if (grown == NULL)
        return zs_fail_memory(err);
    h->retired = grown;
    h->retired[h->retired_count++] = node;
    return ZS_OK;
}

void zs_hierarchy_forget_listing(struct zs_hierarchy *h)
{
    free(h->listing);
    h->listing = NULL;
    h->listing_count = 0;
}

/* Removes a path and all paths below it from the listing, so that a removal needs no new listing, which might fail. */
static void shorten_listing(struct zs_hierarchy *h, const char *path)
{
    size_t kept = 0;
    for (size_t i = 0; i < h->listing_count; i++)
        if (!zs_path_is_within(h->listing[i]->path, path))
            h->listing[kept++] = h->listing[i];
    h->listing_count = kept;
}

/* ---- Noting changes ---- */

zs_json *zs_document_own(const zs_json *document)
{
    zs_json *own = zs_json_new_object();
    for (const zs_json *m = zs_json_first(document); m != NULL && own != NULL; m = zs_json_next(m))
        if (strcmp(zs_json_name(m), "consolidated_metadata") != 0 &&
            zs_json_add(own, zs_json_name(m), zs_json_copy(m)) == NULL) {
            zs_json_free(own);
            own = NULL;
        }
    return own;
}

/* Notes that the document of a node is about to change, and keeps its present state. Not needed for a new document,
 * which is written whole. */
static enum zs_status note_edit(struct zs_hierarchy *h, const struct zs_node *node, struct zs_error *err)
{
    const struct zs_change *known = zs_changes_find(&h->pending, node->path);
    if (known != NULL && !zs_change_is_removal(known))
        return ZS_OK;
    zs_json *before = zs_document_own(node->document);
    struct zs_change *change = before != NULL ? zs_changes_note(&h->pending, node->path) : NULL;
    if (change == NULL) {
        zs_json_free(before);
        return zs_fail_memory(err);
    }
    change->kind = ZS_CHANGE_EDIT;
    change->may_be_gone = node->document == NULL;
    change->is_copy = node->document != NULL && !node->owns_document;
    change->before = before;
    return ZS_OK;
}

/* Reads a node's own document before a change of more than attributes: consolidated metadata may be older. `stored` is
 * that document where the caller has just read it, else NULL. *is_there tells whether the store has it. */
static enum zs_status note_own(struct zs_hierarchy *h, const char *path, const zs_json *stored, bool *is_there,
                               struct zs_error *err)
{
    struct zs_change *change = zs_changes_find(&h->pending, path);
    *is_there = true;
    if (change->kind != ZS_CHANGE_EDIT || !change->is_copy || change->own != NULL)
        return ZS_OK;
    if (stored == NULL)
        ZS_TRY(zs_document_load(h->store, path, &change->own, err));
    else if ((change->own = zs_json_copy(stored)) == NULL)
        return zs_fail_memory(err);
    *is_there = change->own != NULL;
    return ZS_OK;
}

enum zs_status zs_hierarchy_edit(struct zs_hierarchy *h, const struct zs_node *node, zs_json **attributes,
                                 struct zs_error *err)
{
    ZS_TRY(zs_hierarchy_check_writable(h, err));
    /* the present node at this path; callers borrow it as const */
    struct zs_node *mine = (struct zs_node *)(uintptr_t)zs_hierarchy_known(h, node->path);
    if (mine == NULL)
        return zs_fail(err, ZS_INVALID, "/%s: was removed", node->path);
    ZS_TRY(zs_savepoint_note(h, mine->path, err));
    ZS_TRY(note_edit(h, mine, err));
    if (mine->document == NULL) { /* an implicit group becomes an explicit one */
        mine->document = zs_group_document();
        mine->owns_document = true;
    }
    zs_json *a = zs_json_get_mutable(mine->document, "attributes");
    if (a != NULL && !zs_json_is_object(a)) {
        zs_json_remove(mine->document, "attributes");
        a = NULL;
    }
    if (a == NULL)
        a = zs_json_add_object(mine->document, "attributes");
    if (a == NULL)
        return zs_fail_memory(err);
    mine->is_implicit = false;
    mine->attributes = a;
    *attributes = a;
    return ZS_OK;
}

void zs_hierarchy_put_last(struct zs_hierarchy *h, const char *path, int rank)
{
    struct zs_change *change = zs_changes_find(&h->pending, path);
    if (change != NULL && change->kind == ZS_CHANGE_EDIT)
        change->rank = rank;
}

/* Removes the node from an entry, which then has status ZS_NOT_FOUND. */
static enum zs_status vacate(struct zs_hierarchy *h, struct zs_hierarchy_entry *entry, struct zs_error *err)
{
    if (entry->node == NULL)
        return ZS_OK;
    char *message = zs_format("%s: there is no array or group \"%s\"", h->store->root, entry->path);
    enum zs_status status = message != NULL ? retire(h, entry->node, err) : zs_fail_memory(err);
    if (status != ZS_OK) {
        free(message);
        return status;
    }
    entry->node = NULL;
    entry->is_added = false;
    entry->status = ZS_NOT_FOUND;
    free(entry->message);
    entry->message = message;
    return ZS_OK;
}

/* Puts a node, which it takes over, into the table, and retires the node at the same path. */
static enum zs_status put_node(struct zs_hierarchy *h, struct zs_node *node, struct zs_error *err)
{
    struct zs_hierarchy_entry entry = {.path = zs_strdup(node->path), .node = node};
    enum zs_status status = entry.path != NULL ? check_path(entry.path, err) : zs_fail_memory(err);
    size_t i, end;
    zs_hierarchy_within(h, node->path, &i, &end);
    if (status == ZS_OK && i < end && strcmp(h->entries[i].path, node->path) == 0) {
        entry.is_added = h->entries[i].is_added;
        status = vacate(h, &h->entries[i], err);
    }
    if (status == ZS_OK && zs_hierarchy_insert(h, entry) == NULL)
        status = zs_fail_memory(err);
    if (status != ZS_OK)
        zs_hierarchy_entry_free(&entry);
    else
        zs_hierarchy_forget_listing(h);
    return status;
}

/* Returns the entry of a path that was looked up and not found; NULL when there is no such entry. */
static struct zs_hierarchy_entry *find_absent(const struct zs_hierarchy *h, const char *path)
{
    size_t i, end;
    zs_hierarchy_within(h, path, &i, &end);
    const bool is_absent = i < end && strcmp(h->entries[i].path, path) == 0 && h->entries[i].node == NULL &&
                           h->entries[i].status == ZS_NOT_FOUND;
    return is_absent ? &h->entries[i] : NULL;
}

/* Returns whether the store is known to hold nothing at or below a path. */
static bool is_known_empty(const struct zs_hierarchy *h, const char *path)
{
    const struct zs_hierarchy_entry *entry = find_absent(h, path);
    return entry != NULL && (entry->is_empty || !h->store->is_remote);
}

/* Notes a document for `path`, which replaces the present one or is new. stored: as in note_own(). */
static enum zs_status note_node(struct zs_hierarchy *h, const char *path, const zs_json *stored, struct zs_error *err)
{
    const struct zs_node *older = zs_hierarchy_known(h, path);
    bool is_there = older != NULL;
    if (is_there) {
        ZS_TRY(note_edit(h, older, err));
        ZS_TRY(note_own(h, path, stored, &is_there, err));
    }
    if (is_there) { /* the caller may have removed the stored node */
        zs_changes_find(&h->pending, path)->may_be_gone = true;
        return ZS_OK;
    }
    const bool is_fresh = zs_changes_find(&h->pending, path) == NULL && is_known_empty(h, path);
    struct zs_change *change = zs_changes_note(&h->pending, path);
    if (change == NULL)
        return zs_fail_memory(err);
    change->kind = ZS_CHANGE_NEW;
    change->is_fresh |= is_fresh;
    return ZS_OK;
}

/* Checks that a path is within the limits of listing. */
static enum zs_status check_depth(const char *path, struct zs_error *err)
{
    int depth = 1;
    for (const char *p = path; *p != '\0'; p++)
        depth += *p == '/';
    if (depth > ZS_HIERARCHY_MAX_DEPTH || strlen(path) > ZS_HIERARCHY_MAX_PATH)
        return zs_fail(err, ZS_ARGUMENT, "path \"%.100s\": expected at most %d names and %d bytes, found %d and %zu",
                       path, ZS_HIERARCHY_MAX_DEPTH, ZS_HIERARCHY_MAX_PATH, depth, strlen(path));
    return ZS_OK;
}

static enum zs_status add_node(struct zs_hierarchy *h, struct zs_node *node, const zs_json *stored,
                               struct zs_error *err)
{
    enum zs_status status = zs_hierarchy_check_writable(h, err);
    if (status == ZS_OK)
        status = check_path(node->path, err);
    if (status == ZS_OK)
        status = check_depth(node->path, err);
    if (status == ZS_OK)
        status = zs_savepoint_note(h, node->path, err);
    if (status == ZS_OK)
        status = note_node(h, node->path, stored, err);
    if (status != ZS_OK) {
        zs_node_free(node);
        return status;
    }
    const struct zs_change *change = zs_changes_find(&h->pending, node->path);
    const bool is_new = change->kind == ZS_CHANGE_NEW;
    const char *path = change->path;
    ZS_TRY(put_node(h, node, err));
    size_t i, end;
    zs_hierarchy_within(h, path, &i, &end);
    h->entries[i].is_added |= is_new;
    return ZS_OK;
}

enum zs_status zs_hierarchy_add(struct zs_hierarchy *h, struct zs_node *node, struct zs_error *err)
{
    return add_node(h, node, NULL, err);
}

enum zs_status zs_hierarchy_replace(struct zs_hierarchy *h, struct zs_node *node, const zs_json *stored,
                                    struct zs_error *err)
{
    const struct zs_node *old = zs_hierarchy_known(h, node->path);
    ZS_TRY(add_node(h, node, stored, err));
    struct zs_change *change = zs_changes_find(&h->pending, node->path);
    if (change->replaced == NULL || change->is_stored)
        change->replaced = old;
    return ZS_OK;
}

enum zs_status zs_hierarchy_relist(struct zs_hierarchy *h, struct zs_node *node, zs_json *before,
                                   struct zs_error *err)
{
    struct zs_change *change = before != NULL ? zs_changes_note(&h->pending, node->path) : NULL;
    if (change == NULL) {
        zs_json_free(before);
        const enum zs_status status = zs_fail_memory(err);
        zs_node_free(node);
        return status;
    }
    zs_json_free(change->before);
    change->kind = ZS_CHANGE_EDIT;
    change->before = before;
    return put_node(h, node, err);
}

/* Whether documents of an array have their chunks under the same keys. */
static bool has_same_keys(const struct zs_node *node, const zs_json *document)
{
    static const char member[] = "chunk_key_encoding";
    return zs_is_alike(node->array, member, zs_json_get(document, member), zs_json_get(node->document, member));
}

/* Whether the root's consolidated metadata, as they are stored, list the keys that the node has. */
static enum zs_status is_listed_still(struct zs_hierarchy *h, const struct zs_node *node, bool *is,
                                      struct zs_error *err)
{
    zs_json *root = NULL;
    ZS_TRY(zs_document_load(h->store, "", &root, err));
    const zs_json *consolidated = zs_json_get(root, "consolidated_metadata");
    const zs_json *listed = zs_json_get(zs_json_get(consolidated, "metadata"), node->path);
    *is = listed != NULL && has_same_keys(node, listed);
    zs_json_free(root);
    return ZS_OK;
}

/* Replaces an array by what is stored of it (taken over), where consolidated metadata list its older keys. */
static enum zs_status take_document(struct zs_hierarchy *h, const struct zs_node **node, zs_json *stored,
                                    struct zs_error *err)
{
    const struct zs_node *known = *node;
    bool is_older = false;
    const bool is_copy = !known->owns_document && zs_changes_find(&h->pending, known->path) == NULL;
    enum zs_status status = is_copy ? is_listed_still(h, known, &is_older, err) : ZS_OK;
    if (status == ZS_OK && !is_older)
        status = zs_fail(err, ZS_INVALID, "/%s: somebody else gave this array other values meanwhile: they stay",
                         known->path);
    if (status == ZS_OK)
        status = zs_savepoint_note(h, known->path, err);
    struct zs_node *made = NULL;
    zs_json *before = status == ZS_OK ? zs_document_own(stored) : NULL;
    if (status != ZS_OK)
        zs_json_free(stored);
    else
        status = zs_node_create(known->path, stored, true, &made, err);
    if (status == ZS_OK)
        status = zs_hierarchy_relist(h, made, before, err);
    else
        zs_json_free(before);
    if (status == ZS_OK)
        *node = made;
    return status;
}

enum zs_status zs_hierarchy_take_stored(struct zs_hierarchy *h, const struct zs_node **node, zs_json **stored,
                                        struct zs_error *err)
{
    const struct zs_node *known = *node;
    zs_json *found = NULL;
    *stored = NULL;
    zs_store_forget(h->store, known->key);
    ZS_TRY(zs_document_load(h->store, known->path, &found, err));
    if (found != NULL && !has_same_keys(known, found))
        return take_document(h, node, found, err);
    *stored = found;
    return ZS_OK;
}

enum zs_status zs_hierarchy_update_node(struct zs_hierarchy *h, struct zs_node *node, struct zs_error *err)
{
    const struct zs_node *old = NULL;
    bool is_there = true;
    enum zs_status status = zs_hierarchy_check_writable(h, err);
    if (status == ZS_OK)
        status = zs_hierarchy_find(h, node->path, false, &old, err);
    if (status == ZS_OK)
        status = zs_savepoint_note(h, node->path, err);
    if (status == ZS_OK)
        status = note_edit(h, old, err);
    if (status == ZS_OK)
        status = note_own(h, node->path, NULL, &is_there, err);
    if (status != ZS_OK) {
        zs_node_free(node);
        return status;
    }
    return put_node(h, node, err); /* the flush reports a document that is gone */
}

enum zs_status zs_hierarchy_stored_node(struct zs_hierarchy *h, const char *path, const struct zs_node **node,
                                        struct zs_error *err)
{
    char *clean;
    zs_json *document = NULL;
    struct zs_node *found = NULL;
    ZS_TRY(zs_path_clean(path, &clean, err));
    enum zs_status status = zs_hierarchy_find(h, clean, false, node, err);
    const bool is_known = status != ZS_NOT_FOUND && (status != ZS_OK || !(*node)->is_implicit);
    if (!is_known && !h->is_new && !zs_changes_hide(&h->pending, clean)) {
        status = zs_hierarchy_recover(h->store, err); /* else the next flush may remove what is found here */
        if (status == ZS_OK)
            status = zs_document_load(h->store, clean, &document, err);
    }
    if (!is_known && document != NULL)
        status = zs_node_create(clean, document, true, &found, err);
    else if (!is_known && (status == ZS_OK || status == ZS_NOT_FOUND))
        status = zs_fail(err, ZS_NOT_FOUND, "%s: there is no array or group \"%s\"", h->store->root, clean);
    if (found != NULL) {
        *node = found;
        status = put_node(h, found, err);
    }
    free(clean);
    return status;
}

/* Finds out whether a directory "c" holds more than chunks ("c/0/3"). */
static enum zs_status has_other_than_chunks(struct zs_store *store, const char *path, bool *has, struct zs_error *err)
{
    char **names;
    *has = false;
    const enum zs_status listed = zs_store_list(store, path, &names, err);
    if (listed != ZS_OK)
        return listed == ZS_NOT_FOUND || listed == ZS_UNSUPPORTED ? ZS_OK : listed;
    for (char **name = names; *name != NULL && !*has; name++) {
        const size_t n = zs_prefix_length(*name);
        *has = strcmp(*name, "zarr.json") == 0 || (n > 0 && strspn(*name, "0123456789") != n);
    }
    zs_names_free(names);
    return ZS_OK;
}

/* Finds out whether a directory without zarr.json, in a local store, has nodes below it, and not only the chunks of an
 * array that never got its zarr.json, or empty directories, which an edit leaves that is killed. `depth`: how far it is
 * below the first. */
static enum zs_status has_nodes_below(struct zs_store *store, const char *path, int depth, bool *has,
                                      struct zs_error *err)
{
    char **names;
    *has = depth == ZS_HIERARCHY_MAX_DEPTH;
    const enum zs_status listed = *has ? ZS_UNSUPPORTED : zs_store_list(store, path, &names, err);
    if (listed != ZS_OK)
        return listed == ZS_NOT_FOUND || listed == ZS_UNSUPPORTED ? ZS_OK : listed;
    enum zs_status status = ZS_OK;
    for (char **name = names; *name != NULL && !*has && status == ZS_OK; name++) {
        const size_t n = zs_prefix_length(*name);
        char *below = n > 0 ? zs_format("%s/%.*s", path, (int)n, *name) : NULL;
        if (n > 0 && below == NULL)
            status = zs_fail_memory(err);
        else if (n > 0 && strcmp(*name, "c/") == 0)
            status = has_other_than_chunks(store, below, has, err);
        else if (n > 0)
            status = has_nodes_below(store, below, depth + 1, has, err);
        else
            *has = depth > 0 && !zs_is_temporary_name(*name) && !zs_is_mark(*name);
        free(below);
    }
    zs_names_free(names);
    return status;
}

/* Adds an entry with status ZS_NOT_FOUND for a path that is not in the table. */
static enum zs_status note_absence(struct zs_hierarchy *h, const char *path, const char *message, struct zs_error *err)
{
    struct zs_hierarchy_entry entry = {.path = zs_strdup(path), .status = ZS_NOT_FOUND, .message = zs_strdup(message)};
    if (entry.path != NULL && entry.message != NULL && zs_hierarchy_insert(h, entry) != NULL)
        return ZS_OK;
    zs_hierarchy_entry_free(&entry);
    return zs_fail_memory(err);
}

enum zs_status zs_hierarchy_note_empty(struct zs_hierarchy *h, const char *path, struct zs_error *err)
{
    if (find_absent(h, path) == NULL)
        ZS_TRY(note_absence(h, path, "there is nothing", err));
    struct zs_hierarchy_entry *entry = find_absent(h, path);
    if (entry != NULL)
        entry->is_empty = true;
    return ZS_OK;
}

enum zs_status zs_hierarchy_occupant(struct zs_hierarchy *h, const char *path, const struct zs_node **node,
                                     struct zs_error *err)
{
    struct zs_error reason = {0};
    struct zs_node *group = NULL;
    bool is_group = false;
    *node = NULL;
    ZS_TRY(check_path(path, err));
    enum zs_status status = zs_hierarchy_stored_node(h, path, node, &reason);
    if (status != ZS_NOT_FOUND)
        return status == ZS_OK ? ZS_OK : zs_fail(err, status, "%s", reason.message);
    *node = NULL;
    if (h->is_consolidated && zs_hierarchy_find(h, path, false, node, NULL) == ZS_OK)
        return ZS_OK; /* consolidated metadata list nodes below it */
    if (!h->store->is_remote && !h->is_new && !zs_changes_hide(&h->pending, path))
        ZS_TRY(has_nodes_below(h->store, path, 0, &is_group, err));
    if (!is_group)
        return note_absence(h, path, reason.message, err);
    ZS_TRY(zs_node_create_implicit(path, &group, err));
    *node = group;
    return put_node(h, group, err);
}

static enum zs_status take_out(struct zs_hierarchy *h, const char *path, enum zs_change_kind kind, struct zs_error *err)
{
    if (path[0] == '\0')
        return zs_fail(err, ZS_ARGUMENT, "the root of a store cannot be removed from it");
    ZS_TRY(zs_hierarchy_check_writable(h, err));
    ZS_TRY(check_path(path, err));
    ZS_TRY(zs_savepoint_note_within(h, path, err));
    size_t first, end;
    zs_hierarchy_within(h, path, &first, &end);
    for (size_t i = first; i < end; i++)
        ZS_TRY(vacate(h, &h->entries[i], err));
    zs_changes_forget(&h->pending, path); /* drop pending changes below: the whole tree is removed */
    shorten_listing(h, path);
    struct zs_change *change = zs_changes_note(&h->pending, path);
    if (change == NULL)
        return zs_fail_memory(err);
    change->kind = kind;
    change->was_removed = true;
    change->number = ++h->pending.removals;
    return ZS_OK;
}

enum zs_status zs_hierarchy_remove(struct zs_hierarchy *h, const char *path, struct zs_error *err)
{
    return take_out(h, path, ZS_CHANGE_REMOVED, err);
}

enum zs_status zs_hierarchy_unlist(struct zs_hierarchy *h, const char *path, struct zs_error *err)
{
    return take_out(h, path, ZS_CHANGE_UNLISTED, err);
}

bool zs_hierarchy_is_new(const struct zs_hierarchy *h)
{
    return h->is_new;
}

bool zs_hierarchy_is_changed(const struct zs_hierarchy *h)
{
    return h->pending.count > 0;
}

void zs_hierarchy_defer(struct zs_hierarchy *h, bool is_deferred)
{
    h->is_deferred = is_deferred && h->is_consolidated;
}
