/* Changes nodes in memory, and notes each change for the next flush (flush.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "zarr/contents.h"
#include "zarr/hierarchy_private.h"

/* ---- The table of nodes ---- */

enum zs_status zs_hierarchy_check_path(const char *path, struct zs_error *err)
{
    const size_t depth = zs_path_depth(path);
    if (path[0] != '\0' && !zs_path_is_clean(path))
        return zs_fail(err, ZS_INVALID, "path \"%.200s\": expected names separated by \"/\", and no slash at its ends",
                       path);
    if (depth > ZS_HIERARCHY_MAX_DEPTH || strlen(path) > ZS_HIERARCHY_MAX_PATH)
        return zs_fail(err, ZS_ARGUMENT, "path \"%.100s\": expected at most %d names and %d bytes, found %zu and %zu",
                       path, ZS_HIERARCHY_MAX_DEPTH, ZS_HIERARCHY_MAX_PATH, depth, strlen(path));
    return ZS_OK;
}

/* Removes what was found from an entry; a node is kept until the hierarchy is freed. */
static void vacate(struct zs_hierarchy *hierarchy, struct zs_hierarchy_entry *entry)
{
    if (entry->node != NULL) {
        entry->node->next = hierarchy->retired;
        hierarchy->retired = entry->node;
    }
    free(entry->message);
    entry->message = NULL;
    entry->node = NULL;
    entry->status = ZS_NOT_FOUND;
}

/* Puts a node, which it takes over, into the table, and retires the node at the same path. Notes no change. */
static enum zs_status put_node(struct zs_hierarchy *hierarchy, struct zs_node *node, struct zs_error *err)
{
    const struct zs_node *kept;
    struct zs_hierarchy_entry *present = zs_hierarchy_entry_at(hierarchy, node->path);
    const enum zs_status status = zs_hierarchy_check_path(node->path, err);
    if (status != ZS_OK) {
        zs_node_free(node);
        return status;
    }
    if (present != NULL)
        vacate(hierarchy, present);
    return zs_hierarchy_put(hierarchy, node->path, node, ZS_OK, &kept, err);
}

/* ---- Pending changes ---- */

bool zs_hierarchy_hides(const struct zs_hierarchy *hierarchy, const char *path, bool or_new)
{
    char above[ZS_HIERARCHY_MAX_PATH + 1]; /* the root, each group on the way, the path; no longer one is changed */
    for (size_t n = 0; hierarchy->edits > 0 && n < sizeof above; n += strcspn(path + n, "/")) {
        (void)snprintf(above, sizeof above, "%.*s", (int)n, path);
        const struct zs_hierarchy_entry *entry = zs_hierarchy_entry_at(hierarchy, above);
        if (entry != NULL && (entry->change == ZS_CHANGE_REMOVED || (or_new && entry->change == ZS_CHANGE_NEW)))
            return true;
        if (path[n] == '\0')
            break;
        n += n > 0; /* the slash */
    }
    return false;
}

/* Copies the entry of a node, all zero where there is none: the table moves when other threads look up nodes. */
static struct zs_hierarchy_entry copy_entry(struct zs_hierarchy *hierarchy, const struct zs_node *node)
{
    (void)pthread_mutex_lock(&hierarchy->lock);
    const struct zs_hierarchy_entry *entry = zs_hierarchy_entry_at(hierarchy, node->path);
    const struct zs_hierarchy_entry copy = entry != NULL ? *entry : (struct zs_hierarchy_entry){0};
    (void)pthread_mutex_unlock(&hierarchy->lock);
    return copy;
}

bool zs_hierarchy_is_unpublished(struct zs_hierarchy *hierarchy, const struct zs_node *node)
{
    return copy_entry(hierarchy, node).change == ZS_CHANGE_NEW;
}

