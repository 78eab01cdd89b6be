/* The table of pending changes, and the rule that merges a change into a document that others may have changed
 * meanwhile. */
#include <stdlib.h>
#include <string.h>

#include "zarr/alike.h"
#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* ---- The table ---- */

static const char *path_of(const void *change)
{
    return (*(struct zs_change *const *)change)->path;
}

static size_t position(const struct zs_pending_changes *changes, const char *path)
{
    return zs_path_position(changes->list, changes->count, sizeof *changes->list, path_of, path);
}

struct zs_change *zs_changes_find(const struct zs_pending_changes *changes, const char *path)
{
    const size_t i = position(changes, path);
    return i < changes->count && strcmp(changes->list[i]->path, path) == 0 ? changes->list[i] : NULL;
}

/* Adds a change, which it takes over, for a path that is not in the table. Without memory it frees the change and
 * returns NULL. */
static struct zs_change *insert(struct zs_pending_changes *changes, struct zs_change *change)
{
    struct zs_change **grown = zs_grow(changes->list, changes->count, &changes->capacity, sizeof(struct zs_change *));
    if (grown == NULL) {
        zs_change_free(change);
        return NULL;
    }
    changes->list = grown;
    const size_t i = position(changes, change->path);
    memmove(grown + i + 1, grown + i, (changes->count - i) * sizeof *grown);
    grown[i] = change;
    changes->count++;
    return change;
}

struct zs_change *zs_changes_note(struct zs_pending_changes *changes, const char *path)
{
    struct zs_change *change = zs_changes_find(changes, path);
    if (change != NULL)
        return change;
    change = zs_calloc(1, sizeof *change);
    if (change == NULL || (change->path = zs_strdup(path)) == NULL) {
        free(change);
        return NULL;
    }
    return insert(changes, change);
}

void zs_changes_within(const struct zs_pending_changes *changes, const char *path, size_t *first, size_t *end)
{
    *first = *end = position(changes, path);
    while (*end < changes->count && zs_path_is_within(changes->list[*end]->path, path))
        ++*end;
}

void zs_change_free(struct zs_change *change)
{
    if (change == NULL)
        return;
    free(change->path);
    zs_json_free(change->before);
    zs_json_free(change->own);
    zs_json_free(change->tried);
    zs_json_free(change->written);
    zs_json_free(change->loaded);
    free(change);
}

