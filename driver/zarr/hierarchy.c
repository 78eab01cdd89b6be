#include "zarr/hierarchy.h"

#include <stdlib.h>
#include <string.h>

#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* ---- Paths ---- */

int zs_path_compare(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    /* The end comes first, then the slash, then everything else. */
    const int rank_a = *a == '\0' ? 0 : *a == '/' ? 1 : 2 + (unsigned char)*a;
    const int rank_b = *b == '\0' ? 0 : *b == '/' ? 1 : 2 + (unsigned char)*b;
    return rank_a - rank_b;
}

size_t zs_path_position(const void *list, size_t count, size_t size, zs_path_of_fn path_of, const char *path)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (zs_path_compare(path_of((const char *)list + middle * size), path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- The table ---- */

void zs_hierarchy_entry_free(struct zs_hierarchy_entry *entry)
{
    zs_node_free(entry->node);
    free(entry->path);
    free(entry->message);
    *entry = (struct zs_hierarchy_entry){0};
}

static const char *path_of_entry(const void *entry)
{
    return ((const struct zs_hierarchy_entry *)entry)->path;
}

/* Returns the position of the first entry that is not before `path`; sets *is_there when that is the entry of
 * `path`. */
static size_t position(const struct zs_hierarchy *h, const char *path, bool *is_there)
{
    const size_t i = zs_path_position(h->entries, h->count, sizeof *h->entries, path_of_entry, path);
    *is_there = i < h->count && strcmp(h->entries[i].path, path) == 0;
    return i;
}

void zs_hierarchy_within(const struct zs_hierarchy *h, const char *path, size_t *first, size_t *end)
{
    bool is_there;
    *first = *end = position(h, path, &is_there);
    while (*end < h->count && zs_path_is_within(h->entries[*end].path, path))
        ++*end;
}

const struct zs_node *zs_hierarchy_known(const struct zs_hierarchy *h, const char *path)
{
    bool is_there;
    const size_t i = position(h, path, &is_there);
    return is_there ? h->entries[i].node : NULL;
}

const struct zs_hierarchy_entry *zs_hierarchy_insert(struct zs_hierarchy *h, struct zs_hierarchy_entry entry)
{
    bool is_there;
    const size_t i = position(h, entry.path, &is_there);
    if (is_there) {
        struct zs_hierarchy_entry older = h->entries[i];
        if (older.node == NULL && entry.node != NULL) {
            h->entries[i] = entry;
            entry = older;
        }
        zs_hierarchy_entry_free(&entry);
        return &h->entries[i];
    }
    struct zs_hierarchy_entry *grown = zs_grow(h->entries, h->count, &h->capacity, sizeof *grown);
    if (grown == NULL)
        return NULL;
    h->entries = grown;
    memmove(h->entries + i + 1, h->entries + i, (h->count - i) * sizeof *h->entries);
    h->entries[i] = entry;
    h->count++;
    return &h->entries[i];
}

/* ---- Nodes ---- */

enum zs_status zs_hierarchy_children(struct zs_hierarchy *h, const char *path, char ***names, struct zs_error *err)
{
    return h->is_draft ? zs_draft_list(&h->draft, h->store, path, names, err)
                       : zs_store_list(h->store, path, names, err);
}

/* Returns whether a path without zarr.json is a group, since old writers left out the documents of groups: it holds
 * directories, and these are not the chunks of an array above it. */
static bool is_implicit_group(struct zs_hierarchy *h, const char *path)
{
    char **names;
    if (h->store->is_remote || zs_hierarchy_children(h, path, &names, NULL) != ZS_OK)
        return false;
    bool has_directory = false;
    for (char **name = names; *name != NULL && !has_directory; name++)
        has_directory = zs_prefix_length(*name) > 0;
    zs_names_free(names);
    char *parent = has_directory ? zs_path_parent(path) : NULL;
    const struct zs_node *above = NULL;
    const bool is_group =
        parent != NULL && zs_hierarchy_find(h, parent, true, &above, NULL) == ZS_OK && above->type == ZS_NODE_GROUP;
    free(parent);
    return is_group;
}

static enum zs_status answer(const struct zs_hierarchy_entry *entry, const struct zs_node **node, struct zs_error *err)
{
    if (entry->node == NULL)
        return zs_fail(err, entry->status, "%s", entry->message);
    *node = entry->node;
    return ZS_OK;
}

/* Reads a node from the store. The caller owns it. */
static enum zs_status ask(struct zs_hierarchy *h, const char *path, bool guess_groups, struct zs_node **node,
                          struct zs_error *err)
{
    enum zs_status status = h->is_draft ? zs_draft_load(&h->draft, h->store, path, node, err)
                                        : zs_document_get_node(h->store, path, node, err);
    if (status != ZS_NOT_FOUND)
        return status;
    if (guess_groups && is_implicit_group(h, path))
        return zs_node_create_implicit(path, node, err);
    return zs_fail(err, ZS_NOT_FOUND, "%s: there is no array or group \"%s\"", h->store->root, path);
}

/* Fails for a path that consolidated metadata do not list, and names a node of that name in another group. */
static enum zs_status not_listed(struct zs_hierarchy *h, const char *path, struct zs_error *err)
{
    const char *elsewhere = NULL;
    (void)pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < h->count && elsewhere == NULL && path[0] != '\0'; i++)
        if (h->entries[i].node != NULL && strcmp(zs_path_name(h->entries[i].path), zs_path_name(path)) == 0)
            elsewhere = h->entries[i].path;
    const enum zs_status status = zs_fail(
        err, ZS_NOT_FOUND, "%s: the consolidated metadata list no array or group \"%s\"%s%s%s", h->store->root, path,
        elsewhere != NULL ? "; they list \"" : "", elsewhere != NULL ? elsewhere : "", elsewhere != NULL ? "\"" : "");
    (void)pthread_mutex_unlock(&h->lock);
    return status;
}

void zs_hierarchy_note_failure(struct zs_hierarchy *h, enum zs_status status, const char *message)
{
    (void)pthread_mutex_lock(&h->lock);
    free(h->failure_message);
    h->failure_message = zs_strdup(message);
    h->failure = status;
    h->failures++;
    (void)pthread_mutex_unlock(&h->lock);
}

/* Fails for lack of memory, which is counted as each failure is: the node may be there. */
static enum zs_status fail_look_up(struct zs_hierarchy *h, struct zs_error *err)
{
    struct zs_error reason;
    const enum zs_status status = zs_fail_memory(&reason);
    zs_hierarchy_note_failure(h, status, reason.message);
    return zs_fail(err, status, "%s", reason.message);
}

size_t zs_hierarchy_failures(struct zs_hierarchy *h)
{
    (void)pthread_mutex_lock(&h->lock);
    const size_t failures = h->failures;
    (void)pthread_mutex_unlock(&h->lock);
    return failures;
}

enum zs_status zs_hierarchy_check_since(struct zs_hierarchy *h, size_t failures, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    (void)pthread_mutex_lock(&h->lock);
    if (h->failures != failures)
        status = zs_fail(err, h->failure, "%s",
                         h->failure_message != NULL ? h->failure_message : "looking for a node failed");
    (void)pthread_mutex_unlock(&h->lock);
    return status;
}

enum zs_status zs_hierarchy_find(struct zs_hierarchy *h, const char *path, bool guess_groups,
                                 const struct zs_node **node, struct zs_error *err)
{
    bool is_there;
    enum zs_status status = ZS_OK;
    (void)pthread_mutex_lock(&h->lock);
    const size_t i = position(h, path, &is_there);
    if (is_there)
        status = answer(&h->entries[i], node, err);
    (void)pthread_mutex_unlock(&h->lock);
    if (is_there)
        return status;
    if (zs_changes_hide(&h->pending, path)) /* the store may still have the removed node */
        return zs_fail(err, ZS_NOT_FOUND, "%s: there is no array or group \"%s\"", h->store->root, path);
    if (h->is_consolidated)
        return not_listed(h, path, err);

    struct zs_error reason = {0};
    struct zs_hierarchy_entry entry = {0};
    entry.status = ask(h, path, guess_groups, &entry.node, &reason);
    if (entry.status == ZS_NOT_FOUND && !guess_groups)
        return zs_fail(err, entry.status, "%s", reason.message);
    if (entry.status != ZS_OK && !zs_is_no_node(entry.status)) {
        zs_hierarchy_note_failure(h, entry.status, reason.message);
        return zs_fail(err, entry.status, "%s", reason.message);
    }
    entry.path = zs_strdup(path);
    entry.message = entry.node == NULL ? zs_strdup(reason.message) : NULL;
    const struct zs_hierarchy_entry *kept = NULL;
    if (entry.path != NULL && (entry.node != NULL || entry.message != NULL)) {
        (void)pthread_mutex_lock(&h->lock);
        kept = zs_hierarchy_insert(h, entry); /* if another thread was first, its result stays */
        if (kept != NULL)
            status = answer(kept, node, err);
        (void)pthread_mutex_unlock(&h->lock);
    }
    if (kept == NULL) {
        zs_hierarchy_entry_free(&entry);
        return fail_look_up(h, err);
    }
    return status;
}

enum zs_status zs_hierarchy_node(struct zs_hierarchy *h, const char *path, const struct zs_node **node,
                                 struct zs_error *err)
{
    char *clean;
    enum zs_status status = zs_path_clean(path, &clean, err);
    if (status != ZS_OK)
        return status == ZS_NO_MEMORY ? fail_look_up(h, err) : status;
    status = zs_hierarchy_find(h, clean, true, node, err);
    free(clean);
    return status;
}

enum zs_status zs_hierarchy_node_at(struct zs_hierarchy *h, const char *base, const char *name,
                                    const struct zs_node **node, struct zs_error *err)
{
    if (name[0] == '/')
        return zs_fail(err, ZS_INVALID, "path \"%.200s\": expected one that is relative to a group", name);
    char *path = zs_format("%s/%s", base, name);
    if (path == NULL)
        return fail_look_up(h, err);
    const enum zs_status status = zs_hierarchy_node(h, path, node, err);
    free(path);
    return status;
}

/* ---- Opening ---- */

enum zs_status zs_hierarchy_create(struct zs_store *store, struct zs_hierarchy **out, struct zs_error *err)
{
    struct zs_hierarchy *h = zs_calloc(1, sizeof *h);
    if (h == NULL || pthread_mutex_init(&h->lock, NULL) != 0) {
        free(h);
        return zs_fail_memory(err);
    }
    h->store = store;
    h->is_consolidated = h->is_new = true; /* no node is read from the store */
    *out = h;
    return ZS_OK;
}

/* Takes over the document. */
static enum zs_status create_root(struct zs_store *store, zs_json **document, struct zs_node **root,
                                  struct zs_error *err)
{
    const enum zs_status status = zs_node_create("", *document, true, root, err);
    *document = NULL;
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "%s", store->root);
}