bool zs_hierarchy_takes_dots(const struct zs_hierarchy *hierarchy, const struct zs_node *node)
{
    static const char member[] = "chunk_key_encoding";
    if (node == NULL)
        return false;
    const bool is_slashed = node->array != NULL && !node->array->key_is_v2 && node->array->key_separator == '/';
    const struct zs_hierarchy_entry *entry = zs_hierarchy_entry_at(hierarchy, node->path);
    const bool is_pending = /* with such keys: they are no stored document's */
        entry != NULL &&
        (entry->change == ZS_CHANGE_NEW ||
         (entry->before != NULL &&
          !zs_json_is_same(zs_json_get(entry->before, member), zs_json_get(node->document, member))));
    return is_slashed != is_pending;
}

/* Notes a change of a path, whose present state is kept. */
static enum zs_status note(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    ZS_TRY(zs_hierarchy_check_writable(hierarchy, err));
    ZS_TRY(zs_hierarchy_check_path(path, err));
    (void)pthread_mutex_lock(&hierarchy->lock);
    struct zs_hierarchy_entry *entry = zs_hierarchy_entry_make(hierarchy, path);
    (void)pthread_mutex_unlock(&hierarchy->lock);
    ZS_TRY_MEMORY(entry, err);
    hierarchy->edits++;
    if (entry->change == ZS_CHANGE_EDIT || entry->change == ZS_CHANGE_NEW)
        return ZS_OK;
    const bool is_stored = entry->node != NULL && !entry->node->is_implicit;
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

void zs_hierarchy_abandon(struct zs_hierarchy *hierarchy, size_t edits)
{
    if (hierarchy->edits == edits || hierarchy->ended != ZS_OK)
        return;
    zs_error_set(&hierarchy->end_reason,
                 "%s: an edit of several documents failed: what is pending since it began, and what is changed now, is "
                 "not written; open the store again", hierarchy->store->root);
    hierarchy->ended = ZS_INVALID;
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
    *attributes = zs_json_get_mutable(present->document, "attributes");
    if (!zs_json_is_object(*attributes))
        *attributes = zs_json_set(present->document, "attributes", zs_json_new_object());
    ZS_TRY_MEMORY(*attributes, err);
    present->is_implicit = false; /* it is an explicit one from now on */
    present->attributes = *attributes;
    return ZS_OK;
}

enum zs_status zs_hierarchy_add(struct zs_hierarchy *hierarchy, struct zs_node *node, struct zs_error *err)
{
    const bool goes = zs_hierarchy_hides(hierarchy, node->path, false) && !hierarchy->is_new;
    const enum zs_status status =
        goes ? zs_fail(err, ZS_INVALID, "/%s: is being removed", node->path) : note(hierarchy, node->path, err);
    if (status == ZS_OK)
        return put_node(hierarchy, node, err);
    zs_node_free(node);
    return status;
}

/* ---- What is stored where a node is to be made ---- */

enum zs_status zs_hierarchy_occupant(struct zs_hierarchy *hierarchy, const char *path, const struct zs_node **node,
                                     struct zs_error *err)
{
    struct zs_node *stored = NULL;
    *node = NULL;
    ZS_TRY(zs_hierarchy_check_path(path, err));
    if (zs_hierarchy_hides(hierarchy, path, false) && !hierarchy->is_new)
        ZS_TRY(zs_hierarchy_flush(hierarchy, err));
    const struct zs_hierarchy_entry *entry = zs_hierarchy_entry_at(hierarchy, path);
    const bool is_known = entry != NULL && entry->node != NULL && !entry->node->is_implicit;
    if (!is_known && !hierarchy->is_new && !zs_hierarchy_hides(hierarchy, path, true)) {
        const enum zs_status status = zs_document_get_node(hierarchy->store, path, &stored, err);
        if (status != ZS_NOT_FOUND)
            ZS_TRY(status == ZS_OK ? put_node(hierarchy, stored, err) : status);
    }
    entry = zs_hierarchy_entry_at(hierarchy, path);
    if (entry != NULL && zs_hierarchy_is_listed(hierarchy, (size_t)(entry - hierarchy->entries)))
        *node = entry->node;
    return ZS_OK;
}

/* ---- Removing nodes ---- */

enum zs_status zs_hierarchy_remove(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    if (path[0] == '\0')
        return zs_fail(err, ZS_ARGUMENT, "the root of a store cannot be removed from it");
    ZS_TRY(note(hierarchy, path, err));
    struct zs_hierarchy_entry *const own = zs_hierarchy_entry_at(hierarchy, path);
    const struct zs_hierarchy_entry *end = hierarchy->entries + hierarchy->count;
    for (struct zs_hierarchy_entry *e = own; e < end && zs_path_is_within(e->path, path); e++) {
        vacate(hierarchy, e);
        zs_json_free(e->before);
        e->before = NULL;
        e->change = e == own ? ZS_CHANGE_REMOVED : ZS_CHANGE_NONE;
    }
    return ZS_OK;
}

/* ---- The state of a store ---- */

bool zs_hierarchy_is_new(const struct zs_hierarchy *hierarchy)
{
    return hierarchy->is_new;
}

void zs_hierarchy_defer(struct zs_hierarchy *hierarchy, bool is_deferred)
{
    hierarchy->is_deferred = is_deferred;
}

/* ---- New nodes, and what documents have beside attributes ---- */

/* Creates the node of a document (taken over). Fails for an array that could not be read, unless it is of text or
 * may_be_unread. */
static enum zs_status make(const char *path, zs_json *document, bool may_be_unread, struct zs_node **node,
                           struct zs_error *err)
{
    ZS_TRY_MEMORY(document, err);
    ZS_TRY(zs_node_create(path, document, true, node, err));
    const struct zs_node *made = *node;
    if (made->type != ZS_NODE_ARRAY || made->array != NULL || made->is_text || may_be_unread)
        return ZS_OK;
    const enum zs_status status = zs_fail(err, made->array_status, "%s", made->array_error->message);
    zs_node_free(*node); /* larger than arrays can be */
    return status;
}

enum zs_status zs_add_document(struct zs_hierarchy *hierarchy, const char *path, zs_json *document,
                               const struct zs_node **node, struct zs_error *err)
{
    struct zs_node *made;
    ZS_TRY(make(path, document, false, &made, err));
    ZS_TRY(zs_hierarchy_add(hierarchy, made, err));
    *node = made;
    return ZS_OK;
}

enum zs_status zs_node_check_name(const char *name, struct zs_error *err)
{
    if (zs_is_inside_name(name) && strncmp(name, ".z", 2) != 0) /* documents of Zarr v2 */
        return ZS_OK;
    return zs_fail(err, ZS_ARGUMENT, "\"%.200s\": expected a name without / and \\, not of dots alone, not beginning "
                   "with .z", name);
}

/* Returns the path of a node that is to be in a group, freed with free(). Fails where it may not be, or one is. */
static enum zs_status new_path(struct zs_hierarchy *hierarchy, const char *parent, const char *name, char **out,
                               struct zs_error *err)
{
    const struct zs_node *occupant = NULL;
    ZS_TRY(zs_node_check_name(name, err));
    ZS_TRY(zs_hierarchy_check_writable(hierarchy, err));
    char *path = zs_path_join(parent, name);
    enum zs_status status = path != NULL ? zs_hierarchy_occupant(hierarchy, path, &occupant, err) : zs_fail_memory(err);
    if (occupant != NULL)
        status = zs_fail(err, ZS_ARGUMENT, "%s: there is %s /%s already; choose another name", hierarchy->store->root,
                         occupant->type == ZS_NODE_ARRAY ? "an array" : "a group", path);
    if (status == ZS_OK)
        *out = path;
    else
        free(path);
    return status;
}

enum zs_status zs_node_make(struct zs_hierarchy *hierarchy, const char *parent, const char *name, zs_json *document,
                            const struct zs_node **node, struct zs_error *err)
{
    char *path = NULL;
    enum zs_status status = new_path(hierarchy, parent, name, &path, err);
    if (status == ZS_OK && !hierarchy->is_new && !zs_hierarchy_hides(hierarchy, path, true)) /* of a killed writer */
        status = zs_contents_remove_below(hierarchy->store, path, true, err);
    if (status == ZS_OK)
        status = zs_add_document(hierarchy, path, document, node, err);
    else
        zs_json_free(document);
    free(path);
    return status;
}

enum zs_status zs_array_update_document(struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                        const uint64_t *shape, const char *const *names, const void *fill_value,
                                        const struct zs_node **replacement, struct zs_error *err)
{
    struct zs_node *made;
    const int ndim = (int)zs_json_size(zs_json_get(node->document, "shape"));
    const char *grid = zs_extension_name(zs_json_get(node->document, "chunk_grid"), NULL);
    const bool keeps_grid = shape == NULL || (node->is_text && grid != NULL && strcmp(grid, "regular") == 0);
    if (node->array == NULL && (ndim > ZS_MAX_NDIM || !keeps_grid))
        return zs_fail(err, ZS_UNSUPPORTED, "array /%s: it cannot be read, and not be changed like this", node->path);
    zs_json *document = zs_json_copy(node->document);
    bool ok = document != NULL;
    if (shape != NULL)
        ok = ok && zs_json_set(document, "shape", zs_shape_list(shape, ndim)) != NULL;
    if (names != NULL)
        ok = ok && zs_json_set(document, "dimension_names", zs_name_list(names, ndim)) != NULL;
    if (fill_value != NULL) {
        zs_json_remove(document, "fill_value");
        ok = ok && zs_fill_value_add(document, "fill_value", &node->array->dtype, fill_value) != NULL;
    }
    if (!ok) {
        zs_json_free(document);
        return zs_fail_memory(err);
    }
    ZS_TRY(make(node->path, document, node->array == NULL, &made, err));
    ZS_TRY(zs_hierarchy_add(hierarchy, made, err));
    *replacement = made;
    return ZS_OK;
}

/* ---- Whether an array is still the one that was opened, before chunks are written ---- */

static enum zs_status check_members(const struct zs_hierarchy_entry *entry, const struct zs_node *node,
                                    const zs_json *document, struct zs_error *err)
{
    /* which determine where chunks are stored and how they are decoded */
    static const char *const members[] = {"node_type", "data_type",          "fill_value", "chunk_grid",
                                          "codecs",    "chunk_key_encoding", "shape",      "storage_transformers",
                                          NULL};
    for (const char *const *name = members; *name != NULL; name++) {
        const zs_json *is = zs_json_get(document, *name);
        if (!zs_is_same_member(node->array, *name, is, zs_json_get(node->document, *name)) &&
            (entry->before == NULL ||
             !zs_is_same_member(node->array, *name, is, zs_json_get(entry->before, *name))))
            return zs_fail(err, ZS_INVALID,
                           "\"%s\" changed since this array was opened, by another writer: no pixels are written",
                           *name);
    }
    return ZS_OK;
}

/* Checks that no other writer made a node at the path of a new one: the chunks there are not ours. A remote store is
 * not asked for each shard. */
static enum zs_status check_new(const struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_error *err)
{
    zs_json *document = NULL;
    ZS_TRY(zs_hierarchy_check_writable(hierarchy, err)); /* else its document will not be written */
    if (!hierarchy->is_new && !hierarchy->store->is_remote)
        ZS_TRY(zs_document_load(hierarchy->store, node->path, &document, NULL, err));
    if (document == NULL)
        return ZS_OK;
    zs_json_free(document);
    return zs_fail(err, ZS_INVALID,
                   "/%s: another writer made it meanwhile: it stays as it is, and no pixels are written", node->path);
}

/* Checks the stored document, unless it is of the version that was last found unchanged: on a disk opening is cheaper
 * than reading. */
static enum zs_status check_stored(struct zs_store *store, const struct zs_hierarchy_entry *entry,
                                   const struct zs_node *node, uint64_t *version, struct zs_error *err)
{
    uint64_t found = 0;
    zs_json *document = NULL;
    struct zs_object *object = NULL;
    if (!store->is_remote) {
        ZS_TRY(zs_object_open(store, node->key, &object, err));
        found = object->is_versioned ? object->version : 0;
        zs_object_close(object);
    }
    if (found != 0 && found == *version)
        return ZS_OK;
    zs_store_forget(store, node->key);
    ZS_TRY(zs_document_get(store, node->key, &document, NULL, err));
    const enum zs_status status = check_members(entry, node, document, err);
    zs_json_free(document);
    *version = status == ZS_OK ? found : 0;
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "%s/%s", store->root, node->key);
}

