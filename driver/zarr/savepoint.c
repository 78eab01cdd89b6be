/* Undoes the changes in memory of an edit that failed: the state of each path is copied before its first change, and
 * restored in reverse order. The store is not read. An edit that succeeds costs one copy of each changed path. */
#include <stdlib.h>
#include <string.h>

#include "zarr/hierarchy_private.h"

/* The state of a path before a change. */
struct zs_undo {
    char *path;            /* NULL: the change is published */
    bool was_known;        /* the table had an entry of the path: */
    struct zs_node *node;  /* ... its node, retired when it is replaced; NULL: */
    enum zs_status status; /* ... why there was no node */
    char *message;
    bool was_added;
    bool was_implicit;
    zs_json *attributes;      /* copy of the node's attributes; NULL: the document had none */
    struct zs_change *change; /* copy of the pending change; NULL: there was none */
};

static void undo_clear(struct zs_undo *undo)
{
    free(undo->path);
    free(undo->message);
    zs_json_free(undo->attributes);
    zs_change_free(undo->change);
    *undo = (struct zs_undo){0};
}

/* ---- Remembering ---- */

/* Copies the state of a path from the table (`entry`, or NULL) and from the pending changes; false without memory. */
static bool copy_state(const struct zs_hierarchy *hierarchy, const char *path, const struct zs_hierarchy_entry *entry,
                       struct zs_undo *undo)
{
    const struct zs_change *change = zs_changes_find(&hierarchy->pending, path);
    *undo = (struct zs_undo){.path = zs_strdup(path), .was_known = entry != NULL};
    bool ok = undo->path != NULL;
    if (entry != NULL) {
        undo->node = entry->node;
        undo->status = entry->status;
        undo->was_added = entry->is_added;
        undo->message = entry->message != NULL ? zs_strdup(entry->message) : NULL;
        ok = ok && (undo->message != NULL) == (entry->message != NULL);
    }
    const zs_json *attributes = undo->node != NULL ? zs_json_get(undo->node->document, "attributes") : NULL;
    if (undo->node != NULL)
        undo->was_implicit = undo->node->document == NULL;
    if (attributes != NULL)
        ok = ok && (undo->attributes = zs_json_copy(attributes)) != NULL;
    if (change != NULL)
        ok = ok && (undo->change = zs_change_copy(change)) != NULL;
    return ok;
}

/* Makes room for one more state, and for the nodes that retire when all are restored: undoing needs no memory. */
static bool reserve(struct zs_hierarchy *hierarchy)
{
    struct zs_undo_log *log = &hierarchy->undo;
    struct zs_undo *states = zs_grow(log->list, log->count, &log->capacity, sizeof *states);
    if (states == NULL)
        return false;
    log->list = states;
    struct zs_node **retired = zs_grow_by(hierarchy->retired, hierarchy->retired_count, (uint64_t)log->count + 2,
                                          &hierarchy->retired_capacity, sizeof(struct zs_node *));
    if (retired == NULL)
        return false;
    hierarchy->retired = retired;
    return true;
}

enum zs_status zs_savepoint_note(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    struct zs_undo_log *log = &hierarchy->undo;
    struct zs_hierarchy_entry *entry = log->savepoints > 0 ? zs_hierarchy_entry_at(hierarchy, path) : NULL;
    if (log->savepoints == 0 || (entry != NULL && entry->noted_in == log->period))
        return ZS_OK;
    struct zs_undo undo = {0};
    if (!reserve(hierarchy) || !copy_state(hierarchy, path, entry, &undo)) {
        undo_clear(&undo);
        return zs_fail_memory(err);
    }
    log->list[log->count++] = undo;
    if (entry != NULL)
        entry->noted_in = log->period;
    return ZS_OK;
}

enum zs_status zs_savepoint_note_within(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    size_t first, end;
    if (hierarchy->undo.savepoints == 0)
        return ZS_OK;
    zs_hierarchy_within(hierarchy, path, &first, &end);
    for (size_t i = first; i < end; i++)
        if (hierarchy->entries[i].node != NULL)
            ZS_TRY(zs_savepoint_note(hierarchy, hierarchy->entries[i].path, err));
    zs_changes_within(&hierarchy->pending, path, &first, &end);
    for (size_t i = first; i < end; i++)
        ZS_TRY(zs_savepoint_note(hierarchy, hierarchy->pending.list[i]->path, err));
    return zs_savepoint_note(hierarchy, path, err);
}

