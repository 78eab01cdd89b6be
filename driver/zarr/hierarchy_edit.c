/* Changing the documents of a store that is there. They change in memory first; the flush reads each zarr.json again
 * and puts into it what was changed alone, so that whatever else is in the file, or came to it meanwhile, stays. */
#include <stdlib.h>
#include <string.h>

#include "zarr/contents.h"
#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* ---- Documents ---- */

/* The document at `path` as the store has it now, NULL when it has none. */
static enum zs_status load(struct zs_store *store, const char *path, zs_json **document, struct zs_error *err)
{
    *document = NULL;
    char *key = zs_document_key(path);
    if (key == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
    const enum zs_status status = zs_document_get(store, key, document, err);
    free(key);
    return status == ZS_NOT_FOUND ? ZS_OK : status;
}

/* ---- What is to be written ---- */

static struct zs_change *find_change(const struct zs_hierarchy *h, const char *path)
{
    for (size_t i = 0; i < h->change_count; i++)
        if (strcmp(h->changes[i].path, path) == 0)
            return &h->changes[i];
    return NULL;
}

static bool is_at_or_below(const char *path, const char *ancestor)
{
    const size_t n = strlen(ancestor);
    return n == 0 || (strncmp(path, ancestor, n) == 0 && (path[n] == '/' || path[n] == '\0'));
}

/* What is changed is named in one spelling, and lies in the store, whoever made the path. */
static enum zs_status check_path(const char *path, struct zs_error *err)
{
    char *clean;
    ZS_TRY(zs_path_clean(path, &clean, err));
    const bool is_clean = strcmp(clean, path) == 0;
    free(clean);
    return is_clean ? ZS_OK : zs_fail(err, ZS_INVALID, "path \"%.200s\": expected no slash at its ends", path);
}

/* Notes that `path` is to be written, or removed. The latest word counts, but for attributes of a node that is new. */
static enum zs_status note(struct zs_hierarchy *h, const char *path, enum zs_change_kind kind, struct zs_error *err)
{
    struct zs_change *known = find_change(h, path);
    if (known != NULL) {
        if (!(kind == ZS_CHANGE_ATTRIBUTES && known->kind == ZS_CHANGE_WHOLE))
            known->kind = kind;
        known->was_removed |= kind == ZS_CHANGE_REMOVED;
        return ZS_OK;
    }
    struct zs_change *grown = realloc(h->changes, (h->change_count + 1) * sizeof *grown);
    if (grown != NULL)
        h->changes = grown;
    char *copy = zs_strdup(path);
    if (grown == NULL || copy == NULL) {
        free(copy);
        return zs_fail(err, ZS_NO_MEMORY, "cannot note a change of %s", path);
    }
    h->changes[h->change_count++] =
        (struct zs_change){.path = copy, .kind = kind, .was_removed = kind == ZS_CHANGE_REMOVED};
    return ZS_OK;
}

static void free_change(struct zs_change *c)
{
    free(c->path);
    zs_json_free(c->before);
    zs_json_free(c->written);
}

/* Whether the store need not be asked for `path`: what it has there is to go, or it had nothing when the group above
 * was made. */
static bool is_vacant(const struct zs_hierarchy *h, const char *path)
{
    for (size_t i = 0; i < h->change_count; i++)
        if ((h->changes[i].was_removed || h->changes[i].is_fresh) && is_at_or_below(path, h->changes[i].path))
            return true;
    return false;
}

/* Keeps a node that is no longer in the table until the hierarchy is freed: others may hold pointers to it. */
static enum zs_status retire(struct zs_hierarchy *h, struct zs_node *node, struct zs_error *err)
{
    struct zs_node **grown = realloc(h->retired, (h->retired_count + 1) * sizeof *grown);
    if (grown == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a node");
    h->retired = grown;
    h->retired[h->retired_count++] = node;
    return ZS_OK;
}

static void forget_listing(struct zs_hierarchy *h)
{
    free(h->listing);
    h->listing = NULL;
    h->listing_count = 0;
}

/* Notes that the attributes at `path` are about to change from what they are. */
static enum zs_status note_edit(struct zs_hierarchy *h, const char *path, const zs_json *attributes,
                                struct zs_error *err)
{
    const struct zs_change *known = find_change(h, path);
    if (known != NULL && known->kind != ZS_CHANGE_REMOVED)
        return ZS_OK;
    zs_json *before = zs_json_copy(attributes);
    if (before == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot note a change of %s", path);
    const enum zs_status status = note(h, path, ZS_CHANGE_ATTRIBUTES, err);
    if (status == ZS_OK)
        find_change(h, path)->before = before;
    else
        zs_json_free(before);
    return status;
}

enum zs_status zs_hierarchy_edit(struct zs_hierarchy *h, const struct zs_node *node, zs_json **attributes,
                                 struct zs_error *err)
{
    ZS_TRY(zs_hierarchy_check_writable(h, err));
    struct zs_node *mine = (struct zs_node *)(uintptr_t)node; /* const for those who borrow it */
    if (mine->document == NULL) { /* an implicit group becomes one that is there */
        mine->document = zs_group_document();
        mine->owns_document = true;
    }
    zs_json *a = zs_json_get_mutable(mine->document, "attributes");
    if (a != NULL && !zs_json_is_object(a)) {
        zs_json_remove(mine->document, "attributes");
        a = NULL;
    }
    if (a == NULL)
        a = zs_json_add_object(mine->document, "attributes");
    if (a == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "%s: no memory for its attributes", node->path);
    ZS_TRY(note_edit(h, node->path, a, err));
    mine->is_implicit = false;
    mine->attributes = a;
    *attributes = a;
    return ZS_OK;
}

/* Takes the node out of an entry, which then says that nothing is there. */
static enum zs_status vacate(struct zs_hierarchy *h, struct zs_hierarchy_entry *entry, struct zs_error *err)
{
    if (entry->node == NULL)
        return ZS_OK;
    char *message = zs_format("%s: there is no array or group \"%s\"", h->store->root, entry->path);
    enum zs_status status =
        message != NULL ? retire(h, entry->node, err) : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a message");
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

/* Puts a node, which is taken over, into the table in place of what is there. */
static enum zs_status put_node(struct zs_hierarchy *h, struct zs_node *node, bool is_change, struct zs_error *err)
{
    struct zs_hierarchy_entry entry = {.path = zs_strdup(node->path), .node = node};
    enum zs_status status =
        entry.path != NULL ? check_path(entry.path, err) : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a node");
    bool is_fresh = false;
    for (size_t i = 0; i < h->count && status == ZS_OK; i++)
        if (strcmp(h->entries[i].path, node->path) == 0) {
            is_fresh = h->entries[i].node == NULL && h->entries[i].status == ZS_NOT_FOUND &&
                       find_change(h, node->path) == NULL;
            status = vacate(h, &h->entries[i], err);
        }
    if (status == ZS_OK && is_change)
        status = note(h, node->path, ZS_CHANGE_WHOLE, err);
    if (status == ZS_OK && is_change && is_fresh)
        find_change(h, node->path)->is_fresh = true;
    if (status == ZS_OK && zs_hierarchy_insert(h, entry) == NULL)
        status = zs_fail(err, ZS_NO_MEMORY, "cannot allocate a node");
    if (status != ZS_OK)
        zs_hierarchy_entry_free(&entry);
    else
        forget_listing(h);
    return status;
}

enum zs_status zs_hierarchy_add(struct zs_hierarchy *h, struct zs_node *node, struct zs_error *err)
{
    const enum zs_status status = zs_hierarchy_check_writable(h, err);
    if (status != ZS_OK) {
        zs_node_free(node);
        return status;
    }
    return put_node(h, node, true, err);
}

enum zs_status zs_hierarchy_look(struct zs_hierarchy *h, const char *path, const struct zs_node **node,
                                 struct zs_error *err)
{
    char *clean;
    zs_json *document = NULL;
    struct zs_node *found = NULL;
    ZS_TRY(zs_path_clean(path, &clean, err));
    enum zs_status status = zs_hierarchy_find(h, clean, false, node, err);
    const bool is_known = status != ZS_NOT_FOUND && (status != ZS_OK || !(*node)->is_implicit);
    if (!is_known && !h->is_new && !is_vacant(h, clean))
        status = load(h->store, clean, &document, err);
    if (!is_known && document != NULL)
        status = zs_node_create(clean, document, true, &found, err);
    else if (!is_known && (status == ZS_OK || status == ZS_NOT_FOUND))
        status = zs_fail(err, ZS_NOT_FOUND, "%s: there is no array or group \"%s\"", h->store->root, clean);
    if (found != NULL) {
        *node = found;
        status = put_node(h, found, false, err);
    }
    free(clean);
    return status;
}

/* Whether a directory without zarr.json, of a store on disk, has nodes below it: anything but the chunks of an array
 * ("c/0/3") that never got its zarr.json. */
static enum zs_status has_nodes_below(struct zs_store *store, const char *path, bool is_chunks, bool *has,
                                      struct zs_error *err)
{
    char **names;
    *has = false;
    const enum zs_status listed = zs_store_list(store, path, &names, err);
    if (listed != ZS_OK)
        return listed == ZS_NOT_FOUND || listed == ZS_UNSUPPORTED ? ZS_OK : listed;
    enum zs_status status = ZS_OK;
    for (char **name = names; *name != NULL && !*has && status == ZS_OK; name++) {
        const size_t n = strlen(*name);
        const bool is_directory = n > 1 && (*name)[n - 1] == '/';
        if (is_chunks) {
            *has = strcmp(*name, "zarr.json") == 0 || (is_directory && strspn(*name, "0123456789") != n - 1);
        } else if (is_directory && strcmp(*name, "c/") == 0) {
            char *chunks = zs_format("%s/c", path);
            status = chunks != NULL ? has_nodes_below(store, chunks, true, has, err)
                                    : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
            free(chunks);
        } else {
            *has = is_directory;
        }
    }
    zs_names_free(names);
    return status;
}

/* Remembers that nothing is at a path, of which the hierarchy knows nothing yet. */
static enum zs_status note_absence(struct zs_hierarchy *h, const char *path, const char *message, struct zs_error *err)
{
    struct zs_hierarchy_entry entry = {.path = zs_strdup(path), .status = ZS_NOT_FOUND, .message = zs_strdup(message)};
    if (entry.path != NULL && entry.message != NULL && zs_hierarchy_insert(h, entry) != NULL)
        return ZS_OK;
    zs_hierarchy_entry_free(&entry);
    return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a node");
}

enum zs_status zs_hierarchy_occupant(struct zs_hierarchy *h, const char *path, const struct zs_node **node,
                                     struct zs_error *err)
{
    struct zs_error reason = {0};
    struct zs_node *group = NULL;
    bool is_group = false;
    *node = NULL;
    ZS_TRY(check_path(path, err));
    enum zs_status status = zs_hierarchy_look(h, path, node, &reason);
    if (status != ZS_NOT_FOUND)
        return status == ZS_OK ? ZS_OK : zs_fail(err, status, "%s", reason.message);
    *node = NULL;
    if (h->is_consolidated && zs_hierarchy_find(h, path, false, node, NULL) == ZS_OK)
        return ZS_OK; /* nodes below it are listed */
    if (!h->store->is_remote && !h->is_new && !is_vacant(h, path))
        ZS_TRY(has_nodes_below(h->store, path, false, &is_group, err));
    if (!is_group)
        return note_absence(h, path, reason.message, err);
    ZS_TRY(zs_node_create_implicit(path, &group, err));
    *node = group;
    return put_node(h, group, false, err);
}

enum zs_status zs_hierarchy_remove(struct zs_hierarchy *h, const char *path, struct zs_error *err)
{
    if (path[0] == '\0')
        return zs_fail(err, ZS_ARGUMENT, "the root of a store cannot be removed from it");
    ZS_TRY(zs_hierarchy_check_writable(h, err));
    ZS_TRY(check_path(path, err));
    for (size_t i = 0; i < h->count; i++)
        if (is_at_or_below(h->entries[i].path, path))
            ZS_TRY(vacate(h, &h->entries[i], err));
    /* What was to be written below is not any more: the tree goes as one. */
    for (size_t i = 0; i < h->change_count;) {
        if (!is_at_or_below(h->changes[i].path, path)) {
            i++;
            continue;
        }
        free_change(&h->changes[i]);
        h->changes[i] = h->changes[--h->change_count];
    }
    forget_listing(h);
    return note(h, path, ZS_CHANGE_REMOVED, err);
}

bool zs_hierarchy_is_new(const struct zs_hierarchy *h)
{
    return h->is_new;
}

bool zs_hierarchy_is_changed(const struct zs_hierarchy *h)
{
    return h->change_count > 0;
}

void zs_hierarchy_hold(struct zs_hierarchy *h, bool is_held)
{
    h->is_held = is_held && h->is_consolidated;
}

/* ---- The flush ---- */

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
        if (is_at_or_below(zs_json_name(m), path))
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

/* Brings inline consolidated metadata of the group at `path` in step with what changed below. Empty ones are not in
 * use, and a first entry would hide all that they do not list. */
static enum zs_status update_consolidated(struct zs_hierarchy *h, const char *path, zs_json *document, bool *is_changed,
                                          struct zs_error *err)
{
    zs_json *consolidated = zs_json_get_mutable(document, "consolidated_metadata");
    zs_json *metadata = zs_json_get_mutable(consolidated, "metadata");
    if (!zs_json_is_object(metadata) || zs_json_size(metadata) == 0)
        return ZS_OK;
    const size_t n = path[0] != '\0' ? strlen(path) + 1 : 0;
    /* Removals first: a path may have been removed and come back. */
    for (size_t i = 0; i < h->change_count; i++) {
        const struct zs_change *c = &h->changes[i];
        if (c->was_removed && is_at_or_below(c->path, path) && strlen(c->path) > n) {
            remove_members(metadata, c->path + n);
            *is_changed = true;
        }
    }
    for (size_t i = 0; i < h->change_count; i++) {
        const struct zs_change *c = &h->changes[i];
        if (c->written == NULL || !is_at_or_below(c->path, path) || strlen(c->path) <= n)
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
    struct zs_change *own = find_change(h, path);
    const struct zs_node *node = own != NULL && own->kind != ZS_CHANGE_REMOVED ? known_node(h, path) : NULL;
    zs_json *document = NULL;
    if (node == NULL || own->kind != ZS_CHANGE_WHOLE) /* else nothing stays of what may be there */
        ZS_TRY(load(h->store, path, &document, err));
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
        const struct zs_change *own = find_change(h, paths[i]);
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
        free_change(&h->changes[--h->change_count]);
    free(h->changes);
    h->changes = NULL;
}