/* Opens a store of the draft. A root without a document of its own is an implicit group. */
static enum zs_status open_draft(struct zs_hierarchy *h, const zs_json *entry, struct zs_node **root,
                                 struct zs_error *err)
{
    struct zs_error reason = {0};
    enum zs_status status = zs_draft_parse(entry, &h->draft, err);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "%s/zarr.json", h->store->root);
    status = zs_draft_load(&h->draft, h->store, "", root, &reason);
    if (status == ZS_NOT_FOUND)
        return zs_node_create_implicit("", root, err);
    return status == ZS_OK ? ZS_OK : zs_fail(err, status, "%s", reason.message);
}

/* Takes over the document, also on failure. */
static enum zs_status open_document(struct zs_store *store, zs_json *document, bool use_consolidated,
                                    struct zs_hierarchy **out, struct zs_error *err)
{
    struct zs_hierarchy_entry root = {0};
    struct zs_hierarchy *h = NULL;
    enum zs_status status = zs_hierarchy_create(store, &h, err);
    if (status == ZS_OK) {
        h->is_consolidated = h->is_new = false;
        h->is_draft = zs_draft_is_entry(document);
        status =
            h->is_draft ? open_draft(h, document, &root.node, err) : create_root(store, &document, &root.node, err);
    }
    zs_json_free(document);
    root.path = zs_strdup("");
    if (status == ZS_OK && (root.path == NULL || zs_hierarchy_insert(h, root) == NULL))
        status = zs_fail_memory(err);
    if (status != ZS_OK)
        zs_hierarchy_entry_free(&root);
    else if (use_consolidated)
        status = zs_hierarchy_consolidate(h, err);
    if (status != ZS_OK) {
        zs_hierarchy_free(h);
        return status;
    }
    *out = h;
    return ZS_OK;
}

