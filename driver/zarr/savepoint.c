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
    bool was_implicit;
    bool was_added;
    zs_json *attributes;      /* copy of the node's attributes; NULL: the document had none */
    struct zs_change *change; /* copy of the pending change; NULL: there was none */
};

static void undo_clear(struct zs_undo *u)
{
    free(u->path);
    free(u->message);
    zs_json_free(u->attributes);
    zs_change_free(u->change);
}

/* ---- Remembering ---- */

/* Returns the entry of a path in the table; NULL when it has none. */
static struct zs_hierarchy_entry *entry_of(const struct zs_hierarchy *h, const char *path)
{
    size_t i, end;
    zs_hierarchy_within(h, path, &i, &end);
    return i < end && strcmp(h->entries[i].path, path) == 0 ? &h->entries[i] : NULL;
}

/* Copies the state of a path from the table (`entry`, or NULL) and from the pending changes; false without memory. */
static bool take(const struct zs_hierarchy *h, const char *path, const struct zs_hierarchy_entry *entry,
                 struct zs_undo *u)
{
    const struct zs_change *change = zs_changes_find(&h->pending, path);
    *u = (struct zs_undo){.path = zs_strdup(path), .was_known = entry != NULL};
    bool ok = u->path != NULL;
    if (entry != NULL) {
        u->node = entry->node;
        u->status = entry->status;
        u->was_added = entry->is_added;
        u->message = entry->message != NULL ? zs_strdup(entry->message) : NULL;
        ok = ok && (u->message != NULL) == (entry->message != NULL);
    }
    const zs_json *attributes = u->node != NULL ? zs_json_get(u->node->document, "attributes") : NULL;
    if (u->node != NULL)
        u->was_implicit = u->node->document == NULL;
    if (attributes != NULL)
        ok = ok && (u->attributes = zs_json_copy(attributes)) != NULL;
    if (change != NULL)
        ok = ok && (u->change = zs_change_copy(change)) != NULL;
    return ok;
}

enum zs_status zs_savepoint_note(struct zs_hierarchy *h, const char *path, struct zs_error *err)
{
    struct zs_undo u;
    struct zs_hierarchy_entry *entry = h->savepoints > 0 ? entry_of(h, path) : NULL;
    if (h->savepoints == 0 || (entry != NULL && entry->noted_in == h->period))
        return ZS_OK;
    struct zs_undo *grown = zs_grow(h->undo, h->undo_count, &h->undo_capacity, sizeof *grown);
    if (grown == NULL)
        return zs_fail_memory(err);
    h->undo = grown;
    /* Reserve room for retired nodes now, so that undoing needs no memory. */
    struct zs_node **retired = zs_grow_by(h->retired, h->retired_count, (uint64_t)h->undo_count + 2,
                                          &h->retired_capacity, sizeof(struct zs_node *));
    if (retired == NULL)
        return zs_fail_memory(err);
    h->retired = retired;
    if (!take(h, path, entry, &u)) {
        undo_clear(&u);
        return zs_fail_memory(err);
    }
    h->undo[h->undo_count++] = u;
    if (entry != NULL)
        entry->noted_in = h->period;
    return ZS_OK;
}

enum zs_status zs_savepoint_note_within(struct zs_hierarchy *h, const char *path, struct zs_error *err)
{
    size_t first, end;
    if (h->savepoints == 0)
        return ZS_OK;
    zs_hierarchy_within(h, path, &first, &end);
    for (size_t i = first; i < end; i++)
        if (h->entries[i].node != NULL)
            ZS_TRY(zs_savepoint_note(h, h->entries[i].path, err));
    zs_changes_within(&h->pending, path, &first, &end);
    for (size_t i = first; i < end; i++)
        ZS_TRY(zs_savepoint_note(h, h->pending.list[i]->path, err));
    return zs_savepoint_note(h, path, err);
}

/* ---- Undoing ---- */

/* Removes a node, which is in the table again, from the retired nodes. */
static void recall(struct zs_hierarchy *h, const struct zs_node *node)
{
    for (size_t i = h->retired_count; i-- > 0;)
        if (h->retired[i] == node) {
            h->retired[i] = h->retired[--h->retired_count];
            return;
        }
}

