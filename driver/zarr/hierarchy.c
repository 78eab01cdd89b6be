/* Finds the nodes of a store, one by one or all at once: from consolidated metadata, or by walking through it. */
#include "zarr/hierarchy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zarr/document.h"
#include "zarr/hierarchy_private.h"

/* ---- The table ---- */

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

struct zs_hierarchy_entry *zs_hierarchy_entry_at(const struct zs_hierarchy *hierarchy, const char *path)
{
    bool is_there;
    const size_t i = position(hierarchy, path, &is_there);
    return is_there ? &hierarchy->entries[i] : NULL;
}

struct zs_hierarchy_entry *zs_hierarchy_entry_make(struct zs_hierarchy *hierarchy, const char *path)
{
    bool is_there;
    const size_t i = position(hierarchy, path, &is_there);
    if (is_there)
        return &hierarchy->entries[i];
    struct zs_hierarchy_entry *grown = zs_grow(hierarchy->entries, hierarchy->count, &hierarchy->capacity,
                                               sizeof *grown);
    char *own = zs_strdup(path);
    if (grown != NULL)
        hierarchy->entries = grown;
    if (grown == NULL || own == NULL) {
        free(own);
        return NULL;
    }
    memmove(grown + i + 1, grown + i, (hierarchy->count - i) * sizeof *grown);
    grown[i] = (struct zs_hierarchy_entry){.path = own, .status = ZS_NOT_FOUND};
    hierarchy->count++;
    return &grown[i];
}

static enum zs_status find(struct zs_hierarchy *hierarchy, const char *path, const struct zs_node **node,
                           struct zs_error *err);

/* Names the dimensions of an array that names none as its group or the one above does, before it gets into the table:
 * nodes in it do not change. False without memory. */
static bool name_dimensions(struct zs_hierarchy *hierarchy, struct zs_node *node)
{
    const struct zs_node *group;
    const bool lacks = node != NULL && zs_node_lacks_names(node);
    char *path = lacks ? zs_strdup(node->path) : NULL;
    bool ok = path != NULL || !lacks;
    for (int above = 0; above < 2 && zs_path_up(path) != NULL && zs_node_lacks_names(node) && ok; above++)
        if (find(hierarchy, path, &group, NULL) == ZS_OK)
            ok = zs_node_take_names(node, group);
    free(path);
    return ok;
}

/* ---- Nodes ---- */

/* Lists the names below a path, of nodes or not. */
static enum zs_status list_names(const struct zs_hierarchy *hierarchy, const char *path, char ***names,
                                 struct zs_error *err)
{
    return hierarchy->is_draft ? zs_draft_list(hierarchy->store, path, names, err)
                               : zs_store_list(hierarchy->store, path, names, err);
}

static enum zs_status fail_absent(const struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    return zs_fail(err, ZS_NOT_FOUND, "%s: there is no array or group \"%s\"", hierarchy->store->root, path);
}

static enum zs_status answer(const struct zs_hierarchy *hierarchy, const struct zs_hierarchy_entry *entry,
                             const struct zs_node **node, struct zs_error *err)
{
    if (entry->node == NULL)
        return entry->status == ZS_NOT_FOUND ? fail_absent(hierarchy, entry->path, err)
                                             : zs_fail(err, entry->status, "%s", entry->message);
    *node = entry->node;
    return ZS_OK;
}

enum zs_status zs_hierarchy_put(struct zs_hierarchy *hierarchy, const char *path, struct zs_node *node,
                                enum zs_status status, const struct zs_node **kept, struct zs_error *err)
{
    const bool needs_message = status != ZS_OK && status != ZS_NOT_FOUND;
    char *message = needs_message ? zs_strdup(err->message) : NULL;
    const bool ok = name_dimensions(hierarchy, node) && (message != NULL || !needs_message);
    (void)pthread_mutex_lock(&hierarchy->lock);
    struct zs_hierarchy_entry *entry = ok ? zs_hierarchy_entry_make(hierarchy, path) : NULL;
    if (entry != NULL && entry->node == NULL && entry->message == NULL) { /* it is new, or says ZS_NOT_FOUND */
        entry->node = node;
        entry->status = status;
        entry->message = message;
        node = NULL;
        message = NULL;
    }
    status = entry != NULL ? answer(hierarchy, entry, kept, err) : zs_fail_memory(err);
    (void)pthread_mutex_unlock(&hierarchy->lock);
    zs_node_free(node);
    free(message);
    return status;
}

