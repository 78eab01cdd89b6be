/* Changing the documents of a store that is there: in memory first, and what is changed is noted. */
#include <stdlib.h>
#include <string.h>

#include "zarr/contents.h"
#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* ---- What is to be written ---- */

struct zs_change *zs_change_find(const struct zs_hierarchy *h, const char *path)
{
    for (size_t i = 0; i < h->change_count; i++)
        if (strcmp(h->changes[i].path, path) == 0)
            return &h->changes[i];
    return NULL;
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

bool zs_change_is_removal(enum zs_change_kind kind)
{
    return kind == ZS_CHANGE_REMOVED || kind == ZS_CHANGE_LEFT;
}

/* Notes that `path` is to be written, or removed. The latest word counts, but for attributes of a node that is new. */
static enum zs_status note(struct zs_hierarchy *h, const char *path, enum zs_change_kind kind, struct zs_error *err)
{
    struct zs_change *known = zs_change_find(h, path);
    if (known != NULL) {
        if (!(kind == ZS_CHANGE_ATTRIBUTES && known->kind == ZS_CHANGE_WHOLE))
            known->kind = kind;
        known->was_removed |= zs_change_is_removal(kind);
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
        (struct zs_change){.path = copy, .kind = kind, .was_removed = zs_change_is_removal(kind)};
    return ZS_OK;
}

/* Whether the store need not be asked for `path`: what it has there is to go, or it had nothing when the group above
 * was made. */
static bool is_vacant(const struct zs_hierarchy *h, const char *path)
{
    for (size_t i = 0; i < h->change_count; i++)
        if ((h->changes[i].was_removed || h->changes[i].is_fresh) && zs_path_is_within(path, h->changes[i].path))
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
    const struct zs_change *known = zs_change_find(h, path);
    if (known != NULL && !zs_change_is_removal(known->kind))
        return ZS_OK;
    zs_json *before = zs_json_copy(attributes);
    if (before == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot note a change of %s", path);
    const enum zs_status status = note(h, path, ZS_CHANGE_ATTRIBUTES, err);
    if (status == ZS_OK)
        zs_change_find(h, path)->before = before;
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
                       zs_change_find(h, node->path) == NULL;
            status = vacate(h, &h->entries[i], err);
        }
    if (status == ZS_OK && is_change)
        status = note(h, node->path, ZS_CHANGE_WHOLE, err);
    if (status == ZS_OK && is_change && is_fresh)
        zs_change_find(h, node->path)->is_fresh = true;
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

const char *const zs_stated_members[] = {"shape", "dimension_names", NULL};

/* Notes what a document says of its shape before that changes. A document that is new is written as it is. */
static enum zs_status note_stated(struct zs_hierarchy *h, const char *path, const zs_json *document,
                                  struct zs_error *err)
{
    struct zs_change *change = zs_change_find(h, path);
    if (change->kind == ZS_CHANGE_WHOLE || change->stated != NULL)
        return ZS_OK;
    zs_json *stated = zs_json_new_object();
    bool ok = stated != NULL;
    for (const char *const *name = zs_stated_members; *name != NULL && ok; name++) {
        const zs_json *member = zs_json_get(document, *name);
        ok = member == NULL || zs_json_set(stated, *name, zs_json_copy(member)) != NULL;
    }
    if (!ok) {
        zs_json_free(stated);
        return zs_fail(err, ZS_NO_MEMORY, "cannot note a change of %s", path);
    }
    change->stated = stated;
    return ZS_OK;
}

enum zs_status zs_hierarchy_restate(struct zs_hierarchy *h, struct zs_node *node, struct zs_error *err)
{
    const struct zs_node *old = NULL;
    zs_json *ignored;
    enum zs_status status = zs_hierarchy_find(h, node->path, false, &old, err);
    if (status == ZS_OK)
        status = zs_hierarchy_edit(h, old, &ignored, err);
    if (status == ZS_OK)
        status = note_stated(h, node->path, old->document, err);
    if (status != ZS_OK) {
        zs_node_free(node);
        return status;
    }
    return put_node(h, node, false, err);
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
        status = zs_document_load(h->store, clean, &document, err);
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

static enum zs_status take_out(struct zs_hierarchy *h, const char *path, enum zs_change_kind kind, struct zs_error *err)
{
    if (path[0] == '\0')
        return zs_fail(err, ZS_ARGUMENT, "the root of a store cannot be removed from it");
    ZS_TRY(zs_hierarchy_check_writable(h, err));
    ZS_TRY(check_path(path, err));
    for (size_t i = 0; i < h->count; i++)
        if (zs_path_is_within(h->entries[i].path, path))
            ZS_TRY(vacate(h, &h->entries[i], err));
    /* What was to be written below is not any more: the tree goes as one. */
    for (size_t i = 0; i < h->change_count;) {
        if (!zs_path_is_within(h->changes[i].path, path)) {
            i++;
            continue;
        }
        zs_change_clear(&h->changes[i]);
        h->changes[i] = h->changes[--h->change_count];
    }
    forget_listing(h);
    return note(h, path, kind, err);
}

enum zs_status zs_hierarchy_remove(struct zs_hierarchy *h, const char *path, struct zs_error *err)
{
    return take_out(h, path, ZS_CHANGE_REMOVED, err);
}

enum zs_status zs_hierarchy_leave(struct zs_hierarchy *h, const char *path, struct zs_error *err)
{
    return take_out(h, path, ZS_CHANGE_LEFT, err);
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