struct zs_change *zs_change_copy(const struct zs_change *change)
{
    struct zs_change *copy = zs_calloc(1, sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = *change;
    copy->written = copy->loaded = NULL;
    copy->path = zs_strdup(change->path);
    copy->before = change->before != NULL ? zs_json_copy(change->before) : NULL;
    copy->own = change->own != NULL ? zs_json_copy(change->own) : NULL;
    copy->tried = change->tried != NULL ? zs_json_copy(change->tried) : NULL;
    if (copy->path != NULL && (copy->before != NULL) == (change->before != NULL) &&
        (copy->own != NULL) == (change->own != NULL) && (copy->tried != NULL) == (change->tried != NULL))
        return copy;
    zs_change_free(copy);
    return NULL;
}

/* Removes the changes from `first` to before `end`. */
static void forget(struct zs_pending_changes *changes, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        zs_change_free(changes->list[i]);
    if (end > first)
        memmove(changes->list + first, changes->list + end, (changes->count - end) * sizeof *changes->list);
    changes->count -= end - first;
}

void zs_changes_put(struct zs_pending_changes *changes, const char *path, struct zs_change *change)
{
    const size_t i = position(changes, path);
    if (i < changes->count && strcmp(changes->list[i]->path, path) == 0)
        forget(changes, i, i + 1);
    if (change != NULL)
        (void)insert(changes, change); /* without memory the change is lost: it belongs to an edit that failed */
}

void zs_changes_forget(struct zs_pending_changes *changes, const char *path)
{
    size_t first, end;
    zs_changes_within(changes, path, &first, &end);
    forget(changes, first, end);
}

void zs_changes_clear(struct zs_pending_changes *changes)
{
    while (changes->count > 0)
        zs_change_free(changes->list[--changes->count]);
    free(changes->list);
    *changes = (struct zs_pending_changes){0};
}

bool zs_change_is_removal(const struct zs_change *change)
{
    return change->kind == ZS_CHANGE_REMOVED || change->kind == ZS_CHANGE_UNLISTED;
}

bool zs_change_has_new_keys(const struct zs_change *change, const struct zs_node *node)
{
    const struct zs_array_meta *old = change->replaced != NULL ? change->replaced->array : NULL;
    return old != NULL && node->array != NULL &&
           (old->key_is_v2 != node->array->key_is_v2 || old->key_separator != node->array->key_separator);
}

bool zs_changes_hide(const struct zs_pending_changes *changes, const char *path)
{
    char *above = changes->count > 0 ? zs_strdup(path) : NULL;
    bool is_vacant = false;
    while (above != NULL && !is_vacant) { /* without memory: false, and the store is read */
        const struct zs_change *change = zs_changes_find(changes, above);
        is_vacant = change != NULL && (change->was_removed || change->is_fresh);
        char *next = zs_path_parent(above);
        free(above);
        above = next;
    }
    free(above);
    return is_vacant;
}

/* ---- The one rule ---- */

static enum zs_status merge_attributes(zs_json *document, const struct zs_node *node, const struct zs_change *change,
                                       bool *is_changed, struct zs_error *err)
{
    const zs_json *ours = node->attributes, *before = zs_json_get(change->before, "attributes");
    if (change->tried == NULL && (before == NULL ? zs_json_size(ours) == 0 : zs_json_is_same(before, ours)))
        return ZS_OK;
    const zs_json *theirs = zs_json_get(document, "attributes");
    if (!zs_json_is_object(theirs))
        theirs = NULL;
    /* first take back what a flush of ours that failed may have stored */
    const zs_json *tried = change->tried != NULL ? zs_json_get(change->tried, "attributes") : before;
    zs_json *former = zs_json_merge(tried, before, theirs);
    zs_json *merged = former != NULL ? zs_json_merge(before, ours, former) : NULL;
    zs_json_free(former);
    if (merged == NULL)
        return zs_fail_memory(err);
    if (zs_json_is_same(merged, theirs) || (theirs == NULL && zs_json_size(merged) == 0)) {
        zs_json_free(merged);
        return ZS_OK;
    }
    *is_changed = true;
    return zs_json_set(document, "attributes", merged) != NULL ? ZS_OK : zs_fail_memory(err);
}

/* Returns whether a member other than the attributes is compared: not consolidated metadata, which describe other
 * nodes. */
static bool is_compared(const char *name)
{
    return strcmp(name, "attributes") != 0 && strcmp(name, "consolidated_metadata") != 0;
}

/* Whether `b` lacks a member of `a`, or has another. */
static bool has_other(const zs_json *a, const zs_json *b)
{
    for (const zs_json *m = zs_json_first(a); m != NULL; m = zs_json_next(m))
        if (is_compared(zs_json_name(m)) && !zs_json_is_same(m, zs_json_get(b, zs_json_name(m))))
            return true;
    return false;
}

bool zs_change_is_structural(const struct zs_change *change, const struct zs_node *node)
{
    return has_other(change->before, node->document) || has_other(node->document, change->before);
}

/* Whether a shape has along some dimension less than another. */
static bool is_less(const zs_json *shape, const zs_json *other)
{
    uint64_t a, b;
    const zs_json *o = zs_json_first(other);
    for (const zs_json *s = zs_json_first(shape); s != NULL && o != NULL; s = zs_json_next(s), o = zs_json_next(o))
        if (zs_json_uint64(s, &a) && zs_json_uint64(o, &b) && a < b)
            return true;
    return false;
}

/* A node's own document before it was changed. */
static const zs_json *before_of(const struct zs_change *change)
{
    return change->own != NULL ? change->own : change->before;
}

/* Puts a member of our document, or that it is gone, over theirs. */
static enum zs_status merge_member(zs_json *theirs, const struct zs_node *node, const struct zs_change *change,
                                   const char *name, bool *is_changed, struct zs_error *err)
{
    const zs_json *ours = zs_json_get(node->document, name), *is = zs_json_get(theirs, name);
    const bool is_tried = change->tried != NULL && zs_json_is_same(is, zs_json_get(change->tried, name));
    const bool is_kept = !is_tried && zs_json_is_same(zs_json_get(change->before, name), ours);
    if (!is_compared(name) || is_kept || zs_json_is_same(is, ours))
        return ZS_OK;
    const zs_json *was = zs_json_get(before_of(change), name);
    if (!is_tried && !zs_json_is_same(is, was))
        return zs_fail(err, ZS_INVALID,
                       "%s/zarr.json: \"%s\" changed since this array was opened, by another writer: it stays as it is",
                       node->path, name);
    if (!is_tried && strcmp(name, "shape") == 0 && is_less(ours, is))
        return zs_fail(err, ZS_INVALID,
                       "%s/zarr.json: another writer made this array longer than it is to be: it stays as it is",
                       node->path);
    *is_changed = true;
    if (ours == NULL)
        zs_json_remove(theirs, name);
    return ours == NULL || zs_json_set(theirs, name, zs_json_copy(ours)) != NULL ? ZS_OK : zs_fail_memory(err);
}

/* Returns the first of some members in which a stored document differs from the node's present document, from the
 * document before the change (NULL: unchanged), and from what a flush that failed tried to store; NULL when there is no
 * such member. */
static const char *changed_member(const char *const *members, size_t count, const zs_json *stored,
                                  const struct zs_node *node, const struct zs_change *change)
{
    const zs_json *ours[] = {node->document, change != NULL ? before_of(change) : NULL,
                             change != NULL ? change->tried : NULL};
    for (size_t i = 0; i < count; i++) {
        bool is_ours = false;
        for (size_t k = 0; k < sizeof ours / sizeof ours[0] && !is_ours; k++)
            is_ours = ours[k] != NULL && zs_is_alike(node->array, members[i], zs_json_get(stored, members[i]),
                                                     zs_json_get(ours[k], members[i]));
        if (!is_ours)
            return members[i];
    }
    return NULL;
}

/* Returns whether a stored array may be the one that was opened, by its shape: it may have grown. */
static bool may_be_grown(const zs_json *theirs, const struct zs_node *node, const struct zs_change *change)
{
    static const char *const shape[] = {"shape"};
    const zs_json *now = zs_json_get(theirs, "shape"), *ours = zs_json_get(node->document, "shape");
    return zs_json_size(now) == zs_json_size(ours) &&
           (changed_member(shape, 1, theirs, node, change) == NULL ||
            !is_less(now, zs_json_get(before_of(change), "shape")));
}

/* Checks that the stored array is the one that was opened, and not another that replaced it, to which the changes do
 * not apply. It may have grown, and its fill value may differ. */
static enum zs_status check_is_same(const zs_json *theirs, const struct zs_node *node, const struct zs_change *change,
                                    struct zs_error *err)
{
    static const char *const members[] = {"data_type", "codecs", "chunk_grid", "chunk_key_encoding"};
    if (node->type != ZS_NODE_ARRAY)
        return ZS_OK;
    const char *other = changed_member(members, sizeof members / sizeof members[0], theirs, node, change);
    if (!may_be_grown(theirs, node, change))
        other = "shape";
    if (other == NULL)
        return ZS_OK;
    return zs_fail(err, ZS_INVALID,
                   "%s/zarr.json: \"%s\" changed since this array was opened: another writer replaced the array%s, "
                   "which stays as it is",
                   node->path, other, strcmp(other, "shape") == 0 ? ", or made it shorter" : "");
}

static enum zs_status merge_edit(zs_json *theirs, const struct zs_node *node, const struct zs_change *change,
                                 bool *is_changed, struct zs_error *err)
{
    const char *type = node->type == ZS_NODE_ARRAY ? "array" : "group";
    if (!zs_json_equals(zs_json_get(theirs, "node_type"), type))
        return zs_fail(err, ZS_INVALID, "%s/zarr.json: expected the %s it was, found something else: it stays as it is",
                       node->path, type);
    ZS_TRY(check_is_same(theirs, node, change, err));
    if (!change->is_copy || change->own != NULL) {
        for (const zs_json *m = zs_json_first(change->before); m != NULL; m = zs_json_next(m))
            ZS_TRY(merge_member(theirs, node, change, zs_json_name(m), is_changed, err));
        for (const zs_json *m = zs_json_first(node->document); m != NULL; m = zs_json_next(m))
            ZS_TRY(merge_member(theirs, node, change, zs_json_name(m), is_changed, err));
        for (const zs_json *m = zs_json_first(change->tried); m != NULL; m = zs_json_next(m))
            ZS_TRY(merge_member(theirs, node, change, zs_json_name(m), is_changed, err));
    }
    return merge_attributes(theirs, node, change, is_changed, err);
}

enum zs_status zs_change_merge(zs_json **theirs, const struct zs_node *node, const struct zs_change *change,
                               bool *is_changed, struct zs_error *err)
{
    const char *type = node->type == ZS_NODE_ARRAY ? "array" : "group";
    const bool is_edit = change->kind == ZS_CHANGE_EDIT;
    const bool is_ours = !is_edit && change->is_sent && !change->was_removed; /* as far as it is what was sent */
    if ((is_edit || is_ours) && *theirs != NULL)
        return merge_edit(*theirs, node, change, is_changed, err);
    if (is_edit && !change->may_be_gone)
        return zs_fail(err, ZS_INVALID, "/%s: another writer removed this %s meanwhile: its changes are not written",
                       node->path, type);
    /* Two writers may have added the same group. */
    if (!is_edit && !change->was_removed && *theirs != NULL &&
        (node->type == ZS_NODE_ARRAY || !zs_json_is_same(*theirs, node->document)))
        return zs_fail(err, ZS_INVALID,
                       "/%s: another writer made it meanwhile: it stays as it is, and this %s is not "
                       "written",
                       node->path, type);
    zs_json_free(*theirs);
    *theirs = zs_json_copy(node->document);
    *is_changed = true;
    return *theirs != NULL ? ZS_OK : zs_fail_memory(err);
}

/* ---- Checking that an array is still the one that was opened ---- */

/* Members that determine where chunks are stored and how they are decoded. */
static const char *const array_members[] = {"node_type", "data_type",          "fill_value", "chunk_grid",
                                            "codecs",    "chunk_key_encoding", "shape",      "storage_transformers"};

static enum zs_status compare(const struct zs_node *node, const struct zs_change *change, const zs_json *document,
                              struct zs_error *err)
{
    /* our own changes may be pending */
    const char *other =
        changed_member(array_members, sizeof array_members / sizeof array_members[0], document, node, change);
    if (other == NULL)
        return ZS_OK;
    return zs_fail(err, ZS_INVALID,
                   "\"%s\" changed since this array was opened, by another writer: no pixels are written", other);
}

static enum zs_status check_document(const struct zs_hierarchy *h, const struct zs_node *node,
                                     const struct zs_change *change, uint64_t *version, struct zs_error *err)
{
    struct zs_object *object = NULL;
    uint64_t found = 0;
    if (!h->store->is_remote) { /* opening is cheaper than reading here */
        ZS_TRY(zs_object_open(h->store, node->key, &object, err));
        found = object->is_versioned ? object->version : 0;
        zs_object_close(object);
    }
    if (found != 0 && found == *version)
        return ZS_OK;
    zs_json *document = NULL;
    zs_store_forget(h->store, node->key);
    ZS_TRY(zs_document_get(h->store, node->key, &document, err));
    enum zs_status status = compare(node, change, document, err);
    zs_json_free(document);
    *version = status == ZS_OK ? found : 0;
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "%s/%s", h->store->root, node->key);
}