/* Reads a node from the store. The caller owns it. A path without zarr.json is a group, since old writers left out the
 * documents of groups, where it holds directories, and these are not the chunks of an array above it. */
static enum zs_status ask(struct zs_hierarchy *hierarchy, const char *path, struct zs_node **node, struct zs_error *err)
{
    char **names = NULL;
    enum zs_status status = hierarchy->is_draft ? zs_draft_get_node(hierarchy->store, path, node, err)
                                                : zs_document_get_node(hierarchy->store, path, node, err);
    if (status != ZS_NOT_FOUND)
        return status;
    if (!hierarchy->store->is_remote)
        status = list_names(hierarchy, path, &names, err);
    if (status != ZS_OK) /* ZS_UNSUPPORTED: it is no directory */
        return status == ZS_NOT_FOUND || status == ZS_UNSUPPORTED ? fail_absent(hierarchy, path, err) : status;
    bool is_group = false;
    for (char **name = names; *name != NULL && !is_group; name++)
        is_group = zs_prefix_length(*name) > 0;
    zs_names_free(names);
    char *parent = is_group ? zs_path_parent(path) : NULL;
    const struct zs_node *above = NULL;
    is_group = parent != NULL && find(hierarchy, parent, &above, NULL) == ZS_OK && above->type == ZS_NODE_GROUP;
    free(parent);
    return is_group ? zs_node_create_implicit(path, node, err) : fail_absent(hierarchy, path, err);
}

/* Counts a look-up or a listing that failed, and returns its status. */
static enum zs_status count_failure(struct zs_hierarchy *hierarchy, enum zs_status status,
                                    const struct zs_error *reason)
{
    (void)pthread_mutex_lock(&hierarchy->lock);
    hierarchy->reason = *reason;
    hierarchy->failure = status;
    hierarchy->failures++;
    (void)pthread_mutex_unlock(&hierarchy->lock);
    return status;
}

size_t zs_hierarchy_failures(struct zs_hierarchy *hierarchy)
{
    return hierarchy->failures;
}

enum zs_status zs_hierarchy_check_since(struct zs_hierarchy *hierarchy, size_t failures, struct zs_error *err)
{
    enum zs_status status = ZS_OK;
    (void)pthread_mutex_lock(&hierarchy->lock);
    if (hierarchy->failures != failures)
        status = zs_fail(err, hierarchy->failure, "%s", hierarchy->reason.message);
    (void)pthread_mutex_unlock(&hierarchy->lock);
    return status;
}

static enum zs_status find(struct zs_hierarchy *hierarchy, const char *path, const struct zs_node **node,
                           struct zs_error *err)
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
        return fail_absent(hierarchy, path, err);
    if (hierarchy->is_consolidated)
        return zs_fail(err, ZS_NOT_FOUND, "%s: the consolidated metadata list no array or group \"%s\"",
                       hierarchy->store->root, path);

    struct zs_error own, *reason = err != NULL ? err : &own;
    struct zs_node *found = NULL;
    status = ask(hierarchy, path, &found, reason);
    if (status == ZS_OK || zs_is_no_node(status))
        status = zs_hierarchy_put(hierarchy, path, found, status, node, reason);
    return status == ZS_OK || zs_is_no_node(status) ? status : count_failure(hierarchy, status, reason);
}

