/* Changes nodes in memory, and notes each change for the next flush (flush.c). */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "zarr/contents.h"
#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* ---- The table of nodes ---- */

/* Checks that a path is clean (name.h), inside the store, and within the limits of listing. */
static enum zs_status check_path(const char *path, struct zs_error *err)
{
    char *clean;
    int depth = 1;
    ZS_TRY(zs_path_clean(path, &clean, err));
    const bool is_clean = strcmp(clean, path) == 0;
    free(clean);
    if (!is_clean)
        return zs_fail(err, ZS_INVALID, "path \"%.200s\": expected no slash at its ends", path);
    for (const char *p = path; *p != '\0'; p++)
        depth += *p == '/';
    if (depth > ZS_HIERARCHY_MAX_DEPTH || strlen(path) > ZS_HIERARCHY_MAX_PATH)
        return zs_fail(err, ZS_ARGUMENT, "path \"%.100s\": expected at most %d names and %d bytes, found %d and %zu",
                       path, ZS_HIERARCHY_MAX_DEPTH, ZS_HIERARCHY_MAX_PATH, depth, strlen(path));
    return ZS_OK;
}

/* Keeps a node that left the table until the hierarchy is freed: callers may hold pointers to it. */
static enum zs_status retire(struct zs_hierarchy *hierarchy, struct zs_node *node, struct zs_error *err)
{
    ZS_TRY_GROW(hierarchy->retired, hierarchy->retired_count, &hierarchy->retired_capacity, err);
    hierarchy->retired[hierarchy->retired_count++] = node;
    return ZS_OK;
}

enum zs_status zs_hierarchy_vacate(struct zs_hierarchy *hierarchy, struct zs_hierarchy_entry *entry,
                                   struct zs_error *err)
{
    if (entry->node == NULL)
        return ZS_OK;
    ZS_TRY(retire(hierarchy, entry->node, err));
    entry->node = NULL;
    entry->status = ZS_NOT_FOUND;
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
    return status;
}

/* ---- Pending changes ---- */

static enum zs_change change_at(const struct zs_hierarchy *hierarchy, const char *path)
{
    const struct zs_hierarchy_entry *entry = zs_hierarchy_entry_at(hierarchy, path);
    return entry != NULL ? entry->change : ZS_CHANGE_NONE;
}

bool zs_hierarchy_hides(const struct zs_hierarchy *hierarchy, const char *path, bool or_new)
{
    bool hides = false;
    char *above = zs_strdup(path); /* without memory: NULL, and the store is read */
    while (above != NULL && !hides) {
        const enum zs_change change = change_at(hierarchy, above);
        hides = change == ZS_CHANGE_REMOVED || (or_new && change == ZS_CHANGE_NEW);
        char *next = zs_path_parent(above);
        free(above);
        above = next;
    }
    free(above);
    return hides;
}

bool zs_hierarchy_root_is_pending(const struct zs_hierarchy *hierarchy)
{
    return change_at(hierarchy, "") == ZS_CHANGE_NEW;
}

bool zs_hierarchy_is_changed(const struct zs_hierarchy *hierarchy)
{
    bool is_changed = false;
    for (size_t i = 0; i < hierarchy->count && !is_changed; i++)
        is_changed = hierarchy->entries[i].change != ZS_CHANGE_NONE;
    return is_changed;
}

bool zs_hierarchy_is_unpublished(const struct zs_hierarchy *hierarchy, const struct zs_node *node)
{
    return change_at(hierarchy, node->path) == ZS_CHANGE_NEW;
}

/* Notes a change of a path, whose present state is kept. */
static enum zs_status note(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    ZS_TRY(zs_hierarchy_check_writable(hierarchy, err));
    ZS_TRY(check_path(path, err));
    struct zs_hierarchy_entry *entry = zs_hierarchy_entry_at(hierarchy, path);
    if (entry == NULL) {
        struct zs_hierarchy_entry absent = {.path = zs_strdup(path), .status = ZS_NOT_FOUND};
        if (absent.path == NULL || zs_hierarchy_insert(hierarchy, absent) == NULL) {
            zs_hierarchy_entry_free(&absent);
            return zs_fail_memory(err);
        }
        entry = zs_hierarchy_entry_at(hierarchy, path);
    }
    hierarchy->edits++;
    if (entry->change == ZS_CHANGE_EDIT || entry->change == ZS_CHANGE_NEW)
        return ZS_OK;
    const bool is_stored = entry->node != NULL && entry->node->document != NULL;
    entry->before = is_stored ? zs_document_own(entry->node->document) : NULL;
    if (is_stored && entry->before == NULL)
        return zs_fail_memory(err);
    entry->change = entry->node != NULL ? ZS_CHANGE_EDIT : ZS_CHANGE_NEW;
    return ZS_OK;
}

size_t zs_hierarchy_edits(const struct zs_hierarchy *hierarchy)
{
    return hierarchy->edits;
}

void zs_hierarchy_end(struct zs_hierarchy *hierarchy, enum zs_status status, const char *message)
{
    if (hierarchy->ended != ZS_OK)
        return;
    hierarchy->ended = status;
    hierarchy->end_message = zs_strdup(message);
}

void zs_hierarchy_abandon(struct zs_hierarchy *hierarchy, size_t edits)
{
    if (hierarchy->edits == edits)
        return;
    struct zs_error err;
    zs_error_set(&err, "%s: an edit of several documents failed: what is pending since it began, and what is changed "
                 "now, is not written; open the store again", hierarchy->store->root);
    zs_hierarchy_end(hierarchy, ZS_INVALID, err.message);
}

enum zs_status zs_hierarchy_keep(struct zs_hierarchy *hierarchy, enum zs_status status)
{
    if (status != ZS_OK)
        zs_hierarchy_abandon(hierarchy, SIZE_MAX);
    return status;
}

