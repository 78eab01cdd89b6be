/* The rule that merges a change into the document that is stored by now, which others may have changed meanwhile.
 *
 *   ours     the node's present document
 *   before   the document before the change, as it was read; of a new node: none
 *   own      the zarr.json then, where `before` is a copy in consolidated metadata
 *   tried    what a flush of ours that failed tried to store
 *   theirs   what is stored now
 *
 * Attributes are merged as zs_json_merge() does: what changed from `before` to `ours` is put over theirs. Every other
 * member is one value, and consolidated metadata are never merged: they are of other nodes.
 *
 *   a member of ours is as before   theirs stays, unless it is as tried: then ours is put again
 *   it is as theirs                 nothing to do
 *   theirs is as it was, or tried   ours is put
 *   theirs is another               ZS_INVALID: another writer changed it
 *
 * So nothing is written unless the stored node is the one that was changed. */
#include <string.h>

#include "zarr/alike.h"
#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

static const char *type_name(const struct zs_node *node)
{
    return node->type == ZS_NODE_ARRAY ? "array" : "group";
}

/* ---- Attributes ---- */

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
    ZS_TRY_MEMORY(merged, err);
    if (zs_json_is_same(merged, theirs) || (theirs == NULL && zs_json_size(merged) == 0)) {
        zs_json_free(merged);
        return ZS_OK;
    }
    *is_changed = true;
    return zs_json_set(document, "attributes", merged) != NULL ? ZS_OK : zs_fail_memory(err);
}

bool zs_edit_is_outdated(const zs_json *stored, const zs_json *before, const zs_json *after)
{
    const zs_json *are = zs_json_get(stored, "attributes");
    const zs_json *sides[] = {zs_json_get(before, "attributes"), zs_json_get(after, "attributes")};
    for (int i = 0; i < 2; i++)
        for (const zs_json *m = zs_json_first(sides[i]); m != NULL; m = zs_json_next(m)) {
            const zs_json *other = zs_json_get(sides[1 - i], zs_json_name(m)), *is = zs_json_get(are, zs_json_name(m));
            if (!zs_json_is_same(m, other) && !zs_json_is_same(is, m) && !zs_json_is_same(is, other))
                return true;
        }
    return false;
}

/* ---- Other members ---- */

/* Whether a member is compared and merged here. */
static bool is_compared(const char *name)
{
    return strcmp(name, "attributes") != 0 && strcmp(name, "consolidated_metadata") != 0;
}

/* Whether the second document lacks a member of the first, or has another. */
static bool has_other(const zs_json *first, const zs_json *second)
{
    for (const zs_json *m = zs_json_first(first); m != NULL; m = zs_json_next(m))
        if (is_compared(zs_json_name(m)) && !zs_json_is_same(m, zs_json_get(second, zs_json_name(m))))
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
    uint64_t size, other_size;
    const zs_json *o = zs_json_first(other);
    for (const zs_json *s = zs_json_first(shape); s != NULL && o != NULL; s = zs_json_next(s), o = zs_json_next(o))
        if (zs_json_uint64(s, &size) && zs_json_uint64(o, &other_size) && size < other_size)
            return true;
    return false;
}

/* A node's own document before it was changed. */
static const zs_json *own_before(const struct zs_change *change)
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
    const zs_json *was = zs_json_get(own_before(change), name);
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

/* Merges each member that is in one of our documents. */
static enum zs_status merge_members(zs_json *theirs, const struct zs_node *node, const struct zs_change *change,
                                    bool *is_changed, struct zs_error *err)
{
    const zs_json *const documents[] = {change->before, node->document, change->tried};
    for (size_t i = 0; i < sizeof documents / sizeof documents[0]; i++)
        for (const zs_json *m = zs_json_first(documents[i]); m != NULL; m = zs_json_next(m))
            ZS_TRY(merge_member(theirs, node, change, zs_json_name(m), is_changed, err));
    return ZS_OK;
}

/* ---- Whether it is the same node ---- */

/* Returns the first of some members, ended by NULL, in which a stored document differs from the node's present
 * document, from the document before the change (NULL: unchanged), and from what a flush that failed tried to store;
 * NULL when there is no such member. */