enum zs_status zs_hierarchy_node(struct zs_hierarchy *hierarchy, const char *path, const struct zs_node **node,
                                 struct zs_error *err)
{
    char *clean = NULL;
    struct zs_error own, *reason = err != NULL ? err : &own;
    enum zs_status status = path != NULL ? zs_path_clean(path, &clean, reason) : zs_fail_memory(reason);
    if (status != ZS_OK) /* without memory it may be there */
        return status == ZS_INVALID ? status : count_failure(hierarchy, status, reason);
    status = find(hierarchy, clean, node, err);
    free(clean);
    return status;
}

enum zs_status zs_hierarchy_node_at(struct zs_hierarchy *hierarchy, const char *base, const char *name,
                                    const struct zs_node **node, struct zs_error *err)
{
    if (name[0] == '/')
        return zs_fail(err, ZS_INVALID, "path \"%.200s\": expected one that is relative to a group", name);
    char *path = zs_format("%s/%s", base, name);
    const enum zs_status status = zs_hierarchy_node(hierarchy, path, node, err);
    free(path);
    return status;
}

/* ---- Consolidated metadata ---- */

static int compare_listed(const void *a, const void *b)
{
    return zs_path_compare(zs_json_name(*(const zs_json *const *)a), zs_json_name(*(const zs_json *const *)b));
}

/* Keeps the first name that is left out; without memory none, and nothing else fails. */
static void note_left_out(struct zs_hierarchy *hierarchy, const char *name)
{
    char *none = NULL, *copy = zs_strdup(name);
    if (!atomic_compare_exchange_strong(&hierarchy->left_out, &none, copy))
        free(copy);
}

const char *zs_hierarchy_left_out(struct zs_hierarchy *hierarchy)
{
    return hierarchy->left_out;
}

/* Returns whether a key is a path below the root, within the limits of listing; notes one that is not. */
static bool is_usable_key(struct zs_hierarchy *hierarchy, const char *key)
{
    if (key[0] == '\0') /* the root itself */
        return false;
    if (zs_hierarchy_check_path(key, NULL) == ZS_OK)
        return true;
    note_left_out(hierarchy, key);
    return false;
}

/* Puts a group without zarr.json into the table. */
static enum zs_status add_implicit_group(struct zs_hierarchy *hierarchy, const char *path, struct zs_error *err)
{
    struct zs_node *made;
    const struct zs_node *kept;
    ZS_TRY(zs_node_create_implicit(path, &made, err));
    return zs_hierarchy_put(hierarchy, path, made, ZS_OK, &kept, err);
}

/* Adds the group above a path, and those above it, where they are not listed. */
static enum zs_status add_groups_above(struct zs_hierarchy *hierarchy, const char *path, size_t *added,
                                       struct zs_error *err)
{
    char group[ZS_HIERARCHY_MAX_PATH + 1];
    const char *name = zs_path_name(path);
    (void)snprintf(group, sizeof group, "%.*s", (int)(name - path) - (name > path), path);
    if (zs_hierarchy_entry_at(hierarchy, group) != NULL) /* the root is there */
        return ZS_OK;
    ZS_TRY(add_groups_above(hierarchy, group, added, err));
    return ++*added <= ZS_HIERARCHY_MAX_NODES
               ? add_implicit_group(hierarchy, group, err)
               : zs_fail(err, ZS_INVALID, "%s/zarr.json: consolidated_metadata: expected at most %d groups that are "
                         "not listed", hierarchy->store->root, ZS_HIERARCHY_MAX_NODES);
}

/* Adds the node of a listed document. */
static enum zs_status add_listed(struct zs_hierarchy *hierarchy, const zs_json *document, size_t *added,
                                 struct zs_error *err)
{
    const char *path = zs_json_name(document);
    struct zs_node *node = NULL;
    const struct zs_node *kept;
    struct zs_error reason = {0};
    ZS_TRY(add_groups_above(hierarchy, path, added, err));
    /* The cast is safe: a node that does not own its document only reads it. */
    enum zs_status status = zs_node_create(path, (zs_json *)document, false, &node, &reason);
    if (status != ZS_OK)
        (void)zs_fail_in(&reason, status, "%s: consolidated metadata", hierarchy->store->root);
    if (status != ZS_NO_MEMORY)
        status = zs_hierarchy_put(hierarchy, path, node, status, &kept, &reason);
    return status == ZS_NO_MEMORY ? zs_fail_memory(err) : ZS_OK;
}