enum zs_status zs_hierarchy_open(struct zs_store *store, bool use_consolidated, struct zs_hierarchy **out,
                                 struct zs_error *err)
{
    zs_json *document = NULL;
    ZS_TRY(zs_document_get(store, "zarr.json", &document, err));
    return open_document(store, document, use_consolidated, out, err);
}

enum zs_status zs_hierarchy_open_text(struct zs_store *store, const char *text, size_t size, bool use_consolidated,
                                      struct zs_hierarchy **out, struct zs_error *err)
{
    zs_json *document = NULL;
    ZS_TRY(zs_json_parse(text, size, &document, err));
    return open_document(store, document, use_consolidated, out, err);
}

void zs_hierarchy_free(struct zs_hierarchy *h)
{
    if (h == NULL)
        return;
    zs_hierarchy_remove_marks(h);
    zs_names_free(h->marks.list);
    /* The root, the first entry, owns the documents of consolidated nodes: free it last. */
    while (h->count > 0)
        zs_hierarchy_entry_free(&h->entries[--h->count]);
    while (h->retired_count > 0)
        zs_node_free(h->retired[--h->retired_count]);
    zs_changes_clear(&h->pending);
    free(h->retired);
    free(h->entries);
    free(h->listing);
    free(h->failure_message);
    (void)pthread_mutex_destroy(&h->lock);
    free(h);
}

struct zs_store *zs_hierarchy_store(const struct zs_hierarchy *h)
{
    return h->store;
}

bool zs_hierarchy_is_draft(const struct zs_hierarchy *h)
{
    return h->is_draft;
}

enum zs_status zs_hierarchy_check_writable(const struct zs_hierarchy *h, struct zs_error *err)
{
    ZS_TRY(zs_store_check_writable(h->store, err));
    return h->is_draft ? zs_fail(err, ZS_UNSUPPORTED, "%s: is a store of the 2022 draft of Zarr v3, which is only read",
                                 h->store->root)
                       : ZS_OK;
}

bool zs_hierarchy_is_consolidated(const struct zs_hierarchy *h)
{
    return h->is_consolidated;
}