enum zs_status zs_hierarchy_check_array(struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                        uint64_t *version, struct zs_error *err)
{
    const struct zs_hierarchy_entry entry = copy_entry(hierarchy, node);
    if (entry.change == ZS_CHANGE_NEW)
        return check_new(hierarchy, node, err);
    if (entry.change == ZS_CHANGE_REMOVED)
        return ZS_OK;
    const enum zs_status status = check_stored(hierarchy->store, &entry, node, version, err);
    return status != ZS_NOT_FOUND
        ? status
        : zs_fail(err, ZS_INVALID, "%s/%s: this array was removed after it was opened: no pixels are written",
                  hierarchy->store->root, node->key);
}

/* ---- Consolidated metadata of a new store ---- */

enum zs_status zs_root_consolidate(struct zs_hierarchy *hierarchy, struct zs_error *err)
{
    const struct zs_node **nodes;
    size_t count, n = 0;
    bool is_changed = false;
    ZS_TRY(zs_hierarchy_list_known(hierarchy, &nodes, &count, err));
    struct zs_listed *list = zs_calloc(count, sizeof *list);
    for (size_t i = 1; i < count && list != NULL; i++)
        if (!nodes[i]->is_implicit)
            list[n++] = (struct zs_listed){.name = nodes[i]->path, .document = nodes[i]->document};
    zs_json_remove(nodes[0]->document, "consolidated_metadata"); /* it may list nodes that were removed since */
    const enum zs_status status =
        list != NULL ? zs_document_consolidate(nodes[0]->document, list, n, &is_changed, err) : zs_fail_memory(err);
    free(list);
    free(nodes);
    return status;
}