/* Adds the nodes of the root's consolidated metadata, if any, to the table, whose only entry is the root. */
static enum zs_status consolidate(struct zs_hierarchy *hierarchy, struct zs_error *err)
{
    const zs_json *consolidated = zs_json_get(hierarchy->entries[0].node->document, "consolidated_metadata");
    const zs_json *metadata = zs_document_listing(hierarchy->entries[0].node->document);
    if (!zs_json_equals(zs_json_get(consolidated, "kind"), "inline") || metadata == NULL)
        return ZS_OK;
    const zs_json **found = zs_calloc(zs_json_size(metadata), sizeof(zs_json *));
    ZS_TRY_MEMORY(found, err);
    enum zs_status status = ZS_OK;
    size_t n = 0, added = 0;
    for (const zs_json *c = zs_json_first(metadata); c != NULL; c = zs_json_next(c))
        if (is_usable_key(hierarchy, zs_json_name(c)))
            found[n++] = c;
    /* In order, each is appended at the end of the table, and the members of a group follow it. */
    if (n > 1)
        qsort(found, n, sizeof *found, compare_listed);
    for (size_t i = 0; i < n && status == ZS_OK; i++)
        status = add_listed(hierarchy, found[i], &added, err);
    free(found);
    hierarchy->is_consolidated = status == ZS_OK && n > 0;
    return status;
}

/* ---- The walk, which puts all nodes of the store into the table ---- */

struct walk {
    struct zs_hierarchy *hierarchy;
    size_t directories; /* number of directories listed */
    size_t nodes;       /* number of nodes found */
};

static enum zs_status walk_below(struct walk *w, const char *path, int depth, struct zs_error *err);

/* Walks the node at `path` and all below it. */
static enum zs_status walk_child(struct walk *w, const char *path, int depth, struct zs_error *err)
{
    if (++w->directories > ZS_HIERARCHY_MAX_NODES || depth > ZS_HIERARCHY_MAX_DEPTH)
        return zs_fail(err, ZS_UNSUPPORTED,
                       "%s: expected at most %d directories to look for arrays in, and %d one in the other; name the "
                       "array to open it", w->hierarchy->store->root, ZS_HIERARCHY_MAX_NODES, ZS_HIERARCHY_MAX_DEPTH);
    const struct zs_node *node = NULL;
    const enum zs_status status = find(w->hierarchy, path, &node, err);
    if (status == ZS_INVALID || status == ZS_UNSUPPORTED)
        return ZS_OK; /* not a node that can be read; the rest of the store stays usable */
    if (status != ZS_OK && status != ZS_NOT_FOUND)
        return status;
    const bool is_listed = node != NULL && !node->is_implicit;
    const size_t before = w->nodes;
    w->nodes += is_listed;
    if (is_listed && node->type == ZS_NODE_ARRAY)
        return ZS_OK; /* only chunks are below an array */
    ZS_TRY(walk_below(w, path, depth, err));
    return node == NULL && w->nodes > before ? add_implicit_group(w->hierarchy, path, err) : ZS_OK;
}