static const char *changed_member(const char *const *members, const zs_json *stored, const struct zs_node *node,
                                  const struct zs_change *change)
{
    const zs_json *ours[] = {node->document, change != NULL ? own_before(change) : NULL,
                             change != NULL ? change->tried : NULL};
    for (; *members != NULL; members++) {
        bool is_ours = false;
        for (size_t k = 0; k < sizeof ours / sizeof ours[0] && !is_ours; k++)
            is_ours = ours[k] != NULL && zs_is_alike(node->array, *members, zs_json_get(stored, *members),
                                                     zs_json_get(ours[k], *members));
        if (!is_ours)
            return *members;
    }
    return NULL;
}

/* Returns whether a stored array may be the one that was opened, by its shape: it may have grown. */
static bool may_be_grown(const zs_json *theirs, const struct zs_node *node, const struct zs_change *change)
{
    static const char *const shape[] = {"shape", NULL};
    const zs_json *now = zs_json_get(theirs, "shape"), *ours = zs_json_get(node->document, "shape");
    return zs_json_size(now) == zs_json_size(ours) && (changed_member(shape, theirs, node, change) == NULL ||
                                                       !is_less(now, zs_json_get(own_before(change), "shape")));
}

/* Checks that the stored node is the one that was changed, and not another that replaced it. An array may have grown,
 * and its fill value may differ. */
static enum zs_status check_is_same(const zs_json *theirs, const struct zs_node *node, const struct zs_change *change,
                                    struct zs_error *err)
{
    static const char *const members[] = {"data_type", "codecs", "chunk_grid", "chunk_key_encoding", NULL};
    if (!zs_json_equals(zs_json_get(theirs, "node_type"), type_name(node)))
        return zs_fail(err, ZS_INVALID, "%s/zarr.json: expected the %s it was, found something else: it stays as it is",
                       node->path, type_name(node));
    if (node->type != ZS_NODE_ARRAY)
        return ZS_OK;
    const char *other = changed_member(members, theirs, node, change);
    if (!may_be_grown(theirs, node, change))
        other = "shape";
    if (other == NULL)
        return ZS_OK;
    return zs_fail(err, ZS_INVALID,
                   "%s/zarr.json: \"%s\" changed since this array was opened: another writer replaced the array%s, "
                   "which stays as it is",
                   node->path, other, strcmp(other, "shape") == 0 ? ", or made it shorter" : "");
}

/* ---- The rule ---- */

static enum zs_status merge_edit(zs_json *theirs, const struct zs_node *node, const struct zs_change *change,
                                 bool *is_changed, struct zs_error *err)
{
    ZS_TRY(check_is_same(theirs, node, change, err));
    if (!change->is_copy || change->own != NULL)
        ZS_TRY(merge_members(theirs, node, change, is_changed, err));
    return merge_attributes(theirs, node, change, is_changed, err);
}

/* Checks that a document may be stored where there is `theirs` (NULL: none), which is none that we merge into. Two
 * writers may have added the same group. */
static enum zs_status check_may_put(const zs_json *theirs, const struct zs_node *node, const struct zs_change *change,
                                    struct zs_error *err)
{
    if (change->kind == ZS_CHANGE_EDIT)
        return change->may_be_gone ? ZS_OK
                                   : zs_fail(err, ZS_INVALID,
                                             "/%s: another writer removed this %s meanwhile: its changes are not "
                                             "written",
                                             node->path, type_name(node));
    if (theirs == NULL || change->was_removed ||
        (node->type == ZS_NODE_GROUP && zs_json_is_same(theirs, node->document)))
        return ZS_OK;
    return zs_fail(err, ZS_INVALID,
                   "/%s: another writer made it meanwhile: it stays as it is, and this %s is not written", node->path,
                   type_name(node));
}

