/* Changes nodes in memory, and notes each change for the next flush (editing.h). */
#include <stdlib.h>
#include <string.h>

#include "store/mark.h"
#include "zarr/alike.h"
#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* ---- The table of nodes ---- */

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
static enum zs_status retire(struct zs_hierarchy *hierarchy, struct zs_node *node, struct zs_error *err)
{
    ZS_TRY_GROW(hierarchy->retired, hierarchy->retired_count, &hierarchy->retired_capacity, err);
    hierarchy->retired[hierarchy->retired_count++] = node;
    return ZS_OK;
}

void zs_hierarchy_forget_listing(struct zs_hierarchy *hierarchy)
{
    free(hierarchy->listing);
    hierarchy->listing = NULL;
    hierarchy->listing_count = 0;
}

/* Removes a path and all paths below it from the listing, so that a removal needs no new listing, which might fail. */
static void shorten_listing(struct zs_hierarchy *hierarchy, const char *path)
{
    size_t kept = 0;
    for (size_t i = 0; i < hierarchy->listing_count; i++)
        if (!zs_path_is_within(hierarchy->listing[i]->path, path))
            hierarchy->listing[kept++] = hierarchy->listing[i];
    hierarchy->listing_count = kept;
}

/* Removes the node from an entry, which then has status ZS_NOT_FOUND. */
static enum zs_status vacate(struct zs_hierarchy *hierarchy, struct zs_hierarchy_entry *entry, struct zs_error *err)
{
    if (entry->node == NULL)
        return ZS_OK;
    char *message = zs_format("%s: there is no array or group \"%s\"", hierarchy->store->root, entry->path);
    enum zs_status status = message != NULL ? retire(hierarchy, entry->node, err) : zs_fail_memory(err);
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
static enum zs_status put_node(struct zs_hierarchy *hierarchy, struct zs_node *node, struct zs_error *err)
{
    struct zs_hierarchy_entry entry = {.path = zs_strdup(node->path), .node = node};
    enum zs_status status = entry.path != NULL ? check_path(entry.path, err) : zs_fail_memory(err);
    struct zs_hierarchy_entry *present = zs_hierarchy_entry_at(hierarchy, node->path);
    if (status == ZS_OK && present != NULL) {
        entry.is_added = present->is_added;
        status = vacate(hierarchy, present, err);
    }
    if (status == ZS_OK && (!zs_hierarchy_name_dimensions(hierarchy, node) ||
                            zs_hierarchy_insert(hierarchy, entry) == NULL))
        status = zs_fail_memory(err);
    if (status != ZS_OK)
        zs_hierarchy_entry_free(&entry);
    else
        zs_hierarchy_forget_listing(hierarchy);
    return status;
}

/* Returns the entry of a path that was looked up and not found; NULL when there is no such entry. */
static struct zs_hierarchy_entry *find_absent(const struct zs_hierarchy *hierarchy, const char *path)
{
    struct zs_hierarchy_entry *entry = zs_hierarchy_entry_at(hierarchy, path);
    return entry != NULL && entry->node == NULL && entry->status == ZS_NOT_FOUND ? entry : NULL;
}

/* Returns whether the store is known to hold nothing at or below a path. */
static bool is_known_empty(const struct zs_hierarchy *hierarchy, const char *path)
{
    const struct zs_hierarchy_entry *entry = find_absent(hierarchy, path);
    return entry != NULL && (entry->is_empty || !hierarchy->store->is_remote);
}

/* ---- Editing attributes ---- */

/* Notes that the document of a node is about to change, and keeps its present state. Not needed for a new document,
 * which is written whole. */
static enum zs_status note_edit(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_error *err)
{
    const struct zs_change *known = zs_changes_find(&hierarchy->pending, node->path);
    if (known != NULL && !zs_change_is_removal(known))
        return ZS_OK;
    zs_json *before = zs_document_own(node->document);
    struct zs_change *change = before != NULL ? zs_changes_note(&hierarchy->pending, node->path) : NULL;
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

enum zs_status zs_hierarchy_edit(struct zs_hierarchy *hierarchy, const struct zs_node *node, zs_json **attributes,
                                 struct zs_error *err)
{
    ZS_TRY(zs_hierarchy_check_writable(hierarchy, err));
    const struct zs_hierarchy_entry *entry = zs_hierarchy_entry_at(hierarchy, node->path);
    struct zs_node *present = entry != NULL ? entry->node : NULL; /* it may have replaced the caller's */
    if (present == NULL)
        return zs_fail(err, ZS_INVALID, "/%s: was removed", node->path);
    ZS_TRY(zs_savepoint_note(hierarchy, present->path, err));
    ZS_TRY(note_edit(hierarchy, present, err));
    if (present->document == NULL) { /* an implicit group becomes an explicit one */
        present->document = zs_group_document();
        ZS_TRY_MEMORY(present->document, err);
        present->owns_document = true;
    }
    if (!zs_json_is_object(zs_json_get(present->document, "attributes")))
        zs_json_remove(present->document, "attributes");
    *attributes = zs_document_attributes(present->document);
    ZS_TRY_MEMORY(*attributes, err);
    present->is_implicit = false;
    present->attributes = *attributes;
    return ZS_OK;
}

void zs_hierarchy_put_last(struct zs_hierarchy *hierarchy, const char *path, int rank)
{
    struct zs_change *change = zs_changes_find(&hierarchy->pending, path);
    if (change != NULL && change->kind == ZS_CHANGE_EDIT)
        change->rank = rank;
}

/* ---- Adding and replacing nodes ---- */

/* Reads a node's own document before a change of more than attributes: consolidated metadata may be older. `stored` is
 * that document where the caller has just read it, else NULL. *is_there tells whether the store has it. */
static enum zs_status note_own(struct zs_hierarchy *hierarchy, const char *path, const zs_json *stored, bool *is_there,
                               struct zs_error *err)
{
    struct zs_change *change = zs_changes_find(&hierarchy->pending, path);
    *is_there = true;
    if (change->kind != ZS_CHANGE_EDIT || !change->is_copy || change->own != NULL)
        return ZS_OK;
    if (stored == NULL)
        ZS_TRY(zs_document_load(hierarchy->store, path, &change->own, err));
    else if ((change->own = zs_json_copy(stored)) == NULL)
        return zs_fail_memory(err);
    *is_there = change->own != NULL;
    return ZS_OK;
}

/* Notes a document for `path`, which replaces the present one or is new. stored: as in note_own(). */
static enum zs_status note_node(struct zs_hierarchy *hierarchy, const char *path, const zs_json *stored,
                                struct zs_error *err)
{
    const struct zs_node *older = zs_hierarchy_known(hierarchy, path);
    bool is_there = older != NULL;
    if (is_there) {
        ZS_TRY(note_edit(hierarchy, older, err));
        ZS_TRY(note_own(hierarchy, path, stored, &is_there, err));
    }
    if (is_there) { /* the caller may have removed the stored node */
        zs_changes_find(&hierarchy->pending, path)->may_be_gone = true;
        return ZS_OK;
    }
    const bool is_fresh = zs_changes_find(&hierarchy->pending, path) == NULL && is_known_empty(hierarchy, path);
    struct zs_change *change = zs_changes_note(&hierarchy->pending, path);
    ZS_TRY_MEMORY(change, err);
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

static enum zs_status note_addition(struct zs_hierarchy *hierarchy, const char *path, const zs_json *stored,
                                    struct zs_error *err)
{
    ZS_TRY(zs_hierarchy_check_writable(hierarchy, err));
    ZS_TRY(check_path(path, err));
    ZS_TRY(check_depth(path, err));
    ZS_TRY(zs_savepoint_note(hierarchy, path, err));
    return note_node(hierarchy, path, stored, err);
}

/* Adds or replaces a node, which it takes over. stored: as in note_own(). *change: that of its path. */
static enum zs_status add_node(struct zs_hierarchy *hierarchy, struct zs_node *node, const zs_json *stored,
                               struct zs_change **change, struct zs_error *err)
{
    const enum zs_status status = note_addition(hierarchy, node->path, stored, err);
    if (status != ZS_OK) {
        zs_node_free(node);
        return status;
    }
    *change = zs_changes_find(&hierarchy->pending, node->path);
    ZS_TRY(put_node(hierarchy, node, err));
    zs_hierarchy_entry_at(hierarchy, (*change)->path)->is_added |= (*change)->kind == ZS_CHANGE_NEW;
    return ZS_OK;
}

enum zs_status zs_hierarchy_add(struct zs_hierarchy *hierarchy, struct zs_node *node, struct zs_error *err)
{
    struct zs_change *change;
    return add_node(hierarchy, node, NULL, &change, err);
}

enum zs_status zs_hierarchy_replace(struct zs_hierarchy *hierarchy, struct zs_node *node, const zs_json *stored,
                                    struct zs_error *err)
{
    const struct zs_node *old = zs_hierarchy_known(hierarchy, node->path);
    struct zs_change *change;
    ZS_TRY(add_node(hierarchy, node, stored, &change, err));
    if (change->replaced == NULL || change->is_stored)
        change->replaced = old;
    return ZS_OK;
}

enum zs_status zs_hierarchy_relist(struct zs_hierarchy *hierarchy, struct zs_node *node, const zs_json *before,
                                   const zs_json *own, struct zs_error *err)
{
    zs_json *before_copy = zs_document_own(before), *own_copy = own != NULL ? zs_document_own(own) : NULL;
    const bool are_copied = before_copy != NULL && (own == NULL || own_copy != NULL);
    struct zs_change *change = are_copied ? zs_changes_note(&hierarchy->pending, node->path) : NULL;
    if (change == NULL) {
        zs_json_free(before_copy);
        zs_json_free(own_copy);
        zs_node_free(node);
        return zs_fail_memory(err);
    }
    zs_json_free(change->before);
    zs_json_free(change->own);
    change->kind = ZS_CHANGE_EDIT;
    change->before = before_copy;
    change->own = own_copy;
    return put_node(hierarchy, node, err);
}

/* Notes that the document of the node at a path is replaced. The flush reports one that is gone. */
static enum zs_status note_update(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    const struct zs_node *old = NULL;
    bool is_there;
    ZS_TRY(zs_hierarchy_check_writable(hierarchy, err));
    ZS_TRY(zs_hierarchy_find(hierarchy, path, false, &old, err));
    ZS_TRY(zs_savepoint_note(hierarchy, path, err));
    ZS_TRY(note_edit(hierarchy, old, err));
    return note_own(hierarchy, path, NULL, &is_there, err);
}

enum zs_status zs_hierarchy_update_node(struct zs_hierarchy *hierarchy, struct zs_node *node, struct zs_error *err)
{
    const enum zs_status status = note_update(hierarchy, node->path, err);
    if (status == ZS_OK)
        return put_node(hierarchy, node, err);
    zs_node_free(node);
    return status;
}

/* ---- Arrays whose chunks get other keys ---- */

/* Whether documents of an array have their chunks under the same keys. */
static bool has_same_keys(const struct zs_node *node, const zs_json *document)
{
    static const char member[] = "chunk_key_encoding";
    return zs_is_alike(node->array, member, zs_json_get(document, member), zs_json_get(node->document, member));
}

/* Whether the root's consolidated metadata, as they are stored, list the keys that the node has. */
static enum zs_status is_listed_still(struct zs_hierarchy *hierarchy, const struct zs_node *node, bool *is,
                                      struct zs_error *err)
{
    zs_json *root = NULL;
    ZS_TRY(zs_document_load(hierarchy->store, "", &root, err));
    const zs_json *consolidated = zs_json_get(root, "consolidated_metadata");
    const zs_json *listed = zs_json_get(zs_json_get(consolidated, "metadata"), node->path);
    *is = listed != NULL && has_same_keys(node, listed);
    zs_json_free(root);
    return ZS_OK;
}

/* Replaces an array by what is stored of it, where consolidated metadata list its older keys. */
static enum zs_status take_document(struct zs_hierarchy *hierarchy, const struct zs_node **node, const zs_json *stored,
                                    struct zs_error *err)
{
    const struct zs_node *known = *node;
    struct zs_node *made;
    bool is_older = false;
    if (!known->owns_document && zs_changes_find(&hierarchy->pending, known->path) == NULL)
        ZS_TRY(is_listed_still(hierarchy, known, &is_older, err));
    if (!is_older)
        return zs_fail(err, ZS_INVALID, "/%s: somebody else gave this array other values meanwhile: they stay",
                       known->path);
    ZS_TRY(zs_savepoint_note(hierarchy, known->path, err));
    zs_json *copy = zs_json_copy(stored);
    ZS_TRY_MEMORY(copy, err);
    ZS_TRY(zs_node_create(known->path, copy, true, &made, err));
    ZS_TRY(zs_hierarchy_relist(hierarchy, made, stored, NULL, err));
    *node = made;
    return ZS_OK;
}

enum zs_status zs_hierarchy_take_stored(struct zs_hierarchy *hierarchy, const struct zs_node **node, zs_json **stored,
                                        struct zs_error *err)
{
    const struct zs_node *known = *node;
    zs_json *found = NULL;
    *stored = NULL;
    zs_store_forget(hierarchy->store, known->key);
    ZS_TRY(zs_document_load(hierarchy->store, known->path, &found, err));
    if (found == NULL || has_same_keys(known, found)) {
        *stored = found;
        return ZS_OK;
    }
    const enum zs_status status = take_document(hierarchy, node, found, err);
    zs_json_free(found);
    return status;
}

/* ---- What is stored where a node is to be made ---- */

/* Reads the node that is stored at a clean path; *node is NULL when there is none, or pending changes hide it. */
static enum zs_status read_stored(struct zs_hierarchy *hierarchy, const char *path, struct zs_node **node,
                                  struct zs_error *err)
{
    zs_json *document = NULL;
    *node = NULL;
    if (hierarchy->is_new || zs_changes_hide(&hierarchy->pending, path))
        return ZS_OK;
    ZS_TRY(zs_hierarchy_recover(hierarchy->store, err)); /* else the next flush may remove what is found here */
    ZS_TRY(zs_document_load(hierarchy->store, path, &document, err));
    return document != NULL ? zs_node_create(path, document, true, node, err) : ZS_OK;
}

enum zs_status zs_hierarchy_stored_node(struct zs_hierarchy *hierarchy, const char *path, const struct zs_node **node,
                                        struct zs_error *err)
{
    char *clean;
    struct zs_node *stored = NULL;
    ZS_TRY(zs_path_clean(path, &clean, err));
    enum zs_status status = zs_hierarchy_find(hierarchy, clean, false, node, err);
    if (status == ZS_NOT_FOUND || (status == ZS_OK && (*node)->is_implicit)) {
        status = read_stored(hierarchy, clean, &stored, err);
        if (status == ZS_OK && stored == NULL)
            status = zs_fail(err, ZS_NOT_FOUND, "%s: there is no array or group \"%s\"", hierarchy->store->root, clean);
    }
    if (stored != NULL) {
        *node = stored;
        status = put_node(hierarchy, stored, err);
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
static enum zs_status note_absence(struct zs_hierarchy *hierarchy, const char *path, const char *message,
                                   struct zs_error *err)
{
    struct zs_hierarchy_entry entry = {.path = zs_strdup(path), .status = ZS_NOT_FOUND, .message = zs_strdup(message)};
    if (entry.path != NULL && entry.message != NULL && zs_hierarchy_insert(hierarchy, entry) != NULL)
        return ZS_OK;
    zs_hierarchy_entry_free(&entry);
    return zs_fail_memory(err);
}

enum zs_status zs_hierarchy_note_empty(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    if (find_absent(hierarchy, path) == NULL)
        ZS_TRY(note_absence(hierarchy, path, "there is nothing", err));
    struct zs_hierarchy_entry *entry = find_absent(hierarchy, path);
    if (entry != NULL)
        entry->is_empty = true;
    return ZS_OK;
}

enum zs_status zs_hierarchy_occupant(struct zs_hierarchy *hierarchy, const char *path, const struct zs_node **node,
                                     struct zs_error *err)
{
    struct zs_error reason = {0};
    struct zs_node *group = NULL;
    bool is_group = false;
    *node = NULL;
    ZS_TRY(check_path(path, err));
    enum zs_status status = zs_hierarchy_stored_node(hierarchy, path, node, &reason);
    if (status != ZS_NOT_FOUND)
        return status == ZS_OK ? ZS_OK : zs_fail(err, status, "%s", reason.message);
    *node = NULL;
    if (hierarchy->is_consolidated && zs_hierarchy_find(hierarchy, path, false, node, NULL) == ZS_OK)
        return ZS_OK; /* consolidated metadata list nodes below it */
    if (!hierarchy->store->is_remote && !hierarchy->is_new && !zs_changes_hide(&hierarchy->pending, path))
        ZS_TRY(has_nodes_below(hierarchy->store, path, 0, &is_group, err));
    if (!is_group)
        return note_absence(hierarchy, path, reason.message, err);
    ZS_TRY(zs_node_create_implicit(path, &group, err));
    *node = group;
    return put_node(hierarchy, group, err);
}

/* ---- Removing nodes ---- */

static enum zs_status take_out(struct zs_hierarchy *hierarchy, const char *path, enum zs_change_kind kind,
                               struct zs_error *err)
{
    if (path[0] == '\0')
        return zs_fail(err, ZS_ARGUMENT, "the root of a store cannot be removed from it");
    ZS_TRY(zs_hierarchy_check_writable(hierarchy, err));
    ZS_TRY(check_path(path, err));
    ZS_TRY(zs_savepoint_note_within(hierarchy, path, err));
    size_t first, end;
    zs_hierarchy_within(hierarchy, path, &first, &end);
    for (size_t i = first; i < end; i++)
        ZS_TRY(vacate(hierarchy, &hierarchy->entries[i], err));
    zs_changes_forget(&hierarchy->pending, path); /* drop pending changes below: the whole tree is removed */
    shorten_listing(hierarchy, path);
    struct zs_change *change = zs_changes_note(&hierarchy->pending, path);
    ZS_TRY_MEMORY(change, err);
    change->kind = kind;
    change->was_removed = true;
    change->number = ++hierarchy->pending.removals;
    return ZS_OK;
}

enum zs_status zs_hierarchy_remove(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    return take_out(hierarchy, path, ZS_CHANGE_REMOVED, err);
}

enum zs_status zs_hierarchy_unlist(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    return take_out(hierarchy, path, ZS_CHANGE_UNLISTED, err);
}

/* ---- The state of a store ---- */

bool zs_hierarchy_is_new(const struct zs_hierarchy *hierarchy)
{
    return hierarchy->is_new;
}

void zs_hierarchy_defer(struct zs_hierarchy *hierarchy, bool is_deferred)
{
    hierarchy->is_deferred = is_deferred && hierarchy->is_consolidated;
}