/* ---- Renaming a node within its group: its directory moves ---- */

/* Copies a node to its path behind a move; NULL without memory. */
static struct zs_node *copy_at(const struct zs_node *node, const char *from, const char *to)
{
    struct zs_node *copy = NULL;
    char *path = zs_format("%s%s", to, node->path + strlen(from));
    if (path != NULL && node->is_implicit)
        (void)zs_node_create_implicit(path, &copy, NULL);
    else if (path != NULL)
        (void)zs_node_create(path, zs_json_copy(node->document), true, &copy, NULL);
    free(path);
    return copy;
}

/* Moves what the table has at and below a path to another one. */
static enum zs_status move_nodes(struct zs_hierarchy *hierarchy, const char *from, const char *to,
                                 struct zs_error *err)
{
    size_t first = 0, end;
    while (first < hierarchy->count && !zs_path_is_within(hierarchy->entries[first].path, from))
        first++;
    end = first;
    while (end < hierarchy->count && zs_path_is_within(hierarchy->entries[end].path, from))
        end++;
    for (size_t left = end - first; left > 0; left--, first++) {
        const size_t count = hierarchy->count;
        if (hierarchy->entries[first].node == NULL)
            continue;
        struct zs_node *copy = copy_at(hierarchy->entries[first].node, from, to);
        ZS_TRY_MEMORY(copy, err);
        vacate(hierarchy, &hierarchy->entries[first]);
        ZS_TRY(put_node(hierarchy, copy, err));
        if (zs_path_compare(to, from) < 0) /* it was put before them */
            first += hierarchy->count - count;
    }
    return ZS_OK;
}