enum zs_status zs_change_merge(zs_json **theirs, const struct zs_node *node, const struct zs_change *change,
                               bool *is_changed, struct zs_error *err)
{
    /* what a flush of ours has sent is ours, as far as it is the same node */
    const bool is_sent = change->kind == ZS_CHANGE_NEW && change->is_sent && !change->was_removed;
    if (*theirs != NULL && (change->kind == ZS_CHANGE_EDIT || is_sent))
        return merge_edit(*theirs, node, change, is_changed, err);
    ZS_TRY(check_may_put(*theirs, node, change, err));
    zs_json_free(*theirs);
    *theirs = zs_json_copy(node->document);
    *is_changed = true;
    return *theirs != NULL ? ZS_OK : zs_fail_memory(err);
}

/* ---- Checking, before chunks are written, that an array is still the one that was opened ---- */

static enum zs_status check_members(const struct zs_node *node, const struct zs_change *change,
                                    const zs_json *document, struct zs_error *err)
{
    /* which determine where chunks are stored and how they are decoded */
    static const char *const members[] = {"node_type", "data_type",          "fill_value", "chunk_grid",
                                          "codecs",    "chunk_key_encoding", "shape",      "storage_transformers",
                                          NULL};
    const char *other = changed_member(members, document, node, change);
    if (other == NULL)
        return ZS_OK;
    return zs_fail(err, ZS_INVALID,
                   "\"%s\" changed since this array was opened, by another writer: no pixels are written", other);
}

static enum zs_status check_document(const struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                     const struct zs_change *change, uint64_t *version, struct zs_error *err)
{
    struct zs_object *object = NULL;
    uint64_t found = 0;
    if (!hierarchy->store->is_remote) { /* opening is cheaper than reading here */
        ZS_TRY(zs_object_open(hierarchy->store, node->key, &object, err));
        found = object->is_versioned ? object->version : 0;
        zs_object_close(object);
    }
    if (found != 0 && found == *version)
        return ZS_OK;
    zs_json *document = NULL;
    zs_store_forget(hierarchy->store, node->key);
    ZS_TRY(zs_document_get(hierarchy->store, node->key, &document, err));
    enum zs_status status = check_members(node, change, document, err);
    zs_json_free(document);
    *version = status == ZS_OK ? found : 0;
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "%s/%s", hierarchy->store->root, node->key);
}

/* Fails where another writer made an array, or a group, at the path of a new one: the chunks there are not ours. */
static enum zs_status check_is_absent(const struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                      struct zs_error *err)
{
    struct zs_object *object = NULL;
    struct zs_error ignored;
    zs_store_forget(hierarchy->store, node->key);
    const enum zs_status status = zs_object_open(hierarchy->store, node->key, &object, &ignored);
    zs_object_close(object);
    if (status == ZS_NOT_FOUND)
        return ZS_OK;
    return status != ZS_OK ? zs_fail(err, status, "%s", ignored.message)
                           : zs_fail(err, ZS_INVALID,
                                     "/%s: another writer made it meanwhile: it stays as it is, and no pixels are "
                                     "written",
                                     node->path);
}

/* Whether the document of a new array is certainly not stored, unless another writer made one. A remote store is not
 * asked for each shard. */
static bool must_be_absent(const struct zs_hierarchy *hierarchy, const struct zs_change *change)
{
    return change != NULL && change->kind == ZS_CHANGE_NEW && !change->was_removed && !change->is_sent &&
           !hierarchy->is_new && !hierarchy->store->is_remote;
}

enum zs_status zs_hierarchy_check_array(const struct zs_hierarchy *hierarchy, const struct zs_node *node,
                                        uint64_t *version, struct zs_error *err)
{
    const struct zs_change *change = zs_changes_find(&hierarchy->pending, node->path);
    if (must_be_absent(hierarchy, change))
        return check_is_absent(hierarchy, node, err);
    if (change != NULL && (change->kind != ZS_CHANGE_EDIT || change->may_be_gone))
        return ZS_OK;
    const enum zs_status status = check_document(hierarchy, node, change, version, err);
    if (status == ZS_NOT_FOUND)
        return zs_fail(err, ZS_INVALID, "%s/%s: this array was removed after it was opened: no pixels are written",
                       hierarchy->store->root, node->key);
    return status;
}