static enum zs_status walk_below(struct walk *w, const char *path, int depth, struct zs_error *err)
{
    char **names;
    enum zs_status status = list_names(w->hierarchy, path, &names, err);
    if (status == ZS_NOT_FOUND || (status == ZS_UNSUPPORTED && depth > 0))
        return ZS_OK; /* removed meanwhile, or not a directory */
    if (status != ZS_OK)
        return status;
    zs_names_sort(names); /* in order, each node is appended at the end of the table */
    const char *before = "";
    for (char **name = names; *name != NULL && status == ZS_OK; name++) {
        const size_t n = zs_prefix_length(*name);
        if (n == 0)
            continue;
        (*name)[n] = '\0';
        /* Listed twice (draft.c), or beside a store in archives of macOS. */
        if (strcmp(*name, before) == 0 || strcmp(*name, "__MACOSX") == 0)
            continue;
        before = *name;
        if (!zs_is_inside_name(*name)) {
            note_left_out(w->hierarchy, *name);
            continue;
        }
        enum zs_link link = ZS_LINK_NONE;
        char *child = zs_path_join(path, *name);
        status = child != NULL ? zs_store_is_link(w->hierarchy->store, child, &link, err) : zs_fail_memory(err);
        if (status == ZS_OK && link != ZS_LINK_LOOP) /* what is below that is listed above */
            status = walk_child(w, child, depth + 1, err);
        free(child);
    }
    zs_names_free(names);
    return status;
}

/* ---- Lists ---- */

bool zs_hierarchy_is_listed(const struct zs_hierarchy *hierarchy, size_t i)
{
    const struct zs_hierarchy_entry *entries = hierarchy->entries;
    const struct zs_node *node = entries[i].node;
    bool is_group = node != NULL && (!node->is_implicit || i == 0);
    for (size_t k = i + 1; node != NULL && !is_group && k < hierarchy->count &&
                           zs_path_is_within(entries[k].path, entries[i].path); k++)
        is_group = entries[k].node != NULL && !entries[k].node->is_implicit;
    return is_group;
}

enum zs_status zs_hierarchy_list_known(struct zs_hierarchy *hierarchy, const struct zs_node ***nodes, size_t *count,
                                       struct zs_error *err)
{
    size_t n = 0;
    (void)pthread_mutex_lock(&hierarchy->lock);
    const struct zs_node **list = zs_calloc(hierarchy->count, sizeof *list);
    for (size_t i = 0; i < hierarchy->count && list != NULL; i++)
        if (zs_hierarchy_is_listed(hierarchy, i))
            list[n++] = hierarchy->entries[i].node; /* the table is in order */
    (void)pthread_mutex_unlock(&hierarchy->lock);
    ZS_TRY_MEMORY(list, err);
    *nodes = list;
    *count = n;
    return ZS_OK;
}

enum zs_status zs_hierarchy_list(struct zs_hierarchy *hierarchy, const struct zs_node ***nodes, size_t *count,
                                 struct zs_error *err)
{
    struct walk w = {.hierarchy = hierarchy};
    struct zs_error own, *reason = err != NULL ? err : &own;
    const bool is_complete = hierarchy->is_consolidated || hierarchy->is_walked;
    const struct zs_node *root;
    enum zs_status status = is_complete ? ZS_OK : find(hierarchy, "", &root, reason);
    if (!is_complete && status == ZS_OK && root->type == ZS_NODE_GROUP)
        status = walk_below(&w, "", 0, reason);
    if (status != ZS_OK && (status != ZS_UNSUPPORTED || w.directories > 0)) /* else the store cannot be listed */
        return count_failure(hierarchy, status, reason);
    if (status == ZS_OK)
        hierarchy->is_walked = true;
    return zs_hierarchy_list_known(hierarchy, nodes, count, err);
}

static const char *path_of_node(const void *node)
{
    return (*(const struct zs_node *const *)node)->path;
}

enum zs_status zs_nodes_find(const struct zs_node *const *nodes, size_t count, const char *base, const char *name,
                             size_t *at, struct zs_error *err)
{
    char *path = zs_format("%s/%s", base, name), *clean = NULL;
    const enum zs_status status = path != NULL ? zs_path_clean(path, &clean, err) : zs_fail_memory(err);
    free(path);
    *at = count;
    if (status != ZS_OK)
        return status == ZS_NO_MEMORY ? status : ZS_OK; /* else the path is not valid for a node */
    const size_t i = zs_path_position(nodes, count, sizeof *nodes, path_of_node, clean);
    if (i < count && strcmp(nodes[i]->path, clean) == 0)
        *at = i;
    free(clean);
    return ZS_OK;
}

