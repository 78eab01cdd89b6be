/* Changes nodes in memory, and notes each change for the next flush (flush.c). */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/staging.h"
#include "zarr/contents.h"
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

enum zs_status zs_hierarchy_vacate(struct zs_hierarchy *hierarchy, struct zs_hierarchy_entry *entry,
                                   struct zs_error *err)
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
    entry->status = ZS_NOT_FOUND;
    free(entry->message);
    entry->message = message;
    return ZS_OK;
}

enum zs_status zs_hierarchy_put_node(struct zs_hierarchy *hierarchy, struct zs_node *node, struct zs_error *err)
{
    struct zs_hierarchy_entry entry = {.path = zs_strdup(node->path), .node = node};
    enum zs_status status = entry.path != NULL ? check_path(entry.path, err) : zs_fail_memory(err);
    struct zs_hierarchy_entry *present = zs_hierarchy_entry_at(hierarchy, node->path);
    if (status == ZS_OK && present != NULL)
        status = zs_hierarchy_vacate(hierarchy, present, err);
    if (status == ZS_OK && (!zs_hierarchy_name_dimensions(hierarchy, node) ||
                            zs_hierarchy_insert(hierarchy, entry) == NULL))
        status = zs_fail_memory(err);
    if (status != ZS_OK)
        zs_hierarchy_entry_free(&entry);
    else
        zs_hierarchy_forget_listing(hierarchy);
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

/* ---- Pending changes ---- */

struct zs_change *zs_change_at(const struct zs_hierarchy *hierarchy, const char *path)
{
    const struct zs_hierarchy_entry *entry = zs_hierarchy_entry_at(hierarchy, path);
    return entry != NULL ? entry->change : NULL;
}

const struct zs_change *zs_change_above(const struct zs_hierarchy *hierarchy, const char *path)
{
    const struct zs_change *found = NULL;
    char *above = zs_strdup(path); /* without memory: NULL, and the store is read */
    while (above != NULL && found == NULL) {
        const struct zs_change *change = zs_change_at(hierarchy, above);
        found = change != NULL && (change->was_removed || change->kind == ZS_CHANGE_NEW) ? change : NULL;
        char *next = zs_path_parent(above);
        free(above);
        above = next;
    }
    free(above);
    return found;
}

bool zs_change_has_new_keys(const struct zs_change *change, const struct zs_node *node)
{
    const struct zs_array_meta *old = change->replaced != NULL ? change->replaced->array : NULL;
    return old != NULL && node->array != NULL &&
           (old->key_is_v2 != node->array->key_is_v2 || old->key_separator != node->array->key_separator);
}

bool zs_hierarchy_root_is_pending(const struct zs_hierarchy *hierarchy)
{
    const struct zs_change *root = zs_change_at(hierarchy, "");
    return root != NULL && root->kind == ZS_CHANGE_NEW;
}

bool zs_hierarchy_is_changed(const struct zs_hierarchy *hierarchy)
{
    for (size_t i = 0; i < hierarchy->count; i++)
        if (hierarchy->entries[i].change != NULL)
            return true;
    return false;
}

bool zs_hierarchy_is_unpublished(const struct zs_hierarchy *hierarchy, const struct zs_node *node)
{
    const struct zs_change *change = zs_change_at(hierarchy, node->path);
    return change != NULL && !change->is_sent &&
           (change->kind == ZS_CHANGE_NEW || zs_change_has_new_keys(change, node));
}

static void free_change(struct zs_hierarchy_entry *entry)
{
    if (entry->change != NULL)
        zs_json_free(entry->change->before);
    free(entry->change);
    entry->change = NULL;
}

static void forget_undo(struct zs_hierarchy *hierarchy)
{
    hierarchy->published += hierarchy->undo_count;
    while (hierarchy->undo_count > 0) {
        struct zs_undo *undo = &hierarchy->undo[--hierarchy->undo_count];
        free(undo->path);
        zs_json_free(undo->attributes);
    }
}

void zs_changes_clear(struct zs_hierarchy *hierarchy)
{
    for (size_t i = 0; i < hierarchy->count; i++)
        free_change(&hierarchy->entries[i]);
    forget_undo(hierarchy);
}

/* Keeps the state of a path for open savepoints. */
static enum zs_status note_undo(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    if (hierarchy->savepoints == 0)
        return ZS_OK;
    ZS_TRY_GROW(hierarchy->undo, hierarchy->undo_count, &hierarchy->undo_capacity, err);
    const struct zs_hierarchy_entry *entry = zs_hierarchy_entry_at(hierarchy, path);
    struct zs_undo undo = {.path = zs_strdup(path), .was_known = entry != NULL};
    undo.node = entry != NULL ? entry->node : NULL;
    undo.was_implicit = undo.node != NULL && undo.node->document == NULL;
    undo.had_change = entry != NULL && entry->change != NULL;
    if (undo.had_change)
        undo.change = *entry->change;
    const zs_json *attributes = undo.node != NULL ? zs_json_get(undo.node->document, "attributes") : NULL;
    undo.attributes = attributes != NULL ? zs_json_copy(attributes) : NULL;
    if (undo.path == NULL || (attributes != NULL && undo.attributes == NULL)) {
        free(undo.path);
        zs_json_free(undo.attributes);
        return zs_fail_memory(err);
    }
    hierarchy->undo[hierarchy->undo_count++] = undo;
    return ZS_OK;
}

/* Notes a change of a path, whose present state is kept; *change is the pending one, new or not. */
static enum zs_status note(struct zs_hierarchy *hierarchy, const char *path, struct zs_change **change,
                           struct zs_error *err)
{
    ZS_TRY(note_undo(hierarchy, path, err));
    if (zs_hierarchy_entry_at(hierarchy, path) == NULL)
        ZS_TRY(note_absence(hierarchy, path, "there is nothing", err));
    struct zs_hierarchy_entry *entry = zs_hierarchy_entry_at(hierarchy, path);
    const struct zs_node *node = entry->node;
    if (entry->change == NULL) {
        zs_json *before = node != NULL && node->document != NULL ? zs_document_own(node->document) : NULL;
        entry->change = zs_calloc(1, sizeof *entry->change);
        if (entry->change == NULL || (before == NULL && node != NULL && node->document != NULL)) {
            zs_json_free(before);
            free_change(entry);
            return zs_fail_memory(err);
        }
        entry->change->before = before;
        entry->change->kind = node != NULL ? ZS_CHANGE_EDIT : ZS_CHANGE_NEW;
        entry->change->may_be_gone = node != NULL && node->document == NULL;
    } else if (entry->change->kind == ZS_CHANGE_REMOVED) {
        entry->change->kind = ZS_CHANGE_NEW;
    }
    *change = entry->change;
    return ZS_OK;
}

/* ---- Savepoints: what is noted while one is open is undone in reverse order ---- */

/* Restores the attributes of a node, which are edited in place. */
static void restore_attributes(struct zs_undo *undo)
{
    struct zs_node *node = undo->node;
    node->attributes = NULL;
    if (undo->was_implicit) {
        if (node->owns_document)
            zs_json_free(node->document);
        node->document = NULL;
        node->owns_document = false;
        node->is_implicit = true;
    } else if (undo->attributes == NULL) {
        zs_json_remove(node->document, "attributes");
    } else {
        const zs_json *attributes = zs_json_set(node->document, "attributes", undo->attributes);
        node->attributes = zs_json_is_object(attributes) ? attributes : NULL;
        undo->attributes = NULL;
    }
}

/* Puts a retired node back into an entry, and retires the one that is there, in its position. */
static void swap_nodes(struct zs_hierarchy *hierarchy, struct zs_hierarchy_entry *entry, struct zs_node *node)
{
    size_t i = 0;
    while (i < hierarchy->retired_count && hierarchy->retired[i] != node)
        i++;
    if (entry->node == node || i == hierarchy->retired_count)
        return;
    hierarchy->retired[i] = entry->node;
    entry->node = node;
    if (hierarchy->retired[i] == NULL)
        hierarchy->retired[i] = hierarchy->retired[--hierarchy->retired_count];
}

static void undo_last(struct zs_hierarchy *hierarchy)
{
    struct zs_undo undo = hierarchy->undo[--hierarchy->undo_count];
    struct zs_hierarchy_entry *entry = zs_hierarchy_entry_at(hierarchy, undo.path);
    if (entry != NULL && entry->change != NULL) {
        if (undo.had_change)
            *entry->change = undo.change;
        else
            free_change(entry);
    }
    if (entry != NULL && undo.node != NULL)
        swap_nodes(hierarchy, entry, undo.node);
    else if (entry != NULL) /* without memory the node stays */
        (void)zs_hierarchy_vacate(hierarchy, entry, NULL);
    if (undo.node != NULL)
        restore_attributes(&undo);
    if (entry != NULL && !undo.was_known && entry->node == NULL) {
        zs_hierarchy_entry_free(entry);
        memmove(entry, entry + 1, (size_t)(hierarchy->entries + hierarchy->count - (entry + 1)) * sizeof *entry);
        hierarchy->count--;
    }
    free(undo.path);
    zs_json_free(undo.attributes);
}

struct zs_savepoint zs_savepoint_begin(struct zs_hierarchy *hierarchy)
{
    hierarchy->savepoints++;
    return (struct zs_savepoint){hierarchy->published + hierarchy->undo_count};
}

void zs_savepoint_end(struct zs_hierarchy *hierarchy, struct zs_savepoint savepoint, bool keeps)
{
    const size_t before = savepoint.count > hierarchy->published ? savepoint.count - hierarchy->published : 0;
    if (!keeps && hierarchy->undo_count > before)
        zs_hierarchy_forget_listing(hierarchy);
    while (!keeps && hierarchy->undo_count > before)
        undo_last(hierarchy);
    if (--hierarchy->savepoints == 0)
        forget_undo(hierarchy);
}

/* ---- Editing attributes ---- */

enum zs_status zs_hierarchy_edit(struct zs_hierarchy *hierarchy, const struct zs_node *node, zs_json **attributes,
                                 struct zs_error *err)
{
    ZS_TRY(zs_hierarchy_check_writable(hierarchy, err));
    const struct zs_hierarchy_entry *entry = zs_hierarchy_entry_at(hierarchy, node->path);
    struct zs_node *present = entry != NULL ? entry->node : NULL; /* it may have replaced the caller's */
    struct zs_change *change;
    if (present == NULL)
        return zs_fail(err, ZS_INVALID, "/%s: was removed", node->path);
    ZS_TRY(note(hierarchy, present->path, &change, err));
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

/* ---- Adding and replacing nodes ---- */

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

static enum zs_status note_addition(struct zs_hierarchy *hierarchy, const char *path, struct zs_change **change,
                                    struct zs_error *err)
{
    ZS_TRY(zs_hierarchy_check_writable(hierarchy, err));
    ZS_TRY(check_path(path, err));
    ZS_TRY(check_depth(path, err));
    ZS_TRY(note(hierarchy, path, change, err));
    (*change)->may_be_gone |= (*change)->kind == ZS_CHANGE_EDIT; /* the caller may have removed the stored node */
    return ZS_OK;
}

enum zs_status zs_hierarchy_add(struct zs_hierarchy *hierarchy, struct zs_node *node, struct zs_error *err)
{
    struct zs_change *change;
    const enum zs_status status = note_addition(hierarchy, node->path, &change, err);
    if (status == ZS_OK)
        return zs_hierarchy_put_node(hierarchy, node, err);
    zs_node_free(node);
    return status;
}

enum zs_status zs_hierarchy_replace(struct zs_hierarchy *hierarchy, struct zs_node *node, struct zs_error *err)
{
    const struct zs_node *old = zs_hierarchy_known(hierarchy, node->path);
    const char *path = node->path;
    ZS_TRY(zs_hierarchy_add(hierarchy, node, err));
    struct zs_change *change = zs_change_at(hierarchy, path);
    if (change->replaced == NULL || change->is_sent)
        change->replaced = old;
    return ZS_OK;
}

enum zs_status zs_hierarchy_update_node(struct zs_hierarchy *hierarchy, struct zs_node *node, struct zs_error *err)
{
    const struct zs_node *old = NULL;
    struct zs_change *change;
    enum zs_status status = zs_hierarchy_check_writable(hierarchy, err);
    if (status == ZS_OK)
        status = zs_hierarchy_find(hierarchy, node->path, false, &old, err);
    if (status == ZS_OK)
        status = note(hierarchy, node->path, &change, err);
    if (status == ZS_OK)
        return zs_hierarchy_put_node(hierarchy, node, err);
    zs_node_free(node);
    return status;
}

/* ---- What is stored where a node is to be made ---- */

/* Reads the node that is stored at a clean path; *node is NULL when there is none, or pending changes hide it. */
static enum zs_status read_stored(struct zs_hierarchy *hierarchy, const char *path, struct zs_node **node,
                                  struct zs_error *err)
{
    zs_json *document = NULL;
    *node = NULL;
    if (hierarchy->is_new || zs_change_above(hierarchy, path) != NULL)
        return ZS_OK;
    ZS_TRY(zs_document_load(hierarchy->store, path, &document, NULL, err));
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
        status = zs_hierarchy_put_node(hierarchy, stored, err);
    }
    free(clean);
    return status;
}

/* Finds out whether a directory without zarr.json, in a local store, has nodes below it: then it is a group. */
static enum zs_status has_nodes_below(struct zs_store *store, const char *path, bool *has, struct zs_error *err)
{
    struct zs_contents found = {0};
    *has = false;
    const enum zs_status status = zs_contents_find_below(store, path, &found, err);
    for (size_t i = 0; i < found.own.count && !*has; i++)
        *has = zs_is_document(found.own.list[i]);
    zs_contents_clear(&found);
    return status == ZS_UNSUPPORTED ? ZS_OK : status;
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
    if (!hierarchy->store->is_remote && !hierarchy->is_new && zs_change_above(hierarchy, path) == NULL)
        ZS_TRY(has_nodes_below(hierarchy->store, path, &is_group, err));
    if (!is_group)
        return note_absence(hierarchy, path, reason.message, err);
    ZS_TRY(zs_node_create_implicit(path, &group, err));
    *node = group;
    return zs_hierarchy_put_node(hierarchy, group, err);
}

/* ---- Removing nodes ---- */

enum zs_status zs_hierarchy_remove(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    if (path[0] == '\0')
        return zs_fail(err, ZS_ARGUMENT, "the root of a store cannot be removed from it");
    ZS_TRY(zs_hierarchy_check_writable(hierarchy, err));
    ZS_TRY(check_path(path, err));
    struct zs_change *change;
    size_t first, end;
    ZS_TRY(note(hierarchy, path, &change, err));
    zs_hierarchy_within(hierarchy, path, &first, &end);
    for (size_t i = first; i < end; i++) {
        struct zs_hierarchy_entry *entry = &hierarchy->entries[i];
        if (entry->node == NULL && entry->change == NULL)
            continue;
        ZS_TRY(note(hierarchy, entry->path, &change, err));
        change->kind = ZS_CHANGE_REMOVED;
        change->was_removed = true;
        ZS_TRY(zs_hierarchy_vacate(hierarchy, entry, err));
    }
    shorten_listing(hierarchy, path);
    return ZS_OK;
}

/* ---- Taking back what an append that failed has made ---- */

/* Whether all documents at and below a path are of nodes that this hierarchy knows. *has: there are some. */
static bool are_known(const struct zs_hierarchy *hierarchy, const struct zs_contents *found, bool *has)
{
    *has = false;
    for (size_t i = 0; i < found->own.count; i++) {
        char *path = zs_is_document(found->own.list[i]) ? zs_path_parent(found->own.list[i]) : NULL;
        const bool is_known = path != NULL && zs_hierarchy_known(hierarchy, path) != NULL;
        *has = *has || path != NULL;
        free(path);
        if (zs_is_document(found->own.list[i]) && !is_known)
            return false;
    }
    return true;
}

static enum zs_status remove_published(struct zs_store *store, const char *path, struct zs_error *err)
{
    struct zs_hierarchy *now = NULL;
    ZS_TRY(zs_hierarchy_open(store, true, &now, err));
    enum zs_status status = zs_hierarchy_remove(now, path, err);
    if (status == ZS_OK)
        status = zs_hierarchy_flush(now, err);
    zs_hierarchy_free(now);
    return status;
}

enum zs_status zs_hierarchy_take_back(const struct zs_hierarchy *hierarchy, struct zs_store *store, const char *path,
                                      struct zs_error *err)
{
    struct zs_contents found = {0};
    bool has_documents = false;
    ZS_TRY(zs_edits_redo(store, err)); /* else its documents might be put when its chunks are gone */
    enum zs_status status = zs_contents_find_below(store, path, &found, err);
    if (status == ZS_OK && are_known(hierarchy, &found, &has_documents))
        status = has_documents ? remove_published(store, path, err)
                               : zs_contents_remove(store, &found, ZS_MARKS_STAY, err);
    zs_contents_clear(&found);
    return status == ZS_UNSUPPORTED || status == ZS_NOT_FOUND ? ZS_OK : status;
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