/* Restores the entry of a path. */
static void restore_entry(struct zs_hierarchy *h, struct zs_undo *u)
{
    struct zs_hierarchy_entry *entry = entry_of(h, u->path);
    if (entry == NULL) /* the change failed before it added one */
        return;
    if (entry->node == u->node && u->was_known)
        return;
    if (u->node != NULL)
        recall(h, u->node);
    if (entry->node != NULL)
        h->retired[h->retired_count++] = entry->node;
    free(entry->message);
    entry->node = u->node;
    entry->status = u->status;
    entry->is_added = u->was_added;
    entry->message = u->message;
    u->message = NULL;
    if (u->was_known)
        return;
    zs_hierarchy_entry_free(entry);
    memmove(entry, entry + 1, (size_t)(h->entries + h->count - (entry + 1)) * sizeof *entry);
    h->count--;
}

/* Restores the attributes of a node. */
static void restore_attributes(struct zs_undo *u)
{
    struct zs_node *node = u->node;
    node->attributes = NULL;
    if (u->was_implicit) {
        if (node->owns_document)
            zs_json_free(node->document);
        node->document = NULL;
        node->owns_document = false;
        node->is_implicit = true;
    } else if (u->attributes == NULL) {
        zs_json_remove(node->document, "attributes");
    } else {
        const zs_json *attributes = zs_json_set(node->document, "attributes", u->attributes);
        node->attributes = zs_json_is_object(attributes) ? attributes : NULL;
        u->attributes = NULL;
    }
}

/* Removes the chunks that an array got under other keys. Where this fails they stay, and no document refers to them. */
static void undo_chunks(struct zs_hierarchy *h, const struct zs_undo *u)
{
    const struct zs_change *change = zs_changes_find(&h->pending, u->path);
    const struct zs_node *node = zs_hierarchy_known(h, u->path);
    const bool had_them = u->change != NULL && u->change->replaced != NULL;
    if (change == NULL || node == NULL || change->is_stored || had_them || !zs_change_has_new_keys(change, node))
        return;
    const enum zs_status ignored = zs_hierarchy_remove_chunks(h, node, NULL);
    (void)ignored;
}

static void undo_last(struct zs_hierarchy *h)
{
    struct zs_undo u = h->undo[--h->undo_count];
    if (u.path == NULL)
        return;
    undo_chunks(h, &u);
    restore_entry(h, &u);
    if (u.node != NULL)
        restore_attributes(&u);
    zs_changes_put(&h->pending, u.path, u.change);
    u.change = NULL;
    undo_clear(&u);
}

void zs_savepoint_forget(struct zs_hierarchy *h)
{
    h->published += h->undo_count;
    while (h->undo_count > 0)
        undo_clear(&h->undo[--h->undo_count]);
    h->period++;
}

void zs_savepoint_forget_within(struct zs_hierarchy *h, const char *path)
{
    for (size_t i = 0; i < h->undo_count; i++) {
        struct zs_undo *u = &h->undo[i];
        if (u->path == NULL || !zs_path_is_within(u->path, path))
            continue;
        undo_clear(u);
        *u = (struct zs_undo){0};
    }
}

struct zs_savepoint zs_savepoint_begin(struct zs_hierarchy *h)
{
    h->savepoints++;
    h->period++;
    return (struct zs_savepoint){h->published + h->undo_count};
}

void zs_savepoint_end(struct zs_hierarchy *h, struct zs_savepoint savepoint, bool keeps)
{
    const size_t before = savepoint.count > h->published ? savepoint.count - h->published : 0;
    const bool is_undone = !keeps && h->undo_count > before;
    h->period++;
    while (!keeps && h->undo_count > before)
        undo_last(h);
    if (is_undone)
        zs_hierarchy_forget_listing(h);
    if (--h->savepoints > 0)
        return;
    zs_savepoint_forget(h);
    free(h->undo);
    h->undo = NULL;
    h->undo_capacity = 0;
}