static enum zs_status put_document(struct zs_store *store, const char *path, const zs_json *document,
                                   struct zs_error *err)
{
    char *text = NULL;
    enum zs_status status = zs_document_print(store, path, document, &text, err);
    if (status == ZS_OK)
        status = zs_document_put_text(store, path, NULL, text, err);
    free(text);
    return status;
}

/* Lists in a group's document what is at and below a path in it under another one. */
static enum zs_status list_moved(zs_json *document, const char *from, const char *to, struct zs_error *err)
{
    zs_json *moved = zs_json_new_object();
    bool ok = moved != NULL;
    for (const zs_json *m = zs_json_first(zs_document_listing(document)); m != NULL && ok; m = zs_json_next(m)) {
        const char *name = zs_json_name(m);
        if (zs_path_is_within(name, to)) /* it was not there any more */
            continue;
        char *path = zs_path_is_within(name, from) ? zs_format("%s%s", to, name + strlen(from)) : zs_strdup(name);
        ok = path != NULL && zs_json_add(moved, path, zs_json_copy(m)) != NULL;
        free(path);
    }
    if (ok)
        ok = zs_json_set(zs_json_get_mutable(document, "consolidated_metadata"), "metadata", moved) != NULL;
    else
        zs_json_free(moved);
    return ok ? ZS_OK : zs_fail_memory(err);
}

