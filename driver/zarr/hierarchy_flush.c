/* The flush of what was changed: each zarr.json is read again, and what was changed alone is put into it, so that
 * whatever else is in the file, or came to it meanwhile, stays. */
#include <stdlib.h>
#include <string.h>

#include "zarr/contents.h"
#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

enum zs_status zs_document_load(struct zs_store *store, const char *path, zs_json **document, struct zs_error *err)
{
    *document = NULL;
    char *key = zs_document_key(path);
    if (key == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
    const enum zs_status status = zs_document_get(store, key, document, err);
    free(key);
    return status == ZS_NOT_FOUND ? ZS_OK : status;
}

void zs_change_clear(struct zs_change *c)
{
    free(c->path);
    zs_json_free(c->before);
    zs_json_free(c->stated);
    zs_json_free(c->written);
}

/* Does to `theirs` what was done to `before`, which made it `ours`. */
static bool merge_attributes(zs_json *theirs, const zs_json *before, const zs_json *ours, bool *is_changed)
{
    for (const zs_json *m = zs_json_first(before); m != NULL; m = zs_json_next(m))
        if (zs_json_get(ours, zs_json_name(m)) == NULL && zs_json_get(theirs, zs_json_name(m)) != NULL) {
            zs_json_remove(theirs, zs_json_name(m));
            *is_changed = true;
        }
    for (const zs_json *m = zs_json_first(ours); m != NULL; m = zs_json_next(m))
        if (!zs_json_is_same(zs_json_get(before, zs_json_name(m)), m) &&
            !zs_json_is_same(zs_json_get(theirs, zs_json_name(m)), m)) {
            if (zs_json_set(theirs, zs_json_name(m), zs_json_copy(m)) == NULL)
                return false;
            *is_changed = true;
        }
    return true;
}

/* Puts what changed of the shape and the names of dimensions into `theirs`, where it is as it was before. */
static enum zs_status merge_stated(zs_json *theirs, const struct zs_node *node, const zs_json *before, bool *is_changed,
                                   struct zs_error *err)
{
    for (const char *const *name = zs_stated_members; *name != NULL; name++) {
        const zs_json *was = zs_json_get(before, *name), *ours = zs_json_get(node->document, *name);
        const zs_json *is = zs_json_get(theirs, *name);
        if (zs_json_is_same(was, ours) || zs_json_is_same(is, ours))
            continue;
        if (!zs_json_is_same(is, was))
            return zs_fail(err, ZS_INVALID,
                           "%s/zarr.json: \"%s\" is not what it was when this array was opened, somebody else changed "
                           "it: it stays as it is",
                           node->path, *name);
        if (zs_json_set(theirs, *name, zs_json_copy(ours)) == NULL)
            return zs_fail(err, ZS_NO_MEMORY, "cannot build the metadata of %s", node->path);
        *is_changed = true;
    }
    return ZS_OK;
}

/* Puts a change of the node into *document, what the store has of it now (NULL: nothing). *is_changed: there was
 * one. */
static enum zs_status merge(zs_json **document, const struct zs_node *node, const struct zs_change *change,
                            bool *is_changed, struct zs_error *err)
{
    bool ok;
    if (change->kind == ZS_CHANGE_ATTRIBUTES && *document != NULL) {
        const char *type = node->type == ZS_NODE_ARRAY ? "array" : "group";
        if (!zs_json_equals(zs_json_get(*document, "node_type"), type))
            return zs_fail(err, ZS_INVALID,
                           "%s/zarr.json: expected the %s it was, found something else: it stays as it is", node->path,
                           type);
        zs_json *theirs = zs_document_attributes(*document);
        if (!zs_json_is_object(theirs))
            theirs = zs_json_set(*document, "attributes", zs_json_new_object());
        ok = theirs != NULL && merge_attributes(theirs, change->before, node->attributes, is_changed);
        if (ok && change->stated != NULL)
            ZS_TRY(merge_stated(*document, node, change->stated, is_changed, err));
    } else {
        zs_json_free(*document);
        *document = zs_json_copy(node->document);
        ok = *document != NULL;
        *is_changed = true;
    }
    return ok ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot build the metadata of %s", node->path);
}

/* Puts a document that was written into an object of documents by path. */
static bool set_member(zs_json *metadata, const char *name, const zs_json *document)
{
    zs_json *copy = zs_json_copy(document);
    /* The root of a consolidated store holds the documents of all: not to be nested. */
    zs_json_remove(copy, "consolidated_metadata");
    return copy != NULL && zs_json_set(metadata, name, copy) != NULL;
}

static void remove_members(zs_json *metadata, const char *path)
{
    const zs_json *next;
    for (const zs_json *m = zs_json_first(metadata); m != NULL; m = next) {
        next = zs_json_next(m);
        if (zs_path_is_within(zs_json_name(m), path))
            zs_json_remove(metadata, zs_json_name(m));
    }
}

static const struct zs_node *known_node(const struct zs_hierarchy *h, const char *path)
{
    for (size_t i = 0; i < h->count; i++)
        if (strcmp(h->entries[i].path, path) == 0)
            return h->entries[i].node;
    return NULL;
}

/* Takes what is gone out of consolidated metadata. True when nothing is left and nothing is about to come. */
static bool remove_gone(const struct zs_hierarchy *h, const char *path, size_t n, zs_json *metadata, bool *is_changed)
{
    bool is_last = true;
    for (size_t i = 0; i < h->change_count; i++) {
        const struct zs_change *c = &h->changes[i];
        const bool is_inside = zs_path_is_within(c->path, path) && strlen(c->path) > n;
        if (c->was_removed && is_inside) {
            remove_members(metadata, c->path + n);
            *is_changed = true;
        }
        if (is_inside && (c->kind == ZS_CHANGE_LEFT || c->written != NULL))
            is_last = false;
    }
    return is_last && zs_json_size(metadata) == 0;
}

/* Brings inline consolidated metadata of the group at `path` in step with what changed below. Empty ones are not in
 * use, unless they were until now, and a first entry would hide all that they do not list. */
static enum zs_status update_consolidated(struct zs_hierarchy *h, const char *path, zs_json *document, bool *is_changed,
                                          struct zs_error *err)
{
    zs_json *consolidated = zs_json_get_mutable(document, "consolidated_metadata");
    zs_json *metadata = zs_json_get_mutable(consolidated, "metadata");
    const bool was_used = path[0] == '\0' && h->is_consolidated;
    if (!zs_json_is_object(metadata) || (zs_json_size(metadata) == 0 && !was_used))
        return ZS_OK;
    const size_t n = path[0] != '\0' ? strlen(path) + 1 : 0;
    /* Removals first: a path may have been removed and come back. */
    if (remove_gone(h, path, n, metadata, is_changed)) { /* to others empty ones hide what comes later */
        zs_json_remove(document, "consolidated_metadata");
        return ZS_OK;
    }
    for (size_t i = 0; i < h->change_count; i++) {
        const struct zs_change *c = &h->changes[i];
        if (c->written == NULL || !zs_path_is_within(c->path, path) || strlen(c->path) <= n)
            continue;
        if (!set_member(metadata, c->path + n, c->written))
            return zs_fail(err, ZS_NO_MEMORY, "cannot build consolidated metadata");
        *is_changed = true;
    }
    if (*is_changed && !zs_document_sort_consolidated(consolidated))
        return zs_fail(err, ZS_NO_MEMORY, "cannot build consolidated metadata");
    return ZS_OK;
}

/* Writes what changed in the document at `path`: the node itself, or what it consolidates. */
static enum zs_status flush_document(struct zs_hierarchy *h, const char *path, struct zs_error *err)
{
    struct zs_change *own = zs_change_find(h, path);
    const struct zs_node *node = own != NULL && !zs_change_is_removal(own->kind) ? known_node(h, path) : NULL;
    zs_json *document = NULL;
    if (node == NULL || own->kind != ZS_CHANGE_WHOLE) /* else nothing stays of what may be there */
        ZS_TRY(zs_document_load(h->store, path, &document, err));
    bool is_changed = false;
    enum zs_status status = ZS_OK;
    if (node != NULL)
        status = merge(&document, node, own, &is_changed, err);
    if (status == ZS_OK && document != NULL)
        status = update_consolidated(h, path, document, &is_changed, err);
    if (status == ZS_OK && is_changed)
        status = zs_document_put(h->store, path, document, err);
    if (status == ZS_OK && node != NULL) { /* groups above, which come later, list it as it is now */
        zs_json_free(own->written);
        own->written = document;
        document = NULL;
    }
    zs_json_free(document);
    return status;
}

static int compare_paths(const void *a, const void *b)
{
    return zs_path_compare(*(char *const *)b, *(char *const *)a); /* what is below a group comes before it */
}

/* The paths that changed, and all groups above them, without doubles, in the order in which they are written. */
static enum zs_status list_documents(const struct zs_hierarchy *h, char ***paths, size_t *count, struct zs_error *err)
{
    size_t n = 0, capacity = 0;
    char **list = NULL;
    bool ok = true;
    for (size_t i = 0; i < h->change_count && ok; i++) {
        char *path = zs_strdup(h->changes[i].path);
        ok = path != NULL;
        while (ok && path != NULL) {
            if (n == capacity) {
                capacity = capacity == 0 ? 32 : 2 * capacity;
                char **grown = realloc(list, capacity * sizeof *grown);
                if (grown == NULL) {
                    free(path);
                    ok = false;
                    break;
                }
                list = grown;
            }
            list[n++] = path;
            path = zs_path_parent(path);
            ok = path != NULL || list[n - 1][0] == '\0';
        }
    }
    if (!ok) {
        for (size_t i = 0; i < n; i++)
            free(list[i]);
        free(list);
        return zs_fail(err, ZS_NO_MEMORY, "cannot list what has changed");
    }
    if (n > 1)
        qsort(list, n, sizeof *list, compare_paths);
    *count = 0;
    for (size_t i = 0; i < n; i++) {
        if (*count > 0 && strcmp(list[*count - 1], list[i]) == 0)
            free(list[i]);
        else
            list[(*count)++] = list[i];
    }
    *paths = list;
    return ZS_OK;
}

/* A tree goes when nothing speaks of it any more: what is its own, and not what others put there. A store that cannot
 * be listed keeps its chunks, without a document. */
static enum zs_status remove_tree(struct zs_store *store, const char *path, struct zs_error *err)
{
    bool was_link; /* to what is not of this store, its document neither */
    enum zs_status status = zs_store_remove_link(store, path, &was_link, err);
    if (status != ZS_OK || was_link)
        return status;
    status = zs_contents_remove_below(store, path, err);
    if (status != ZS_UNSUPPORTED)
        return status;
    char *key = zs_document_key(path);
    status = key != NULL ? zs_store_remove(store, key, err) : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
    free(key);
    return status;
}

enum zs_status zs_hierarchy_flush(struct zs_hierarchy *h, struct zs_error *err)
{
    if (h->change_count == 0 || h->is_held)
        return ZS_OK;
    char **paths = NULL;
    size_t count = 0;
    enum zs_status status = zs_store_settle(h->store, err); /* the chunks that they speak of */
    if (status == ZS_OK)
        status = list_documents(h, &paths, &count, err);
    for (size_t i = 0; i < count && status == ZS_OK; i++) {
        const struct zs_change *own = zs_change_find(h, paths[i]);
        /* the root, by which a store opens, and what was there before */
        if (paths[i][0] == '\0' || own == NULL || own->kind != ZS_CHANGE_WHOLE)
            status = zs_store_settle(h->store, err);
        if (status == ZS_OK)
            status = flush_document(h, paths[i], err);
    }
    if (status == ZS_OK)
        status = zs_store_settle(h->store, err);
    for (size_t i = 0; i < h->change_count && status == ZS_OK; i++)
        if (h->changes[i].kind == ZS_CHANGE_REMOVED)
            status = remove_tree(h->store, h->changes[i].path, err);
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
    if (status == ZS_OK) /* else all is tried again: writing a document twice does no harm */
        zs_hierarchy_forget_changes(h);
    return status;
}

void zs_hierarchy_forget_changes(struct zs_hierarchy *h)
{
    while (h->change_count > 0)
        zs_change_clear(&h->changes[--h->change_count]);
    free(h->changes);
    h->changes = NULL;
}