/* ---- Editing, adding and replacing nodes ---- */

enum zs_status zs_hierarchy_edit(struct zs_hierarchy *hierarchy, const struct zs_node *node, zs_json **attributes,
                                 struct zs_error *err)
{
    const struct zs_hierarchy_entry *entry = zs_hierarchy_entry_at(hierarchy, node->path);
    struct zs_node *present = entry != NULL ? entry->node : NULL; /* it may have replaced the caller's */
    if (present == NULL)
        return zs_fail(err, ZS_INVALID, "/%s: was removed", node->path);
    ZS_TRY(note(hierarchy, present->path, err));
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

enum zs_status zs_hierarchy_add(struct zs_hierarchy *hierarchy, struct zs_node *node, struct zs_error *err)
{
    const bool goes = zs_hierarchy_hides(hierarchy, node->path, false) && !zs_hierarchy_root_is_pending(hierarchy);
    const enum zs_status status =
        goes ? zs_fail(err, ZS_INVALID, "/%s: is being removed", node->path) : note(hierarchy, node->path, err);
    if (status == ZS_OK)
        return zs_hierarchy_put_node(hierarchy, node, err);
    zs_node_free(node);
    return status;
}

/* Upper limit of the chunks that are removed: coordinates have one or a few. */
#define MOST_CHUNKS 100000

enum zs_status zs_hierarchy_replace(struct zs_hierarchy *hierarchy, struct zs_node *node, struct zs_error *err)
{
    const struct zs_node *old = zs_hierarchy_known(hierarchy, node->path);
    const struct zs_array_meta *meta = old != NULL ? old->array : NULL, *made = node->array;
    struct zs_names *keys = &hierarchy->replaced;
    const bool has_other_keys = meta != NULL && meta->ndim == 1 && (meta->key_is_v2 != made->key_is_v2 ||
                                                                   meta->key_separator != made->key_separator);
    for (size_t i = keys->count; i-- > 0;) /* of one that it replaced and that is not stored: they may be its own */
        if (zs_path_is_within(keys->list[i], node->path)) {
            free(keys->list[i]);
            keys->list[i] = keys->list[--keys->count];
            keys->list[keys->count] = NULL;
        }
    ZS_TRY(zs_hierarchy_add(hierarchy, node, err));
    const uint64_t count = has_other_keys ? zs_chunk_count(meta, 0) : 0;
    for (uint64_t i = 0; i < count && i < MOST_CHUNKS; i++)
        ZS_TRY(zs_names_add(keys, zs_chunk_key(meta, old->path, &i), err));
    return ZS_OK;
}

/* ---- What is stored where a node is to be made ---- */

/* Reads the node that is stored at a clean path; *node is NULL when there is none, or its removal is pending. */
static enum zs_status read_stored(struct zs_hierarchy *hierarchy, const char *path, struct zs_node **node,
                                  struct zs_error *err)
{
    zs_json *document = NULL;
    *node = NULL;
    if (hierarchy->is_new || zs_hierarchy_hides(hierarchy, path, true))
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
            status = zs_hierarchy_fail_absent(hierarchy, clean, err);
    }
    if (stored != NULL) {
        *node = stored;
        status = zs_hierarchy_put_node(hierarchy, stored, err);
    }
    free(clean);
    return status;
}

enum zs_status zs_hierarchy_occupant(struct zs_hierarchy *hierarchy, const char *path, const struct zs_node **node,
                                     struct zs_error *err)
{
    struct zs_error reason = {0};
    size_t first, end;
    *node = NULL;
    ZS_TRY(check_path(path, err));
    if (zs_hierarchy_hides(hierarchy, path, false) && !zs_hierarchy_root_is_pending(hierarchy))
        ZS_TRY(zs_hierarchy_flush(hierarchy, err));
    const enum zs_status status = zs_hierarchy_stored_node(hierarchy, path, node, &reason);
    if (status == ZS_OK)
        return ZS_OK;
    *node = NULL;
    if (status != ZS_NOT_FOUND)
        return zs_fail(err, status, "%s", reason.message);
    zs_hierarchy_within(hierarchy, path, &first, &end);
    if (first < end && strcmp(hierarchy->entries[first].path, path) == 0 && zs_hierarchy_is_listed(hierarchy, first))
        *node = hierarchy->entries[first].node; /* an implicit group */
    return ZS_OK;
}

/* ---- Removing nodes ---- */

enum zs_status zs_hierarchy_remove(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    size_t first, end;
    if (path[0] == '\0')
        return zs_fail(err, ZS_ARGUMENT, "the root of a store cannot be removed from it");
    ZS_TRY(note(hierarchy, path, err));
    zs_hierarchy_within(hierarchy, path, &first, &end);
    for (size_t i = first; i < end; i++) {
        struct zs_hierarchy_entry *entry = &hierarchy->entries[i];
        ZS_TRY(zs_hierarchy_vacate(hierarchy, entry, err));
        zs_json_free(entry->before);
        entry->before = NULL;
        entry->change = i == first ? ZS_CHANGE_REMOVED : ZS_CHANGE_NONE;
    }
    return ZS_OK;
}

/* ---- The state of a store ---- */

bool zs_hierarchy_is_new(const struct zs_hierarchy *hierarchy)
{
    return hierarchy->is_new;
}

enum zs_status zs_hierarchy_take_back(const struct zs_hierarchy *hierarchy, struct zs_store *store, const char *path,
                                      struct zs_error *err)
{
    return hierarchy->is_committed ? ZS_OK : zs_contents_remove_left(store, path, err);
}

void zs_hierarchy_defer(struct zs_hierarchy *hierarchy, bool is_deferred)
{
    hierarchy->is_deferred = is_deferred;
}