bool zs_hierarchy_is_unpublished(const struct zs_hierarchy *h, const struct zs_node *node)
{
    const struct zs_change *change = zs_changes_find(&h->pending, node->path);
    return change != NULL && !change->is_stored &&
           (change->kind == ZS_CHANGE_NEW || zs_change_has_new_keys(change, node));
}

/* Whether the document of a new array is certainly not stored, unless another writer made one. A remote store is not
 * asked for each shard. */
static bool is_to_be_absent(const struct zs_hierarchy *h, const struct zs_change *change)
{
    return change != NULL && change->kind == ZS_CHANGE_NEW && !change->was_removed && !change->is_sent && !h->is_new &&
           !h->store->is_remote;
}

/* Fails where another writer made an array, or a group, at the path of a new one: the chunks there are not ours. */
static enum zs_status check_is_absent(const struct zs_hierarchy *h, const struct zs_node *node, struct zs_error *err)
{
    struct zs_object *object = NULL;
    struct zs_error ignored;
    zs_store_forget(h->store, node->key);
    const enum zs_status status = zs_object_open(h->store, node->key, &object, &ignored);
    zs_object_close(object);
    if (status == ZS_NOT_FOUND)
        return ZS_OK;
    return status != ZS_OK ? zs_fail(err, status, "%s", ignored.message)
                           : zs_fail(err, ZS_INVALID,
                                     "/%s: another writer made it meanwhile: it stays as it is, and no pixels are "
                                     "written",
                                     node->path);
}

enum zs_status zs_hierarchy_check_array(const struct zs_hierarchy *h, const struct zs_node *node, uint64_t *version,
                                        struct zs_error *err)
{
    const struct zs_change *change = zs_changes_find(&h->pending, node->path);
    if (is_to_be_absent(h, change))
        return check_is_absent(h, node, err);
    if (change != NULL && (change->kind != ZS_CHANGE_EDIT || change->may_be_gone))
        return ZS_OK;
    const enum zs_status status = check_document(h, node, change, version, err);
    if (status == ZS_NOT_FOUND)
        return zs_fail(err, ZS_INVALID, "%s/%s: this array was removed after it was opened: no pixels are written",
                       h->store->root, node->key);
    return status;
}