/* ---- Undoing ---- */

/* Removes a node, which is in the table again, from the retired nodes. */
static void recall(struct zs_hierarchy *hierarchy, const struct zs_node *node)
{
    for (size_t i = hierarchy->retired_count; i-- > 0;)
        if (hierarchy->retired[i] == node) {
            hierarchy->retired[i] = hierarchy->retired[--hierarchy->retired_count];
            return;
        }
}

/* Restores the entry of a path. */
static void restore_entry(struct zs_hierarchy *hierarchy, struct zs_undo *undo)
{
    struct zs_hierarchy_entry *entry = zs_hierarchy_entry_at(hierarchy, undo->path);
    if (entry == NULL) /* the change failed before it added one */
        return;
    if (entry->node == undo->node && undo->was_known)
        return;
    if (undo->node != NULL)
        recall(hierarchy, undo->node);
    if (entry->node != NULL)
        hierarchy->retired[hierarchy->retired_count++] = entry->node;
    free(entry->message);
    entry->node = undo->node;
    entry->status = undo->status;
    entry->is_added = undo->was_added;
    entry->message = undo->message;
    undo->message = NULL;
    if (undo->was_known)
        return;
    zs_hierarchy_entry_free(entry);
    memmove(entry, entry + 1, (size_t)(hierarchy->entries + hierarchy->count - (entry + 1)) * sizeof *entry);
    hierarchy->count--;
}

/* Restores the attributes of a node. */
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

/* Removes the chunks that an array got under other keys. Where this fails they stay, and no document refers to them. */
static void undo_chunks(struct zs_hierarchy *hierarchy, const struct zs_undo *undo)
{
    const struct zs_change *change = zs_changes_find(&hierarchy->pending, undo->path);
    const struct zs_node *node = zs_hierarchy_known(hierarchy, undo->path);
    const bool had_them = undo->change != NULL && undo->change->replaced != NULL;
    if (change == NULL || node == NULL || change->is_stored || had_them || !zs_change_has_new_keys(change, node))
        return;
    (void)zs_hierarchy_remove_chunks(hierarchy, node, NULL);
}

static void undo_last(struct zs_hierarchy *hierarchy)
{
    struct zs_undo undo = hierarchy->undo.list[--hierarchy->undo.count];
    if (undo.path == NULL)
        return;
    undo_chunks(hierarchy, &undo);
    restore_entry(hierarchy, &undo);
    if (undo.node != NULL)
        restore_attributes(&undo);
    zs_changes_put(&hierarchy->pending, undo.path, undo.change);
    undo.change = NULL;
    undo_clear(&undo);
}

void zs_savepoint_forget(struct zs_hierarchy *hierarchy)
{
    struct zs_undo_log *log = &hierarchy->undo;
    log->published += log->count;
    while (log->count > 0)
        undo_clear(&log->list[--log->count]);
    log->period++;
}

void zs_savepoint_forget_within(struct zs_hierarchy *hierarchy, const char *path)
{
    for (size_t i = 0; i < hierarchy->undo.count; i++) {
        struct zs_undo *undo = &hierarchy->undo.list[i];
        if (undo->path != NULL && zs_path_is_within(undo->path, path))
            undo_clear(undo);
    }
}

struct zs_savepoint zs_savepoint_begin(struct zs_hierarchy *hierarchy)
{
    struct zs_undo_log *log = &hierarchy->undo;
    log->savepoints++;
    log->period++;
    return (struct zs_savepoint){log->published + log->count};
}

void zs_savepoint_end(struct zs_hierarchy *hierarchy, struct zs_savepoint savepoint, bool keeps)
{
    struct zs_undo_log *log = &hierarchy->undo;
    const size_t before = savepoint.count > log->published ? savepoint.count - log->published : 0;
    const bool is_undone = !keeps && log->count > before;
    log->period++;
    while (!keeps && log->count > before)
        undo_last(hierarchy);
    if (is_undone)
        zs_hierarchy_forget_listing(hierarchy);
    if (--log->savepoints > 0)
        return;
    zs_savepoint_forget(hierarchy);
    free(log->list);
    log->list = NULL;
    log->capacity = 0;
}