/* Renames a directory, while a group above it (NULL: there is none), and all above that, have no consolidated metadata:
 * readers must not take moved chunks for absent ones. */
static enum zs_status rename_below(struct zs_store *store, const char *group, const char *from, const char *to,
                                   bool *is_moved, struct zs_error *err)
{
    zs_json *document = NULL, *own = NULL;
    if (group == NULL) {
        const enum zs_status status = zs_store_rename(store, from, to, err);
        *is_moved = status == ZS_OK;
        return status;
    }
    ZS_TRY(zs_document_load(store, group, &document, NULL, err));
    const bool is_listed = zs_document_listing(document) != NULL;
    char *above = zs_path_parent(group);
    enum zs_status status = above != NULL || group[0] == '\0' ? ZS_OK : zs_fail_memory(err);
    if (is_listed && status == ZS_OK)
        status = (own = zs_document_own(document)) != NULL ? put_document(store, group, own, err) : zs_fail_memory(err);
    if (status == ZS_OK)
        status = rename_below(store, above, from, to, is_moved, err);
    if (is_listed && *is_moved && status == ZS_OK)
        status = list_moved(document, zs_path_below(group, from), zs_path_below(group, to), err);
    if (is_listed && *is_moved && status == ZS_OK)
        status = put_document(store, group, document, err);
    else if (own != NULL && !*is_moved)
        (void)put_document(store, group, document, NULL);
    zs_json_free(document);
    zs_json_free(own);
    free(above);
    return status;
}

/* Renames a directory in a group of a store that is locked where there are locks. */
static enum zs_status rename_stored(struct zs_store *store, const char *parent, const char *from, const char *to,
                                    struct zs_error *err)
{
    char **names = NULL;
    zs_json *document = NULL;
    bool is_moved = false;
    enum zs_status status = zs_store_list(store, from, &names, err);
    const bool is_there = status == ZS_OK && names[0] != NULL;
    zs_names_free(names);
    if (!is_there && (status == ZS_OK || status == ZS_NOT_FOUND))
        return zs_fail(err, ZS_INVALID, "%s/%s: another writer removed or renamed it meanwhile", store->root, from);
    if (status == ZS_OK)
        status = zs_document_load(store, from, &document, NULL, err); /* a node whose document is damaged stays */
    zs_json_free(document);
    return status == ZS_OK ? rename_below(store, parent, from, to, &is_moved, err) : status;
}

enum zs_status zs_node_rename(struct zs_hierarchy *hierarchy, const char *path, const char *name, struct zs_error *err)
{
    char *to = NULL;
    struct zs_lock *lock = NULL;
    struct zs_store *store = hierarchy->store;
    ZS_TRY(zs_hierarchy_flush(hierarchy, err));
    if (path[0] == '\0')
        return zs_fail(err, ZS_ARGUMENT, "the root of a store has no name in it");
    if (store->is_remote)
        return zs_fail(err, ZS_UNSUPPORTED, "%s/%s: a store of objects has no directories that could be renamed",
                       store->root, path);
    char *parent = zs_path_parent(path);
    enum zs_status status = parent != NULL ? new_path(hierarchy, parent, name, &to, err) : zs_fail_memory(err);
    if (status == ZS_OK && (status = zs_hierarchy_enter(store, &lock, err)) == ZS_OK) {
        status = rename_stored(store, parent, path, to, err);
        zs_store_unlock(store, lock);
    }
    if (status == ZS_OK)
        status = zs_hierarchy_keep(hierarchy, move_nodes(hierarchy, path, to, err));
    free(parent);
    free(to);
    return status;
}
