#include "zarr/hierarchy.h"

#include <stdlib.h>
#include <string.h>

#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* ---- The table ---- */

void zs_hierarchy_entry_free(struct zs_hierarchy_entry *entry)
{
    zs_node_free(entry->node);
    zs_json_free(entry->before);
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
static size_t position(const struct zs_hierarchy *hierarchy, const char *path, bool *is_there)
{
    const size_t i = zs_path_position(hierarchy->entries, hierarchy->count, sizeof *hierarchy->entries, path_of_entry,
                                      path);
    *is_there = i < hierarchy->count && strcmp(hierarchy->entries[i].path, path) == 0;
    return i;
}

void zs_hierarchy_within(const struct zs_hierarchy *hierarchy, const char *path, size_t *first, size_t *end)
{
    bool is_there;
    *first = *end = position(hierarchy, path, &is_there);
    while (*end < hierarchy->count && zs_path_is_within(hierarchy->entries[*end].path, path))
        ++*end;
}

struct zs_hierarchy_entry *zs_hierarchy_entry_at(const struct zs_hierarchy *hierarchy, const char *path)
{
    bool is_there;
    const size_t i = position(hierarchy, path, &is_there);
    return is_there ? &hierarchy->entries[i] : NULL;
}

const struct zs_node *zs_hierarchy_known(const struct zs_hierarchy *hierarchy, const char *path)
{
    const struct zs_hierarchy_entry *entry = zs_hierarchy_entry_at(hierarchy, path);
    return entry != NULL ? entry->node : NULL;
}

const struct zs_hierarchy_entry *zs_hierarchy_insert(struct zs_hierarchy *hierarchy, struct zs_hierarchy_entry entry)
{
    bool is_there;
    const size_t i = position(hierarchy, entry.path, &is_there);
    if (is_there) {
        struct zs_hierarchy_entry older = hierarchy->entries[i];
        if (older.node == NULL && entry.node != NULL) {
            entry.change = older.change;
            entry.before = older.before;
            older.before = NULL;
            hierarchy->entries[i] = entry;
            entry = older;
        }
        zs_hierarchy_entry_free(&entry);
        return &hierarchy->entries[i];
    }
    struct zs_hierarchy_entry *grown = zs_grow(hierarchy->entries, hierarchy->count, &hierarchy->capacity,
                                               sizeof *grown);
    if (grown == NULL)
        return NULL;
    hierarchy->entries = grown;
    memmove(hierarchy->entries + i + 1, hierarchy->entries + i, (hierarchy->count - i) * sizeof *hierarchy->entries);
    hierarchy->entries[i] = entry;
    hierarchy->count++;
    return &hierarchy->entries[i];
}

bool zs_hierarchy_name_dimensions(struct zs_hierarchy *hierarchy, struct zs_node *node)
{
    bool ok = true;
    char *path = node != NULL && zs_node_lacks_names(node) ? zs_path_parent(node->path) : NULL;
    for (int above = 0; above < 2 && path != NULL && zs_node_lacks_names(node) && ok; above++) {
        const struct zs_node *group;
        if (zs_hierarchy_find(hierarchy, path, true, &group, NULL) == ZS_OK)
            ok = zs_node_take_names(node, group);
        char *next = zs_path_parent(path);
        free(path);
        path = next;
    }
    free(path);
    return ok;
}

/* ---- Nodes ---- */

/* Returns whether a path without zarr.json is a group, since old writers left out the documents of groups: it holds
 * directories, and these are not the chunks of an array above it. */
static bool is_implicit_group(struct zs_hierarchy *hierarchy, const char *path)
{
    char **names;
    if (hierarchy->store->is_remote || zs_store_list(hierarchy->store, path, &names, NULL) != ZS_OK)
        return false;
    bool has_directory = false;
    for (char **name = names; *name != NULL && !has_directory; name++)
        has_directory = zs_prefix_length(*name) > 0;
    zs_names_free(names);
    char *parent = has_directory ? zs_path_parent(path) : NULL;
    const struct zs_node *above = NULL;
    const bool is_group =
        parent != NULL && zs_hierarchy_find(hierarchy, parent, true, &above, NULL) == ZS_OK &&
            above->type == ZS_NODE_GROUP;
    free(parent);
    return is_group;
}

enum zs_status zs_hierarchy_fail_absent(const struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    return zs_fail(err, ZS_NOT_FOUND, "%s: there is no array or group \"%s\"", hierarchy->store->root, path);
}

static enum zs_status answer(const struct zs_hierarchy *hierarchy, const struct zs_hierarchy_entry *entry,
                             const struct zs_node **node, struct zs_error *err)
{
    if (entry->node == NULL)
        return entry->status == ZS_NOT_FOUND ? zs_hierarchy_fail_absent(hierarchy, entry->path, err)
                                             : zs_fail(err, entry->status, "%s", entry->message);
    *node = entry->node;
    return ZS_OK;
}

/* Reads a node from the store. The caller owns it. */
static enum zs_status ask(struct zs_hierarchy *hierarchy, const char *path, bool guess_groups, struct zs_node **node,
                          struct zs_error *err)
{
    const enum zs_status status = zs_document_get_node(hierarchy->store, path, node, err);
    if (status != ZS_NOT_FOUND)
        return status;
    if (guess_groups && is_implicit_group(hierarchy, path))
        return zs_node_create_implicit(path, node, err);
    return zs_hierarchy_fail_absent(hierarchy, path, err);
}

void zs_hierarchy_note_failure(struct zs_hierarchy *hierarchy, enum zs_status status, const char *message)
{
    (void)pthread_mutex_lock(&hierarchy->lock);
    free(hierarchy->failure_message);
    hierarchy->failure_message = zs_strdup(message);
    hierarchy->failure = status;
    hierarchy->failures++;
    (void)pthread_mutex_unlock(&hierarchy->lock);
}

/* Fails for lack of memory, which is counted as each failure is: the node may be there. */
static enum zs_status fail_look_up(struct zs_hierarchy *hierarchy, struct zs_error *err)
{
    struct zs_error reason;
    const enum zs_status status = zs_fail_memory(&reason);
    zs_hierarchy_note_failure(hierarchy, status, reason.message);
    return zs_fail(err, status, "%s", reason.message);
}

size_t zs_hierarchy_failures(struct zs_hierarchy *hierarchy)
{
    (void)pthread_mutex_lock(&hierarchy->lock);
    const size_t failures = hierarchy->failures;
    (void)pthread_mutex_unlock(&hierarchy->lock);
    return failures;
}

enum zs_status zs_hierarchy_check_since(struct zs_hierarchy *hierarchy, size_t failures, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    (void)pthread_mutex_lock(&hierarchy->lock);
    if (hierarchy->failures != failures)
        status = zs_fail(err, hierarchy->failure, "%s",
                         hierarchy->failure_message != NULL ? hierarchy->failure_message : "looking for a node failed");
    (void)pthread_mutex_unlock(&hierarchy->lock);
    return status;
}

enum zs_status zs_hierarchy_find(struct zs_hierarchy *hierarchy, const char *path, bool guess_groups,
                                 const struct zs_node **node, struct zs_error *err)
{
    bool is_there;
    enum zs_status status = ZS_OK;
    (void)pthread_mutex_lock(&hierarchy->lock);
    const size_t i = position(hierarchy, path, &is_there);
    if (is_there)
        status = answer(hierarchy, &hierarchy->entries[i], node, err);
    const bool is_hidden = !is_there && zs_hierarchy_hides(hierarchy, path, true);
    (void)pthread_mutex_unlock(&hierarchy->lock);
    if (is_there)
        return status;
    if (is_hidden) /* the store may still have the removed node */
        return zs_hierarchy_fail_absent(hierarchy, path, err);
    if (hierarchy->is_consolidated)
        return zs_fail(err, ZS_NOT_FOUND, "%s: the consolidated metadata list no array or group \"%s\"",
                       hierarchy->store->root, path);

    struct zs_error reason = {0};
    struct zs_hierarchy_entry entry = {0};
    entry.status = ask(hierarchy, path, guess_groups, &entry.node, &reason);
    if (entry.status == ZS_NOT_FOUND && !guess_groups)
        return zs_fail(err, entry.status, "%s", reason.message);
    if (entry.status != ZS_OK && !zs_is_no_node(entry.status)) {
        zs_hierarchy_note_failure(hierarchy, entry.status, reason.message);
        return zs_fail(err, entry.status, "%s", reason.message);
    }
    entry.path = zs_strdup(path);
    entry.message = entry.status != ZS_OK ? zs_strdup(reason.message) : NULL;
    const struct zs_hierarchy_entry *kept = NULL;
    const bool is_named = zs_hierarchy_name_dimensions(hierarchy, entry.node);
    if (is_named && entry.path != NULL && (entry.node != NULL || entry.message != NULL)) {
        (void)pthread_mutex_lock(&hierarchy->lock);
        kept = zs_hierarchy_insert(hierarchy, entry); /* if another thread was first, its result stays */
        if (kept != NULL)
            status = answer(hierarchy, kept, node, err);
        (void)pthread_mutex_unlock(&hierarchy->lock);
    }
    if (kept == NULL) {
        zs_hierarchy_entry_free(&entry);
        return fail_look_up(hierarchy, err);
    }
    return status;
}

enum zs_status zs_hierarchy_node(struct zs_hierarchy *hierarchy, const char *path, const struct zs_node **node,
                                 struct zs_error *err)
{
    char *clean;
    enum zs_status status = zs_path_clean(path, &clean, err);
    if (status != ZS_OK)
        return status == ZS_NO_MEMORY ? fail_look_up(hierarchy, err) : status;
    status = zs_hierarchy_find(hierarchy, clean, true, node, err);
    free(clean);
    return status;
}

enum zs_status zs_hierarchy_node_at(struct zs_hierarchy *hierarchy, const char *base, const char *name,
                                    const struct zs_node **node, struct zs_error *err)
{
    if (name[0] == '/')
        return zs_fail(err, ZS_INVALID, "path \"%.200s\": expected one that is relative to a group", name);
    char *path = zs_format("%s/%s", base, name);
    if (path == NULL)
        return fail_look_up(hierarchy, err);
    const enum zs_status status = zs_hierarchy_node(hierarchy, path, node, err);
    free(path);
    return status;
}

/* ---- Opening ---- */

enum zs_status zs_hierarchy_create(struct zs_store *store, struct zs_hierarchy **out, struct zs_error *err)
{
    struct zs_hierarchy *hierarchy = zs_calloc(1, sizeof *hierarchy);
    if (hierarchy == NULL || pthread_mutex_init(&hierarchy->lock, NULL) != 0) {
        free(hierarchy);
        return zs_fail_memory(err);
    }
    hierarchy->store = store;
    hierarchy->is_consolidated = hierarchy->is_new = true; /* no node is read from the store */
    *out = hierarchy;
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

/* Replaces the document, an entry point of the draft, by that of the root of a store before it. */
static enum zs_status open_draft(struct zs_store **store, zs_json **document, struct zs_error *err)
{
    const enum zs_status status = zs_draft_open(*store, *document, store, err);
    zs_json_free(*document);
    *document = NULL;
    return status == ZS_OK ? zs_document_get(*store, "zarr.json", document, NULL, err) : status;
}

/* Takes over the document, also on failure. */
static enum zs_status open_document(struct zs_store *store, zs_json *document, bool use_consolidated,
                                    struct zs_hierarchy **out, struct zs_error *err)
{
    struct zs_hierarchy_entry root = {0};
    struct zs_hierarchy *hierarchy = NULL;
    struct zs_store *const given = store;
    enum zs_status status = zs_draft_is_entry(document) ? open_draft(&store, &document, err) : ZS_OK;
    if (status == ZS_OK)
        status = zs_hierarchy_create(store, &hierarchy, err);
    if (status == ZS_OK) {
        hierarchy->is_consolidated = hierarchy->is_new = false;
        status = create_root(store, &document, &root.node, err);
    }
    if (hierarchy != NULL && store != given)
        hierarchy->draft = store;
    else if (store != given)
        zs_store_free(store);
    zs_json_free(document);
    root.path = zs_strdup("");
    if (status == ZS_OK && (root.path == NULL || zs_hierarchy_insert(hierarchy, root) == NULL))
        status = zs_fail_memory(err);
    if (status != ZS_OK)
        zs_hierarchy_entry_free(&root);
    else if (use_consolidated)
        status = zs_hierarchy_consolidate(hierarchy, err);
    if (status != ZS_OK) {
        zs_hierarchy_free(hierarchy);
        return status;
    }
    *out = hierarchy;
    return ZS_OK;
}

enum zs_status zs_hierarchy_open(struct zs_store *store, bool use_consolidated, struct zs_hierarchy **out,
                                 struct zs_error *err)
{
    zs_json *document = NULL;
    ZS_TRY(zs_document_get(store, "zarr.json", &document, NULL, err));
    return open_document(store, document, use_consolidated, out, err);
}

enum zs_status zs_hierarchy_open_text(struct zs_store *store, const char *text, size_t size, bool use_consolidated,
                                      struct zs_hierarchy **out, struct zs_error *err)
{
    zs_json *document = NULL;
    ZS_TRY(zs_json_parse(text, size, &document, err));
    return open_document(store, document, use_consolidated, out, err);
}

void zs_hierarchy_free(struct zs_hierarchy *hierarchy)
{
    if (hierarchy == NULL)
        return;
    zs_names_free(hierarchy->replaced.list);
    /* The root, the first entry, owns the documents of consolidated nodes: free it last. */
    while (hierarchy->count > 0)
        zs_hierarchy_entry_free(&hierarchy->entries[--hierarchy->count]);
    while (hierarchy->retired_count > 0)
        zs_node_free(hierarchy->retired[--hierarchy->retired_count]);
    free(hierarchy->retired);
    free(hierarchy->entries);
    free(hierarchy->failure_message);
    free(hierarchy->end_message);
    zs_store_free(hierarchy->draft);
    free(hierarchy->left_out);
    (void)pthread_mutex_destroy(&hierarchy->lock);
    free(hierarchy);
}

struct zs_store *zs_hierarchy_store(const struct zs_hierarchy *hierarchy)
{
    return hierarchy->store;
}

bool zs_hierarchy_is_draft(const struct zs_hierarchy *hierarchy)
{
    return hierarchy->draft != NULL;
}

enum zs_status zs_hierarchy_check_writable(const struct zs_hierarchy *hierarchy, struct zs_error *err)
{
    ZS_TRY(zs_store_check_writable(hierarchy->store, err));
    if (hierarchy->ended != ZS_OK)
        return zs_fail(err, hierarchy->ended, "%s",
                       hierarchy->end_message != NULL ? hierarchy->end_message : "an edit failed before");
    return ZS_OK;
}

bool zs_hierarchy_is_consolidated(const struct zs_hierarchy *hierarchy)
{
    return hierarchy->is_consolidated;
}
