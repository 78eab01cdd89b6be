/* Changes nodes in memory, and notes each change for the next flush (flush.c). */
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

/* Removes the node, if any, from an entry; it is kept until the hierarchy is freed. */
static void vacate(struct zs_hierarchy *hierarchy, struct zs_hierarchy_entry *entry)
{
    if (entry->node == NULL)
        return;
    entry->node->next = hierarchy->retired;
    hierarchy->retired = entry->node;
    entry->node = NULL;
    entry->status = ZS_NOT_FOUND;
}

/* Puts a node, which it takes over, into the table, and retires the node at the same path. Notes no change. */
static enum zs_status put_node(struct zs_hierarchy *hierarchy, struct zs_node *node, struct zs_error *err)
{
    struct zs_hierarchy_entry entry = {.path = zs_strdup(node->path), .node = node};
    enum zs_status status = entry.path != NULL ? zs_hierarchy_check_path(entry.path, err) : zs_fail_memory(err);
    struct zs_hierarchy_entry *present = zs_hierarchy_entry_at(hierarchy, node->path);
    if (status == ZS_OK && present != NULL)
        vacate(hierarchy, present);
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

bool zs_hierarchy_takes_dots(const struct zs_hierarchy *hierarchy, const struct zs_node *node)
{
    static const char member[] = "chunk_key_encoding";
    if (node == NULL)
        return false;
    const bool is_slashed = node->array != NULL && !node->array->key_is_v2 && node->array->key_separator == '/';
    const struct zs_hierarchy_entry *entry = zs_hierarchy_entry_at(hierarchy, node->path);
    const bool is_pending = /* with such keys: they are no stored document's */
        zs_hierarchy_is_unpublished(hierarchy, node) ||
        (entry != NULL && entry->before != NULL &&
         !zs_json_is_same(zs_json_get(entry->before, member), zs_json_get(node->document, member)));
    return is_slashed != is_pending;
}

/* Notes a change of a path, whose present state is kept. */
static enum zs_status note(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    ZS_TRY(zs_hierarchy_check_writable(hierarchy, err));
    ZS_TRY(zs_hierarchy_check_path(path, err));
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

void zs_hierarchy_end(struct zs_hierarchy *hierarchy, enum zs_status status, const struct zs_error *reason)
{
    if (hierarchy->ended != ZS_OK)
        return;
    hierarchy->ended = status;
    hierarchy->end_reason = *reason;
}

void zs_hierarchy_abandon(struct zs_hierarchy *hierarchy, size_t edits)
{
    if (hierarchy->edits == edits)
        return;
    struct zs_error err;
    zs_error_set(&err, "%s: an edit of several documents failed: what is pending since it began, and what is changed "
                 "now, is not written; open the store again", hierarchy->store->root);
    zs_hierarchy_end(hierarchy, ZS_INVALID, &err);
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
    size_t first, end;
    zs_json *document = NULL;
    struct zs_node *stored = NULL;
    *node = NULL;
    ZS_TRY(zs_hierarchy_check_path(path, err));
    if (zs_hierarchy_hides(hierarchy, path, false) && !hierarchy->is_new)
        ZS_TRY(zs_hierarchy_flush(hierarchy, err));
    const struct zs_node *known = zs_hierarchy_known(hierarchy, path);
    if ((known == NULL || known->is_implicit) && !hierarchy->is_new && !zs_hierarchy_hides(hierarchy, path, true)) {
        ZS_TRY(zs_document_load(hierarchy->store, path, &document, NULL, err));
        if (document != NULL) {
            ZS_TRY(zs_node_create(path, document, true, &stored, err));
            ZS_TRY(put_node(hierarchy, stored, err));
        }
    }
    zs_hierarchy_within(hierarchy, path, &first, &end);
    if (first < end && strcmp(hierarchy->entries[first].path, path) == 0 && zs_hierarchy_is_listed(hierarchy, first))
        *node = hierarchy->entries[first].node;
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
        vacate(hierarchy, entry);
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

void zs_hierarchy_defer(struct zs_hierarchy *hierarchy, bool is_deferred)
{
    hierarchy->is_deferred = is_deferred;
}

/* ---- New nodes, and what documents have beside attributes ---- */

/* Creates the node of a document (taken over); fails for an array that could not be read. */
static enum zs_status make(const char *path, zs_json *document, struct zs_node **node, struct zs_error *err)
{
    ZS_TRY_MEMORY(document, err);
    ZS_TRY(zs_node_create(path, document, true, node, err));
    const struct zs_node *made = *node;
    if (made->type != ZS_NODE_ARRAY || made->array != NULL || made->is_text)
        return ZS_OK;
    const enum zs_status status = zs_fail(err, made->array_status, "%s", made->array_error->message);
    zs_node_free(*node); /* larger than arrays can be */
    return status;
}

enum zs_status zs_add_document(struct zs_hierarchy *hierarchy, const char *path, zs_json *document,
                               const struct zs_node **node, struct zs_error *err)
{
    struct zs_node *made;
    ZS_TRY(make(path, document, &made, err));
    ZS_TRY(zs_hierarchy_add(hierarchy, made, err));
    *node = made;
    return ZS_OK;
}

/* Checks that a new node may be at a path: ZS_ARGUMENT where one is. */
static enum zs_status check_free(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    const struct zs_node *occupant;
    ZS_TRY(zs_hierarchy_occupant(hierarchy, path, &occupant, err));
    if (occupant == NULL)
        return ZS_OK;
    return zs_fail(err, ZS_ARGUMENT, "%s: there is %s /%s already", zs_hierarchy_store(hierarchy)->root,
                   occupant->type == ZS_NODE_ARRAY ? "an array" : "a group", path);
}

enum zs_status zs_node_check_name(const char *name, struct zs_error *err)
{
    if (zs_is_inside_name(name) && strncmp(name, ".z", 2) != 0) /* documents of Zarr v2 */
        return ZS_OK;
    return zs_fail(err, ZS_ARGUMENT, "\"%.200s\": expected a name without / and \\, not of dots alone, not beginning "
                   "with .z", name);
}

enum zs_status zs_node_make(struct zs_hierarchy *hierarchy, const char *parent, const char *name, zs_json *document,
                            const struct zs_node **node, struct zs_error *err)
{
    char *path = NULL;
    enum zs_status status = zs_node_check_name(name, err);
    if (status == ZS_OK)
        status = zs_hierarchy_check_writable(hierarchy, err);
    if (status == ZS_OK && (path = zs_path_join(parent, name)) == NULL)
        status = zs_fail_memory(err);
    if (status == ZS_OK)
        status = check_free(hierarchy, path, err);
    if (status == ZS_OK && !hierarchy->is_new) /* of a writer that was killed */
        status = zs_contents_remove_left(hierarchy->store, path, err);
    if (status == ZS_OK)
        status = zs_add_document(hierarchy, path, document, node, err);
    else
        zs_json_free(document);
    free(path);
    return status;
}

enum zs_status zs_group_make(struct zs_hierarchy *hierarchy, const char *parent, const char *name,
                             const struct zs_node **node, struct zs_error *err)
{
    return zs_node_make(hierarchy, parent, name, zs_group_document(), node, err);
}

/* A document with another shape, other names and another fill value; NULL without memory. */
static zs_json *changed_document(const struct zs_node *node, int ndim, const uint64_t *shape, const char *const *names,
                                 const void *fill_value)
{
    zs_json *document = zs_json_copy(node->document);
    bool ok = document != NULL;
    if (ok && shape != NULL)
        ok = zs_json_set(document, "shape", zs_shape_list(shape, ndim)) != NULL;
    if (ok && names != NULL)
        ok = zs_json_set(document, "dimension_names", zs_name_list(names, ndim)) != NULL;
    if (ok && fill_value != NULL) {
        zs_json_remove(document, "fill_value");
        ok = zs_fill_value_add(document, "fill_value", &node->array->dtype, fill_value) != NULL;
    }
    if (ok)
        return document;
    zs_json_free(document);
    return NULL;
}

/* Whether an array can have another shape (NULL: the one it has); *ndim is its rank. */
static enum zs_status check_shape(const struct zs_node *node, const uint64_t *shape, int *ndim, struct zs_error *err)
{
    const struct zs_array_meta *meta = node->array;
    const zs_json *sizes = zs_json_get(node->document, "shape");
    const char *grid = zs_extension_name(zs_json_get(node->document, "chunk_grid"), NULL);
    if (meta == NULL && (!zs_json_is_array(sizes) || zs_json_size(sizes) > ZS_MAX_NDIM))
        return zs_fail(err, ZS_UNSUPPORTED, "array /%s: expected a list of at most %d sizes as shape", node->path,
                       ZS_MAX_NDIM);
    *ndim = meta != NULL ? meta->ndim : (int)zs_json_size(sizes);
    if (shape != NULL && meta == NULL && (!node->is_text || grid == NULL || strcmp(grid, "regular") != 0))
        return zs_fail(err, ZS_UNSUPPORTED, "array /%s: it cannot be read, and not change its shape", node->path);
    for (int d = 0; d < *ndim && shape != NULL && meta != NULL; d++)
        if (shape[d] != meta->shape[d] && meta->edges[d] != NULL)
            return zs_fail(err, ZS_UNSUPPORTED,
                           "array /%s: its document lists the lengths of chunks along dimension "
                           "%d, for %llu elements: it cannot grow beyond them",
                           node->path, d, (unsigned long long)meta->shape[d]);
    return ZS_OK;
}

enum zs_status zs_array_update_document(struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                        const uint64_t *shape, const char *const *names, const void *fill_value,
                                        const struct zs_node **replacement, struct zs_error *err)
{
    struct zs_node *made;
    int ndim;
    ZS_TRY(check_shape(node, shape, &ndim, err));
    zs_json *document = changed_document(node, ndim, shape, names, fill_value);
    ZS_TRY_MEMORY(document, err);
    ZS_TRY(zs_node_create(node->path, document, true, &made, err));
    if (made->array == NULL && node->array != NULL) {
        const enum zs_status status = zs_fail(err, made->array_status, "%s", made->array_error->message);
        zs_node_free(made); /* larger than arrays can be */
        return status;
    }
    ZS_TRY(zs_hierarchy_add(hierarchy, made, err));
    *replacement = made;
    return ZS_OK;
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
        if (nodes[i]->document != NULL) /* not of an implicit group */
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
    if (path != NULL && node->document == NULL)
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
    size_t first, end, count = 0;
    zs_hierarchy_within(hierarchy, from, &first, &end);
    struct zs_node **moved = zs_calloc(end - first, sizeof *moved);
    enum zs_status status = moved != NULL ? ZS_OK : zs_fail_memory(err);
    for (size_t i = first; i < end && status == ZS_OK; i++) {
        if (hierarchy->entries[i].node == NULL)
            continue;
        moved[count] = copy_at(hierarchy->entries[i].node, from, to);
        if (moved[count] == NULL) {
            status = zs_fail_memory(err);
        } else {
            vacate(hierarchy, &hierarchy->entries[i]);
            count++;
        }
    }
    for (size_t i = 0; i < count; i++)
        if (status == ZS_OK)
            status = put_node(hierarchy, moved[i], err);
        else
            zs_node_free(moved[i]);
    free(moved);
    return status;
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

/* Removes the consolidated metadata of all groups above a path. *root: the root's former document; NULL where it has
 * none. */
static enum zs_status unlist_above(struct zs_store *store, const char *path, zs_json **root, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    char *group = zs_path_parent(path);
    while (group != NULL && status == ZS_OK) {
        zs_json *document = NULL, *own = NULL;
        status = zs_document_load(store, group, &document, NULL, err);
        if (status == ZS_OK && zs_json_get(document, "consolidated_metadata") != NULL) {
            own = zs_document_own(document);
            status = own != NULL ? put_document(store, group, own, err) : zs_fail_memory(err);
        }
        if (own != NULL && group[0] == '\0' && status == ZS_OK)
            *root = document;
        else
            zs_json_free(document);
        zs_json_free(own);
        char *above = zs_path_parent(group);
        free(group);
        group = above;
    }
    free(group);
    return status;
}

/* Lists what is at and below a path under another one. */
static enum zs_status list_moved(zs_json *root, const char *from, const char *to, struct zs_error *err)
{
    const zs_json *metadata = zs_document_listing(root);
    struct zs_listed *list = zs_calloc(zs_json_size(metadata) + 1, sizeof *list);
    struct zs_names names = {0};
    enum zs_status status = list != NULL ? ZS_OK : zs_fail_memory(err);
    for (const zs_json *m = zs_json_first(metadata); m != NULL && status == ZS_OK; m = zs_json_next(m)) {
        if (!zs_path_is_within(zs_json_name(m), from))
            continue;
        status = zs_names_add(&names, zs_format("%s%s", to, zs_json_name(m) + strlen(from)), err);
        if (status == ZS_OK)
            list[names.count] = (struct zs_listed){.name = names.list[names.count - 1], .document = m};
    }
    if (status == ZS_OK) {
        bool is_changed = false;
        list[0].name = from; /* goes */
        status = zs_document_consolidate(root, list, names.count + 1, &is_changed, err);
    }
    zs_names_free(names.list);
    free(list);
    return status;
}

/* Renames a directory whose store is locked where there are locks. The groups above have no consolidated metadata
 * meanwhile: readers must not take moved chunks for absent ones. Only the root gets them again. */
static enum zs_status rename_stored(struct zs_store *store, const char *from, const char *to, struct zs_error *err)
{
    char **names = NULL;
    zs_json *document = NULL, *root = NULL;
    struct zs_error ignored;
    enum zs_status status = zs_store_list(store, from, &names, err);
    const bool is_there = status == ZS_OK && names[0] != NULL;
    zs_names_free(names);
    if (!is_there && (status == ZS_OK || status == ZS_NOT_FOUND))
        return zs_fail(err, ZS_INVALID, "%s/%s: another writer removed or renamed it meanwhile", store->root, from);
    if (status == ZS_OK)
        status = zs_document_load(store, from, &document, NULL, err); /* a damaged one stays */
    zs_json_free(document);
    if (status == ZS_OK)
        status = unlist_above(store, from, &root, err);
    if (status == ZS_OK)
        status = zs_store_rename(store, from, to, err);
    const bool is_moved = status == ZS_OK;
    if (is_moved && root != NULL)
        status = list_moved(root, from, to, err);
    if (status == ZS_OK && root != NULL)
        status = put_document(store, "", root, err);
    else if (!is_moved && root != NULL)
        (void)put_document(store, "", root, &ignored);
    zs_json_free(root);
    return status;
}

/* Returns the path of a node under a new name, after checking that it may have that name; freed with free(). */
static enum zs_status new_path(struct zs_hierarchy *hierarchy, const char *path, const char *name, char **out,
                               struct zs_error *err)
{
    const struct zs_store *store = zs_hierarchy_store(hierarchy);
    *out = NULL;
    ZS_TRY(zs_node_check_name(name, err));
    if (path[0] == '\0')
        return zs_fail(err, ZS_ARGUMENT, "the root of a store has no name in it");
    ZS_TRY(zs_hierarchy_check_writable(hierarchy, err));
    if (store->is_remote)
        return zs_fail(err, ZS_UNSUPPORTED, "%s/%s: a store of objects has no directories that could be renamed",
                       store->root, path);
    char *parent = zs_path_parent(path);
    char *to = parent != NULL ? zs_path_join(parent, name) : NULL;
    free(parent);
    const enum zs_status status = to != NULL ? check_free(hierarchy, to, err) : zs_fail_memory(err);
    if (status == ZS_OK)
        *out = to;
    else
        free(to);
    return status;
}

enum zs_status zs_node_rename(struct zs_hierarchy *hierarchy, const char *path, const char *name, struct zs_error *err)
{
    char *to;
    struct zs_lock *lock = NULL;
    struct zs_store *store = zs_hierarchy_store(hierarchy);
    ZS_TRY(zs_hierarchy_flush(hierarchy, err));
    ZS_TRY(new_path(hierarchy, path, name, &to, err));
    enum zs_status status = zs_hierarchy_enter(store, &lock, err);
    if (status == ZS_OK) {
        status = rename_stored(store, path, to, err);
        zs_store_unlock(store, lock);
    }
    if (status == ZS_OK)
        status = zs_hierarchy_keep(hierarchy, move_nodes(hierarchy, path, to, err));
    free(to);
    return status;
}
