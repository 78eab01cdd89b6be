/* What was changed in memory and is not in the store yet, and how it comes there beside what others changed. */
#include <stdlib.h>
#include <string.h>

#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* ---- The table ---- */

/* Position of the first change not before `path`. */
static size_t position(const struct zs_pending_changes *p, const char *path)
{
    size_t low = 0, high = p->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (zs_path_compare(p->list[middle]->path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct zs_change *zs_changes_find(const struct zs_pending_changes *p, const char *path)
{
    const size_t i = position(p, path);
    return i < p->count && strcmp(p->list[i]->path, path) == 0 ? p->list[i] : NULL;
}

struct zs_change *zs_changes_note(struct zs_pending_changes *p, const char *path)
{
    struct zs_change *change = zs_changes_find(p, path);
    if (change != NULL)
        return change;
    if (p->count == p->capacity) {
        const size_t capacity = p->capacity == 0 ? 16 : 2 * p->capacity;
        struct zs_change **grown = realloc(p->list, capacity * sizeof *grown);
        if (grown == NULL)
            return NULL;
        p->list = grown;
        p->capacity = capacity;
    }
    change = zs_calloc(1, sizeof *change);
    if (change == NULL || (change->path = zs_strdup(path)) == NULL) {
        free(change);
        return NULL;
    }
    const size_t i = position(p, path);
    memmove(p->list + i + 1, p->list + i, (p->count - i) * sizeof *p->list);
    p->list[i] = change;
    p->count++;
    return change;
}

void zs_changes_within(const struct zs_pending_changes *p, const char *path, size_t *first, size_t *end)
{
    *first = *end = position(p, path);
    while (*end < p->count && zs_path_is_within(p->list[*end]->path, path))
        ++*end;
}

static void change_free(struct zs_change *change)
{
    free(change->path);
    zs_json_free(change->before);
    zs_json_free(change->own);
    zs_json_free(change->written);
    free(change);
}

void zs_changes_forget(struct zs_pending_changes *p, const char *path)
{
    size_t first, end;
    zs_changes_within(p, path, &first, &end);
    for (size_t i = first; i < end; i++)
        change_free(p->list[i]);
    if (end > first)
        memmove(p->list + first, p->list + end, (p->count - end) * sizeof *p->list);
    p->count -= end - first;
}

void zs_changes_clear(struct zs_pending_changes *p)
{
    while (p->count > 0)
        change_free(p->list[--p->count]);
    free(p->list);
    *p = (struct zs_pending_changes){0};
}

bool zs_change_is_removal(const struct zs_change *change)
{
    return change->kind == ZS_CHANGE_REMOVED || change->kind == ZS_CHANGE_LEFT;
}

bool zs_changes_are_vacant(const struct zs_pending_changes *p, const char *path)
{
    char *above = p->count > 0 ? zs_strdup(path) : NULL;
    bool is_vacant = false;
    while (above != NULL && !is_vacant) { /* without memory the store is asked */
        const struct zs_change *change = zs_changes_find(p, above);
        is_vacant = change != NULL && (change->was_removed || change->is_fresh);
        char *next = zs_path_parent(above);
        free(above);
        above = next;
    }
    free(above);
    return is_vacant;
}

/* ---- The one rule ---- */

static enum zs_status no_memory(const struct zs_node *node, struct zs_error *err)
{
    return zs_fail(err, ZS_NO_MEMORY, "cannot build the metadata of %s", node->path);
}

static enum zs_status merge_attributes(zs_json *document, const struct zs_node *node, const zs_json *before,
                                       bool *is_changed, struct zs_error *err)
{
    const zs_json *ours = node->attributes;
    if (before == NULL ? zs_json_size(ours) == 0 : zs_json_is_same(before, ours))
        return ZS_OK;
    const zs_json *theirs = zs_json_get(document, "attributes");
    zs_json *merged = zs_json_merge(before, ours, zs_json_is_object(theirs) ? theirs : NULL);
    if (merged == NULL)
        return no_memory(node, err);
    if (zs_json_is_same(merged, theirs)) {
        zs_json_free(merged);
        return ZS_OK;
    }
    *is_changed = true;
    return zs_json_set(document, "attributes", merged) != NULL ? ZS_OK : no_memory(node, err);
}

/* Whether what is not an attribute is looked at: other members than these say what an array is. */
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

bool zs_change_restates(const struct zs_change *change, const struct zs_node *node)
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

/* Puts a member of our document, or that it is gone, over theirs. */
static enum zs_status merge_member(zs_json *theirs, const struct zs_node *node, const struct zs_change *change,
                                   const char *name, bool *is_changed, struct zs_error *err)
{
    const zs_json *ours = zs_json_get(node->document, name), *is = zs_json_get(theirs, name);
    if (!is_compared(name) || zs_json_is_same(zs_json_get(change->before, name), ours) || zs_json_is_same(is, ours))
        return ZS_OK;
    const zs_json *was = zs_json_get(change->own != NULL ? change->own : change->before, name);
    if (!zs_json_is_same(is, was))
        return zs_fail(err, ZS_INVALID,
                       "%s/zarr.json: \"%s\" is not what it was when this array was opened, somebody else changed it: "
                       "it stays as it is",
                       node->path, name);
    if (strcmp(name, "shape") == 0 && is_less(ours, is))
        return zs_fail(err, ZS_INVALID,
                       "%s/zarr.json: somebody else made this array longer than it is to be: it stays as it is",
                       node->path);
    *is_changed = true;
    if (ours == NULL)
        zs_json_remove(theirs, name);
    return ours == NULL || zs_json_set(theirs, name, zs_json_copy(ours)) != NULL ? ZS_OK : no_memory(node, err);
}

/* Whether what is there now is the array that was opened, and not another that somebody made in its place: what is said
 * of the one is not of the other. It may have become longer, and its fill value another. */
static enum zs_status check_is_same(const zs_json *theirs, const struct zs_node *node, const struct zs_change *change,
                                    struct zs_error *err)
{
    static const char *const members[] = {"data_type", "codecs", "chunk_grid", "chunk_key_encoding"};
    const zs_json *was = change->own != NULL ? change->own : change->before;
    const char *other = NULL;
    for (size_t i = 0; i < sizeof members / sizeof members[0] && node->type == ZS_NODE_ARRAY; i++) {
        const zs_json *is = zs_json_get(theirs, members[i]);
        if (!zs_json_is_same(is, zs_json_get(was, members[i])) &&
            !zs_json_is_same(is, zs_json_get(node->document, members[i])))
            other = members[i];
    }
    if (node->type == ZS_NODE_ARRAY &&
        zs_json_size(zs_json_get(theirs, "shape")) != zs_json_size(zs_json_get(node->document, "shape")))
        other = "shape";
    if (other == NULL)
        return ZS_OK;
    return zs_fail(err, ZS_INVALID,
                   "%s/zarr.json: \"%s\" is not what it was when this array was opened, somebody made another in its "
                   "place: it stays as it is",
                   node->path, other);
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
    }
    return merge_attributes(theirs, node, zs_json_get(change->before, "attributes"), is_changed, err);
}

enum zs_status zs_change_merge(zs_json **theirs, const struct zs_node *node, const struct zs_change *change,
                               bool *is_changed, struct zs_error *err)
{
    const char *type = node->type == ZS_NODE_ARRAY ? "array" : "group";
    const bool is_edit = change->kind == ZS_CHANGE_EDIT;
    if (is_edit && *theirs != NULL)
        return merge_edit(*theirs, node, change, is_changed, err);
    if (is_edit && !change->may_be_gone)
        return zs_fail(err, ZS_INVALID, "/%s: somebody else removed this %s meanwhile: its changes are not written",
                       node->path, type);
    /* A group that is the same is of both. */
    if (!is_edit && !change->was_removed && !change->is_put && *theirs != NULL &&
        (node->type == ZS_NODE_ARRAY || !zs_json_is_same(*theirs, node->document)))
        return zs_fail(err, ZS_INVALID,
                       "/%s: somebody else made it meanwhile: it stays as it is, and this %s is not "
                       "written",
                       node->path, type);
    zs_json_free(*theirs);
    *theirs = zs_json_copy(node->document);
    *is_changed = true;
    return *theirs != NULL ? ZS_OK : no_memory(node, err);
}