const struct zs_node *zs_nodes_child(const struct zs_node *const *nodes, size_t count, const char *group, size_t *at)
{
    if (*at == 0)
        *at = zs_path_position(nodes, count, sizeof *nodes, path_of_node, group);
    while (*at < count && zs_path_is_within(nodes[*at]->path, group)) {
        const struct zs_node *node = nodes[(*at)++];
        const char *below = zs_path_below(group, node->path); /* NULL or "": the group itself */
        if (below != NULL && below[0] != '\0' && strchr(below, '/') == NULL)
            return node;
    }
    return NULL;
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

/* Takes over the document, also on failure. */
static enum zs_status create_root(struct zs_hierarchy *hierarchy, zs_json *document, struct zs_node **root,
                                  struct zs_error *err)
{
    struct zs_store *store = hierarchy->store;
    hierarchy->is_draft = zs_draft_is_entry(document);
    if (!hierarchy->is_draft) {
        const enum zs_status status = zs_node_create("", document, true, root, err);
        return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "%s", store->root);
    }
    const enum zs_status status = zs_draft_check_entry(document, err);
    zs_json_free(document);
    store->read_only = "is a store of the 2022 draft of Zarr v3, which is only read";
    return status == ZS_OK ? zs_draft_get_node(store, "", root, err)
                           : zs_fail_in(err, status, "%s/zarr.json", store->root);
}

enum zs_status zs_hierarchy_open(struct zs_store *store, bool use_consolidated, struct zs_hierarchy **out,
                                 struct zs_error *err)
{
    return zs_hierarchy_open_text(store, NULL, 0, use_consolidated, out, err);
}

enum zs_status zs_hierarchy_open_text(struct zs_store *store, const char *text, size_t size, bool use_consolidated,
                                      struct zs_hierarchy **out, struct zs_error *err)
{
    struct zs_hierarchy *hierarchy = NULL;
    zs_json *document = NULL;
    struct zs_node *made;
    const struct zs_node *root;
    ZS_TRY(zs_hierarchy_create(store, &hierarchy, err));
    hierarchy->is_consolidated = hierarchy->is_new = false;
    enum zs_status status = text != NULL ? zs_json_parse(text, size, &document, err)
                                         : zs_document_get(store, "zarr.json", &document, NULL, err);
    if (status == ZS_OK)
        status = create_root(hierarchy, document, &made, err);
    if (status == ZS_OK)
        status = zs_hierarchy_put(hierarchy, "", made, ZS_OK, &root, err);
    if (status == ZS_OK && use_consolidated)
        status = consolidate(hierarchy, err);
    if (status == ZS_OK)
        *out = hierarchy;
    else
        zs_hierarchy_free(hierarchy);
    return status;
}

void zs_hierarchy_free(struct zs_hierarchy *hierarchy)
{
    if (hierarchy == NULL)
        return;
    /* The root, the first entry, owns the documents of consolidated nodes: free it last. */
    while (hierarchy->count > 0) {
        struct zs_hierarchy_entry *entry = &hierarchy->entries[--hierarchy->count];
        zs_node_free(entry->node);
        zs_json_free(entry->before);
        free(entry->path);
        free(entry->message);
    }
    for (struct zs_node *node = hierarchy->retired, *next; node != NULL; node = next) {
        next = node->next;
        zs_node_free(node);
    }
    free(hierarchy->entries);
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
    return hierarchy->is_draft;
}

enum zs_status zs_hierarchy_check_writable(const struct zs_hierarchy *hierarchy, struct zs_error *err)
{
    ZS_TRY(zs_store_check_writable(hierarchy->store, err));
    return hierarchy->ended == ZS_OK ? ZS_OK : zs_fail(err, hierarchy->ended, "%s", hierarchy->end_reason.message);
}

bool zs_hierarchy_is_consolidated(const struct zs_hierarchy *hierarchy)
{
    return hierarchy->is_consolidated;
}
